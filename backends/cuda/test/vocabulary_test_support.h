// A kernel for each function of the vocabulary. Tests only.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/compile/text/program.h"

namespace wick::cuda {

/// f(x) for f32 and f64.
inline constexpr const char* kUnaryFunctions[] = {
    "exp",  "exp2",    "expm1", "log",   "log2",       "log10", "log1p",      "sin",   "cos",   "tan",
    "asin", "acos",    "atan",  "sinh",  "cosh",       "tanh",  "asinh",      "acosh", "atanh", "erf",
    "erfc", "lgamma",  "sqrt",  "rsqrt", "reciprocal", "floor", "ceil",       "trunc", "round", "abs",
    "sign", "sigmoid", "silu",  "gelu",  "gelu_tanh",  "mish",  "log_sigmoid"};
/// f(x), computed in f64 for both types.
inline constexpr const char* kSpecialUnaryFunctions[] = {"digamma",
                                                         "erfinv",
                                                         "ndtri",
                                                         "ndtr",
                                                         "erfcx",
                                                         "log_ndtr",
                                                         "i0",
                                                         "i0e",
                                                         "i1",
                                                         "i1e",
                                                         "modified_bessel_k0",
                                                         "modified_bessel_k1",
                                                         "scaled_modified_bessel_k0",
                                                         "scaled_modified_bessel_k1",
                                                         "bessel_j0",
                                                         "bessel_j1",
                                                         "bessel_y0",
                                                         "bessel_y1",
                                                         "spherical_bessel_j0",
                                                         "airy_ai"};
/// f(x, y) for f32 and f64.
inline constexpr const char* kBinaryFunctions[] = {"pow",       "atan2",        "hypot",       "fmod", "remainder",
                                                   "copysign",  "maximum",      "minimum",     "fmax", "fmin",
                                                   "nextafter", "divide_floor", "divide_trunc"};
/// f(x, y), computed in f64, or by the same text for both types.
inline constexpr const char* kSpecialBinaryFunctions[] = {"zeta",
                                                          "igamma",
                                                          "igammac",
                                                          "chebyshev_polynomial_t",
                                                          "chebyshev_polynomial_u",
                                                          "chebyshev_polynomial_v",
                                                          "chebyshev_polynomial_w",
                                                          "shifted_chebyshev_polynomial_t",
                                                          "shifted_chebyshev_polynomial_u",
                                                          "shifted_chebyshev_polynomial_v",
                                                          "shifted_chebyshev_polynomial_w",
                                                          "hermite_polynomial_h",
                                                          "hermite_polynomial_he",
                                                          "laguerre_polynomial_l",
                                                          "legendre_polynomial_p"};
/// f(x, y) for the integer types below.
inline constexpr const char* kIntegerFunctions[] = {"wrap_add",     "wrap_sub",    "wrap_mul", "divide_trunc",
                                                    "divide_floor", "remainder",   "fmod",     "shift_left",
                                                    "shift_right",  "integer_pow", "smaller",  "larger"};
inline constexpr const char* kIntegerTypes[] = {"i8", "u8", "i32", "i64"};

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// Kernel "NAME_TYPE" (in, out, count): out[i] = NAME(in[i]).
inline KernelText unary_kernel(const std::string& name, const std::string& type) {
  const std::string text = R"(WICK_KERNEL(NAME_TYPE, 128)(const TYPE* in, TYPE* out, i32 count) {
  const i32 i = static_cast<i32>(block_x() * 128 + thread_x());
  if (i < count) out[i] = NAME(in[i]);
})";
  return {name + "_" + type, replaced(replaced(text, "NAME", name), "TYPE", type)};
}
/// Kernel "NAME_TYPE" (a, b, out, count): out[i] = NAME(a[i], b[i]).
inline KernelText binary_kernel(const std::string& name, const std::string& type) {
  const std::string text = R"(WICK_KERNEL(NAME_TYPE, 128)(const TYPE* a, const TYPE* b, TYPE* out, i32 count) {
  const i32 i = static_cast<i32>(block_x() * 128 + thread_x());
  if (i < count) out[i] = NAME(a[i], b[i]);
})";
  return {name + "_" + type, replaced(replaced(text, "NAME", name), "TYPE", type)};
}

