#include "compiler/plan/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "compiler/plan/unbounded_values.h"

namespace wick::compiler {
namespace {

// Limits on the search for a smaller arena: rounds per order; pairs of blocks compared in all rounds after the first;
// pairs above which the first round is left out, too; pairs that Neighbours stores.
constexpr size_t kMaxRounds = 200, kMaxPairs = 20'000'000, kMaxSearchedPairs = 400'000'000, kMaxNeighbours = 1'000'000;

enum class Arena : uint8_t { host, shared, device };

bool in_arena(const Storage& storage, Arena arena) {
  if (storage.on_device != (arena == Arena::device)) return false;
  if (storage.shared || arena == Arena::shared) return storage.shared && arena == Arena::shared;
  return storage.kind == Storage::Kind::state || (storage.kind == Storage::Kind::arena && storage.used);
}

struct Block {
  uint32_t storage;
  uint64_t size;
  uint32_t first, last;
  bool at_peak = false;  // alive at an instruction where the sum of live bytes is largest
  uint64_t offset = 0;
};

std::vector<Block> blocks_of(const MethodPlan& plan, Arena arena) {
  const auto end = static_cast<uint32_t>(plan.instructions.size());
  std::vector<Block> blocks;
  for (uint32_t i = 0; i < plan.storages.size(); ++i) {
    const Storage& storage = plan.storages[i];
    if (!in_arena(storage, arena) || storage.size_bytes == 0) continue;
    const bool state = storage.kind == Storage::Kind::state;
    blocks.push_back({i, storage.size_bytes, state ? 0 : storage.first, state ? end : storage.last});
  }
  return blocks;
}

// For each block, the blocks that are alive together with it at some time. Not built if that would take too much
// memory.
class Neighbours {
 public:
  explicit Neighbours(const std::vector<Block>& blocks) {
    std::vector<std::pair<uint32_t, uint32_t>> pairs;
    std::vector<uint32_t> by_first(blocks.size()), alive;
    std::iota(by_first.begin(), by_first.end(), 0u);
    std::sort(by_first.begin(), by_first.end(), [&](uint32_t a, uint32_t b) {
      return blocks[a].first != blocks[b].first ? blocks[a].first < blocks[b].first : a < b;
    });
    begin_.assign(blocks.size() + 1, 0);
    for (uint32_t index : by_first) {
      std::erase_if(alive, [&](uint32_t other) { return blocks[other].last < blocks[index].first; });
      if (pairs.size() + alive.size() > kMaxNeighbours) return;
      for (uint32_t other : alive) {
        pairs.emplace_back(index, other);
        ++begin_[index + 1];
        ++begin_[other + 1];
      }
      alive.push_back(index);
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    items_.resize(pairs.size() * 2);
    std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
    for (const auto& [a, b] : pairs) {
      items_[next[a]++] = b;
      items_[next[b]++] = a;
    }
    known_ = true;
  }
  bool known() const { return known_; }
  size_t count() const { return items_.size(); }
  Span<const uint32_t> of(size_t block) const {
    return {items_.data() + begin_[block], begin_[block + 1] - begin_[block]};
  }

 private:
  std::vector<uint32_t> begin_, items_;
  bool known_ = false;
};

// Bytes that are taken at some time while a block is alive.
struct Taken {
  uint64_t offset, end;
};

// Finds the smallest gap of at least `size` bytes between ranges that are added in order of offset. Without such a gap,
// the offset is the end of all ranges.
class GapSearch {
 public:
  explicit GapSearch(uint64_t size) : size_(size) {}
  void add(Taken taken) {
    if (taken.offset > end_ && taken.offset - end_ >= size_ && taken.offset - end_ < best_gap_) {
      best_ = end_;
      best_gap_ = taken.offset - end_;
    }
    end_ = std::max(end_, taken.end);
  }
  uint64_t offset() const { return best_gap_ == UINT64_MAX ? end_ : best_; }

 private:
  uint64_t size_, end_ = 0, best_ = 0, best_gap_ = UINT64_MAX;
};

// Places blocks one after another, each into the smallest gap between the blocks that are alive together with it.
class Placement {
 public:
  Placement(std::vector<Block>& blocks, const Neighbours& neighbours) : blocks_(blocks), neighbours_(neighbours) {
    if (neighbours.known())
      is_placed_.resize(blocks.size());
    else
      placed_.reserve(blocks.size());
  }

