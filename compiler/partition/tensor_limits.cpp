#include "compiler/partition/tensor_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/text/text.h"
#include "compiler/layout/constant_elements.h"

namespace wick::compiler {
namespace {

constexpr int64_t kMaxElements = int64_t{1} << 31;  // the runtime counts in 32 bits

// Sizes of inputs are not 0 in an exported program; those read from data may be.
bool may_be_empty(const Sym& size) { return SymScope::range(size).min <= 0 && SymScope::is_from_data(size); }

std::string refuse_unknown_sizes(const Value& value, Unknown allowed) {
  const size_t unknown = layout::num_symbolic(value.sizes());
  if (unknown == 0) return "";
  if (allowed == Unknown::none) return fmt::format("sizes known only at run time: {}", to_text(value.type));
  if (allowed == Unknown::one && unknown > 1)
    return fmt::format("more than one size known only at run time: {}", to_text(value.type));
  for (const Sym& size : value.sizes()) {
    if (may_be_empty(size)) return fmt::format("a size read from data, which may be 0: {}", to_text(value.type));
    if (layout::bound(size) == kUnbounded) return fmt::format("a size without upper bound: {}", to_text(value.type));
  }
  return "";
}

// "f32, f16 and i8"
std::string list_of(Span<const DType> dtypes) {
  std::string text;
  for (size_t i = 0; i < dtypes.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == dtypes.size() ? " and " : ", ", dtype_name(dtypes[i]));
  return text;
}

DType dtype_of(const Value& value, const TensorLimits& limits) {
  return limits.of_numbers ? value.tensor().real_dtype() : value.dtype();
}

std::string refuse_tensor(const Value& value, DType wanted, const TensorLimits& limits) {
  if (!value.type.is_tensor()) return "it reads a number computed at run time";
  const DType dtype = dtype_of(value, limits);
  if (std::find(limits.dtypes.begin(), limits.dtypes.end(), dtype) == limits.dtypes.end()) {
    return fmt::format("dtype {}; only {} {} taken", to_text(value.type), list_of(limits.dtypes),
                       limits.dtypes.size() == 1 ? "is" : "are");
  }
  if (dtype != wanted) return "operands of different dtypes";
  if (!value.is_constant() && layout::stored_order(value) != layout::plain_order(value.rank()))
    return fmt::format("a tensor that is not contiguous: {}", to_text(value.type));
  return refuse_sizes(value, limits);
}

}  // namespace

std::string refuse_sizes(const Value& value, const TensorLimits& limits) {
  if (value.rank() > limits.max_rank)
    return fmt::format("{} dimensions; at most {} are taken", value.rank(), limits.max_rank);
  std::string sizes = refuse_unknown_sizes(value, limits.unknown);
  if (!sizes.empty()) return sizes;
  const auto is_empty = [](const Sym& size) { return layout::bound(size) < 1; };
  if (std::any_of(value.sizes().begin(), value.sizes().end(), is_empty)) return "an empty tensor";
  if (layout::elements(value.sizes()) >= kMaxElements) return "a tensor of 2^31 elements or more";
  return "";
}

std::string refuse_tensors(const Node& node, const TensorLimits& limits) {
  if (!node.graphs.empty()) return "control flow";
  if (node.results().empty() || !node.result()->type.is_tensor()) return "its result is not a tensor";
  const DType dtype = dtype_of(*node.result(), limits);
  std::string reason = refuse_tensor(*node.result(), dtype, limits);
  if (!reason.empty()) return reason;
  for (size_t i = 1; i < node.results().size(); ++i) {
    if (node.result(i)->num_uses() != 0) return "more than its first result is read";
  }
  for (const Value* operand : node.operands()) {
    reason = refuse_tensor(*operand, dtype, limits);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace wick::compiler
