#include "tests/toy_backend/payload.h"

#include <stdio.h>

namespace wick::toy {
namespace {

constexpr uint32_t kMagic = 0x31594f54;  // "TOY1"
constexpr size_t kHeaderWords = 6, kConstantWords = 2, kNodeWords = 3;
constexpr uint32_t kMaxElements = 1u << 24, kMaxValues = 1u << 12;

uint32_t word(Span<const uint8_t> bytes, size_t index) {
  const uint8_t* at = bytes.data() + 4 * index;
  return static_cast<uint32_t>(at[0]) | static_cast<uint32_t>(at[1]) << 8 | static_cast<uint32_t>(at[2]) << 16 |
         static_cast<uint32_t>(at[3]) << 24;
}

void put(std::vector<uint8_t>& bytes, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(value >> shift));
}

}  // namespace

std::string constant_name(uint64_t hash) {
  char name[32];
  snprintf(name, sizeof name, "toy.%016llx", static_cast<unsigned long long>(hash));
  return name;
}

std::vector<uint8_t> write_payload(const Payload& payload) {
  std::vector<uint8_t> bytes;
  for (const uint32_t value : {kMagic, payload.num_inputs, static_cast<uint32_t>(payload.constants.size()),
                               static_cast<uint32_t>(payload.nodes.size()),
                               static_cast<uint32_t>(payload.outputs.size()), payload.num_elements})
    put(bytes, value);
  for (const uint64_t hash : payload.constants) {
    put(bytes, static_cast<uint32_t>(hash));
    put(bytes, static_cast<uint32_t>(hash >> 32));
  }
  for (const PayloadNode& node : payload.nodes) {
    put(bytes, static_cast<uint32_t>(node.kind));
    put(bytes, node.a);
    put(bytes, node.b);
  }
  for (const uint32_t output : payload.outputs) put(bytes, output);
  return bytes;
}

bool read_payload(Span<const uint8_t> bytes, Payload* payload) {
  if (bytes.size() % 4 != 0 || bytes.size() / 4 < kHeaderWords || word(bytes, 0) != kMagic) return false;
  const size_t words = bytes.size() / 4;
  const uint32_t num_constants = word(bytes, 2), num_nodes = word(bytes, 3), num_outputs = word(bytes, 4);
  payload->num_inputs = word(bytes, 1);
  payload->num_elements = word(bytes, 5);
  for (const uint32_t count : {payload->num_inputs, num_constants, num_nodes, num_outputs}) {
    if (count > kMaxValues) return false;
  }
  const size_t first_node = kHeaderWords + kConstantWords * num_constants,
               first_output = first_node + kNodeWords * num_nodes;
  if (payload->num_elements > kMaxElements || words != first_output + num_outputs) return false;
  for (size_t at = kHeaderWords; at < first_node; at += kConstantWords)
    payload->constants.push_back(word(bytes, at) | uint64_t{word(bytes, at + 1)} << 32);
  uint32_t known = payload->num_inputs + num_constants;
  for (size_t i = 0; i < num_nodes; ++i, ++known) {
    const size_t at = first_node + kNodeWords * i;
    const uint32_t kind = word(bytes, at), a = word(bytes, at + 1), b = word(bytes, at + 2);
    if (kind > static_cast<uint32_t>(Kind::mul) || a >= known || b >= known) return false;
    payload->nodes.push_back({static_cast<Kind>(kind), a, b});
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    const uint32_t output = word(bytes, first_output + i);
    if (output < payload->num_inputs || output >= known) return false;
    payload->outputs.push_back(output);
  }
  return true;
}

}  // namespace wick::toy
