#include "compiler/partition/device_values.h"

#include <algorithm>

namespace wick::compiler {

Values read_on_both_sides(const std::vector<Node*>& members, uint32_t unit, const DeviceReaders& readers) {
  Values values;
  for (const Node* node : members) {
    for (Value* value : node->results()) {
      bool delegates = false, others = value->num_uses() != value->users().size();
      for (const Node* user : value->users()) {
        const uint32_t reader = readers.unit[readers.index.at(user)];
        delegates = delegates || (reader != kNoGroup && reader != unit);
        others = others || reader == kNoGroup;
      }
      if (delegates && others) values.push_back(value);
    }
  }
  return values;
}

void redirect_delegate_readers(Graph& graph, Value* from, Value* to, const DeviceReaders& readers) {
  const std::vector<Node*> users = from->users();
  for (Node* user : users) {
    if (readers.unit[readers.index.at(user)] == kNoGroup) continue;
    for (size_t i = 0; i < user->args().size(); ++i) {
      if (user->arg(i).is<Value*>() && user->arg(i).as<Value*>() == from) graph.set_arg(user, i, to);
      if (!user->arg(i).is<Values>()) continue;
      Values list = user->arg(i).as<Values>();
      std::replace(list.begin(), list.end(), from, to);
      graph.set_arg(user, i, std::move(list));
    }
  }
}

}  // namespace wick::compiler
