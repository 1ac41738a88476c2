#include "backends/xnnpack/runtime/xnn/packed_weights.h"

#include <string.h>

#include <algorithm>
#include <mutex>

#include "runtime/platform/memory.h"

namespace wick::xnnpack {

struct PackedWeights::Packed {
  // Other blocks may keep the piece of memory alive, so its pages are discarded here.
  ~Packed() { discard_pages(memory.data, memory.size_bytes); }
  Block memory;
  uint32_t seed = 0;
  // One source of each user that described the weights: while the block is used, the bytes of at least one exist.
  std::vector<const WeightsSource*> users;
};

namespace {

struct Store {
  std::mutex mutex;
  std::multimap<std::string, std::weak_ptr<PackedWeights::Packed>> blocks;  // by parameters
};

Store& store() {
  static Store* the_store = new Store;  // delegates may be destroyed after static objects
  return *the_store;
}

bool same_bytes(Span<const uint8_t> a, Span<const uint8_t> b) {
  return a.size() == b.size() && (a.data() == b.data() || a.empty() || memcmp(a.data(), b.data(), a.size()) == 0);
}

bool same_weights(const WeightsSource& a, const WeightsSource& b) {
  return a.parameters == b.parameters && same_bytes(a.filter_scales, b.filter_scales) && same_bytes(a.bias, b.bias) &&
         same_bytes(a.bias_scales, b.bias_scales) && same_bytes(a.filter, b.filter);
}

/// Lets the file's pages leave memory: the packed form takes their place. Few pages are not worth the call.
void release(const WeightsSource& source) {
  constexpr size_t kWorthBytes = 16 << 10;
  for (const Span<const uint8_t> bytes : {source.filter, source.bias}) {
    if (bytes.size() >= kWorthBytes) release_file_pages(bytes);
  }
}

}  // namespace

PackedWeights::PackedWeights() {
  provider_.context = this;
  provider_.look_up = [](void* context, const xnn_weights_cache_look_up_key* key) {
    return static_cast<PackedWeights*>(context)->look_up(*key);
  };
  provider_.reserve_space = [](void* context, size_t size) {
    return static_cast<PackedWeights*>(context)->reserve(size);
  };
  provider_.look_up_or_insert = [](void* context, const xnn_weights_cache_look_up_key* key, void* packed, size_t) {
    return static_cast<PackedWeights*>(context)->insert(*key, packed);
  };
  // Blocks never move: there is nothing to wait for before they are used.
  provider_.is_finalized = [](void*) { return true; };
  provider_.offset_to_addr = [](void*, size_t offset) { return reinterpret_cast<void*>(offset); };
  provider_.delete_cache = [](void*) { return xnn_status_success; };
}

PackedWeights::~PackedWeights() {
  const std::lock_guard<std::mutex> lock(store().mutex);
  for (const std::shared_ptr<Packed>& block : blocks_) {
    auto& users = block->users;
    users.erase(std::remove_if(users.begin(), users.end(),
                               [&](const WeightsSource* user) {
                                 return std::any_of(sources_.begin(), sources_.end(),
                                                    [&](const auto& entry) { return entry.second.get() == user; });
                               }),
                users.end());
  }
  blocks_.clear();
  auto& all = store().blocks;
  for (auto entry = all.begin(); entry != all.end();)
    entry = entry->second.expired() ? all.erase(entry) : std::next(entry);
}

void PackedWeights::describe(const WeightsSource& source) {
  const auto key = std::make_pair<const void*, const void*>(source.filter.data(), source.bias.data());
  const auto [entry, is_new] = sources_.try_emplace(key);
  if (is_new) {
    entry->second = std::make_unique<WeightsSource>(source);
  } else if (entry->second && !same_weights(*entry->second, source)) {
    entry->second.reset();
  }
}

const WeightsSource* PackedWeights::find_source(const xnn_weights_cache_look_up_key& key) const {
  const auto found = sources_.find({key.kernel, key.bias});
  return found == sources_.end() ? nullptr : found->second.get();
}

std::shared_ptr<PackedWeights::Packed> PackedWeights::find_block(uint32_t seed, const WeightsSource& source) {
  const auto range = store().blocks.equal_range(source.parameters);
  for (auto entry = range.first; entry != range.second; ++entry) {
    std::shared_ptr<Packed> block = entry->second.lock();
    if (block && block->seed == seed && !block->users.empty() && same_weights(*block->users.front(), source))
      return block;
  }
  return nullptr;
}

size_t PackedWeights::look_up(const xnn_weights_cache_look_up_key& key) {
  const WeightsSource* source = find_source(key);
  if (!source) return SIZE_MAX;
  const std::lock_guard<std::mutex> lock(store().mutex);
  std::shared_ptr<Packed> block = find_block(key.seed, *source);
  if (!block) return SIZE_MAX;
  void* data = block->memory.data;
  block->users.push_back(source);
  blocks_.push_back(std::move(block));
  release(*source);
  return reinterpret_cast<size_t>(data);
}

void* PackedWeights::reserve(size_t size_bytes) {
  if (size_bytes > SIZE_MAX / 2) return nullptr;
  auto block = std::make_shared<Packed>();
  block->memory = memory_.take(size_bytes + XNN_EXTRA_BYTES);  // the library reads a little beyond
  if (!block->memory.data) return nullptr;
  blocks_.push_back(block);
  return block->memory.data;
}

// Convolutions insert null after a successful look-up. Depthwise convolutions pack without a look-up.
size_t PackedWeights::insert(const xnn_weights_cache_look_up_key& key, void* packed) {
  const WeightsSource* source = find_source(key);
  if (!source) return reinterpret_cast<size_t>(packed);
  const std::lock_guard<std::mutex> lock(store().mutex);
  const auto mine =
      std::find_if(blocks_.begin(), blocks_.end(), [&](const auto& block) { return block->memory.data == packed; });
  std::shared_ptr<Packed> block = find_block(key.seed, *source);
  if (!block && mine == blocks_.end()) return SIZE_MAX;
  if (!block) {
    block = *mine;
    block->seed = key.seed;
    store().blocks.emplace(source->parameters, block);
  } else if (mine != blocks_.end()) {
    *mine = block;
  }
  if (std::find(block->users.begin(), block->users.end(), source) == block->users.end()) block->users.push_back(source);
  release(*source);
  return reinterpret_cast<size_t>(block->memory.data);
}

}  // namespace wick::xnnpack
