// Matmuls and convolutions with constant weights that can absorb a scale or shift.
#pragma once
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/passes/constants/reals.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler {

/// The argument as one number for each of `channels` elements of dim `dim` of a result of rank `rank`. Nothing if it is
/// no constant or varies over other dims. A literal or a uniform constant counts.
std::optional<Reals64> per_channel(const Arg& arg, DType dtype, size_t rank, size_t dim, size_t channels);

/// y[.., o, ..] = sum over i (and taps of a kernel) of weight[o, i] * x[.., i, ..] + bias[o]: a linear, mm, addmm or
/// convolution whose weights, and bias if any, are floating constants.
struct LinearLayer {
  Node* node = nullptr;
  size_t input_index = 0, weight_index = 0;  // indices of arguments
  std::optional<size_t> bias_index;          // mm has none
  size_t inputs = 0, outputs = 0;            // channels
  size_t input_dim = 0, output_dim = 0;      // of x and y
  size_t groups = 1;
  size_t kernel = 1;         // taps in the kernel of a convolution
  bool input_first = false;  // weight is [inputs, outputs / groups, kernel], else [outputs, inputs / groups, kernel]
  bool padded = false;       // x has a border of zeros, so it cannot absorb a shift

  Value* input() const { return node->arg(input_index).as<Value*>(); }
  Value* weight() const { return node->arg(weight_index).as<Value*>(); }
  Value* bias() const;  // null: none
};

/// Empty for other nodes, and if a large weight has other readers, because both the old and the new weight would be
/// stored.
std::optional<LinearLayer> match_linear_layer(Node& node);

/// A change of what a matmul or convolution computes: (W (x * input_scale + input_shift) + b) * output_scale +
/// output_shift, minus its mean over the outputs if `centred`. Empty vectors change nothing.
struct LayerChange {
  Reals64 input_scale, input_shift, output_scale, output_shift;
  bool centred = false;
};

struct NewWeights {
  NewWeights();
  NewWeights(NewWeights&& other) noexcept;
  NewWeights& operator=(NewWeights&& other) noexcept;
  ~NewWeights();

  TensorType weight_type, bias_type;
  ConstantData weight, bias;
  bool has_bias = false;
  bool changes_result = false;  // false: the input changes, too, and the result stays the same
};

/// The weights after a change, computed in double and rounded once. Empty if one of them would not be finite.
std::optional<NewWeights> changed_weights(const LinearLayer& layer, const LayerChange& change);
/// The weights of the outputs [first, first + count) of a linear, mm or addmm. Shares the bytes if they are contiguous.
NewWeights weights_of_outputs(const LinearLayer& layer, size_t first, size_t count);
/// Gives the weights to the node. An mm that gets a bias becomes an addmm. The old bytes are dropped if nothing else
/// reads them.
void set_weights(Graph& graph, const LinearLayer& layer, NewWeights weights);
/// A new node before the given one, of the same kind and input, with other weights.
Value* layer_like(Graph& graph, const LinearLayer& layer, NewWeights weights);

/// A floating-point constant minus its mean over dim `dim`; null if that is not finite.
Value* centred_constant(Graph& graph, Node* before, const Value& constant, size_t dim);

}  // namespace wick::compiler
