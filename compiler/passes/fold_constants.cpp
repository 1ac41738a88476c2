// Folding in three steps: which nodes depend on constants only, which of them are worth a constant (seen from their
// readers), and the evaluation of those and what they need.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/analysis/evaluate.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

constexpr uint64_t kMaxIntermediateBytes = uint64_t{1} << 30;
constexpr size_t kMaxRoots = 64;

bool is_static_arg(const Arg& arg) {
  if (arg.is<Sym>()) return arg.as<Sym>().is_const();
  if (arg.is<Ints>()) return is_static(arg.as<Ints>());
  return true;
}

// Quantized weights stay quantized: backends compute with them, and they are the smaller ones.
bool is_dequantize(const OpDef& op) { return op.name().find("dequantize") != std::string_view::npos; }

// Bytes of a tensor, or the limit if they are more.
uint64_t bytes_of(const Value& value) {
  uint64_t bytes = dtype_size_bytes(value.dtype());
  for (const Sym& size : value.sizes()) {
    if (size.value() < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size.value()), &bytes))
      return kMaxIntermediateBytes + 1;
  }
  return bytes;
}

class Folder {
 public:
  Folder(Graph& graph, const FoldOptions& options) : graph_(graph), options_(options) {}

  Changed run() {
    Changed changed = Changed::no;
    // A node whose kernel refuses its operands is left alone, and what depends on it; the others are tried again.
    for (size_t failed = failed_.size() + 1; failed != failed_.size();) {
      failed = failed_.size();
      find_foldable();
      choose();
      changed = changed | evaluate_chosen();
    }
    return changed;
  }

 private:
  struct Roots {
    std::vector<std::pair<size_t, const Value*>> constants;  // with their order of creation, sorted; at most kMaxRoots
    uint64_t bytes = 0;
  };

  bool is_foldable(const Node& node) const {
    if (node.op->flags & (kRandom | kEffect | kInPlace | kDataDependent) || is_dequantize(*node.op)) return false;
    if (failed_.count(&node) || !can_evaluate(node)) return false;
    if (!std::all_of(node.args().begin(), node.args().end(), is_static_arg)) return false;
    for (const Value* operand : node.operands()) {
      const bool known = operand->is_constant() || (operand->producer && roots_.count(operand->producer));
      if (!known) return false;
    }
    return std::all_of(node.results().begin(), node.results().end(), [](const Value* value) {
      return value->type.is_tensor() && is_static(value->sizes()) && bytes_of(*value) <= kMaxIntermediateBytes;
    });
  }

  void find_foldable() {
    roots_.clear();
    std::unordered_map<const Value*, size_t> created;
    for (const Value* constant : graph_.constants()) created.emplace(constant, created.size());
    for (const auto& node : graph_.nodes()) {
      if (!is_foldable(*node)) continue;
      Roots roots;
      for (const Value* operand : node->operands()) {
        if (operand->is_constant()) {
          roots.constants.emplace_back(created.at(operand), operand);
        } else {
          const auto& inherited = roots_.at(operand->producer).constants;
          roots.constants.insert(roots.constants.end(), inherited.begin(), inherited.end());
        }
      }
      std::sort(roots.constants.begin(), roots.constants.end());
      roots.constants.erase(std::unique(roots.constants.begin(), roots.constants.end()), roots.constants.end());
      for (const auto& [index, root] : roots.constants) roots.bytes += root->data.bytes.size();
      if (roots.constants.size() > kMaxRoots) roots.constants.resize(kMaxRoots);
      roots_.emplace(node.get(), std::move(roots));
    }
  }

  // Does somebody read it who cannot be folded, or will not be?
  bool is_at_border(const Node& node) const {
    for (const Value* value : node.results()) {
      if (value->num_uses() != value->users().size()) return true;
      for (const Node* user : value->users()) {
        if (!roots_.count(user) || refused_.count(user)) return true;
      }
    }
    return false;
  }

