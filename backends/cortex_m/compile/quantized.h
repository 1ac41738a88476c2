// What rules and rewrites read of quantized values. C++20.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cortex_m/compile/refusal.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/quantization.h"

namespace wick::cortex_m {

/// Elements of int8 (or int16) with one scale and one zero point: number = (element - zero) * scale.
struct Affine {
  double scale = 1;
  int32_t zero = 0;
  int32_t min = -128, max = 127;  // elements that a kernel may write; activations narrow the range

  friend bool operator==(const Affine&, const Affine&) = default;
};

/// No number among the arguments (a factor, a fill value) is known only at run time.
bool has_known_scalars(const compiler::Node& node);
/// A tensor all of whose sizes are known, but perhaps the first one: the batch.
bool is_known_but_batch(const compiler::Value& value);

/// Why the elements are not int8 of f32 numbers with one scale and one zero point known at compile time, or "".
/// `what`: "the input".
Refusal refuse_int8(const compiler::Value& value, std::string_view what);
/// Why an operand that is a tensor is not quantized at all, or nothing.
Refusal refuse_floats(const compiler::Node& node);
/// The same of all operands that are tensors and of the results.
Refusal refuse_int8(const compiler::Node& node);
/// The same for int16, whose zero point must be 0.
Refusal refuse_int16(const compiler::Value& value, std::string_view what);
/// The same for either of the two.
Refusal refuse_elements(const compiler::Value& value, std::string_view what);
/// Whether these find no reason.
bool is_int8(const compiler::Value& value);
bool is_int16(const compiler::Value& value);
bool has_elements(const compiler::Value& value);
/// The node of numbers that no quantizer annotated. Null: it is none's.
compiler::Node* float_maker(const compiler::Arg& arg);
/// The same of numbers before they are expanded.
compiler::Node* float_maker_before_expand(const compiler::Arg& arg);
/// Of a value that refuse_int8 or refuse_int16 takes.
Affine affine(const compiler::Value& value);
/// The type with elements of int16 on this scale, within this range. Their zero point is 0.
compiler::TensorType as_int16(compiler::TensorType type, const Affine& q);
compiler::TensorType as_int16(compiler::TensorType type, double scale);
/// The numbers of int8 elements as int16 ones, with `finer` steps (128 at most) for each of theirs.
Affine spread(const Affine& int8, int finer);
/// The same scale and zero point, whatever the range.
bool same_numbers(const Affine& a, const Affine& b);
/// The element that stands for a number, in the f32 arithmetic of quantize_per_tensor. NaN becomes the zero point.
int32_t quantize(double number, const Affine& q);

/// The numbers that the elements of a constant stand for; its elements if it is not quantized.
std::vector<double> numbers(const compiler::Value& constant);
/// The same of channel `c` of `channel_dim()`, or of the tensor: scale and zero point.
double scale_of(const compiler::Quantization& quantization, size_t c);
double zero_of(const compiler::Quantization& quantization, size_t c);

/// A constant of these elements.
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<int8_t> elements,
                          std::string_view name);
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<uint8_t> elements,
                          std::string_view name);
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<int32_t> elements,
                          std::string_view name);
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<int64_t> elements,
                          std::string_view name);

}  // namespace wick::cortex_m
