// Do the outputs of a case's program hold what eager says?
#pragma once
#include <string>
#include <vector>

#include "tests/conformance/case_program.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/exceptions.h"

namespace wick::conformance {

/// Which elements count: all, or those that are finite in eager.
enum class Elements { all, finite };

/// "" if each output agrees within the tolerance of the operator, with its exceptions, and `absolute`, else what
/// differs first.
std::string check_outputs(const Case& test, const CompiledCase& compiled, const std::vector<HostValue>& outputs,
                          Elements which = Elements::all, double absolute = 0);

/// What the case's operator allows for results like `want`.
Tolerance tolerance_for(const Case& test, const HostTensor& want);

/// Elements that come, element by element, of numbers that the XNNPACK library treats otherwise get what eager says:
/// those below the least normal one and, of programs with notes, those near the largest and NaN.
void overlook_extremes(const Case& test, bool noted, HostTensor& got, const HostTensor& want);

/// Does eager compute the call, of an operator that is a function of its operands, none of more than `max_elements`
/// elements?
bool is_small_function(const Case& test, size_t max_elements);
/// Is the operator among kUntested?
bool is_untested(std::string_view op);
bool is_expected_failure(const Case& test);
/// The exceptions of a family by operator and dtype; none of most families.
Span<const DtypeException> dtype_exceptions(std::string_view family);
/// The exception for the case's operator and dtype, or null.
const DtypeException* dtype_exception(const Case& test);
/// The exception for a case of family mixes that explains this failure, or null; "": the first one.
const DtypeException* mix_exception(const Case& test, std::string_view failure = "");
/// Is this failure the one that the exception is for? The compiler, not the program, must be what refuses.
bool explains(const DtypeException& exception, std::string_view failure);
/// The case's tensors, for messages: " t0: f32[2, 3]".
std::string shapes(const Case& test);

}  // namespace wick::conformance