  bool is_worth_it(const Node& node) {
    uint64_t bytes = 0;
    for (const Value* value : node.results()) {
      if (value->num_uses() > 0) bytes += bytes_of(*value);
    }
    const uint64_t root_bytes = roots_.at(&node).bytes;
    const bool creation = node.operands().empty();
    const uint64_t free_bytes = creation ? options_.free_creation_bytes : options_.free_result_bytes;
    if (bytes > free_bytes && bytes / 2 > root_bytes) return false;
    const uint64_t growth = bytes > root_bytes ? bytes - root_bytes : 0;
    if (growth > options_.max_folded_bytes - folded_bytes_) return false;
    folded_bytes_ += growth;
    return true;
  }

  // From the last node to the first: chosen_ are the nodes that become constants, needed_ what must be computed for
  // them.
  void choose() {
    refused_.clear();
    chosen_.clear();
    needed_.clear();
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) {
      const Node* node = it->get();
      if (!roots_.count(node)) continue;
      if (is_at_border(*node)) {
        if (is_worth_it(*node))
          chosen_.insert(node);
        else
          refused_.insert(node);
      }
      if (!chosen_.count(node) && !needed_.count(node)) continue;
      needed_.insert(node);
      for (const Value* operand : node->operands()) {
        if (operand->producer) needed_.insert(operand->producer);
      }
    }
  }

  Changed evaluate_chosen() {
    std::unordered_map<const Value*, size_t> pending;  // reads still to come
    std::vector<Node*> order;
    for (const auto& node : graph_.nodes()) {
      if (!needed_.count(node.get())) continue;
      order.push_back(node.get());
      for (const Value* operand : node->operands()) ++pending[operand];
    }
    std::unordered_map<const Value*, HostValue> values;
    const OperandFn operand_value = [&](const Value& value) -> const HostValue* {
      auto it = values.find(&value);
      if (it == values.end() && value.is_constant()) it = values.emplace(&value, host_tensor(value)).first;
      return it == values.end() ? nullptr : &it->second;
    };
    std::vector<Node*> folded;
    for (Node* node : order) {
      auto results = evaluate_node(*node, operand_value);
      const bool ok = results.ok() && results->size() == node->results().size();
      if (!ok) failed_.insert(node);
      for (size_t i = 0; ok && i < results->size(); ++i) values.emplace(node->result(i), std::move((*results)[i]));
      if (ok && chosen_.count(node)) folded.push_back(node);
      for (const Value* operand : node->operands()) {
        const bool kept = operand->producer && chosen_.count(operand->producer);
        if (--pending[operand] == 0 && !kept) values.erase(operand);
      }
    }
    for (Node* node : folded) replace_by_constants(*node, values);
    erase_unread(graph_, folded);
    return folded.empty() ? Changed::no : Changed::yes;
  }

  void replace_by_constants(Node& node, const std::unordered_map<const Value*, HostValue>& values) {
    for (Value* result : node.results()) {
      if (result->num_uses() == 0) continue;
      graph_.replace(result,
                     graph_.add_constant(result->tensor(), std::get<HostTensor>(values.at(result)).data, result->name));
    }
  }

  Graph& graph_;
  const FoldOptions& options_;
  uint64_t folded_bytes_ = 0;
  std::unordered_map<const Node*, Roots> roots_;  // of each foldable node
  std::unordered_set<const Node*> refused_, chosen_, needed_, failed_;
};

}  // namespace

// Computes what depends on constants only, with the portable kernels in their one fixed order.
//   before: const w; t = permute(w, [1, 0]); y = mm(x, t)          after: const t; y = mm(x, t)
// Ensures: no node with static sizes, a kernel and only constant operands remains, but those that grow the program too
// much (FoldOptions), whose kernel refuses them, that dequantize, draw random numbers, have an effect or sizes that
// depend on values. Keeps: every value, bit for bit what the baseline kernels give. Views of constants share their
// bytes.
Result<Changed> fold_constants(Graph& graph, const FoldOptions& options) {
  return for_each_graph(graph, [&](Graph& g) { return Folder(g, options).run(); });
}

}  // namespace wick::compiler
