#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "backends/xnnpack/compile/passes/match/norms.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Binary;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Ints;
using compiler::LayerChange;
using compiler::LinearLayer;
using compiler::NewWeights;
using compiler::Node;
using compiler::Result;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

constexpr size_t kMaxCenteredBytes = size_t{1} << 20;

bool is_mean(const Node& node) {
  return (node.is("aten.mean.dim") || node.is("aten.sum.dim_IntList")) && !node.is_none("dim") &&
         node.result()->dtype() == moved(node)->dtype();
}

// For each dim of the operand, whether it is reduced.
std::vector<bool> reduced_dims(const Node& mean) {
  const size_t rank = moved(mean)->rank();
  std::vector<bool> out(rank);
  for (int64_t dim : mean.static_ints("dim")) out[static_cast<size_t>(wrap_dim(dim, rank))] = true;
  return out;
}

std::optional<size_t> dim_after_mean(const Node& mean, size_t dim) {
  const std::vector<bool> reduced = reduced_dims(mean);
  if (reduced[dim]) return std::nullopt;
  const auto gone = std::count(reduced.begin(), reduced.begin() + static_cast<ptrdiff_t>(dim), true);
  return mean.boolean("keepdim") ? dim : dim - static_cast<size_t>(gone);
}

std::optional<size_t> dim_before_mean(const Node& mean, size_t dim) {
  for (size_t before = 0; before < moved(mean)->rank(); ++before) {
    if (dim_after_mean(mean, before) == dim) return before;
  }
  return std::nullopt;
}

size_t dim_of_cat(const Node& cat) {
  return static_cast<size_t>(wrap_dim(cat.static_integer("dim"), cat.result()->rank()));
}

// Whether the operand adds or multiplies the same number to all channels.
bool is_same_for_channels(const Arg& arg, const Value& result, size_t dim) {
  if (!arg.is<Value*>()) return true;
  const Value* value = arg.as<Value*>();
  if (!value->type.is_tensor()) return true;
  const size_t missing = result.rank() - value->rank();
  return dim < missing || value->sizes()[dim - missing].is(1);
}

// The stream that one layer norm belongs to: all values that must become centred together, each over one of its dims.
class Stream {
 public:
  explicit Stream(Graph& graph) : graph_(graph) {}

  void grow(const Norm& norm) {
    join(norm.input, norm.input->rank() - 1);
    while (!open_.empty()) {
      Value* value = open_.back();
      open_.pop_back();
      const size_t dim = dims_.at(value);
      backward(value, dim);
      forward(value, dim);
    }
  }

  const std::vector<Value*>& values() const { return order_; }
  const std::vector<Node*>& norms() const { return norms_; }

  bool centre() {
    if (blocked_ || norms_.empty() || !plan()) return false;
    for (auto& [layer, weights] : layers_) set_weights(graph_, layer, std::move(weights));
    for (const auto& [from, to] : centred_) replace_constant(*from, to);
    for (Value* root : roots_) centre_at_run_time(root);
    for (Value* value : order_) {
      if (std::find(roots_.begin(), roots_.end(), value) == roots_.end()) value->forget();
    }
    for (Node* norm : norms_) change_norm(*norm);
    return true;
  }

 private:
  void join(Value* value, size_t dim) {
    const auto [it, fresh] = dims_.try_emplace(value, dim);
    if (it->second != dim || !value->sizes()[dim].is_const() || value->sizes()[dim].is(0)) blocked_ = true;
    if (!fresh) return;
    order_.push_back(value);
    open_.push_back(value);
  }

  // --- what makes a value of the stream ---

  void backward(Value* value, size_t dim) {
    if (value->is_constant()) {
      if (!has_reals(value)) blocked_ = true;
      constants_.push_back(value);
      return;
    }
    Node* node = value->producer;
    if (!node || !passes_on(*node, value, dim)) roots_.push_back(value);
  }

