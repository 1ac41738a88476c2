#include "cli/arrays/npz_header.h"

#include <cstring>
#include <string_view>

#include "wick/tensor.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::printable;
using compiler::Result;
using compiler::Status;

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicBytes = 6;
constexpr size_t kMaxHeaderBytes = 65536;

struct DTypeRow {
  DType dtype;
  const char* text;  // NumPy's kind and size
};

// Order matters for reading: the first row with a text wins.
constexpr DTypeRow kDTypes[] = {
    {DType::boolean, "b1"},   {DType::i8, "i1"},       {DType::i16, "i2"},        {DType::i32, "i4"},
    {DType::i64, "i8"},       {DType::u8, "u1"},       {DType::u16, "u2"},        {DType::u32, "u4"},
    {DType::u64, "u8"},       {DType::f16, "f2"},      {DType::f32, "f4"},        {DType::f64, "f8"},
    {DType::c64, "c8"},       {DType::c128, "c16"},    {DType::bf16, "V2"},       {DType::qi8, "i1"},
    {DType::qu8, "u1"},       {DType::qi32, "i4"},     {DType::bits16, "u2"},     {DType::c32, "V4"},
    {DType::f8e5m2, "V1"},    {DType::f8e4m3fn, "V1"}, {DType::f8e5m2fnuz, "V1"}, {DType::f8e4m3fnuz, "V1"},
    {DType::f8e8m0fnu, "V1"},
};

Diag corrupt(std::string message) { return Diag(Code::corrupt_file, std::move(message)); }

Result<DType> dtype_from_descr(std::string_view descr) {
  if (descr.size() >= 2 && descr[0] == '>') {
    return Diag(Code::incompatible_file, "the array is big-endian")
        .expected("dtype '" + printable(descr) + "'", "little-endian elements")
        .with_help("save array.astype(array.dtype.newbyteorder('<'))");
  }
  const bool has_order = !descr.empty() && (descr[0] == '<' || descr[0] == '|' || descr[0] == '=');
  const std::string_view kind = has_order ? descr.substr(1) : descr;
  for (const DTypeRow& row : kDTypes) {
    const bool readable = kind != "V1" && kind != "V4";  // several of Wick's dtypes share these
    if (readable && kind == row.text) return row.dtype;
  }
  return Diag(Code::incompatible_file, "arrays of this dtype are not read")
      .expected("dtype '" + printable(descr) + "'",
                "bool, int8 to int64, uint8 to uint64, float16/32/64, complex64/128, or |V2 for bfloat16");
}

// Recursive descent over the literal; every method leaves `at_` behind what it accepted.
class LiteralParser {
 public:
  explicit LiteralParser(std::string_view text) : text_(text) {}

