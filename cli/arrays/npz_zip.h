// The subset of ZIP that .npz files use: a checked directory, stored and deflated entries, a deterministic writer.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cli {

struct ZipEntry {
  std::string name;
  bool deflated = false;
  uint32_t crc32 = 0;
  uint64_t packed_bytes = 0;
  uint64_t unpacked_bytes = 0;
  uint64_t data_offset = 0;  // of the packed bytes in the file
};

/// Reads and checks the central directory: records, ZIP64 fields, local headers that agree, no overlap, no equal names.
/// The entries' data lie inside `file`. Entries keep the directory's order. Errors: corrupt_file; incompatible_file
/// (encrypted, another method, several disks); limit (more than `max_entries`).
compiler::Result<std::vector<ZipEntry>> read_zip_directory(Span<const uint8_t> file, uint64_t max_entries);

/// The entry's unpacked bytes, CRC-32 checked. Errors: corrupt_file; limit if memory does not suffice.
compiler::Result<std::vector<uint8_t>> unpack(Span<const uint8_t> file, const ZipEntry& entry);

/// Builds an archive of stored entries, all with the same date and no attributes.
class ZipWriter {
 public:
  /// Errors: limit when the archive would pass 4 GiB or 65,534 entries.
  compiler::Status add(const std::string& name, const std::vector<uint8_t>& bytes);
  /// Appends the directory and hands over the archive's bytes.
  std::vector<uint8_t> finish();

 private:
  std::vector<uint8_t> out_, directory_;
  uint32_t num_entries_ = 0;
};

}  // namespace wick::cli
