#include <algorithm>

#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/pointwise/numbers.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

bool is_literal_number(const Arg& arg) {
  return arg.is<double>() || arg.is<bool>() || (arg.is<Sym>() && arg.as<Sym>().is_const());
}

// The number as eager's kernel reads it.
Arg converted(const Arg& number, DType dtype) {
  if (!is_integer_dtype(dtype) || number.is<bool>()) return number;
  if (number.is<Sym>()) return Sym(wrapped(number.as<Sym>().value(), dtype));
  return Sym(static_cast<int64_t>(number.as<double>()));
}

// Eager turns a difference into a sum with the negated factor, and checks that factor. Kernels wrap the factor itself.
Arg fitted_difference(const Node& node, size_t place, DType dtype) {
  const Arg& factor = node.arg(place);
  if (dtype_size_bytes(dtype) < sizeof(int64_t) && !fits(Arg(Sym(0) - factor.as<Sym>()), dtype))
    refuse_number(node, place, dtype);
  return factor;
}

// A bound outside the range of the dtype becomes the end of that range, which bounds nothing. If the result is an
// integer, a float bound is read as an integer.
Arg fitted_bound(const Node& node, size_t place, DType dtype) {
  Arg bound = node.arg(place);
  if (!is_integer_dtype(dtype)) {
    if (!fits(bound, dtype)) refuse_number(node, place, dtype);
    return bound;
  }
  if (!fits(bound, DType::i64)) refuse_number(node, place, DType::i64);
  bound = converted(bound, DType::i64);
  const bool is_low = node.op->parsed->args[place].name == node.op->facts.clamp.low_arg;
  const NumberLimits limits = limits_of(dtype);
  const double value = *literal(bound);
  if (is_low ? value > limits.largest : value < limits.least) refuse_number(node, place, dtype);
  if (dtype_size_bytes(dtype) == 8) return bound;
  return Sym(static_cast<int64_t>(std::clamp(value, limits.least, limits.largest)));
}

Arg fitted(const Node& node, size_t place) {
  const Numbers numbers = node.op->facts.numbers;
  const Arg& arg = node.arg(place);
  const DType result = node.result()->dtype();
  if (node.op->facts.clamp.low_arg) return fitted_bound(node, place, result);
  if (numbers == Numbers::wrap && place < 2) return arg.is<Sym>() ? converted(arg, computed_in(node)) : arg;
  const DType dtype = numbers == Numbers::fit_wide && is_16_bit(result) ? DType::f32 : result;
  const bool subtracts = node.is(Binary::sub) || node.is(Binary::rsub);
  if (subtracts && is_integer_dtype(dtype) && arg.is<Sym>()) return fitted_difference(node, place, dtype);
  if (!fits(arg, dtype)) refuse_number(node, place, dtype);
  return converted(arg, dtype);
}

bool takes_numbers(ArgType type) { return type == ArgType::scalar || type == ArgType::tensor || type == ArgType::real; }

Changed fit_numbers_in(Graph& graph) {
  Changed changed = Changed::no;
  for (const auto& node : graph.nodes()) {
    const OpFacts& facts = node->op->facts;
    if ((facts.numbers == Numbers::any && !facts.clamp.low_arg) || node->results().empty()) continue;
    if (!node->result()->type.is_tensor()) continue;
    for (size_t place = 0; place < node->args().size(); ++place) {
      if (!takes_numbers(node->op->parsed->args[place].type) || !is_literal_number(node->arg(place))) continue;
      Arg arg = fitted(*node, place);
      const bool is_kept = arg.is<double>() && node->arg(place).is<double>();  // also for NaN
      if (is_kept || arg == node->arg(place)) continue;
      graph.set_arg(node.get(), place, std::move(arg));
      changed = Changed::yes;
    }
  }
  return changed;
}

}  // namespace

// Gives operators on integers the literal numbers that eager's kernels read, and refuses those that eager refuses.
//   before: y = remainder(x: u8, -1)         after: y = remainder(x: u8, 255)
// The row of an operator states how it treats its numbers (Numbers, Clamp).
// Requires: results have types.
// Ensures: each literal number of an operator whose row has such a fact is an element of the dtype that eager reads it
// in, if that is an integer dtype.
// Keeps: every value, as eager computes it.
Result<Changed> fit_numbers(Graph& graph) { return for_each_graph(graph, fit_numbers_in); }

}  // namespace wick::compiler
