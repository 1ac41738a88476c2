// Rules of sizes that the exporter recorded as Python text: "(L['x'].size()[0] % 2) == 0".
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "compiler/ir/sym/sym.h"

namespace wick::compiler {

/// Size `dimension` of the tensor input `name`, or the int input `name` if there is no dimension. The name is what the
/// exporter calls the placeholder: the path "a[0].left" is "a_0_left". Nothing if the program has no such input.
using SizeOf = std::function<std::optional<Sym>(std::string_view name, std::optional<int64_t> dimension)>;

/// The rule as a condition on sizes; nothing if it speaks of anything else. A rule that only keeps sizes of 0 and 1 out
/// is the condition 1, always true: the exporter assumes that every size that varies is at least 2; the user did not
/// ask for that.
std::optional<Sym> read_size_rule(std::string_view text, const SizeOf& size_of);

/// A size over symbols as sympy prints it, which ranges are keyed by: "s77**2 - 1", "Max(4, s77)". Nothing if it is of
/// another form.
std::optional<Sym> read_size(std::string_view text);

}  // namespace wick::compiler
