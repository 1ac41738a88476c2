#include "backends/cortex_m/compile/cost/call_cost.h"

#include <algorithm>
#include <string_view>

#include "backends/cortex_m/compile/cost/count_terms.h"
#include "backends/cortex_m/compile/isa.h"

namespace wick::cortex_m {

using compiler::CallArgument;
using compiler::CallCost;
using compiler::OperatorCall;

namespace {

constexpr size_t kIsaCount = 3;  // in the order of Isa

struct Variants {
  std::string_view kernel;
  std::string_view of[kIsaCount];
};
constexpr Variants kVariants[] = {
#define KERNEL(name, signature, function, mve, dsp, scalar) {name, {#mve, #dsp, #scalar}},
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
};

struct Instructions {
  std::string_view kernel, term;
  double each[kIsaCount];
};
constexpr Instructions kInstructions[] = {
#define COST(kernel, term, mve, dsp, scalar) {kernel, term, {mve, dsp, scalar}},
#include "backends/cortex_m/kernels/costs.inc"
#undef COST
};

const Variants* find_variants(std::string_view kernel) {
  const auto found = std::find_if(std::begin(kVariants), std::end(kVariants),
                                  [&](const Variants& variants) { return variants.kernel == kernel; });
  return found == std::end(kVariants) ? nullptr : found;
}

Isa isa_of(Span<const std::string> prepared_for) {
  constexpr std::string_view kKey = "cortex_m.isa=";
  for (const Isa isa : {Isa::mve, Isa::dsp, Isa::scalar}) {
    for (const std::string& fact : prepared_for) {
      if (fact == std::string(kKey) + std::string(name_of(isa))) return isa;
    }
  }
  return Isa::mve;
}

// Operators that one kernel computes are measured under one name.
struct SameKernel {
  std::string_view kernel, measured;
};
constexpr SameKernel kSameKernels[] = {
    {"wick_cortex_m::conv2d.out", "cortex_m::quantized_conv2d.out"},
    {"wick_cortex_m::depthwise_conv2d.out", "cortex_m::quantized_depthwise_conv2d.out"},
    {"wick_cortex_m::depthwise_conv2d_int4.out", "cortex_m::quantized_depthwise_conv2d.out"},
    {"cortex_m::pad_contiguous.out", "cortex_m::pad.out"},
    {"wick_cortex_m::lstm_projected.out", "wick_cortex_m::lstm.out"},
};
std::string_view measured_as(std::string_view kernel) {
  const auto found = std::find_if(std::begin(kSameKernels), std::end(kSameKernels),
                                  [&](const SameKernel& row) { return row.kernel == kernel; });
  return found == std::end(kSameKernels) ? kernel : found->measured;
}

// Operators on images whose sizes are NHWC, and those that compute them on channels-last images.
constexpr SameKernel kNhwc[] = {
    {"cortex_m::quantized_conv2d_nhwc.out", "cortex_m::quantized_conv2d.out"},
    {"cortex_m::quantized_depthwise_conv2d_nhwc.out", "cortex_m::quantized_depthwise_conv2d.out"},
    {"cortex_m::quantized_transpose_conv2d_nhwc.out", "cortex_m::quantized_transpose_conv2d.out"},
    {"cortex_m::quantized_avg_pool2d_nhwc.out", "cortex_m::quantized_avg_pool2d.out"},
    {"cortex_m::quantized_max_pool2d_nhwc.out", "cortex_m::quantized_max_pool2d.out"},
};

void make_channels_last(CallArgument& image) {
  if (image.sizes.size() != 4) return;
  image.sizes = {image.sizes[0], image.sizes[3], image.sizes[1], image.sizes[2]};
  image.dim_order = {0, 2, 3, 1};
}

// The call of an operator on channels-last images that takes as long.
OperatorCall as_channels_last(OperatorCall call) {
  const auto found =
      std::find_if(std::begin(kNhwc), std::end(kNhwc), [&](const SameKernel& row) { return row.kernel == call.name; });
  if (found == std::end(kNhwc)) return call;
  call.name = found->measured;
  make_channels_last(call.arguments.front());
  if (call.arguments.size() > 1) make_channels_last(call.arguments.back());
  return call;
}

// Fills in the instructions of each term. A kernel is known if the table has a row of it; a term that it lacks costs
// nothing.
void price(std::string_view name, Isa isa, CallCost& cost) {
  const std::string_view kernel = measured_as(name);
  for (const Instructions& row : kInstructions) {
    if (row.kernel != kernel) continue;
    cost.is_known = true;
    for (compiler::CostTerm& term : cost.terms) {
      if (term.name == row.term) term.instructions = row.each[static_cast<size_t>(isa)];
    }
  }
}

}  // namespace

CallCost call_cost(const OperatorCall& call, Span<const std::string> prepared_for) {
  CallCost cost;
  const Isa isa = isa_of(prepared_for);
  const Variants* variants = find_variants(call.name);
  cost.variant = variants ? variants->of[static_cast<size_t>(isa)] : "portable";
  if (call.arguments.empty()) return cost;
  for (const CallArgument& argument : call.arguments) {
    if (argument.is_constant) cost.constant_bytes += argument.bytes();
    for (const CallArgument& item : argument.items) cost.constant_bytes += item.is_constant ? item.bytes() : 0;
    const bool is_scratch = argument.is_tensor && argument.dtype == DType::u8 && !argument.is_constant;
    if (variants && is_scratch) cost.scratch_bytes += argument.bytes();
  }
  const OperatorCall counted = as_channels_last(call);
  count_terms(counted, variants != nullptr, cost);
  price(counted.name, isa, cost);
  return cost;
}

}  // namespace wick::cortex_m
