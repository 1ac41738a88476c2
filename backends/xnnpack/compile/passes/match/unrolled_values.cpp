#include "backends/xnnpack/compile/passes/match/unrolled_values.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Node;
using compiler::Value;
using compiler::Values;

Values parts_after(Builder& b, const View& view, const Values& parts) {
  Values out;
  for (const PartFrom& from : view.parts) {
    Value* part = parts[from.part];
    if (view.dim)
      part = b.slice(part, static_cast<int64_t>(*view.dim), from.slice * view.size, (from.slice + 1) * view.size);
    out.push_back(part);
  }
  return out;
}

Value* transposed(Builder& b, Value* matrix) {
  const Node* from = matrix->producer;
  return from && from->is("aten.permute.default") ? from->tensor("self") : b.permute(matrix, {1, 0});
}

const char* product_of(const Value& left, const Value& right) {
  if (left.rank() == 2 && right.rank() == 2) return "aten.mm";
  return left.rank() == 3 && right.rank() == 3 && left.sizes()[0] == right.sizes()[0] ? "aten.bmm" : "aten.matmul";
}

}  // namespace wick::xnnpack
