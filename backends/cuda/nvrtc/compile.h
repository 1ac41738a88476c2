// Text of kernels to device code. C++20.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda/compile/text/program.h"
#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cuda {

/// What code is for: compute capability number / 10 . number % 10.
struct Architecture {
  uint32_t number = 0;  // 90
  bool is_ptx = false;  // PTX for any device of at least that capability, instead of a cubin
  /// A cubin for devices of exactly that capability: its code may have instructions that later ones lack.
  bool is_exact = false;
  bool operator==(const Architecture&) const = default;
};
/// sm_80 (all 8.x), sm_90, sm_100, sm_120, and PTX of 90 for what comes later.
Span<const Architecture> default_architectures();
/// Those and sm_90a, which has instructions for four warps together.
Span<const Architecture> known_architectures();
/// "sm_90", "ptx_90", "sm_90a".
std::string architecture_name(Architecture architecture);

/// What a kernel takes of a device, as its compiler counts.
struct KernelResources {
  std::string name;
  uint32_t registers = 0;
  uint32_t spill_bytes = 0;  // stored or loaded by a thread for want of registers
  uint32_t stack_bytes = 0;
  uint32_t static_shared_bytes = 0;
};

struct DeviceCode {
  Architecture architecture;
  std::vector<uint8_t> bytes;              // a cubin, or PTX that ends with a zero
  std::vector<KernelResources> resources;  // by name; empty for PTX
};

struct DeviceOptions {
  bool line_info = false;  // for profilers; such code is larger
};

/// One module per architecture, all kernels in each. Equal texts and options give equal bytes, in any folder, by one
/// version of NVRTC. Modules are compiled by a thread each: kernels of one module are not, since linking parts again
/// would need another library, and the number of processors must not show in the bytes. A cubin in which kernels that
/// begin with WICK_KERNEL(name, threads) spill registers is compiled again, with more registers for these.
/// Errors: missing_tool; internal if NVRTC refuses the text, with its line.
compiler::Result<std::vector<DeviceCode>> compile_device_code(Span<const KernelText> kernels,
                                                              Span<const Architecture> architectures,
                                                              const DeviceOptions& options = {});

/// What the kernels of cubins take, a line for each kernel and architecture: for reports, and for tests that compare it
/// with a table that is kept.
std::string resource_table(Span<const DeviceCode> codes);

/// The table in the compiler's log, by kernel name.
std::vector<KernelResources> read_resources(std::string_view log);

}  // namespace wick::cuda
