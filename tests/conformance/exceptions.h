// The only places where a case may be treated differently from all others, each with its reason.
#pragma once
#include <string_view>

#include "tests/conformance/compare.h"

namespace wick::conformance {

/// An operator whose results may differ more than its dtype allows.
struct LooserTolerance {
  std::string_view op;
  DType dtype;
  Tolerance tolerance;
  std::string_view why;
};
inline constexpr LooserTolerance kLooserTolerances[] = {
    {"", DType::f32, {}, ""},
};

/// A case that is known to fail; one that passes fails the test.
struct ExpectedFailure {
  std::string_view family;
  size_t line;
  std::string_view op, why;
};
inline constexpr ExpectedFailure kExpectedFailures[] = {
    {"", 0, "", ""},
};

/// Operators of other libraries that Wick does not know: compiling them must give unsupported_op.
inline constexpr std::string_view kRefusedNamespaces[] = {"torchvision.", "transformers."};

}  // namespace wick::conformance
