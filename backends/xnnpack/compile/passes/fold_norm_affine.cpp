#include <algorithm>

#include "backends/xnnpack/compile/passes/match/norms.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::LayerChange;
using compiler::LinearLayer;
using compiler::NewWeights;
using compiler::Node;
using compiler::None;
using compiler::Reals64;
using compiler::Result;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

constexpr int kMaxDepthOfNorm = 16;

// A norm over the last dimension with its own constant scale, shift or both.
struct Affine {
  Norm norm;
  Reals64 scale, shift;  // empty: none
};

std::optional<Affine> match_affine(Node& node) {
  const auto norm = match_norm(node);
  if (!norm || (!norm->weight && !norm->bias)) return std::nullopt;
  Affine out{*norm, {}, {}};
  if (norm->weight && !has_reals(norm->weight)) return std::nullopt;
  if (norm->bias && !has_reals(norm->bias)) return std::nullopt;
  if (norm->weight) out.scale = reals_of(*norm->weight);
  if (norm->bias) out.shift = reals_of(*norm->bias);
  return out;
}

bool all_equal(const Reals64& values, double wanted) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == wanted; });
}

class NormFolder {
 public:
  NormFolder(Graph& graph, Affine affine, Node* next) : graph_(graph), affine_(std::move(affine)), next_(next) {}

  bool run() {
    Value* result = affine_.norm.node->result();
    if (all_equal(affine_.scale, 1) && all_equal(affine_.shift, 0)) {
      strip(*affine_.norm.node);
      return true;
    }
    if (result->num_uses() != result->users().size()) return false;
    for (Node* reader : result->users()) {
      std::vector<LinearLayer> found;
      if (takes(*reader, *result, result->rank() - 1, 0, found))
        layers_.insert(layers_.end(), found.begin(), found.end());
      else
        others_.push_back(reader);
    }
    return !layers_.empty() && plan_others() && plan_layers() && apply();
  }

 private:
  // Whether the value, with the channels in `dim`, reaches only matmuls that can absorb the scale and shift.
  bool reaches_layers(const Value& value, size_t dim, int depth, std::vector<LinearLayer>& found) {
    if (value.num_uses() == 0 || value.num_uses() != value.users().size()) return false;
    return std::all_of(value.users().begin(), value.users().end(),
                       [&](Node* reader) { return takes(*reader, value, dim, depth, found); });
  }

  bool takes(Node& reader, const Value& value, size_t dim, int depth, std::vector<LinearLayer>& found) {
    if (depth > kMaxDepthOfNorm) return false;
    if (moves_data(reader)) {
      const auto after = dim_after(reader, dim);
      return after && reaches_layers(*reader.result(), *after, depth + 1, found);
    }
    if (reader.is("aten.cat.default")) {
      const auto cat_dim = static_cast<size_t>(wrap_dim(reader.static_integer("dim"), reader.result()->rank()));
      if (cat_dim == dim || !comes_from_norm(*reader.result(), dim, depth)) return false;
      return is_in(found, reader) || reaches_layers(*reader.result(), dim, depth + 1, found);
    }
    const auto layer = match_linear_layer(reader);
    if (!layer || layer->input() != &value || layer->input_dim != dim || layer->inputs != affine_.norm.channels ||
        (layer->padded && !affine_.shift.empty()))
      return false;
    if (layer->bias() == &value) return false;
    if (!is_in(found, reader)) found.push_back(*layer);
    return true;
  }

  static bool is_in(const std::vector<LinearLayer>& found, const Node& node) {
    return std::any_of(found.begin(), found.end(), [&](const LinearLayer& layer) { return layer.node == &node; });
  }

  // Whether the whole value comes from the norm's result, with its channels in `dim`.
  bool comes_from_norm(const Value& value, size_t dim, int depth) {
    if (&value == affine_.norm.node->result()) return dim + 1 == value.rank();
    if (depth > kMaxDepthOfNorm || !value.producer) return false;
    const Node& node = *value.producer;
    if (moves_data(node)) {
      const auto before = dim_before(node, dim);
      return before && comes_from_norm(*moved(node), *before, depth + 1);
    }
    if (!node.is("aten.cat.default")) return false;
    if (static_cast<size_t>(wrap_dim(node.static_integer("dim"), value.rank())) == dim) return false;
    const Values parts = node.tensors("tensors");
    return std::all_of(parts.begin(), parts.end(), [&](const Value* part) {
      return part && part->rank() == value.rank() && comes_from_norm(*part, dim, depth + 1);
    });
  }

