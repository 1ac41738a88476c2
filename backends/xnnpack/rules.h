// What the families of rows share. C++20.
#pragma once
#include <initializer_list>

#include "backends/xnnpack/lower.h"
#include "compiler/ir/builder.h"

namespace wick::xnnpack {

/// A family's rows.
struct RuleFamily {
  const OpRule* rows;
  size_t count;
};
extern const RuleFamily kLinearRules, kMovementRules, kNormalizationRules, kPointwiseRules, kWindowRules;

// Layout rules that several families use.
LayoutRule any_order(const compiler::Node& node);
LayoutRule plain_layout(const compiler::Node& node);
LayoutRule channels_last(const compiler::Node& node);

/// A number among the arguments, known at compile time; nothing for one that is read at run time or symbolic.
std::optional<double> number(const compiler::Node& node, std::string_view name);
/// [dims of the result]: as the payload holds them in `order`.
Dims result_dims(const compiler::Node& node);

}  // namespace wick::xnnpack
