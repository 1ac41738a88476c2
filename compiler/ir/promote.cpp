// Eager's broadcasting and type promotion, computed on types.
#include <fmt/format.h>

#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

enum Category : int { kBool = 0, kIntegral = 1, kFloating = 2, kComplex = 3 };

Category category(DType dtype) {
  if (is_complex(dtype)) return kComplex;
  if (is_floating(dtype)) return kFloating;
  return dtype == DType::boolean ? kBool : kIntegral;
}

int float_rank(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return 1;
    case DType::f32: return 2;
    case DType::f64: return 3;
    default: return 0;  // 8-bit floats
  }
}

DType complex_of(DType floating) {
  return floating == DType::f64 ? DType::c128 : floating == DType::f16 ? DType::c32 : DType::c64;
}
DType float_of(DType complex) {
  return complex == DType::c128 ? DType::f64 : complex == DType::c32 ? DType::f16 : DType::f32;
}

bool is_unsigned_wide(DType d) { return d == DType::u16 || d == DType::u32 || d == DType::u64; }

DType promote_integral(DType a, DType b) {
  if (is_unsigned_wide(a) || is_unsigned_wide(b)) {
    fail(Code::unsupported_model, fmt::format("eager has no common type of {} and {}", dtype_name(a), dtype_name(b)));
  }
  // u8 with i8 needs i16; otherwise the wider one.
  if ((a == DType::u8 && b == DType::i8) || (a == DType::i8 && b == DType::u8)) return DType::i16;
  if (dtype_size_bytes(a) == dtype_size_bytes(b)) return a;
  return dtype_size_bytes(a) > dtype_size_bytes(b) ? a : b;
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  const Category ca = category(a), cb = category(b);
  if (ca == kComplex || cb == kComplex) {
    const DType fa = ca == kComplex ? float_of(a) : a, fb = cb == kComplex ? float_of(b) : b;
    if (cb != kComplex && cb < kFloating) return a;
    if (ca != kComplex && ca < kFloating) return b;
    return complex_of(promote(fa, fb));
  }
  if (ca == kFloating && cb == kFloating) {
    if (float_rank(a) == 1 && float_rank(b) == 1) return DType::f32;  // f16 with bf16
    if (float_rank(a) == 0 && float_rank(b) == 0) {
      fail(Code::unsupported_model, fmt::format("eager has no common type of {} and {}", dtype_name(a), dtype_name(b)));
    }
    return float_rank(a) >= float_rank(b) ? a : b;
  }
  if (ca != cb) return ca > cb ? a : b;
  return promote_integral(a, b);
}

DType float_dtype(DType dtype) { return category(dtype) < kFloating ? DType::f32 : dtype; }

DType promote(const Args& operands, std::optional<DType> beside) {
  // Operands have three priorities: tensors with dimensions, 0-d tensors, Python numbers. An operand of lower priority
  // matters only if its category is higher.
  struct State {
    bool any = false;
    DType dtype = DType::boolean;
    void add(DType d) {
      dtype = any ? promote(dtype, d) : d;
      any = true;
    }
  } dims, zero, number;
  if (beside) dims.add(*beside);
  for (const Arg& arg : operands) {
    if (arg.is<Value*>()) {
      const Value* value = arg.as<Value*>();
      if (value->type.is_tensor()) {
        (value->rank() > 0 ? dims : zero).add(value->dtype());
      } else {
        number.add(value->type.kind == TypeKind::integer ? DType::i64
                   : value->type.kind == TypeKind::real  ? DType::f32
                                                         : DType::boolean);
      }
    } else if (arg.is<Sym>()) {
      number.add(DType::i64);
    } else if (arg.is<double>()) {
      number.add(DType::f32);
    } else if (arg.is<bool>()) {
      number.add(DType::boolean);
    }
  }
  auto combine = [](const State& higher, const State& lower) {
    if (!higher.any) return lower;
    if (!lower.any) return higher;
    State out = higher;
    if (category(lower.dtype) > category(higher.dtype)) {
      if (category(lower.dtype) == kComplex && category(higher.dtype) == kFloating)
        out.dtype = complex_of(higher.dtype);
      else
        out.dtype = lower.dtype;
    }
    return out;
  };
  return combine(dims, combine(zero, number)).dtype;
}

Sizes broadcast(const Sizes& a, const Sizes& b) {
  const size_t rank = std::max(a.size(), b.size());
  Sizes out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const Sym x = i + a.size() >= rank ? a[i + a.size() - rank] : Sym(1);
    const Sym y = i + b.size() >= rank ? b[i + b.size() - rank] : Sym(1);
    if (x.is(1))
      out[i] = y;
    else if (y.is(1) || x == y)
      out[i] = x;
    else if (!x.is_const() && !y.is_const())
      out[i] = x;  // two symbols: equal where eager accepts the call, checked by the kernel
    else if (!x.is_const())
      out[i] = y;
    else if (!y.is_const())
      out[i] = x;
    else
      fail(Code::unsupported_model, fmt::format("sizes {} and {} do not broadcast", x.text(), y.text()));
  }
  return out;
}

int64_t wrap_dim(int64_t dim, size_t rank) {
  const int64_t limit = static_cast<int64_t>(rank == 0 ? 1 : rank);
  if (dim < -limit || dim >= limit) {
    fail(Code::unsupported_model, fmt::format("dimension {} is outside [{}, {})", dim, -limit, limit));
  }
  return dim < 0 ? dim + limit : dim;
}

}  // namespace wick::compiler
