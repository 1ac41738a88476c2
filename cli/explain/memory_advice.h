// Advice on how to make a program fit its memory budget.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "compiler/driver/compile.h"

namespace wick::cli {

struct Budget {
  uint64_t arena_bytes = UINT64_MAX, file_bytes = UINT64_MAX;
};

/// Compiles the same model for targets with other options.
using RecompileFn =
    std::function<compiler::Result<compiler::CompileResult>(const std::vector<compiler::TargetRequest>&)>;

/// Returns sentences with numbers of this program: what dominates the peak or the file, what other values of the
/// targets' options give, and by how much tensors would have to shrink. Empty if the program fits.
std::vector<std::string> memory_advice(const compiler::CompileResult& result, const Budget& budget,
                                       const std::vector<compiler::TargetRequest>& targets,
                                       const RecompileFn& recompile);

}  // namespace wick::cli
