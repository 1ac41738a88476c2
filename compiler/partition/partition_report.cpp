#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/partition/partition.h"

namespace wick::compiler {

std::string with_help(const std::string& reason, const std::string& help) {
  return help.empty() ? reason : reason + "; " + help;
}

size_t PartitionReport::num_outside() const {
  return static_cast<size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const NodePlace& place) { return place.backend.empty(); }));
}

void PartitionReport::add(PartitionReport next) {
  for (GraphBreak& each : next.breaks) {
    for (const size_t row : each.rows) each.nodes.push_back(next.nodes[row]);
    each.rows.clear();
  }
  if (target.empty()) {
    *this = std::move(next);
    return;
  }
  using Key = std::pair<std::string, std::string>;
  const auto key_of = [](const NodePlace& place) { return Key(place.op, place.origin ? place.origin->node : ""); };
  std::map<Key, NodePlace> before;
  for (NodePlace& place : nodes) {
    if (place.backend.empty()) before.emplace(key_of(place), place);
  }
  std::erase_if(nodes, [](const NodePlace& place) { return place.backend.empty() || place.backend == kExecutor; });
  for (NodePlace& place : next.nodes) {
    const auto found = place.backend.empty() ? before.find(key_of(place)) : before.end();
    if (found != before.end() && found->second.reason != place.reason)
      place.reason = fmt::format("{}: {}; {}: {}", target, found->second.reason, next.target, place.reason);
    if (found != before.end() && place.help.empty()) place.help = found->second.help;
    nodes.push_back(std::move(place));
  }
  std::map<std::string, std::string> reasons;
  for (BufferPlace& place : buffers) {
    if (place.backend.empty()) reasons.emplace(place.name, std::move(place.reason));
  }
  std::erase_if(buffers, [](const BufferPlace& place) { return place.backend.empty(); });
  for (BufferPlace& place : next.buffers) {
    if (place.backend.empty() && place.reason.empty()) place.reason = reasons[place.name];
    buffers.push_back(std::move(place));
  }
  target += ", " + next.target;
  taken = std::move(next.taken);
  for (GraphBreak& each : next.breaks) breaks.push_back(std::move(each));
  prepared_for.insert(prepared_for.end(), next.prepared_for.begin(), next.prepared_for.end());
  num_delegates += next.num_delegates;
}

}  // namespace wick::compiler
