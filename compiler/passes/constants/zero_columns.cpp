#include "compiler/passes/constants/zero_columns.h"

#include <string.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "compiler/ops/arguments.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::compiler {
namespace {

bool is_plain_matrix(const Value& value) {
  return value.is_constant() && value.rank() == 2 && value.tensor().dim_order.empty() && is_static(value.sizes());
}

// How many of a row's k elements share a scale.
int64_t elements_of_scale(const Quantization& quantization, int64_t k) {
  return quantization.blocks[1] == 0 ? k : quantization.blocks[1];
}

bool has_zero_points(const Quantization& quantization) {
  const auto zeros = quantization.zero_points.all();
  return std::any_of(zeros.begin(), zeros.end(), [](double zero) { return zero != 0; });
}

// The constant [rows, columns] with `added` more columns: copies of the last one, or zeros.
Value* widened(Builder& b, const Value& constant, int64_t added, bool copies) {
  const auto rows = static_cast<size_t>(constant.sizes()[0].value());
  const size_t element = dtype_size_bytes(constant.dtype());
  const size_t row = static_cast<size_t>(constant.sizes()[1].value()) * element;
  const size_t wide = row + static_cast<size_t>(added) * element;
  const auto bytes = constant.data.bytes();
  std::vector<uint8_t> out(rows * wide, 0);
  for (size_t i = 0; i < rows; ++i) {
    memcpy(&out[i * wide], bytes.data() + i * row, row);
    for (size_t at = row; copies && at < wide; at += element)
      memcpy(&out[i * wide + at], bytes.data() + (i + 1) * row - element, element);
  }
  TensorType type = constant.tensor();
  type.sizes[1] = type.sizes[1] + Sym(added);
  return b.constant(std::move(type), std::move(out), constant.name);
}

}  // namespace

int64_t zero_columns_step(const Value& weight) {
  const Node* node = weight.producer;
  if (!node || !converts(*node, Conversion::dequantize)) return 0;
  const Value* elements = node->tensor("input");
  if (!is_plain_matrix(*elements) || elements->dtype() != DType::i8) return 0;
  const auto quantization = stated_quantization(*node);
  if (!quantization || has_zero_points(*quantization) || quantization->channel_dim() == 1) return 0;
  const int64_t k = elements->sizes()[1].value(), shared = elements_of_scale(*quantization, k);
  if (shared == k) return 1;
  const Value* scale = node->tensor(conversion_of(*node)->scale);
  return is_plain_matrix(*scale) && scale->sizes()[1].is(k / shared) ? shared : 0;
}

Value* with_zero_columns(Builder& b, const Value& weight, int64_t columns) {
  const Node& node = *weight.producer;
  const ConversionForm& form = *conversion_of(node);
  const Value* elements = node.tensor("input");
  const int64_t k = elements->sizes()[1].value(), shared = elements_of_scale(*stated_quantization(node), k);
  Args args = node.args();
  const auto set = [&](std::string_view name, Arg value) {
    args[static_cast<size_t>(node.op->parsed->find(name))] = std::move(value);
  };
  set("input", widened(b, *elements, columns, false));
  set(form.dtype, DType::f32);
  if (shared != k) {
    set(form.scale, widened(b, *node.tensor(form.scale), columns / shared, true));
    set(form.zero, None{});  // there is one for each scale
  } else if (has_argument(node, "block_size")) {
    set("block_size", Ints{node.ints("block_size")[0], Sym(k + columns)});
  } else if (has_argument(node, "group_size")) {
    set("group_size", k + columns);
  }
  return b.call(node.op->name(), std::move(args));
}

}  // namespace wick::compiler
