#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/compose.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/reals.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// A transform becomes a matmul with a matrix of this many rows at most. Larger ones are faster as transforms, or as
// two smaller ones.
constexpr int64_t kMaxPoints = 512;

bool is_complex_value(const Value* value) {
  return value && value->type.is_tensor() && wick::is_complex(value->dtype());
}
bool is_c64(const Value* value) { return value->type.is_tensor() && value->dtype() == DType::c64; }

// Real and imaginary part; no imaginary part: zeros.
struct Pair {
  Value* re = nullptr;
  Value* im = nullptr;
};

bool moves_parts(const Node& node) { return node.op->has(kPartwise) && node.op->has(kMoves | kView); }
bool is_multiplication(const Node& node) { return node.is("aten.mul.Tensor"); }
bool is_conjugate(const Node& node) { return node.is("aten._conj_physical.default"); }
bool is_matrix_product(const Node& node) { return node.is("aten.mm.default") || node.is("aten.bmm.default"); }
// Between floats and complex numbers: nothing is computed.
bool is_border(const Node& node) {
  return node.is("aten.view_as_complex.default") || node.is("aten.view_as_real.default");
}
bool is_transform(const Node& node) { return node.op->name().starts_with("aten._fft_"); }

// The largest divisor that is not above the square root.
int64_t smaller_factor(int64_t points) {
  auto factor = static_cast<int64_t>(std::sqrt(static_cast<double>(points)));
  while (points % factor != 0) --factor;
  return factor;
}

// Whether a transform is one matmul, or one of one factor's points and others of the rest's.
bool becomes_matmuls(int64_t points, const TargetFacts& facts) {
  if (points < 1 || points > facts.max_transform_points) return false;
  while (points > kMaxPoints) {
    const int64_t factor = smaller_factor(points);
    if (factor == 1 || factor > kMaxPoints) return false;
    points /= factor;
  }
  return true;
}

// Elements of the signal along each transformed dimension, if all are known and not too many.
std::optional<std::vector<int64_t>> points_of(const Node& node) {
  const Value& x = *node.tensor("self");
  std::vector<int64_t> points;
  for (const Sym& listed : node.ints("dim")) {
    if (!listed.is_const()) return std::nullopt;
    const Sym& size = x.sizes()[static_cast<size_t>(wrap_dim(listed.value(), x.rank()))];
    if (!size.is_const() || size.value() < 1) return std::nullopt;
    points.push_back(size.value());
  }
  if (points.empty()) return std::nullopt;
  if (node.is("aten._fft_c2r.default")) {
    const Sym last = node.integer("last_dim_size");
    if (!last.is_const() || last.value() < 1 || last.value() / 2 + 1 != points.back()) return std::nullopt;
    points.back() = last.value();
  }
  return points;
}

bool has_matmuls(const Node& node, const TargetFacts& facts) {
  const auto points = points_of(node);
  if (points && *std::max_element(points->begin(), points->end()) > kMaxPoints &&
      node.tensor("self")->rank() + 1 > facts.max_rank)
    return false;  // a dimension becomes two
  return points &&
         std::all_of(points->begin(), points->end(), [&](int64_t each) { return becomes_matmuls(each, facts); });
}

bool has_parts(const Node& node, const TargetFacts& facts) {
  const auto operands = node.operands();
  for (const Value* operand : operands) {
    if (!operand->type.is_tensor()) return false;
    const bool real = operand->dtype() == DType::f32;
    if (!real && !is_c64(operand)) return false;
    if (operand->is_constant() && !operand->tensor().dim_order.empty()) return false;
  }
  if (node.results().size() != 1 || (is_complex_value(node.result()) && !is_c64(node.result()))) return false;
  if (is_transform(node)) return has_matmuls(node, facts);
  if (is_add_or_sub(node))
    return operands.size() == 2 && node.arg("alpha").is<Sym>() && node.arg("alpha").as<Sym>().is(1);
  if (is_multiplication(node) || is_matrix_product(node)) return operands.size() == 2;
  if (node.is("aten.div.Tensor")) return operands.size() == 2 && !is_complex_value(operands[1]);
  if (node.is("aten.full.default")) return literal(node.arg("fill_value")).has_value();
  if (node.is("aten.sum.dim_IntList")) return node.is_none("dtype");
  if (moves_parts(node)) return std::all_of(operands.begin(), operands.end(), is_c64);
  return is_border(node) || node.op->has(kPartwise) || is_conjugate(node) || node.is("aten.abs.default");
}

