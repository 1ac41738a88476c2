// Processors, and the instruction sets that kernels may use on them. C++20.
#pragma once
#include <string_view>

#include "compiler/partition/target.h"

namespace wick::cortex_m {

/// The instruction set of the kernels: vectors (Helium), two 16-bit lanes, or neither.
enum class Isa : uint8_t { mve, dsp, scalar };
std::string_view name_of(Isa isa);

/// The processor and the options that a program is compiled for.
struct Configuration {
  std::string_view cpu = "cortex-m55";
  Isa isa = Isa::mve;
  bool tight = false;       // prefer small memory to speed
  bool stock_only = false;  // use no operators that stock lacks
};

inline constexpr compiler::TargetOption kCpu = {
    "cpu", "",
    "processor: cortex-m55 (default), m52 or m85 with MVE; m4, m7, m33 or m35p with DSP; m3, m23, m0plus or m0", true,
    "NAME"};
inline constexpr compiler::TargetOption kIsa = {
    "isa", "auto|mve|dsp|scalar", "instruction set of the kernels; auto: the best that the processor has", true};
inline constexpr compiler::TargetOption kMemory = {"memory", "fast|tight",
                                                   "tight: less scratch memory, for more instructions", true};

/// Errors: usage (unknown processor, or one without the instruction set); the message lists the valid ones.
compiler::Result<Configuration> read_configuration(const compiler::TargetOptions& options);
/// Compiler options of GCC and clang for kernels of `isa`. Requires: a processor of read_configuration.
std::string compiler_flags(std::string_view cpu, Isa isa);
/// The first versions of GCC and clang that know a processor. "" unless there is an older processor with the same
/// instructions (emulated_as).
struct KnownTo {
  std::string_view gcc, clang;
};
KnownTo known_to(std::string_view cpu);
/// The processor that QEMU emulates and whose code runs unchanged on `cpu`; "" if there is none.
std::string_view emulated_as(std::string_view cpu);
/// The same as read_configuration, for options that it has accepted.
Configuration configuration(const compiler::TargetOptions& options);

}  // namespace wick::cortex_m
