// Processors, and the instruction sets that their kernels may use. C++20.
#pragma once
#include <string_view>

#include "compiler/partition/target.h"

namespace wick::cortex_m {

/// Whose kernels a program is prepared for: vectors (Helium), two 16-bit lanes, or neither.
enum class Isa : uint8_t { mve, dsp, scalar };
std::string_view name_of(Isa isa);

/// What a program is compiled for.
struct Configuration {
  std::string_view cpu = "cortex-m55";
  Isa isa = Isa::mve;
  bool tight = false;       // memory rather than speed
  bool stock_only = false;  // no operators that stock lacks
};

inline constexpr compiler::TargetOption kCpu = {
    "cpu", "",
    "processor: cortex-m55 (default), m52 or m85 with MVE; m4, m7, m33 or m35p with DSP; m3, m23, m0plus or m0", true,
    "NAME"};
inline constexpr compiler::TargetOption kIsa = {
    "isa", "auto|mve|dsp|scalar", "instruction set of the kernels; auto: the best that the processor has", true};
inline constexpr compiler::TargetOption kMemory = {"memory", "fast|tight",
                                                   "tight: less scratch memory, for more instructions", true};

/// Errors: usage (no such processor, or it lacks the instruction set), with those there are.
compiler::Result<Configuration> read_configuration(const compiler::TargetOptions& options);
/// Options of GCC and clang for kernels of `isa` on a processor of read_configuration.
std::string compiler_flags(std::string_view cpu, Isa isa);
/// The first versions of GCC and clang that know a processor for which there is an older one with the same
/// instructions, emulated_as; "" for the others.
struct KnownTo {
  std::string_view gcc, clang;
};
KnownTo known_to(std::string_view cpu);
/// The processor whose code it runs unchanged, and that QEMU emulates; "" if there is none.
std::string_view emulated_as(std::string_view cpu);
/// For options that have been checked.
Configuration configuration(const compiler::TargetOptions& options);

}  // namespace wick::cortex_m
