#include "compiler/ops/limits/kernel_dtypes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

struct Row {
  std::string_view kernel;
  int takes;  // RareDtypes, kAlike
};
// Sorted by name. A kernel without a row (for example, one whose result sizes depend on data) counts as taking every
// dtype.
constexpr Row kRows[] = {
#define TAKES(kernel, dtypes) {kernel, dtypes},
#include "compiler/ops/limits/kernel_dtypes.inc"
#undef TAKES
};

std::string_view conversion_for(DType dtype) {
  if (is_complex(dtype)) return "complex numbers are computed as their parts: x.real, x.imag";
  if (is_integral(dtype)) return "convert it before: x.to(torch.int64)";
  return "convert it before: x.to(torch.float32)";
}

// Null for nodes that instructions execute without a kernel of the operator's name.
const char* kernel_of(const Node& node) {
  if (node.is("aten._assert_async.msg")) return "aten::ne.Scalar_out";
  return node.graphs.empty() && !node.op->has(kBackendOnly) ? node.op->kernel : nullptr;
}

void check(const Node& node, const Value* value) {
  if (!value->type.is_tensor() || value->dtype() == DType::f32 || kernel_takes(kernel_of(node), value->dtype())) return;
  fail(Diag(Code::unsupported_model,
            fmt::format("{} of {}: no kernel computes it", node.op->name(), dtype_name(value->dtype())))
           .in(where_of(node))
           .with_help(std::string(conversion_for(value->dtype()))));
}

void check_mix(const Node& node) {
  const std::vector<DType> dtypes = floating_dtypes(node);
  if (dtypes.size() < 2 || kernel_takes_mixes(kernel_of(node))) return;
  fail(Diag(Code::unsupported_model, fmt::format("{} of {} and {}: no kernel computes this mix", node.op->name(),
                                                 dtype_name(dtypes[0]), dtype_name(dtypes[1])))
           .in(where_of(node))
           .with_help("convert its tensors to one dtype before"));
}

const Row* find_row(std::string_view kernel) {
  const Row* row = std::lower_bound(std::begin(kRows), std::end(kRows), kernel,
                                    [](const Row& each, std::string_view name) { return each.kernel < name; });
  return row == std::end(kRows) || row->kernel != kernel ? nullptr : row;
}

void check_nodes(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) check_nodes(*inner);
    if (!kernel_of(*node)) continue;
    for (const Value* operand : node->operands()) check(*node, operand);
    for (const Value* result : node->results()) check(*node, result);
    check_mix(*node);
  }
}

}  // namespace

RareDtypes rare_dtype(DType dtype) {
  switch (dtype) {
    case DType::c32: return kC32;
    case DType::c64: return kC64;
    case DType::c128: return kC128;
    case DType::u16: return kU16;
    case DType::u32: return kU32;
    case DType::u64: return kU64;
    case DType::f8e5m2:
    case DType::f8e4m3fn:
    case DType::f8e5m2fnuz:
    case DType::f8e4m3fnuz:
    case DType::f8e8m0fnu: return kF8;
    case DType::f32: return kNoF32;
    default: return kUsual;
  }
}

bool kernel_takes(std::string_view kernel, DType dtype) {
  const RareDtypes wanted = rare_dtype(dtype);
  if (wanted == kUsual) return true;
  const Row* row = find_row(kernel);
  return !row || ((row->takes ^ kNoF32) & wanted) != 0;
}

bool kernel_takes_mixes(std::string_view kernel) {
  const Row* row = find_row(kernel);
  return !row || (row->takes & kAlike) == 0;
}

std::vector<DType> floating_dtypes(const Node& node) {
  std::vector<DType> dtypes;
  for (const Value* operand : node.operands()) {
    if (!operand->type.is_tensor() || !is_floating(operand->dtype())) continue;
    if (std::find(dtypes.begin(), dtypes.end(), operand->dtype()) == dtypes.end()) dtypes.push_back(operand->dtype());
  }
  return dtypes;
}

Status check_kernel_dtypes(const Graph& graph) {
  return catch_failure([&] { check_nodes(graph); });
}

}  // namespace wick::compiler
