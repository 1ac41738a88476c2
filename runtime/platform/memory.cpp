#include "runtime/platform/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace wick {

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

Mapping::~Mapping() {
  if (data_) munmap(data_, size_);
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
    *message = path + ": the file is empty";
  } else {
    data = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) *message = path + ": " + strerror(errno);
  }
  close(fd);
  if (data == MAP_FAILED) return false;
  Mapping mapping;
  mapping.data_ = data;
  mapping.size_ = static_cast<size_t>(info.st_size);
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

}  // namespace wick
