#include "backends/xnnpack/compile/passes/match/zero_columns.h"

#include <string.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "compiler/ops/arguments.h"
#include "compiler/quantize/quantize_nodes.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Conversion;
using compiler::ConversionForm;
using compiler::Ints;
using compiler::Node;
using compiler::None;
using compiler::NumberFacts;
using compiler::NumberList;
using compiler::Quantization;
using compiler::Sym;
using compiler::TensorType;
using compiler::Value;

namespace {

bool is_plain_matrix(const Value& value) {
  return value.is_constant() && value.rank() == 2 && value.tensor().dim_order.empty() && is_static(value.sizes());
}

// The number of a row's k elements that share a scale.
int64_t elements_of_scale(const Quantization& quantization, int64_t k) {
  return quantization.blocks[1] == 0 ? k : quantization.blocks[1];
}

bool has_zero_points(const NumberList& zeros) { return !zeros.are_all(0); }

// Whether all zero points can be int8 elements themselves.
bool are_elements(const NumberList& zeros) {
  const NumberFacts& range = zeros.range();
  return range.finite && range.whole && range.least >= -128 && range.largest <= 127;
}

// The constant [rows, columns] with `added` more columns: copies of the last one.
Value* widened_constant(Builder& b, const Value& constant, int64_t added) {
  const auto rows = static_cast<size_t>(constant.sizes()[0].value());
  const size_t element = dtype_size_bytes(constant.dtype());
  const size_t row = static_cast<size_t>(constant.sizes()[1].value()) * element;
  const size_t wide = row + static_cast<size_t>(added) * element;
  const auto bytes = constant.data.bytes();
  std::vector<uint8_t> out(rows * wide, 0);
  for (size_t i = 0; i < rows; ++i) {
    memcpy(&out[i * wide], bytes.data() + i * row, row);
    for (size_t at = row; at < wide; at += element)
      memcpy(&out[i * wide + at], bytes.data() + (i + 1) * row - element, element);
  }
  TensorType type = constant.tensor();
  type.sizes[1] = type.sizes[1] + Sym(added);
  return b.constant(std::move(type), std::move(out), constant.name);
}

// The elements with `added` more columns, which stand for 0: the zero points of each row's last block.
Value* widened_elements(Builder& b, const Value& elements, int64_t added, const std::vector<double>& zeros) {
  const auto rows = static_cast<size_t>(elements.sizes()[0].value());
  const auto row = static_cast<size_t>(elements.sizes()[1].value()), wide = row + static_cast<size_t>(added);
  const auto bytes = elements.data.bytes();
  std::vector<uint8_t> out(rows * wide);
  for (size_t i = 0; i < rows; ++i) {
    const double zero = zeros.empty() ? 0 : zeros.size() < rows ? zeros[0] : zeros[(i + 1) * (zeros.size() / rows) - 1];
    memcpy(&out[i * wide], bytes.data() + i * row, row);
    memset(&out[i * wide + row], static_cast<uint8_t>(static_cast<int8_t>(zero)), static_cast<size_t>(added));
  }
  TensorType type = elements.tensor();
  type.sizes[1] = type.sizes[1] + Sym(added);
  return b.constant(std::move(type), std::move(out), elements.name);
}

}  // namespace

int64_t zero_columns_step(const Value& weight) {
  const Node* node = weight.producer;
  if (!node || !converts(*node, Conversion::dequantize)) return 0;
  const Value* elements = node->tensor("input");
  if (!is_plain_matrix(*elements) || elements->dtype() != DType::i8) return 0;
  const auto quantization = stated_quantization(*node);
  if (!quantization || quantization->channel_dim() == 1) return 0;
  const NumberList& zeros = quantization->zero_points;
  const int64_t k = elements->sizes()[1].value(), shared = elements_of_scale(*quantization, k);
  const auto one_by_block = [&](const Value* x) {
    return x && is_plain_matrix(*x) && x->sizes()[0] == elements->sizes()[0] && x->sizes()[1].is(k / shared);
  };
  const ConversionForm& form = *conversion_of(*node);
  // Backends without zero points of weights need differences that are int8.
  const bool is_wide = quantization->quant_max - quantization->quant_min > 127;
  if (!are_elements(zeros) || (has_zero_points(zeros) && is_wide)) return 0;
  if (shared == k) return 1;
  const auto zero = static_cast<size_t>(std::max(node->op->parsed->find(form.zero), 0));
  if (has_zero_points(zeros) && !one_by_block(node->tensor_or_null(zero))) return 0;
  return one_by_block(node->tensor(form.scale)) ? shared : 0;
}

Value* with_zero_columns(Builder& b, const Value& weight, int64_t columns) {
  const Node& node = *weight.producer;
  const ConversionForm& form = *conversion_of(node);
  const Value* elements = node.tensor("input");
  const Quantization quantization = *stated_quantization(node);
  const int64_t k = elements->sizes()[1].value(), shared = elements_of_scale(quantization, k);
  const NumberList& zeros = quantization.zero_points;
  Args args = node.args();
  const auto set = [&](std::string_view name, Arg value) {
    args[static_cast<size_t>(node.op->parsed->find(name))] = std::move(value);
  };
  set("input", widened_elements(b, *elements, columns, zeros.all()));
  set(form.dtype, DType::f32);
  if (shared != k) {
    set(form.scale, widened_constant(b, *node.tensor(form.scale), columns / shared));
    // There is one for each scale.
    if (has_zero_points(zeros))
      set(form.zero, widened_constant(b, *node.tensor(form.zero), columns / shared));
    else
      set(form.zero, None{});
  } else if (has_argument(node, "block_size")) {
    set("block_size", Ints{node.ints("block_size")[0], Sym(k + columns)});
  } else if (has_argument(node, "group_size")) {
    set("group_size", k + columns);
  }
  return b.call(node.op->name(), std::move(args));
}

}  // namespace wick::xnnpack
