#include "compiler/ir/text/text_reader.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

void append_utf8(std::string& out, uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
    return;
  }
  const int rest = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  out += static_cast<char>((rest == 1 ? 0xc0u : rest == 2 ? 0xe0u : 0xf0u) | point >> (6 * rest));
  for (int i = rest - 1; i >= 0; --i) out += static_cast<char>(0x80 | (point >> (6 * i) & 0x3f));
}

}  // namespace

bool TextReader::at_letter() const {
  return position_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[position_]));
}

void TextReader::error(const std::string& wanted) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i < position_ && i < text_.size(); ++i) {
    column = text_[i] == '\n' ? 1 : column + 1;
    line += text_[i] == '\n';
  }
  const size_t end = std::min(text_.find('\n', position_), position_ + 40);
  std::string found =
      position_ >= text_.size() ? "the end" : fmt::format("'{}'", printable(text_.substr(position_, end - position_)));
  fail(Diag(Code::corrupt_file, fmt::format("IR text, line {}, column {}", line, column)).expected(found, wanted));
}

void TextReader::skip() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '#') {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else {
      return;
    }
  }
}

bool TextReader::next_is(char c) {
  skip();
  return position_ < text_.size() && text_[position_] == c;
}

bool TextReader::accept(char c) {
  if (!next_is(c)) return false;
  ++position_;
  return true;
}

void TextReader::expect(char c) {
  if (!accept(c)) error(fmt::format("'{}'", c));
}

std::string TextReader::word() {
  skip();
  const size_t start = position_;
  while (position_ < text_.size() && is_name_char(text_[position_])) ++position_;
  if (start == position_) error("a word");
  return std::string(text_.substr(start, position_ - start));
}

bool TextReader::accept_word(std::string_view wanted) {
  skip();
  if (text_.substr(position_, wanted.size()) != wanted) return false;
  const size_t end = position_ + wanted.size();
  if (end < text_.size() && is_name_char(text_[end])) return false;
  position_ = end;
  return true;
}

void TextReader::expect_word(std::string_view wanted) {
  if (!accept_word(wanted)) error(std::string(wanted));
}

std::string TextReader::string() {
  expect('"');
  std::string out;
  while (position_ < text_.size() && text_[position_] != '"' && text_[position_] != '\n') {
    if (text_[position_] == '\\' && position_ + 1 < text_.size()) {
      ++position_;
      escaped(out);
    } else {
      out += text_[position_++];
    }
  }
  expect('"');
  return out;
}

// Reads an escape after its backslash, as printable() writes it: n, t, r, xHH, u{HEX}; any other character stands for
// itself.
void TextReader::escaped(std::string& out) {
  const char c = text_[position_++];
  if (c == 'n' || c == 't' || c == 'r') {
    out += c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
  } else if (c == 'x') {
    out += static_cast<char>(hex_digits(2));
  } else if (c == 'u') {
    expect('{');
    append_utf8(out, hex_digits(6));
    expect('}');
  } else {
    out += c;
  }
}

uint32_t TextReader::hex_digits(size_t max_digits) {
  const size_t end = std::min(text_.size(), position_ + max_digits);
  uint32_t value = 0;
  auto [stop, ec] = std::from_chars(text_.data() + position_, text_.data() + end, value, 16);
  if (ec != std::errc()) error("hexadecimal digits");
  position_ = static_cast<size_t>(stop - text_.data());
  return value;
}

std::string_view TextReader::expression(std::string_view stops) {
  skip();
  const size_t start = position_;
  int depth = 0;
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (depth == 0 && stops.find(c) != std::string_view::npos) break;
    if (c == '(') ++depth;
    if (c == ')') --depth;
    ++position_;
  }
  std::string_view out = text_.substr(start, position_ - start);
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.remove_suffix(1);
  return out;
}

Sym TextReader::sym(std::string_view stops) {
  auto parsed = parse_sym(expression(stops));
  if (!parsed.ok()) fail(std::move(parsed.diag()));
  return *parsed;
}

double TextReader::real(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  double value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) error("a number");
  return value;
}

}  // namespace wick::compiler
