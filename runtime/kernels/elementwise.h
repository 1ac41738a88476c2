// The elementwise engine: out[i] = f(a[i], b[i], ..) with broadcasting, mixed dtypes and any dim order.
//
// Elements are computed in one of a few lanes, whatever the tensors' dtypes: f16, bf16 and f32 in float, integers in
// int64 (stores wrap to the width) or, where all tensors have one dtype, in that dtype itself, and so on. A kernel
// picks a lane per operand and hands over one loop over a chunk. C++17, freestanding.
#pragma once
#include <complex>

#include "wick/kernel.h"

namespace wick {

/// The type in which a chunk is computed.
enum class Lane : uint8_t { f32, f64, i64, boolean, c64, c128, i8, u8, i16, i32 };

template <typename T>
struct LaneOf;
template <>
struct LaneOf<float> {
  static constexpr Lane value = Lane::f32;
};
template <>
struct LaneOf<double> {
  static constexpr Lane value = Lane::f64;
};
template <>
struct LaneOf<int64_t> {
  static constexpr Lane value = Lane::i64;
};
template <>
struct LaneOf<int8_t> {
  static constexpr Lane value = Lane::i8;
};
template <>
struct LaneOf<uint8_t> {
  static constexpr Lane value = Lane::u8;
};
template <>
struct LaneOf<int16_t> {
  static constexpr Lane value = Lane::i16;
};
template <>
struct LaneOf<int32_t> {
  static constexpr Lane value = Lane::i32;
};
template <>
struct LaneOf<bool> {
  static constexpr Lane value = Lane::boolean;
};
template <>
struct LaneOf<std::complex<float>> {
  static constexpr Lane value = Lane::c64;
};
template <>
struct LaneOf<std::complex<double>> {
  static constexpr Lane value = Lane::c128;
};

/// The lane in which values of `dtype` are computed. False if there is none (quantized, 8-bit floats, f16 complex).
bool lane_of_dtype(DType dtype, Lane* lane);

/// The lane that is `dtype` itself, of an integer narrower than 64 bits. False for other dtypes.
bool narrow_lane_of_dtype(DType dtype, Lane* lane);

constexpr int kMaxOperands = 3;
constexpr int64_t kChunk = 256;

/// An operand: a tensor, or a number if `tensor` is null.
struct Operand {
  Operand(const Tensor* t) : tensor(t) {}
  Operand(const Tensor& t) : tensor(&t) {}
  Operand(const EValue& number);
  const Tensor* tensor = nullptr;
  double real = 0;  // the number as double and as int64
  int64_t integer = 0;
  Tag tag = Tag::tensor;  // real, integer or boolean for a number
};

/// Computes out[i] for i in [0, count); inputs and output are packed arrays of their lanes' types. `out` may be an
/// input.
using ChunkFn = void (*)(const void* state, const void* const* inputs, void* out, int64_t count);

struct ElementwiseCall {
  const Operand* operands;
  const Lane* lanes;  // of each operand
  int count;          // of operands, at most kMaxOperands
  Tensor* out;
  Lane out_lane;
  ChunkFn fn;
  const void* state;
  /// Tensor operands of wider dtypes are first rounded or wrapped to *cast, as eager casts operands to the result type.
  const DType* cast;  // or null
};

/// Broadcasts the operands' shapes, resizes out, runs fn over all chunks. Fails the context with InvalidArgument
/// (shapes do not broadcast), InvalidType (a dtype has no conversion to its lane, or the out lane none to out's dtype),
/// or what resize() says.
void run_elementwise(KernelContext& context, const ElementwiseCall& call);

/// The broadcast shape of the operands in `sizes` (kMaxRank slots). False if they do not fit.
bool broadcast_shape(const Operand* operands, int count, int32_t* sizes, int* rank);

/// Whether all tensors among the operands have `dtype`, and an element of that dtype can hold each of the numbers.
bool all_have_dtype(const Operand* operands, int count, DType dtype);

/// The loop over one chunk for a function object of type F. Copying it tells the compiler that no store changes it.
template <typename F, typename Out, typename A>
void run_chunk1(const void* state, const void* const* inputs, void* out, int64_t count) {
  const F f = *static_cast<const F*>(state);
  const A* a = static_cast<const A*>(inputs[0]);
  Out* to = static_cast<Out*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = f(a[i]);
}
template <typename F, typename Out, typename A, typename B>
void run_chunk2(const void* state, const void* const* inputs, void* out, int64_t count) {
  const F f = *static_cast<const F*>(state);
  const A* a = static_cast<const A*>(inputs[0]);
  const B* b = static_cast<const B*>(inputs[1]);
  Out* to = static_cast<Out*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = f(a[i], b[i]);
}
template <typename F, typename Out, typename A, typename B, typename C>
void run_chunk3(const void* state, const void* const* inputs, void* out, int64_t count) {
  const F f = *static_cast<const F*>(state);
  const A* a = static_cast<const A*>(inputs[0]);
  const B* b = static_cast<const B*>(inputs[1]);
  const C* c = static_cast<const C*>(inputs[2]);
  Out* to = static_cast<Out*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = f(a[i], b[i], c[i]);
}

/// out = f(inputs..) with f(In..) -> Out called once per element, in no particular order.
template <typename Out, typename... In, typename F>
void elementwise(KernelContext& context, const F& f, const Operand (&operands)[sizeof...(In)], Tensor& out,
                 const DType* cast = nullptr) {
  constexpr Lane lanes[] = {LaneOf<In>::value...};
  ChunkFn chunk = nullptr;
  if constexpr (sizeof...(In) == 1) chunk = run_chunk1<F, Out, In...>;
  if constexpr (sizeof...(In) == 2) chunk = run_chunk2<F, Out, In...>;
  if constexpr (sizeof...(In) == 3) chunk = run_chunk3<F, Out, In...>;
  run_elementwise(context, {operands, lanes, sizeof...(In), &out, LaneOf<Out>::value, chunk, &f, cast});
}

}  // namespace wick
