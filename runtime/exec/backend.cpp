#include "wick/backend.h"

namespace wick {

Result<Span<const uint8_t>> BackendInit::named_data(const char* key) const {
  for (const DataMap& map : data_) {
    const Result<DataMap::Entry> entry = map.find(key);
    if (entry.ok()) return entry->bytes;
  }
  return method_.program().find_named_data(key);
}

void* BackendInit::allocate(size_t size_bytes, size_t alignment) {
  const size_t misaligned = static_cast<size_t>(reinterpret_cast<uintptr_t>(arena_->data()) & (alignment - 1));
  const size_t padding = misaligned == 0 ? 0 : alignment - misaligned;
  if (padding > arena_->size() || size_bytes > arena_->size() - padding) return nullptr;
  void* result = arena_->data() + padding;
  *arena_ = arena_->subspan(padding + size_bytes, arena_->size() - padding - size_bytes);
  return result;
}

}  // namespace wick