  Status parse(NpyHeader& header) {
    bool seen_descr = false, seen_order = false, seen_shape = false;
    if (!accept('{')) return corrupt("the .npy header is not a dict");
    while (!accept('}')) {
      std::string_view key;
      if (!string(key) || !accept(':')) return corrupt("the .npy header has no key where one must stand");
      if (key == "descr" && !seen_descr) {
        seen_descr = true;
        RETURN_IF_ERROR(descr(header));
      } else if (key == "fortran_order" && !seen_order) {
        seen_order = true;
        if (!boolean(header.fortran_order))
          return corrupt("fortran_order in the .npy header is neither True nor False");
      } else if (key == "shape" && !seen_shape) {
        seen_shape = true;
        RETURN_IF_ERROR(shape(header));
      } else {
        return corrupt("the .npy header has an unknown or repeated key '" + printable(key) + "'");
      }
      if (!accept(',') && !peek('}')) return corrupt("the .npy header lacks a comma");
    }
    if (!seen_descr || !seen_order || !seen_shape)
      return corrupt("the .npy header lacks descr, fortran_order or shape");
    skip_space();
    if (at_ != text_.size()) return corrupt("the .npy header has text after its dict");
    return {};
  }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  bool peek(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!peek(c)) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    skip_space();
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool string(std::string_view& out) {
    const char quote = peek('"') ? '"' : '\'';
    if (!accept(quote)) return false;
    const size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) return false;
    out = text_.substr(at_, end - at_);
    at_ = end + 1;
    return out.find('\\') == std::string_view::npos;
  }
  bool boolean(bool& out) {
    out = word("True");
    return out || word("False");
  }
  Status descr(NpyHeader& header) {
    if (peek('[')) {
      return Diag(Code::incompatible_file, "structured arrays are not read").with_help("save one array per field");
    }
    std::string_view text;
    if (!string(text)) return corrupt("descr in the .npy header is not a string");
    ASSIGN_OR_RETURN(header.dtype, dtype_from_descr(text));
    return {};
  }
  bool size(int64_t& out) {
    skip_space();
    const size_t start = at_;
    out = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (__builtin_mul_overflow(out, int64_t{10}, &out) || __builtin_add_overflow(out, text_[at_] - '0', &out)) {
        return false;
      }
    }
    const bool any = at_ > start;
    if (any && at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return any;
  }
  Status shape(NpyHeader& header) {
    if (!accept('(')) return corrupt("shape in the .npy header is not a tuple");
    while (!accept(')')) {
      int64_t value = 0;
      if (!size(value)) return corrupt("shape in the .npy header holds something that is not a size");
      header.sizes.push_back(value);
      if (header.sizes.size() > kMaxRank) {
        return Diag(Code::incompatible_file, "the array has more than " + std::to_string(kMaxRank) + " dimensions");
      }
      if (accept(',')) continue;
      if (header.sizes.size() == 1 || !peek(')')) return corrupt("shape in the .npy header lacks a comma");
    }
    return {};
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Sizes that hold a 0 make no bytes, but the product of the others still has to fit.
Status compute_data_bytes(NpyHeader& header) {
  uint64_t bytes = dtype_size_bytes(header.dtype);
  bool empty = false;
  for (const int64_t size : header.sizes) {
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes) || bytes > uint64_t{INT64_MAX}) {
      return corrupt("the array's shape has more bytes than an address space");
    }
  }
  header.data_bytes = empty ? 0 : bytes;
  return {};
}

}  // namespace

Result<NpyHeader> parse_npy_header(Span<const uint8_t> file) {
  if (file.size() < kMagicBytes + 4 || std::memcmp(file.data(), kMagic, kMagicBytes) != 0) {
    return corrupt("neither .npy nor .npz: the magic bytes are missing");
  }
  const uint8_t major = file[6], minor = file[7];
  if (major < 1 || major > 3 || minor != 0) {
    return Diag(Code::incompatible_file, "unknown .npy version " + std::to_string(major) + "." + std::to_string(minor));
  }
  const size_t length_bytes = major == 1 ? 2 : 4;
  const size_t start = kMagicBytes + 2 + length_bytes;
  if (file.size() < start) return corrupt("the .npy file ends inside its header");
  size_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= static_cast<size_t>(file[kMagicBytes + 2 + i]) << (8 * i);
  if (length > kMaxHeaderBytes) return corrupt("the .npy header claims " + std::to_string(length) + " bytes");
  if (length > file.size() - start) return corrupt("the .npy file ends inside its header");

  NpyHeader header;
  LiteralParser parser({reinterpret_cast<const char*>(file.data()) + start, length});
  RETURN_IF_ERROR(parser.parse(header));
  RETURN_IF_ERROR(compute_data_bytes(header));
  header.data_offset = start + length;
  return header;
}

std::string npy_header_text(DType dtype, const std::vector<int64_t>& sizes) {
  std::string descr;
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) descr = row.text;
  }
  WICK_CHECK(!descr.empty());
  const bool unordered = dtype_size_bytes(dtype) == 1 || descr[0] == 'V';
  std::string dict =
      "{'descr': '" + std::string(unordered ? "|" : "<") + descr + "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < sizes.size(); ++i) dict += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  dict += sizes.size() == 1 ? ",), }" : "), }";

  const size_t prefix = kMagicBytes + 4;
  const size_t padding = 63 - (prefix + dict.size()) % 64;
  dict.append(padding, ' ');
  dict += '\n';
  WICK_CHECK((prefix + dict.size()) % 64 == 0 && dict.size() <= 65535);
  std::string out(kMagic, kMagicBytes);
  out += {'\x01', '\x00', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return out + dict;
}

}  // namespace wick::cli
