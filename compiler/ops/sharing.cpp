#include "compiler/ops/sharing.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"

namespace wick::compiler::shares {
namespace {

constexpr int64_t kContiguousFormat = 1, kChannelsLast = 2, kChannelsLast3d = 3, kPreserve = 4;

using Truth = std::optional<Sym>;  // nothing: not known

Sym equal(const Sym& a, const Sym& b) { return make_sym(SymOp::eq, {a, b}); }
Sym either(const Sym& a, const Sym& b) { return make_sym(SymOp::logical_or, {a, b}); }
Sym both(const Sym& a, const Sym& b) { return make_sym(SymOp::logical_and, {a, b}); }
std::optional<bool> known(const Sym& truth) {
  return truth.is_const() ? std::optional(truth.value() != 0) : std::nullopt;
}

/// Sizes and strides of the operand, and the sizes of the result.
struct Shapes {
  Sizes sizes;
  Ints strides;
  Sizes result;
};
using Rule = Truth (*)(const Shapes& shapes, int64_t format);

// The size, or 1 for a size of 0: a tensor without elements shares nothing, so strides may be computed as if it had
// some.
Sym positive(const Sym& size) { return sym_max(size, 1); }

Truth contiguous(const Shapes& s, int64_t format) {
  if (format == kChannelsLast && s.sizes.size() == 4) return lies_in_order(s.sizes, s.strides, {0, 2, 3, 1});
  if (format == kChannelsLast3d && s.sizes.size() == 5) return lies_in_order(s.sizes, s.strides, {0, 2, 3, 4, 1});
  return lies_in_order(s.sizes, s.strides, all_dims(s.sizes.size()));
}

// Whether the strides look like channels last. Source: is_channels_last_strides_2d and _3d, c10/core/MemoryFormat.h.
std::optional<bool> looks_channels_last(const Shapes& s) {
  const size_t rank = s.sizes.size();
  if (rank != 4 && rank != 5) return false;
  std::vector<size_t> inner_first = {1};
  for (size_t d = rank - 1; d > 1; --d) inner_first.push_back(d);
  inner_first.push_back(0);
  const std::optional<bool> no_step = known(equal(s.strides[1], 0));
  if (!no_step || *no_step) return no_step ? std::optional(false) : std::nullopt;
  Sym least = 0;
  for (size_t d : inner_first) {
    const std::optional<bool> below = known(make_sym(SymOp::lt, {s.strides[d], least}));
    if (!below || *below) return below ? std::optional(false) : std::nullopt;
    if (d == 0) {
      const std::optional<bool> ambiguous = known(equal(least, s.strides[1]));
      return ambiguous ? std::optional(!*ambiguous) : std::nullopt;
    }
    least = s.strides[d] * positive(s.sizes[d]);
  }
  return true;
}

Truth keeps_format(const Shapes& s, int64_t format) {
  if (format == kPreserve) return Sym(1);
  const std::optional<bool> last = looks_channels_last(s);
  if (!last) return std::nullopt;
  const int64_t suggested = !*last ? kContiguousFormat : s.sizes.size() == 4 ? kChannelsLast : kChannelsLast3d;
  return Sym(suggested == format);
}

// Eager's rule for reshape: dimensions of the operand that together are dense form a run, and each run becomes whole
// dimensions of the result. Source: computeStride_impl, ATen/TensorUtils.cpp.
Truth viewable(const Shapes& s, int64_t) {
  size_t left = s.result.size();  // leading dimensions of the result that no run has taken
  Sym run = 1, inner = s.strides.empty() ? Sym(1) : s.strides.back();
  for (size_t d = s.sizes.size(); d-- > 0;) {
    run = run * positive(s.sizes[d]);
    if (d > 0) {
      const std::optional<bool> single = known(equal(s.sizes[d - 1], 1)),
                                joins = known(equal(s.strides[d - 1], run * inner));
      if (single.value_or(false) || joins.value_or(false)) continue;
      if (!single || !joins) return std::nullopt;
    }
    Sym taken = 1;
    for (; left > 0; --left) {
      const Sym& size = s.result[left - 1];
      const std::optional<bool> fits = known(either(make_sym(SymOp::lt, {taken, run}), equal(size, 1)));
      if (!fits) return std::nullopt;
      if (!*fits) break;
      taken = taken * positive(size);
    }
    const std::optional<bool> complete = known(equal(taken, run));
    if (!complete || !*complete) return complete ? Truth(Sym(0)) : std::nullopt;
    run = 1;
    if (d > 0) inner = s.strides[d - 1];
  }
  while (left > 0 && s.result[left - 1].is(1)) --left;
  return Sym(left == 0);
}

// Applies the rule under an assumption: the symbols in `ones` are 1, all others of `names` are 2 or more.
Truth under(Rule rule, const Shapes& s, int64_t format, const std::set<std::string, std::less<>>& names,
            const std::set<std::string, std::less<>>& ones) {
  SymRanges ranges;
  std::map<std::string, Sym, std::less<>> replacements;
  for (const std::string& name : names) {
    ranges[name] = SymScope::range(Sym::symbol(name));
    ranges[name].min = std::max<int64_t>(ranges[name].min, 2);
    if (ones.count(name) != 0) replacements[name] = 1;
  }
  const SymScope scope(ranges);
  Shapes taken = s;
  for (SymList* list : {static_cast<SymList*>(&taken.sizes), static_cast<SymList*>(&taken.strides),
                        static_cast<SymList*>(&taken.result)}) {
    for (Sym& sym : *list) sym = substitute(sym, replacements);
  }
  return rule(taken, format);
}

// Rules ask whether a size is 1. Applies the rule for each choice of 1 or more for the symbols that may be 1.
Truth by_cases(Rule rule, const Shapes& s, int64_t format) {
  std::set<std::string, std::less<>> names;
  for (const SymList* list : {static_cast<const SymList*>(&s.sizes), static_cast<const SymList*>(&s.strides),
                              static_cast<const SymList*>(&s.result)}) {
    for (const Sym& sym : *list) collect_symbols(sym, names);
  }
  std::vector<std::string> open;
  std::set<std::string, std::less<>> always_one;
  for (const std::string& name : names) {
    const SymRange range = SymScope::range(Sym::symbol(name));
    if (range.max <= 1) always_one.insert(name);
    if (range.min <= 1 && range.max > 1) open.push_back(name);
  }
  if (open.size() > 4) return std::nullopt;
  bool never = true, always = true;
  Sym total = 0;
  for (size_t mask = 0; mask < size_t{1} << open.size(); ++mask) {
    std::set<std::string, std::less<>> ones = always_one;
    Sym assumed = 1;
    for (size_t i = 0; i < open.size(); ++i) {
      const bool one = (mask >> i & 1) != 0;
      if (one) ones.insert(open[i]);
      assumed = both(assumed, make_sym(one ? SymOp::eq : SymOp::ne, {Sym::symbol(open[i]), 1}));
    }
    const Truth truth = under(rule, s, format, names, ones);
    if (!truth) return std::nullopt;
    never = never && truth->is(0);
    always = always && truth->is(1);
    total = either(total, both(assumed, *truth));
  }
  return never || always ? Sym(always) : total;
}

Sharing first(const SharingCall& call, Truth when) {
  if (call.operands.empty()) return {};
  return {0, std::move(when)};
}

int64_t format_of(const Node& node, int64_t otherwise) {
  if (!has_argument(node, "memory_format")) return otherwise;
  const Arg& arg = node.arg("memory_format");
  const bool given = arg.is<Sym>() && arg.as<Sym>().is_const() && !arg.as<Sym>().is(0);
  return given ? arg.as<Sym>().value() : otherwise;
}

// Applies the rule to the first tensor.
Sharing ask(const SharingCall& call, Rule rule, int64_t format) {
  if (call.operands.empty()) return {};
  const Value* x = call.node.operands()[0];
  const Placement* at = call.operands[0];
  if (!at || at->strides.size() != x->rank()) return first(call, std::nullopt);
  const Value* result = call.node.result(call.result);
  return first(call, by_cases(rule, {x->sizes(), at->strides, result->sizes()}, format));
}

}  // namespace

Sym lies_in_order(const Sizes& sizes, const Ints& strides, const std::vector<int64_t>& order) {
  Sym truth = 1, span = 1;
  for (size_t i = order.size(); i-- > 0;) {
    const auto dim = static_cast<size_t>(order[i]);
    truth = both(truth, either(equal(sizes[dim], 1), equal(strides[dim], span)));
    span = span * positive(sizes[dim]);
  }
  return truth;
}

Sharing always(const SharingCall& call) { return first(call, Sym(1)); }

Sharing each(const SharingCall& call) {
  if (call.result >= call.operands.size()) return {};
  return {static_cast<int>(call.result), Sym(1)};
}

Sharing each_but_first(const SharingCall& call) { return call.result == 0 ? Sharing{} : each(call); }

Sharing if_contiguous(const SharingCall& call) {
  return ask(call, contiguous, format_of(call.node, kContiguousFormat));
}

Sharing if_viewable(const SharingCall& call) { return ask(call, viewable, kContiguousFormat); }

Sharing unless_converted(const SharingCall& call) {
  const Node& node = call.node;
  if (node.operands()[0]->dtype() != node.result()->dtype()) return {};
  if (has_argument(node, "copy") && node.boolean("copy")) return {};
  return ask(call, keeps_format, format_of(node, kPreserve));
}

Sharing unless_conjugated(const SharingCall& call) {
  if (call.operands.empty() || !is_complex(call.node.operands()[0]->dtype())) return always(call);
  const Placement* at = call.operands[0];
  return first(call, at ? Truth(Sym(!at->conjugated)) : std::nullopt);
}

Sharing unless_negated(const SharingCall& call) {
  const Placement* at = call.operands.empty() ? nullptr : call.operands[0];
  return first(call, at ? Truth(Sym(!at->negated)) : std::nullopt);
}

Sharing unless_conjugated_or_negated(const SharingCall& call) {
  const Placement* at = call.operands.empty() ? nullptr : call.operands[0];
  return first(call, at ? Truth(Sym(!at->conjugated && !at->negated)) : std::nullopt);
}

Sharing if_real(const SharingCall& call) {
  return is_complex(call.node.operands()[0]->dtype()) ? Sharing{} : always(call);
}

Sharing unless_dropping(const SharingCall& call) {
  return call.node.boolean("train") && call.node.real("p") != 0 ? Sharing{} : always(call);
}

Sharing if_same_sizes(const SharingCall& call) {
  const Sizes sizes = call.node.tensor("self")->sizes(), wanted = call.node.ints("size");
  if (sizes.size() != wanted.size()) return {};
  Sym same = 1;
  for (size_t i = 0; i < sizes.size(); ++i) same = both(same, equal(sizes[i], wanted[i]));
  return first(call, same);
}

Sharing if_alone(const SharingCall& call) { return call.operands.size() == 1 ? always(call) : Sharing{}; }

}  // namespace wick::compiler::shares
