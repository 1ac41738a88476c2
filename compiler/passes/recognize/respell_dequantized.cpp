#include <algorithm>

#include "compiler/ops/compose.h"
#include "compiler/ops/math/deviation.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

bool is_dequantized(const Value& x) {
  return x.producer && x.producer->op->has(kDequantizes) && x.dtype() == DType::f32 && x.rank() > 0;
}

// --- variances ---

Value* mean_of_squares(Compose& c, Value* x, Value* mean, const Spread& s, double count) {
  Value* total = c.sum(c.square(c.sub(x, mean)), s.dims, s.keepdim);
  return c.div(total, count - s.correction);
}

Results spread(Builder& b, Node& node) {
  const auto is_form_of = [&](std::string_view op) { return node.op->name().starts_with(op); };
  const bool has_mean = is_form_of("aten.var_mean.") || is_form_of("aten.std_mean.");
  const bool takes_root = is_form_of("aten.std.") || is_form_of("aten.std_mean.");
  if (!has_mean && !takes_root && !is_form_of("aten.var.")) return {};
  Value* x = node.tensor("self");
  const Spread s = spread_of(node);
  Sym count = 1;
  for (const int64_t dim : s.dims) count = count * x->sizes()[static_cast<size_t>(dim)];
  if (!is_dequantized(*x) || !count.is_const() || !(static_cast<double>(count.value()) > s.correction)) return {};
  Compose c(b);
  Value* mean = c.mean(x, s.dims, true);
  Value* variance = mean_of_squares(c, x, mean, s, static_cast<double>(count.value()));
  Results results = {takes_root ? c.sqrt(variance) : variance};
  if (has_mean) results.push_back(b.reshape(mean, node.result(1)->sizes()));
  return results;
}

// --- running sums ---

// The matrix of ones takes the square of this in bytes.
constexpr int64_t kMostSummed = 256;

Results running_sum(Builder& b, Node& node) {
  if (!node.is("aten.cumsum.default") || !is_dequantized(*node.tensor("self")) || node.result()->dtype() != DType::f32)
    return {};
  Value* x = node.tensor("self");
  const auto last = static_cast<int64_t>(x->rank()) - 1, dim = wrap_dim(node.static_integer("dim"), x->rank());
  const Sym& size = x->sizes()[static_cast<size_t>(dim)];
  if (!size.is_const() || size.value() < 1 || size.value() > kMostSummed) return {};
  const int64_t count = size.value();
  std::vector<uint8_t> ones(static_cast<size_t>(count * count));
  for (int64_t row = 0; row < count; ++row) std::fill_n(ones.begin() + row * count, row + 1, uint8_t{1});
  Value* elements = b.constant({DType::i8, {count, count}, {}}, std::move(ones), "ones");
  Value* weight = b.call("quantized_decomposed.dequantize_per_tensor",
                         {elements, 1.0, int64_t{0}, int64_t{-127}, int64_t{127}, DType::i8});
  Value* rows = dim == last ? x : b.transpose(x, dim, last);
  Value* sums = b.call("aten.linear", {rows, weight, None{}});
  return {dim == last ? sums : b.transpose(sums, dim, last)};
}

constexpr Respelling kIntegerForms[] = {spread, running_sum};

}  // namespace

// Writes operators on dequantized numbers as others, which backends of integers have.
//   before: v = var(x, [1])      after: v = sum((x - mean(x, [1]))^2, [1]) / (n - 1)
// So for std, var_mean and std_mean. cumsum of up to 256 elements is a linear layer whose weights are a triangle of
// ones, with the dimension as the last one.
// Requires: the operand is f32, dequantized, and as long as is known. Keeps: values up to rounding.
Result<Changed> respell_dequantized(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return respell_nodes(g, Span<const Respelling>(kIntegerForms)); });
}

}  // namespace wick::compiler
