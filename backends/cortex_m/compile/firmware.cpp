// How firmware for a processor is built: the compiler's options, and for each operator the kernel that kernels.inc
// names for the instruction set.
#include <fmt/format.h>

#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/target.h"

namespace wick::cortex_m {

using compiler::Code;
using compiler::Diag;
using compiler::FirmwareTarget;
using compiler::Result;
using compiler::TargetSettings;

namespace {

struct KernelRow {
  const char *name, *signature, *function;
  const char* variants[3];  // by Isa
};
constexpr KernelRow kKernelRows[] = {
#define KERNEL(name, signature, function, mve, dsp, scalar) {name, signature, #function, {#mve, #dsp, #scalar}},
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
};

std::string qualified(const char* variant, const char* function) {
  return fmt::format("wick::cortex_m::{}::{}", variant, function);
}

// The value of "cortex_m.KEY=VALUE" among the facts, or "".
std::string fact(std::string_view facts, std::string_view key) {
  const std::string wanted = fmt::format("cortex_m.{}=", key);
  while (!facts.empty()) {
    const std::string_view word = facts.substr(0, facts.find(' '));
    if (word.starts_with(wanted)) return std::string(word.substr(wanted.size()));
    facts.remove_prefix(std::min(facts.size(), word.size() + 1));
  }
  return "";
}

std::string value_of(const TargetSettings& settings, std::string_view key) {
  std::string value;
  for (const auto& [name, given] : settings) {
    if (name == key) value = given;
  }
  return value;
}

// The configuration of the settings `given` and of the program's facts. Error: they disagree.
Result<Configuration> agree(const TargetSettings& given, std::string_view facts) {
  TargetSettings settings;
  for (const char* key : {kCpu.name, kIsa.name}) {
    const std::string wanted = value_of(given, key), prepared = fact(facts, key);
    if (!wanted.empty() || !prepared.empty()) settings.emplace_back(key, wanted.empty() ? prepared : wanted);
  }
  compiler::TargetOptions options;
  options.settings = &settings;
  ASSIGN_OR_RETURN(Configuration found, read_configuration(options));
  const std::string cpu = fact(facts, kCpu.name), isa = fact(facts, kIsa.name);
  if (!cpu.empty() && cpu != found.cpu) {
    return Diag(Code::usage, "the program was prepared for another processor")
        .expected(cpu, std::string(found.cpu))
        .with_help(fmt::format("compile it with --cpu {}, or leave out --cpu", found.cpu));
  }
  if (!isa.empty() && isa != name_of(found.isa)) {
    return Diag(Code::usage, "the program was prepared for another instruction set")
        .expected(isa, std::string(name_of(found.isa)))
        .with_help(fmt::format("compile it with --isa {}, or leave out --isa", name_of(found.isa)));
  }
  return found;
}

}  // namespace

Result<FirmwareTarget> firmware(const TargetSettings& settings, std::string_view facts) {
  FirmwareTarget out;
  const bool known = !value_of(settings, kCpu.name).empty() || !fact(facts, kCpu.name).empty();
  Isa isa = Isa::scalar;
  if (known) {
    ASSIGN_OR_RETURN(const Configuration found, agree(settings, facts));
    isa = found.isa;
    out.cpu = found.cpu;
    out.flags = compiler_flags(found.cpu, isa);
    out.measured_on = emulated_as(found.cpu);
    const KnownTo since = known_to(found.cpu);
    if (!since.gcc.empty()) out.same_as = emulated_as(found.cpu);
    out.known_to_gcc = since.gcc;
    out.known_to_clang = since.clang;
    out.built_for = fmt::format("cortex_m.isa={}", name_of(isa));
    // With vector instructions, GCC 12 reads uninitialized registers where it selects between vectors.
    if (isa == Isa::mve) out.plain_flags = fmt::format("-mcpu={}+nomve", found.cpu);
  }
  out.portable_built_for = "cortex_m.isa=mve cortex_m.isa=dsp cortex_m.isa=scalar";
  for (const KernelRow& row : kKernelRows) {
    out.kernels.push_back({row.name, row.signature, qualified(row.variants[static_cast<size_t>(isa)], row.function),
                           qualified("reference", row.function)});
  }
  return out;
}

}  // namespace wick::cortex_m
