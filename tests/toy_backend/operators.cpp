#include "compiler/ir/builder.h"
#include "compiler/ir/quantization.h"
#include "compiler/ops/rules.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {

using compiler::Args;
using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::TargetContext;
using compiler::Value;

namespace {

constexpr compiler::OpDef kRows[] = {
    {"toy::add(Tensor a, Tensor b) -> Tensor", compiler::infer_same, nullptr, "toy::add.out", compiler::kNoStock},
    // Elements of a and b, with the scales and zero points of a, b and the result.
    {"toy::quantized_add(Tensor a, Tensor b, float a_scale, int a_zero, float b_scale, int b_zero, float scale, int "
     "zero) -> Tensor",
     compiler::infer_same, nullptr, "toy::quantized_add.out", compiler::kElements | compiler::kNoStock},
    {"toy::mul(Tensor a, Tensor b, Tensor scratch) -> Tensor", compiler::infer_same, nullptr, "toy::mul.out",
     compiler::kNoStock},
};

}  // namespace

Span<const compiler::OpDef> operators() { return kRows; }

std::vector<Value*> rewrite(Builder& b, Node& node, const TargetContext&) {
  const auto operands = node.operands();
  if (node.result()->is_quantized()) {
    Args args = {operands[0], operands[1]};
    for (const Value* value : {operands[0], operands[1], node.result()}) {
      const compiler::Quantization& q = *value->tensor().quantization;
      args.push_back(q.scales[0]);
      args.push_back(static_cast<int64_t>(q.zero_points[0]));
    }
    return {b.call("toy.quantized_add", std::move(args))};
  }
  if (node.is("aten.add.Tensor")) return {b.call("toy.add", {operands[0], operands[1]})};
  // For the product before it is stored.
  const Ints size(node.result()->sizes().begin(), node.result()->sizes().end());
  return {b.call("toy.mul", {operands[0], operands[1], b.call("wick.scratch", {size, DType::f32})})};
}

}  // namespace wick::toy
