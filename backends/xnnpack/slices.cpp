#include "backends/xnnpack/slices.h"

#include "runtime/platform/cores.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#endif

namespace wick::xnnpack {
namespace {

constexpr uint64_t kChannelStep = 64;        // a multiple of what any kernel computes at once
constexpr uint64_t kUsualL2Bytes = 1 << 20;  // where the system does not tell

/// Intel's server processors have a last level that is far slower than the second, which must hold the weights. AMD's
/// keeps up with the kernels; there slices only cost.
bool has_slow_last_level() {
#if defined(__x86_64__)
  uint32_t eax, words[3];
  return __get_cpuid(0, &eax, &words[0], &words[2], &words[1]) && memcmp(words, "GenuineIntel", sizeof words) == 0;
#else
  return false;
#endif
}

SlicePolicy find_policy() {
  SlicePolicy policy;
  if (!has_slow_last_level()) return policy;
  const uint64_t l2_bytes = cache_bytes(2);
  policy.above_bytes = l2_bytes == 0 ? kUsualL2Bytes : l2_bytes;
  return policy;
}

}  // namespace

const SlicePolicy& slice_policy() {
  static const SlicePolicy policy = find_policy();
  return policy;
}

std::vector<uint32_t> slices_of(const Payload& payload, const PayloadNode& node,
                                const std::vector<std::vector<uint32_t>>& dims, const SlicePolicy& policy) {
  const bool is_linear = node.type == NodeType::fully_connected && (node.flags & kTransposeWeights) == 0;
  if (!is_linear && (node.type != NodeType::conv_2d || node.groups != 1)) return {};
  const PayloadValue& filter = payload.values[node.inputs[1]];
  const uint32_t bias = node.inputs[2];
  if (filter.constant == 0 || (filter.type != DataType::fp32 && filter.type != DataType::bf16)) return {};
  if (bias != kNoValue && payload.values[bias].constant == 0) return {};
  const std::vector<uint32_t>&shape = dims[node.inputs[1]], &out = dims[node.output];
  uint64_t row_bytes = 4, rows = 1;
  for (size_t i = 1; i < shape.size(); ++i) row_bytes *= shape[i];
  for (size_t i = 0; i + 1 < out.size(); ++i) rows *= out[i];
  const uint64_t channels = shape[0], bytes = channels * row_bytes;
  if (bytes <= policy.above_bytes || rows < policy.min_rows) return {};
  const uint64_t wanted = (bytes + policy.slice_bytes - 1) / policy.slice_bytes;
  const uint64_t each = ((channels + wanted - 1) / wanted + kChannelStep - 1) / kChannelStep * kChannelStep;
  std::vector<uint32_t> slices;
  for (uint64_t begin = 0; begin < channels; begin += each) {
    slices.push_back(static_cast<uint32_t>(channels - begin < each ? channels - begin : each));
  }
  if (slices.size() < 2) slices.clear();
  return slices;
}

}  // namespace wick::xnnpack
