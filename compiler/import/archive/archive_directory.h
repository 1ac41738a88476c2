// Reader of a zip file's central directory. Knows zip, not .pt2.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler::pt2 {

/// One record of the central directory, before its local header was looked at.
struct DirectoryRecord {
  std::string_view name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t compressed_bytes = 0;
  uint64_t size_bytes = 0;
  uint64_t header_offset = 0;
};

struct Directory {
  std::vector<DirectoryRecord> records;  // in file order
  uint64_t offset = 0;                   // where the directory starts; all data lies before it
};

/// Reads end records and central directory. Every offset and length is inside `zip`; names are not empty, valid as
/// relative paths (no "..", no leading "/", no control character) and at most 1024 bytes.
/// Errors: corrupt_file.
Result<Directory> read_directory(Span<const uint8_t> zip);

/// The bytes of one record: checks its local header against the record. The record must be stored, not compressed.
/// `*end` gets the offset where the data ends. Errors: corrupt_file.
Result<Span<const uint8_t>> locate_data(Span<const uint8_t> zip, const Directory& directory,
                                        const DirectoryRecord& record, uint64_t* end);

/// Does the file start like a zip archive?
bool looks_like_zip(Span<const uint8_t> bytes);

}  // namespace wick::compiler::pt2
