// Checks symbolic sizes of inputs: solves symbols from the inputs, then checks every size, range and relation.
#include <fmt/format.h>

#include <optional>
#include <set>

#include "cli/program/program_inputs.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Status;
using compiler::Sym;
using compiler::SymOp;

/// A size as the program states it, and its given value.
struct Rule {
  size_t input, dim;
  const Sym* size;
  int64_t value;
};

struct Linear {
  int64_t factor = 0, offset = 0;
};

// `sym` as factor * name + offset; nullopt if it does not have that form or overflows. Known symbols count as numbers.
std::optional<Linear> linear_in(const Sym& sym, std::string_view name, const compiler::SymValues& known) {
  if (sym.is_const()) return Linear{0, sym.value()};
  if (sym.symbol_name() == name) return Linear{1, 0};
  if (const auto value = compiler::evaluate(sym, known)) return Linear{0, *value};
  const compiler::SymNode& node = *sym.node();
  if (node.op != SymOp::sum && node.op != SymOp::product) return std::nullopt;
  Linear result{0, node.op == SymOp::sum ? 0 : 1};
  for (const Sym& arg : node.args) {
    const auto part = linear_in(arg, name, known);
    if (!part) return std::nullopt;
    bool overflow = false;
    if (node.op == SymOp::sum) {
      overflow |= __builtin_add_overflow(result.factor, part->factor, &result.factor);
      overflow |= __builtin_add_overflow(result.offset, part->offset, &result.offset);
    } else {
      if (result.factor != 0 && part->factor != 0) return std::nullopt;
      int64_t left = 0, right = 0;
      overflow |= __builtin_mul_overflow(result.factor, part->offset, &left);
      overflow |= __builtin_mul_overflow(result.offset, part->factor, &right);
      overflow |= __builtin_mul_overflow(result.offset, part->offset, &result.offset);
      overflow |= __builtin_add_overflow(left, right, &result.factor);
    }
    if (overflow) return std::nullopt;
  }
  return result;
}

class SymbolCheck {
 public:
  SymbolCheck(const MethodFacts& facts, std::vector<Rule> rules) : facts_(facts), rules_(std::move(rules)) {}

  Status run() {
    solve_lone();
    RETURN_IF_ERROR(solve_linear());
    RETURN_IF_ERROR(check_relations());
    return check_ranges();
  }

 private:
  std::string place(size_t input, size_t dim) const {
    return fmt::format("dimension {} of input {} ('{}')", dim, input,
                       compiler::printable(facts_.inputs[input].name, 60));
  }
  std::string place(const Rule& rule) const { return place(rule.input, rule.dim); }

  void define(std::string_view name, int64_t value, const Rule& rule) {
    if (values_.emplace(std::string(name), value).second) sources_[std::string(name)] = &rule;
  }

  void solve_lone() {
    for (const Rule& rule : rules_) {
      if (!rule.size->symbol_name().empty()) define(rule.size->symbol_name(), rule.value, rule);
    }
  }

  // Each round solves the sizes that have exactly one unknown. Every round but the last finds a symbol.
  Status solve_linear() {
    for (bool found = true; found;) {
      found = false;
      for (const Rule& rule : rules_) {
        std::set<std::string, std::less<>> names;
        compiler::collect_symbols(*rule.size, names);
        std::erase_if(names, [&](const std::string& name) { return values_.count(name) != 0; });
        if (names.size() != 1) continue;
        const std::string& name = *names.begin();
        const auto form = linear_in(*rule.size, name, values_);
        if (!form || form->factor == 0) continue;
        int64_t difference = 0;
        if (__builtin_sub_overflow(rule.value, form->offset, &difference) || difference % form->factor != 0) {
          return Diag(Code::usage, fmt::format("{} does not fit", place(rule)))
              .expected(fmt::format("{}", rule.value),
                        fmt::format("{} for a whole number {}", rule.size->text(), name));
        }
        define(name, difference / form->factor, rule);
        found = true;
      }
    }
    return {};
  }

