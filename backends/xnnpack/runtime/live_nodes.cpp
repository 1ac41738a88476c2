#include "backends/xnnpack/runtime/live_nodes.h"

namespace wick::xnnpack {
namespace {

bool is_internal(const PayloadValue& value) { return !value.is_input && !value.is_output && value.constant == 0; }

bool same_storage(const PayloadValue& a, const PayloadValue& b) {
  return a.type == b.type && a.quantization.kind == b.quantization.kind &&
         a.quantization.scale == b.quantization.scale && a.quantization.zero_point == b.quantization.zero_point;
}

}  // namespace

LiveNodes::LiveNodes(const Payload& payload, const std::vector<std::vector<uint32_t>>& dims) {
  const size_t num_values = payload.values.size();
  is_live_.assign(payload.nodes.size(), false);
  is_read_.assign(num_values, false);
  is_written_.assign(num_values, false);
  for (uint32_t v = 0; v < num_values; ++v) alias_.push_back(v);
  find_live(payload);
  spare_copies(payload, dims);
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    if (!is_live_[i]) continue;
    const PayloadNode& node = payload.nodes[i];
    is_written_[representative(node.output)] = true;
    if (node.output_index != kNoValue) is_written_[representative(node.output_index)] = true;
    for (const uint32_t input : node.inputs) {
      if (input != kNoValue) is_read_[representative(input)] = true;
    }
  }
}

uint32_t LiveNodes::representative(uint32_t value) const {
  while (alias_[value] != value) value = alias_[value];
  return value;
}

void LiveNodes::find_live(const Payload& payload) {
  std::vector<bool> wanted(payload.values.size());
  for (size_t v = 0; v < payload.values.size(); ++v) wanted[v] = payload.values[v].is_output;
  for (size_t i = payload.nodes.size(); i-- > 0;) {
    const PayloadNode& node = payload.nodes[i];
    is_live_[i] = wanted[node.output] || (node.output_index != kNoValue && wanted[node.output_index]);
    if (!is_live_[i]) continue;
    wanted[node.output] = true;
    if (node.output_index != kNoValue) wanted[node.output_index] = true;
    for (const uint32_t input : node.inputs) {
      if (input != kNoValue) wanted[input] = true;
    }
  }
}

void LiveNodes::spare_copies(const Payload& payload, const std::vector<std::vector<uint32_t>>& dims) {
  for (size_t i = 0; i < payload.nodes.size(); ++i) {
    const PayloadNode& node = payload.nodes[i];
    if (!is_live_[i] || node.type != NodeType::copy) continue;
    if (!same_storage(payload.values[node.inputs[0]], payload.values[node.output])) continue;
    if (dims[node.inputs[0]] != dims[node.output]) continue;
    const uint32_t from = representative(node.inputs[0]);
    if (is_internal(payload.values[node.output])) {
      alias_[node.output] = from;
    } else if (is_internal(payload.values[from])) {
      alias_[from] = node.output;  // its producer writes the output itself
    } else {
      continue;
    }
    is_live_[i] = false;
  }
}

}  // namespace wick::xnnpack
