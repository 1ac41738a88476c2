// Short spellings of primitives, for decompositions. Operands that are numbers keep eager's wrapped-number rules.
#pragma once
#include <string_view>
#include <vector>

#include "compiler/ops/rules.h"

namespace wick::compiler {

class Compose {
 public:
  explicit Compose(Builder& builder) : b(builder) {}
  Builder& b;

  Value* unary(std::string_view name, Value* x);
  /// Any operator: those without a shape function are decomposed at once.
  std::vector<Value*> call_multi(std::string_view name, Args args);
  Value* call(std::string_view name, Args args);
  // Binary: at least one operand is a tensor; a number takes the .Scalar overload.
  Value* add(Arg x, Arg y);
  Value* sub(Arg x, Arg y);
  Value* mul(Arg x, Arg y);
  Value* div(Arg x, Arg y);
  /// rounding: "floor" or "trunc".
  Value* div_mode(Value* x, Arg y, const char* rounding);
  Value* remainder(Value* x, Arg y);
  Value* compare(std::string_view name, Value* x, Arg y);  // "eq", "ne", "lt", "le", "gt", "ge"
  Value* maximum(Value* x, Arg y);
  Value* minimum(Value* x, Arg y);
  Value* clamp(Value* x, Arg low, Arg high);
  Value* neg(Value* x);
  Value* exp(Value* x);
  Value* log(Value* x);
  Value* sqrt(Value* x);
  Value* abs(Value* x);
  Value* sigmoid(Value* x);
  Value* tanh(Value* x);
  Value* square(Value* x);
  /// `x` clamped to the range from the smallest normal number to the largest number of its dtype, f32 or f64, so that
  /// other numbers may be divided by it.
  Value* as_divisor(Value* x);
  Value* logical_not(Value* x);
  Value* logical_and(Value* x, Value* y);
  Value* logical_or(Value* x, Value* y);
  /// Numbers become 0-d constants of the other operand's dtype, or of `dtype`.
  Value* where(Value* condition, Arg x, Arg y, std::optional<DType> dtype = std::nullopt);

  Value* sum(Value* x, const std::vector<int64_t>& dims, bool keepdim = false);
  Value* mean(Value* x, const std::vector<int64_t>& dims, bool keepdim = false);
  Value* amax(Value* x, const std::vector<int64_t>& dims, bool keepdim = false);
  Value* amin(Value* x, const std::vector<int64_t>& dims, bool keepdim = false);
  Value* any(Value* x, const std::vector<int64_t>& dims, bool keepdim = false);
  Value* softmax(Value* x, int64_t dim);

  Value* matmul(Value* x, Value* y);  // any ranks, as torch.matmul
  Value* cat(Values values, int64_t dim);
  Value* stack(const Values& values, int64_t dim);
  Value* arange(Sym end, DType dtype);
  Value* index_select(Value* x, int64_t dim, Value* index);
  Value* flatten(Value* x, int64_t first, int64_t last);
  /// A constant vector.
  Value* constant_i64(const std::vector<int64_t>& values, Sizes sizes);
  Value* constant_f32(const std::vector<float>& values, Sizes sizes);
  Value* constant_f64(const std::vector<double>& values, Sizes sizes);
  /// `x` unchanged if it is a tensor; a 0-d constant (or, symbolic, a computed one) if it is a number.
  Value* tensor(const Arg& x, DType dtype);
  /// reduction 0 none, 1 mean, 2 sum.
  Value* reduce_loss(Value* loss, int64_t reduction);
  /// Pads the last dimensions with a constant. `pairs`: (left, right) for each dimension, the last dimension first.
  Value* pad(Value* x, Ints pairs, double value = 0);
};

/// Computes in float32 where eager's kernels do: f16 and bf16 operands are widened, the result is narrowed again.
template <typename F>
Value* in_float(Builder& b, Value* x, F&& compute) {
  const DType dtype = x->dtype();
  if (dtype == DType::f16 || dtype == DType::bf16) return b.cast(compute(b.cast(x, DType::f32)), dtype);
  return compute(b.cast(x, float_dtype(dtype)));
}

Ints to_ints(const std::vector<int64_t>& values);

}  // namespace wick::compiler