  void place(size_t index) {
    Block& block = blocks_[index];
    GapSearch search(block.size);
    if (!neighbours_.known()) {
      for (const Placed& other : placed_) {
        if (other.first <= block.last && other.last >= block.first) search.add(other.taken);
      }
      block.offset = search.offset();
      const auto at = std::upper_bound(placed_.begin(), placed_.end(), block.offset,
                                       [](uint64_t offset, const Placed& p) { return offset < p.taken.offset; });
      placed_.insert(at, {{block.offset, block.offset + block.size}, block.first, block.last});
      return;
    }
    taken_.clear();
    for (uint32_t other : neighbours_.of(index)) {
      if (is_placed_[other]) taken_.push_back({blocks_[other].offset, blocks_[other].offset + blocks_[other].size});
    }
    std::sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) { return a.offset < b.offset; });
    for (const Taken& taken : taken_) search.add(taken);
    block.offset = search.offset();
    is_placed_[index] = true;
  }

 private:
  struct Placed {  // dense, because every search walks over all of them
    Taken taken;
    uint32_t first, last;
  };
  std::vector<Block>& blocks_;
  const Neighbours& neighbours_;
  std::vector<Taken> taken_;
  std::vector<bool> is_placed_;
  std::vector<Placed> placed_;  // by offset; only where the neighbours are not known
};

using Order = std::vector<uint32_t>;

// Places all blocks in `order`. Returns the arena's size, or UINT64_MAX as soon as it exceeds `limit`. `culprit` is
// then the position in `order` of the block that exceeded it.
uint64_t place_all(std::vector<Block>& blocks, const Neighbours& neighbours, const Order& order, uint64_t limit,
                   size_t& culprit) {
  Placement placement(blocks, neighbours);
  uint64_t total = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    placement.place(order[i]);
    total = std::max(total, blocks[order[i]].offset + blocks[order[i]].size);
    culprit = i;
    if (total > limit) return UINT64_MAX;
  }
  return total;
}

// Places blocks in order of first use, each into the smallest free range that holds it. Finds one plan fast where too
// many blocks are alive together to look at all of them for each.
class TimeSweep {
 public:
  /// Returns the arena's size.
  uint64_t run(std::vector<Block>& blocks) {
    Order order(blocks.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return blocks[a].first != blocks[b].first ? blocks[a].first < blocks[b].first : a < b;
    });
    std::multimap<uint32_t, uint32_t> ends;  // last instruction -> block
    uint64_t total = 0;
    for (uint32_t index : order) {
      Block& block = blocks[index];
      while (!ends.empty() && ends.begin()->first < block.first) {
        const Block& dead = blocks[ends.begin()->second];
        give({dead.offset, dead.offset + dead.size});
        ends.erase(ends.begin());
      }
      block.offset = take(block.size);
      total = std::max(total, block.offset + block.size);
      ends.emplace(block.last, index);
    }
    return total;
  }

 private:
  uint64_t take(uint64_t size) {
    const auto best = by_size_.lower_bound({size, 0});
    if (best == by_size_.end()) return std::exchange(end_, end_ + size);
    const auto [free_size, offset] = *best;
    by_size_.erase(best);
    free_.erase(offset);
    if (free_size > size) insert({offset + size, offset + free_size});
    return offset;
  }

  void give(Taken range) {
    auto next = free_.lower_bound(range.offset);
    if (next != free_.end() && next->first == range.end) {
      range.end = next->second;
      next = erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == range.offset) {
      range.offset = std::prev(next)->first;
      erase(std::prev(next));
    }
    if (range.end == end_)
      end_ = range.offset;
    else
      insert(range);
  }

  using Free = std::map<uint64_t, uint64_t>;  // offset -> end; never touching each other or end_
  Free::iterator erase(Free::iterator at) {
    by_size_.erase({at->second - at->first, at->first});
    return free_.erase(at);
  }
  void insert(Taken range) {
    free_.emplace(range.offset, range.end);
    by_size_.emplace(range.end - range.offset, range.offset);
  }

  Free free_;
  std::set<std::pair<uint64_t, uint64_t>> by_size_;  // size, offset
  uint64_t end_ = 0;                                 // nothing beyond is taken
};

