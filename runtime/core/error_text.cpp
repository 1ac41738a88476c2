#include "wick/error_text.h"

namespace wick {

void ErrorText::put(char c) {
  if (size_ + 1 >= capacity_) return;
  const bool printable = (c >= 0x20 && c < 0x7f) || c == '\n';
  buffer_[size_++] = printable ? c : '?';
  buffer_[size_] = '\0';
}

void ErrorText::append(const char* text) {
  if (!text) text = "(null)";
  while (*text) put(*text++);
}

void ErrorText::append(uint64_t value) {
  char digits[20];
  size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  while (count > 0) put(digits[--count]);
}

void ErrorText::append(int64_t value) {
  if (value < 0) {
    put('-');
    append(uint64_t{0} - static_cast<uint64_t>(value));
  } else {
    append(static_cast<uint64_t>(value));
  }
}

}  // namespace wick