Value* sum(Builder& b, Value* x, Value* y) { return x && y ? b.call("aten.add.Tensor", {x, y}) : x ? x : y; }
Value* negative(Builder& b, Value* x) { return x ? b.call("aten.neg", {x}) : nullptr; }
Value* difference(Builder& b, Value* x, Value* y) {
  return x && y ? b.call("aten.sub.Tensor", {x, y}) : x ? x : negative(b, y);
}
Value* product(Builder& b, Value* x, Value* y, std::string_view op = "aten.mul.Tensor") {
  return x && y ? b.call(op, {x, y}) : nullptr;
}

Value* scaled(Builder& b, Value* x, const Arg& factor) { return x ? b.call("aten.mul.Scalar", {x, factor}) : nullptr; }

// weight[k, j] = scale * f(2 pi j k / points)
Value* wave(Builder& b, int64_t rows, int64_t columns, int64_t points, double scale, double (*f)(double)) {
  Reals64 weights;
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t j = 0; j < columns; ++j) {
      const auto turn = static_cast<double>(j * k % points) / static_cast<double>(points);
      weights.push_back(scale * f(2 * M_PI * turn));
    }
  }
  return b.constant(TensorType{DType::f32, {rows, columns}, {}}, *rounded(weights, DType::f32), "wave");
}
// Multiples of a quarter turn give whole numbers.
double whole_or(double x) { return std::abs(x) < 1e-15 ? 0 : x; }
double cosine(double x) { return whole_or(std::cos(x)); }
double sine(double x) { return whole_or(std::sin(x)); }

// x with a matrix applied along a dimension.
Value* applied(Builder& b, Value* x, size_t dim, Value* matrix) {
  if (!x) return nullptr;
  const auto at = static_cast<int64_t>(dim), last = static_cast<int64_t>(x->rank()) - 1;
  Value* rows = at == last ? x : b.transpose(x, at, last);
  Value* out = b.call("aten.linear", {rows, matrix});
  return at == last ? out : b.transpose(out, at, last);
}

