// Reductions that run along the lines of a tensor: as many kernels as their length takes. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

struct LineScan {
  Sizes sizes;
  size_t dim = 0;  // of lines
  ReductionKind kind = ReductionKind::sum;
  ScalarType type = ScalarType::f32;
  Element element;  // of `type`
};

/// The last kernel of a scan, without stores: `reduced` is what all elements of the line up to `at` make, in the order
/// of the line. Kinds with positions count them in the line. `inside`: which columns count; null: all.
struct ScanDraft {
  Draft draft;
  Indices at;
  ExpressionPtr reduced = nullptr, inside = nullptr;
};
ScanDraft draft_scan(Lowering& lowering, const LineScan& scan);

}  // namespace wick::cuda
