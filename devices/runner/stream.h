// Fields read from and written to files of the host. After a failure all reads give zeros, and ok() is false.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "devices/board/semihosting.h"

namespace wick::device {

class Reader {
 public:
  explicit Reader(int file) : file_(file) {}
  bool ok() const { return ok_; }
  /// Bytes that were read so far.
  uint64_t position() const { return position_; }
  void skip_to(uint64_t position);
  uint32_t u32() { return field<uint32_t>(); }
  uint64_t u64() { return field<uint64_t>(); }
  double f64() { return field<double>(); }
  void bytes(void* out, size_t size_bytes);
  /// Into a buffer, with NUL. Fails if it does not fit.
  void string(char* out, size_t capacity);

 private:
  template <typename T>
  T field() {
    T value{};
    bytes(&value, sizeof value);
    return value;
  }
  int file_;
  bool ok_ = true;
  uint64_t position_ = 0;
  size_t begin_ = 0, end_ = 0;
  uint8_t buffer_[4096];
};

class Writer {
 public:
  explicit Writer(int file) : file_(file) {}
  void u32(uint32_t value) { bytes(&value, sizeof value); }
  void i64(int64_t value) { bytes(&value, sizeof value); }
  void f64(double value) { bytes(&value, sizeof value); }
  void bytes(const void* data, size_t size_bytes);
  void string(const char* text, size_t size_bytes) {
    u32(static_cast<uint32_t>(size_bytes));
    bytes(text, size_bytes);
  }
  void string(const char* text) { string(text, strlen(text)); }
  void flush();

 private:
  int file_;
  size_t used_ = 0;
  uint8_t buffer_[4096];
};

}  // namespace wick::device
