// Turns an exported program (exported_program.h) into a functional graph.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "compiler/import/program/exported_program.h"
#include "compiler/ir/graph.h"

namespace wick::compiler {

struct ImportOptions {
  /// Upper bounds by symbol ("s53"). The bound called "" applies to each size of a user input without a bound of its
  /// own.
  std::map<std::string, int64_t, std::less<>> max_sizes;
};

/// Builds the graph of one exported program: in-place operators become new versions of values, mutated buffers become
/// state, mutated user inputs become updates; wrappers without meaning at inference (no_grad, autocast) are inlined;
/// numbers computed from sizes become expressions. Operators keep their names; composites stay whole. Constants point
/// into the mapped file. Errors: unsupported_op naming every missing operator with count and source; unsupported_model;
/// corrupt_file when the file's own types contradict what its operators compute; usage for a bound that does not fit.
Result<Function> import_program(const pt2::ExportedProgram& program, std::string method_name,
                                const ImportOptions& options = {});

}  // namespace wick::compiler
