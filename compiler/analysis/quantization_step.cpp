#include "compiler/analysis/quantization_step.h"

#include <string.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace wick::compiler {
namespace {

// Besides views: every element of the result is one of an operand, or a bound.
constexpr std::string_view kKeepElements[] = {
    "aten.amax.default",
    "aten.amin.default",
    "aten.cat.default",
    "aten.clamp.default",
    "aten.clone.default",
    "aten.constant_pad_nd.default",
    "aten.contiguous.default",
    "aten.flip.default",
    "aten.gather.default",
    "aten.hardtanh.default",
    "aten.index_select.default",
    "aten.max_pool2d.default",
    "aten.max_pool2d_with_indices.default",
    "aten.pixel_shuffle.default",
    "aten.pixel_unshuffle.default",
    "aten.relu.default",
    "aten.relu6.default",
    "aten.repeat.default",
    "aten.roll.default",
    "aten.stack.default",
};

bool keeps_elements(const Node& node) {
  return node.op->has(kView) || node.op->has(kIdentity) ||
         std::find(std::begin(kKeepElements), std::end(kKeepElements), node.op->name()) != std::end(kKeepElements);
}

template <typename T>
double largest_of(const Value& constant) {
  double largest = 0;
  const auto bytes = constant.data.bytes();
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T element;
    memcpy(&element, bytes.data() + at, sizeof element);
    largest = std::max(largest, static_cast<double>(element));
  }
  return largest;
}

double scale_of(const Node& dequantize) {
  for (const char* name : {"scale", "scales"}) {
    if (dequantize.op->parsed->find(name) < 0) continue;
    const Arg& scale = dequantize.arg(name);
    if (scale.is<double>()) return scale.as<double>();
    if (!scale.is<Value*>() || !scale.as<Value*>()->is_constant()) return 0;
    const Value& constant = *scale.as<Value*>();
    if (constant.dtype() == DType::f32) return largest_of<float>(constant);
    return constant.dtype() == DType::f64 ? largest_of<double>(constant) : 0;
  }
  return 0;
}

}  // namespace

double quantization_step(const Value& value) {
  double step = 0;
  std::set<const Value*> seen = {&value};
  std::vector<const Value*> open = {&value};
  while (!open.empty()) {
    const Node* node = open.back()->producer;
    open.pop_back();
    if (!node) continue;
    const std::string_view name = node->op->name();
    if (name.find(".dequantize_") != std::string_view::npos) {
      step = std::max(step, scale_of(*node));
    } else if (name.find(".quantize_") != std::string_view::npos) {
      step = std::max(step, 1.0);
    } else if (keeps_elements(*node)) {
      for (const Value* operand : node->operands()) {
        if (seen.insert(operand).second) open.push_back(operand);
      }
    }
  }
  return step;
}

}  // namespace wick::compiler
