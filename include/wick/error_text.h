// Text of an error, written into memory of the caller. C++17, freestanding.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace wick {

/// Collects text in a caller's buffer and truncates what does not fit. Always NUL-terminated if there is any room.
/// Bytes outside printable ASCII, except newline, become '?', because names come from files.
class ErrorText {
 public:
  ErrorText(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) { clear(); }
  template <size_t N>
  explicit ErrorText(char (&buffer)[N]) : ErrorText(buffer, N) {}

  const char* c_str() const { return capacity_ ? buffer_ : ""; }
  size_t size() const { return size_; }
  void clear() {
    size_ = 0;
    if (capacity_) buffer_[0] = '\0';
  }
  void append(const char* text);
  void append(uint64_t value);
  void append(int64_t value);
  void append(uint32_t value) { append(static_cast<uint64_t>(value)); }
  void append(int32_t value) { append(static_cast<int64_t>(value)); }
  template <typename First, typename Second, typename... Rest>
  void append(First first, Second second, Rest... rest) {
    append(first);
    append(second, rest...);
  }

 private:
  void put(char c);
  char* buffer_;
  size_t capacity_;
  size_t size_ = 0;
};

}  // namespace wick
