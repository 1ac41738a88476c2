// Writes kernels that share a launch.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/loop_text.h"
#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

// The declarations of a kernel's parameters: "const f32* __restrict__ p0", ..
std::vector<std::string> declarations_of(const KernelSource& source) {
  std::vector<std::string> out;
  const std::string& text = source.parameters_text;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(", ", begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  WICK_CHECK(out.size() == source.parameters.size());
  return out;
}

// The text of a kernel whose blocks begin at block `first` of the launch.
std::string from_block(std::string body, int64_t first) {
  const std::string number = "block_x()", own = fmt::format("(block_x() - {}u)", first);
  for (size_t at = body.find(number); first > 0 && at != std::string::npos; at = body.find(number, at + own.size()))
    body.replace(at, number.size(), own);
  return body;
}

void add(KernelSource& all, const KernelSource& one) {
  const int64_t first = all.grid[0].value(), end = first + one.grid[0].value();
  all.body += fmt::format("  if (block_x() >= {}u && block_x() < {}u) {{\n", first, end);
  const std::vector<std::string> declarations = declarations_of(one);
  for (size_t i = 0; i < declarations.size(); ++i) {
    const std::string& declared = declarations[i];
    const size_t name = declared.rfind(' ') + 1;
    const std::string own = fmt::format("a{}", all.parameters.size());
    all.parameters_text += (all.parameters.empty() ? "" : ", ") + declared.substr(0, name) + own;
    all.body += fmt::format("  {} = {};\n", declared, own);
    all.parameters.push_back(one.parameters[i]);
  }
  all.body += from_block(one.body, first) + "  }\n";
  all.grid[0] = end;
  all.has_barriers = all.has_barriers || one.has_barriers;
  all.dynamic_shared_bytes = std::max(all.dynamic_shared_bytes, one.dynamic_shared_bytes);
  if (all.label.size() + one.label.size() < 48) all.label += (all.label.empty() ? "" : "_") + one.label;
}

}  // namespace

KernelSource write_beside(LoweredGraph& graph, const LoopKernel& kernel) {
  LoopKernel alone = kernel;
  alone.beside.clear();
  KernelSource all;
  all.grid[0] = 0;
  const KernelSource first = write_kernel(graph, alone);
  all.schedule = first.schedule;
  add(all, first);
  for (const auto& other : kernel.beside) {
    const KernelSource source = write_kernel(graph, *other);
    WICK_CHECK(source.schedule.threads == all.schedule.threads && source.counters.is(0));
    add(all, source);
  }
  return all;
}

}  // namespace wick::cuda
