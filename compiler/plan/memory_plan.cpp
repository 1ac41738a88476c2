#include "compiler/plan/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace wick::compiler {
namespace {

// Effort of the search for a smaller arena: rounds per order, and pairs of blocks looked at.
constexpr size_t kMaxRounds = 200, kMaxPairs = 20'000'000;

bool in_arena(const Storage& storage) {
  return (storage.kind == Storage::Kind::state && !storage.shared) ||
         (storage.kind == Storage::Kind::arena && storage.used);
}

struct Block {
  uint32_t storage;
  uint64_t size;
  uint32_t first, last;
  uint64_t offset = 0;
};

// A block that has its place; dense, because every placement walks over all of them.
struct Placed {
  uint64_t offset, end;
  uint32_t first, last;
};

// Places blocks one after another in `order`, each into the smallest gap between those alive with it. Returns the
// arena's size; or UINT64_MAX as soon as it exceeds `limit`, with the place in `order` of the block that did it in
// `culprit`.
uint64_t place(std::vector<Block>& blocks, const std::vector<size_t>& order, uint64_t limit, size_t& culprit) {
  std::vector<Placed> placed;  // by offset
  placed.reserve(blocks.size());
  uint64_t total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    Block& block = blocks[order[i]];
    uint64_t end = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
    for (const Placed& other : placed) {
      if (other.first > block.last || other.last < block.first) continue;
      if (other.offset > end && other.offset - end >= block.size && other.offset - end < best_gap) {
        best = end;
        best_gap = other.offset - end;
      }
      end = std::max(end, other.end);
    }
    block.offset = best == UINT64_MAX ? end : best;
    total = std::max(total, block.offset + block.size);
    culprit = i;
    if (total > limit) return UINT64_MAX;
    auto at = std::upper_bound(placed.begin(), placed.end(), block.offset,
                               [](uint64_t offset, const Placed& p) { return offset < p.offset; });
    placed.insert(at, {block.offset, block.offset + block.size, block.first, block.last});
  }
  return total;
}

uint64_t lower_bound_bytes(const std::vector<Block>& blocks, uint32_t num_instructions) {
  std::vector<int64_t> change(num_instructions + 2, 0);
  for (const Block& block : blocks) {
    change[block.first] += static_cast<int64_t>(block.size);
    change[block.last + 1] -= static_cast<int64_t>(block.size);
  }
  int64_t live = 0, most = 0;
  for (int64_t delta : change) {
    live += delta;
    most = std::max(most, live);
  }
  return static_cast<uint64_t>(most);
}

}  // namespace

void plan_memory(Statement& statement) {
  const auto end = static_cast<uint32_t>(statement.instructions.size());
  std::vector<Block> blocks;
  for (uint32_t i = 0; i < statement.storages.size(); ++i) {
    const Storage& storage = statement.storages[i];
    if (!in_arena(storage) || storage.size_bytes == 0) continue;
    const bool state = storage.kind == Storage::Kind::state;
    blocks.push_back({i, storage.size_bytes, state ? 0 : storage.first, state ? end : storage.last});
  }
  statement.arena_lower_bound_bytes = lower_bound_bytes(blocks, end);
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  using Less = bool (*)(const Block&, const Block&);
  static constexpr Less kOrders[] = {
      [](const Block& a, const Block& b) { return a.size > b.size; },
      [](const Block& a, const Block& b) { return a.last - a.first > b.last - b.first; },
      [](const Block& a, const Block& b) { return a.first < b.first; },
      [](const Block& a, const Block& b) { return a.last > b.last; },
      [](const Block& a, const Block& b) { return a.size * (a.last - a.first + 1) > b.size * (b.last - b.first + 1); },
  };
  // A block that did not fit below the best size so far goes first the next time; a few rounds per order, fewer for
  // many blocks.
  const size_t rounds = 1 + std::min<size_t>(kMaxRounds, kMaxPairs / (blocks.size() * blocks.size() + 1));
  uint64_t best = UINT64_MAX;
  std::vector<Block> best_blocks = blocks;
  for (Less less : kOrders) {
    std::vector<Block> attempt = blocks;
    std::vector<size_t> attempt_order = order;
    std::sort(attempt_order.begin(), attempt_order.end(), [&](size_t a, size_t b) {
      if (less(attempt[a], attempt[b])) return true;
      if (less(attempt[b], attempt[a])) return false;
      return attempt[a].storage < attempt[b].storage;
    });
    for (size_t round = 0; round < rounds && best > statement.arena_lower_bound_bytes; ++round) {
      size_t culprit = 0;
      const uint64_t size = place(attempt, attempt_order, best - 1, culprit);
      if (size < best) {
        best = size;
        best_blocks = attempt;
      } else {
        const auto at = attempt_order.begin() + static_cast<ptrdiff_t>(culprit);
        std::rotate(attempt_order.begin(), at, at + 1);
      }
    }
  }
  statement.arena_bytes = blocks.empty() ? 0 : best;
  for (const Block& block : best_blocks) statement.storages[block.storage].offset = block.offset;
}

