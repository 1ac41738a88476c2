// Run-time checks: the model's own assertions, rules of input sizes, ranges of numbers read from data. A check that
// holds costs its condition and one jump. A check that fails jumps past the last instruction, to a call that every
// runtime refuses: an index beyond a tensor of one element.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ir/delegate.h"
#include "compiler/ir/text/text.h"
#include "compiler/plan/linearizer.h"
#include "compiler/support/failure.h"

namespace wick::compiler {

bool is_condition(const Sym& sym) {
  if (sym.is_const() || !sym.symbol_name().empty()) return false;
  switch (sym.node()->op) {
    case SymOp::eq:
    case SymOp::ne:
    case SymOp::lt:
    case SymOp::le:
    case SymOp::logical_and:
    case SymOp::logical_or:
    case SymOp::logical_not: return true;
    default: return false;
  }
}

namespace {

std::string range_text(const SymRange& range) {
  if (range.max == kUnbounded) return fmt::format("at least {}", range.min);
  return range.min == std::numeric_limits<int64_t>::min() ? fmt::format("at most {}", range.max)
                                                          : fmt::format("in [{}, {}]", range.min, range.max);
}

}  // namespace

void Linearizer::check(int32_t condition, const std::string& message) {
  checks_.push_back({emit_jump(condition), origin_, message});
}

int32_t Linearizer::compare(const char* name, int32_t a, int32_t b) {
  const int32_t result = add_value(false);
  emit_kernel(fmt::format("executorch_prim::{}.Scalar", name), {a, b, result});
  return result;
}

// Emits the checks of the range of `sym`, which is known at run time and never below `natural_min`.
void Linearizer::check_range(const Sym& sym, const std::string& subject, int64_t natural_min) {
  const auto stated = graph_.ranges.find(sym.text());  // the exporter states ranges of sums and products too
  const SymRange range = stated != graph_.ranges.end() ? stated->second : range_of(sym, graph_.ranges);
  const std::string message = fmt::format("{} must be {}", subject, range_text(range));
  if (range.min > natural_min) check(compare("ge", int_value(sym), literal_int(range.min)), message);
  if (range.max != kUnbounded) check(compare("le", int_value(sym), literal_int(range.max)), message);
}

// The name that messages give the integer that `node` reads: an input of the method, or a number read from data.
std::string Linearizer::number_subject(const Node& node) const {
  const Value* source = node.args().empty() || !node.arg(size_t{0}).is<Value*>() ? nullptr : node.arg(0).as<Value*>();
  for (size_t i = 0; source && i < graph_.inputs.size(); ++i) {
    if (graph_.inputs[i].value == source && source->rank() == 0)
      return fmt::format("input {} ('{}')", i, graph_.inputs[i].name);
  }
  return fmt::format("{}, a number read from data,", node.result()->type.expr.symbol_name());
}

// For programs of profile stock: the sizes that may be 0 and would then make an operand of a delegate empty, but not
// all its results. Stock's delegates skip nodes over empty tensors and leave old bytes in such results.
std::set<std::string, std::less<>> Linearizer::sizes_that_stock_needs() const {
  std::set<std::string, std::less<>> needed;
  if (!options_.stock_only) return needed;
  for (const auto& node : graph_.nodes()) {
    if (!node->is(kCallDelegate)) continue;
    std::set<std::string, std::less<>> symbols;
    for (const Value* operand : node->operands()) {
      for (size_t dim = 0; dim < operand->rank(); ++dim) collect_symbols(operand->sizes()[dim], symbols);
    }
    for (const std::string& symbol : symbols) {
      if (range_of(Sym::symbol(symbol), graph_.ranges).min > 0) continue;
      const std::map<std::string, Sym, std::less<>> none{{symbol, Sym(0)}};
      const auto has_elements = [&](const Value* value) {
        const Sizes& sizes = value->sizes();
        return std::none_of(sizes.begin(), sizes.end(), [&](const Sym& size) { return substitute(size, none).is(0); });
      };
      const std::vector<Value*> operands = node->operands();
      const std::vector<Value*>& results = node->results();
      if (!std::all_of(operands.begin(), operands.end(), has_elements) &&
          std::any_of(results.begin(), results.end(), has_elements))
        needed.insert(symbol);
    }
  }
  return needed;
}

// Checks the ranges of the symbols in input sizes, and the sizes that other sizes determine.
void Linearizer::check_input_sizes() {
  const std::set<std::string, std::less<>> needed = sizes_that_stock_needs();
  std::set<std::string, std::less<>> checked;
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const GraphInput& input = graph_.inputs[i];
    if (input.kind != GraphInput::Kind::value || !input.value->type.is_tensor()) continue;
    for (size_t dim = 0; dim < input.value->rank(); ++dim) {
      const Sym& size = input.value->sizes()[dim];
      if (size.is_const()) continue;
      const std::string subject = fmt::format("dimension {} of input {} ('{}')", dim, i, input.name);
      std::set<std::string, std::less<>> symbols;
      collect_symbols(size, symbols);
      const bool first = std::all_of(symbols.begin(), symbols.end(),
                                     [&](const std::string& symbol) { return checked.count(symbol) == 0; });
      if (!first || size.symbol_name().empty()) {
        const int32_t found = add_value(int64_t{0});
        emit_kernel("aten::sym_size.int", {tensor_index(input.value), literal_int(static_cast<int64_t>(dim)), found});
        check(compare("eq", found, int_value(size)), fmt::format("{} must be {}", subject, size.text()));
        if (size.symbol_name().empty() && graph_.ranges.count(size.text()) != 0) check_range(size, subject, 0);
      }
      for (const std::string& symbol : symbols) {
        if (!checked.insert(symbol).second) continue;
        const Sym lone = Sym::symbol(symbol);
        const std::string named = symbol == size.text() ? subject : fmt::format("{} in {}", symbol, subject);
        check_range(lone, named, 0);
        if (needed.count(symbol) == 0) continue;
        check(compare("ge", int_value(lone), literal_int(1)),
              named + " must be 1 or more: delegates on the stock runtime have no empty tensors");
      }
    }
  }
}