  // True if the value is centred by centring what its node reads.
  bool passes_on(Node& node, Value* value, size_t dim) {
    if (moves_data(node)) {
      const auto before = dim_before(node, dim);
      if (before) join(moved(node), *before);
      return before.has_value();
    }
    if (const auto layer = match_linear_layer(node)) {
      if (layer->output_dim != dim || layer->groups != 1) return false;
      layers_.emplace_back(*layer, NewWeights{});
      return true;
    }
    if (is_add_or_sub(node)) return join_operands(node, *value, dim);
    if (scaled_operand(node, *value, dim)) {
      join(scaled_operand(node, *value, dim), dim);
      return true;
    }
    if (node.is("aten.cat.default")) {
      if (dim_of_cat(node) == dim) return false;
      for (const Value* part : node.tensors("tensors")) {
        if (part->rank() != value->rank()) return false;
      }
      for (Value* part : node.tensors("tensors")) join(part, dim);
      return true;
    }
    if (is_mean(node)) {
      const auto before = dim_before_mean(node, dim);
      if (before) join(moved(node), *before);
      return before.has_value();
    }
    if (is_centred_already(node, *value, dim)) return true;
    if (node.is("aten.embedding.default") && dim + 1 == value->rank()) {
      const Value* weight = node.tensor("weight");
      if (!has_reals(weight) || (weight->num_uses() > 1 && weight->data.size_bytes() > kMaxCenteredBytes)) return false;
      embeddings_.push_back(&node);
      return true;
    }
    return false;
  }

  bool join_operands(const Node& node, const Value& result, size_t dim) {
    for (size_t i = 0; i < 2; ++i) {
      const Value* operand = node.tensor_or_null(i);
      if (!operand || operand->dtype() != result.dtype() || is_same_for_channels(node.arg(i), result, dim))
        return false;
    }
    for (size_t i = 0; i < 2; ++i) {
      Value* operand = node.arg(i).as<Value*>();
      join(operand, dim + operand->rank() - result.rank());
    }
    return true;
  }

  // x of x * s or x / s, where s is one number for all channels.
  static Value* scaled_operand(const Node& node, const Value& result, size_t dim) {
    const bool mul = node.is(Binary::mul);
    if (!mul && !node.is(Binary::div)) return nullptr;
    for (size_t side = 0; side < (mul && node.tensor_or_null(1) ? 2u : 1u); ++side) {
      Value* x = node.tensor_or_null(side);
      if (!x) continue;
      if (x->rank() == result.rank() && x->type == result.type && is_same_for_channels(node.arg(1 - side), result, dim))
        return x;
    }
    return nullptr;
  }

  // x - mean(x), or a layer norm without scale and shift.
  static bool is_centred_already(Node& node, const Value& value, size_t dim) {
    const auto norm = match_norm(node);
    if (norm) return norm->centres && !norm->weight && !norm->bias && dim + 1 == value.rank();
    if (!node.is("aten.sub.Tensor") || node.arg(2).is<Value*>() || node.real("alpha") != 1) return false;
    const Value* subtrahend = node.tensor_or_null(1);
    const Node* mean = subtrahend ? subtrahend->producer : nullptr;
    return mean && mean->is("aten.mean.dim") && moved(*mean) == moved(node) && mean->boolean("keepdim") &&
           mean->static_ints("dim") == std::vector<int64_t>{static_cast<int64_t>(dim)};
  }

  // --- what reads it ---

  void forward(Value* value, size_t dim) {
    // If a constant has other readers, they keep the old one.
    if (value->is_constant()) return;
    if (value->num_uses() != value->users().size()) blocked_ = true;
    const std::vector<Node*> users = value->users();
    for (Node* user : users) {
      if (!reads_centred(*user, value, dim)) blocked_ = true;
    }
  }

