// The fields of requests and replies (devices/protocol.h) on the host's side.
#pragma once
#include <string.h>

#include <string>
#include <string_view>
#include <vector>

#include "devices/device.h"
#include "devices/qemu/qemu_process.h"

namespace wick::device {

class RequestWriter {
 public:
  void u32(uint32_t value) { add(&value, sizeof value); }
  void u64(uint64_t value) { add(&value, sizeof value); }
  void f64(double value) { add(&value, sizeof value); }
  void string(std::string_view text);
  void add(const void* data, size_t size_bytes);
  /// Returns the whole request; the writer is empty afterwards.
  std::vector<uint8_t> take(Request kind);

 private:
  std::vector<uint8_t> bytes_;
};

/// Appends a value. A tensor's elements are written in the layout `dim_order`. False if the protocol cannot express it.
bool write_value(const HostValue& value, Span<const uint8_t> dim_order, RequestWriter& writer);

/// Reads fields of replies. After the device has stopped, all fields are zero and ok() is false. Replies are not
/// trusted: sizes that contradict each other set ok() to false.
class ReplyReader {
 public:
  explicit ReplyReader(QemuProcess& process) : process_(process) {}
  bool ok() const { return ok_; }
  uint32_t u32() { return field<uint32_t>(); }
  std::string string();
  HostTensor tensor();
  HostValue value();
  Refusal refusal();

 private:
  template <typename T>
  T field() {
    T value{};
    read(&value, sizeof value);
    return value;
  }
  void read(void* out, size_t size_bytes);
  std::vector<int32_t> sizes(uint32_t* dtype);

  QemuProcess& process_;
  bool ok_ = true;
};

}  // namespace wick::device
