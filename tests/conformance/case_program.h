// One case as a program: imported, optimised, planned and written as the compiler does for a file.
#pragma once
#include <functional>
#include <vector>

#include "compiler/driver/compile.h"
#include "tests/conformance/case_file.h"

namespace wick::conformance {

/// Where the case's tensors come from: the caller, or the file, in which case the compiler may compute the results
/// itself, or all but the first from the file, as weights are. With dynamic sizes every size above 1 is a symbol, equal
/// sizes the same one, and the file records of the results only what their operator cannot say itself; with untyped
/// results, which are for operators that have a shape function, it records nothing of them.
/// Unbounded inputs are dynamic ones whose symbols have no maximum; of operators whose results' sizes depend on values,
/// only that size is such a symbol.
enum class Operands { inputs, constants, dynamic_inputs, unbounded_inputs, first_input, untyped_results };

/// The bytes of a .pte with one method, "forward", whose inputs are the case's tensors in order, unless they are
/// constants. Its outputs are the tensors it changes, in input order, then what the operator returns, lists flattened
/// and None left out. Errors: what the compiler says. The case must outlive the call.
struct CompiledCase {
  std::vector<uint8_t> pte;
  std::vector<int32_t> mutated_inputs;
  compiler::PartitionReport partition;  // with targets
};
/// `change`, if any, is applied behind all passes.
compiler::Result<CompiledCase> compile_case(const Case& test, const compiler::CompileOptions& options,
                                            Operands operands,
                                            const std::function<void(compiler::Graph&)>& change = nullptr);
compiler::Result<CompiledCase> compile_case(const Case& test, compiler::Profile profile, Operands operands);

/// A size that is known only at run time, between `min` and `max`: that of each dimension in `places`, which are pairs
/// of a tensor's number and a dimension. No places: all sizes are known.
struct OneSize {
  std::vector<std::pair<size_t, size_t>> places;
  int64_t min = 0, max = 0;
};
/// The case with this size. `operands` is inputs or first_input. The file records nothing of the results.
/// Requires: the operator has a shape function.
compiler::Result<CompiledCase> compile_case(const Case& test, const compiler::CompileOptions& options,
                                            Operands operands, const OneSize& size);

/// What is left to do once all passes have run.
compiler::Result<CompiledCase> write_case(const compiler::Function& function, compiler::Profile profile);

/// The case as a function, before any pass.
compiler::Result<compiler::Function> import_case(const Case& test, Operands operands);

/// The operands, by number, that may be the result of the same call: the operator returns one tensor, of the operand's
/// dtype and sizes.
std::vector<size_t> chain_operands(const Case& test);
/// `length` calls, each of which has the first result of the one before as operand number `operand`, one of
/// chain_operands. The last result is the output.
compiler::Result<compiler::Function> import_chain(const Case& test, size_t operand, size_t length);

}  // namespace wick::conformance
