// Powers, exponentials and roots of square matrices.
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/ranges/ranges.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

void require_square_matrix(const Value* a) {
  require(a->rank() >= 2, "a matrix needs two dimensions");
  require_equal(a->sizes().back(), a->sizes()[a->rank() - 2], "a matrix that must be square");
}

Results decompose_matrix_power(Builder& b, Node& node) {
  Compose c(b);
  Value* a = node.tensor("self");
  int64_t n = node.static_integer("n");
  require_square_matrix(a);
  require(n > -4096 && n < 4096, "matrix_power: this exponent is not supported");
  if (n == 0) return {b.expand(c.call("aten.eye", {a->sizes().back(), a->dtype()}), a->sizes())};
  if (n < 0) a = b.call_multi("aten.linalg_inv_ex", {a, true})[0];
  Value* out = nullptr;
  for (n = std::abs(n); n > 0; n /= 2) {
    if (n % 2 != 0) out = out ? c.matmul(out, a) : a;
    if (n > 1) a = c.matmul(a, a);
  }
  return {out};
}

void infer_matrix_exp(Node& node) {
  const Value* a = node.tensor("self");
  const DType part = real_dtype(a->dtype());
  require(part == DType::f32 || part == DType::f64 || is_16_bit(part),
          "the matrix exponential takes floating and complex numbers");
  require_square_matrix(a);
  infer_same(node);
}
// Kernels take f32, f64, c64 and c128.
Results decompose_matrix_exp(Builder& b, Node& node) {
  const DType dtype = node.tensor("self")->dtype();
  const bool narrow = is_16_bit(dtype);
  if (!narrow && node.op->infer) return {};
  return {
      b.cast(b.call("aten.linalg_matrix_exp", {narrow ? b.cast(node.tensor("self"), DType::f32) : node.tensor("self")}),
             dtype)};
}

// --- by spectra ---

// columns diag(values) adjoint
Value* scaled_product(Compose& c, Value* columns, Value* values, Value* right) {
  return c.matmul(c.mul(columns, c.b.unsqueeze(values, -2)), right);
}
// A = V diag(w) V^H, and so V diag(sqrt(w)) V^H; w below 0 counts as 0.
Results decompose_matrix_sqrth(Builder& b, Node& node) {
  Compose c(b);
  const Results all = b.call_multi("aten._linalg_eigh", {node.tensor("self"), std::string("L"), true});
  return {scaled_product(c, all[1], c.sqrt(c.maximum(all[0], 0)), c.call("aten.adjoint", {all[1]}))};
}
// A = U diag(s) V^H = (U V^H) (V diag(s) V^H)
Results decompose_linalg_polar(Builder& b, Node& node) {
  Compose c(b);
  const Results all = b.call_multi("aten._linalg_svd", {node.tensor("A"), false, true});
  return {c.matmul(all[0], all[2]), scaled_product(c, c.call("aten.adjoint", {all[2]}), all[1], all[2])};
}

}  // namespace

const OpDef kMatrixFunctionRows[] = {
    {"aten::linalg_matrix_sqrth(Tensor self) -> Tensor", nullptr, decompose_matrix_sqrth, nullptr, kPure,
     Cases("f32[2, 4, 4]{definite}", "f64[3, 3]{definite}"), &kManyTerms},
    {"aten::linalg_polar(Tensor A) -> (Tensor U, Tensor H)", nullptr, decompose_linalg_polar, nullptr, kPure,
     Cases("f32[2, 4, 3]", "f64[3, 3]"), &kManyTerms},
    {"aten::linalg_matrix_exp(Tensor self) -> Tensor", infer_matrix_exp, decompose_matrix_exp,
     "aten::linalg_matrix_exp.out", kNoStock | kIterative | kDependsOnZeroSign | ranges::unknown,
     Cases("f32[2, 4, 4]")},
    {"aten::matrix_power(Tensor self, int n) -> Tensor", nullptr, decompose_matrix_power, nullptr, kPure,
     Cases("f32[2, 4, 4], 3", "f32[2, 4, 4], -1")},
    {"aten::linalg_matrix_power(Tensor self, int n) -> Tensor", nullptr, decompose_matrix_power, nullptr, kPure,
     Cases("f32[2, 4, 4], 2")},
    {"aten::matrix_exp(Tensor self) -> Tensor", nullptr, decompose_matrix_exp, nullptr, kPure,
     Cases("f32[2, 4, 4]{range=-1..1}")},
};
const size_t kMatrixFunctionCount = std::size(kMatrixFunctionRows);

}  // namespace wick::compiler
