// Whole files as bytes: mapped for reading, replaced atomically for writing.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
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
  /// Returns the memory of the whole pages in `range` to the system; they are read from the file again when touched. A
  /// range that is not in the map is ignored.
  void release(Span<const uint8_t> range) const;

 private:
  explicit FileMap(Span<const uint8_t> bytes) : bytes_(bytes) {}
  Span<const uint8_t> bytes_;
};

/// A file descriptor that closes itself; -1: none. Move-only.
struct Descriptor {
  explicit Descriptor(int number) : fd(number) {}
  Descriptor(Descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor();
  /// Closes now. False with errno set if that fails.
  bool close();

  int fd;
};

/// Writes a file from its beginning to its end. Readers see the old file or the new one, never a part: the bytes go to
/// a temporary file in the same folder, which finish() renames. A path that exists and is no regular file (a device, a
/// pipe) is written to directly. Without finish(), or after an error (file_io), the old file is unchanged and the
/// temporary one removed. Move-only.
class FileWriter {
 public:
  /// `size_bytes`: the size of the whole file if known, else 0; a hint.
  static Result<FileWriter> open(const std::string& path, uint64_t size_bytes);

  FileWriter(FileWriter&& other) noexcept;
  ~FileWriter();

  /// A file whose bytes another program wrote to `temporary`, in the same folder. Takes that file over.
  static FileWriter written(std::string path, std::string temporary) {
    return {std::move(path), std::move(temporary), -1};
  }

  Status append(Span<const uint8_t> bytes);
  /// Writes the buffered bytes and closes the file, so that finish() only renames it. No append() may follow.
  Status close();
  Status finish();

 private:
  // Linux caches a file that is written in aligned blocks of this size in pieces of memory of the same size.
  static constexpr size_t kBlockBytes = size_t{256} << 10;

  FileWriter(std::string path, std::string temporary, int fd);
  Status write_waiting();

  std::string path_, temporary_;  // temporary_: empty if there is none
  Descriptor file_;
  std::vector<uint8_t> waiting_;  // buffered bytes, less than a block
};

/// Finishes all of the files or none, unless a rename fails: no file appears before the bytes of all are written.
/// Errors: file_io.
Status finish_all(std::vector<FileWriter>& files);

/// Writes a whole file at once.
Status write_file(const std::string& path, Span<const uint8_t> bytes);

}  // namespace wick::compiler
