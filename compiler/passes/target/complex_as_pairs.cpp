#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/compose.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/fourier/complex_arithmetic.h"
#include "compiler/passes/fourier/fourier.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

bool is_complex_value(const Value* value) {
  return value && value->type.is_tensor() && wick::is_complex(value->dtype());
}
// The dtype of each part.
DType part_of(DType dtype) { return dtype == DType::c128 ? DType::f64 : DType::f32; }

bool moves_parts(const Node& node) { return node.op->has(kPartwise) && node.op->has(kMoves | kView); }
bool is_complex_product(const Node& node) { return node.is("aten.mul.Tensor"); }
// z + number, z - number, z / number.
bool combines_number(const Node& node) {
  const bool is_sum = node.is(Binary::add) || node.is(Binary::sub);
  if (node.operands().size() != 1 || !(is_sum || node.is(Binary::div)) || !literal(node.arg(1))) return false;
  return !is_sum || (node.arg("alpha").is<Sym>() && node.arg("alpha").as<Sym>().is(1));
}
bool is_conjugate(const Node& node) { return node.is("aten._conj_physical.default"); }
bool is_matrix_product(const Node& node) { return node.is("aten.mm.default") || node.is("aten.bmm.default"); }
// Whether the node only converts between floats and complex numbers.
bool is_border(const Node& node) {
  return node.is("aten.view_as_complex.default") || node.is("aten.view_as_real.default");
}
// Whether the node casts a complex number to its real part. (A cast to bool is different: it reads both parts.)
bool drops_imaginary(const Node& node) {
  return node.is("aten._to_copy.default") && is_complex_value(node.operands()[0]) && !is_complex_value(node.result());
}
bool is_select(const Node& node) { return node.is("aten.where.self"); }
bool is_exponential(const Node& node) { return node.is("aten.exp.default"); }
bool is_logarithm(const Node& node) { return node.is("aten.log.default"); }
bool is_reciprocal(const Node& node) { return node.is("aten.reciprocal.default"); }
// Whether the node multiplies few elements. Longer products would become long chains.
bool is_short_product(const Node& node) {
  if (!node.is("aten.prod.dim_int") || !node.is_none("dtype") || node.tensor("self")->rank() == 0) return false;
  const Value& x = *node.tensor("self");
  const Sym& length = x.sizes()[static_cast<size_t>(wrap_dim(node.static_integer("dim"), x.rank()))];
  return length.is_const() && length.value() >= 1 && length.value() <= 32;
}
bool is_transform(const Node& node) { return node.op->name().starts_with("aten._fft_"); }

// The number of points of the signal along each transformed dimension.
std::optional<std::vector<Sym>> points_of(const Node& node) {
  const Value& x = *node.tensor("self");
  std::vector<Sym> points;
  for (const Sym& listed : node.ints("dim")) {
    if (!listed.is_const()) return std::nullopt;
    points.push_back(x.sizes()[static_cast<size_t>(wrap_dim(listed.value(), x.rank()))]);
  }
  if (points.empty()) return std::nullopt;
  if (node.is("aten._fft_c2r.default")) {
    const Sym last = node.integer("last_dim_size");
    if (!(floor_div(last, 2) + 1 - points.back()).is(0)) return std::nullopt;
    points.back() = last;
  }
  return points;
}

bool has_matmuls(const Node& node, const TargetFacts& facts) {
  const auto points = points_of(node);
  if (!points) return false;
  const bool splits = std::any_of(points->begin(), points->end(), splits_dimension);
  if (splits && node.tensor("self")->rank() + 1 > facts.max_rank) return false;
  return std::all_of(points->begin(), points->end(), [&](const Sym& each) { return becomes_matmuls(each, facts); });
}

// Whether the parts of a complex number may have this dtype: f64 only if the backend takes more than pairs of f32.
bool is_part(DType dtype, const TargetFacts& facts) {
  return dtype == DType::f32 || (dtype == DType::f64 && facts.takes_parts_of_complex);
}
bool has_pair(const Value* value, const TargetFacts& facts) {
  return is_complex_value(value) && value->dtype() != DType::c32 && is_part(part_of(value->dtype()), facts);
}

