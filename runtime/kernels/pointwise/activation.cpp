// Activation functions.
#include <string.h>

#include "runtime/kernels/pointwise/hot_unary.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

inline float exponential(float x) { return math::exp_f(x); }
inline double exponential(double x) { return math::exp(x); }
inline float exponential_minus_one(float x) { return math::expm1_f(x); }
inline double exponential_minus_one(double x) { return math::expm1(x); }
inline float logarithm(float x) { return math::log_f(x); }
inline double logarithm(double x) { return math::log(x); }
inline float log1p_0_to_1(float x) { return math::log1p_f(x); }
inline double log1p_0_to_1(double x) { return math::log1p(x); }
inline float hyperbolic_tangent(float x) { return math::tanh_f(x); }
inline double hyperbolic_tangent(double x) { return math::tanh(x); }

struct Gelu {
  float operator()(float x) const { return math::gelu_f(x); }
  double operator()(double x) const { return x * 0.5 * (1 + math::erf(x * 0.7071067811865476)); }
};
struct GeluTanh {
  float operator()(float x) const { return math::gelu_tanh_f(x); }
  double operator()(double x) const {
    return 0.5 * x * (1 + math::tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))));
  }
};

/// min(max(x + 3, 0), 6)
template <typename T>
T relu6_shifted(T x) {
  const T shifted = x + 3;
  return shifted < 0 ? T(0) : shifted > 6 ? T(6) : shifted;
}

template <typename F>
void activation(KernelContext& context, Args args, F f) {
  unary<kFloat>(context, operand(args, 0), out_tensor(args, args.size() - 2), f);
}

/// The f32 lane by rows(in, out, count). Other lanes, and operands that are refused, by f.
template <typename Rows, typename F>
void activation_rows(KernelContext& context, Args args, const Rows& rows, F f) {
  if (!is_floating(tensor(args, 0).dtype)) return activation(context, args, f);
  float_unary_rows<kFloat>(context, operand(args, 0), out_tensor(args, args.size() - 2), rows, f);
}
template <typename F>
void activation_map(KernelContext& context, Args args, HotKernels::Map map, F f) {
  if (hot_unary(context, tensor(args, 0), out_tensor(args, args.size() - 2), map)) return;
  activation_rows(context, args, [map](const float* in, float* out, int64_t count) { map(in, out, count); }, f);
}

}  // namespace

void gelu_out(KernelContext& context, Args args) {
  if (strcmp(args[1]->string.data, "none") == 0) {
    return activation_map(context, args, hot(context.isa()).gelu, Gelu{});
  }
  if (strcmp(args[1]->string.data, "tanh") == 0) {
    return activation_map(context, args, hot(context.isa()).gelu_tanh, GeluTanh{});
  }
  context.fail(Error::InvalidArgument, "approximate is neither 'none' nor 'tanh'");
}

/// x < 0 ? alpha * scale * (exp(input_scale * x) - 1) : scale * x
void elu_out(KernelContext& context, Args args) {
  const double negative = args[1]->to_double() * args[2]->to_double(), positive = args[2]->to_double();
  const double input_scale = args[3]->to_double();
  const HotKernels::Map expm1 = hot(context.isa()).expm1;
  const auto rows = [=](const float* in, float* out, int64_t count) {
    float scaled[kChunk];
    for (int64_t i = 0; i < count; ++i) scaled[i] = in[i] * static_cast<float>(input_scale);
    expm1(scaled, scaled, count);
    for (int64_t i = 0; i < count; ++i) {
      const float below = scaled[i] * static_cast<float>(negative), above = in[i] * static_cast<float>(positive);
      out[i] = in[i] < 0 ? below : above;
    }
  };
  activation_rows(context, args, rows, [=](auto x) {
    using T = decltype(x);
    return x < 0 ? exponential_minus_one(x * static_cast<T>(input_scale)) * static_cast<T>(negative)
                 : x * static_cast<T>(positive);
  });
}

void leaky_relu_out(KernelContext& context, Args args) {
  const double slope = args[1]->to_double();
  activation(context, args, [=](auto x) { return x > 0 ? x : x * static_cast<decltype(x)>(slope); });
}

