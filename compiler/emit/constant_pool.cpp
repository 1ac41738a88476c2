#include "compiler/emit/constant_pool.h"

#include <string.h>

#include <algorithm>

#include "compiler/support/content_hash.h"

namespace wick::compiler {

namespace {
constexpr uint64_t kConstantAlignment = 16;
}

std::optional<uint64_t> ConstantPool::find(Span<const uint8_t> bytes, uint64_t alignment) const {
  return sizes_.count(bytes.size()) != 0 ? find(bytes, content_hash(bytes), alignment) : std::nullopt;
}

std::optional<uint64_t> ConstantPool::find(Span<const uint8_t> bytes, uint64_t hash, uint64_t alignment) const {
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Span<const uint8_t>& known = it->second.bytes;
    if (known.size() == bytes.size() && it->second.offset % alignment == 0 &&
        (known.data() == bytes.data() || memcmp(known.data(), bytes.data(), known.size()) == 0)) {
      return it->second.offset;
    }
  }
  return std::nullopt;
}

uint64_t ConstantPool::add(const ConstantData& data, uint64_t alignment) {
  alignment = std::max(alignment, kConstantAlignment);
  const uint64_t hash = content_hash(data.bytes);
  if (const std::optional<uint64_t> known = find(data.bytes, hash, alignment)) return *known;
  pieces_.pad_to((pieces_.size_bytes + alignment - 1) / alignment * alignment);
  const uint64_t offset = pieces_.size_bytes;
  if (data.bytes.empty()) {
    // An empty tensor still needs a place that exists, and a segment of no bytes cannot be loaded.
    pieces_.append(std::vector<uint8_t>(kConstantAlignment));
  } else {
    pieces_.append(data.bytes, data.owner);
  }
  by_hash_.emplace(hash, Entry{data.bytes, offset});
  sizes_.insert(data.bytes.size());
  return offset;
}

uint32_t ConstantPool::index_of(uint64_t offset) {
  auto [it, fresh] = index_by_offset_.try_emplace(offset, 0);
  if (fresh) {
    it->second = static_cast<uint32_t>(offsets_.size());
    offsets_.push_back(offset);
  }
  return it->second;
}

}  // namespace wick::compiler