class Splitter {
 public:
  Splitter(Graph& graph, const TargetFacts& facts) : graph_(graph), facts_(facts) {}

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
    for (size_t at = 0; at + 2 * sizeof(float) <= bytes.size(); at += 2 * sizeof(float)) {
      for (size_t i = 0; i < 2; ++i) {
        const uint8_t* from = bytes.data() + at + i * sizeof(float);
        halves[i].insert(halves[i].end(), from, from + sizeof(float));
      }
    }
    const TensorType type{DType::f32, value->sizes(), {}};
    known->second.re = b.constant(type, std::move(halves[0]), value->name);
    known->second.im = b.constant(type, std::move(halves[1]), value->name);
    return known->second;
  }

  void split(Builder& b, Node& node) {
    Value* x = node.operands().empty() ? nullptr : node.operands()[0];
    if (node.is("aten.view_as_real.default") && !pairs_.count(x) && !x->is_constant()) return;
    if (node.is("aten.view_as_real.default")) return join(b, node);
    if (node.is("aten.abs.default")) return graph_.replace(node.result(), size_of(b, pair_of(b, x)));
    if (node.is("aten._fft_c2r.default")) return graph_.replace(node.result(), to_real(b, node));
    const Pair pair = pairs_[node.result()] = parts(b, node, x);
    if (is_border(node) || !leaves(node)) return;
    Value* whole = b.call("aten.view_as_complex", {joined(b, pair)});
    graph_.replace(node.result(), whole);
    pairs_[whole] = pair;
  }

  // Whether an operator reads the result that knows only complex numbers, or the caller does.
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
      return {b.full(node.result()->sizes(), *literal(node.arg("fill_value")), DType::f32), nullptr};
    if (node.is("aten.sum.dim_IntList")) return moved(b, node);
    if (node.is("aten.view_as_complex.default")) return taken_apart(b, x);
    if (node.is("aten._to_copy.default")) return pair_of(b, x);
    if (moves_parts(node)) return moved(b, node);
    if (is_transform(node)) return transformed(b, node);
    const Pair a = pair_of(b, x);
    if (node.is("aten.mul.Scalar")) return {scaled(b, a.re, node.arg(1)), scaled(b, a.im, node.arg(1))};
    if (node.is("aten.neg.default")) return {negative(b, a.re), negative(b, a.im)};
    if (is_conjugate(node)) return {a.re, negative(b, a.im)};
    if (node.is("aten.div.Tensor")) {
      Value* divisor = node.operands()[1];
      const auto quotient = [&](Value* part) { return part ? b.call("aten.div.Tensor", {part, divisor}) : nullptr; };
      return {quotient(a.re), quotient(a.im)};
    }
    const Pair out = combined(b, node, a, pair_of(b, node.operands()[1]));
    if (is_matrix_product(node)) return out;
    const Sizes& sizes = node.result()->sizes();
    return {b.expand(out.re, sizes), out.im ? b.expand(out.im, sizes) : nullptr};
  }

  static Pair combined(Builder& b, const Node& node, const Pair& a, const Pair& c) {
    if (node.is("aten.add.Tensor")) return {sum(b, a.re, c.re), sum(b, a.im, c.im)};
    if (node.is("aten.sub.Tensor")) return {difference(b, a.re, c.re), difference(b, a.im, c.im)};
    const std::string_view op = node.op->name();
    return {difference(b, product(b, a.re, c.re, op), product(b, a.im, c.im, op)),
            sum(b, product(b, a.re, c.im, op), product(b, a.im, c.re, op))};
  }

  // [.., 2], possibly just concatenated.
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
    return pair.im ? pair.im : b.full(pair.re->sizes(), 0.0, DType::f32);
  }

  // The same move of both parts.
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

  // Readers of one part get that part.
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
    return Compose(b).hypot(pair.re, pair.im);
  }

  // --- Fourier transforms ---

  static double scale_of(const Node& node) {
    double points = 1;
    const std::vector<int64_t> sizes = *points_of(node);
    for (const int64_t size : sizes) points *= static_cast<double>(size);
    const int64_t normalization = node.static_integer("normalization");
    return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(points) : 1 / points;
  }

  static size_t dim_of(const Node& node, size_t i) {
    return static_cast<size_t>(wrap_dim(node.static_ints("dim")[i], node.tensor("self")->rank()));
  }

  // sum of x_j (cos - i sin) forward, (cos + i sin) backward, over `points` values: the first `rows` of them.
  static Pair along(Builder& b, const Pair& x, size_t dim, int64_t rows, int64_t points, double scale, bool forward) {
    if (points > kMaxPoints) return by_factors(b, x, dim, rows, points, scale, forward);
    Value* cos = wave(b, rows, points, points, scale, cosine);
    Value* sin = wave(b, rows, points, points, forward ? scale : -scale, sine);
    return {sum(b, applied(b, x.re, dim, cos), applied(b, x.im, dim, sin)),
            difference(b, applied(b, x.im, dim, cos), applied(b, x.re, dim, sin))};
  }

  // With points = p q, x_[j q + l] and y_[k + m p]: transforms of p points over j, turned by k l of `points`, then of q
  // points over l.
  static Pair by_factors(Builder& b, const Pair& x, size_t dim, int64_t rows, int64_t points, double scale,
                         bool forward) {
    const int64_t p = smaller_factor(points), q = points / p, later = (rows - 1) / p + 1;
    const auto view = [&](Value* value, const Sizes& parts) -> Value* {
      if (!value) return nullptr;
      Sizes sizes = x.re->sizes();
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), parts.begin(), parts.end());
      return b.reshape(value, std::move(sizes));
    };
    Pair y = along(b, {view(x.re, {p, q}), view(x.im, {p, q})}, dim, p, p, 1, forward);
    y = turned(b, y, dim, p, q, forward);
    y = along(b, y, dim + 1, later, q, scale, forward);
    const auto first = static_cast<int64_t>(dim);
    const auto joined = [&](Value* value) {
      return b.slice(view(b.transpose(value, first, first + 1), {later * p}), first, 0, Sym(rows));
    };
    return {joined(y.re), joined(y.im)};
  }

  // Element (k, l) of two dimensions times cos - i sin (backward +) of k l / (p q) turns.
  static Pair turned(Builder& b, const Pair& x, size_t dim, int64_t p, int64_t q, bool forward) {
    Sizes sizes(x.re->rank(), Sym(1));
    sizes[dim] = Sym(p);
    sizes[dim + 1] = Sym(q);
    Value* cos = b.reshape(wave(b, p, q, p * q, 1, cosine), sizes);
    Value* sin = b.reshape(wave(b, p, q, p * q, forward ? 1 : -1, sine), sizes);
    return {sum(b, product(b, x.re, cos), product(b, x.im, sin)),
            difference(b, product(b, x.im, cos), product(b, x.re, sin))};
  }

  // All values of a spectrum of which a real signal's first half is there: the rest mirrors it.
  Pair mirrored(Builder& b, const Pair& x, size_t dim, int64_t points) {
    const auto at = static_cast<int64_t>(dim);
    const auto extended = [&](Value* half, bool negates) {
      Value* rest = b.call("aten.flip", {b.slice(half, at, 1, Sym((points + 1) / 2)), Ints{at}});
      return b.call("aten.cat", {Values{half, negates ? negative(b, rest) : rest}, at});
    };
    return {extended(x.re, false), x.im ? extended(x.im, true) : nullptr};
  }

  Pair transformed(Builder& b, const Node& node) {
    Pair x = pair_of(b, node.tensor("self"));
    const std::vector<int64_t> points = *points_of(node);
    const bool from_real = node.is("aten._fft_r2c.default");
    const bool forward = from_real || node.boolean("forward");
    for (size_t i = points.size(); i-- > 0;) {
      const bool last = i + 1 == points.size();
      const int64_t rows = last && from_real && node.boolean("onesided") ? points[i] / 2 + 1 : points[i];
      x = along(b, x, dim_of(node, i), rows, points[i], last ? scale_of(node) : 1, forward);
    }
    return x;
  }

  // The last dimension holds one half of the values. The other half mirrors it.
  Value* to_real(Builder& b, const Node& node) {
    Pair x = pair_of(b, node.tensor("self"));
    const std::vector<int64_t> points = *points_of(node);
    for (size_t i = 0; i + 1 < points.size(); ++i) x = along(b, x, dim_of(node, i), points[i], points[i], 1, false);
    const int64_t size = points.back(), half = size / 2 + 1;
    const double scale = scale_of(node);
    if (size > kMaxPoints) {
      const size_t last = dim_of(node, points.size() - 1);
      return along(b, mirrored(b, x, last, size), last, size, size, scale, false).re;
    }
    Reals64 cos, sin;
    for (int64_t k = 0; k < size; ++k) {
      for (int64_t j = 0; j < half; ++j) {
        const double turn = 2 * M_PI * static_cast<double>(j * k % size) / static_cast<double>(size);
        const bool alone = j == 0 || 2 * j == size;
        cos.push_back((alone ? 1 : 2) * scale * cosine(turn));
        sin.push_back((alone ? 0 : -2) * scale * sine(turn));
      }
    }
    const TensorType type{DType::f32, {size, half}, {}};
    const size_t dim = dim_of(node, points.size() - 1);
    Value* re = applied(b, x.re, dim, b.constant(type, *rounded(cos, DType::f32), "wave"));
    return sum(b, re, applied(b, x.im, dim, b.constant(type, *rounded(sin, DType::f32), "wave")));
  }

  Graph& graph_;
  const TargetFacts& facts_;
  std::unordered_set<const Node*> inside_;        // that become others
  std::vector<Node*> left_;                       // that nobody reads any more
  std::unordered_map<const Value*, Pair> pairs_;  // looked up only
};

}  // namespace

// Represents each complex tensor by two float tensors, for backends without complex numbers. Fourier transforms of up
// to 512 points become matmuls, of up to TargetFacts::max_transform_points several of them, if their factors are no
// larger.
//   before: y = view_as_real(view_as_complex(x) * c)
//   after:  re = x[.., 0] * c.re - x[.., 1] * c.im; im = x[.., 0] * c.im + x[.., 1] * c.re; y = cat(re, im)
// Applies only to c64, and only if every complex value of the graph is made from floats and read as floats by the
// operators listed here; with TargetFacts::takes_parts_of_complex what others read or make is joined or taken apart.
// Keeps: values up to rounding.
Result<Changed> complex_as_pairs(Graph& graph, const TargetFacts& facts) {
  return for_each_graph(graph, [&](Graph& g) { return &g == &graph ? Splitter(g, facts).run() : Changed::no; });
}

}  // namespace wick::compiler
