#include "backends/xnnpack/departures.h"

#include <cmath>
#include <limits>

#include "backends/xnnpack/rules.h"

namespace wick::xnnpack {

using compiler::Node;

namespace {

// The kernels of products and sums end with a clamp to +-infinity, which on some instruction sets loses NaN.
constexpr char kProduct[] = "NaN may come out as infinity";
constexpr char kWindow[] = "NaN may come out as infinity, infinity as NaN beside its window";
constexpr char kSquareRoot[] = "infinity, and numbers beyond 8e37, come out otherwise";
constexpr char kReciprocalRoot[] = "zero, infinity, and numbers beyond 8e37, come out otherwise";
constexpr char kSigmoid[] = "numbers beyond 1e26 may become NaN";
constexpr char kQuantize[] = "NaN becomes the largest number instead of zero";
constexpr char kDropsNan[] = "the library's kernel may drop NaN";
constexpr char kSaturates[] = "infinity becomes the largest number";
constexpr char kLogarithm[] = "numbers beyond 1.7e38 become infinity";

constexpr char kExponential[] = "results beyond 2^127 may become infinity";
constexpr char kLogSumExp[] = "infinity becomes NaN";
constexpr char kStep[] = "infinity may become NaN, or NaN a number";
constexpr char kSpreads[] = "infinity and NaN reach elements before their own";
constexpr char kLargeAngle[] = "numbers beyond 1e6 come out otherwise with newer releases of the library";

constexpr char kResize[] = "NaN and infinity reach pixels beside their own";

struct Row {
  const char *op, *text;
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
    {"aten.convolution.default", kWindow},
    {"aten.cos.default", kLargeAngle},
    {"aten.cosh.default", kDropsNan},
    {"aten.cumsum.default", kSpreads},
    {"aten.div.Scalar_mode", kStep},
    {"aten.exp.default", kExponential},
    {"aten.expm1.default", kExponential},
    {"aten.fmod.Scalar", kStep},
    {"aten.glu.default", kSigmoid},
    {"aten.hardshrink.default", kStep},
    {"aten.hardsigmoid.default", kDropsNan},
    {"aten.hardswish.default", "finite where eager overflows"},
    {"aten.hardtanh.default", kDropsNan},
    {"aten.linear.default", kProduct},
    {"aten.log.default", kLogarithm},
    {"aten.log10.default", kLogarithm},
    {"aten.log1p.default", kLogarithm},
    {"aten.log2.default", kLogarithm},
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
    {"aten.rsqrt.default", kReciprocalRoot},
    {"aten.sigmoid.default", kSigmoid},
    {"aten.sign.default", kDropsNan},
    {"aten.silu.default", kSigmoid},
    {"aten.sin.default", kLargeAngle},
    {"aten.sinh.default", kDropsNan},
    {"aten.softplus.default", kDropsNan},
    {"aten.sqrt.default", kSquareRoot},
    {"aten.sum.dim_IntList", kProduct},
    {"aten.threshold.default", kStep},
    {"aten.trunc.default", kStep},
    {"aten.upsample_bilinear2d.vec", kResize},
    {"aten.upsample_trilinear3d.vec", kResize},
    {"aten.var.correction", kProduct},
    {"quantized_decomposed.quantize_per_tensor.default", kQuantize},
    {"quantized_decomposed.quantize_per_tensor.tensor", kQuantize},
};

const char* departure_of_clamp(const Node& node) {
  const bool bounded = !node.is_none("min") && !node.is_none("max");
  const auto low = bounded ? number(node, "min") : std::nullopt, high = bounded ? number(node, "max") : std::nullopt;
  constexpr double kLargest = std::numeric_limits<float>::max();
  return low == -kLargest && high == kLargest ? kSaturates : kDropsNan;
}

const char* departure_of_power(const Node& node) {
  const compiler::Arg& exponent = node.arg("exponent");
  if (!exponent.is<double>()) return nullptr;
  if (exponent.as<double>() == -0.5) return kReciprocalRoot;
  return exponent.as<double>() == std::floor(exponent.as<double>()) ? nullptr : kSquareRoot;
}

}  // namespace

const char* departure(const Node& node) {
  if (node.is("aten.pow.Tensor_Scalar")) return departure_of_power(node);
  if (node.is("aten.clamp.default")) return departure_of_clamp(node);
  if (node.is("aten.gelu.default")) return node.string("approximate") == "tanh" ? kSigmoid : nullptr;
  for (const Row& row : kRows) {
    if (node.is(row.op)) return row.text;
  }
  return nullptr;
}

}  // namespace wick::xnnpack
