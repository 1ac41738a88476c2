// Kernels of operators on plain numbers, of shape queries and views that stock keeps in its executor.
#pragma once
#include "wick/kernel.h"

namespace wick {

/// Retargets its out tensor at the memory of its input.
constexpr char kViewOperator[] = "executorch_prim::et_view.default";

/// All of them, as prim_list.inc has them. Results go to the value in the return slot, whatever it held before. Integer
/// results that do not fit int64, division by zero and conversions out of range fail with InvalidArgument.
KernelTable prim_kernels();

}  // namespace wick
