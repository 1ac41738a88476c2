// atan2, pow, copysign and hypot.
#include "runtime/kernels/pointwise/hot_unary.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

struct Atan2 {
  float operator()(float y, float x) const { return math::atan2_f(y, x); }
  double operator()(double y, double x) const { return math::atan2(y, x); }
};

/// base^exponent modulo 2^64; a negative exponent gives the integer part: 1, -1 or 0.
int64_t integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  int64_t result = 1;
  for (; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result = wrap_mul(result, base);
    base = wrap_mul(base, base);
  }
  return result;
}

struct Power {
  int64_t operator()(int64_t x, int64_t y) const { return integer_power(x, y); }
  float operator()(float x, float y) const { return math::pow_f(x, y); }
  double operator()(double x, double y) const { return math::pow(x, y); }
};

/// Exponents that eager computes by multiplication, division and square root.
template <typename T>
bool simple_power(KernelContext& context, const Operand& a, double exponent, Tensor& out) {
  auto run = [&](auto f) {
    elementwise<T, T>(context, f, {a}, out);
    return true;
  };
  const bool roots = a.tensor->dtype != DType::f16;  // for f16 eager calls pow, which differs at -0 and -infinity
  if (exponent == 0.5 && roots) return run([](T x) { return math::sqrt(x); });
  if (exponent == 2) return run([](T x) { return x * x; });
  if (exponent == 3) return run([](T x) { return x * x * x; });
  if (exponent == -0.5 && roots) return run([](T x) { return 1 / math::sqrt(x); });
  if (exponent == -1) return run([](T x) { return 1 / x; });
  if (exponent == -2) return run([](T x) { return 1 / (x * x); });
  return false;
}

}  // namespace

void atan2_out(KernelContext& context, Args args) {
  const Operand both[] = {operand(args, 0), operand(args, 1)};
  const Lane lanes[] = {Lane::f32, Lane::f32};
  DType common;
  Lane lane;
  if (!result_type(both, 2, &common) || !lane_of_dtype(to_floating(common), &lane) || lane != Lane::f32 ||
      !can_cast(to_floating(common), out_tensor(args, 2).dtype)) {
    return float_binary<kFloat>(context, both[0], both[1], out_tensor(args, 2), Atan2{});
  }
  const HotKernels::Map2 map = hot(context.isa()).atan2;
  run_elementwise(context, {both, lanes, 2, &out_tensor(args, 2), lane, run_map2, &map, nullptr});
}
void pow_out(KernelContext& context, Args args) {
  Operand both[] = {operand(args, 0), operand(args, 1)};
  const Lane lanes[] = {Lane::f32, Lane::f32};
  DType common;
  Lane lane;
  if (!common_lane(context, both, 2, out_tensor(args, 2), &common, &lane)) return;
  if (is_integral(common)) both[0] = number_in(both[0], common);
  if (lane != Lane::f32) return binary<kReal>(context, both[0], both[1], out_tensor(args, 2), Power{});
  const HotKernels::Map2 map = hot(context.isa()).pow;
  run_elementwise(context, {both, lanes, 2, &out_tensor(args, 2), lane, run_map2, &map, &common});
}
void pow_tensor_scalar_out(KernelContext& context, Args args) {
  const Operand both[] = {operand(args, 0), operand(args, 1)};
  DType common;
  Lane lane;
  if (!common_lane(context, both, 2, out_tensor(args, 2), &common, &lane)) return;
  if (lane == Lane::f32 && simple_power<float>(context, both[0], both[1].real, out_tensor(args, 2))) return;
  if (lane == Lane::f64 && simple_power<double>(context, both[0], both[1].real, out_tensor(args, 2))) return;
  if (lane == Lane::i64 && both[1].integer < 0) {
    return context.fail(Error::InvalidArgument, "integers to negative integer powers are not allowed");
  }
  pow_out(context, args);
}
void copysign_out(KernelContext& context, Args args) {
  float_binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
                       [](auto a, auto b) { return static_cast<decltype(a)>(math::copy_sign(a, b)); });
}
void hypot_out(KernelContext& context, Args args) {
  binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2), [](auto a, auto b) {
    const double x = a, y = b;
    if (math::is_inf(x) || math::is_inf(y)) return static_cast<decltype(a)>(math::kInfinity);
    if constexpr (std::is_same_v<decltype(a), float>) {
      return static_cast<float>(math::sqrt(x * x + y * y));
    } else {
      const double p = math::abs(x), q = math::abs(y), large = p > q ? p : q, small = p > q ? q : p;
      if (!(large > 0)) return large + small;
      const double ratio = small / large;
      return large * math::sqrt(1 + ratio * ratio);
    }
  });
}

}  // namespace kernels
}  // namespace wick
