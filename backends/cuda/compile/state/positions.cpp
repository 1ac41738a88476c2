#include "backends/cuda/compile/state/positions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "compiler/ops/compose.h"
#include "compiler/passes/rewrite.h"

namespace wick::cuda {
namespace {

using compiler::Arg;
using compiler::Builder;
using compiler::Compose;
using compiler::Graph;
using compiler::Node;
using compiler::Sizes;
using compiler::Sym;
using compiler::SymScope;
using compiler::Value;
using compiler::Values;

constexpr char kItem[] = "aten._local_scalar_dense.default";

// The tensor of which a tensor of one element is a view.
Value* source_of(Value* value) {
  while (value->producer && value->producer->op->has(compiler::kView)) {
    Value* from = value->producer->tensor_or_null(0);
    if (!from || !numel(from->sizes()).is(1) || from->dtype() != value->dtype()) break;
    value = from;
  }
  return value;
}

class Positions {
 public:
  explicit Positions(Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (!node->is(kItem) || node->result()->type.kind != compiler::TypeKind::integer) continue;
      Value* from = source_of(node->tensor_or_null(0));
      const std::string name(node->result()->type.expr.symbol_name());
      if (!name.empty() && (from->dtype() == DType::i64 || from->dtype() == DType::i32)) tensors_[name] = from;
    }
  }

  /// The number that an argument is, if it depends on tensors of the graph.
  std::optional<Sym> from_tensor(const Arg& arg) const {
    const bool is_value = arg.is<Value*>() && arg.as<Value*>()->type.kind == compiler::TypeKind::integer;
    if (!is_value && !arg.is<Sym>()) return std::nullopt;
    const Sym number = is_value ? arg.as<Value*>()->type.expr : arg.as<Sym>();
    return is_known(number) || !terms_of(number) ? std::nullopt : std::optional(number);
  }
  /// The same for a position. Nothing if it may be negative.
  std::optional<Sym> position(const Arg& arg) const {
    std::optional<Sym> number = from_tensor(arg);
    return number && SymScope::range(*number).min >= 0 ? number : std::nullopt;
  }
  /// Whether a size depends on none of these tensors.
  bool is_known(const Sym& size) const {
    std::set<std::string, std::less<>> names;
    collect_symbols(size, names);
    return std::none_of(names.begin(), names.end(), [&](const std::string& name) { return tensors_.count(name) > 0; });
  }

  /// The number as a tensor, i64 [1].
  Value* tensor(Compose& c, const Sym& number) const {
    const std::optional<Terms> terms = terms_of(number);
    Value* sum = nullptr;
    for (const auto& [name, factor] : terms->factors) {
      Value* each = c.b.reshape(c.b.cast(tensors_.at(name), DType::i64), {Sym(1)});
      if (factor != 1) each = c.mul(each, Sym(factor));
      sum = sum ? c.add(sum, each) : each;
    }
    return terms->rest.is(0) ? sum : c.add(sum, terms->rest);
  }
  /// start, start + 1, ..: i64 [count].
  Value* range(Compose& c, const Sym& start, const Sym& count) const {
    if (is_known(start)) return start.is(0) ? c.arange(count, DType::i64) : c.add(c.arange(count, DType::i64), start);
    return count.is(1) ? tensor(c, start) : c.add(c.arange(count, DType::i64), tensor(c, start));
  }

 private:
  struct Terms {
    std::map<std::string, int64_t> factors;  // by symbol
    Sym rest;
  };
  // The number as a sum of multiples of tensors and a rest that is known; nothing if it has no such form.
  std::optional<Terms> terms_of(const Sym& number) const {
    std::set<std::string, std::less<>> names;
    collect_symbols(number, names);
    std::map<std::string, Sym, std::less<>> none;
    for (const std::string& name : names) {
      if (tensors_.count(name)) none[name] = Sym(0);
    }
    Terms terms{{}, substitute(number, none)};
    Sym sum = terms.rest;
    for (const auto& [name, zero] : none) {
      std::map<std::string, Sym, std::less<>> one = none;
      one[name] = Sym(1);
      const Sym factor = substitute(number, one) - terms.rest;
      if (!factor.is_const()) return std::nullopt;
      terms.factors[name] = factor.value();
      sum = sum + factor * Sym::symbol(name);
    }
    return sum == number ? std::optional(std::move(terms)) : std::nullopt;
  }

