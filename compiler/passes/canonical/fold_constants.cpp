// Folding has three steps. It finds the nodes that depend only on constants; it decides, from their readers, which of
// them are profitable as constants; and it evaluates these and what they need.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "compiler/analysis/evaluate.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/limits.h"

namespace wick::compiler {
namespace {

constexpr size_t kMaxRoots = 64;

bool is_static_arg(const Arg& arg) {
  if (arg.is<Sym>()) return arg.as<Sym>().is_const();
  if (arg.is<Ints>()) return is_static(arg.as<Ints>());
  return true;
}

// Bytes of a tensor of constant sizes, at most 2^62.
uint64_t bytes_of_value(const Value& value) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  uint64_t bytes = dtype_size_bytes(value.dtype());
  for (const Sym& size : value.sizes()) {
    if (size.value() < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size.value()), &bytes)) return kMost;
  }
  return std::min(bytes, kMost);
}

// Steps per element for results that add many terms but are not matmuls, such as resized images.
constexpr double kManyTermsSteps = 32;

bool adds_many_terms(const OpDef& op) { return op.tolerance->f32.of_largest > 0; }

// An approximate upper bound of the steps that a kernel takes. It is the number of elements if each is visited once,
// else the work of a matmul of the three largest tensors, which convolutions and distances come close to.
double work_of(const Node& node) {
  double largest[3] = {1, 1, 1}, sum = 0;  // descending
  const auto add = [&](const Value& value) {
    double count = static_cast<double>(bytes_of_value(value)) / static_cast<double>(dtype_size_bytes(value.dtype()));
    sum += count;
    for (double& other : largest) {
      if (count > other) std::swap(count, other);
    }
  };
  for (const Value* operand : node.operands()) {
    if (operand->type.is_tensor() && is_static(operand->sizes())) add(*operand);
  }
  for (const Value* result : node.results()) add(*result);
  const bool once = node.op->has(kPointwise) || node.op->has(kView) || node.operands().empty() ||
                    node.op->has(kMoves) || node.is("aten._to_copy.default");
  constexpr double kProducts = 64;  // work of an iterative operator, in matmuls of its size
  if (node.op->has(kIterative)) return kProducts * std::max(sum, largest[0] * std::sqrt(largest[0]));
  if (once) return sum;
  double steps = std::max(sum, std::sqrt(largest[0]) * std::sqrt(largest[1]) * std::sqrt(largest[2]));
  if (adds_many_terms(*node.op) && !node.op->facts.gemm) steps = std::max(steps, kManyTermsSteps * sum);
  return steps;
}

class ConstantFolder {
 public:
  ConstantFolder(Graph& graph, const FoldOptions& options, const ReleaseFn& release)
      : graph_(graph), options_(options), release_(release) {}

  Changed run() {
    Changed changed = Changed::no;
    // A node whose kernel refuses its operands stays, and so do the nodes that depend on it. The others are tried
    // again.
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
    if (node.op->has(kRandom | kEffect | kInPlace | kDataDependent)) return false;
    if (failed_.count(&node) || !can_evaluate(node)) return false;
    if (!std::all_of(node.args().begin(), node.args().end(), is_static_arg)) return false;
    for (const Value* operand : node.operands()) {
      const bool known = operand->is_constant() || (operand->producer && roots_.count(operand->producer));
      if (!known) return false;
    }
    const bool small = std::all_of(node.results().begin(), node.results().end(), [](const Value* value) {
      return value->type.is_tensor() && is_static(value->sizes()) && bytes_of_value(*value) <= limits().folding_bytes;
    });
    return small && work_of(node) <= max_work();  // a larger one would use up the budget of the others
  }

