// Files and memory from the operating system. Hosted.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <string>

#include "wick/span.h"

namespace wick {

constexpr size_t kHugePageBytes = size_t{2} << 20;

/// A mapping that is undone on destruction. Page-aligned; movable.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : data_(other.data_), size_(other.size_) {
    other.data_ = nullptr;
    other.size_ = 0;
  }
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  /// The file, read-only; no bytes if it is empty. False with `message` set if it cannot be read.
  static bool map_file(const std::string& path, Mapping* out, std::string* message);
  /// Zeroed memory that takes no physical memory until it is touched. False if the system refuses.
  static bool reserve(size_t size_bytes, Mapping* out);
  /// The same, where the system may put huge pages: it does so for each whole 2 MiB from the start, when the first byte
  /// of them is touched.
  static bool reserve_huge(size_t size_bytes, Mapping* out);

  Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

/// All of this memory will be touched: the system may put huge pages where none of it was yet.
void prefer_huge_pages(void* data, size_t size_bytes);

/// States that this memory of Mapping::reserve is no longer used: its whole pages leave the process's memory, and read
/// as zeros.
void discard_pages(void* data, size_t size_bytes);

/// States that the bytes will not be read soon. Whole pages of them that lie in a Mapping of a file leave this
/// process's memory and come back from the file when they are read. Other bytes stay. Any thread.
void release_file_pages(Span<const uint8_t> bytes);

}  // namespace wick
