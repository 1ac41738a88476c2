// The cost of a call of a method on a device that counts instructions.
#pragma once
#include <string>
#include <vector>

#include "cli/call_options.h"
#include "cli/trace/profile_summary.h"

namespace wick::cli {

/// An instruction of the program that ran, and what it took from the executor's call of its kernel to the return.
struct CountedStep {
  std::string op;  // "aten::add.out", "(control flow)"
  PlaceFacts place;
  device::Counts counts;
  uint64_t begin = 0;  // instructions of the processor since the execution began
};

struct DeviceCounts {
  std::string method;
  std::string not_counted;   // why instructions were not counted; "" if they were
  device::Counts execution;  // the executor included
  std::vector<CountedStep> steps;
  uint64_t arena_bytes = 0;    // all planned arenas
  uint64_t scratch_bytes = 0;  // scratch memory of kernels, outside the arenas
  uint64_t stack_bytes = 0;    // high-water mark of loading and executing
  uint64_t execution_stack_bytes = 0;
  uint64_t method_arena_bytes = 0;
  uint64_t program_bytes = 0;
  device::FirmwareSize firmware;
};

/// Counting instructions needs a plugin of QEMU. This tells how to get it.
constexpr char kHowToCount[] =
    "counting needs QEMU 7.2 to 8.2 with plugins, as in Debian 12, and Wick built where it is installed";

/// Runs the method twice: with markers around each instruction, and without, for the whole.
compiler::Result<DeviceCounts> count_on_device(const CallOptions& options);

}  // namespace wick::cli
