#include "compiler/partition/groups/graph_breaks.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/layout/dim_order.h"
#include "compiler/partition/dependences.h"

namespace wick::compiler {
namespace {

// The bytes of a value at the upper bounds of its sizes; none if a size has no bound.
std::optional<uint64_t> most_bytes_of(const Value& value) {
  if (!value.type.is_tensor()) return 0;
  uint64_t bytes = 0;
  const int64_t elements = layout::elements(value.sizes());
  const bool fits = elements != kUnbounded &&
                    !__builtin_mul_overflow(static_cast<uint64_t>(elements), dtype_size_bytes(value.dtype()), &bytes);
  return fits ? std::optional(bytes) : std::nullopt;
}

// Limit on the nodes that are visited. Each break visits every node of the graph.
constexpr size_t kMostNodesSeen = size_t{1} << 26;

class Bytes {
 public:
  void add(const Value* value) {
    if (!seen_.insert(value).second || !sum_) return;
    const std::optional<uint64_t> bytes = most_bytes_of(*value);
    if (!bytes || __builtin_add_overflow(*sum_, *bytes, &*sum_)) sum_.reset();
  }
  std::optional<uint64_t> sum() const { return sum_; }

 private:
  std::set<const Value*> seen_;
  std::optional<uint64_t> sum_ = 0;
};

class Breaks {
 public:
  explicit Breaks(const PartitionedNodes& graph) : graph_(graph), members_(graph.num_units) {
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      index_.emplace(graph.nodes[i], i);
      if (graph.unit[i] != kNoGroup) members_[graph.unit[i]].push_back(i);
    }
  }

  std::vector<BreakBetween> run() const {
    std::vector<BreakBetween> out;
    const auto most = static_cast<uint32_t>(kMostNodesSeen / std::max<size_t>(graph_.nodes.size(), 1));
    for (uint32_t after = 1; after < std::min(graph_.num_units, most); ++after) {
      BreakBetween found;
      found.before = after - 1;
      found.after = after;
      found.nodes = nodes_between(found.before, after);
      if (found.nodes.empty()) continue;
      found.cost.nodes_before = static_cast<uint32_t>(members_[found.before].size());
      found.cost.nodes_after = static_cast<uint32_t>(members_[after].size());
      add_bytes(found);
      found.cost.delegates_now = graph_.num_units;
      found.cost.delegates_if_inside = count_with(found.nodes);
      out.push_back(std::move(found));
    }
    return out;
  }

 private:
  bool is_outside(uint32_t i) const { return graph_.unit[i] == kNoGroup; }

  // The nodes outside on paths from one unit to the other that lead only through nodes outside.
  std::vector<uint32_t> nodes_between(uint32_t from, uint32_t to) const {
    const auto& before = graph_.dependences.before;
    const size_t count = before.size();
    std::vector<bool> reached(count), leads(count);
    for (uint32_t i = 0; i < count; ++i) {
      if (!is_outside(i)) continue;
      reached[i] = std::any_of(before[i].begin(), before[i].end(),
                               [&](uint32_t j) { return is_outside(j) ? reached[j] : graph_.unit[j] == from; });
    }
    std::vector<uint32_t> out;
    for (uint32_t i = static_cast<uint32_t>(count); i-- > 0;) {
      if (is_outside(i) ? !leads[i] : graph_.unit[i] != to) continue;
      for (const uint32_t j : before[i]) leads[j] = true;
      if (is_outside(i) && reached[i]) out.push_back(i);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  void add_bytes(BreakBetween& found) const {
    std::vector<bool> is_between(graph_.nodes.size());
    for (const uint32_t i : found.nodes) is_between[i] = true;
    const auto is_read = [&](const Value* value, bool between) {
      return std::any_of(value->users().begin(), value->users().end(), [&](const Node* user) {
        const auto at = index_.find(user);
        return at != index_.end() && (graph_.unit[at->second] == found.after || (between && is_between[at->second]));
      });
    };
    Bytes out, in;
    const auto add = [&](uint32_t i, bool inside) {
      for (const Value* value : graph_.nodes[i]->results()) {
        if (inside && is_read(value, true)) out.add(value);
        if (is_read(value, false)) in.add(value);
      }
    };
    for (const uint32_t i : members_[found.before]) add(i, true);
    for (const uint32_t i : found.nodes) add(i, false);
    found.cost.bytes_out = out.sum();
    found.cost.bytes_in = in.sum();
  }

  // The number of delegates if they also had the nodes `more`, by dependences alone.
  uint32_t count_with(const std::vector<uint32_t>& more) const {
    std::vector<bool> wanted(graph_.nodes.size());
    for (uint32_t i = 0; i < wanted.size(); ++i) wanted[i] = !is_outside(i);
    for (const uint32_t i : more) wanted[i] = true;
    const std::vector<uint32_t> alone(graph_.nodes.size(), kNoGroup);
    std::set<uint32_t> groups;
    for (const uint32_t group : group_by_level(graph_.dependences, alone, wanted)) {
      if (group != kNoGroup) groups.insert(group);
    }
    return static_cast<uint32_t>(groups.size());
  }

  const PartitionedNodes& graph_;
  std::vector<std::vector<uint32_t>> members_;  // by unit
  NodeIndex index_;
};

}  // namespace

std::vector<BreakBetween> find_breaks(const PartitionedNodes& graph) { return Breaks(graph).run(); }

}  // namespace wick::compiler
