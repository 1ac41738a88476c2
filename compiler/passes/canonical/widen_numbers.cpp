#include <algorithm>
#include <optional>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/limits/kernel_dtypes.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// The wider dtype in which eager computes with numbers of `dtype`; `dtype` itself if there is none.
DType wider(DType dtype) {
  switch (rare_dtype(dtype)) {
    case kC32: return DType::c64;
    case kF8: return DType::f32;
    default: return dtype;
  }
}

bool is_narrow(const Value* value) { return value->type.is_tensor() && wider(value->dtype()) != value->dtype(); }

// Whether the kernel takes all tensors, with their dtypes seen as `seen_as` gives them.
bool takes(const Node& node, DType (*seen_as)(DType dtype)) {
  std::vector<Value*> values = node.operands();
  values.insert(values.end(), node.results().begin(), node.results().end());
  return std::all_of(values.begin(), values.end(), [&](const Value* value) {
    return !value->type.is_tensor() || kernel_takes(node.op->kernel, seen_as(value->dtype()));
  });
}

bool is_complex_half(const Value* value) { return value->type.is_tensor() && value->dtype() == DType::c32; }

bool is_sum(const Node& node) {
  const bool sums = node.is(Binary::add) || node.is(Binary::sub) || node.is(Binary::rsub);
  return sums && has_argument(node, "alpha");
}
bool has_factor(const Node& node) { return is_sum(node) && literal(node.arg("alpha")) != 1.0; }

// Whether eager also rounds the products inside the operator. Such an operator is decomposed if it has no kernel;
// factors that `split_factor` leaves are refused.
bool rounds_product(const Node& node) { return node.is("aten.addcmul.default") || has_factor(node); }

// The real and imaginary parts of an operand as eager reads it beside complex halves (c32).
Value* half_parts(Builder& b, Value* x) {
  return b.call("aten.view_as_real", {b.cast(b.cast(x, DType::c32), DType::c64)});
}
Value* half_parts(Builder& b, double real, double imaginary) {
  const float parts[] = {static_cast<float>(half_number(real, DType::f16)), static_cast<float>(imaginary)};
  const auto* bytes = reinterpret_cast<const uint8_t*>(parts);
  return b.constant(TensorType{DType::f32, {2}, {}}, std::vector<uint8_t>(bytes, bytes + sizeof(parts)));
}

// The factor that eager multiplies by. The integer 0 has no sign.
std::optional<double> number_factor(const Node& node) {
  const Arg& alpha = node.arg("alpha");
  const auto factor = literal(alpha);
  if (!factor || node.is(Binary::add)) return factor;
  return alpha.is<double>() ? -*factor : 0 - *factor;
}

// x + alpha y for complex halves: a product and a sum, whose operands and results are each rounded. Eager multiplies by
// alpha = 1, too, which makes NaN of 0 times an infinite part. The sum adds real and imaginary parts, so it multiplies
// nothing more.
Value* split_factor(Builder& b, Node& node) {
  if (!is_sum(node) || node.results().empty() || !is_complex_half(node.result())) return nullptr;
  const auto factor = number_factor(node);
  if (!factor) return nullptr;
  const double half = half_number(*factor, DType::f16);
  const size_t scaled = node.is(Binary::rsub) ? 0 : 1;
  Value* parts[2];
  for (size_t i = 0; i < 2; ++i) {
    const Arg& arg = node.arg(i);
    const bool is_tensor = arg.is<Value*>() && arg.as<Value*>()->type.is_tensor();
    const auto number = is_tensor ? std::nullopt : literal(arg);
    if (!is_tensor && !number) return nullptr;
    if (is_tensor) {
      Value* x = b.cast(arg.as<Value*>(), DType::c32);
      parts[i] = half_parts(b, i == scaled ? b.call("aten.mul.Scalar", {x, half}) : x);
    } else {
      const double read = half_number(*number, DType::f16);
      parts[i] = i == scaled ? half_parts(b, half * read, half * 0.0 + 0.0 * read) : half_parts(b, read, 0);
    }
  }
  Value* sum = b.call("aten.add.Tensor", {parts[0], parts[1]});
  return b.cast(b.call("aten.view_as_complex", {sum}), DType::c32);
}

// x / |x|, or 0 for x = 0. Eager divides complex halves by a complex number, so beside an infinite part the other part
// is NaN. For wider numbers it divides the parts.
Value* split_sign(Builder& b, Node& node) {
  if (!node.is("aten.sgn.default") || !is_complex_half(node.result())) return nullptr;
  Compose c(b);
  Value* x = b.cast(node.tensor("self"), DType::c64);
  Value* size = c.abs(x);
  size = c.where(c.compare("eq", size, 0), 1.0, size, size->dtype());
  return b.cast(c.div(x, size), DType::c32);
}

