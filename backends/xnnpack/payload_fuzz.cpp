// Reads and checks any bytes as a payload; what passes is written, read again, and must pass again. Its mutator changes
// numbers of payloads that can be read, so that the checks behind the reader are reached.
#include <stdlib.h>
#include <string.h>

#include <random>

#include "backends/xnnpack/payload_nodes.h"

namespace {

using namespace wick;
using namespace wick::xnnpack;
using Dims = std::vector<uint32_t>;

#ifdef WICK_FUZZ
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Every number whose change leaves something to check.
std::vector<uint32_t*> numbers_of(Payload& payload) {
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

void change(Payload& payload, std::minstd_rand& random) {
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

// Outputs get the sizes that the check found, or they would always differ.
void declare_outputs(Payload& payload) {
  std::vector<Dims> dims;
  if (check_payload(payload, nullptr, &dims, nullptr) == Error::Ok || dims.size() != payload.values.size()) return;
  for (uint32_t id : payload.output_ids) payload.values[id].dims = dims[id];
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  Payload payload;
  if (random() % 4 == 0 || read_payload({data, size}, &payload, nullptr) != Error::Ok || payload.values.empty()) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (PayloadConstant& constant : payload.constants) {
    if (constant.key.empty()) constant.key = "k";
  }
  for (size_t count = 1 + random() % 4; count > 0; --count) change(payload, random);
  declare_outputs(payload);
  const std::vector<uint8_t> blob = write_payload(payload);
  if (blob.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, blob.data(), blob.size());
  return blob.size();
}
#endif

void check_smaller_inputs(const Payload& payload) {
  std::vector<Dims> halved, dims;
  for (uint32_t id : payload.input_ids) {
    halved.push_back(payload.values[id].dims);
    for (uint32_t& dim : halved.back()) dim = (dim + 1) / 2;
  }
  (void)check_payload(payload, &halved, &dims, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  char buffer[256];
  ErrorText text(buffer);
  Payload payload, copy;
  std::vector<Dims> dims, again;
  if (read_payload({data, size}, &payload, &text) != Error::Ok) return 0;
  if (check_payload(payload, nullptr, &dims, &text) != Error::Ok) return 0;
  if (dims.size() != payload.values.size()) abort();
  check_smaller_inputs(payload);
  for (size_t i = 1; i < payload.constants.size(); ++i) {
    if (payload.constants[i].key.empty()) return 0;
  }
  const std::vector<uint8_t> blob = write_payload(payload);
  if (read_payload({blob.data(), blob.size()}, &copy, &text) != Error::Ok) abort();
  if (check_payload(copy, nullptr, &again, &text) != Error::Ok || again != dims) abort();
  return 0;
}
