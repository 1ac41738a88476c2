// Compares the outputs of a case's program with eager's results.
#pragma once
#include <string>
#include <vector>

#include "tests/conformance/case_program.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/exceptions.h"

namespace wick::conformance {

/// Which elements are compared: all, or only those that are finite in eager.
enum class Elements { all, finite };

/// "" if each output agrees within the operator's tolerance, its exceptions considered; else a description of the first
/// difference. `absolute` is the least absolute tolerance.
std::string check_outputs(const Case& test, const CompiledCase& compiled, const std::vector<HostValue>& outputs,
                          Elements which = Elements::all, double absolute = 0);

/// The tolerance of the case's operator for a result with the dtype and elements of `want`.
Tolerance tolerance_for(const Case& test, const HostTensor& want);

/// Copies elements of `want` to `got` where an input of the same dtype and sizes has, at the same position, a number
/// that the XNNPACK library treats differently from eager: a subnormal one or, if a node has a note (`noted`), an
/// infinity or NaN.
void overlook_extremes(const Case& test, bool noted, HostTensor& got, const HostTensor& want);

/// Whether eager computes the call, the operator is a function of its operands (not random, no effects, no writes), and
/// no operand has more than `max_elements` elements.
bool is_small_function(const Case& test, size_t max_elements);
/// Whether kUntested lists the operator.
bool is_untested(std::string_view op);
bool is_expected_failure(const Case& test);
/// The exceptions of a family by operator and dtype; empty for most families.
Span<const DtypeException> dtype_exceptions(std::string_view family);
/// The exception for the case's operator and dtype, or null.
const DtypeException* dtype_exception(const Case& test);
/// The exception for a case of family mixes that explains this failure, or null. With "", the operator's first one.
const DtypeException* mix_exception(const Case& test, std::string_view failure = "");
/// Whether the exception covers this failure. A refusal must come from the compiler, not from the program.
bool explains(const DtypeException& exception, std::string_view failure);
/// The case's tensors, for messages: " t0: f32[2, 3]".
std::string shapes(const Case& test);

}  // namespace wick::conformance
