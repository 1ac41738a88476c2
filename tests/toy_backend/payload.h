// The blob of a toy delegate, little-endian u32 throughout:
//   magic "TOY1", num_inputs, num_constants, num_nodes, num_outputs, num_elements of each tensor,
//   num_constants x {low, high half of a hash}, num_nodes x {kind, a, b}, num_outputs x value
// Values count through inputs, constants and nodes. Constants are named data, whose names hold in the whole file: equal
// ones of several delegates are one. C++17.
#pragma once
#include <string>
#include <vector>

#include "wick/span.h"
#include "wick/status.h"

namespace wick::toy {

enum class Kind : uint32_t { add, mul };

struct PayloadNode {
  Kind kind;
  uint32_t a, b;  // values before it
};

struct Payload {
  uint32_t num_inputs = 0, num_elements = 0;
  std::vector<uint64_t> constants;  // hashes of their bytes
  std::vector<PayloadNode> nodes;
  std::vector<uint32_t> outputs;
  size_t num_values() const { return num_inputs + constants.size() + nodes.size(); }
};

/// The name of a constant's bytes in the file.
std::string constant_name(uint64_t hash);
std::vector<uint8_t> write_payload(const Payload& payload);
/// False unless every byte has its meaning, every value exists and is computed before it is read, and the sizes of all
/// values together fit into memory. Takes no more memory than the payload has bytes.
bool read_payload(Span<const uint8_t> bytes, Payload* payload);

}  // namespace wick::toy
