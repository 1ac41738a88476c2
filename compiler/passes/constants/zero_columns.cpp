#include "compiler/passes/constants/zero_columns.h"

#include <string.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace wick::compiler {
namespace {

// What an operator that dequantizes calls its parameters. An empty scale is one for all.
struct Form {
  std::string_view op, scale, zero, dtype;
};
constexpr Form kForms[] = {
    {"quantized_decomposed.dequantize_per_channel.default", "scales", "zero_points", "out_dtype"},
    {"quantized_decomposed.dequantize_per_channel_group.default", "scales", "zero_points", "output_dtype"},
    {"quantized_decomposed.dequantize_per_tensor.default", "", "zero_point", "out_dtype"},
    {"quantized_decomposed.dequantize_per_tensor.tensor", "", "zero_point", "out_dtype"},
    {"torchao.dequantize_affine.default", "scale", "zero_point", "output_dtype"},
};

const Form* form_of(const Node* node) {
  const auto form =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const Form& row) { return node && node->is(row.op); });
  return form == std::end(kForms) ? nullptr : &*form;
}

bool has(const Node& node, std::string_view name) { return node.op->parsed->find(name) >= 0; }

bool is_plain_matrix(const Value& value) {
  return value.is_constant() && value.rank() == 2 && value.tensor().dim_order.empty() && is_static(value.sizes());
}

bool is_zero(const Arg& arg) {
  if (arg.is<None>()) return true;
  if (arg.is<Sym>()) return arg.as<Sym>().is(0);
  if (!arg.is<Value*>() || !arg.as<Value*>()->is_constant()) return false;
  const auto bytes = arg.as<Value*>()->data.bytes();
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

// How many of a row's k elements share a scale; 0 if nothing says so.
int64_t elements_of_scale(const Node& node, int64_t k) {
  if (has(node, "group_size")) return node.static_integer("group_size");
  if (has(node, "axis")) return wrap_dim(node.static_integer("axis"), 2) == 0 ? k : 0;
  if (!has(node, "block_size")) return k;
  const Ints blocks = node.ints("block_size");
  if (blocks.size() != 2 || !is_static(blocks)) return 0;
  return blocks[1].is(-1) ? k : blocks[1].value();
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
  const Form* form = form_of(node);
  if (!form || !is_zero(node->arg(form->zero))) return 0;
  const Value* elements = node->tensor("input");
  if (!is_plain_matrix(*elements) || elements->dtype() != DType::i8) return 0;
  const int64_t k = elements->sizes()[1].value(), shared = elements_of_scale(*node, k);
  if (shared <= 0 || k % shared != 0) return 0;
  if (shared == k) return 1;
  const Value* scale = node->tensor(form->scale);
  return is_plain_matrix(*scale) && scale->sizes()[1].is(k / shared) ? shared : 0;
}

Value* with_zero_columns(Builder& b, const Value& weight, int64_t columns) {
  const Node& node = *weight.producer;
  const Form& form = *form_of(&node);
  const Value* elements = node.tensor("input");
  const int64_t k = elements->sizes()[1].value(), shared = elements_of_scale(node, k);
  Args args = node.args();
  const auto set = [&](std::string_view name, Arg value) {
    args[static_cast<size_t>(node.op->parsed->find(name))] = std::move(value);
  };
  set("input", widened(b, *elements, columns, false));
  set(form.dtype, DType::f32);
  if (shared != k) {
    set(form.scale, widened(b, *node.tensor(form.scale), columns / shared, true));
    set(form.zero, None{});  // there is one for each scale
  } else if (has(node, "block_size")) {
    set("block_size", Ints{node.ints("block_size")[0], Sym(k + columns)});
  } else if (has(node, "group_size")) {
    set("group_size", k + columns);
  }
  return b.call(node.op->name(), std::move(args));
}

}  // namespace wick::compiler
