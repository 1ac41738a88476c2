// Reads and writes NumPy's .npy and .npz files. The bytes are untrusted.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/limits.h"
#include "compiler/support/result.h"
#include "wick/dtype.h"
#include "wick/span.h"

namespace wick::cli {

/// One dense array. `bytes` holds the elements row-major, little-endian; a bool is 0 or 1.
/// Invariant: bytes.size() == product(sizes) * dtype_size_bytes(dtype).
struct NamedArray {
  std::string name;  // inside an .npz without ".npy"; empty for a lone .npy
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;  // empty: a scalar; a size may be 0
  std::vector<uint8_t> bytes;
};

/// Limits for a file.
struct ArrayLimits {
  uint64_t max_unpacked_bytes = compiler::limits().unpacked_bytes;  // all arrays of a file together
  uint64_t max_entries = compiler::limits().archive_entries;        // arrays in one .npz
};

/// Reads one array from the bytes of an .npy file, versions 1 to 3, C or Fortran order.
/// '|V2' (and '<V2') is bfloat16, as NumPy has no name for it.
/// Errors: corrupt_file (header, length, bytes after the data); incompatible_file (big-endian, a dtype or rank Wick has
/// no tensor for); limit.
compiler::Result<NamedArray> parse_npy(Span<const uint8_t> file, const ArrayLimits& limits = {});

/// Reads all arrays of an .npz in the archive's order (of the central directory). Entries are stored or deflated.
/// Errors: as parse_npy, also corrupt_file (central directory, overlaps, equal names, CRC-32, an entry that unpacks to
/// another size) and incompatible_file (encryption, other compression methods, several disks, a name not *.npy).
compiler::Result<std::vector<NamedArray>> parse_npz(Span<const uint8_t> file, const ArrayLimits& limits = {});

/// Reads an .npy (one array) or .npz, told apart by content. Errors: file_io, those of the parsers; the file is named.
compiler::Result<std::vector<NamedArray>> read_arrays(const std::string& path, const ArrayLimits& limits = {});

/// The bytes of an .npy file, version 1, C order. 8-bit floats are written as '|V1', bits16 as '<u2', c32 as '|V4',
/// quantized integers as the integers they are.
std::vector<uint8_t> to_npy(const NamedArray& array);

/// The bytes of an .npz: stored entries, all dated 1980-01-01; equal arrays give equal bytes.
/// Errors: usage (an empty name, two equal names); limit (4 GiB and more).
compiler::Result<std::vector<uint8_t>> to_npz(const std::vector<NamedArray>& arrays);

/// Writes `arrays` to `path`: an .npy if the path ends so (exactly one array, else usage), else an .npz. Errors:
/// file_io.
compiler::Status write_arrays(const std::string& path, const std::vector<NamedArray>& arrays);

}  // namespace wick::cli
