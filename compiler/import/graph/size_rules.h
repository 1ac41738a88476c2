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

/// The rule as a condition on sizes; nullopt if it refers to anything else. A rule that only excludes sizes of 0 and 1
/// gives the condition 1, which is always true: the exporter assumes that every dynamic size is at least 2, which the
/// user did not ask for.
std::optional<Sym> read_size_rule(std::string_view text, const SizeOf& size_of);

/// Reads a size over symbols as sympy prints it, the form of the keys of range constraints: "s77**2 - 1", "Max(4,
/// s77)". Nullopt if it has another form.
std::optional<Sym> read_size(std::string_view text);

}  // namespace wick::compiler
