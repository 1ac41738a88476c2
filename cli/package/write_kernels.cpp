// The kernel tables of a package: a row for each operator of its programs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/package/package_files.h"

namespace wick::cli {
namespace {

std::pair<std::string, std::string> split(const std::string& function) {
  const size_t at = function.rfind("::");
  return {function.substr(0, at), function.substr(at + 2)};
}

std::string declarations(const std::set<std::string>& functions) {
  std::map<std::string, std::vector<std::string>> by_namespace;
  for (const std::string& function : functions) {
    const auto [scope, name] = split(function);
    by_namespace[scope].push_back(name);
  }
  std::string out;
  for (const auto& [scope, names] : by_namespace) {
    out += fmt::format("namespace {} {{\n", scope);
    for (const std::string& name : names) out += fmt::format("void {}(KernelContext&, Span<EValue*>);\n", name);
    out += fmt::format("}}  // namespace {}\n", scope);
  }
  return out;
}

std::string rows(const PackagePlan& plan, bool of_backend, bool portable) {
  std::string out;
  for (const KernelPlan& kernel : plan.kernels) {
    if (kernel.of_backend != of_backend) continue;
    out += fmt::format("    {{\"{}\", \"{}\", {}}},\n", kernel.name, kernel.signature,
                       portable ? kernel.portable : kernel.function);
  }
  return out;
}

}  // namespace

// The namespace of the package's functions: a firmware may have several packages.
std::string package_namespace(const PackagePlan& plan) { return plan.name + "_package"; }

std::string kernels_header(const PackagePlan& plan) {
  return fmt::format(
      "// Written by wick package.\n#ifndef {0}_KERNELS_H\n#define {0}_KERNELS_H\n#include \"wick/kernel.h\"\n\n"
      "namespace {1} {{\n/// The kernels of the programs of this package, and no others.\n"
      "wick::Span<const wick::KernelTable> kernels();\n}}  // namespace {1}\n#endif\n",
      upper_case(plan.name), package_namespace(plan));
}

std::string kernels_source(const PackagePlan& plan) {
  std::set<std::string> target, portable;
  bool of_backend = false, own = false;
  for (const KernelPlan& kernel : plan.kernels) {
    target.insert(kernel.function);
    portable.insert(kernel.portable);
    (kernel.of_backend ? of_backend : own) = true;
  }
  std::string out = fmt::format("// Written by wick package.\n#include \"{}_kernels.h\"\n\n", plan.name);
  if (of_backend) {
    out += fmt::format(
        "// WICK_PORTABLE_KERNELS: kernels in plain C++, for any processor.\n#ifdef "
        "WICK_PORTABLE_KERNELS\n{}#else\n{}#endif\n\n",
        declarations(portable), declarations(target));
  } else {
    out += declarations(target) + "\n";
  }
  out += fmt::format("namespace {} {{\nnamespace {{\n\n", package_namespace(plan));
  if (of_backend) {
    out += fmt::format(
        "constexpr wick::Kernel kOfProcessor[] = {{\n#ifdef WICK_PORTABLE_KERNELS\n{}#else\n{}#endif\n}};\n"
        "#ifdef WICK_PORTABLE_KERNELS\nconstexpr char kBuiltFor[] = \"{}\";\n#else\nconstexpr char kBuiltFor[] = "
        "\"{}\";\n#endif\n",
        rows(plan, true, true), rows(plan, true, false), plan.target.portable_built_for, plan.target.built_for);
  }
  if (own) out += fmt::format("constexpr wick::Kernel kPortable[] = {{\n{}}};\n", rows(plan, false, true));
  out += "constexpr wick::KernelTable kTables[] = {";
  if (of_backend) out += "{wick::Span<const wick::Kernel>(kOfProcessor), kBuiltFor}, ";
  if (own) out += "{wick::Span<const wick::Kernel>(kPortable)}, ";
  if (plan.kernels.empty()) out += "wick::KernelTable()";
  out += "};\n\n}  // namespace\n\n";
  return out +
         fmt::format("wick::Span<const wick::KernelTable> kernels() {{ return kTables; }}\n\n}}  // namespace {}\n",
                     package_namespace(plan));
}

}  // namespace wick::cli
