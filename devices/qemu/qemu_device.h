// A board in QEMU. The firmware on it loads and calls programs; see devices/protocol.h.
#pragma once
#include "devices/device.h"
#include "devices/qemu/board.h"
#include "devices/qemu/firmware_size.h"
#include "devices/qemu/qemu_process.h"

namespace wick::device {

class QemuDevice : public Device {
 public:
  QemuDevice(const Board& board, BoardFiles files, DeviceProgram program)
      : board_(board), files_(std::move(files)), program_(std::move(program)) {}
  /// Starts QEMU at the first call, and again after a breakdown.
  compiler::Result<Outcome> call(const Call& call) override;
  /// The larger of what clang and GCC make of each part.
  compiler::Result<FirmwareSize> firmware_size(const FirmwareParts& parts) const override;
  void set_program(DeviceProgram program) override {
    program_ = std::move(program);
    inner_file_.close();
    loaded_ = false;
  }

 private:
  /// The path of a .pte: the program's file, or a temporary one with the program inside a .bpte. Errors: file_io.
  compiler::Result<std::string> pte_path();
  compiler::Status ensure_loaded(bool traced, Outcome* outcome);
  compiler::Result<std::vector<uint8_t>> call_request(const Call& call) const;
  compiler::Status read_replies(const Call& call, Outcome* outcome);
  void add_counts(const Call& call, size_t num_steps, Outcome* outcome) const;
  /// After a breakdown: whether to try again without the plugin that counts.
  bool drop_counter(Outcome* outcome);
  /// The diagnostic of a device that no longer answers. Ends its process.
  compiler::Diag breakdown();
  void add_place(uint32_t chain, uint32_t instruction, compiler::Diag* diag) const;
  compiler::Diag fault_diag(const FaultReport& report) const;

  Board board_;
  BoardFiles files_;
  DeviceProgram program_;
  Descriptor inner_file_;  // of pte_path(), temporary
  std::string method_;     // of the last call
  std::unique_ptr<QemuProcess> process_;
  bool loaded_ = false, traced_ = false;
  bool counter_refused_ = false;  // QEMU did not start with the plugin
};

}  // namespace wick::device
