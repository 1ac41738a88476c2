#include "compiler/ops/limits/kernel_limits.h"

#include "compiler/ops/limits/kernel_dtypes.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

bool is_float32(const Value* x) { return x->dtype() == DType::f32; }

// Query, key and value are f32 and have equal leading sizes, except that the query heads may be a known multiple of the
// key heads.
bool attention(const Node& node) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value");
  const size_t rank = q->rank();
  if (!is_float32(q) || !is_float32(k) || !is_float32(v) || rank < 2 || k->rank() != rank || v->rank() != rank)
    return false;
  const bool grouped = node.boolean("enable_gqa");
  for (size_t d = 0; d + 2 < rank; ++d) {
    const Sym &heads = q->sizes()[d], &own = k->sizes()[d];
    if (!(own == v->sizes()[d])) return false;
    if (heads == own) continue;
    if (!grouped || d + 3 != rank || !heads.is_const() || !own.is_const()) return false;
    if (own.value() == 0 || heads.value() % own.value() != 0) return false;
  }
  if (node.real("dropout_p") != 0) return false;
  const Value* mask = node.optional_tensor("attn_mask");
  if (!mask) return true;
  if ((mask->dtype() != DType::boolean && !is_float32(mask)) || mask->rank() > rank) return false;
  for (size_t d = 0; d < mask->rank(); ++d) {
    const size_t to = rank - mask->rank() + d;
    const Sym& wanted = to + 1 == rank ? k->sizes()[rank - 2] : q->sizes()[to];
    if (!(mask->sizes()[d] == wanted) && !(mask->sizes()[d] == Sym(1))) return false;
  }
  return true;
}

// Each matrix has one right side, which is a matrix too. Pivots have the dtype that the factorization kernels write.
bool equal_batches(const Node& node) {
  const Value *a = node.tensor(node.op->parsed->args[0].name), *b = node.tensor("B");
  return have_equal_batches(a, b) &&
         (node.op->parsed->find("pivots") < 0 || node.tensor("pivots")->dtype() == DType::i32);
}

// Each count has its own probability.
bool binomial(const Node& node) { return node.tensor("count")->sizes() == node.tensor("prob")->sizes(); }

// The written elements have the dtype of the tensor.
bool equal_dtypes(const Node& node) { return node.tensor("self")->dtype() == node.tensor("src")->dtype(); }

// The bias has the dtype of the input.
bool plain_bias(const Node& node) {
  const Value* bias = node.optional_tensor("bias");
  return !bias || bias->dtype() == node.tensor("input")->dtype();
}

// The sum is numeric, and the operand is not rounded to 16 bits first.
bool sums(const Node& node) {
  const DType to = node.result()->dtype();
  return to != DType::boolean && (!is_16_bit(to) || node.tensor("self")->dtype() == to);
}

// Integers are scanned as integers, floats in their own dtype or a wider one.
bool scans(const Node& node) {
  const DType from = node.tensor("self")->dtype(), to = node.result()->dtype();
  return is_floating(from) ? is_floating(to) && (!is_16_bit(to) || from == to) : !is_16_bit(to);
}

struct KernelLimit {
  std::string_view op;
  bool (*takes)(const Node& node);
};
constexpr KernelLimit kKernelLimits[] = {
    {"aten.scaled_dot_product_attention.default", attention},
    {"aten._linalg_solve_ex.default", equal_batches},
    {"aten.linalg_ldl_solve.default", equal_batches},
    {"aten.linalg_lu_solve.default", equal_batches},
    {"aten.linalg_solve_triangular.default", equal_batches},
    {"aten.binomial.default", binomial},
    {"aten.as_strided_scatter.default", equal_dtypes},
    {"aten.diagonal_scatter.default", equal_dtypes},
    {"aten.cumprod.default", scans},
    {"aten.convolution.default", plain_bias},
    {"aten.sum.dim_IntList", sums},
};

// Complex numbers are computed by the kernels for their parts, except in Fourier transforms.
bool has_complex_operand(const Node& node) {
  if (node.op->name().starts_with("aten._fft_")) return false;
  for (const Value* value : node.operands()) {
    if (value->type.is_tensor() && is_complex(value->dtype())) return true;
  }
  return false;
}

}  // namespace

bool kernel_takes(const Node& node) {
  if (has_complex_operand(node)) return false;
  if (floating_dtypes(node).size() > 1 && !kernel_takes_mixes(node.op->kernel)) return false;
  for (const KernelLimit& limit : kKernelLimits) {
    if (limit.op == node.op->name()) return limit.takes(node);
  }
  return true;
}

}  // namespace wick::compiler
