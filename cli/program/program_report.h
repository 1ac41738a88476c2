// The report of `wick inspect` about a .pte.
#pragma once
#include <string>

#include "compiler/support/json_writer.h"
#include "compiler/support/result.h"
#include "wick/bundled_program.h"
#include "wick/program.h"

namespace wick::cli {

/// Bytes of the file by what they are; the sum is the file's size.
struct FileBytes {
  uint64_t tables = 0, constants = 0, initial_state = 0, delegates = 0, named_data = 0, padding = 0;
};
FileBytes file_bytes(const Program& program);
/// Bytes of constants and initial values, each counted once, without padding: as in CompileResult, but without weights
/// in another file. For a method: the bytes of its tensors.
uint64_t constant_bytes(const Program& program);
uint64_t constant_bytes(const MethodMeta& method);

/// The subject of a report; `bundled`: the test sets around the program, or null.
struct InspectedProgram {
  const std::string& path;
  const Program& program;
  const BundledProgram* bundled;
};

/// Tables for a terminal. `instructions` adds every instruction with its source. Errors: corrupt_file (metadata).
compiler::Status print_program(const InspectedProgram& file, bool instructions);

/// The same as one JSON object, "wick.inspect.1". Errors: corrupt_file (metadata).
compiler::Status write_program(const InspectedProgram& file, bool instructions, compiler::JsonWriter& json);

/// One instruction in words: "aten::add.out(v1, v2, v3)", "jump to 7 if v3 is false".
std::string instruction_text(const MethodMeta& method, const InstructionMeta& instruction);

/// The facts "KEY=VALUE" that the program was prepared for, separated by spaces, or "".
std::string prepared_for(const Program& program);

}  // namespace wick::cli
