// Reports the steps that a delegate executes, with the times that its backend predicts for one device. C++20.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wick::compiler {

/// A node of the model, as reports name it.
struct NodeName {
  std::string op, module, source;
};

/// A launch of a kernel, a copy or a fill.
struct DelegateStep {
  std::string kernel;             // its name; "copy", "fill"
  std::string schedule;           // how threads share the work; "" for copies and fills
  std::vector<NodeName> nodes;    // that it computes, in order; without `op` if only their places are known
  std::vector<NodeName> inlined;  // nodes that it computes wherever it reads them
  std::string why;                // why its result is stored and the next kernel is another one; "" if not known
  std::array<std::string, 3> grid, block;                 // numbers, or formulas of sizes; "" for copies and fills
  uint64_t flops = 0, read_bytes = 0, written_bytes = 0;  // distinct bytes
  double time_us = 0;
  std::string bound;  // what takes that time: "arithmetic", "memory", "latency"
};

/// A mutable buffer that the delegate holds.
struct DelegateBuffer {
  std::string name;  // in the model
  uint64_t size_bytes = 0;
  std::optional<uint64_t> written_bytes;  // in a call, at the upper bounds; none: not known
};

struct DelegateReport {
  std::string method, producer, model;  // what the payload says of its origin; "" if it says nothing
  uint64_t partition = 0;               // of the method
  std::string device;                   // that times are predicted for
  std::vector<DelegateStep> steps;
  std::vector<NodeName> views;       // nodes that no step computes: other strides of a tensor in memory
  std::vector<std::string> symbols;  // "s0: 1..64": sizes that are known at run time; numbers are at the upper bounds
  std::vector<DelegateBuffer> buffers;
  double gap_us = 0;  // between two steps
  uint64_t arena_bytes = 0, weight_bytes = 0, state_bytes = 0;

  double time_us() const {
    double sum = 0;
    for (const DelegateStep& step : steps) sum += step.time_us + gap_us;
    return sum;
  }
};

}  // namespace wick::compiler