void Linearizer::assertion(const Node& node) {
  if (node.is("aten._assert_tensor_metadata.default")) return;  // its types were compared when it was made
  const int message = node.op->parsed->find("assert_msg");
  const Arg& self = node.arg(size_t{0});
  std::string text = message < 0 ? "" : node.arg(static_cast<size_t>(message)).as<std::string>();
  if (text.empty()) text = "an assertion of the model";
  if (self.is<Sym>()) {
    const Sym& sym = self.as<Sym>();
    if (sym.is_const()) return sym.is(0) ? check(literal(false), text) : void();
    const int32_t index = int_value(sym);
    const bool truth = is_condition(sym) || std::holds_alternative<bool>(plan_.values[static_cast<size_t>(index)]);
    return check(truth ? index : int_value(make_sym(SymOp::ne, {sym, Sym(0)})), text);
  }
  if (self.is<bool>()) return self.as<bool>() ? void() : check(literal(false), text);
  const Value* value = self.as<Value*>();
  if (!value->type.is_tensor()) {
    const int32_t index = scalar_index(value);
    if (value->type.kind == TypeKind::boolean) return check(index, text);
    const int32_t is_zero = compare("eq", index, literal_int(0)), holds = add_value(false);
    emit_kernel("executorch_prim::sym_not.Scalar", {is_zero, holds});
    return check(holds, text);
  }
  if (value->dtype() == DType::boolean) return check(tensor_index(value), text);
  PlannedTensor truth = describe(value);
  truth.dtype = DType::boolean;
  const int32_t holds = scratch_like(truth, "assertion");
  emit_kernel("aten::ne.Scalar_out", {tensor_index(value), literal_int(0), holds, holds});
  check(holds, text);
}

// One failing call for each message, behind the last instruction.
void Linearizer::failures() {
  if (checks_.empty()) return;
  origin_ = nullptr;
  PlannedTensor one;
  one.sizes = {1};
  one.dim_order = {0};
  const int32_t tensor = scratch_like(one, "failed check");
  const size_t to_end = emit_jump(false_value());
  std::map<std::pair<const Origin*, std::string>, int32_t> places;
  for (const Check& check : checks_) {
    auto [place, fresh] =
        places.try_emplace({check.origin.get(), check.message}, static_cast<int32_t>(plan_.instructions.size()));
    plan_.instructions[check.jump].args[1] = place->second;
    if (!fresh) continue;
    origin_ = check.origin;
    const uint32_t at =
        emit_kernel("aten::select_copy.int_out", {tensor, literal_int(0), literal_int(1), tensor, tensor});
    plan_.instructions[at].check = check.message;
  }
  land(to_end);
  origin_ = nullptr;
}

}  // namespace wick::compiler