  // Other readers get norm * scale. The shift goes to the bias of the value that is added, which saves a node.
  bool plan_others() {
    if (others_.empty()) return true;
    if (affine_.shift.empty()) return false;
    const Value* result = affine_.norm.node->result();
    for (Node* reader : others_) {
      if (!reader->is("aten.add.Tensor") || reader->real("alpha") != 1) return false;
      const Value* other = reader->tensor_or_null(reader->tensor_or_null(0) == result ? 1 : 0);
      const auto layer = !other || other == result ? std::nullopt : added_layer(*other, reader->result()->rank() - 1);
      if (!layer || other->sizes() != result->sizes() || reader->result()->type != result->type) return false;
      if (is_in(layers_, *layer->node) || is_in(added_, *layer->node)) return false;
      added_.push_back(*layer);
    }
    return true;
  }

  // The matmul whose result, after data movement, is all that `value` holds and that nothing else reads.
  std::optional<LinearLayer> added_layer(const Value& value, size_t dim) {
    const Value* at = &value;
    for (int i = 0; i < kMaxDepthOfNorm; ++i) {
      if (!at->producer || !only_reader(*at)) return std::nullopt;
      const auto layer = match_linear_layer(*at->producer);
      if (layer && layer->output_dim == dim && layer->outputs == affine_.norm.channels) return layer;
      if (!moves_data(*at->producer)) return std::nullopt;
      const auto before = dim_before(*at->producer, dim);
      if (!before) return std::nullopt;
      dim = *before;
      at = moved(*at->producer);
    }
    return std::nullopt;
  }

  bool plan_layers() {
    for (const LinearLayer& layer : layers_) {
      LayerChange change;
      change.input_scale = affine_.scale;
      change.input_shift = affine_.shift;
      if (!plan(layer, change)) return false;
    }
    for (const LinearLayer& layer : added_) {
      LayerChange change;
      change.output_shift = affine_.shift;
      if (!plan(layer, change)) return false;
    }
    return true;
  }

  bool plan(const LinearLayer& layer, const LayerChange& change) {
    auto weights = changed_weights(layer, change);
    if (!weights) return false;
    planned_.emplace_back(layer, std::move(*weights));
    return true;
  }

  bool apply() {
    Node& node = *affine_.norm.node;
    if (!others_.empty() && !affine_.scale.empty()) {
      Builder b(graph_, next_, node.origin);
      Value* scaled = b.call("aten.mul.Tensor", {node.result(), affine_.norm.weight});
      for (Node* reader : others_) {
        for (size_t i = 0; i < 2; ++i) {
          if (reader->tensor_or_null(i) == node.result()) graph_.set_arg(reader, i, scaled);
        }
      }
    }
    strip(node);
    forget_moved(*node.result());
    for (const LinearLayer& layer : added_) forget_moved(*layer.node->result());
    for (auto& [layer, weights] : planned_) set_weights(graph_, layer, std::move(weights));
    return true;
  }

  void strip(Node& node) {
    for (std::string_view name : {"weight", "bias"}) {
      const int index = node.op->parsed->find(name);
      if (index >= 0) graph_.set_arg(&node, static_cast<size_t>(index), None{});
    }
  }

  Graph& graph_;
  const Affine affine_;
  Node* next_;                       // the node after the norm
  std::vector<LinearLayer> layers_;  // that read the norm
  std::vector<Node*> others_;        // other readers
  std::vector<LinearLayer> added_;   // whose bias takes the shift for them
  std::vector<std::pair<LinearLayer, NewWeights>> planned_;
};

}  // namespace

// Folds the scale and shift of a norm over the last dimension into the matmuls that read it.
//   before: n = layer_norm(x, g, s); y = linear(n, w, b)      after: n = layer_norm(x); y = linear(n, w * g, b + w @ s)
// Readers are linear, mm, addmm and convolutions without padding, also after views, permutes, slices, expands and
// concatenations that keep the channels together. If an addition also reads the norm (a norm after the residual), it
// gets n * g, and s goes to the bias of the matmul that is added, if there is one.
// Requires: constants are folded.  Ensures: no norm with constant scale and shift is read only by such matmuls.
// Keeps: values up to rounding (computed in double, rounded once). Never makes more nodes, if scale and shift count as
// the multiplication and addition that they are. An infinite x, or one whose norm overflows, may give NaN instead of
// inf.
Result<Changed> fold_norm_affine(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) {
    Changed changed = Changed::no;
    for (auto it = g.nodes().begin(); it != g.nodes().end(); ++it) {
      auto affine = match_affine(**it);
      Node* next = std::next(it) == g.nodes().end() ? nullptr : std::next(it)->get();
      if (affine && NormFolder(g, std::move(*affine), next).run()) changed = Changed::yes;
    }
    return changed;
  });
}

}  // namespace wick::xnnpack
