// Limits observed on ExecuTorch 1.5.1 with tests/interop/cases_on_stock. Limits that decompositions avoid on every
// profile have no row here.
#include "compiler/ops/limits/stock_limits.h"

#include <algorithm>

#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

DType dtype_of(const Node& node, const char* name) { return node.tensor(name)->dtype(); }

bool convolution_over_volumes(const Node& node) { return node.tensor("input")->rank() == 5; }
bool volumes_or_transposed(const Node& node) {
  return node.tensor("weight")->rank() == 5 || node.boolean("transposed");
}
bool doubles(const Node& node) { return dtype_of(node, "self") == DType::f64; }
bool bytes(const Node& node) { return node.result()->dtype() == DType::u8; }
bool both_sides(const Node& node) { return !node.boolean("onesided"); }
bool integers(const Node& node) { return is_integral(node.result()->dtype()); }
bool scale_not_double(const Node& node) { return dtype_of(node, "scale") != DType::f64; }
bool scales_not_double(const Node& node) { return dtype_of(node, "scales") != DType::f64; }

// Stock adds, subtracts, multiplies and divides complex tensors of one dtype (for sums and differences also of one
// shape) and extracts their parts. It has no other element-wise operator on complex numbers.
bool complex_numbers(const Node& node) {
  static constexpr std::string_view kTensors[] = {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor",
                                                  "aten.div.Tensor"};
  if (node.op->has(kNoComplexInStock)) return is_complex(node.result()->dtype());
  const bool two = std::find(std::begin(kTensors), std::end(kTensors), node.op->name()) != std::end(kTensors);
  if (!two || !is_complex(node.result()->dtype())) return false;
  const Value *x = tensor_or_null(node.arg("self")), *y = tensor_or_null(node.arg("other"));
  if (!x || !y) return false;  // decomposes to the overload with a number
  if (x->dtype() != node.result()->dtype() || y->dtype() != node.result()->dtype()) return true;
  return (node.is("aten.add.Tensor") || node.is("aten.sub.Tensor")) && x->sizes() != y->sizes();
}

bool neither_first_nor_last(const Node& node) {
  const std::vector<uint8_t>& order = node.result()->tensor().dim_order;
  if (order.empty()) return false;
  const bool last = order.size() >= 4 && order.size() <= 5 && order.front() == 0 && order.back() == 1 &&
                    std::is_sorted(order.begin(), order.end() - 1);
  return !last;
}

struct StockLimit {
  std::string_view op;  // "" = all
  bool (*applies)(const Node& node);
  std::string_view reason;
};
constexpr StockLimit kStockLimits[] = {
    {"aten.convolution.default", convolution_over_volumes, "stock convolves inputs of rank 3 and 4 only"},
    {"aten.convolution_backward.default", volumes_or_transposed,
     "stock has the gradients of plain convolutions of planes only"},
    {"aten._log_softmax.default", doubles, "stock takes no float64 here"},
    {"aten.sum.dim_IntList", doubles, "stock adds float64 in float32"},
    {"aten._fft_r2c.default", both_sides, "stock computes the one-sided spectrum only"},
    {"aten.upsample_bilinear2d.vec", bytes, "stock interpolates bytes differently"},
    {"aten._upsample_bilinear2d_aa.default", bytes, "stock interpolates bytes differently"},
    {"aten.remainder.Tensor", integers, "stock's result has the sign of the dividend"},
    {"aten.remainder.Scalar", integers, "stock's result has the sign of the dividend"},
    {"quantized_decomposed.quantize_per_tensor.tensor", scale_not_double, "stock wants a float64 scale"},
    {"quantized_decomposed.dequantize_per_tensor.tensor", scale_not_double, "stock wants a float64 scale"},
    {"quantized_decomposed.quantize_per_channel.default", scales_not_double, "stock wants float64 scales"},
    {"quantized_decomposed.quantize_per_token.default", scales_not_double, "stock wants float64 scales"},
    {"dim_order_ops._to_dim_order_copy.default", neither_first_nor_last,
     "stock copies to contiguous and channels-last tensors only"},
    {"", complex_numbers, "stock does not compute this with complex numbers"},
};

}  // namespace

std::string_view stock_limit(const Node& node) {
  for (const StockLimit& limit : kStockLimits) {
    if ((limit.op.empty() || limit.op == node.op->name()) && limit.applies(node)) return limit.reason;
  }
  return "";
}

}  // namespace wick::compiler
