#include <algorithm>

#include "compiler/ops/limits/kernel_dtypes.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

// The dtype in which eager computes with numbers of `dtype`, if that is wider.
DType wider(DType dtype) {
  switch (rare_dtype(dtype)) {
    case kC32: return DType::c64;
    case kF8: return DType::f32;
    default: return dtype;
  }
}

bool is_narrow(const Value* value) { return value->type.is_tensor() && wider(value->dtype()) != value->dtype(); }

// Does the kernel take all tensors in the dtypes that they have, or in wider ones?
bool takes(const Node& node, DType (*seen_as)(DType dtype)) {
  std::vector<Value*> values = node.operands();
  values.insert(values.end(), node.results().begin(), node.results().end());
  return std::all_of(values.begin(), values.end(), [&](const Value* value) {
    return !value->type.is_tensor() || kernel_takes(node.op->kernel, seen_as(value->dtype()));
  });
}

bool is_complex_half(const Value* value) { return value->type.is_tensor() && value->dtype() == DType::c32; }

// What has no kernel yet is taken apart before its 8-bit floats are looked at: not all of its parts may take f32.
bool stays(const Node& node, bool complex) {
  if (!node.op->infer || !node.graphs.empty()) return true;
  if (node.op->has(kRandom | kEffect | kInPlace | kMutates)) return true;
  if (!node.op->kernel) return !complex || node.op->has(kMoves | kView | kIdentity);
  if (node.is("aten._to_copy.default")) return true;  // all conversions
  return takes(node, [](DType dtype) { return dtype; }) || !takes(node, wider);
}

// Beside complex halves, halves are parts of complex numbers.
Value* widened(Builder& b, Value* value, bool complex) {
  if (!value || !value->type.is_tensor()) return value;
  if (complex && value->dtype() == DType::f16) return b.cast(value, DType::f32);
  return b.cast(value, wider(value->dtype()));
}

Value* widen(Builder& b, Node& node) {
  std::vector<Value*> values = node.operands();
  values.push_back(node.result());
  const bool complex = std::any_of(values.begin(), values.end(), is_complex_half);
  const bool narrow = std::any_of(values.begin(), values.end(), is_narrow);
  if (!narrow || !node.result()->type.is_tensor() || stays(node, complex)) return nullptr;
  Args args = node.args();
  for (Arg& arg : args) {
    if (arg.is<Value*>()) {
      arg = widened(b, arg.as<Value*>(), complex);
    } else if (arg.is<Values>()) {
      Values list = arg.as<Values>();
      for (Value*& value : list) value = widened(b, value, complex);
      arg = std::move(list);
    } else if (arg.is<DType>()) {
      arg = wider(arg.as<DType>());
    }
  }
  return b.cast(b.call(node.op->name(), std::move(args)), node.result()->dtype());
}

}  // namespace

// Computes with complex halves as c64 and with 8-bit floats as f32, as eager does, where no kernel takes them.
//   before: y: c32 = mul(x, 1j)              after: y = _to_copy(mul(_to_copy(x, c64), 1j), c32)
// Operators that only move elements, or convert them, stay.
// Ensures: what remains of these dtypes has a kernel, or is refused by check_kernel_dtypes().
// Keeps: every value, as eager computes it.
Result<Changed> widen_numbers(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    constexpr Rule kRules[] = {widen};
    return rewrite_nodes(g, Span<const Rule>(kRules));
  });
}

}  // namespace wick::compiler
