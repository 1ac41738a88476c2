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
  char digits[21];
  char* first = &digits[20];
  *first = '\0';
  do {
    // Long division by 10, 16 bits at a time: a 32-bit core needs a large function to divide uint64_t.
    uint32_t digit = 0;
    for (int i = 0; i < 4; ++i) {
      const auto part = digit << 16 | static_cast<uint32_t>(value >> 48);
      digit = part % 10;
      value = value << 16 | part / 10;
    }
    *--first = static_cast<char>('0' + digit);
  } while (value != 0);
  append(first);
}

void ErrorText::append(int64_t value) {
  auto magnitude = static_cast<uint64_t>(value);
  if (value < 0) {
    put('-');
    magnitude = 0 - magnitude;
  }
  append(magnitude);
}

}  // namespace wick
