// Floating constants as doubles. C++20.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

using Reals64 = std::vector<double>;

/// A constant of f64, f32, f16 or bf16 in plain dim order.
bool has_reals(const Value* value);
Reals64 reals_of(const Value& constant);
/// The bytes of `values`, each rounded once to `dtype`; nothing if a rounded value is not finite.
std::optional<std::vector<uint8_t>> rounded(const Reals64& values, DType dtype);

/// Reads `count` elements from `from` as doubles.
void load_reals(DType dtype, const uint8_t* from, size_t count, double* to);
/// Rounds each number once to `dtype`; false if a rounded value is not finite.
bool store_reals(DType dtype, const double* from, size_t count, uint8_t* to);

/// to[i] = from[i] * scale[i] - means[i], in double, rounded once. `scale` and `means` may be null.
void change_reals(DType dtype, const uint8_t* from, size_t count, const double* scale, const double* means,
                  uint8_t* to);
/// Whether no factor but 0 is so small that weights of `dtype` lose digits, or become 0, which times an infinite input
/// is NaN.
bool keep_digits(const Reals64& factors, DType dtype);
/// The same for these weights, which earlier factors may have made small.
bool keep_digits(const Reals64& factors, DType dtype, const ConstantData& weights);
/// The largest magnitude of elements; nothing if one of them is not finite.
std::optional<double> largest_magnitude(DType dtype, Span<const uint8_t> elements);
std::optional<double> largest_magnitude(DType dtype, const ConstantData& data);

/// Bytes of a future constant: uninitialized, and written through `bytes`.
struct FreshBytes {
  explicit FreshBytes(size_t count) : bytes(std::make_shared_for_overwrite<uint8_t[]>(count)), size(count) {}
  ConstantData data() const { return {{bytes.get(), size}, bytes}; }
  std::shared_ptr<uint8_t[]> bytes;
  size_t size;
};

}  // namespace wick::compiler