  std::map<std::string, Value*, std::less<>> tensors_;  // by symbol
};

// --- slices and their like ---

Value* read_rows(const Positions& p, Builder& b, Node& node) {
  const bool selects = node.is("aten.select.int"), narrows = node.is("aten.narrow.default");
  if (!selects && !narrows && !node.is("aten.slice.Tensor")) return nullptr;
  const std::optional<Sym> start = p.position(node.arg(selects ? "index" : "start"));
  if (!start || (!selects && !narrows && !node.integer("step").is(1))) return nullptr;
  Value* x = node.tensor("self");
  const int64_t dim = compiler::wrap_dim(node.integer("dim").value(), x->rank());
  const Sym count = selects ? Sym(1) : node.result()->sizes()[static_cast<size_t>(dim)];
  if (!p.is_known(count)) return nullptr;
  Compose c(b);
  Value* rows = c.index_select(x, dim, p.range(c, *start, count));
  return selects ? b.squeeze(rows, dim) : rows;
}

Value* write_rows(const Positions& p, Builder& b, Node& node) {
  const bool selects = node.is("aten.select_scatter.default");
  if (!selects && !node.is("aten.slice_scatter.default")) return nullptr;
  const std::optional<Sym> start = p.position(node.arg(selects ? "index" : "start"));
  if (!start || (!selects && !node.integer("step").is(1))) return nullptr;
  Value *x = node.tensor("self"), *source = node.tensor("src");
  const int64_t dim = compiler::wrap_dim(node.integer("dim").value(), x->rank());
  if (selects) source = b.unsqueeze(source, dim);
  const Sym count = source->sizes()[static_cast<size_t>(dim)];
  if (!p.is_known(count) || source->dtype() != x->dtype()) return nullptr;
  Compose c(b);
  return b.call("aten.index_copy", {x, dim, p.range(c, *start, count), source});
}

Value* make_range(const Positions& p, Builder& b, Node& node) {
  if (!node.is("aten.arange.start") && !node.is("aten.arange.start_step")) return nullptr;
  const std::optional<Sym> start = p.from_tensor(node.arg("start"));
  const Value* result = node.result();
  if (!start || result->dtype() != DType::i64 || !p.is_known(result->sizes()[0])) return nullptr;
  if (node.is("aten.arange.start_step") && !(node.arg("step").is<Sym>() && node.arg("step").as<Sym>().is(1)))
    return nullptr;
  Compose c(b);
  return p.range(c, *start, result->sizes()[0]);
}

Value* fill(const Positions& p, Builder& b, Node& node) {
  if (!node.is("aten.full.default") && !node.is("aten.scalar_tensor.default")) return nullptr;
  const std::optional<Sym> number = p.from_tensor(node.arg(node.is("aten.full.default") ? "fill_value" : "s"));
  const Value* result = node.result();
  const bool known =
      std::all_of(result->sizes().begin(), result->sizes().end(), [&](const Sym& s) { return p.is_known(s); });
  if (!number || !known) return nullptr;
  Compose c(b);
  Value* element = b.cast(b.reshape(p.tensor(c, *number), {}), result->dtype());
  return result->rank() == 0 ? element : b.expand(element, result->sizes());
}

// --- arithmetic with a number ---

// Eager multiplies and divides 16-bit floats by the number in f32. Other operators round it to their dtype.
bool is_wide_factor(std::string_view with_tensor, DType dtype) {
  const bool is_short = dtype == DType::f16 || dtype == DType::bf16;
  return is_short && (with_tensor == "aten.mul.Tensor" || with_tensor == "aten.div.Tensor");
}

// The number becomes a tensor of the operand's dtype, unless that is boolean.
Value* arithmetic(const Positions& p, Builder& b, Node& node) {
  const std::string_view name = node.op->name(), base = name.substr(0, name.rfind('.'));
  const std::string with_tensor = std::string(base) + ".Tensor";
  const bool fits =
      node.op->has(compiler::kPointwise) && (name == std::string(base) + ".Scalar" || name == with_tensor);
  if (!fits || node.args().size() < 2 || !compiler::find_op(with_tensor)) return nullptr;
  const std::optional<Sym> number = p.from_tensor(node.arg(1));
  if (!number || !node.arg(0).is<Value*>() || !node.arg(0).as<Value*>()->type.is_tensor()) return nullptr;
  Value* x = node.arg(0).as<Value*>();
  if (x->dtype() == DType::boolean) return nullptr;
  Compose c(b);
  const bool is_wide = is_wide_factor(with_tensor, x->dtype());
  if (is_wide) x = b.cast(x, DType::f32);
  Value* other = b.cast(p.tensor(c, *number), x->dtype());
  if (x->rank() == 0) other = b.reshape(other, {});
  compiler::Args args = {x, other};
  for (size_t i = 2; i < node.args().size(); ++i) args.push_back(node.arg(i));
  Value* made = b.call(with_tensor, std::move(args));
  if (is_wide) made = b.cast(made, node.result()->dtype());
  return made->type == node.result()->type ? made : nullptr;
}

// --- ExecuTorch's operators for language models ---

// Eager refuses rows outside the cache; here the write's index check does.
Value* update_cache(const Positions& p, Compose& c, Value* value, Value* cache, const Sym& start) {
  Value* rows = p.range(c, start, value->sizes()[1]);
  return c.b.call("aten.index_put", {cache, Values{nullptr, rows}, value, false});
}

// The positions, which must be less than `keys`: eager refuses others, and here the lookup's index check does.
Value* checked_positions(const Positions& p, Compose& c, Value* positions, const Sym& end, const Sym& keys) {
  if (p.is_known(end) && SymScope::range(keys - end).min >= 0) return positions;
  return c.index_select(c.arange(keys, DType::i64), 0, positions);
}

// Masks the keys of the cache at and behind the end of the queries; with is_causal, those behind each query.
// `is_written`: the keys of the queries were written to the cache, so positions are in bounds.
Value* mask_of_positions(const Positions& p, Compose& c, const Node& node, const Sym& start, const Sym& queries,
                         const Sym& keys, bool is_written) {
  const bool is_causal = node.boolean("is_causal");
  Value* last = p.range(c, is_causal ? start : start + queries - 1, is_causal ? queries : Sym(1));
  if (!is_written) last = checked_positions(p, c, last, start + queries, keys);
  return c.compare("le", c.arange(keys, DType::i64), c.b.reshape(last, {is_causal ? queries : Sym(1), Sym(1)}));
}

Value* attend(const Positions& p, Compose& c, const Node& node, Value* k, Value* v, const Sym& start, bool is_written) {
  Builder& b = c.b;
  Value *q = node.tensor("query"), *mask = node.optional_tensor("attn_mask");
  const bool integers = q->dtype() == DType::i8;
  const bool swaps = !integers || !node.boolean("is_seq_at_dim_2");  // the order of length and heads
  const size_t length = swaps ? 1 : 2;
  if (!mask) mask = mask_of_positions(p, c, node, start, q->sizes()[length], k->sizes()[length], is_written);
  // With a mask of numbers, eager adds in single precision.
  const bool wide = integers || mask->dtype() == DType::f32;
  const auto ordered = [&](Value* x) {
    if (swaps) x = b.permute(x, {0, 2, 1, 3});
    return wide ? b.cast(x, DType::f32) : x;
  };
  const auto prepared = [&](Value* x, const std::string& letter) {
    if (!integers) return ordered(x);
    Value* centered = c.sub(ordered(x), ordered(node.tensor(letter + "_zero_points")));
    return c.mul(centered, ordered(node.tensor(letter + "_scales")));
  };
  const bool shares = !(q->sizes()[3 - length] == k->sizes()[3 - length]);
  Value* out = b.call("aten.scaled_dot_product_attention", {prepared(q, "q"), prepared(k, "k"), prepared(v, "v"), mask,
                                                            0.0, false, node.arg("scale"), shares});
  return b.cast(swaps ? b.permute(out, {0, 2, 1, 3}) : out, node.result()->dtype());
}

std::optional<Sym> start_of(const Positions& p, const Node& node) {
  const Arg& arg = node.arg("start_pos");
  if (const std::optional<Sym> start = p.position(arg)) return start;
  const bool known = arg.is<Sym>() && p.is_known(arg.as<Sym>()) && SymScope::range(arg.as<Sym>()).min >= 0;
  return known ? std::optional(arg.as<Sym>()) : std::nullopt;
}

// The values that replace the results; none: the node stays.
Values as_attention_and_writes(const Positions& p, Builder& b, Node& node) {
  const auto has = [&](const char* argument) { return node.op->parsed->find(argument) >= 0; };
  if (!has("start_pos")) return node.op->has(compiler::kLlmLibrary) ? node.op->decompose(b, node) : Values();
  const bool at_indices = has("indices"), attends = has("query"), writes = !attends || has("key_cache");
  const std::optional<Sym> start = at_indices ? Sym(0) : start_of(p, node);
  if (!start || (attends && node.real("drpout_p") != 0)) return {};
  Compose c(b);
  if (attends && !writes) return {attend(p, c, node, node.tensor("key"), node.tensor("value"), *start, false)};
  if (attends) {
    Value* k = update_cache(p, c, node.tensor("key"), node.tensor("key_cache"), *start);
    Value* v = update_cache(p, c, node.tensor("value"), node.tensor("value_cache"), *start);
    return {attend(p, c, node, k, v, *start, true), k, v};
  }
  if (node.result(0)->num_uses() > 0) return {};
  if (at_indices) return node.op->decompose(b, node);
  return {nullptr, update_cache(p, c, node.tensor("value"), node.tensor("cache"), *start)};
}

compiler::Changed rewrite(Graph& graph) {
  const SymScope scope(graph.ranges);
  const Positions p(graph);
  compiler::Changed changed = compiler::Changed::no;
  for (Node* node : graph.node_list()) {
    Builder b(graph, node);
    const Values made = as_attention_and_writes(p, b, *node);
    if (made.empty()) continue;
    for (size_t i = 0; i < made.size(); ++i) {
      if (made[i]) graph.replace(node->result(i), made[i]);
    }
    graph.erase(node);
    changed = compiler::Changed::yes;
  }
  std::vector<compiler::RuleFn> rules;
  for (const auto rule : {read_rows, write_rows, make_range, fill, arithmetic})
    rules.emplace_back([&p, rule](Builder& b, Node& node) { return rule(p, b, node); });
  return compiler::rewrite_nodes(graph, rules) == compiler::Changed::yes ? compiler::Changed::yes : changed;
}

}  // namespace

compiler::Result<compiler::Changed> positions_as_tensors(Graph& graph) {
  return compiler::for_each_graph(graph, rewrite);
}

}  // namespace wick::cuda
