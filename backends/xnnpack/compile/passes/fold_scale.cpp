#include <algorithm>
#include <unordered_set>

#include "backends/xnnpack/compile/passes/match/norms.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Binary;
using compiler::Builder;
using compiler::Changed;
using compiler::Gemm;
using compiler::Graph;
using compiler::keep_digits;
using compiler::LayerChange;
using compiler::LinearLayer;
using compiler::NewWeights;
using compiler::Node;
using compiler::Reals64;
using compiler::Result;
using compiler::rounded;
using compiler::Sym;
using compiler::Value;

namespace {

constexpr int kMaxDepthOfScale = 32;

bool is_scaling(const Node& node) { return node.is(Binary::mul) || node.is(Binary::div); }

// x * c or x / c, where c is a constant that leaves the type of x as it is.
struct Scaling {
  Node* node = nullptr;
  Value* x = nullptr;
  Arg factor;
  bool divides = false;
};

std::optional<Scaling> match_scaling(Node& node) {
  if (!is_scaling(node)) return std::nullopt;
  const bool divides = node.is(Binary::div);
  for (size_t side = 0; side < (node.is("aten.mul.Tensor") ? 2u : 1u); ++side) {
    const Arg& factor = node.arg(1 - side);
    if (!node.arg(side).is<Value*>() || !node.arg(side).as<Value*>()->type.is_tensor()) continue;
    Value* x = node.arg(side).as<Value*>();
    const bool constant =
        factor.is<Value*>() ? has_reals(factor.as<Value*>()) : factor_of(factor, x->dtype()).has_value();
    if (constant && !x->is_constant() && is_floating(x->dtype()) && x->type == node.result()->type)
      return Scaling{&node, x, factor, divides};
  }
  return std::nullopt;
}

Reals64 inverted(Reals64 values, bool invert) {
  if (invert) {
    for (double& value : values) value = 1 / value;
  }
  return values;
}

// The one number in the factor.
std::optional<double> scalar_factor(const Scaling& scaling) {
  const auto element = factor_of(scaling.factor, scaling.x->dtype());
  if (!element || !element->floating) return std::nullopt;
  return scaling.divides ? 1 / element->real : element->real;
}

// One planned fold: matmuls with new weights, and norms and constants with new numbers.
class ScalePlan {
 public:
  explicit ScalePlan(Graph& graph) : graph_(graph) {}

  bool scale_outputs(const LinearLayer& layer, Reals64 scale) {
    LayerChange change;
    change.output_scale = std::move(scale);
    return add(layer, change);
  }
  bool scale_inputs(const LinearLayer& layer, Reals64 scale) {
    LayerChange change;
    change.input_scale = std::move(scale);
    return add(layer, change);
  }
  // The scale and shift of a norm that has a constant scale, or a shift only.
  bool scale_norm(const Norm& norm, const Reals64& scale) {
    if (!norm.weight || !has_reals(norm.weight) || (norm.bias && !has_reals(norm.bias))) return false;
    if (!keep_digits(scale, norm.weight->dtype(), norm.weight->data)) return false;
    for (const char* name : {"weight", "bias"}) {
      Value* old = name == std::string_view("weight") ? norm.weight : norm.bias;
      if (!old) continue;
      Reals64 values = reals_of(*old);
      for (size_t i = 0; i < values.size(); ++i) values[i] *= scale[i];
      auto bytes = rounded(values, old->dtype());
      if (!bytes) return false;
      args_.push_back({norm.node, static_cast<size_t>(norm.node->op->parsed->find(name)), old, std::move(*bytes)});
    }
    return true;
  }
  // A constant operand, for this reader.
  bool scale_constant(Node& reader, size_t index, double scale) {
    Value* old = reader.arg(index).as<Value*>();
    if (!has_reals(old)) return false;
    Reals64 values = reals_of(*old);
    for (double& value : values) value *= scale;
    auto bytes = rounded(values, old->dtype());
    if (bytes) args_.push_back({&reader, index, old, std::move(*bytes)});
    return bytes.has_value();
  }

  void apply() {
    for (auto& [layer, weights] : layers_) set_weights(graph_, layer, std::move(weights));
    for (auto& arg : args_) {
      Builder b(graph_, arg.node);
      graph_.set_arg(arg.node, arg.index, b.constant(arg.old->tensor(), std::move(arg.bytes), arg.old->name));
    }
  }

 private:
  struct NewArg {
    Node* node;
    size_t index;
    Value* old;
    std::vector<uint8_t> bytes;
  };

  bool add(const LinearLayer& layer, const LayerChange& change) {
    for (const Reals64* scale : {&change.input_scale, &change.output_scale}) {
      if (!keep_digits(*scale, layer.weight()->dtype(), layer.weight()->data)) return false;
    }
    auto weights = changed_weights(layer, change);
    if (weights) layers_.emplace_back(layer, std::move(*weights));
    return weights.has_value();
  }

