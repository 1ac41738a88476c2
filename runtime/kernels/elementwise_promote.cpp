#include "runtime/kernels/elementwise_promote.h"

namespace wick {
namespace {

bool is_wide_unsigned(DType dtype) { return dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64; }
bool is_unsigned(DType dtype) { return dtype == DType::u8 || is_wide_unsigned(dtype); }

/// bool 0, integers 1, floating 2, complex 3; -1 for dtypes without arithmetic.
int category(DType dtype) {
  if (dtype == DType::boolean) return 0;
  if (is_integral(dtype)) return 1;
  if (dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64) return 2;
  if (is_complex(dtype)) return 3;
  return -1;
}

DType larger(DType a, DType b) { return dtype_size_bytes(a) >= dtype_size_bytes(b) ? a : b; }

bool promote_integers(DType a, DType b, DType* out) {
  if (is_unsigned(a) == is_unsigned(b)) {
    *out = larger(a, b);
    return true;
  }
  if (is_wide_unsigned(a) || is_wide_unsigned(b)) return false;
  const DType other = a == DType::u8 ? b : a;  // signed
  *out = other == DType::i8 ? DType::i16 : other;
  return true;
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  return DType::f32;  // f32 with anything narrower, or f16 with bf16
}

DType promote_with_complex(DType a, DType b) {
  const bool wide = a == DType::c128 || b == DType::c128 || a == DType::f64 || b == DType::f64;
  if (wide) return DType::c128;
  const bool half = (a == DType::c32 || b == DType::c32) && a != DType::c64 && b != DType::c64 && a != DType::f32 &&
                    b != DType::f32 && a != DType::bf16 && b != DType::bf16;
  return half ? DType::c32 : DType::c64;
}

/// The promoted dtype of the operands of one rank.
struct Seen {
  bool any = false;
  DType dtype = DType::boolean;
  bool add(DType other) {
    if (!any) {
      any = true;
      dtype = other;
      return true;
    }
    return promote_types(dtype, other, &dtype);
  }
};

/// The dtype of `higher`, unless the category of `lower` is higher.
bool combine(Seen higher, Seen lower, Seen* out) {
  *out = higher.any ? higher : lower;
  if (!higher.any || !lower.any) return true;
  const int high = category(higher.dtype), low = category(lower.dtype);
  if (high >= low && high != 0) return true;
  return promote_types(higher.dtype, lower.dtype, &out->dtype);
}

}  // namespace

bool promote_types(DType a, DType b, DType* out) {
  const int ca = category(a), cb = category(b);
  if (ca < 0 || cb < 0) return false;
  if (a == b) {
    *out = a;
  } else if (ca == 3 || cb == 3) {
    *out = promote_with_complex(a, b);
  } else if (ca == 2 && cb == 2) {
    *out = promote_floats(a, b);
  } else if (ca == 1 && cb == 1) {
    return promote_integers(a, b, out);
  } else {
    *out = ca > cb ? a : b;
  }
  return true;
}

bool result_type(const Operand* operands, int count, DType* out) {
  Seen dims, zero_dims, numbers;
  for (int o = 0; o < count; ++o) {
    const Tensor* tensor = operands[o].tensor;
    bool ok = true;
    if (!tensor) {
      const Tag tag = operands[o].tag;
      ok = numbers.add(tag == Tag::real ? DType::f32 : tag == Tag::boolean ? DType::boolean : DType::i64);
    } else {
      if (category(tensor->dtype) < 0) return false;
      ok = (tensor->rank == 0 ? zero_dims : dims).add(tensor->dtype);
    }
    if (!ok) return false;
  }
  Seen tensors, all;
  if (!combine(dims, zero_dims, &tensors) || !combine(tensors, numbers, &all)) return false;
  *out = all.dtype;
  return all.any;
}

DType to_floating(DType dtype) { return is_integral(dtype) || dtype == DType::boolean ? DType::f32 : dtype; }

bool can_cast(DType from, DType to) {
  const int a = category(from), b = category(to);
  if (a < 0 || b < 0) return false;
  return a <= b || (a == 1 && b == 1);
}

bool common_lane(KernelContext& context, const Operand* operands, int count, const Tensor& out, DType* common,
                 Lane* lane) {
  if (!result_type(operands, count, common) || !lane_of_dtype(*common, lane)) {
    context.fail(Error::InvalidType, "no arithmetic for these input dtypes");
    return false;
  }
  if (!can_cast(*common, out.dtype)) {
    context.fail(Error::InvalidType, "the result type cannot be cast to the out tensor's dtype");
    return false;
  }
  return true;
}

}  // namespace wick
