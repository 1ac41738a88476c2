// Scans: running reductions along the lines of a tensor, by as many kernels as their length takes. C++20.
#pragma once
#include "backends/cuda/compile/lowering.h"

namespace wick::cuda {

struct LineScan {
  Sizes sizes;
  size_t dim = 0;  // along which lines run
  ReductionKind kind = ReductionKind::sum;
  ScalarType type = ScalarType::f32;
  Element element;  // has type `type`
};

/// The last kernel of a scan, without stores. `reduced` is the reduction of all elements of the line up to and
/// including the one at `at`. Positions, for kinds that have them, count within the line. `inside`: the columns that
/// exist; null: all.
struct ScanDraft {
  Draft draft;
  Indices at;
  ExpressionPtr reduced = nullptr, inside = nullptr;
};
ScanDraft draft_scan(Lowering& lowering, const LineScan& scan);

}  // namespace wick::cuda
