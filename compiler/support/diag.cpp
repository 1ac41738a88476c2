#include "compiler/support/diag.h"

#include <cstdint>
#include <cstdio>
#include <utility>

namespace wick::compiler {
namespace {

constexpr size_t kMaxLineChars = 2000;
constexpr size_t kPairColumns = 100;  // "found" and "wanted" share a line up to this width

struct Row {
  const char* name;
  int exit_code;
};

Row row_of(Code code) {
  switch (code) {
    case Code::usage: return {"usage", 2};
    case Code::file_io: return {"file-io", 2};
    case Code::unsupported_op: return {"unsupported-op", 3};
    case Code::unsupported_model: return {"unsupported-model", 3};
    case Code::corrupt_file: return {"corrupt-file", 4};
    case Code::incompatible_file: return {"incompatible-file", 4};
    case Code::execution: return {"execution", 4};
    case Code::numeric_mismatch: return {"numeric-mismatch", 5};
    case Code::budget: return {"budget", 6};
    case Code::limit: return {"limit", 3};
    case Code::missing_tool: return {"missing-tool", 3};
    case Code::internal: return {"internal", 1};
  }
  return {"internal", 1};
}

// Length of the valid UTF-8 sequence that starts `text`, or 0. `point` gets the code point.
size_t decode_utf8(std::string_view text, uint32_t* point) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) {
    *point = lead;
    return 1;
  }
  const size_t length = lead >= 0xf0 && lead < 0xf5   ? 4
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  uint32_t value = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  const uint32_t smallest = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return 0;
  *point = value;
  return length;
}

// Characters that would act on the terminal or reorder the line instead of showing themselves.
bool is_unsafe(uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x200e || point == 0x200f || point == 0x061c ||
         (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) || point == 0xfeff;
}

std::string hex(const char* format, uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string escape_one(uint32_t point) {
  if (point == '\n') return "\\n";
  if (point == '\t') return "\\t";
  if (point == '\r') return "\\r";
  return point < 0x80 ? hex("\\x%02x", point) : hex("\\u{%x}", point);
}

std::string escape(std::string_view text, size_t max_chars, bool quotes) {
  std::string out;
  for (size_t i = 0, chars = 0; i < text.size();) {
    if (chars >= max_chars) return out + "...";
    uint32_t point = 0;
    const size_t length = decode_utf8(text.substr(i), &point);
    std::string piece;
    if (length == 0) {
      piece = hex("\\x%02x", static_cast<uint8_t>(text[i]));
    } else if (is_unsafe(point)) {
      piece = escape_one(point);
    } else if (quotes && (point == '"' || point == '\'' || point == '\\')) {
      piece = {'\\', static_cast<char>(point)};
    }
    chars += piece.empty() ? 1 : piece.size();
    out += piece.empty() ? std::string(text.substr(i, length)) : piece;
    i += length == 0 ? 1 : length;
  }
  return out;
}

std::string clean(std::string_view text) { return escape(text, kMaxLineChars, false); }

// "encoder.attn.softmax (model.py:118) in model.pt2", as far as it is known.
std::string place(const Where& where) {
  std::string out = clean(where.module);
  if (!where.module.empty() && !where.node.empty()) out += '.';
  out += clean(where.node);
  if (!where.source.empty()) out += (out.empty() ? "" : " (") + clean(where.source) + (out.empty() ? "" : ")");
  if (!where.file.empty()) out += (out.empty() ? "" : " in ") + clean(where.file);
  return out;
}

std::string line(const char* label, const std::string& text) { return text.empty() ? "" : label + text + "\n"; }

std::string found_and_wanted(const Diag& diag) {
  const std::string found = clean(diag.found), wanted = clean(diag.wanted);
  const std::string both = "  found  " + found + "        wanted  " + wanted;
  if (!found.empty() && !wanted.empty() && both.size() <= kPairColumns) return both + "\n";
  return line("  found  ", found) + line("  wanted ", wanted);
}

}  // namespace

Diag::Diag() = default;
Diag::Diag(Code c, std::string m) : code(c), message(std::move(m)) {}
Diag::Diag(const Diag& other) = default;
Diag::Diag(Diag&& other) noexcept = default;
Diag& Diag::operator=(const Diag& other) = default;
Diag& Diag::operator=(Diag&& other) noexcept = default;
Diag::~Diag() = default;

Diag&& Diag::in(Where w) && {
  where = std::move(w);
  return std::move(*this);
}
Diag&& Diag::at_file(std::string f) && {
  where.file = std::move(f);
  return std::move(*this);
}
Diag&& Diag::expected(std::string f, std::string w) && {
  found = std::move(f);
  wanted = std::move(w);
  return std::move(*this);
}
Diag&& Diag::with_help(std::string h) && {
  help = std::move(h);
  return std::move(*this);
}
Diag&& Diag::note(std::string n) && {
  notes.push_back(std::move(n));
  return std::move(*this);
}

const char* code_name(Code code) { return row_of(code).name; }
int exit_code(Code code) { return row_of(code).exit_code; }

std::string render(const Diag& diag) {
  std::string out = std::string("error[") + code_name(diag.code) + "]: " + clean(diag.message) + "\n";
  out += line("  at     ", place(diag.where));
  out += found_and_wanted(diag);
  out += line("  help   ", clean(diag.help));
  for (const std::string& note : diag.notes) out += line("  note   ", clean(note));
  return out;
}

std::string printable(std::string_view text, size_t max_chars) { return escape(text, max_chars, true); }

std::string printable_sentence(std::string_view text, size_t max_chars) { return escape(text, max_chars, false); }

}  // namespace wick::compiler
