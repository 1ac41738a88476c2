// Type promotion as eager PyTorch does it. C++17, freestanding.
#pragma once
#include "runtime/kernels/elementwise.h"

namespace wick {

/// The smallest dtype that holds both. False for pairs eager refuses (u16, u32, u64 with signed types) or does not
/// know.
bool promote_types(DType a, DType b, DType* out);

/// Result dtype of the operands: tensors with dimensions decide before 0-d tensors, these before numbers, unless the
/// lower ranked one has a higher category (bool < integer < floating < complex). False if eager refuses.
bool result_type(const Operand* operands, int count, DType* out);

/// f32 for integers and bool, else the dtype itself.
DType to_floating(DType dtype);

/// May a result of dtype `from` be written to an out tensor of dtype `to`? Never down a category.
bool can_cast(DType from, DType to);

/// result_type, its lane, and can_cast to out. Fails the context with InvalidType and returns false otherwise.
bool common_lane(KernelContext& context, const Operand* operands, int count, const Tensor& out, DType* common,
                 Lane* lane);

}  // namespace wick
