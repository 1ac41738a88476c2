// Where rounding numbers to int16 shows in what a model gives, and which numbers' rounding it is. C++20.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "backends/cortex_m/compile/refusal.h"
#include "compiler/analysis/rounding_limits.h"
#include "compiler/ir/graph.h"

namespace wick::cortex_m {

/// How far elements can be from the numbers that eager computes: by their own rounding, and by all that they are
/// computed of as well.
struct Rounding {
  double own = 0, all = 0;
};
/// Of numbers that become int16; null: the value does not.
using RoundingOf = std::function<const Rounding*(const compiler::Value& value)>;

/// A difference that counts between elements (compiler::steps_that_count), in numbers.
double steps_that_count(const compiler::Value& value);

/// Of what a node computes of rounded numbers.
double error_of(const compiler::Node& node, const RoundingOf& rounding);

struct ShownRounding {
  const compiler::Node* reader = nullptr;  // that cannot compute on the numbers whose rounding adds most
  Refusal reason;                          // about this node: which numbers, how far, what the user can do
};

/// Whether the rounding of what a node reads shows in what it gives to the model: in a step of elements, or at all
/// where results are positions or truth.
std::optional<ShownRounding> shown_rounding(const compiler::Node& node, const RoundingOf& rounding);

}  // namespace wick::cortex_m