  Graph& graph_;
  std::vector<std::pair<LinearLayer, NewWeights>> layers_;
  std::vector<NewArg> args_;
};

// --- one number for all elements: into the producer of x, through everything that is linear ---

// All nodes between the matmuls and x. Nothing outside reads any of them.
class Region {
 public:
  // `side`: which operand of a product of two values takes the factor, if both could.
  Region(ScalePlan& plan, const Scaling& scaling, double scale, size_t side)
      : plan_(plan), root_(scaling.node), scale_(scale), side_(side) {}

  bool grow(Value* x) {
    open_.push_back(x);
    while (!open_.empty()) {
      Value* value = open_.back();
      open_.pop_back();
      if (!values_.insert(value).second) continue;
      order_.push_back(value);
      if (order_.size() > kMaxValues || !value->producer || !passes_on(*value->producer)) return false;
    }
    const auto scaled_twice = [&](const Value* value) { return values_.count(value) != 0; };
    if (std::any_of(beside_.begin(), beside_.end(), scaled_twice)) return false;
    return layers_ != 0 && std::all_of(order_.begin(), order_.end(), [&](const Value* v) { return is_private(*v); });
  }
  const std::vector<Value*>& values() const { return order_; }

 private:
  static constexpr size_t kMaxValues = 64;

  bool is_private(const Value& value) const {
    if (value.num_uses() != value.users().size()) return false;
    return std::all_of(value.users().begin(), value.users().end(), [&](const Node* user) {
      return user == root_ || (!user->results().empty() && values_.count(user->result()));
    });
  }

  bool operand(Node& node, size_t index) {
    Value* value = node.tensor_or_null(index);
    if (!value) return false;
    if (value->is_constant()) return plan_.scale_constant(node, index, scale_);
    if (!is_floating(value->dtype())) return false;
    open_.push_back(value);
    return true;
  }

  bool passes_on(Node& node) {
    if (const auto layer = match_linear_layer(node)) {
      ++layers_;
      beside_.push_back(layer->input());  // its weights are scaled, what it reads must not be
      return plan_.scale_outputs(*layer, Reals64(layer->outputs, scale_));
    }
    if (const auto norm = match_norm(node); norm && norm->weight) {
      ++layers_;
      beside_.push_back(moved(node));
      return plan_.scale_norm(*norm, Reals64(norm->channels, scale_));
    }
    if (moves_data(node) || node.is("aten.neg.default")) return operand(node, 0);
    const Gemm& gemm = node.op->facts.gemm;
    if (gemm && gemm.term < 0) return one_side(node);
    if (is_scaling(node) && node.tensor_or_null(1)) return node.is(Binary::mul) && one_side(node);
    if (is_add_or_sub(node)) return !node.arg(2).is<Value*>() && operand(node, 0) && operand(node, 1);
    if (node.is("aten.cat.default")) {
      for (Value* part : node.tensors("tensors")) {
        if (part->is_constant()) return false;
        open_.push_back(part);
      }
      return true;
    }
    return is_scaling(node) && operand(node, 0);
  }

  // Either operand of a product of two values is possible. Prefers one that leads to constant weights.
  bool one_side(Node& node) {
    for (size_t side : {side_, 1 - side_}) {
      Value *value = node.tensor_or_null(side), *other = node.tensor_or_null(1 - side);
      if (!value || !other || value->is_constant() || !leads_to_layer(value, 0)) continue;
      beside_.push_back(other);
      return operand(node, side);
    }
    return false;
  }

  // A look ahead along first operands.
  static bool leads_to_layer(const Value* value, int depth) {
    if (depth > kMaxDepthOfScale || !value->producer) return false;
    Node& node = *value->producer;
    if (match_linear_layer(node)) return true;
    const bool first = moves_data(node) || is_scaling(node) || is_add_or_sub(node) || node.is("aten.neg.default");
    if (node.is("aten.cat.default")) return leads_to_layer(node.tensors("tensors")[0], depth + 1);
    return first && node.arg(size_t{0}).is<Value*>() && leads_to_layer(node.arg(size_t{0}).as<Value*>(), depth + 1);
  }