// Marks the blocks alive at a peak and returns the bytes alive there.
uint64_t mark_peak(std::vector<Block>& blocks, uint32_t num_instructions) {
  std::vector<int64_t> live(num_instructions + 2, 0);
  for (const Block& block : blocks) {
    live[block.first] += static_cast<int64_t>(block.size);
    live[block.last + 1] -= static_cast<int64_t>(block.size);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  const int64_t most = *std::max_element(live.begin(), live.end());
  std::vector<uint32_t> peaks_before(live.size() + 1, 0);
  for (size_t i = 0; i < live.size(); ++i) peaks_before[i + 1] = peaks_before[i] + (live[i] == most);
  for (Block& block : blocks) block.at_peak = peaks_before[block.last + 1] > peaks_before[block.first];
  return static_cast<uint64_t>(most);
}

std::vector<Order> first_orders(const std::vector<Block>& blocks) {
  using Less = bool (*)(const Block&, const Block&);
  static constexpr Less kOrders[] = {
      [](const Block& a, const Block& b) { return a.size > b.size; },
      [](const Block& a, const Block& b) { return a.last - a.first > b.last - b.first; },
      [](const Block& a, const Block& b) {
        return a.at_peak != b.at_peak ? a.at_peak : a.last - a.first > b.last - b.first;
      },
      [](const Block& a, const Block& b) { return a.first < b.first; },
      [](const Block& a, const Block& b) { return a.last > b.last; },
      [](const Block& a, const Block& b) { return a.size * (a.last - a.first + 1) > b.size * (b.last - b.first + 1); },
  };
  std::vector<Order> orders;
  for (Less less : kOrders) {
    Order& order = orders.emplace_back(blocks.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (less(blocks[a], blocks[b])) return true;
      if (less(blocks[b], blocks[a])) return false;
      return blocks[a].storage < blocks[b].storage;
    });
  }
  return orders;
}

// Which storages only delegates of one device read and write.
class DevicePlaces {
 public:
  explicit DevicePlaces(MethodPlan& plan) : plan_(plan), devices_(plan.storages.size()) {}

  void run() {
    for (const std::vector<int32_t>* list : {&plan_.inputs, &plan_.outputs}) {
      for (int32_t value : *list) note(value, {});
    }
    for (const Instruction& instruction : plan_.instructions) {
      const bool is_delegate = instruction.kind == Instruction::Kind::delegate;
      const DeviceTag device = is_delegate ? plan_.delegates[instruction.op]->device : DeviceTag();
      // The second argument of a jump is an instruction.
      const size_t count = instruction.kind == Instruction::Kind::jump_false ? size_t{1} : instruction.args.size();
      for (size_t i = 0; i < count; ++i) note(instruction.args[i], device);
    }
    for (size_t i = 0; i < devices_.size(); ++i) {
      Storage& storage = plan_.storages[i];
      if (storage.kind != Storage::Kind::arena || !storage.used || storage.size_bytes == 0) continue;
      if (!devices_[i] || devices_[i]->is_host()) continue;
      if (plan_.device.is_host()) plan_.device = *devices_[i];
      storage.on_device = plan_.device == *devices_[i];
    }
  }

 private:
  // Notes one more reader or writer of a value.
  void note(int32_t index, const DeviceTag& device) {
    const PlannedValue& value = plan_.values[static_cast<size_t>(index)];
    if (const auto* list = std::get_if<IndexList>(&value); list && list->kind != IndexList::Kind::ints) {
      for (int32_t item : list->items) {
        if (item >= 0) note(item, {});
      }
    }
    const auto* tensor = std::get_if<PlannedTensor>(&value);
    if (!tensor) return;
    std::optional<DeviceTag>& known = devices_[tensor->storage];
    if (!known)
      known = device;
    else if (*known != device)
      known = DeviceTag();
  }

  MethodPlan& plan_;
  std::vector<std::optional<DeviceTag>> devices_;  // by storage; nothing: nobody reads or writes it
};

