// Compiles one case to a program: imports, optimizes, plans and emits it as the compiler does for a file.
#pragma once
#include <functional>
#include <vector>

#include "compiler/driver/compile.h"
#include "tests/conformance/case_file.h"

namespace wick::conformance {

/// How the program gets the case's tensors:
///   - inputs: all are inputs of the method;
///   - constants: all are constants of the file, so the compiler may fold the call;
///   - first_input: the first is an input, the others are constants, as weights are;
///   - dynamic_inputs: inputs, and every size above 1 is a symbol; equal sizes share one. The file records only those
///     facts about the results that the operator's row cannot infer;
///   - unbounded_inputs: as dynamic_inputs, but the symbols have no maximum. If the size of a result depends on values,
///     that size alone is such a symbol;
///   - untyped_results: inputs, and the file records nothing about the results. Requires a shape function.
enum class Operands { inputs, constants, dynamic_inputs, unbounded_inputs, first_input, untyped_results };

/// The bytes of a .pte with one method, "forward". Its inputs are the case's tensors in order, without those that are
/// constants. Its outputs are the mutated tensors, in input order, then the operator's results, with lists flattened
/// and None left out. Errors: the compiler's. The case must outlive the call.
struct CompiledCase {
  std::vector<uint8_t> pte;
  std::vector<int32_t> mutated_inputs;
  compiler::PartitionReport partition;  // filled if the options have targets
};
/// `change`, if any, is applied after all passes.
compiler::Result<CompiledCase> compile_case(const Case& test, const compiler::CompileOptions& options,
                                            Operands operands,
                                            const std::function<void(compiler::Graph&)>& change = nullptr);
compiler::Result<CompiledCase> compile_case(const Case& test, compiler::Profile profile, Operands operands);

/// One size, between `min` and `max`, that is known only at run time. Each dimension in `places` has it; a place is
/// {number of the tensor, dimension}. Without places all sizes are known.
struct OneSize {
  std::vector<std::pair<size_t, size_t>> places;
  int64_t min = 0, max = 0;
};
/// Compiles the case with this size. The file records nothing about the results.
/// Requires: `operands` is inputs or first_input, and the operator has a shape function.
compiler::Result<CompiledCase> compile_case(const Case& test, const compiler::CompileOptions& options,
                                            Operands operands, const OneSize& size);

/// Plans and emits a function on which all passes have run.
compiler::Result<CompiledCase> write_case(const compiler::Function& function, compiler::Profile profile);

/// The case as a function, before any pass.
compiler::Result<compiler::Function> import_case(const Case& test, Operands operands);

/// The numbers of the operands that the result of another such call can replace: the operator returns one tensor, with
/// the operand's dtype and sizes.
std::vector<size_t> chain_operands(const Case& test);
/// A chain of `length` calls: each reads the result of the previous one as operand number `operand`, one of
/// chain_operands(). The last result is the output.
compiler::Result<compiler::Function> import_chain(const Case& test, size_t operand, size_t length);

}  // namespace wick::conformance
