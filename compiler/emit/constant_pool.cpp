#include "compiler/emit/constant_pool.h"

#include <string.h>

namespace wick::compiler {

namespace {
constexpr uint64_t kConstantAlignment = 16;
}

uint64_t content_hash(Span<const uint8_t> bytes) {
  // Four multiply-and-fold lanes over 32 bytes a step.
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ull;
  auto fold = [](uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  };
  uint64_t lanes[4] = {1, 2, 3, 4};
  size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32) {
    for (int i = 0; i < 4; ++i) {
      uint64_t word;
      memcpy(&word, bytes.data() + at + 8 * i, 8);
      lanes[i] = fold(lanes[i] ^ word, kMultiplier + static_cast<uint64_t>(2 * i));
    }
  }
  uint64_t hash = bytes.size();
  for (; at < bytes.size(); ++at) hash = fold(hash ^ bytes[at], kMultiplier);
  for (uint64_t lane : lanes) hash = fold(hash ^ lane, kMultiplier);
  return hash;
}

uint64_t ConstantPool::add(const ConstantData& data) {
  const uint64_t hash = content_hash(data.bytes);
  auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Span<const uint8_t>& known = it->second.bytes;
    if (known.size() == data.bytes.size() &&
        (known.data() == data.bytes.data() || memcmp(known.data(), data.bytes.data(), known.size()) == 0)) {
      return it->second.offset;
    }
  }
  pieces_.pad_to((pieces_.size_bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment);
  const uint64_t offset = pieces_.size_bytes;
  if (data.bytes.empty()) {
    // An empty tensor still needs a place that exists, and a segment of no bytes cannot be loaded.
    pieces_.append(std::vector<uint8_t>(kConstantAlignment));
  } else {
    pieces_.append(data.bytes, data.owner);
  }
  by_hash_.emplace(hash, Entry{data.bytes, offset});
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