  bool reads_centred(Node& node, Value* value, size_t dim) {
    if (const auto norm = match_norm(node)) {
      if (norm->input != value || !norm->centres || dim + 1 != value->rank()) return false;
      if (std::find(norms_.begin(), norms_.end(), &node) == norms_.end()) norms_.push_back(&node);
      return true;
    }
    Value* result = node.results().empty() ? nullptr : node.result();
    if (moves_data(node)) {
      const auto after = dim_after(node, dim);
      if (after) join(result, *after);
      return after.has_value();
    }
    if (is_add_or_sub(node)) {
      const size_t after = dim + result->rank() - value->rank();
      if (result->dtype() != value->dtype() || !(result->sizes()[after] == value->sizes()[dim])) return false;
      for (size_t i = 0; i < 2; ++i) {
        if (is_same_for_channels(node.arg(i), *result, after)) return false;
      }
      join(result, after);
      return true;
    }
    if (result && scaled_operand(node, *result, dim) == value) {
      join(result, dim);
      return true;
    }
    if (is_mean(node)) {
      const auto after = dim_after_mean(node, dim);
      if (after) join(result, *after);
      return after.has_value();
    }
    if (node.is("aten.cat.default") && dim_of_cat(node) != dim) {
      join(result, dim);
      return true;
    }
    return false;
  }

  // --- the change ---

  // A root is centred at run time by a mean and a subtraction, which is what each layer norm saves. If only one view or
  // one sum with constants reads a root, the result is centred instead, together with the other terms.
  bool plan() {
    for (bool again = true; again;) {
      again = false;
      for (size_t i = 0; i < roots_.size() && !again; ++i) again = lift(i);
    }
    if (roots_.size() >= norms_.size() && !roots_.empty()) return false;
    for (Value* constant : constants_) {
      if (!plan_constant(constant, dims_.at(constant))) return false;
    }
    for (Node* node : embeddings_) {
      if (!plan_constant(node->tensor("weight"), 1)) return false;
    }
    for (auto& [layer, weights] : layers_) {
      LayerChange change;
      change.centred = true;
      auto changed = changed_weights(layer, change);
      if (!changed) return false;
      weights = std::move(*changed);
    }
    return std::all_of(norms_.begin(), norms_.end(), [](const Node* norm) {
      const DType dtype = norm->result()->dtype();
      return dtype == DType::f32 || dtype == DType::f64;
    });
  }

  bool lift(size_t index) {
    Value* root = roots_[index];
    Node* reader = only_reader(*root);
    if (!reader || reader->results().empty() || !dims_.count(reader->result())) return false;
    if (is_add_or_sub(*reader)) {
      // With a constant or another root: the sum is centred, so they need not be.
      Value* other = reader->tensor_or_null(reader->tensor_or_null(0) == root ? 1 : 0);
      const bool root_too = other && other != root && only_reader(*other) &&
                            std::find(roots_.begin(), roots_.end(), other) != roots_.end();
      if (!other || (!root_too && !other->is_constant())) return false;
      if (root_too) std::erase(roots_, other);
      if (other->is_constant() && only_reader(*other)) std::erase(constants_, other);
    } else if (!moves_data(*reader)) {
      return false;
    }
    std::replace(roots_.begin(), roots_.end(), root, reader->result());
    return true;
  }

  void replace_constant(const Value& from, Value* to) {
    std::vector<Node*> readers = from.users();  // which changes below
    for (Node* reader : readers) {
      const bool summed = !reader->results().empty() && dims_.count(reader->result()) && !match_linear_layer(*reader);
      if (summed) replace_operand(*reader, &from, to);
    }
  }

  void replace_operand(Node& node, const Value* from, Value* to) {
    for (size_t i = 0; i < node.args().size(); ++i) {
      if (node.arg(i).is<Value*>() && node.arg(i).as<Value*>() == from) graph_.set_arg(&node, i, to);
      if (!node.arg(i).is<Values>()) continue;
      Values list = node.arg(i).as<Values>();
      std::replace(list.begin(), list.end(), const_cast<Value*>(from), to);
      graph_.set_arg(&node, i, list);
    }
  }

