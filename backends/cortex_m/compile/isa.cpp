#include "backends/cortex_m/compile/isa.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/failure.h"

namespace wick::cortex_m {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::TargetOptions;

namespace {

// A processor. It also runs the instruction sets that follow `best` in the enum. It runs code for `emulated_as`, even
// if its floating-point unit differs.
struct Cpu {
  std::string_view name;
  Isa best;
  std::string_view flags;
  std::string_view emulated_as = {};
  KnownTo known_to = {};
};
constexpr std::string_view kM4 = "cortex-m4", kM55 = "cortex-m55", kM3 = "cortex-m3";
constexpr Cpu kCpus[] = {
    {kM55, Isa::mve, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", kM55},
    {"cortex-m52", Isa::mve, "-mcpu=cortex-m52 -mthumb -mfloat-abi=hard", kM55, {"14", "18"}},
    {"cortex-m85", Isa::mve, "-mcpu=cortex-m85 -mthumb -mfloat-abi=hard", kM55, {"13", "15"}},
    {kM4, Isa::dsp, "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", kM4},
    {"cortex-m7", Isa::dsp, "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16", kM4},
    {"cortex-m33", Isa::dsp, "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16", kM4},
    {"cortex-m35p", Isa::dsp, "-mcpu=cortex-m35p -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16", kM4},
    {kM3, Isa::scalar, "-mcpu=cortex-m3 -mthumb -mfloat-abi=soft", kM3},
    {"cortex-m23", Isa::scalar, "-mcpu=cortex-m23 -mthumb -mfloat-abi=soft"},
    {"cortex-m0plus", Isa::scalar, "-mcpu=cortex-m0plus -mthumb -mfloat-abi=soft"},
    {"cortex-m0", Isa::scalar, "-mcpu=cortex-m0 -mthumb -mfloat-abi=soft"},
};
constexpr Isa kIsas[] = {Isa::mve, Isa::dsp, Isa::scalar};

const Cpu* find_cpu(std::string_view name) {
  constexpr std::string_view kFamily = "cortex-";
  const auto found = std::find_if(std::begin(kCpus), std::end(kCpus), [&](const Cpu& cpu) {
    return name == cpu.name || name == cpu.name.substr(kFamily.size());
  });
  return found == std::end(kCpus) ? nullptr : found;
}

std::string names_of_cpus() {
  std::string names;
  for (const Cpu& cpu : kCpus) names += fmt::format("{}{}", names.empty() ? "" : ", ", cpu.name);
  return names;
}

std::string isas_of(const Cpu& cpu) {
  std::string names;
  for (const Isa isa : kIsas) {
    if (isa >= cpu.best) names += fmt::format("{}{}", names.empty() ? "" : ", ", name_of(isa));
  }
  return names;
}

}  // namespace

std::string_view name_of(Isa isa) { return isa == Isa::mve ? "mve" : isa == Isa::dsp ? "dsp" : "scalar"; }

Result<Configuration> read_configuration(const TargetOptions& options) {
  const std::string_view name = options.setting(kCpu), wanted = options.setting(kIsa);
  const Cpu* cpu = name.empty() ? &kCpus[0] : find_cpu(name);
  if (!cpu) {
    return Diag(Code::usage, "there is no such processor").expected(compiler::printable(name), names_of_cpus());
  }
  Configuration out;
  out.cpu = cpu->name;
  out.isa = cpu->best;
  for (const Isa isa : kIsas) {
    if (wanted == name_of(isa)) out.isa = isa;
  }
  if (out.isa < cpu->best) {
    return Diag(Code::usage, fmt::format("{} does not have the instruction set {}", cpu->name, name_of(out.isa)))
        .expected(std::string(name_of(out.isa)), isas_of(*cpu));
  }
  out.tight = options.setting(kMemory) == "tight";
  out.stock_only = options.stock_only;
  return out;
}

std::string compiler_flags(std::string_view cpu, Isa isa) {
  const Cpu& found = *find_cpu(cpu);
  std::string flags(found.flags);
  // isa/chosen.h uses DSP instructions if the processor has them, unless this is defined.
  if (isa == Isa::scalar && found.best != Isa::scalar) flags += " -DWICK_CORTEX_M_SCALAR";
  return flags;
}

KnownTo known_to(std::string_view cpu) { return find_cpu(cpu)->known_to; }

std::string_view emulated_as(std::string_view cpu) { return find_cpu(cpu)->emulated_as; }

Configuration configuration(const TargetOptions& options) {
  return compiler::value_or_throw(read_configuration(options));
}

}  // namespace wick::cortex_m
