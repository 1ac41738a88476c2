// Whole files as bytes: mapped for reading, replaced atomically for writing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler {

/// A regular file mapped read-only. Move-only; the bytes live as long as the map. An empty file has empty bytes.
/// Pages are read when first touched, so opening costs no memory.
class FileMap {
 public:
  /// Errors: file_io if the file cannot be opened, is no regular file, or cannot be mapped.
  static Result<FileMap> open(const std::string& path);

  FileMap(FileMap&& other) noexcept;
  FileMap& operator=(FileMap&& other) noexcept;
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;
  ~FileMap();

  Span<const uint8_t> bytes() const { return bytes_; }
  /// Gives the memory of whole pages in `range` back; they are read from the file again when touched. A range that is
  /// not in the map is left alone.
  void release(Span<const uint8_t> range) const;

 private:
  explicit FileMap(Span<const uint8_t> bytes) : bytes_(bytes) {}
  Span<const uint8_t> bytes_;
};

/// Writes `bytes` to `path`. Readers see the old file or the new one, never a part: the bytes go to a temporary file in
/// the same folder, which is then renamed. A path that exists and is no regular file (a device, a pipe) is written to
/// directly. Errors: file_io; the old file is then unchanged and the temporary one removed.
Status write_file(const std::string& path, Span<const uint8_t> bytes);
/// As above, for a file in pieces, one behind the other.
Status write_file(const std::string& path, const std::vector<Span<const uint8_t>>& pieces);

}  // namespace wick::compiler