/// Kernels for functions that do not just map numbers to numbers.
inline const KernelText kVocabularyKernels[] = {
    {"widen_halves", R"(
WICK_KERNEL(widen_halves, 128)(const u16* bits, f32* half, f32* brain, i32 count) {
  const i32 i = block_x() * 128 + thread_x();
  if (i >= count) return;
  half[i] = to_f32(f16{bits[i]});
  brain[i] = to_f32(bf16{bits[i]});
}
)"},
    {"narrow_halves", R"(
WICK_KERNEL(narrow_halves, 128)(const f32* x, f16* half, bf16* brain, u32* pairs, i32 count) {
  const i32 i = block_x() * 128 + thread_x();
  if (i >= count) return;
  half[i] = to_f16(x[i]);
  brain[i] = to_bf16(static_cast<f64>(x[i]));
  pairs[i] = x[i] != x[i] ? pair_of(half[i], half[i]) : f16_pair(x[i], x[i]);
}
)"},
    {"exchange_lanes", R"(
WICK_KERNEL(exchange_lanes, 64)(i32* out) {
  const i32 thread = thread_x();
  i32* const row = out + thread * 7;
  row[0] = shuffle_xor(thread, 5);
  row[1] = shuffle_down(thread, 3);
  row[2] = shuffle_up(thread, 3);
  row[3] = shuffle(thread, 9);
  row[4] = static_cast<i32>(ballot(thread % 3 == 2));
  row[5] = block_any(thread == 40);
  row[6] = block_any(thread == 64);
}
)",
     true},
    {"assorted", R"(
WICK_KERNEL(assorted, 64)(const i32* in, i32* copied, i64* counters, u32* status, u32* words, bool8* bools) {
  const i64 thread = thread_x();
  grid_wait();
  atomic_add(counters, thread);
  atomic_min(counters + 1, -thread);
  atomic_max(counters + 2, thread);
  atomic_add(reinterpret_cast<u64*>(counters + 3), static_cast<u64>(1));
  if (thread == 3) flag_check(status, 37);
  if (thread == 0) {
    store_vector(copied, load_vector<i32, 4>(in));
    store_words4(words, random_words(0x123456789abcdefull, 0x8000000000000003ull));
  }
  if (thread < 4) bools[thread] = to_bool8(!to_bool(bools[thread]));
  grid_launch_dependents();
}
)"},
    {"quantize", R"(
WICK_KERNEL(quantize, 128)(const f32* x, const f64* wide, const i64* zero, i32* out, f64* back, u32* status, i32 count) {
  const i32 i = block_x() * 128 + thread_x();
  if (i >= count) return;
  out[2 * i] = quantized(x[i], zero[i], -128, 127);
  out[2 * i + 1] = quantized(wide[i], zero[i], -2147483647 - 1, 2147483647);
  back[i] = dequantized(out[2 * i + 1], zero[i], 0.5);
  x = x + nibble(out[2 * i], i % 2);
  back[i] += dequantized(out[2 * i], static_cast<i32>(zero[i]), chosen_scale(x[0], x[1], 255.0f, 0x1p-23f, status, 3));
  back[i] += static_cast<f64>(chosen_zero_point(x[0], checked_scale(x[1], status, 4), -128, 127) +
                              chosen_row_zero_point(x[0], x[1], dequantized(out[0], 2.0f)));
}
)"},
    {"to_integers", R"(
WICK_KERNEL(to_integers, 128)(const f64* x, i64* out, i32 count) {
  const i32 i = block_x() * 128 + thread_x();
  if (i < count) out[i] = to_i64(x[i]);
}
)"},
};

inline std::vector<KernelText> function_kernels() {
  std::vector<KernelText> kernels;
  for (const char* type : {"f32", "f64"}) {
    for (const char* name : kUnaryFunctions) kernels.push_back(unary_kernel(name, type));
    for (const char* name : kBinaryFunctions) kernels.push_back(binary_kernel(name, type));
  }
  for (const char* type : kIntegerTypes) {
    for (const char* name : kIntegerFunctions) kernels.push_back(binary_kernel(name, type));
  }
  return kernels;
}

inline std::vector<KernelText> special_function_kernels() {
  std::vector<KernelText> kernels;
  for (const char* name : kSpecialUnaryFunctions) kernels.push_back(unary_kernel(name, "f64"));
  for (const char* name : kSpecialBinaryFunctions) kernels.push_back(binary_kernel(name, "f64"));
  return kernels;
}

}  // namespace wick::cuda
