// The contents of a package: programs with their methods, kernels and sources.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/program/fixed_plan.h"
#include "cli/program/program_session.h"
#include "compiler/partition/target.h"
#include "runtime/exec/method_layout.h"
#include "wick/dtype.h"

namespace wick::cli {

/// An input or output of a method.
struct Port {
  std::string name;  // an identifier
  std::string type;  // "f32[1, 8]"
  bool is_tensor = false;
  bool is_dynamic = false;  // `sizes` are upper bounds
  DType dtype = DType::f32;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;  // of the elements in memory; empty: row-major
  uint64_t size_bytes = 0;
  /// Quantization of the elements, or of the operator that quantizes or dequantizes them.
  struct Grid {
    double scale;
    int64_t zero_point;
  };
  std::optional<Grid> grid;
};

/// An arena begins at a multiple of this many bytes.
constexpr uint64_t kArenaAlignment = 16;
constexpr uint64_t aligned_bytes(uint64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// Elements of one run in their layout in memory: inputs, and outputs of the host.
struct Sample {
  std::vector<HostValue> values;  // the inputs, row-major
  std::vector<std::vector<uint8_t>> inputs, outputs;
};

struct MethodPlan {
  std::string name, prefix;  // prefix: of its functions
  std::vector<Port> inputs, outputs;
  Counts objects;  // numbers of objects of the runtime
  uint64_t arena_bytes = 0, state_bytes_32 = 0, state_bytes_64 = 0, scratch_bytes = 0;
  std::optional<uint64_t> stack_bytes;
  Sample sample;
};

/// A program whose methods are tables.
struct FixedProgram {
  uint64_t first_byte;  // the first byte of the file that the package holds
  std::vector<FixedMethodPlan> methods;
  std::vector<std::vector<std::string>> operators;  // of each method
};

struct ProgramPlan {
  std::string name;  // an identifier; prefix of its functions and files
  std::string path;
  std::vector<uint8_t> bytes;         // the file
  std::optional<FixedProgram> fixed;  // borrows the bytes
  uint64_t constants_bytes = 0;       // constant_bytes of the file
  uint64_t shared_bytes = 0;          // bytes of the arena that its methods share
  std::vector<MethodPlan> methods;

  /// The part of the file that the package holds.
  Span<const uint8_t> constant_bytes() const {
    const size_t first = fixed ? static_cast<size_t>(fixed->first_byte) : 0;
    return {bytes.data() + first, bytes.size() - first};
  }
};

/// A row of the package's kernel tables.
struct KernelPlan {
  std::string name, signature, function, portable;  // functions are qualified; equal for portable kernels
  bool of_backend = false;
};

struct PackagePlan {
  std::string name;
  std::vector<ProgramPlan> programs;
  compiler::FirmwareTarget target;
  std::vector<KernelPlan> kernels;  // sorted by name
  /// Paths in the tree. `sources`: for every build. `target_sources`: for the processor. `portable_sources`: plain C++
  /// in place of target_sources, for any processor.
  std::vector<std::string> headers, sources, target_sources, portable_sources;
  std::string measured_on;   // the device, or ""
  std::string not_measured;  // why there is no such device
  std::optional<device::FirmwareSize> flash;

  /// Whether some program is loaded. has_tables(): whether some program is tables.
  bool loads() const {
    return std::any_of(programs.begin(), programs.end(), [](const ProgramPlan& each) { return !each.fixed; });
  }
  bool has_tables() const {
    return std::any_of(programs.begin(), programs.end(),
                       [](const ProgramPlan& each) { return each.fixed.has_value(); });
  }
};

struct PackageOptions {
  std::string name;
  std::vector<std::string> programs;  // "[NAME=]FILE.pte"
  compiler::TargetSettings settings;  // of backends
  std::vector<std::string> inputs;    // of the sample, if there is one program with one method; else random
  uint64_t seed = 0;
  std::optional<uint64_t> scratch_bytes;  // instead of the measured size
  std::string device;                     // to measure on; "": the processor's, if it is available; "none"
};

/// Reads the programs, runs each method once on the host and, if there is a device, on that.
/// Errors: usage (names, processors that contradict each other, no processor), incompatible_file (delegates, weights
/// outside the program, operators without kernel), execution, and those of Session.
compiler::Result<PackagePlan> plan_package(const PackageOptions& options);

/// `text` as an identifier of C: other characters become '_'.
std::string c_identifier(std::string_view text);
std::string upper_case(std::string_view text);

/// The ports of a method. (program_ports.cpp)
void describe_ports(const MethodMeta& meta, const MethodFacts& facts, MethodPlan* plan);

/// Runs the methods of a program on the host, with the plain loops, one thread and exactly the memory of the plan.
/// Fills in the samples and, unless it was given, the size of the scratch memory. (measure_program.cpp)
compiler::Status measure_on_host(Session& session, const PackageOptions& options, ProgramPlan* plan);
/// Measures the stack of the methods and the flash of the package. Does nothing if the device is not available and was
/// not asked for.
compiler::Status measure_on_device(const PackageOptions& options, PackagePlan* plan);

}  // namespace wick::cli
