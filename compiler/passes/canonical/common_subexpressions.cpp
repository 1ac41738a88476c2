#include <string.h>

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "compiler/ir/text/text.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/content_hash.h"

namespace wick::compiler {
namespace {

// A key for what a node computes, as bytes: nodes with equal keys have equal results. Keys are only looked up, so the
// order of the table does not matter.
class Key {
 public:
  explicit Key(const Node& node) {
    put_address(node.op);
    const bool swap = node.op->has(kCommutative) && node.arg(size_t{0}).is<Value*>() && node.arg(1).is<Value*>() &&
                      std::less<const Value*>()(node.arg(1).as<Value*>(), node.arg(size_t{0}).as<Value*>());
    for (size_t i = 0; i < node.args().size(); ++i) {
      const Arg& arg = node.arg(swap && i < 2 ? 1 - i : i);
      put_number(arg.index());
      std::visit(*this, static_cast<const std::variant<None, Value*, Values, Sym, Ints, double, Reals, bool, Bools,
                                                       std::string, DType>&>(arg));
    }
    for (const Value* result : node.results()) put_text(to_text(result->type, kAllNumbers));
  }

  void operator()(None) {}
  void operator()(const Value* value) { put_address(value); }
  void operator()(const Values& values) {
    put_number(values.size());
    for (const Value* value : values) put_address(value);
  }
  void operator()(const Sym& value) { put_text(value.text()); }
  void operator()(const Ints& values) {
    put_number(values.size());
    for (const Sym& value : values) put_text(value.text());
  }
  void operator()(double value) { put(&value, sizeof value); }
  void operator()(const Reals& values) {
    put_number(values.size());
    for (double value : values) put(&value, sizeof value);
  }
  void operator()(bool value) { put_number(value); }
  void operator()(const Bools& values) {
    put_number(values.size());
    for (bool value : values) put_number(value);
  }
  void operator()(const std::string& value) { put_text(value); }
  void operator()(DType value) { put_number(static_cast<uint64_t>(value)); }

  const std::string& bytes() const { return bytes_; }

 private:
  void put(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  void put_address(const void* address) {
    const auto number = reinterpret_cast<uintptr_t>(address);
    put(&number, sizeof number);
  }
  void put_number(uint64_t value) { put(&value, sizeof value); }
  void put_text(const std::string& text) {
    put_number(text.size());
    bytes_ += text;
  }
  std::string bytes_;
};

bool can_merge(const Node& node) {
  return !(node.op->has(kRandom | kEffect | kInPlace | kDataDependent | kScratch)) && node.graphs.empty() &&
         !node.results().empty();
}

bool same_types(const Node& a, const Node& b) {
  if (a.results().size() != b.results().size()) return false;
  for (size_t i = 0; i < a.results().size(); ++i) {
    if (a.result(i)->type != b.result(i)->type) return false;
  }
  return true;
}

Changed merge_nodes(Graph& graph) {
  std::unordered_map<std::string, Node*> first;
  std::vector<Node*> doubles;
  for (const auto& owned : graph.nodes()) {
    Node* node = owned.get();
    if (!can_merge(*node)) continue;
    const auto [it, fresh] = first.emplace(Key(*node).bytes(), node);
    if (fresh || !same_types(*it->second, *node)) continue;
    for (size_t i = 0; i < node->results().size(); ++i) graph.replace(node->result(i), it->second->result(i));
    add_origins(*it->second, *node);
    doubles.push_back(node);
  }
  for (Node* node : doubles) graph.erase(node);
  return doubles.empty() ? Changed::no : Changed::yes;
}

// Hashes a sample of the bytes to spread constants of one type over groups. A comparison of all bytes decides equality.
uint64_t sample_hash(const ConstantData& data) {
  uint8_t sample[256];
  const size_t size = std::min(sizeof sample, data.size_bytes());
  data.read(0, size, sample);
  return content_hash({sample, size});
}

Changed merge_constants(Graph& graph) {
  std::map<std::pair<std::string, uint64_t>, std::vector<Value*>> groups;
  Changed changed = Changed::no;
  for (Value* constant : graph.constants()) {
    std::vector<Value*>& group = groups[{to_text(constant->type, kAllNumbers), sample_hash(constant->data)}];
    const auto equal = std::find_if(group.begin(), group.end(),
                                    [&](const Value* other) { return same_bytes(other->data, constant->data); });
    if (equal == group.end()) {
      group.push_back(constant);
      continue;
    }
    if ((*equal)->fqn.empty()) (*equal)->fqn = constant->fqn;
    graph.replace(constant, *equal);
    changed = Changed::yes;
  }
  return changed;
}

}  // namespace

// Merges nodes that compute the same, and constants of equal type and bytes.
//   before: a = exp(x); b = exp(x); y = mul(a, b)          after: a = exp(x); y = mul(a, a)
// Ensures: no two pure nodes of one graph have the same operator and arguments (for commutative operators in either
// order). The first node stays and gets the origins of all.
// Keeps: every value. Nodes that draw random numbers, have an effect or have sub-graphs are never merged.
Result<Changed> common_subexpressions(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    const Changed constants = merge_constants(g);
    return constants | merge_nodes(g);
  });
}

}  // namespace wick::compiler
