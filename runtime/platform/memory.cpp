#include "runtime/platform/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

namespace wick {
namespace {

/// Files that are mapped, by address.
struct FileMappings {
  std::mutex mutex;
  std::map<uintptr_t, size_t> bytes;
};

FileMappings& file_mappings() {
  static FileMappings* the_mappings = new FileMappings;  // mappings may be undone after static objects
  return *the_mappings;
}

}  // namespace

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (!data_) return;
  FileMappings& mappings = file_mappings();
  const std::lock_guard<std::mutex> lock(mappings.mutex);  // the address is forgotten before others can get it
  mappings.bytes.erase(reinterpret_cast<uintptr_t>(data_));
  munmap(data_, size_);
}

bool Mapping::map_file(const std::string& path, Mapping* out, std::string* message) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    *message = path + ": " + strerror(errno);
    return false;
  }
  struct stat info;
  void* data = MAP_FAILED;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    *message = path + ": not a regular file";
  } else if (info.st_size == 0) {
    close(fd);
    *out = Mapping();
    return true;
  } else {
    data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) *message = path + ": " + strerror(errno);
  }
  close(fd);
  if (data == MAP_FAILED) return false;
  Mapping mapping;
  mapping.data_ = data;
  mapping.size_ = static_cast<size_t>(info.st_size);
  FileMappings& mappings = file_mappings();
  {
    const std::lock_guard<std::mutex> lock(mappings.mutex);
    mappings.bytes[reinterpret_cast<uintptr_t>(data)] = mapping.size_;
  }
  *out = std::move(mapping);
  return true;
}

bool Mapping::reserve(size_t size_bytes, Mapping* out) {
  if (size_bytes == 0) size_bytes = 1;
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return false;
  Mapping mapping;
  mapping.data_ = data;
  mapping.size_ = size_bytes;
  *out = std::move(mapping);
  return true;
}

bool Mapping::reserve_huge(size_t size_bytes, Mapping* out) {
  if (size_bytes == 0) size_bytes = 1;
  Mapping mapping;
  if (size_bytes > SIZE_MAX - 2 * kHugePageBytes || !reserve(size_bytes + kHugePageBytes, &mapping)) return false;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(mapping.data_);
  const size_t skipped = (kHugePageBytes - begin % kHugePageBytes) % kHugePageBytes;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t kept = (size_bytes + page - 1) / page * page;
  uint8_t* data = static_cast<uint8_t*>(mapping.data_) + skipped;
  if (skipped != 0) munmap(mapping.data_, skipped);
  munmap(data + kept, mapping.size_ - skipped - kept);
  mapping.data_ = data;
  mapping.size_ = kept;
  prefer_huge_pages(mapping.data_, mapping.size_);
  *out = std::move(mapping);
  return true;
}

void prefer_huge_pages(void* data, size_t size_bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes,
                  end = (reinterpret_cast<uintptr_t>(data) + size_bytes) / kHugePageBytes * kHugePageBytes;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
  (void)data;
  (void)size_bytes;
#endif
}

void discard_pages(void* data, size_t size_bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page,
                  end = (reinterpret_cast<uintptr_t>(data) + size_bytes) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void release_file_pages(Span<const uint8_t> bytes) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t data = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t begin = (data + page - 1) / page * page, end = (data + bytes.size()) / page * page;
  if (begin >= end) return;
  FileMappings& mappings = file_mappings();
  const std::lock_guard<std::mutex> lock(mappings.mutex);
  auto after = mappings.bytes.upper_bound(begin);
  if (after == mappings.bytes.begin()) return;
  const auto& [start, size] = *std::prev(after);
  if (end - start > size) return;
  // Nothing was ever written there, so nothing is lost.
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace wick
