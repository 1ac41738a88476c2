#include "compiler/partition/extract.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/clone.h"

namespace wick::compiler {
namespace {

class Extractor {
 public:
  Extractor(const std::vector<Node*>& nodes, const BuffersOfPart& buffers, const Target& target, Extracted& out)
      : nodes_(nodes), buffers_(buffers), target_(target), out_(out) {
    inside_.insert(nodes.begin(), nodes.end());
  }

  void run(const Values& twice) {
    for (const Node* node : nodes_) copy(*node);
    for (const Node* node : nodes_) {
      for (Value* value : node->results()) {
        if (is_read_outside(*value)) add_output(value);
      }
    }
    for (const StateUpdate& update : buffers_.updates) {
      bring(update.target);
      bring(update.value);
      out_.graph.add_update(copies_.at(update.target), copies_.at(update.value));
    }
    for (Value* state : buffers_.outputs) {
      bring(state);
      add_output(state);
    }
    for (Value* value : twice) add_output(value);
  }

 private:
  bool is_read_outside(const Value& value) const {
    return value.num_uses() != value.users().size() ||
           std::any_of(value.users().begin(), value.users().end(), [&](const Node* n) { return !inside_.count(n); });
  }

  void add_output(Value* value) {
    out_.outputs.push_back(value);
    GraphOutput output;
    output.value = copies_.at(value);
    output.leaf = static_cast<int>(out_.outputs.size()) - 1;
    out_.graph.add_output(output);
  }

  // Brings `value` into the graph, if it is not there: as a constant, a held buffer or an input, or with the nodes that
  // prepare a constant.
  void bring(Value* value) {
    if (copies_.count(value)) return;
    const Node* producer = value->producer;
    if (producer && !inside_.count(producer) && target_.partition.prepares_constant &&
        target_.partition.prepares_constant(*producer)) {
      copy(*producer);
    } else if (value->is_constant()) {
      copies_[value] = out_.graph.add_constant(value->tensor(), value->data, value->name, value->fqn);
    } else if (const auto held = buffers_.held.find(value); held != buffers_.held.end()) {
      copies_[value] = out_.graph.add_state(value->tensor(), value->data, value->name, held->second);
    } else {
      copies_[value] = out_.graph.add_input(value->type, value->name);
      out_.inputs.push_back(value);
    }
  }

  void copy(const Node& node) {
    for (Value* operand : node.operands()) bring(operand);
    copy_node(node, out_.graph, copies_);
  }

  const std::vector<Node*>& nodes_;
  const BuffersOfPart& buffers_;
  const Target& target_;
  Extracted& out_;
  std::unordered_set<const Node*> inside_;
  ValueMap copies_;
};

}  // namespace

void extract(const std::vector<Node*>& nodes, const BuffersOfPart& buffers, const Values& twice, const Target& target,
             Extracted& out) {
  Extractor(nodes, buffers, target, out).run(twice);
}

}  // namespace wick::compiler
