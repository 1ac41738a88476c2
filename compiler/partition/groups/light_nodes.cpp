#include "compiler/partition/groups/light_nodes.h"

#include <algorithm>

namespace wick::compiler {
namespace {

uint32_t count_groups(const std::vector<uint32_t>& group) {
  uint32_t count = 0;
  for (const uint32_t each : group) count = std::max(count, each == kNoGroup ? 0 : each + 1);
  return count;
}

// Attempts to group the nodes anew end when they have visited so many, counted once for each group.
constexpr uint64_t kMostVisits = uint64_t{1} << 24;

class LightNodes {
 public:
  LightNodes(const Dependences& nodes, const std::vector<uint32_t>& unit, std::vector<bool> wanted,
             const std::vector<uint64_t>& cost, uint64_t limit)
      : nodes_(nodes), unit_(unit), wanted_(std::move(wanted)), cost_(cost), limit_(limit) {}

  std::vector<uint32_t> run() {
    std::vector<uint32_t> out;
    group_ = group_by_level(nodes_, unit_, wanted_);
    uint32_t count = count_groups(group_);
    find_members(count);
    uint64_t visited = 0;
    for (uint32_t at = 0; at + 1 < count;) {
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
      find_members(count);
      out.insert(out.end(), members.begin(), members.end());
    }
    return out;
  }

 private:
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

  // Finds what each group computes for nodes outside that another group needs; empty: nothing, or something that is not
  // light.
  void find_members(uint32_t count) {
    std::vector<bool> leads(nodes_.size());  // outside and needed by a group; wanted: needed by one of those
    for (uint32_t i = static_cast<uint32_t>(nodes_.size()); i-- > 0;) {
      if (!wanted_[i] && !leads[i]) continue;
      for (const uint32_t before : nodes_.before[i]) {
        const bool outside = !wanted_[before], same = wanted_[i] && group_[before] == group_[i];
        if (outside ? true : !wanted_[i] || (leads[i] && same)) leads[before] = true;
      }
    }
    members_.assign(count, {});
    std::vector<uint64_t> sums(count);
    std::vector<bool> is_heavy(count);
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!wanted_[i] || !leads[i] || group_[i] == kNoGroup) continue;
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

std::vector<uint32_t> light_nodes(const Dependences& nodes, const std::vector<uint32_t>& unit, std::vector<bool> wanted,
                                  const std::vector<uint64_t>& cost, uint64_t limit) {
  return LightNodes(nodes, unit, std::move(wanted), cost, limit).run();
}

}  // namespace wick::compiler
