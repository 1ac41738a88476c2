#include "compiler/support/json_writer.h"

#include <fmt/format.h>

#include <cmath>

namespace wick::compiler {
namespace {

// Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = byte(0) < 0x80         ? 1
                        : (byte(0) >> 5) == 6  ? 2
                        : (byte(0) >> 4) == 14 ? 3
                        : (byte(0) >> 3) == 30 ? 4
                                               : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t code = length == 1 ? byte(0) : byte(0) & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  static constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code >= kSmallest[length] && code < 0x110000 && !surrogate ? length : 0;
}

}  // namespace

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) text_ += ',';
  first_ = false;
}

void JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  stack_ += bracket == '{' ? '}' : ']';
  first_ = true;
}

void JsonWriter::end() {
  text_ += stack_.back();
  stack_.pop_back();
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  value(name);
  text_ += ':';
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  separate();
  text_ += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const size_t length = utf8_length(text);
    if (length == 0)
      text_ += "\xef\xbf\xbd";
    else if (c == '"' || c == '\\')
      text_ += fmt::format("\\{}", text[0]);
    else if (c < 0x20 || c == 0x7f)
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text_ += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

void JsonWriter::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
}
void JsonWriter::value(double number) {
  separate();
  text_ += std::isfinite(number) ? fmt::format("{}", number) : "null";
}
void JsonWriter::value(int64_t number) {
  separate();
  text_ += std::to_string(number);
}
void JsonWriter::value(uint64_t number) {
  separate();
  text_ += std::to_string(number);
}
void JsonWriter::null() {
  separate();
  text_ += "null";
}

}  // namespace wick::compiler