bool has_parts(const Node& node, const TargetFacts& facts) {
  const auto operands = node.operands();
  for (const Value* operand : operands) {
    if (!operand->type.is_tensor()) return false;
    if (operand == operands[0] && is_select(node) && operand->dtype() == DType::boolean) continue;
    if (!is_part(operand->dtype(), facts) && !has_pair(operand, facts)) return false;
    if (operand->is_constant() && !operand->tensor().dim_order.empty()) return false;
  }
  if (node.results().size() != 1 || (is_complex_value(node.result()) && !has_pair(node.result(), facts))) return false;
  if (drops_imaginary(node) && node.result()->dtype() == DType::boolean) return false;
  if (is_transform(node)) return has_matmuls(node, facts);
  if (combines_number(node)) return true;
  if (is_add_or_sub(node))
    return operands.size() == 2 && node.arg("alpha").is<Sym>() && node.arg("alpha").as<Sym>().is(1);
  if (is_complex_product(node) || is_matrix_product(node)) return operands.size() == 2;
  if (node.is("aten.div.Tensor"))
    return operands.size() == 2 && (facts.takes_parts_of_complex || !is_complex_value(operands[1]));
  if (is_select(node) || is_exponential(node) || is_logarithm(node) || is_reciprocal(node) || is_short_product(node))
    return facts.takes_parts_of_complex;
  if (node.is("aten.full.default")) return literal(node.arg("fill_value")).has_value();
  if (node.is("aten.sum.dim_IntList")) return node.is_none("dtype");
  if (moves_parts(node)) return std::all_of(operands.begin(), operands.end(), is_complex_value);
  return is_border(node) || node.op->has(kPartwise) || is_conjugate(node) || node.is("aten.abs.default");
}

class ComplexSplitter {
 public:
  ComplexSplitter(Graph& graph, const TargetFacts& facts) : graph_(graph), facts_(facts) {}

