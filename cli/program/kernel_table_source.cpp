#include "cli/program/kernel_table_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/program/operator_facts.h"

namespace wick::cli {
namespace {

struct KernelRow {
  const char* name;
  const char* signature;
  const char* function;
};

constexpr KernelRow kKernelRows[] = {
#define KERNEL(name, signature, function) {name, signature, #function},
#include "runtime/exec/prim_list.inc"
#include "runtime/kernels/kernel_list.inc"
#undef KERNEL
};

}  // namespace

compiler::Result<std::string> kernel_table_source(const std::set<std::string>& names) {
  std::vector<const KernelRow*> rows;
  std::set<std::string> functions;
  std::string of_backends;
  compiler::Diag missing(compiler::Code::incompatible_file, "Wick has no kernel for some operators");
  for (const std::string& name : names) {
    const auto* row = std::find_if(std::begin(kKernelRows), std::end(kKernelRows),
                                   [&](const KernelRow& each) { return name == each.name; });
    if (row != std::end(kKernelRows)) {
      rows.push_back(row);
      functions.insert(row->function);
    } else if (is_of_backend(name)) {
      of_backends += "\n//   " + name;
    } else {
      missing.notes.push_back(name);
      if (missing.help.empty()) missing.help = way_around(name);
    }
  }
  if (!missing.notes.empty()) return missing;
  std::string out =
      "// The kernels of some programs, and nothing else. Written by: wick ops --emit-table\n"
      "#include \"wick/portable_kernels.h\"\n\nnamespace wick {\n";
  if (!of_backends.empty())
    out += fmt::format("// MethodOptions::kernels also needs the tables of the backends that have these:{}\n",
                       of_backends);
  if (rows.empty()) return out + "\nKernelTable portable_kernels() { return KernelTable(); }\n\n}  // namespace wick\n";
  out += "namespace kernels {\n";
  for (const std::string& function : functions)
    out += fmt::format("void {}(KernelContext&, Span<EValue*>);\n", function);
  out += "}  // namespace kernels\n\nnamespace {\nconstexpr Kernel kKernelRows[] = {\n";
  for (const KernelRow* row : rows)
    out += fmt::format("    {{\"{}\", \"{}\", kernels::{}}},\n", row->name, row->signature, row->function);
  return out +
         "};\n}  // namespace\n\nKernelTable portable_kernels() { return KernelTable(kKernelRows); }\n\n}  // "
         "namespace "
         "wick\n";
}

}  // namespace wick::cli
