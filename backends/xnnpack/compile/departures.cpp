#include "backends/xnnpack/compile/departures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/xnnpack/compile/ops/rules.h"

namespace wick::xnnpack {

using compiler::Node;
using compiler::ValueRange;

namespace {

// nan, infinity, finite_of_infinity, finite_of_nan: departures.h.

// The kernels of products and sums end with a clamp to +-infinity, which on some instruction sets loses NaN.
constexpr Departure kProduct{"NaN may come out as infinity", true};
constexpr Departure kWindow{"NaN may come out as infinity, and infinity may become NaN outside its window", true, true,
                            true, true};
constexpr Departure kHalfRoot{"infinity becomes NaN, and NaN may be dropped", true};
constexpr Departure kSigmoid{"the largest numbers may become NaN", true};
constexpr Departure kQuantize{"NaN becomes the largest number instead of zero", true};
constexpr Departure kDropsNan{"the library's kernel may drop NaN", true};
constexpr Departure kSign{"NaN may stay NaN, or become a number other than zero", true, false, false, true};
constexpr Departure kSaturates{"infinity becomes the largest number", true, true};

constexpr Departure kExponential{"results beyond 2^127 may become infinity"};
constexpr Departure kLogSumExp{"NaN may come out as infinity", true};
constexpr Departure kStep{"infinity may become NaN, or NaN a number", true, true};
constexpr Departure kThreshold{"infinity becomes the largest number, and NaN may be dropped", true, true};
constexpr Departure kLargeAngle{"numbers beyond 1e6 give other results with newer releases of the library"};
constexpr Departure kOverflow{"finite where eager overflows"};

constexpr Departure kResize{"NaN and infinity spread to neighbouring pixels", true, true, true, true};

struct Row {
  const char* op;
  const Departure& departure;
};
constexpr Row kRows[] = {
    {"aten._adaptive_avg_pool2d.default", kProduct},
    {"aten._log_softmax.default", kLogSumExp},
    {"aten.adaptive_avg_pool2d.default", kProduct},
    {"aten.addmm.default", kProduct},
    {"aten.amax.default", kDropsNan},
    {"aten.amin.default", kDropsNan},
    {"aten.avg_pool2d.default", kProduct},
    {"aten.avg_pool3d.default", kProduct},
    {"aten.bmm.default", kProduct},
    {"aten.clamp.Tensor", kDropsNan},
    {"aten.cos.default", kLargeAngle},
    {"aten.cosh.default", kDropsNan},
    {"aten.div.Scalar_mode", kStep},
    {"aten.exp.default", kExponential},
    {"aten.expm1.default", kExponential},
    {"aten.fmod.Scalar", kStep},
    {"aten.glu.default", kSigmoid},
    {"aten.hardshrink.default", kStep},
    {"aten.hardsigmoid.default", kDropsNan},
    {"aten.hardswish.default", kOverflow},
    {"aten.hardtanh.default", kDropsNan},
    {"aten.linear.default", kProduct},
    {"aten.log.default", kDropsNan},
    {"aten.log10.default", kDropsNan},
    {"aten.log1p.default", kDropsNan},
    {"aten.log2.default", kDropsNan},
    {"aten.log_sigmoid.default", kDropsNan},
    {"aten.logaddexp.default", kLogSumExp},
    {"aten.logsumexp.default", kLogSumExp},
    {"aten.max.dim", kDropsNan},
    {"aten.max_pool2d_with_indices.default", kDropsNan},
    {"aten.max_pool3d_with_indices.default", kDropsNan},
    {"aten.maximum.default", kDropsNan},
    {"aten.mean.dim", kProduct},
    {"aten.min.dim", kDropsNan},
    {"aten.minimum.default", kDropsNan},
    {"aten.mish.default", kDropsNan},
    {"aten.mm.default", kProduct},
    {"aten.native_group_norm.default", kProduct},
    {"aten.native_layer_norm.default", kProduct},
    {"aten.relu.default", kDropsNan},
    {"aten.relu6.default", kDropsNan},
    {"aten.remainder.Scalar", kStep},
    {"aten.rms_norm.default", kProduct},
    {"aten.round.default", kStep},
    {"aten.sigmoid.default", kSigmoid},
    {"aten.sign.default", kSign},
    {"aten.silu.default", kSigmoid},
    {"aten.sin.default", kLargeAngle},
    {"aten.sinh.default", kDropsNan},
    {"aten.softplus.default", kDropsNan},
    {"aten.sum.dim_IntList", kProduct},
    {"aten.threshold.default", kThreshold},
    {"aten.trunc.default", kStep},
    {"aten.upsample_bilinear2d.vec", kResize},
    {"aten.upsample_trilinear3d.vec", kResize},
    {"aten.var.correction", kProduct},
    {"quantized_decomposed.quantize_per_tensor.default", kQuantize},
    {"quantized_decomposed.quantize_per_tensor.tensor", kQuantize},
};

const Departure* departure_of_clamp(const Node& node) {
  const bool bounded = !node.is_none("min") && !node.is_none("max");
  const auto low = bounded ? number(node, "min") : std::nullopt, high = bounded ? number(node, "max") : std::nullopt;
  constexpr double kLargest = std::numeric_limits<float>::max();
  return low == -kLargest && high == kLargest ? &kSaturates : &kDropsNan;
}

// Numbers of f16 are no more than 65504, unless the caller passes an infinity.
const Departure* departure_of_root(const Node& node) {
  return node.result()->dtype() == DType::f16 ? &kHalfRoot : &kDropsNan;
}

const Departure* departure_of_power(const Node& node) {
  const compiler::Arg& exponent = node.arg("exponent");
  if (!exponent.is<double>()) return nullptr;
  return exponent.as<double>() == std::floor(exponent.as<double>()) ? nullptr : departure_of_root(node);
}

// Only the depthwise kernels look beside a window, at taps of weight zero.
const Departure* departure_of_convolution(const Node& node) {
  const compiler::Sym groups = node.integer("groups");
  return groups.is(1) ? &kProduct : &kWindow;
}

bool is_nan_made(const Node& node, const compiler::ValueRanges& ranges) {
  return std::any_of(node.results().begin(), node.results().end(),
                     [&](const compiler::Value* result) { return ranges.of(result).nan; });
}

// In parts, one of which is clamped from below and one from above.
const Departure* departure_of_elu(const Node& node) {
  const auto alpha = number(node, "alpha"), input = number(node, "input_scale");
  const bool one_kernel = alpha && input == 1 && std::isnormal(static_cast<float>(*alpha)) && *alpha > 0;
  return one_kernel ? nullptr : &kDropsNan;
}

}  // namespace

const Departure* departure(const Node& node) {
  if (node.is("aten.elu.default")) return departure_of_elu(node);
  if (node.is("aten.pow.Tensor_Scalar")) return departure_of_power(node);
  if (node.is("aten.sqrt.default") || node.is("aten.rsqrt.default")) return departure_of_root(node);
  if (node.is("aten.clamp.default")) return departure_of_clamp(node);
  if (node.is("aten.convolution.default")) return departure_of_convolution(node);
  if (node.is("aten.gelu.default")) return node.string("approximate") == "tanh" ? &kSigmoid : nullptr;
  for (const Row& row : kRows) {
    if (node.is(row.op)) return &row.departure;
  }
  return nullptr;
}

std::string refuse_departure(const Node& node, const Departure& departure, const compiler::ValueRanges& ranges) {
  const auto reason = [&](const char* found) {
    return fmt::format("{}, and the model makes {} from finite inputs here", departure.text, found);
  };
  const compiler::Value* result = node.result();
  bool nan = false, infinity = false;
  for (const compiler::Value* operand : node.operands()) {
    const ValueRange range = ranges.of(operand);
    nan |= range.nan;
    infinity |= range.is_infinite();
  }
  if (departure.finite_of_nan && nan) return reason("NaN");
  if (departure.finite_of_infinity && infinity) return reason("infinities");
  if (departure.nan && is_nan_made(node, ranges) && ranges.hides_nan(result)) return reason("NaN");
  if (departure.infinity && infinity && ranges.hides_infinity(result)) return reason("infinities");
  return "";
}

}  // namespace wick::xnnpack
