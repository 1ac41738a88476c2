// Changes of payloads for fuzzing: numbers, types and node types, the tables staying well formed. Tests only.
#pragma once
#include <random>
#include <vector>

#include "backends/xnnpack/payload/payload_nodes.h"

namespace wick::xnnpack {

/// Every number whose change leaves something to check.
inline std::vector<uint32_t*> numbers_of(Payload& payload) {
  std::vector<uint32_t*> numbers;
  const auto add = [&](auto& items) {
    for (uint32_t& item : items) numbers.push_back(&item);
  };
  for (PayloadValue& value : payload.values) {
    add(value.dims);
    numbers.insert(numbers.end(), {&value.constant, &value.external_id, &value.quantization.num_nonbatch_dims,
                                   &value.quantization.group_size});
  }
  for (PayloadNode& node : payload.nodes) {
    PayloadNode::Window& w = node.window;
    for (size_t i = 0; i < num_inputs(node.type); ++i) numbers.push_back(&node.inputs[i]);
    add(w.kernel);
    add(w.stride);
    add(w.dilation);
    add(w.adjustment);
    add(node.first);
    add(node.second);
    numbers.insert(numbers.end(),
                   {&node.output, &node.output_index, &node.flags, &w.pad_top, &w.pad_right, &w.pad_bottom, &w.pad_left,
                    &node.groups, &node.group_input_channels, &node.group_output_channels, &node.axis});
  }
  return numbers;
}

inline void change(Payload& payload, std::minstd_rand& random) {
  const std::vector<uint32_t*> numbers = numbers_of(payload);
  if (numbers.empty()) return;
  uint32_t& number = *numbers[random() % numbers.size()];
  switch (random() % 8) {
    case 0: number += 1; break;
    case 1: number -= 1; break;
    case 2: number *= 2; break;
    case 3: number = static_cast<uint32_t>(random()); break;
    case 4: number = *numbers[random() % numbers.size()]; break;
    case 5: number = random() % 5; break;
    case 6: payload.values[random() % payload.values.size()].type = static_cast<DataType>(1 + random() % 14); break;
    default: {
      if (payload.nodes.empty()) break;
      PayloadNode& node = payload.nodes[random() % payload.nodes.size()];
      const NodeType type = static_cast<NodeType>(1 + random() % (kNumNodeTypes - 1));
      if (row_of(type).layout == row_of(node.type).layout) node.type = type;
    }
  }
}

/// Gives outputs the sizes that the check finds, or they would always differ after a change.
inline void declare_outputs(Payload& payload) {
  std::vector<std::vector<uint32_t>> dims;
  if (check_payload(payload, nullptr, &dims, nullptr) == Error::Ok || dims.size() != payload.values.size()) return;
  for (const uint32_t id : payload.output_ids) payload.values[id].dims = dims[id];
}

/// The blob changed in one to four places; empty if it cannot be read. Constants inside the blob become named ones.
inline std::vector<uint8_t> edit_payload(Span<const uint8_t> blob, unsigned seed) {
  std::minstd_rand random(seed);
  Payload payload;
  if (read_payload(blob, &payload, nullptr) != Error::Ok || payload.values.empty()) return {};
  for (PayloadConstant& constant : payload.constants) {
    if (constant.key.empty()) constant.key = "k";
  }
  for (size_t count = 1 + random() % 4; count > 0; --count) change(payload, random);
  declare_outputs(payload);
  return write_payload(payload);
}

}  // namespace wick::xnnpack
