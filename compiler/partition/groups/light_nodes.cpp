#include "compiler/partition/groups/light_nodes.h"

#include <algorithm>

namespace wick::compiler {
namespace {

uint32_t count_groups(const std::vector<uint32_t>& group) {
  uint32_t count = 0;
  for (const uint32_t each : group) count = std::max(count, each == kNoGroup ? 0 : each + 1);
  return count;
}

// Limit on the nodes visited by attempts to regroup. An attempt counts each node once per group.
constexpr uint64_t kMostVisits = uint64_t{1} << 24;

class Search {
 public:
  Search(const Dependences& nodes, const std::vector<uint32_t>& unit, std::vector<bool> wanted,
         const std::vector<uint64_t>& cost, uint64_t limit)
      : nodes_(nodes), unit_(unit), wanted_(std::move(wanted)), cost_(cost), limit_(limit) {}

  LightNodes run() {
    LightNodes out;
    group_ = group_by_level(nodes_, unit_, wanted_);
    leave_out([&] { return needed_outside(); }, out.before);
    leave_out([&] { return needs_outside(); }, out.behind);
    return out;
  }

 private:
  // `find` marks the nodes that nodes outside need, or that need nodes outside. Leaves out all marked nodes of a group
  // if they are light and fewer groups are then enough.
  template <typename Find>
  void leave_out(const Find& find, std::vector<uint32_t>& out) {
    uint32_t count = count_groups(group_);
    find_members(count, find());
    uint64_t visited = 0;
    for (uint32_t at = 0; at < count;) {
      const std::vector<uint32_t> members = members_[at];
      if (members.empty() || visited > kMostVisits) {
        ++at;
        continue;
      }
      visited += uint64_t{count} * nodes_.size();
      if (!regroup_without(members, count)) {
        ++at;
        continue;
      }
      count = count_groups(group_);
      find_members(count, find());
      out.insert(out.end(), members.begin(), members.end());
    }
  }

  bool regroup_without(const std::vector<uint32_t>& members, uint32_t count) {
    for (const uint32_t i : members) wanted_[i] = false;
    std::vector<uint32_t> group = group_by_level(nodes_, unit_, wanted_);
    if (count_groups(group) < count) {
      group_ = std::move(group);
      return true;
    }
    for (const uint32_t i : members) wanted_[i] = true;
    return false;
  }

  // Marks a node outside if a group needs it, directly or through nodes outside. Marks a wanted node if a marked node
  // outside needs it, or a marked node of its own group.
  std::vector<bool> needed_outside() const {
    std::vector<bool> leads(nodes_.size());
    for (uint32_t i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
      if (!wanted_[i] && !leads[i]) continue;
      for (const uint32_t before : nodes_.before[i]) {
        const bool outside = !wanted_[before], same = wanted_[i] && group_[before] == group_[i];
        if (outside ? true : !wanted_[i] || (leads[i] && same)) leads[before] = true;
      }
    }
    return leads;
  }

  // Marks a node outside if it needs a group, directly or through nodes outside. Marks a wanted node if it needs a
  // marked node outside, or a marked node of its own group.
  std::vector<bool> needs_outside() const {
    std::vector<bool> follows(nodes_.size());
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      const auto& before = nodes_.before[i];
      follows[i] = std::any_of(before.begin(), before.end(), [&](uint32_t j) {
        if (!wanted_[i]) return wanted_[j] || follows[j];
        return follows[j] && (!wanted_[j] || group_[j] == group_[i]);
      });
    }
    return follows;
  }

  // Lists the marked nodes of each group; an empty list if there are none or they are not light.
  void find_members(uint32_t count, const std::vector<bool>& is_marked) {
    members_.assign(count, {});
    std::vector<uint64_t> sums(count);
    std::vector<bool> is_heavy(count);
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!wanted_[i] || !is_marked[i] || group_[i] == kNoGroup) continue;
      const uint32_t at = group_[i];
      is_heavy[at] = is_heavy[at] || cost_[i] > limit_ - sums[at];
      if (is_heavy[at]) continue;
      sums[at] += cost_[i];
      members_[at].push_back(i);
    }
    for (uint32_t at = 0; at < count; ++at) {
      if (is_heavy[at]) members_[at].clear();
    }
  }

  const Dependences& nodes_;
  const std::vector<uint32_t>& unit_;
  std::vector<bool> wanted_;
  const std::vector<uint64_t>& cost_;
  uint64_t limit_;
  std::vector<uint32_t> group_;
  std::vector<std::vector<uint32_t>> members_;  // of each group
};

}  // namespace

LightNodes light_nodes(const Dependences& nodes, const std::vector<uint32_t>& unit, std::vector<bool> wanted,
                       const std::vector<uint64_t>& cost, uint64_t limit) {
  return Search(nodes, unit, std::move(wanted), cost, limit).run();
}

}  // namespace wick::compiler
