// The files of a package, as text.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "cli/package/package_plan.h"

namespace wick::cli {

/// The limits of --max-arena and similar options. They are checked again when the package is compiled.
struct Budgets {
  std::optional<uint64_t> arena_bytes, file_bytes, flash_bytes;
};

/// Bytes of a program, as its header states them.
struct ProgramBytes {
  uint64_t arena = 0;  // of all methods, including what they share
  uint64_t state_32 = 0, state_64 = 0;
  uint64_t scratch = 0;  // only one method runs at a time
  uint64_t instance_32 = 0, instance_64 = 0;
  std::optional<uint64_t> stack;
};
ProgramBytes bytes_of(const ProgramPlan& program);
/// Bytes of a program in constant memory, including its tables.
uint64_t program_bytes(const ProgramPlan& program);
/// Bytes of programs, kernels and runtime; nullopt if they were not measured.
std::optional<uint64_t> flash_bytes(const PackagePlan& plan);

/// Errors: budget, naming all limits that are exceeded; usage (--max-flash without a device to measure on).
compiler::Status check_budgets(const PackagePlan& plan, const Budgets& budgets);

/// Path in the package -> contents. Deterministic.
std::map<std::string, std::string> package_files(const PackagePlan& plan, const Budgets& budgets);

// write_header.cpp: the interface of a program, for C and C++.
std::string header_text(const PackagePlan& plan, const ProgramPlan& program, const Budgets& budgets);
// write_program.cpp: the functions, the static memory, the bytes.
std::string program_source(const PackagePlan& plan, const ProgramPlan& program, const Budgets& budgets);
std::string single_source(const ProgramPlan& program);
std::string memory_source(const ProgramPlan& program);
std::string array_source(const ProgramPlan& program);
// write_fixed.cpp: tables in place of loading, and the code that binds them. Requires: the program has tables.
std::string fixed_tables(const PackagePlan& plan, const ProgramPlan& program);
std::string fixed_init(const PackagePlan& plan, const ProgramPlan& program);
// write_kernels.cpp: the kernel tables.
std::string package_namespace(const PackagePlan& plan);
std::string kernels_header(const PackagePlan& plan);
std::string kernels_source(const PackagePlan& plan);
// write_build.cpp
std::string cmake_text(const PackagePlan& plan);
std::string makefile_text(const PackagePlan& plan);
// write_texts.cpp
std::string readme_text(const PackagePlan& plan);
std::string example_source(const PackagePlan& plan);
/// Lines of at most 16 bytes in hexadecimal, each with a comma.
std::string hex_rows(Span<const uint8_t> bytes);
/// The C type of an element: "float", "int8_t".
const char* c_type(DType dtype);

}  // namespace wick::cli