// Whether the node stays as it is. A node on 8-bit floats without a kernel is decomposed first, because not all of its
// parts may take f32. An operator that tests (isfinite) is widened at once: its parts take f32, but compute something
// else in 8 bits, as f8e8m0fnu has no 0.
bool stays(const Node& node, bool complex) {
  if (!node.op->infer || !node.graphs.empty()) return true;
  if (node.op->has(kRandom | kEffect | kInPlace | kMutates)) return true;
  const bool tests = node.op->has(kPointwise) && node.result()->dtype() == DType::boolean;
  if (complex && rounds_product(node)) return true;
  if (!node.op->kernel) return complex ? node.op->has(kMoves | kView | kIdentity) : !tests;
  if (node.is("aten._to_copy.default")) return true;  // all conversions
  return takes(node, [](DType dtype) { return dtype; }) || !takes(node, wider);
}

// Widens an operand. Beside complex halves, f16 tensors are parts of complex numbers and become f32.
Value* widened_value(Builder& b, Value* value, bool complex) {
  if (!value || !value->type.is_tensor()) return value;
  if (complex && value->dtype() == DType::f16) return b.cast(value, DType::f32);
  return b.cast(value, wider(value->dtype()));
}

// The dtype in which eager reads the operands of a sum, product or comparison, if it is a narrow one. With 8-bit floats
// and numbers, eager computes comparisons only.
std::optional<DType> read_as(const Node& node) {
  if (node.op->facts.binary == Binary::none) return std::nullopt;
  const bool compares = is_comparison(node.op->facts.binary);
  const DType dtype = computed_in(node);
  const bool reads = dtype == DType::c32 || (compares && wider(dtype) != dtype);
  return reads ? std::optional<DType>(dtype) : std::nullopt;
}

// A number, or a tensor of another dtype, rounded as eager reads it beside a tensor of `dtype`.
Arg rounded(Builder& b, const Arg& arg, DType dtype) {
  if (arg.is<Value*>() && arg.as<Value*>()->type.is_tensor()) {
    Value* x = arg.as<Value*>();
    const bool is_part = dtype == DType::c32 && x->dtype() == DType::f16;
    return is_part || x->dtype() == DType::boolean ? x : b.cast(x, dtype);
  }
  const auto number = literal(arg);
  if (!number) return arg;
  if (dtype == DType::c32) return half_number(*number, DType::f16);
  return b.cast(b.scalar(*number, DType::f32), dtype);
}

// Rounds both operands. Returns the name of the operator, in its form for tensors if a number became a tensor.
std::string round_operands(Builder& b, const Node& node, DType dtype, Args& args) {
  std::string name(node.op->name());
  for (size_t i = 0; i < 2; ++i) {
    const bool is_number = !args[i].is<Value*>();
    args[i] = rounded(b, args[i], dtype);
    constexpr std::string_view kScalar = ".Scalar";
    if (is_number && args[i].is<Value*>() && name.ends_with(kScalar))
      name.replace(name.size() - kScalar.size(), kScalar.size(), ".Tensor");
  }
  return name;
}

Value* widen(Builder& b, Node& node) {
  std::vector<Value*> values = node.operands();
  values.push_back(node.result());
  const bool complex = std::any_of(values.begin(), values.end(), is_complex_half);
  const bool narrow = std::any_of(values.begin(), values.end(), is_narrow);
  if (!narrow || !node.result()->type.is_tensor() || stays(node, complex)) return nullptr;
  Args args = node.args();
  const auto dtype = read_as(node);
  const std::string name = dtype ? round_operands(b, node, *dtype, args) : std::string(node.op->name());
  for (Arg& arg : args) {
    if (arg.is<Value*>()) {
      arg = widened_value(b, arg.as<Value*>(), complex);
    } else if (arg.is<Values>()) {
      Values list = arg.as<Values>();
      for (Value*& value : list) value = widened_value(b, value, complex);
      arg = std::move(list);
    } else if (arg.is<DType>()) {
      arg = wider(arg.as<DType>());
    }
  }
  return b.cast(b.call(name, std::move(args)), node.result()->dtype());
}

}  // namespace

// Computes with complex halves as c64 and with 8-bit floats as f32, as eager does, if no kernel takes them.
//   before: y: c32 = mul(x, 1j)              after: y = _to_copy(mul(_to_copy(x, c64), 1j), c32)
// Operators that only move or convert elements stay. Numbers and tensors of other dtypes beside such operands are
// rounded to the narrow dtype first, as eager does. Factors in sums of complex halves become separate products, which
// eager rounds.
// Ensures: every remaining operator on these dtypes has a kernel, or check_kernel_dtypes() refuses it.
// Keeps: every value, as eager computes it.
Result<Changed> widen_numbers(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    constexpr Rule kRules[] = {split_factor, split_sign, widen};
    return rewrite_nodes(g, Span<const Rule>(kRules));
  });
}

}  // namespace wick::compiler