  // "s0 + 1 = 4, where s0 = 3 (dimension 0 of input 0 ('x'))"
  std::string explain(const Sym& size, int64_t value, const Rule* self) const {
    if (size.is_const()) return fmt::format("{}", value);
    std::string text = fmt::format("{} = {}", size.text(), value);
    std::set<std::string, std::less<>> names;
    compiler::collect_symbols(size, names);
    for (const std::string& name : names) {
      const Rule* source = sources_.at(name);
      if (source == self) continue;
      text += fmt::format(", where {} = {} ({})", name, values_.at(name), place(*source));
    }
    return text;
  }

  Status check_relations() const {
    for (const Rule& rule : rules_) {
      const auto wanted = compiler::evaluate(*rule.size, values_);
      if (!wanted || *wanted == rule.value) continue;
      return Diag(Code::usage, fmt::format("{} does not fit", place(rule)))
          .expected(fmt::format("{}", rule.value), explain(*rule.size, *wanted, &rule));
    }
    return {};
  }

  // The input dimension to name for a violated range: the one with this size, else the one that gave its symbol's
  // value.
  const Rule* culprit(const Sym& size) const {
    for (const Rule& rule : rules_) {
      if (*rule.size == size) return &rule;
    }
    std::set<std::string, std::less<>> names;
    compiler::collect_symbols(size, names);
    return names.empty() ? nullptr : sources_.at(*names.begin());
  }

  Status check_range(const Sym& size, const compiler::SymRange& range) const {
    const auto value = compiler::evaluate(size, values_);
    if (!value || (*value >= range.min && *value <= range.max)) return {};
    const Rule* rule = culprit(size);
    const std::string text = size.text();
    const std::string wanted = range.max == compiler::kUnbounded
                                   ? fmt::format("{} >= {}", text, range.min)
                                   : fmt::format("{} <= {} <= {}", range.min, text, range.max);
    return Diag(Code::usage, fmt::format("{} is out of range", rule ? place(*rule) : fmt::format("size {}", text)))
        .expected(rule ? fmt::format("{} ({} = {})", rule->value, text, *value) : fmt::format("{}", *value), wanted);
  }

  Status check_ranges() const {
    for (const auto& [size, range] : facts_.ranges) RETURN_IF_ERROR(check_range(size, range));
    for (const auto& [name, value] : values_) {
      if (value < 0) RETURN_IF_ERROR(check_range(Sym::symbol(name), {}));
    }
    return {};
  }

  const MethodFacts& facts_;
  std::vector<Rule> rules_;
  compiler::SymValues values_;
  std::map<std::string, const Rule*, std::less<>> sources_;
};

// Checks sizes without metadata: only upper bounds are known. An unbounded tensor is left to the program's own checks.
Status check_bounds(const MethodMeta& method, const MethodFacts& facts, size_t index, const HostTensor& tensor) {
  const TensorMeta meta = method.input_value(index).tensor;
  if (meta.dynamism == ShapeDynamism::unbounded) return {};
  const bool fixed = meta.dynamism == ShapeDynamism::fixed;
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    if (fixed ? tensor.sizes[d] == meta.sizes[d] : tensor.sizes[d] <= meta.sizes[d]) continue;
    return Diag(Code::usage, fmt::format("dimension {} of input {} ('{}') does not fit", d, index,
                                         compiler::printable(facts.inputs[index].name, 60)))
        .expected(fmt::format("{}", tensor.sizes[d]), fmt::format("{}{}", fixed ? "" : "at most ", meta.sizes[d]));
  }
  return {};
}

}  // namespace

Status check_sizes(const MethodMeta& method, const MethodFacts& facts, const std::vector<HostValue>& values) {
  std::vector<Rule> rules;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].tag != Tag::tensor || !facts.inputs[i].type || !facts.inputs[i].type->is_tensor()) continue;
    const compiler::Sizes& sizes = facts.inputs[i].type->tensor.sizes;
    for (size_t d = 0; d < sizes.size(); ++d) rules.push_back({i, d, &sizes[d], values[i].tensor.sizes[d]});
  }
  RETURN_IF_ERROR(SymbolCheck(facts, std::move(rules)).run());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].tag == Tag::tensor) RETURN_IF_ERROR(check_bounds(method, facts, i, values[i].tensor));
  }
  return {};
}

}  // namespace wick::cli