  bool plan_constant(Value* constant, size_t dim) {
    Value* centred = centred_constant(graph_, constant->users().front(), *constant, dim);
    if (centred) centred_.emplace_back(constant, centred);
    return centred != nullptr;
  }

  void centre_at_run_time(Value* root) {
    const auto& nodes = graph_.nodes();
    auto at = nodes.begin();
    while (root->producer && at != nodes.end() && at->get() != root->producer) ++at;
    if (root->producer) ++at;
    Builder b(graph_, at == nodes.end() ? nullptr : at->get(), root->producer ? root->producer->origin : nullptr);
    Value* mean = b.call("aten.mean.dim", {root, Ints{static_cast<int64_t>(dims_.at(root))}, true});
    Value* centred = b.call("aten.sub.Tensor", {root, mean});
    graph_.redirect(root, centred);
    graph_.set_arg(mean->producer, 0, root);
    graph_.set_arg(centred->producer, 0, root);
  }

  void change_norm(Node& node) {
    Builder b(graph_, &node);
    Value* out = b.call("aten.rms_norm.default",
                        {node.arg("input"), node.arg("normalized_shape"), node.arg("weight"), node.arg("eps")});
    if (Value* bias = node.optional_tensor("bias")) out = b.call("aten.add.Tensor", {out, bias});
    for (Node* made : b.made()) made->more_origins = node.more_origins;
    graph_.replace(node.result(), out);
    graph_.erase(&node);
  }

  Graph& graph_;
  std::unordered_map<const Value*, size_t> dims_;  // where the channels are
  std::vector<Value*> order_, open_;
  bool blocked_ = false;
  std::vector<std::pair<LinearLayer, NewWeights>> layers_;
  std::vector<Value*> constants_;
  std::vector<Node*> embeddings_;
  std::vector<std::pair<Value*, Value*>> centred_;
  std::vector<Value*> roots_;  // nothing in front of them can be centred
  std::vector<Node*> norms_;
};

}  // namespace

// Makes the residual stream of a network zero-mean, so that its layer norms need no mean.
//   before: x = linear(p, w, b); y = x + linear(q, v, c); n = layer_norm(x); m = layer_norm(y)
//   after:  the same linears with w, b, v and c minus their mean over the output channels; n = rms_norm(x); ..
// The stream consists of the values reachable from the input of a layer norm over the last dimension through additions,
// views, concatenations, means over other dimensions and multiplications by one number for all channels.
// - Each reader must be such an operator or a layer norm. A view that merges the channels with another dimension is
//   not: a norm after it sees how the means of its parts differ.
// - Producers are linear, mm, addmm, convolution without groups, embedding and constants. Other producers are centred
//   at run time (mean, subtraction), if there are fewer of them than layer norms.
// Requires: constants are folded; fold_norm_affine has run (a remaining shift becomes an addition).
// Ensures: no layer norm reads such a stream.
// Keeps: values up to rounding, for f32 and f64; f16 and bf16 are left alone. Where x is infinite the stream is NaN, as
// its layer norm was.
Result<Changed> center_residual(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) {
    Changed changed = Changed::no;
    std::vector<Node*> norms;
    for (const auto& node : g.nodes()) {
      const auto norm = match_norm(*node);
      if (norm && norm->centres) norms.push_back(node.get());
    }
    std::unordered_set<const Value*> seen;
    std::unordered_set<const Node*> gone;
    for (Node* node : norms) {
      if (gone.count(node)) continue;
      const Norm norm = *match_norm(*node);
      if (seen.count(norm.input)) continue;
      Stream stream(g);
      stream.grow(norm);
      seen.insert(stream.values().begin(), stream.values().end());
      if (!stream.centre()) continue;
      gone.insert(stream.norms().begin(), stream.norms().end());
      changed = Changed::yes;
    }
    return changed;
  });
}

}  // namespace wick::xnnpack
