#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "compiler/ops/compose.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/constants/reals.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// A transform becomes a matmul with a matrix of this many rows at most. Larger ones are faster as transforms.
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
bool is_transform(const Node& node) { return node.op->name().starts_with("aten._fft_"); }

// Elements of the signal along each transformed dimension, if all are known and few.
std::optional<std::vector<int64_t>> points_of(const Node& node) {
  const Value& x = *node.tensor("self");
  std::vector<int64_t> points;
  for (const Sym& listed : node.ints("dim")) {
    if (!listed.is_const()) return std::nullopt;
    const Sym& size = x.sizes()[static_cast<size_t>(wrap_dim(listed.value(), x.rank()))];
    if (!size.is_const() || size.value() < 1 || size.value() > kMaxPoints) return std::nullopt;
    points.push_back(size.value());
  }
  if (points.empty()) return std::nullopt;
  if (node.is("aten._fft_c2r.default")) {
    const Sym last = node.integer("last_dim_size");
    if (!last.is_const() || last.value() < 1 || last.value() / 2 + 1 != points.back()) return std::nullopt;
    points.back() = last.value();
  }
  return points.back() <= kMaxPoints ? std::optional(points) : std::nullopt;
}

bool has_parts(const Node& node) {
  const auto operands = node.operands();
  for (const Value* operand : operands) {
    if (!operand->type.is_tensor()) return false;
    const bool real = operand->dtype() == DType::f32;
    if (!real && !is_c64(operand)) return false;
    if (operand->is_constant() && !operand->tensor().dim_order.empty()) return false;
  }
  if (node.results().size() != 1 || (is_complex_value(node.result()) && !is_c64(node.result()))) return false;
  if (is_transform(node)) return points_of(node).has_value();
  if (is_add_or_sub(node))
    return operands.size() == 2 && node.arg("alpha").is<Sym>() && node.arg("alpha").as<Sym>().is(1);
  if (is_multiplication(node)) return operands.size() == 2;
  if (moves_parts(node)) return std::all_of(operands.begin(), operands.end(), is_c64);
  const bool joins = node.is("aten.view_as_complex.default") || node.is("aten.view_as_real.default");
  return joins || node.op->has(kPartwise) || is_conjugate(node) || node.is("aten.abs.default");
}

Value* sum(Builder& b, Value* x, Value* y) { return x && y ? b.call("aten.add.Tensor", {x, y}) : x ? x : y; }
Value* negative(Builder& b, Value* x) { return x ? b.call("aten.neg", {x}) : nullptr; }
Value* difference(Builder& b, Value* x, Value* y) {
  return x && y ? b.call("aten.sub.Tensor", {x, y}) : x ? x : negative(b, y);
}
Value* product(Builder& b, Value* x, Value* y) { return x && y ? b.call("aten.mul.Tensor", {x, y}) : nullptr; }

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
  explicit Splitter(Graph& graph) : graph_(graph) {}

  Changed run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) {
      const auto operands = node->operands();
      const bool reads = std::any_of(operands.begin(), operands.end(), is_complex_value);
      const auto results = node->results();
      const bool makes = std::any_of(results.begin(), results.end(), is_complex_value);
      if (!reads && !makes) continue;
      if (!node->graphs.empty() || !has_parts(*node)) return Changed::no;
      nodes.push_back(node.get());
    }
    const auto is_outside = [](const auto& port) { return is_complex_value(port.value); };
    if (nodes.empty() || std::any_of(graph_.inputs.begin(), graph_.inputs.end(), is_outside) ||
        std::any_of(graph_.outputs.begin(), graph_.outputs.end(), is_outside))
      return Changed::no;
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
    if (!is_new || !value->is_constant()) return known->second;
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
    Value* x = node.operands()[0];
    if (node.is("aten.view_as_real.default")) return join(b, node);
    if (node.is("aten.abs.default")) return graph_.replace(node.result(), size_of(b, pair_of(b, x)));
    if (node.is("aten._fft_c2r.default")) return graph_.replace(node.result(), to_real(b, node));
    pairs_[node.result()] = parts(b, node, x);
  }

  Pair parts(Builder& b, Node& node, Value* x) {
    if (node.is("aten.view_as_complex.default")) return taken_apart(b, x);
    if (node.is("aten._to_copy.default")) return pair_of(b, x);
    if (moves_parts(node)) return moved(b, node);
    if (is_transform(node)) return transformed(b, node);
    const Pair a = pair_of(b, x);
    if (node.is("aten.mul.Scalar")) return {scaled(b, a.re, node.arg(1)), scaled(b, a.im, node.arg(1))};
    if (node.is("aten.neg.default")) return {negative(b, a.re), negative(b, a.im)};
    if (is_conjugate(node)) return {a.re, negative(b, a.im)};
    const Pair out = combined(b, node, a, pair_of(b, node.operands()[1]));
    const Sizes& sizes = node.result()->sizes();
    return {b.expand(out.re, sizes), out.im ? b.expand(out.im, sizes) : nullptr};
  }

  static Pair combined(Builder& b, const Node& node, const Pair& a, const Pair& c) {
    if (node.is("aten.add.Tensor")) return {sum(b, a.re, c.re), sum(b, a.im, c.im)};
    if (node.is("aten.sub.Tensor")) return {difference(b, a.re, c.re), difference(b, a.im, c.im)};
    return {difference(b, product(b, a.re, c.re), product(b, a.im, c.im)),
            sum(b, product(b, a.re, c.im), product(b, a.im, c.re))};
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
    Values both{b.unsqueeze(pair.re, -1), b.unsqueeze(imaginary(b, pair), -1)};
    graph_.replace(node.result(), b.call("aten.cat", {std::move(both), -1}));
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

  // sum of x_j (cos - i sin) forward, (cos + i sin) backward, over `points` values.
  static Pair along(Builder& b, const Pair& x, size_t dim, int64_t rows, int64_t points, double scale, bool forward) {
    Value* cos = wave(b, rows, points, points, scale, cosine);
    Value* sin = wave(b, rows, points, points, forward ? scale : -scale, sine);
    return {sum(b, applied(b, x.re, dim, cos), applied(b, x.im, dim, sin)),
            difference(b, applied(b, x.im, dim, cos), applied(b, x.re, dim, sin))};
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
  std::vector<Node*> left_;                       // that nobody reads any more
  std::unordered_map<const Value*, Pair> pairs_;  // looked up only
};

}  // namespace

// Represents each complex tensor by two float tensors, for backends without complex numbers. Fourier transforms of up
// to 512 points become matmuls.
//   before: y = view_as_real(view_as_complex(x) * c)
//   after:  re = x[.., 0] * c.re - x[.., 1] * c.im; im = x[.., 0] * c.im + x[.., 1] * c.re; y = cat(re, im)
// Applies only to c64, and only if every complex value of the graph is made from floats and read as floats by the
// operators listed here.  Keeps: values up to rounding.
Result<Changed> complex_as_pairs(Graph& graph) {
  return for_each_graph(graph, [&](Graph& g) { return &g == &graph ? Splitter(g).run() : Changed::no; });
}

}  // namespace wick::compiler
