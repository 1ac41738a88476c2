#include "compiler/partition/groups/group.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

// The same graph with each unit as one vertex.
struct Quotient {
  std::vector<uint32_t> vertex_of;             // by node
  std::vector<std::vector<uint32_t>> members;  // by vertex, ascending; vertices in the order of their first member
  std::vector<std::vector<uint32_t>> after;    // by vertex, with repetitions
  std::vector<uint32_t> num_before;            // by vertex, with repetitions

  Quotient(const Dependences& nodes, const std::vector<uint32_t>& unit) : vertex_of(nodes.size()) {
    std::vector<uint32_t> of_unit;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      uint32_t vertex = static_cast<uint32_t>(members.size());
      if (unit[i] != kNoGroup) {
        if (unit[i] >= of_unit.size()) of_unit.resize(unit[i] + 1, kNoGroup);
        if (of_unit[unit[i]] == kNoGroup) of_unit[unit[i]] = vertex;
        vertex = of_unit[unit[i]];
      }
      if (vertex == members.size()) members.emplace_back();
      members[vertex].push_back(i);
      vertex_of[i] = vertex;
    }
    after.resize(members.size());
    num_before.resize(members.size());
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      for (uint32_t before : nodes.before[i]) {
        if (vertex_of[before] == vertex_of[i]) continue;
        after[vertex_of[before]].push_back(vertex_of[i]);
        ++num_before[vertex_of[i]];
      }
    }
  }

  // Vertices in topological order. The earliest vertex that could be next comes next.
  std::vector<uint32_t> order() const {
    std::vector<uint32_t> waiting = num_before, out;
    std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
    for (uint32_t v = 0; v < members.size(); ++v) {
      if (waiting[v] == 0) ready.push(v);
    }
    while (!ready.empty()) {
      const uint32_t v = ready.top();
      ready.pop();
      out.push_back(v);
      for (uint32_t next : after[v]) {
        if (--waiting[next] == 0) ready.push(next);
      }
    }
    if (out.size() != members.size()) fail(Code::internal, "groups of nodes form a dependency cycle");
    return out;
  }
};

// Computes the levels of all vertices, and moves whole parts of a level to later levels.
class Levels {
 public:
  Levels(const Quotient& graph, const std::vector<bool>& wanted)
      : graph_(graph), order_(graph.order()), level_(graph.members.size(), 0), part_(graph.members.size()) {
    for (const auto& members : graph.members) wanted_.push_back(wanted[members.front()]);
    for (uint32_t v : order_) {
      for (uint32_t next : graph_.after[v])
        level_[next] = std::max(level_[next], level_[v] + (wanted_[v] && !wanted_[next] ? 1 : 0));
    }
    find_parts();
    move_parts();
  }

  uint32_t group(uint32_t v) const { return group_[v]; }

 private:
  uint32_t root(uint32_t v) {
    while (part_[v] != v) v = part_[v] = part_[part_[v]];
    return v;
  }

  // Joins wanted vertices of one level into a part if they are connected there.
  void find_parts() {
    for (uint32_t v = 0; v < part_.size(); ++v) part_[v] = v;
    for (uint32_t v : order_) {
      for (uint32_t next : graph_.after[v]) {
        if (wanted_[v] && wanted_[next] && level_[v] == level_[next]) part_[root(v)] = root(next);
      }
    }
  }

  struct Part {
    std::vector<uint32_t> members;
    uint32_t latest = 0;               // level it may move to
    uint32_t first_reader = kNoGroup;  // least group that reads it
  };

  // Goes from the last level to the first, so that all readers of a level are placed before it.
  void move_parts() {
    uint32_t last = 0;
    for (uint32_t v = 0; v < level_.size(); ++v) {
      if (wanted_[v]) last = std::max(last, level_[v]);
    }
    std::vector<std::vector<uint32_t>> wanted_at(last + 2), others_at(last + 2);  // in reverse order of running
    std::vector<size_t> size(last + 1, 0);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      (wanted_[*it] ? wanted_at : others_at)[level_[*it]].push_back(*it);
      if (wanted_[*it]) ++size[level_[*it]];
    }
    group_ = level_;  // of an unwanted vertex: the least group that reads it, directly or indirectly
    for (uint32_t level = last + 2; level-- > 0;) {
      std::vector<Part> parts;
      for (uint32_t v : wanted_at[level]) add_to_part(parts, v, last);
      for (const Part& part : parts) place(part, level, size);
      for (uint32_t v : others_at[level]) {
        group_[v] = last + 1;
        for (uint32_t next : graph_.after[v]) group_[v] = std::min(group_[v], group_[next]);
      }
    }
  }

  void add_to_part(std::vector<Part>& parts, uint32_t v, uint32_t last) {
    const auto [it, fresh] = part_index_.try_emplace(root(v), static_cast<uint32_t>(parts.size()));
    if (fresh) parts.push_back({{}, last, kNoGroup});
    Part& part = parts[it->second];
    part.members.push_back(v);
    for (uint32_t next : graph_.after[v]) {
      if (wanted_[next] && level_[next] == level_[v]) continue;  // of the same part
      part.latest = std::min(part.latest, wanted_[next] ? group_[next] : group_[next] - 1);
      if (wanted_[next]) part.first_reader = std::min(part.first_reader, group_[next]);
    }
  }

  void place(const Part& part, uint32_t level, std::vector<size_t>& size) {
    uint32_t to = std::min(part.first_reader, part.latest);
    if (part.first_reader == kNoGroup) {
      to = level;
      const auto others = [&](uint32_t at) { return at == level ? size[at] - part.members.size() : size[at]; };
      for (uint32_t at = level + 1; at <= part.latest; ++at) {
        if (others(at) > others(to)) to = at;
      }
    }
    size[level] -= part.members.size();
    size[to] += part.members.size();
    for (uint32_t v : part.members) group_[v] = to;
  }

  const Quotient& graph_;
  std::vector<uint32_t> order_, level_, part_, group_;
  std::vector<bool> wanted_;
  std::unordered_map<uint32_t, uint32_t> part_index_;
};

}  // namespace

std::vector<uint32_t> group_by_level(const Dependences& nodes, const std::vector<uint32_t>& unit,
                                     const std::vector<bool>& wanted) {
  const Quotient graph(nodes, unit);
  const Levels levels(graph, wanted);
  std::vector<uint32_t> group(nodes.size(), kNoGroup);
  for (uint32_t i = 0; i < nodes.size(); ++i) {
    if (wanted[i]) group[i] = levels.group(graph.vertex_of[i]);
  }
  return group;
}

std::vector<uint32_t> order_units(const Dependences& nodes, const std::vector<uint32_t>& unit) {
  const Quotient graph(nodes, unit);
  std::vector<uint32_t> out;
  for (uint32_t v : graph.order()) out.insert(out.end(), graph.members[v].begin(), graph.members[v].end());
  return out;
}

}  // namespace wick::compiler