void hardtanh_out(KernelContext& context, Args args) {
  const Operand low = *args[1], high = *args[2];
  unary<kReal>(context, operand(args, 0), out_tensor(args, 3), [=](auto x) {
    using T = decltype(x);
    const T lo = number_as<T>(low), hi = number_as<T>(high);
    const T above = x < lo || lo != lo ? lo : x;
    return above > hi || hi != hi ? hi : above;
  });
}

void silu_out(KernelContext& context, Args args) {
  activation_map(context, args, hot(context.isa()).silu, [](auto x) { return x / (1 + exponential(-x)); });
}
void hardswish_out(KernelContext& context, Args args) {
  activation(context, args, [](auto x) { return x * relu6_shifted(x) / 6; });
}
void hardsigmoid_out(KernelContext& context, Args args) {
  activation(context, args, [](auto x) { return relu6_shifted(x) / 6; });
}
void mish_out(KernelContext& context, Args args) {
  activation_map(context, args, hot(context.isa()).mish,
                 [](auto x) { return x * hyperbolic_tangent(log1p_0_to_1(exponential(x))); });
}
/// x * beta > threshold ? x : log(1 + exp(x * beta)) / beta
void softplus_out(KernelContext& context, Args args) {
  const double beta = args[1]->to_double(), threshold = args[2]->to_double();
  const HotKernels::Map soft = hot(context.isa()).softplus;
  const auto rows = [=](const float* in, float* out, int64_t count) {
    const float factor = static_cast<float>(beta), limit = static_cast<float>(threshold);
    float scaled[kChunk], smooth[kChunk];
    for (int64_t i = 0; i < count; ++i) scaled[i] = in[i] * factor;
    soft(scaled, smooth, count);
    for (int64_t i = 0; i < count; ++i) out[i] = scaled[i] > limit ? in[i] : smooth[i] / factor;
  };
  activation_rows(context, args, rows, [=](auto x) {
    using T = decltype(x);
    const T scaled = x * static_cast<T>(beta);
    return scaled > static_cast<T>(threshold) ? x : log1p_0_to_1(exponential(scaled)) / static_cast<T>(beta);
  });
}
void log_sigmoid_out(KernelContext& context, Args args) {
  activation_map(context, args, hot(context.isa()).log_sigmoid, [](auto x) {
    using T = decltype(x);
    return (x < 0 ? x : T(0)) - log1p_0_to_1(exponential(x < 0 ? x : -x));
  });
}

/// log(x / (1 - x)), x clamped to [eps, 1 - eps] if eps is given and not negative.
void logit_out(KernelContext& context, Args args) {
  const double eps = args[1]->is_none() ? -1.0 : args[1]->to_double();
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 2), [=](auto x) {
    using T = decltype(x);
    const T lo = static_cast<T>(eps), hi = static_cast<T>(1 - eps);
    const T z = eps < 0 ? x : x < lo ? lo : x > hi ? hi : x;
    return logarithm(z / (1 - z));
  });
}

/// First half along dim times the sigmoid of the second half.
void glu_out(KernelContext& context, Args args) {
  const Tensor& in = tensor(args, 0);
  const int64_t dim = args[1]->integer + (args[1]->integer < 0 ? in.rank : 0);
  if (dim < 0 || dim >= in.rank || in.sizes[dim] % 2 != 0) {
    return context.fail(Error::InvalidArgument, "glu needs a dimension of even size");
  }
  int32_t sizes[kMaxRank];
  for (int d = 0; d < in.rank; ++d) sizes[d] = in.sizes[d];
  sizes[dim] /= 2;
  Tensor first = in;
  first.sizes = sizes;
  Tensor second = first;
  if (in.data) {
    const int64_t offset =
        static_cast<int64_t>(sizes[dim]) * in.strides[dim] * static_cast<int64_t>(dtype_size_bytes(in.dtype));
    second.data = in.as<uint8_t>() + offset;
  }
  // Sets a size of 1 but keeps the strides of the whole tensor: the engine reads sizes and strides only.
  binary<kFloat>(context, first, second, out_tensor(args, 2), [](auto a, auto b) { return a / (1 + exponential(-b)); });
}

}  // namespace kernels
}  // namespace wick