// Places the blocks of one arena. Returns its size and sets the lower bound.
uint64_t plan_arena(MethodPlan& plan, Arena arena, uint64_t* lower_bound) {
  std::vector<Block> blocks = blocks_of(plan, arena);
  *lower_bound = mark_peak(blocks, static_cast<uint32_t>(plan.instructions.size()));
  const Neighbours neighbours(blocks);
  std::vector<Order> orders = first_orders(blocks);
  // A block that did not fit below the best size so far moves to the front for the next round. The more pairs of
  // blocks, the fewer rounds.
  const size_t pairs = neighbours.known() ? neighbours.count() + blocks.size() : blocks.size() * blocks.size();
  const size_t rounds = std::min(kMaxRounds, kMaxPairs / (pairs + 1)) + (pairs <= kMaxSearchedPairs);
  uint64_t best = neighbours.known() ? UINT64_MAX : TimeSweep().run(blocks);
  std::vector<Block> best_blocks = blocks;
  for (size_t round = 0; round < rounds; ++round) {
    for (Order& order : orders) {
      if (best <= *lower_bound) break;
      size_t culprit = 0;
      const uint64_t size = place_all(blocks, neighbours, order, best - 1, culprit);
      if (size < best) {
        best = size;
        best_blocks = blocks;
      } else {
        const auto at = order.begin() + static_cast<ptrdiff_t>(culprit);
        std::rotate(order.begin(), at, at + 1);
      }
    }
  }
  for (const Block& block : best_blocks) plan.storages[block.storage].offset = block.offset;
  return blocks.empty() ? 0 : best;
}

}  // namespace

void plan_memory(MethodPlan& plan) {
  DevicePlaces(plan).run();
  plan.arena_bytes = plan_arena(plan, Arena::host, &plan.arena_lower_bound_bytes);
  if (!plan.delegates.empty()) {
    plan.arena_bytes += kReadBehindBytes;
    plan.arena_lower_bound_bytes += kReadBehindBytes;
  }
  uint64_t lower_bound = 0;
  if (!plan.device.is_host()) plan.device_arena_bytes = plan_arena(plan, Arena::device, &lower_bound);
}

std::string above_lower_bound(const MethodPlan& plan) {
  if (plan.arena_bytes <= plan.arena_lower_bound_bytes) return "";
  std::vector<Block> blocks = blocks_of(plan, Arena::host);
  for (Block& block : blocks) block.offset = plan.storages[block.storage].offset;
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.offset < b.offset; });
  const auto ends_first = [](const Block& a, const Block& b) { return a.offset + a.size < b.offset + b.size; };
  const Block top = *std::max_element(blocks.begin(), blocks.end(), ends_first);
  uint64_t end = 0, widest = 0;
  for (const Block& other : blocks) {
    if (other.storage == top.storage || other.first > top.last || other.last < top.first) continue;
    if (other.offset > end) widest = std::max(widest, other.offset - end);
    end = std::max(end, other.offset + other.size);
  }
  return fmt::format(
      "{} bytes above the lower bound: '{}' has the last {} bytes from instruction {} to {}; no more "
      "than {} bytes in a row are free all that time",
      plan.arena_bytes - plan.arena_lower_bound_bytes, plan.storages[top.storage].label, top.size, top.first, top.last,
      widest);
}

void leave_io_to_caller(MethodPlan& plan) {
  std::vector<size_t> num_tensors(plan.storages.size(), 0);
  for (const PlannedValue& value : plan.values) {
    if (const auto* tensor = std::get_if<PlannedTensor>(&value)) ++num_tensors[tensor->storage];
  }
  const auto take_out = [&](const std::vector<int32_t>& values, const std::vector<int32_t>& others) {
    for (const int32_t index : values) {
      const auto* tensor = std::get_if<PlannedTensor>(&plan.values[static_cast<size_t>(index)]);
      if (!tensor || std::find(others.begin(), others.end(), index) != others.end()) continue;
      Storage& storage = plan.storages[tensor->storage];
      if (storage.kind == Storage::Kind::arena && num_tensors[tensor->storage] == 1) storage.kind = Storage::Kind::none;
    }
  };
  take_out(plan.inputs, plan.outputs);
  take_out(plan.outputs, plan.inputs);
}