  ScalePlan& plan_;
  const Node* root_;
  const double scale_;
  const size_t side_;
  size_t layers_ = 0;
  std::vector<const Value*> beside_;  // other operands: they must not be scaled too
  std::unordered_set<const Value*> values_;
  std::vector<Value*> order_, open_;
};

bool fold_number(Graph& graph, const Scaling& scaling) {
  const auto scale = scalar_factor(scaling);
  if (!scale || !keep_digits({*scale}, scaling.x->dtype())) return false;
  for (size_t side : {size_t{0}, size_t{1}}) {
    ScalePlan plan(graph);
    Region region(plan, scaling, *scale, side);
    if (!region.grow(scaling.x)) continue;
    plan.apply();
    for (Value* value : region.values()) value->forget();
    return true;
  }
  return false;
}

// --- one number per channel: into the preceding matmul or norm, through data-movement operators ---

bool fold_backward(Graph& graph, const Scaling& scaling, size_t dim) {
  const Sym size = scaling.x->sizes()[dim];
  if (!size.is_const()) return false;
  const auto channels = static_cast<size_t>(size.value());
  auto scale = per_channel(scaling.factor, scaling.x->dtype(), scaling.x->rank(), dim, channels);
  if (!scale) return false;
  *scale = inverted(std::move(*scale), scaling.divides);
  if (!keep_digits(*scale, scaling.x->dtype())) return false;
  ScalePlan plan(graph);
  Value* value = scaling.x;
  std::vector<Value*> between;
  const auto apply = [&] {
    plan.apply();
    for (Value* changed : between) changed->forget();
    return true;
  };
  for (int depth = 0; depth < kMaxDepthOfScale && value->producer && only_reader(*value); ++depth) {
    Node& node = *value->producer;
    between.push_back(value);
    if (const auto layer = match_linear_layer(node)) {
      if (layer->output_dim != dim || layer->outputs != channels || !plan.scale_outputs(*layer, *scale)) return false;
      return apply();
    }
    if (const auto norm = match_norm(node)) {
      if (dim + 1 != value->rank() || !plan.scale_norm(*norm, *scale)) return false;
      return apply();
    }
    if (node.is("aten.neg.default")) {
      value = moved(node);
      continue;
    }
    const auto before = moves_data(node) ? dim_before(node, dim) : std::nullopt;
    if (!before) return false;
    dim = *before;
    value = moved(node);
  }
  return false;
}

// --- into all following matmuls ---

bool scale_readers(ScalePlan& plan, const Value& value, size_t dim, const Reals64& scale, int depth) {
  if (depth > kMaxDepthOfScale || value.num_uses() == 0 || value.num_uses() != value.users().size()) return false;
  for (Node* reader : value.users()) {
    if (moves_data(*reader)) {
      const auto after = dim_after(*reader, dim);
      if (!after || !scale_readers(plan, *reader->result(), *after, scale, depth + 1)) return false;
      continue;
    }
    const auto layer = match_linear_layer(*reader);
    if (!layer || layer->input() != &value || layer->input_dim != dim || layer->inputs != scale.size() ||
        layer->bias() == &value || !plan.scale_inputs(*layer, scale))
      return false;
  }
  return true;
}

bool fold_forward(Graph& graph, const Scaling& scaling, size_t dim) {
  const Sym size = scaling.x->sizes()[dim];
  if (!size.is_const()) return false;
  const auto channels = static_cast<size_t>(size.value());
  auto scale = per_channel(scaling.factor, scaling.x->dtype(), scaling.x->rank(), dim, channels);
  if (!scale) return false;
  *scale = inverted(std::move(*scale), scaling.divides);
  if (!keep_digits(*scale, scaling.x->dtype())) return false;
  ScalePlan plan(graph);
  if (!scale_readers(plan, *scaling.node->result(), dim, *scale, 0)) return false;
  plan.apply();
  forget_moved(*scaling.node->result());
  return true;
}

bool fold_scales(Graph& graph, const Scaling& scaling) {
  if (fold_number(graph, scaling)) return true;
  for (size_t dim = scaling.x->rank(); dim-- > 0;) {
    if (fold_backward(graph, scaling, dim) || fold_forward(graph, scaling, dim)) return true;
  }
  return false;
}

}  // namespace

// Folds multiplication and division by constants into constant weights.
//   before: q = linear(x, w, b); p = permute(view(q)); s = mul(p, 0.125)
//   after:  q = linear(x, w * 0.125, b * 0.125); s = permute(view(q))
// - One number for all elements goes to the preceding linear, mm, addmm, convolution or norm scale. It passes through
//   views, negations, additions and concatenations (constants in additions are scaled too), multiplications by tables,
//   and either operand of a matmul, if nothing else reads the values in between.
// - One number per channel passes through views. If all readers are such matmuls, it goes into their weights instead.
// Factors that would take digits from the weights stay (keep_digits).
// Requires: constants are folded.  Ensures: no other such scaling remains.
// Keeps: values up to rounding (in double, rounded once), if nothing in between overflows with one factor but not with
// the other.
Result<Changed> fold_scale(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) {
    Changed changed = Changed::no;
    for (auto it = g.nodes().begin(); it != g.nodes().end();) {
      Node& node = **it++;
      const auto scaling = match_scaling(node);
      if (!scaling || node.result()->num_uses() == 0 || !fold_scales(g, *scaling)) continue;
      if (scaling->x->producer) add_origins(*scaling->x->producer, node);
      g.replace(node.result(), scaling->x);
      g.erase(&node);
      changed = Changed::yes;
    }
    return changed;
  });
}

}  // namespace wick::xnnpack
