// How rules and rewrites read quantized values. C++20.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cortex_m/compile/refusal.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/quantization.h"

namespace wick::cortex_m {

/// int8 or int16 elements with one scale and one zero point: number = (element - zero) * scale.
struct Affine {
  double scale = 1;
  int32_t zero = 0;
  int32_t min = -128, max = 127;  // range that a kernel may write; activations narrow it

  friend bool operator==(const Affine&, const Affine&) = default;
};

/// Whether all scalar arguments (a factor, a fill value) are known at compile time.
bool has_known_scalars(const compiler::Node& node);
/// Whether the value is a tensor all of whose sizes are known, with the possible exception of the first one, the batch.
bool is_known_but_batch(const compiler::Value& value);

/// Why the elements are not int8 of f32 numbers with one scale and one zero point known at compile time, or "".
/// `what`: "the input".
Refusal refuse_int8(const compiler::Value& value, std::string_view what);
/// Why a tensor operand that is not quantized is refused, or an empty refusal.
Refusal refuse_floats(const compiler::Node& node);
/// The same for all tensor operands and the results.
Refusal refuse_int8(const compiler::Node& node);
/// The same for int16, whose zero point must be 0.
Refusal refuse_int16(const compiler::Value& value, std::string_view what);
/// The same for int8 or int16.
Refusal refuse_elements(const compiler::Value& value, std::string_view what);
/// Whether the refusal above is empty.
bool is_int8(const compiler::Value& value);
bool is_int16(const compiler::Value& value);
bool has_elements(const compiler::Value& value);
/// The node that computes the argument, which is not quantized. Null: there is none.
compiler::Node* float_maker(const compiler::Arg& arg);
/// The same, looking through an expand.
compiler::Node* float_maker_before_expand(const compiler::Arg& arg);
/// The scale, zero point and range. Requires: refuse_int8 or refuse_int16 takes the value.
Affine affine(const compiler::Value& value);
/// The type with int16 elements of this scale and range. Their zero point is 0.
compiler::TensorType as_int16(compiler::TensorType type, const Affine& q);
compiler::TensorType as_int16(compiler::TensorType type, double scale);
/// The scale of int8's numbers as int16, with `finer` steps (at most 128) for each step of int8.
Affine spread(const Affine& int8, int finer);
/// Whether scale and zero point are the same; ranges may differ.
bool same_numbers(const Affine& a, const Affine& b);
/// The element that stands for a number, in the f32 arithmetic of quantize_per_tensor. NaN becomes the zero point.
int32_t quantize(double number, const Affine& q);

/// The numbers that a constant's elements stand for, or its elements if it is not quantized. Empty: unknown dtype.
std::vector<double> numbers(const compiler::Value& constant);
/// The scale, or zero point, of channel `c` of `channel_dim()`; that of the tensor if there is no such dimension.
double scale_of(const compiler::Quantization& quantization, size_t c);
double zero_of(const compiler::Quantization& quantization, size_t c);

/// Adds a constant with these elements.
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<int8_t> elements,
                          std::string_view name);
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<uint8_t> elements,
                          std::string_view name);
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<int32_t> elements,
                          std::string_view name);
compiler::Value* constant(compiler::Builder& builder, compiler::Sizes sizes, std::vector<int64_t> elements,
                          std::string_view name);

}  // namespace wick::cortex_m
