#include "backends/cuda/compile/text/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/text_file.h"
#include "compiler/support/result.h"

namespace wick {
extern const TextFile kCudaVocabulary[];
extern const size_t kCudaVocabularyCount;
}  // namespace wick

namespace wick::cuda {
namespace {

// Functions that kernels share with the runtime's portable kernels.
constexpr const char* kCommon[] = {
    "common/float16.h",          "common/math/math.h",
    "common/random.h",           "common/math/polynomials.h",
    "common/math/two_doubles.h", "common/math/float_math.h",
    "common/math/arithmetic.h",  "common/math/special.h",
    "common/math/orthogonal.h",  "common/math/exponential.cpp",
    "common/math/logarithm.cpp", "common/math/trigonometric.cpp",
    "common/math/arc.cpp",       "common/math/hyperbolic.cpp",
    "common/math/fmod.cpp",      "common/math/error_function.cpp",
    "common/math/gamma.cpp",     "common/math/power.cpp",
    "common/math/bessel.cpp",    "common/math/special.cpp",
    "common/math/airy.cpp",      "common/distributions.h",
};
// The vocabulary above device.h and host.h.
constexpr const char* kShared[] = {
    "backends/cuda/compile/text/numbers.h",     "backends/cuda/compile/text/integers.h",
    "backends/cuda/compile/text/functions.h",   "backends/cuda/compile/text/special.h",
    "backends/cuda/compile/text/operators.h",   "backends/cuda/compile/text/quantized.h",
    "backends/cuda/compile/text/tile_layout.h", "backends/cuda/compile/text/lines.h",
    "backends/cuda/compile/text/resample.h",    "backends/cuda/compile/text/regions.h",
    "backends/cuda/compile/text/matrices.h",    "backends/cuda/compile/text/spectra.h",
    "backends/cuda/compile/text/recurrences.h", "backends/cuda/compile/text/turned.h",
};

// Above device_matrix.h and host_matrix.h.
constexpr const char* kTiles = "backends/cuda/compile/text/tiles.h";
constexpr const char* kAttention = "backends/cuda/compile/text/attention.h";
constexpr const char* kMatvec = "backends/cuda/compile/text/matvec.h";

std::string part(std::string_view path) {
  const TextFile* const end = kCudaVocabulary + kCudaVocabularyCount;
  const TextFile* const found =
      std::find_if(kCudaVocabulary, end, [&](const TextFile& file) { return path == file.path; });
  WICK_CHECK(found != end);
  return without_includes(found->text, Includes::all);
}

void append_kernels(Span<const KernelText> kernels, std::string* program) {
  *program += "namespace wick_text {\n";
  for (const KernelText& kernel : kernels) *program += fmt::format("#line 1 \"{}.cu\"\n{}\n", kernel.name, kernel.text);
  *program += "#line 1 \"end\"\n}  // namespace wick_text\n";
}

void append_table(Span<const KernelText> kernels, std::string* program) {
  std::vector<const KernelText*> sorted;
  for (const KernelText& kernel : kernels) sorted.push_back(&kernel);
  std::sort(sorted.begin(), sorted.end(), [](const KernelText* a, const KernelText* b) { return a->name < b->name; });
  *program += "const wick_twin::TwinKernel kTwinKernels[] = {\n";
  for (const KernelText* kernel : sorted) {
    *program += fmt::format(
        "  {{\"{0}\", [](void* const* p) {{ wick_text::call_kernel(&wick_text::{0}, p); }}, {1}, "
        "wick_text::parameter_bytes(&wick_text::{0})}},\n",
        kernel->name, kernel->has_barriers);
  }
  if (sorted.empty()) *program += "  {\"\", nullptr, false, \"\"},\n";
  *program += fmt::format("}};\nconst uint32_t kNumTwinKernels = {};\n", sorted.size());
}

}  // namespace

std::string without_includes(std::string_view text, Includes which) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const bool drop = line.rfind("#pragma once", 0) == 0 || line.rfind("#include \"", 0) == 0 ||
                      (which == Includes::all && line.rfind("#include", 0) == 0);
    if (!drop) out += line;
  }
  return out;
}

std::string device_vocabulary() {
  std::string program = part("backends/cuda/compile/text/device.h");
  for (const char* path : kCommon) program += part(path);
  for (const char* path : kShared) program += part(path);
  return program + part("backends/cuda/compile/text/device_matrix.h") +
         part("backends/cuda/compile/text/warpgroup/device.h") + part(kTiles) + part(kAttention) + part(kMatvec);
}

std::string device_program(Span<const KernelText> kernels) {
  std::string program = device_vocabulary();
  append_kernels(kernels, &program);
  return program;
}

std::string host_program(Span<const KernelText> kernels, const std::string& launcher) {
  std::string program = launcher;
  // Unnamed: the compiler drops what no kernel calls.
  program += "#include <stdint.h>\n#include <string.h>\n\n#include <type_traits>\n#include <utility>\nnamespace {\n";
  for (const char* path : kCommon) program += part(path);
  program += "}\n" + part("backends/cuda/compile/text/host.h");
  for (const char* path : kShared) program += part(path);
  program += part("backends/cuda/compile/text/host_matrix.h") + part("backends/cuda/compile/text/warpgroup/host.h") +
             part(kTiles) + part(kAttention) + part(kMatvec);
  append_kernels(kernels, &program);
  append_table(kernels, &program);
  return program;
}

}  // namespace wick::cuda
