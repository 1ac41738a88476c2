// Memory of exactly the size asked for, so that a sanitizer sees each step outside.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "wick/span.h"

namespace wick::fuzz {

class Block {
 public:
  explicit Block(size_t size_bytes) : size_(size_bytes) {
    if (posix_memalign(&data_, 64, size_bytes == 0 ? 1 : size_bytes) != 0) abort();
    if (size_bytes != 0) memset(data_, 0, size_bytes);
  }
  explicit Block(Span<const uint8_t> content) : Block(content.size()) {
    if (size_ != 0) memcpy(data_, content.data(), size_);
  }
  ~Block() { free(data_); }
  Block(const Block&) = delete;
  Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace wick::fuzz
