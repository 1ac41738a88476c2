// Helpers that the families of rows share. C++20.
#pragma once
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>

#include "backends/xnnpack/compile/lower.h"
#include "compiler/ir/builder.h"

namespace wick::xnnpack {

/// A family's rows.
struct RuleFamily {
  const OpRule* rows;
  size_t count;
};
extern const RuleFamily kActivationRules, kConvolutionRules, kCurveRules, kLinearRules, kMovementRules,
    kNormalizationRules, kPointwiseRules, kQuantizedRules, kReductionRules, kWindowRules;

/// The reason for refusing a node whose sizes must be equal, if the compiler cannot prove that they are.
inline constexpr char kAgreeOnlyAtRunTime[] = "sizes whose equality is known only at run time";

/// For matmuls and convolutions: the weight is a constant, possibly quantized, and so is the bias.
compiler::Verdict constant_weights(const compiler::Node& node, const compiler::TargetContext& context);
/// The bias of a matmul or convolution, or kNoValue. On int8 it has the library's form.
uint32_t bias_of(Lowering& lowering, const compiler::Value* bias, DataType type);

/// [.., m, k] x [.., k, n]; the second may have its last two dimensions swapped in memory.
uint32_t batch_product(Lowering& lowering, uint32_t a, uint32_t b, bool swapped);

/// Mean over the middle dimensions of x [n, h, w, c], which keep size 1. Means of many elements are computed in two
/// steps: the library adds one element after the other, and its error grows with their number.
uint32_t image_mean(Lowering& lowering, uint32_t x);
/// Mean over the last dimension, which keeps size 1. Its size may be known only at run time if there are at most four.
uint32_t mean_of_rows(Lowering& lowering, uint32_t x);
/// Whether the node is a mean that becomes a matmul.
bool is_matrix_mean(const compiler::Node& node);

/// Argument `dim` innermost.
LayoutRule softmax_layout(const compiler::Node& node);

/// Why no tensor of these sizes is taken, or "".
std::string refuse_shape(const compiler::Value& value, Unknown unknown);
/// A number among the arguments, known at compile time; nothing for one that is read at run time or symbolic.
std::optional<double> number(const compiler::Node& node, std::string_view name);
/// Whether the number is subnormal as an f32 (not 0, below 2^-126 in magnitude): the library treats it as 0.
bool is_subnormal(double number);
/// Why the library may not multiply by this argument of an f32 node: a literal number or an element of a constant is
/// subnormal. "" if it may. The argument is a number or a tensor, which may be null.
std::string refuse_factor(const compiler::Node& node, const char* name);
/// Whether `fits` holds for each element of the constant, of f32 or f16.
bool all_elements(const compiler::Value& constant, const std::function<bool(float element)>& fits);
/// Whether the number is 0 or a normal number of f16, exactly.
bool is_half(double number);
/// The range of all finite numbers.
inline constexpr OutputRange kAllFinite = {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()};
/// Sets body(x) as the node's result, `x` being operand 0. A node of f16 is computed in f32: for kernels that lose
/// digits in f16, or treat zero or negative numbers wrongly there.
template <typename Body>
void lower_in_fp32(Lowering& lowering, const compiler::Node& node, uint32_t x, const Body& body) {
  const DataType type = lowering.type();
  if (type != DataType::fp16) return lowering.set_result(node, body(x));
  const uint32_t wide = lowering.as_type(x, DataType::fp32);
  lowering.set_result(node, lowering.as_type(body(wide), type));
}
/// `count` elements of dimension `at` of x, from `start` on.
uint32_t slice_dim(Lowering& lowering, uint32_t x, size_t at, int64_t start, int64_t count);
/// As slice_dim, every step-th element. With a step other than 1, the size of dimension `at` is known; if several
/// others are not, each element is a slice of its own.
uint32_t every_step(Lowering& lowering, uint32_t x, size_t at, int64_t start, int64_t step, int64_t count);
/// Sigmoid of `x`, which is operand 0 of the node or a part of it. Numbers that may exceed 1e26 are clamped first: the
/// library's kernels may make NaN of them.
uint32_t sigmoid(Lowering& lowering, const compiler::Node& node, uint32_t x);
bool has_plain_sigmoid(const compiler::Node& node, const compiler::ValueRange& numbers);
/// `x` within a range.
uint32_t clamped(Lowering& lowering, uint32_t x, OutputRange range);
/// [dims of the result]: as the payload holds them in `order`.
Sizes result_dims(const compiler::Node& node);

}  // namespace wick::xnnpack
