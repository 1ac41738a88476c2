#include "compiler/ops/pointwise/half_numbers.h"

#include <algorithm>
#include <iterator>

#include "common/float16.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {

double half_number(double number, DType dtype) {
  if (dtype == DType::f16) return static_cast<double>(Half::to_float(Half::from_float(static_cast<float>(number))));
  if (dtype != DType::bf16) return number;
  return static_cast<double>(float_from_bits(uint32_t{BFloat16::from_float(static_cast<float>(number))} << 16));
}

bool is_16_bit(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

bool is_element(const Value* x) { return x->type.is_tensor() && numel(x->sizes()) == 1; }

DType computed_in(const Node& node) {
  return is_comparison(node.op->facts.binary) ? promote({node.arg(0), node.arg(1)}) : node.result()->dtype();
}

bool reads_half_numbers(const Node& node, size_t place) {
  if (node.is(Binary::add) || node.is(Binary::sub) || node.is(Binary::rsub)) return true;
  if (is_comparison(node.op->facts.binary)) return true;
  if (node.is("aten.mul.Tensor") || node.is("aten.div.Tensor")) return place == 0 || !is_element(node.tensor("other"));
  constexpr std::string_view kOthers[] = {"aten.remainder.Scalar",  "aten.remainder.Tensor",  "aten.fmod.Scalar",
                                          "aten.fmod.Tensor",       "aten.pow.Tensor_Scalar", "aten.pow.Scalar",
                                          "aten.pow.Tensor_Tensor", "aten.atan2.default"};
  return std::find(std::begin(kOthers), std::end(kOthers), node.op->name()) != std::end(kOthers);
}

}  // namespace wick::compiler
