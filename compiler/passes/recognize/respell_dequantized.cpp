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

// The largest size that is summed. The matrix of ones has the square of this in bytes.
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

// --- logarithms of sums of exponentials ---

// log_softmax(x) = x - logsumexp(x) holds for each element of a row, so the first element is enough.
Results log_of_sum(Builder& b, Node& node) {
  if (!node.is("aten.logsumexp.default") && !node.is("aten.special_logsumexp.default")) return {};
  Value* x = node.tensor("self");
  if (!is_dequantized(*x)) return {};
  std::vector<int64_t> dims = node.static_ints("dim"), order;
  for (int64_t& dim : dims) dim = wrap_dim(dim, x->rank());
  Sizes rows;
  Sym count = 1;
  for (size_t d = 0; d < x->rank(); ++d) {
    const bool is_summed = dims.empty() || std::count(dims.begin(), dims.end(), static_cast<int64_t>(d)) > 0;
    if (is_summed) count = count * x->sizes()[d];
    if (is_summed) continue;
    order.push_back(static_cast<int64_t>(d));
    rows.push_back(x->sizes()[d]);
  }
  if (!count.is_const() || count.value() < 1) return {};
  auto dim = static_cast<int64_t>(order.size());
  if (dims.size() == 1) {
    dim = dims[0];
  } else {
    for (size_t d = 0; d < x->rank(); ++d) {
      if (std::find(order.begin(), order.end(), static_cast<int64_t>(d)) == order.end())
        order.push_back(static_cast<int64_t>(d));
    }
    rows.push_back(count);
    x = b.reshape(b.permute(x, order), rows);
  }
  Value* logs = b.call("aten._log_softmax", {x, dim, false});
  Value* y = b.call("aten.sub.Tensor", {b.slice(x, dim, 0, 1), b.slice(logs, dim, 0, 1)});
  return {b.reshape(y, node.result()->sizes())};
}

// --- bicubic resizing ---

constexpr int64_t kLargestResized = 256;  // rows or columns: matrices have as many squared

// The operator on a column of `size` pixels, as a matrix [output, input]: it resizes the unit vectors, one in each
// channel.
Value* resizing_matrix(Builder& b, Node& node, int64_t size, size_t axis) {
  std::vector<float> unit(static_cast<size_t>(size * size));
  for (int64_t i = 0; i < size; ++i) unit[static_cast<size_t>(i * size + i)] = 1;
  const Sym output = node.result()->sizes()[2 + axis];
  Value* columns = Compose(b).constant_f32(unit, {1, size, size, 1});
  Args args = node.args();
  const auto index = [&](const char* name) { return static_cast<size_t>(node.op->parsed->find(name)); };
  args[0] = columns;
  if (node.op->parsed->find("scale_factors") < 0) {
    args[index("scales_h")] = node.arg(axis == 0 ? "scales_h" : "scales_w");
    args[index("scales_w")] = None();
  } else if (!node.is_none("scale_factors")) {
    args[index("scale_factors")] = Reals{node.arg("scale_factors").as<Reals>()[axis], 1.0};
  }
  if (!node.is_none("output_size")) args[index("output_size")] = Ints{output, Sym(1)};
  return b.permute(b.reshape(b.call(node.op->name(), std::move(args)), {size, output}), {1, 0});
}

bool becomes_int16(const Value& value) {
  return std::any_of(value.users().begin(), value.users().end(), [](const Node* reader) {
    return reader->op->has(kQuantizes) && reader->result()->dtype() == DType::i16;
  });
}

// Not for int16 results: the numbers between the two layers would have too few bits.
Results bicubic(Builder& b, Node& node) {
  if (!node.is("aten.upsample_bicubic2d.default") && !node.is("aten.upsample_bicubic2d.vec")) return {};
  Value* x = node.operands()[0];
  if (!is_dequantized(*x) || becomes_int16(*node.result()) || x->rank() != 4 || !is_static(node.result()->sizes()) ||
      !is_static(x->sizes()))
    return {};
  for (size_t axis = 0; axis < 2; ++axis) {
    for (const Value* image : {x, node.result()}) {
      const int64_t size = image->sizes()[2 + axis].value();
      if (size < 1 || size > kLargestResized) return {};
    }
  }
  for (const size_t axis : {size_t{1}, size_t{0}}) {
    Value* matrix = resizing_matrix(b, node, node.operands()[0]->sizes()[2 + axis].value(), axis);
    const bool is_last = axis == 1;
    Value* y = b.call("aten.linear", {is_last ? x : b.transpose(x, 2, 3), matrix, None{}});
    x = is_last ? y : b.transpose(y, 2, 3);
  }
  return {x};
}

constexpr Respelling kIntegerForms[] = {spread, running_sum, log_of_sum, bicubic};

}  // namespace

// Replaces operators on dequantized numbers by others that integer backends have.
//   before: v = var(x, [1])      after: v = sum((x - mean(x, [1]))^2, [1]) / (n - 1)
// std, var_mean and std_mean are treated in the same way. cumsum of up to 256 elements is a linear layer whose weights
// are a triangle of ones, with the dimension as the last one. logsumexp is the first element of a row minus its
// log-softmax. Bicubic resizing is two linear layers, whose weights are resized unit vectors. Requires: the operand is
// dequantized f32 and has known sizes where they matter. Keeps: values up to rounding.
Result<Changed> respell_dequantized(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return respell_nodes(g, Span<const Respelling>(kIntegerForms)); });
}

}  // namespace wick::compiler
