#include "compiler/ir/builder.h"
#include "compiler/ops/rules.h"
#include "tests/toy_backend/target.h"

namespace wick::toy {

using compiler::Builder;
using compiler::Ints;
using compiler::Node;
using compiler::TargetOptions;
using compiler::Value;

namespace {

constexpr compiler::OpDef kRows[] = {
    {"toy::add(Tensor a, Tensor b) -> Tensor", compiler::infer_same, nullptr, "toy::add.out", compiler::kNoStock},
    {"toy::mul(Tensor a, Tensor b, Tensor scratch) -> Tensor", compiler::infer_same, nullptr, "toy::mul.out",
     compiler::kNoStock},
};

}  // namespace

Span<const compiler::OpDef> operators() { return kRows; }

std::vector<Value*> rewrite(Builder& b, Node& node, const TargetOptions&) {
  const auto operands = node.operands();
  if (node.is("aten.add.Tensor")) return {b.call("toy.add", {operands[0], operands[1]})};
  // For the product before it is stored.
  const Ints size(node.result()->sizes().begin(), node.result()->sizes().end());
  return {b.call("toy.mul", {operands[0], operands[1], b.call("wick.scratch", {size, DType::f32})})};
}

}  // namespace wick::toy
