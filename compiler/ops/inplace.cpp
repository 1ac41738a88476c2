// In-place operators. If the schema follows from that of the functional operator, the row is made from the functional
// one (kAlsoInPlace). This table holds the others.
#include <algorithm>

#include "compiler/ops/families.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {

OpDef in_place_form(const OpDef& row) {
  std::string schema = row.schema;
  schema.insert(schema.find_first_of(".("), "_");
  schema.resize(schema.rfind("-> "));
  schema += "-> Tensor(a!)";
  const size_t type = schema.find('(') + 1;
  schema.replace(type, schema.find(' ', type) - type, "Tensor(a!)");
  auto* text = new char[schema.size() + 1];  // lives as long as the process
  std::copy_n(schema.c_str(), schema.size() + 1, text);
  OpDef form;
  form.schema = text;
  form.facts = kInPlace;
  form.functional = row.parsed->name.c_str();
  return form;
}

// A row without cases has those of its functional form.
#define IN_PLACE(schema, target, ...) {schema, nullptr, nullptr, nullptr, kInPlace, {__VA_ARGS__}, &kRoundings, target}
const OpDef kInPlaceRows[] = {
    IN_PLACE("aten::alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", "aten.alpha_dropout.default"),
    IN_PLACE("aten::dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", "aten.dropout.default"),
    IN_PLACE("aten::feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
             "aten.feature_alpha_dropout.default"),
    IN_PLACE("aten::feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
             "aten.feature_dropout.default"),
    IN_PLACE("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)",
             "aten.fill_diagonal.default", "f32[3, 3], 2.5", "i64[5, 2], 7, true"),
    IN_PLACE("aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.floor_divide.default"),
    IN_PLACE("aten::index_put_.hacked_twin(Tensor(a!) self, Tensor[] indices, Tensor values, bool accumulate=False) -> "
             "Tensor(a!)",
             "aten.index_put.default"),
    IN_PLACE("aten::pow_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", "aten.pow.Tensor_Scalar"),
    IN_PLACE("aten::float_power_.Scalar(Tensor(a!) self, Scalar exponent) -> Tensor(a!)",
             "aten.float_power.Tensor_Scalar"),
    IN_PLACE("aten::float_power_.Tensor(Tensor(a!) self, Tensor exponent) -> Tensor(a!)",
             "aten.float_power.Tensor_Tensor"),
    IN_PLACE("aten::transpose_(Tensor(a!) self, int dim0, int dim1) -> Tensor(a!)", "aten.transpose.int"),
    IN_PLACE("aten::__iand__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.__and__.Tensor"),
    IN_PLACE("aten::__iand__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten.__and__.Scalar"),
    IN_PLACE("aten::__ior__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.__or__.Tensor"),
    IN_PLACE("aten::__ior__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten.__or__.Scalar"),
    IN_PLACE("aten::__ixor__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.__xor__.Tensor"),
    IN_PLACE("aten::__ixor__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten.__xor__.Scalar"),
    IN_PLACE("aten::__ilshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.__lshift__.Tensor"),
    IN_PLACE("aten::__ilshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten.__lshift__.Scalar"),
    IN_PLACE("aten::__irshift__.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", "aten.__rshift__.Tensor"),
    IN_PLACE("aten::__irshift__.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)", "aten.__rshift__.Scalar"),
    IN_PLACE("aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)",
             "aten.normal_functional.default"),
    IN_PLACE("aten::bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)",
             "aten.bernoulli.p"),
};
const size_t kInPlaceCount = std::size(kInPlaceRows);

}  // namespace wick::compiler
