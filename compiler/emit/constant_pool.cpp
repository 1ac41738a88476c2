#include "compiler/emit/constant_pool.h"

#include <algorithm>

namespace wick::compiler {

namespace {
constexpr uint64_t kConstantAlignment = 16;
}

std::optional<uint64_t> ConstantPool::find(const ConstantData& data, uint64_t alignment) const {
  if (sizes_.count(data.size_bytes()) == 0) return std::nullopt;
  auto [first, last] = by_hash_.equal_range(data.hash());
  for (auto it = first; it != last; ++it) {
    if (it->second.offset % alignment == 0 && same_bytes(it->second.data, data)) return it->second.offset;
  }
  return std::nullopt;
}

uint64_t ConstantPool::add(const ConstantData& data, uint64_t alignment) {
  alignment = std::max(alignment, kConstantAlignment);
  if (const std::optional<uint64_t> known = find(data, alignment)) return *known;
  pieces_.pad_to((pieces_.size_bytes + alignment - 1) / alignment * alignment);
  const uint64_t offset = pieces_.size_bytes;
  if (data.empty()) {
    // An empty tensor still needs a valid offset, and a segment without bytes cannot be loaded.
    pieces_.append(std::vector<uint8_t>(kConstantAlignment));
  } else {
    pieces_.append(data);
  }
  data_bytes_ += data.size_bytes();
  by_hash_.emplace(data.hash(), Entry{data, offset});
  sizes_.insert(data.size_bytes());
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