void share_states(std::vector<Statement>& methods) {
  std::map<std::string, uint64_t> offsets;
  uint64_t end = 0;
  for (Statement& method : methods) {
    std::vector<const StatementTensor*> first(method.storages.size(), nullptr);
    for (const StatementValue& value : method.values) {
      const auto* tensor = std::get_if<StatementTensor>(&value);
      if (tensor && !first[tensor->storage]) first[tensor->storage] = tensor;
    }
    for (size_t i = 0; i < method.storages.size(); ++i) {
      Storage& storage = method.storages[i];
      if (storage.kind != Storage::Kind::state || !first[i]) continue;
      const std::string key =
          fmt::format("{} {} {}", storage.label, dtype_name(first[i]->dtype), fmt::join(first[i]->sizes, "x"));
      auto [it, fresh] = offsets.try_emplace(key, end);
      if (fresh) end += storage.size_bytes;
      storage.shared = true;
      storage.offset = it->second;
    }
  }
  for (Statement& method : methods) method.shared_arena_bytes = end;
}

Status verify_plan(const Statement& statement) {
  const auto end = static_cast<uint32_t>(statement.instructions.size());
  struct Range {
    uint32_t storage, first, last;
  };
  std::vector<Range> ranges;
  for (uint32_t i = 0; i < statement.storages.size(); ++i) {
    const Storage& storage = statement.storages[i];
    if (!in_arena(storage) || storage.size_bytes == 0) continue;
    if (storage.offset % 16 != 0 || storage.offset + storage.size_bytes > statement.arena_bytes) {
      return Diag(Code::internal, fmt::format("'{}' lies outside the arena", storage.label));
    }
    const bool state = storage.kind == Storage::Kind::state;
    ranges.push_back({i, state ? 0 : storage.first, state ? end : storage.last});
  }
  // Sweep over time; the alive are few, compared by offset.
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return a.first != b.first ? a.first < b.first : a.storage < b.storage;
  });
  std::vector<Range> alive;
  for (const Range& range : ranges) {
    std::erase_if(alive, [&](const Range& other) { return other.last < range.first; });
    const Storage& a = statement.storages[range.storage];
    for (const Range& other : alive) {
      const Storage& b = statement.storages[other.storage];
      if (a.offset < b.offset + b.size_bytes && b.offset < a.offset + a.size_bytes) {
        return Diag(Code::internal, fmt::format("'{}' and '{}' are alive together and overlap", a.label, b.label));
      }
    }
    alive.push_back(range);
  }
  for (const StatementValue& value : statement.values) {
    const auto* tensor = std::get_if<StatementTensor>(&value);
    if (!tensor) continue;
    const Storage& storage = statement.storages[tensor->storage];
    if (storage.kind == Storage::Kind::none) continue;
    uint64_t bytes = dtype_size_bytes(tensor->dtype);
    for (int64_t size : tensor->sizes) bytes *= static_cast<uint64_t>(size);
    if (tensor->offset_bytes + bytes > storage.size_bytes) {
      return Diag(Code::internal, fmt::format("a tensor leaves the storage '{}'", storage.label));
    }
  }
  return {};
}

std::string draw_plan(const Statement& statement) {
  constexpr size_t kColumns = 60;
  const size_t end = statement.instructions.size() + 1;
  std::vector<const Storage*> blocks;
  for (const Storage& storage : statement.storages) {
    if (in_arena(storage) && storage.size_bytes > 0) blocks.push_back(&storage);
  }
  std::sort(blocks.begin(), blocks.end(), [](const Storage* a, const Storage* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->first < b->first;
  });
  std::string out = fmt::format("arena {} bytes, lower bound {} bytes, {} instructions\n", statement.arena_bytes,
                                statement.arena_lower_bound_bytes, statement.instructions.size());
  out += fmt::format("{:>12} {:>12}  {:<{}}  {}\n", "offset", "bytes", "time", kColumns, "holds");
  for (const Storage* storage : blocks) {
    const bool state = storage->kind == Storage::Kind::state;
    const size_t first = state ? 0 : storage->first, last = state ? end - 1 : storage->last;
    std::string bar(kColumns, '.');
    for (size_t c = first * kColumns / end; c <= std::min(kColumns - 1, last * kColumns / end); ++c) bar[c] = '#';
    out += fmt::format("{:>12} {:>12}  {}  {}{}\n", storage->offset, storage->size_bytes, bar, storage->label,
                       state ? " (state)" : "");
  }
  return out;
}

}  // namespace wick::compiler