  Changed run() {
    std::vector<Node*> nodes;
    bool computes = false;
    for (const auto& node : graph_.nodes()) {
      const auto operands = node->operands();
      const bool reads = std::any_of(operands.begin(), operands.end(), is_complex_value);
      const auto results = node->results();
      const bool makes = std::any_of(results.begin(), results.end(), is_complex_value);
      if (!reads && !makes) continue;
      if (!node->graphs.empty() || !has_parts(*node, facts_)) {
        if (!facts_.takes_parts_of_complex) return Changed::no;
        continue;
      }
      computes = computes || !is_border(*node);
      nodes.push_back(node.get());
    }
    const auto is_outside = [](const auto& port) { return is_complex_value(port.value); };
    const bool passes_border = std::any_of(graph_.inputs.begin(), graph_.inputs.end(), is_outside) ||
                               std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is_outside);
    if (nodes.empty() || (facts_.takes_parts_of_complex ? !computes : passes_border)) return Changed::no;
    inside_.insert(nodes.begin(), nodes.end());
    for (Node* node : nodes) {
      Builder b(graph_, node);
      split(b, *node);
    }
    left_.insert(left_.end(), nodes.rbegin(), nodes.rend());
    erase_unread(graph_, left_);
    return Changed::yes;
  }

 private:
  Pair pair_of(Builder& b, Value* value) {
    if (!is_complex_value(value)) return {value, nullptr};
    const auto [known, is_new] = pairs_.try_emplace(value);
    if (!is_new) return known->second;
    if (!value->is_constant()) return known->second = taken_apart(b, b.call("aten.view_as_real", {value}));
    const Span<const uint8_t> bytes = value->data.bytes();
    std::vector<uint8_t> halves[2];
    const TensorType type{part_of(value->dtype()), value->sizes(), {}};
    const size_t size = dtype_size_bytes(type.dtype);
    for (size_t at = 0; at + 2 * size <= bytes.size(); at += 2 * size) {
      for (size_t i = 0; i < 2; ++i) {
        const uint8_t* from = bytes.data() + at + i * size;
        halves[i].insert(halves[i].end(), from, from + size);
      }
    }
    known->second.re = b.constant(type, std::move(halves[0]), value->name);
    known->second.im = b.constant(type, std::move(halves[1]), value->name);
    return known->second;
  }

  void split(Builder& b, Node& node) {
    Value* x = node.operands().empty() ? nullptr : node.operands()[0];
    if (node.is("aten.view_as_real.default") && !pairs_.count(x) && !x->is_constant()) return;
    if (node.is("aten.view_as_real.default")) return join(b, node);
    if (node.is("aten.abs.default")) return graph_.replace(node.result(), size_of(b, pair_of(b, x)));
    if (drops_imaginary(node)) return graph_.replace(node.result(), b.cast(pair_of(b, x).re, node.result()->dtype()));
    if (node.is("aten._fft_c2r.default")) return graph_.replace(node.result(), to_real(b, node));
    Pair pair = parts(b, node, x);
    const Sizes& sizes = node.result()->sizes();
    for (Value** part : {&pair.re, &pair.im}) {
      if (!*part) continue;
      *part = b.cast(*part, part_of(node.result()->dtype()));
      if ((*part)->sizes() != sizes) *part = b.reshape(*part, sizes);  // the same sizes, stated by other symbols
    }
    pairs_[node.result()] = pair;
    if (is_border(node) || !leaves(node)) return;
    Value* whole = b.call("aten.view_as_complex", {joined(b, pair)});
    graph_.replace(node.result(), whole);
    pairs_[whole] = pair;
  }

  // Whether the caller reads the result, or an operator that knows only complex numbers.
  bool leaves(const Node& node) const {
    const auto& users = node.result()->users();
    return std::any_of(graph_.outputs.begin(), graph_.outputs.end(),
                       [&](const auto& port) { return port.value == node.result(); }) ||
           std::any_of(users.begin(), users.end(), [&](const Node* user) { return inside_.count(user) == 0; });
  }

  Value* joined(Builder& b, const Pair& pair) {
    return b.call("aten.cat", {Values{b.unsqueeze(pair.re, -1), b.unsqueeze(imaginary(b, pair), -1)}, -1});
  }

  Pair parts(Builder& b, Node& node, Value* x) {
    if (node.is("aten.full.default"))
      return {b.full(node.result()->sizes(), *literal(node.arg("fill_value")), part_of(node.result()->dtype())),
              nullptr};
    if (node.is("aten.sum.dim_IntList")) return moved(b, node);
    if (node.is("aten.view_as_complex.default")) return taken_apart(b, x);
    if (node.is("aten._to_copy.default")) return pair_of(b, x);
    if (moves_parts(node)) return moved(b, node);
    if (is_select(node)) return selected(b, node);
    if (is_transform(node)) return spectrum(b, node);
    const Pair a = pair_of(b, x);
    if (node.is("aten.mul.Scalar")) return complex_scaled(b, a, node.arg(1));
    if (node.is("aten.neg.default")) return {negative(b, a.re), negative(b, a.im)};
    if (is_conjugate(node)) return {a.re, negative(b, a.im)};
    if (is_exponential(node)) return complex_exponential(b, whole(b, a));
    if (is_logarithm(node)) return complex_logarithm(b, whole(b, a));
    if (is_reciprocal(node)) return complex_reciprocal(b, whole(b, a));
    if (is_short_product(node)) return product_of_row(b, node, whole(b, a));
    Value* second =
        combines_number(node) ? b.scalar(*literal(node.arg(1)), part_of(node.result()->dtype())) : node.operands()[1];
    if (node.is(Binary::div) && is_complex_value(second))
      return spread(b, complex_ratio(b, wide(b, a, node), wide(b, pair_of(b, second), node)), node);
    if (node.is(Binary::div)) return spread(b, complex_quotient(b, a, second, facts_.takes_parts_of_complex), node);
    const Pair other = pair_of(b, second);
    if (is_matrix_product(node)) return product(b, whole(b, a), whole(b, other), node.op->name());
    return spread(b, combined(b, node, a, other), node);
  }

  // Multiplies the elements in order, starting with 1.
  static Pair product_of_row(Builder& b, const Node& node, const Pair& x) {
    const int64_t dim = wrap_dim(node.static_integer("dim"), x.re->rank());
    const int64_t length = x.re->sizes()[static_cast<size_t>(dim)].value();
    const DType part = x.re->dtype();
    Pair out = {b.scalar(1.0, part), b.scalar(0.0, part)};
    for (int64_t i = 0; i < length; ++i)
      out = complex_product(b, out, {b.select(x.re, dim, i), b.select(x.im, dim, i)});
    if (!node.boolean("keepdim")) return out;
    return {b.unsqueeze(out.re, dim), b.unsqueeze(out.im, dim)};
  }

  Pair whole(Builder& b, const Pair& x) { return {x.re, imaginary(b, x)}; }

  // Both parts in the dtype of the node's result. One operand may be c64 and the other f64.
  Pair wide(Builder& b, const Pair& x, const Node& node) {
    const DType part = part_of(node.result()->dtype());
    const Pair both = whole(b, x);
    return {b.cast(both.re, part), b.cast(both.im, part)};
  }

  Pair selected(Builder& b, const Node& node) {
    Compose c(b);
    Value* condition = node.operands()[0];
    const Pair x = whole(b, pair_of(b, node.operands()[1])), y = whole(b, pair_of(b, node.operands()[2]));
    return {c.where(condition, x.re, y.re), c.where(condition, x.im, y.im)};
  }

  // Expands both parts to the sizes of the node's result.
  static Pair spread(Builder& b, const Pair& x, const Node& node) {
    const Sizes& sizes = node.result()->sizes();
    return {b.expand(x.re, sizes), x.im ? b.expand(x.im, sizes) : nullptr};
  }

  static Pair combined(Builder& b, const Node& node, const Pair& a, const Pair& c) {
    if (node.is(Binary::add)) return complex_sum(b, a, c);
    if (node.is(Binary::sub)) return complex_difference(b, a, c);
    return complex_product(b, a, c);
  }

  // The two parts of [.., 2]. If a concatenation has just joined them, these are its operands.
  static Pair taken_apart(Builder& b, Value* x) {
    const Node* cat = x->producer && x->producer->is("aten.cat.default") ? x->producer : nullptr;
    const Values parts = cat ? cat->arg("tensors").as<Values>() : Values();
    const bool joins = parts.size() == 2 && parts[0]->rank() == x->rank() && parts[1]->rank() == x->rank() &&
                       parts[0]->sizes().back().is(1) && parts[1]->sizes().back().is(1) &&
                       wrap_dim(cat->static_integer("dim"), x->rank()) + 1 == static_cast<int64_t>(x->rank());
    if (!joins) return {b.select(x, -1, 0), b.select(x, -1, 1)};
    const auto imaginary = uniform_element(parts[1]);
    return {b.squeeze(parts[0], -1), imaginary && imaginary->is(0) ? nullptr : b.squeeze(parts[1], -1)};
  }

  Value* imaginary(Builder& b, const Pair& pair) {
    return pair.im ? pair.im : b.full(pair.re->sizes(), 0.0, pair.re->dtype());
  }

  // Applies the node to each part.
  Pair moved(Builder& b, const Node& node) {
    Pair out;
    for (const bool real : {true, false}) {
      Args args = node.args();
      for (Arg& arg : args) {
        const auto part = [&](Value* value) {
          const Pair pair = pair_of(b, value);
          return real ? pair.re : imaginary(b, pair);
        };
        if (arg.is<Value*>()) arg = part(arg.as<Value*>());
        if (!arg.is<Values>()) continue;
        Values list = arg.as<Values>();
        for (Value*& value : list) value = part(value);
        arg = std::move(list);
      }
      (real ? out.re : out.im) = b.call(node.op->name(), std::move(args));
    }
    return out;
  }

  // Replaces a view_as_real. Readers of one part get that part.
  void join(Builder& b, Node& node) {
    const Pair pair = pair_of(b, node.operands()[0]);
    const size_t rank = node.result()->rank();
    const std::vector<Node*> users = node.result()->users();
    size_t whole = node.result()->num_uses();  // readers of both
    for (Node* user : users) {
      if (!user->is("aten.select.int") || !user->integer("index").is_const()) continue;
      if (wrap_dim(user->static_integer("dim"), rank) != static_cast<int64_t>(rank) - 1) continue;
      const int64_t index = user->integer("index").value();
      graph_.replace(user->result(), index == 0 || index == -2 ? pair.re : imaginary(b, pair));
      left_.push_back(user);
      --whole;
    }
    if (whole == 0) return;
    graph_.replace(node.result(), joined(b, pair));
  }

  static Value* size_of(Builder& b, const Pair& pair) {
    if (!pair.im) return b.call("aten.abs", {pair.re});
    return b.call("aten.hypot", {pair.re, pair.im});
  }

  // --- Fourier transforms ---

  // The exponent of the number of points in the divisor of the results.
  static double exponent_of(const Node& node) {
    const int64_t normalization = node.static_integer("normalization");
    return normalization == 0 ? 0 : normalization == 1 ? 0.5 : 1;
  }

  // The scale by dimensions of known size. divided() applies the others at the end.
  static double scale_of(const Node& node) {
    double points = 1;
    const std::vector<Sym> sizes = *points_of(node);
    for (const Sym& each : sizes) points *= each.is_const() ? static_cast<double>(each.value()) : 1;
    return exponent_of(node) == 0.5 ? 1 / std::sqrt(points) : exponent_of(node) == 1 ? 1 / points : 1;
  }
  static Value* divided(Builder& b, Value* x, const Node& node) {
    Sym points = 1;
    const std::vector<Sym> sizes = *points_of(node);
    for (const Sym& each : sizes) points = each.is_const() ? points : points * each;
    if (!x || points.is(1) || exponent_of(node) == 0) return x;
    Compose c(b);
    Value* divisor = c.tensor(points, DType::f64);
    if (exponent_of(node) == 0.5) divisor = c.sqrt(divisor);
    return c.div(x, b.cast(divisor, x->dtype()));
  }

  static size_t dim_of(const Node& node, size_t i) {
    return static_cast<size_t>(wrap_dim(node.static_ints("dim")[i], node.tensor("self")->rank()));
  }

  Pair spectrum(Builder& b, const Node& node) {
    Pair x = pair_of(b, node.tensor("self"));
    const std::vector<Sym> points = *points_of(node);
    const bool forward = node.is("aten._fft_r2c.default") || node.boolean("forward");
    for (size_t i = points.size(); i-- > 0;) {
      const bool last = i + 1 == points.size();
      // The size as the result states it, which may be by another symbol.
      const Sym rows = last ? node.result()->sizes()[dim_of(node, i)] : points[i];
      x = transformed(b, x, {dim_of(node, i), rows, points[i], last ? scale_of(node) : 1, forward});
    }
    return {divided(b, x.re, node), divided(b, x.im, node)};
  }

  // The last dimension holds one half of the spectrum. The other half mirrors it.
  Value* to_real(Builder& b, const Node& node) {
    Pair x = pair_of(b, node.tensor("self"));
    const std::vector<Sym> points = *points_of(node);
    const size_t last = points.size() - 1;
    for (size_t i = 0; i < last; ++i) x = transformed(b, x, {dim_of(node, i), points[i], points[i], 1, false});
    const Fourier back{dim_of(node, last), points[last], points[last], scale_of(node), false};
    return divided(b, transformed_to_real(b, x, back), node);
  }

  Graph& graph_;
  const TargetFacts& facts_;
  std::unordered_set<const Node*> inside_;        // nodes that become operators on parts
  std::vector<Node*> left_;                       // nodes that nobody reads any more
  std::unordered_map<const Value*, Pair> pairs_;  // looked up only
};

}  // namespace

// Represents each complex tensor by two float tensors, for backends without complex numbers. Fourier transforms become
// matmuls (fourier/fourier.h says which).
//   before: y = view_as_real(view_as_complex(x) * c)
//   after:  re = x[.., 0] * c.re - x[.., 1] * c.im; im = x[.., 0] * c.im + x[.., 1] * c.re; y = cat(re, im)
// Applies to c64, and with TargetFacts::takes_parts_of_complex to c128. Without that fact, it applies only if every
// complex value of the graph is made from floats and read as floats by the operators listed here. With it, values that
// other operators read are joined, and values that others make are taken apart; exp, log, where, quotients, reciprocals
// and products of short rows are then among the operators.
// Keeps: values up to rounding, infinities and NaN. Without takes_parts_of_complex, an infinite number divided by 0
// loses its infinite part.
Result<Changed> complex_as_pairs(Graph& graph, const TargetFacts& facts) {
  const SymScope scope(graph.ranges);
  return for_each_graph(graph, [&](Graph& g) { return &g == &graph ? ComplexSplitter(g, facts).run() : Changed::no; });
}

}  // namespace wick::compiler
