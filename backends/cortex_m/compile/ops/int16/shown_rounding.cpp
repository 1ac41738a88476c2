#include "backends/cortex_m/compile/ops/int16/shown_rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cortex_m/compile/ops/int16/rounding.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/quantized.h"
#include "compiler/support/diag.h"

namespace wick::cortex_m {

using compiler::kMostError;
using compiler::Node;
using compiler::printable;
using compiler::Value;

namespace {

// The operand whose rounding adds most to the error of the node's result. Null: none adds any.
const Value* most_rounded(const Node& node, const RoundingOf& rounding) {
  const Value* most = nullptr;
  double largest = 0;
  for (const Value* operand : node.operands()) {
    const Rounding* of = rounding(*operand);
    if (!of || of->all == 0) continue;
    const double error = shows_any_rounding(node) ? of->all : error_behind(node, *operand, of->all);
    if (error <= largest) continue;
    most = operand;
    largest = error;
  }
  return most;
}

// The value whose own rounding adds most to that error, and the node that computes on it, perhaps after it was moved.
struct Source {
  const Node* reader;
  const Value* value;
};

Source source_of_error(const Node& node, const RoundingOf& rounding) {
  Source source = {&node, most_rounded(node, rounding)};
  while (true) {
    const Rounding& of = *rounding(*source.value);
    const Node* producer = source.value->producer;
    const Value* behind = of.own < of.all - of.own ? most_rounded(*producer, rounding) : nullptr;
    if (!behind) return source;
    source = {only_moves(*producer) ? source.reader : producer, behind};
  }
}

// "put 'y' off by 12.3 steps, where 0.75 are allowed"
std::string effect_text(const Value& result, double error) {
  const double step = affine(result).scale, most = kMostError * steps_that_count(result);
  const std::string name = printable(result.name);
  if (!std::isfinite(error)) return fmt::format("put '{}' off without a known limit", name);
  return fmt::format("put '{}' off by {:.3g} of its steps, more than {:.3g}", name, error / step, most / step);
}

// The name of the first result that is read. Requires: shows_any_rounding(node).
const std::string& result_name(const Node& node) {
  const auto read = std::find_if(node.results().begin(), node.results().end(),
                                 [](const Value* each) { return each->num_uses() > 0; });
  return (*read)->name;
}

// ", or give 'y' a scale of at least 0.2"; "" where no scale is large enough.
std::string coarser_scale_text(const Value& result, double error) {
  if (!std::isfinite(error)) return "";
  constexpr double kRoundedUp = 1.01;  // rounds up to three digits
  const double least = kRoundedUp * affine(result).scale * error / (kMostError * steps_that_count(result));
  return fmt::format(", or give '{}' a scale of at least {:.3g}", printable(result.name), least);
}

ShownRounding shown(const Node& node, const RoundingOf& rounding, const std::string& effect,
                    const std::string& other_help = "") {
  const Source source = source_of_error(node, rounding);
  const Value& value = *source.value;
  return {source.reader,
          {fmt::format("it computes on '{}' (from {}), which is not quantized, and rounding that to int16 could {}",
                       printable(value.name), value.producer->op->name(), effect),
           fmt::format("quantize '{}' in the model, with int8 or int16{}", printable(value.name), other_help)}};
}

}  // namespace

double steps_that_count(const Value& value) { return affine(value).scale * compiler::steps_that_count(value.dtype()); }

double error_of(const Node& node, const RoundingOf& rounding) {
  double error = 0;
  for (const Value* operand : node.operands()) {
    if (const Rounding* of = rounding(*operand)) error += error_behind(node, *operand, of->all);
  }
  return error;
}

std::optional<ShownRounding> shown_rounding(const Node& node, const RoundingOf& rounding) {
  if (shows_any_rounding(node)) {
    if (!most_rounded(node, rounding)) return std::nullopt;
    return shown(node, rounding,
                 fmt::format("change '{}', which has positions or truth", printable(result_name(node))));
  }
  const double error = error_of(node, rounding);
  for (const Value* result : node.results()) {
    const bool is_seen = result->num_uses() > 0 && has_elements(*result) && !rounding(*result);
    if (is_seen && error > kMostError * steps_that_count(*result))
      return shown(node, rounding, effect_text(*result, error), coarser_scale_text(*result, error));
  }
  return std::nullopt;
}

}  // namespace wick::cortex_m
