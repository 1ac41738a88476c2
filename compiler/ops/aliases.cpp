// Second names of operators: same arguments, same meaning.
#include <string_view>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

struct Alias {
  std::string_view name, target;
};
constexpr Alias kAliases[] = {
    {"aten.__and__.Scalar", "aten.bitwise_and.Scalar"},
    {"aten.__and__.Tensor", "aten.bitwise_and.Tensor"},
    {"aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor_Scalar"},
    {"aten.__lshift__.Tensor", "aten.bitwise_left_shift.Tensor"},
    {"aten.__or__.Scalar", "aten.bitwise_or.Scalar"},
    {"aten.__or__.Tensor", "aten.bitwise_or.Tensor"},
    {"aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor_Scalar"},
    {"aten.__rshift__.Tensor", "aten.bitwise_right_shift.Tensor"},
    {"aten.__xor__.Scalar", "aten.bitwise_xor.Scalar"},
    {"aten.__xor__.Tensor", "aten.bitwise_xor.Tensor"},
    {"aten.absolute.default", "aten.abs.default"},
    {"aten.arccos.default", "aten.acos.default"},
    {"aten.arccosh.default", "aten.acosh.default"},
    {"aten.arcsin.default", "aten.asin.default"},
    {"aten.arcsinh.default", "aten.asinh.default"},
    {"aten.arctan.default", "aten.atan.default"},
    {"aten.arctan2.default", "aten.atan2.default"},
    {"aten.arctanh.default", "aten.atanh.default"},
    {"aten.clip.default", "aten.clamp.default"},
    {"aten.clip.Tensor", "aten.clamp.Tensor"},
    {"aten.divide.Scalar", "aten.div.Scalar"},
    {"aten.divide.Scalar_mode", "aten.div.Scalar_mode"},
    {"aten.divide.Tensor", "aten.div.Tensor"},
    {"aten.divide.Tensor_mode", "aten.div.Tensor_mode"},
    {"aten.fix.default", "aten.trunc.default"},
    {"aten.greater.Scalar", "aten.gt.Scalar"},
    {"aten.greater.Tensor", "aten.gt.Tensor"},
    {"aten.greater_equal.Scalar", "aten.ge.Scalar"},
    {"aten.greater_equal.Tensor", "aten.ge.Tensor"},
    {"aten.less.Scalar", "aten.lt.Scalar"},
    {"aten.less.Tensor", "aten.lt.Tensor"},
    {"aten.less_equal.Scalar", "aten.le.Scalar"},
    {"aten.less_equal.Tensor", "aten.le.Tensor"},
    {"aten.max.other", "aten.maximum.default"},
    {"aten.min.other", "aten.minimum.default"},
    {"aten.multiply.Scalar", "aten.mul.Scalar"},
    {"aten.multiply.Tensor", "aten.mul.Tensor"},
    {"aten.negative.default", "aten.neg.default"},
    {"aten.not_equal.Scalar", "aten.ne.Scalar"},
    {"aten.not_equal.Tensor", "aten.ne.Tensor"},
    {"aten.row_stack.default", "aten.vstack.default"},
    {"aten.special_erf.default", "aten.erf.default"},
    {"aten.special_expit.default", "aten.sigmoid.default"},
    {"aten.special_expm1.default", "aten.expm1.default"},
    {"aten.special_log1p.default", "aten.log1p.default"},
    {"aten.special_round.default", "aten.round.decimals"},
    {"aten.special_logit.default", "aten.logit.default"},
    {"aten.special_digamma.default", "aten.digamma.default"},
    {"aten.special_psi.default", "aten.digamma.default"},
    {"aten.special_gammaln.default", "aten.lgamma.default"},
    {"aten.special_erfinv.default", "aten.erfinv.default"},
    {"aten.special_i0.default", "aten.i0.default"},
    {"aten.special_modified_bessel_i0.default", "aten.i0.default"},
    {"aten.special_modified_bessel_i1.default", "aten.special_i1.default"},
    {"aten.special_gammainc.default", "aten.igamma.default"},
    {"aten.special_gammaincc.default", "aten.igammac.default"},
    {"aten.special_sinc.default", "aten.sinc.default"},
    {"aten.subtract.Scalar", "aten.sub.Scalar"},
    {"aten.subtract.Tensor", "aten.sub.Tensor"},
    {"aten.true_divide.Scalar", "aten.div.Scalar"},
    {"aten.true_divide.Tensor", "aten.div.Tensor"},
};

std::string_view target_of(const Node& node) {
  for (const Alias& alias : kAliases) {
    if (alias.name == node.op->name()) return alias.target;
  }
  fail(Code::internal, fmt::format("{} is not an alias", node.op->name()));
}

std::vector<Value*> decompose_alias(Builder& b, Node& node) {
  return Compose(b).call_multi(target_of(node), node.args());
}

}  // namespace

const OpDef kAliasRows[] = {
    {"aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::absolute(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::arccos(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::arccosh(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::arcsin(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::arcsinh(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::arctan(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::arctan2(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::arctanh(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", nullptr, decompose_alias},
    {"aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", nullptr, decompose_alias},
    {"aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", nullptr, decompose_alias},
    {"aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", nullptr, decompose_alias},
    {"aten::fix(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::greater.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::greater.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::less.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::less.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::max.other(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::min.other(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::negative(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::row_stack(Tensor[] tensors) -> Tensor", nullptr, decompose_alias},
    {"aten::special_erf(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_expit(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_expm1(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_log1p(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_logit(Tensor self, float? eps=None) -> Tensor", nullptr, decompose_alias},
    {"aten::special_digamma(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_psi(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_gammaln(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_erfinv(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_i0(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_modified_bessel_i0(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_modified_bessel_i1(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::special_gammainc(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::special_gammaincc(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
    {"aten::special_round(Tensor self, *, int decimals=0) -> Tensor", nullptr, decompose_alias},
    {"aten::special_sinc(Tensor self) -> Tensor", nullptr, decompose_alias},
    {"aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", nullptr, decompose_alias},
    {"aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", nullptr, decompose_alias},
    {"aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", nullptr, decompose_alias},
    {"aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", nullptr, decompose_alias},
};
const size_t kAliasCount = std::size(kAliasRows);

}  // namespace wick::compiler
