#include "cli/package/package_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/package/embedded_sources.h"
#include "runtime/firmware/fixed_method.h"
#include "runtime/firmware/packaged_method.h"

namespace wick::cli {
namespace {

// Upper bounds, for GCC and clang on each instruction set, of the bytes of a program's functions and texts, and of
// those of each method (write_program.cpp).
constexpr uint64_t kFunctionsBytes = 768, kMethodFunctionsBytes = 384;

// The bytes of a handle: a pointer to itself, one to the text of its last error, and its members. A multiple of 8.
uint64_t instance_bytes(uint64_t pointer_bytes, uint64_t member_bytes) {
  return (2 * pointer_bytes + member_bytes + 7) / 8 * 8;
}

}  // namespace

ProgramBytes bytes_of(const ProgramPlan& program) {
  ProgramBytes bytes;
  bytes.arena = aligned_bytes(program.shared_bytes);
  for (const MethodPlan& method : program.methods) {
    bytes.arena += aligned_bytes(method.arena_bytes);
    bytes.state_32 += aligned_bytes(method.state_bytes_32);
    bytes.state_64 += aligned_bytes(method.state_bytes_64);
    bytes.scratch = std::max(bytes.scratch, method.scratch_bytes);
    if (method.stack_bytes) bytes.stack = std::max(bytes.stack.value_or(0), *method.stack_bytes);
  }
  const uint64_t methods = program.methods.size();
  if (program.fixed) {
    bytes.instance_32 = instance_bytes(4, methods * kFixedMethodBytes32);
    bytes.instance_64 = instance_bytes(8, methods * sizeof(FixedMethod));
  } else {
    constexpr uint64_t kText = PackagedMethod::kMaxTextBytes;
    bytes.instance_32 = instance_bytes(4, kPackagedProgramBytes32 + methods * kPackagedMethodBytes32 + kText);
    bytes.instance_64 = instance_bytes(8, sizeof(PackagedProgram) + methods * sizeof(PackagedMethod) + kText);
  }
  return bytes;
}

uint64_t program_bytes(const ProgramPlan& program) {
  uint64_t total = program.constant_bytes().size();
  if (!program.fixed) return total;
  for (const FixedMethodPlan& method : program.fixed->methods) total += method.table_bytes();
  return total;
}

std::optional<uint64_t> flash_bytes(const PackagePlan& plan) {
  if (!plan.flash) return std::nullopt;
  uint64_t total = plan.flash->core_bytes + plan.flash->kernels_bytes;
  for (const ProgramPlan& program : plan.programs)
    total += program_bytes(program) + kFunctionsBytes + program.methods.size() * kMethodFunctionsBytes;
  return total;
}

compiler::Status check_budgets(const PackagePlan& plan, const Budgets& budgets) {
  std::vector<std::string> found;
  const auto check = [&](const std::string& what, uint64_t bytes, const std::optional<uint64_t>& allowed,
                         const char* flag) {
    if (allowed && bytes > *allowed)
      found.push_back(fmt::format("{} {} bytes, {} allows {}", what, bytes, flag, *allowed));
  };
  for (const ProgramPlan& program : plan.programs) {
    check(fmt::format("the arena of '{}' has", program.name), bytes_of(program).arena, budgets.arena_bytes,
          "--max-arena");
    check(fmt::format("the program '{}' has", program.name), program.bytes.size(), budgets.file_bytes, "--max-file");
  }
  if (budgets.flash_bytes && !plan.flash) {
    return compiler::Diag(compiler::Code::usage, "--max-flash: the flash is measured on a device, and there is none")
        .note(plan.not_measured)
        .with_help("build the devices (make devices, after make setup-all), or leave out --max-flash");
  }
  check("programs, kernels and runtime take", flash_bytes(plan).value_or(0), budgets.flash_bytes, "--max-flash");
  if (found.empty()) return {};
  compiler::Diag diag(compiler::Code::budget, found[0]);
  diag.notes.assign(found.begin() + 1, found.end());
  return std::move(diag).with_help("wick explain shows what is alive at the peak, wick inspect what is in the file");
}

std::map<std::string, std::string> package_files(const PackagePlan& plan, const Budgets& budgets) {
  std::map<std::string, std::string> files;
  const SourceTree& tree = embedded_sources();
  for (const auto* list : {&plan.headers, &plan.sources, &plan.target_sources, &plan.portable_sources}) {
    for (const std::string& path : *list) files["wick/" + path] = tree.find(path)->second;
  }
  for (const ProgramPlan& program : plan.programs) {
    files[fmt::format("include/{}.h", program.name)] = header_text(plan, program, budgets);
    files[fmt::format("src/{}.cpp", program.name)] = program_source(plan, program, budgets);
    files[fmt::format("src/{}_single.cpp", program.name)] = single_source(program);
    files[fmt::format("src/{}_memory.cpp", program.name)] = memory_source(program);
    files[fmt::format("src/{}_program.cpp", program.name)] = array_source(program);
  }
  files[fmt::format("src/{}_kernels.h", plan.name)] = kernels_header(plan);
  files[fmt::format("src/{}_kernels.cpp", plan.name)] = kernels_source(plan);
  files["CMakeLists.txt"] = cmake_text(plan);
  files["Makefile"] = makefile_text(plan);
  files["README.md"] = readme_text(plan);
  files["LICENSE"] = tree.find("LICENSE")->second;
  files["example/main.c"] = example_source(plan);
  return files;
}

}  // namespace wick::cli
