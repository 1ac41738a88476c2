// Compiles the text of kernels to device code. C++20.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/compile/text/program.h"
#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cuda {

/// The target of device code. `number` is the compute capability times 10.
struct Architecture {
  uint32_t number = 0;  // 90
  bool is_ptx = false;  // PTX for any device of at least that capability, instead of a cubin
  /// A cubin for devices of exactly that capability. Its code may have instructions that later devices lack.
  bool is_exact = false;
  bool operator==(const Architecture&) const = default;
};
/// sm_80 (all 8.x), sm_90, sm_100, sm_120, and PTX of 90 for devices to come.
Span<const Architecture> default_architectures();
/// The default ones and sm_90a, which has matrix instructions of four warps.
Span<const Architecture> known_architectures();
/// "sm_90", "ptx_90", "sm_90a".
std::string architecture_name(Architecture architecture);

/// The resources that a kernel takes of a device, as the compiler reports them.
struct KernelResources {
  std::string name;
  uint32_t registers = 0;
  uint32_t spill_bytes = 0;  // that a thread stores and loads because it has too few registers
  uint32_t stack_bytes = 0;
  uint32_t static_shared_bytes = 0;
};

struct DeviceCode {
  Architecture architecture;
  std::vector<uint8_t> bytes;              // a cubin, or PTX that ends with a zero
  std::vector<KernelResources> resources;  // sorted by name; empty for PTX
};

struct DeviceOptions {
  bool line_info = false;  // for profilers; makes the code larger
};

/// One module for each architecture, with all kernels in each. Equal texts and options give equal bytes with one
/// version of NVRTC, in any folder and for any number of processors. Each module is compiled by a thread of its own,
/// but not the kernels of one module: linking parts would need another library. If kernels that begin with
/// WICK_KERNEL(name, threads) spill registers, their cubin is compiled again, with more registers for these. Errors:
/// missing_tool; internal if NVRTC refuses the text, with the line that it refuses.
compiler::Result<std::vector<DeviceCode>> compile_device_code(Span<const KernelText> kernels,
                                                              Span<const Architecture> architectures,
                                                              const DeviceOptions& options = {});

/// The resources of the kernels in cubins, a line for each kernel and architecture. For reports, and for tests that
/// compare it with a stored table.
std::string resource_table(Span<const DeviceCode> codes);

/// Reads the table in the compiler's log. Sorted by kernel name.
std::vector<KernelResources> read_resources(std::string_view log);

}  // namespace wick::cuda
