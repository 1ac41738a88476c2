// QEMU as a child process that exchanges bytes with the firmware it runs.
#pragma once
#include <sys/types.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "devices/protocol.h"
#include "devices/qemu/board.h"
#include "wick/span.h"

namespace wick::device {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  void close();

 private:
  int fd_;
};

/// A file without a name that holds `bytes`. It disappears with its last descriptor. Errors: file_io.
compiler::Result<Descriptor> temporary_file(Span<const uint8_t> bytes);

/// One record of the instruction counter.
struct Snapshot {
  uint64_t instructions, weighted_cycles;
};

class QemuProcess {
 public:
  /// Errors: file_io if QEMU cannot be started.
  static compiler::Result<std::unique_ptr<QemuProcess>> start(const Board& board, const BoardFiles& files);
  ~QemuProcess();
  QemuProcess(const QemuProcess&) = delete;

  /// Sends bytes and starts the deadline of the reply. False if the firmware no longer reads.
  bool send(const std::vector<uint8_t>& bytes);
  /// False if the firmware ended, or the deadline passed.
  bool receive(void* out, size_t size_bytes);
  bool timed_out() const { return timed_out_; }
  /// After receive() gave false: waits for QEMU to end (ends it if the deadline passed).
  void finish();

  /// The firmware's report of a fault; nullopt if it did not end by one. Requires: finish().
  const std::optional<FaultReport>& fault() const { return fault_; }
  /// Whether the counter ended QEMU because the request took too many instructions.
  bool over_budget() const { return over_budget_; }
  /// Exit status and QEMU's own messages, in words.
  std::string end_text() const;

  /// Snapshots since the last request began.
  std::vector<Snapshot> snapshots() const;

 private:
  QemuProcess() = default;
  bool wait_for(int fd, short events);

  pid_t child_ = -1;
  int status_ = 0;
  Descriptor requests_, replies_, faults_;
  std::FILE* counts_ = nullptr;    // written by the counter
  std::FILE* messages_ = nullptr;  // QEMU's stdout and stderr
  std::string text_;
  size_t counts_begin_ = 0;
  double deadline_s_ = 0;
  bool timed_out_ = false, over_budget_ = false;
  std::optional<FaultReport> fault_;
};

}  // namespace wick::device
