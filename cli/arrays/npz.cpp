#include "cli/arrays/npz.h"

#include <cstring>
#include <set>

#include "cli/arrays/npz_header.h"
#include "cli/arrays/npz_zip.h"
#include "compiler/support/file_map.h"

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are kept as they lie in little-endian files");

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::FileMap;
using compiler::printable;
using compiler::Result;
using compiler::Status;

constexpr std::string_view kSuffix = ".npy";

bool ends_with_npy(std::string_view name) {
  return name.size() >= kSuffix.size() && name.substr(name.size() - kSuffix.size()) == kSuffix;
}

/// Copies a column-major block to row-major order. `source` and `target` hold product(sizes) elements, at least one.
void transpose(const uint8_t* source, uint8_t* target, const std::vector<int64_t>& sizes, size_t element_bytes) {
  const size_t rank = sizes.size();
  std::vector<int64_t> index(rank, 0), stride(rank);
  int64_t numel = 1;
  for (size_t d = 0; d < rank; ++d) {
    stride[d] = numel;
    numel *= sizes[d];
  }
  int64_t at = 0;
  for (int64_t i = 0; i < numel; ++i) {
    std::memcpy(target + static_cast<size_t>(i) * element_bytes, source + static_cast<size_t>(at) * element_bytes,
                element_bytes);
    for (size_t d = rank; d-- > 0;) {
      at += stride[d];
      if (++index[d] < sizes[d]) break;
      at -= stride[d] * sizes[d];
      index[d] = 0;
    }
  }
}

/// Checks that `file_bytes` is what header and data need, and that the data fits `limit_bytes`.
Status check_lengths(const NpyHeader& header, uint64_t file_bytes, uint64_t limit_bytes) {
  const uint64_t have = file_bytes - header.data_offset;
  if (have != header.data_bytes) {
    return Diag(Code::corrupt_file, have < header.data_bytes ? "the array is cut off" : "bytes follow the array")
        .expected(std::to_string(have) + " bytes of data", std::to_string(header.data_bytes));
  }
  if (header.data_bytes > limit_bytes) {
    return compiler::over_limit(&compiler::Limits::unpacked_bytes, "the arrays take more memory than allowed",
                                std::to_string(header.data_bytes) + " bytes");
  }
  return {};
}

/// Takes the elements out of `file`. Reuses its memory if they are row-major already.
NamedArray take_array(NpyHeader header, std::vector<uint8_t> file) {
  NamedArray array;
  array.dtype = header.dtype;
  const bool reorder = header.fortran_order && header.sizes.size() > 1 && header.data_bytes > 0;
  if (reorder) {
    array.bytes.resize(header.data_bytes);
    transpose(file.data() + header.data_offset, array.bytes.data(), header.sizes, dtype_size_bytes(header.dtype));
  } else {
    file.erase(file.begin(), file.begin() + static_cast<ptrdiff_t>(header.data_offset));
    array.bytes = std::move(file);
  }
  if (array.dtype == DType::boolean) {
    for (uint8_t& byte : array.bytes) byte = byte != 0;
  }
  array.sizes = std::move(header.sizes);
  return array;
}

Result<NamedArray> parse_owned(std::vector<uint8_t> file, uint64_t limit_bytes) {
  ASSIGN_OR_RETURN(NpyHeader header, parse_npy_header({file.data(), file.size()}));
  RETURN_IF_ERROR(check_lengths(header, file.size(), limit_bytes));
  return take_array(std::move(header), std::move(file));
}

Result<std::vector<NamedArray>> parse_any(Span<const uint8_t> file, const ArrayLimits& limits) {
  if (file.size() >= 2 && file[0] == 'P' && file[1] == 'K') return parse_npz(file, limits);
  ASSIGN_OR_RETURN(NamedArray array, parse_npy(file, limits));
  std::vector<NamedArray> arrays;
  arrays.push_back(std::move(array));
  return arrays;
}

Result<std::vector<uint8_t>> encode(const std::string& path, const std::vector<NamedArray>& arrays) {
  if (!ends_with_npy(path)) return to_npz(arrays);
  if (arrays.size() == 1) return to_npy(arrays[0]);
  return Diag(Code::usage, "an .npy file holds exactly one array")
      .expected(std::to_string(arrays.size()) + " arrays", "one")
      .with_help("write to an .npz file");
}

}  // namespace

Result<NamedArray> parse_npy(Span<const uint8_t> file, const ArrayLimits& limits) {
  ASSIGN_OR_RETURN(NpyHeader header, parse_npy_header(file));
  RETURN_IF_ERROR(check_lengths(header, file.size(), limits.max_unpacked_bytes));
  return take_array(std::move(header), std::vector<uint8_t>(file.begin(), file.end()));
}

Result<std::vector<NamedArray>> parse_npz(Span<const uint8_t> file, const ArrayLimits& limits) {
  ASSIGN_OR_RETURN(const std::vector<ZipEntry> entries, read_zip_directory(file, limits.max_entries));
  uint64_t left_bytes = limits.max_unpacked_bytes;
  for (const ZipEntry& entry : entries) {
    if (entry.unpacked_bytes > left_bytes) {
      return compiler::over_limit(&compiler::Limits::unpacked_bytes, "the arrays take more memory than allowed",
                                  "more");
    }
    left_bytes -= entry.unpacked_bytes;
  }
  std::vector<NamedArray> arrays;
  for (const ZipEntry& entry : entries) {
    if (!ends_with_npy(entry.name)) {
      return Diag(Code::incompatible_file, "entry '" + printable(entry.name) + "' is not an .npy file")
          .with_help("save with numpy.savez");
    }
    ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, unpack(file, entry));
    auto array = parse_owned(std::move(bytes), limits.max_unpacked_bytes);
    if (!array.ok()) return std::move(array.diag()).note("in entry '" + printable(entry.name) + "'");
    array->name = entry.name.substr(0, entry.name.size() - kSuffix.size());
    arrays.push_back(std::move(*array));
  }
  return arrays;
}

Result<std::vector<NamedArray>> read_arrays(const std::string& path, const ArrayLimits& limits) {
  ASSIGN_OR_RETURN(const FileMap file, FileMap::open(path));
  auto arrays = parse_any(file.bytes(), limits);
  if (!arrays.ok()) return std::move(arrays.diag()).at_file(path);
  return arrays;
}

std::vector<uint8_t> to_npy(const NamedArray& array) {
  const std::string header = npy_header_text(array.dtype, array.sizes);
  std::vector<uint8_t> out(header.begin(), header.end());
  out.insert(out.end(), array.bytes.begin(), array.bytes.end());
  return out;
}

Result<std::vector<uint8_t>> to_npz(const std::vector<NamedArray>& arrays) {
  std::set<std::string> names;
  ZipWriter writer;
  for (const NamedArray& array : arrays) {
    if (array.name.empty()) return Diag(Code::usage, "an array in an .npz needs a name");
    if (!names.insert(array.name).second) {
      return Diag(Code::usage, "two arrays have the name '" + printable(array.name) + "'");
    }
    RETURN_IF_ERROR(writer.add(array.name + std::string(kSuffix), to_npy(array)));
  }
  return writer.finish();
}

Status write_arrays(const std::string& path, const std::vector<NamedArray>& arrays) {
  auto bytes = encode(path, arrays);
  if (!bytes.ok()) return std::move(bytes.diag()).at_file(path);
  return compiler::write_file(path, {bytes->data(), bytes->size()});
}

}  // namespace wick::cli
