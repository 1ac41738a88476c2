#include "compiler/analysis/quantization_step.h"

#include <string.h>

#include <algorithm>
#include <set>
#include <vector>

namespace wick::compiler {
namespace {

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
    if (node->op->has(kDequantizes)) {
      step = std::max(step, scale_of(*node));
    } else if (node->op->has(kQuantizes)) {
      step = std::max(step, 1.0);
    } else if (node->op->has(kView | kIdentity | kMoves | kSelectsElements)) {
      for (const Value* operand : node->operands()) {
        if (seen.insert(operand).second) open.push_back(operand);
      }
    }
  }
  return step;
}

}  // namespace wick::compiler
