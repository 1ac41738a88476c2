// The parts that a backend adds to the sources of a firmware that runs its programs. C++20.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wick::compiler {

/// A kernel as a firmware's table names it. Functions are qualified: "wick::NAMESPACE::function".
struct FirmwareKernel {
  const char* name;       // registry key
  const char* signature;  // wick/kernel.h
  std::string function;   // for the processor
  std::string portable;   // in plain C++, for any processor
};

/// Everything is "" and empty if a program needs nothing of the backend and no processor was asked for.
struct FirmwareTarget {
  std::string cpu;          // as compilers name it after -mcpu=
  std::string flags;        // of GCC and clang, to compile and link for it
  std::string plain_flags;  // GCC: in addition, for files that are not written for its vectors; or ""
  /// `same_as`: a processor with the same instructions that older compilers know, or "". GCC knows `cpu` from version
  /// `known_to_gcc` on, clang from `known_to_clang` on.
  std::string same_as, known_to_gcc, known_to_clang;
  std::string measured_on;  // cpu of the device whose code it runs unchanged; or ""
  std::string built_for;    // KernelTable::built_for of the kernels for the processor
  std::string portable_built_for;
  std::vector<FirmwareKernel> kernels;  // all that there are
};

}  // namespace wick::compiler