namespace {

Status overlap(const Storage& a, const Storage& b) {
  return Diag(Code::internal, fmt::format("'{}' and '{}' are alive together and overlap", a.label, b.label));
}

// Sweeps over time. Live storages do not overlap, so a new one is compared only with its neighbours by offset.
Status verify_disjoint(const MethodPlan& plan, Arena arena) {
  const uint64_t arena_bytes = arena == Arena::host     ? plan.arena_bytes
                               : arena == Arena::shared ? plan.shared_arena_bytes
                                                        : plan.device_arena_bytes;
  std::vector<Block> blocks = blocks_of(plan, arena);
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
    return a.first != b.first ? a.first < b.first : a.storage < b.storage;
  });
  std::map<uint64_t, uint32_t> alive;      // offset -> storage
  std::multimap<uint32_t, uint64_t> ends;  // last instruction -> offset
  for (const Block& block : blocks) {
    const Storage& a = plan.storages[block.storage];
    if (a.offset % 16 != 0 || a.offset + a.size_bytes > arena_bytes)
      return Diag(Code::internal, fmt::format("'{}' lies outside the arena", a.label));
    while (!ends.empty() && ends.begin()->first < block.first) {
      alive.erase(ends.begin()->second);
      ends.erase(ends.begin());
    }
    const auto next = alive.lower_bound(a.offset);
    if (next != alive.end() && next->first < a.offset + a.size_bytes) return overlap(plan.storages[next->second], a);
    if (next != alive.begin()) {
      const Storage& before = plan.storages[std::prev(next)->second];
      if (before.offset + before.size_bytes > a.offset) return overlap(before, a);
    }
    alive.emplace(a.offset, block.storage);
    ends.emplace(block.last, a.offset);
  }
  return {};
}

}  // namespace

Status verify_plan(const MethodPlan& plan) {
  RETURN_IF_ERROR(verify_disjoint(plan, Arena::host));
  RETURN_IF_ERROR(verify_disjoint(plan, Arena::shared));
  RETURN_IF_ERROR(verify_disjoint(plan, Arena::device));
  for (const PlannedValue& value : plan.values) {
    const auto* tensor = std::get_if<PlannedTensor>(&value);
    if (!tensor) continue;
    const Storage& storage = plan.storages[tensor->storage];
    if (storage.kind == Storage::Kind::none) continue;
    uint64_t bytes = dtype_size_bytes(tensor->dtype);
    for (int64_t size : tensor->sizes) bytes *= static_cast<uint64_t>(size);
    if (tensor->offset_bytes + bytes > storage.size_bytes) {
      return Diag(Code::internal, fmt::format("a tensor leaves the storage '{}'", storage.label));
    }
  }
  return {};
}

namespace {

void draw_blocks(const MethodPlan& plan, Arena arena, std::string& out) {
  constexpr size_t kColumns = 60;
  const size_t end = plan.instructions.size() + 1;
  std::vector<const Storage*> blocks;
  for (const Storage& storage : plan.storages) {
    if (in_arena(storage, arena) && storage.size_bytes > 0) blocks.push_back(&storage);
  }
  std::sort(blocks.begin(), blocks.end(), [](const Storage* a, const Storage* b) {
    return a->offset != b->offset ? a->offset < b->offset : a->first < b->first;
  });
  out += fmt::format("{:>12} {:>12}  {:<{}}  {}\n", "offset", "bytes", "time", kColumns, "holds");
  for (const Storage* storage : blocks) {
    const bool state = storage->kind == Storage::Kind::state;
    const size_t first = state ? 0 : storage->first, last = state ? end - 1 : storage->last;
    std::string bar(kColumns, '.');
    for (size_t c = first * kColumns / end; c <= std::min(kColumns - 1, last * kColumns / end); ++c) bar[c] = '#';
    out += fmt::format("{:>12} {:>12}  {}  {}{}\n", storage->offset, storage->size_bytes, bar, storage->label,
                       state ? " (state)" : "");
  }
}

}  // namespace

std::string draw_plan(const MethodPlan& plan) {
  std::string out = fmt::format("arena {} bytes, lower bound {} bytes, {} instructions\n", plan.arena_bytes,
                                plan.arena_lower_bound_bytes, plan.instructions.size());
  if (const std::string reason = above_lower_bound(plan); !reason.empty()) out += reason + "\n";
  draw_blocks(plan, Arena::host, out);
  out += draw_unbounded(plan);
  if (plan.device.is_host()) return out;
  out += fmt::format("arena of {}: {} bytes\n", plan.device.name, plan.device_arena_bytes);
  draw_blocks(plan, Arena::device, out);
  return out;
}

}  // namespace wick::compiler