  // Whether the node only dequantizes stored integers, or moves or casts the numbers. Such a node does not become a
  // constant: backends compute with the integers, which are smaller.
  bool only_dequantizes(const Node& node) const {
    if (node.op->has(kDequantizes)) return true;
    if (!node.op->has(kMoves | kView | kIdentity) && !node.is("aten._to_copy.default")) return false;
    const Values operands = node.operands();
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Value* operand) { return dequantized_.count(operand->producer) > 0; });
  }

  void find_foldable() {
    roots_.clear();
    dequantized_.clear();
    constant_bytes_ = 0;
    for (const Value* constant : graph_.constants()) constant_bytes_ += constant->data.size_bytes();
    std::unordered_map<const Value*, size_t> created;
    for (const Value* constant : graph_.constants()) created.emplace(constant, created.size());
    for (const auto& node : graph_.nodes()) {
      if (!is_foldable(*node)) continue;
      if (only_dequantizes(*node)) dequantized_.insert(node.get());
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
      for (const auto& [index, root] : roots.constants) roots.bytes += root->data.size_bytes();
      if (roots.constants.size() > kMaxRoots) roots.constants.resize(kMaxRoots);
      roots_.emplace(node.get(), std::move(roots));
    }
  }

  // Whether a reader cannot or will not be folded.
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
      if (value->num_uses() > 0) bytes += bytes_of_value(*value);
    }
    const uint64_t root_bytes = roots_.at(&node).bytes;
    const bool creation = node.operands().empty();
    const uint64_t free_bytes = creation ? options_.free_creation_bytes : options_.free_result_bytes;
    const uint64_t growth = bytes > root_bytes ? bytes - root_bytes : 0;
    if (bytes > free_bytes && bytes / 2 > root_bytes && !saves_time(node, growth)) {
      constexpr uint64_t kSmallPart = 8;
      if (creation || large_growth_bytes_ + growth > constant_bytes_ / kSmallPart) return false;
      large_growth_bytes_ += growth;
    }
    if (growth > options_.max_folded_bytes - folded_bytes_ || !affordable(node)) return false;
    folded_bytes_ += growth;
    return true;
  }

  // Whether computing `node` in each run would take far longer than reading its bytes. Counts the work of some of the
  // nodes that it is computed from.
  bool saves_time(const Node& node, uint64_t growth) const {
    constexpr double kStepsPerByte = 4;
    constexpr size_t kMaxNodes = 32;
    std::vector<const Node*> chain = {&node};
    double steps = 0;
    for (size_t i = 0; i < chain.size(); ++i) {
      steps += work_of(*chain[i]);
      for (const Value* operand : chain[i]->operands()) {
        const bool seen = std::find(chain.begin(), chain.end(), operand->producer) != chain.end();
        if (operand->producer && !seen && chain.size() < kMaxNodes) chain.push_back(operand->producer);
      }
    }
    return steps >= kStepsPerByte * static_cast<double>(growth);
  }

  double max_work() const {
    return static_cast<double>(limits().folding_work) + 64 * static_cast<double>(constant_bytes_);
  }

  // Adds the work and memory for `node` that were not counted yet: results that are no views. Returns whether the
  // budgets hold.
  bool affordable(const Node& node) {
    std::vector<const Node*> open = {&node};
    while (!open.empty()) {
      const Node* at = open.back();
      open.pop_back();
      if (!counted_.insert(at).second) continue;
      spent_work_ += work_of(*at);
      for (const Value* value : at->results()) spent_bytes_ += at->op->has(kView) ? 0 : bytes_of_value(*value);
      for (const Value* operand : at->operands()) {
        if (operand->producer) open.push_back(operand->producer);
      }
    }
    return spent_bytes_ <= limits().folding_bytes + 2 * constant_bytes_ && spent_work_ <= max_work();
  }

  // Goes from the last node to the first. chosen_: the nodes that become constants. needed_: these and the nodes that
  // they are computed from.
  void choose() {
    refused_.clear();
    chosen_.clear();
    needed_.clear();
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) {
      const Node* node = it->get();
      if (!roots_.count(node)) continue;
      if (is_at_border(*node)) {
        if (!dequantized_.count(node) && is_worth_it(*node))
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
        if (--pending[operand] > 0) continue;
        if (!kept) values.erase(operand);
        if (operand->is_constant() && !operand->data.computed() && release_) release_(operand->data.bytes());
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
  const ReleaseFn& release_;
  uint64_t folded_bytes_ = 0, constant_bytes_ = 0, large_growth_bytes_ = 0, spent_bytes_ = 0;
  double spent_work_ = 0;
  std::unordered_set<const Node*> counted_;
  std::unordered_map<const Node*, Roots> roots_;  // of each foldable node
  std::unordered_set<const Node*> dequantized_, refused_, chosen_, needed_, failed_;
};

}  // namespace

// Computes nodes that depend only on constants, with the portable kernels in their one fixed order.
//   before: const w; t = permute(w, [1, 0]); y = mm(x, t)          after: const t; y = mm(x, t)
// Ensures: no node with static sizes, a kernel and only constant operands remains. Exceptions are nodes that
// - grow the program too much for the time they save (FoldOptions), or cost too much (Limits::folding_..);
// - have a kernel that refuses them;
// - only dequantize, with or without data movement behind that;
// - draw random numbers, have an effect or have sizes that depend on values.
// Keeps: every value, bit for bit as the baseline kernels compute it. Views of constants share their bytes.
Result<Changed> fold_constants(Graph& graph, const FoldOptions& options, const ReleaseFn& release) {
  return for_each_graph(graph, [&](Graph& g) { return ConstantFolder(g, options, release).run(); });
}

}  // namespace wick::compiler
