#include "runtime/exec/prim_ops.h"

#include <string.h>

#include "common/checked.h"
#include "common/float16.h"

namespace wick {
namespace {

using Args = Span<EValue*>;

void fail_type(KernelContext& context) { context.fail(Error::InvalidType, "operands are of types it does not take"); }
void fail_overflow(KernelContext& context) { context.fail(Error::InvalidArgument, "the result does not fit int64"); }
void fail_zero(KernelContext& context) { context.fail(Error::InvalidArgument, "division by zero"); }

bool is_int(const EValue& value) { return value.tag == Tag::integer; }
bool is_number(const EValue& value) { return value.tag == Tag::integer || value.tag == Tag::real; }
bool both_int(Args args) { return is_int(*args[0]) && is_int(*args[1]); }
bool both_numbers(Args args) { return is_number(*args[0]) && is_number(*args[1]); }

// Doubles from 2^52 on are whole.
double round_down(double value) {
  if (!(value > -4503599627370496.0 && value < 4503599627370496.0)) return value;
  const double whole = static_cast<double>(static_cast<int64_t>(value));
  return whole > value ? whole - 1 : whole;
}
double round_up(double value) { return -round_down(-value); }
double round_to_even(double value) {
  const double below = round_down(value);
  const double rest = value - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return below / 2 == round_down(below / 2) ? below : below + 1;
}

void store_whole(KernelContext& context, double value, EValue* out) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) return fail_overflow(context);
  *out = EValue::of_int(static_cast<int64_t>(value));
}

enum class Arithmetic { add, sub, mul };

template <Arithmetic op>
void arithmetic(KernelContext& context, Args args) {
  if (both_int(args)) {
    const int64_t a = args[0]->integer;
    const int64_t b = args[1]->integer;
    int64_t result = 0;
    const bool fits = op == Arithmetic::add   ? checked_add(a, b, &result)
                      : op == Arithmetic::sub ? checked_sub(a, b, &result)
                                              : checked_mul(a, b, &result);
    if (!fits) return fail_overflow(context);
    *args[2] = EValue::of_int(result);
    return;
  }
  if (!both_numbers(args)) return fail_type(context);
  const double a = args[0]->to_double();
  const double b = args[1]->to_double();
  *args[2] = EValue::of_real(op == Arithmetic::add ? a + b : op == Arithmetic::sub ? a - b : a * b);
}

/// Rounds toward minus infinity.
void floordiv_scalar(KernelContext& context, Args args) {
  if (!both_numbers(args)) return fail_type(context);
  if (args[1]->to_double() == 0) return fail_zero(context);
  if (!both_int(args)) {
    *args[2] = EValue::of_real(round_down(args[0]->to_double() / args[1]->to_double()));
    return;
  }
  const int64_t a = args[0]->integer;
  const int64_t b = args[1]->integer;
  if (a == INT64_MIN && b == -1) return fail_overflow(context);
  const int64_t quotient = a / b;
  *args[2] = EValue::of_int(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}

void truediv_scalar(KernelContext& context, Args args) {
  if (!both_numbers(args)) return fail_type(context);
  if (args[1]->to_double() == 0) return fail_zero(context);
  *args[2] = EValue::of_real(args[0]->to_double() / args[1]->to_double());
}

/// C++ semantics: truncates toward zero; the remainder has the sign of the dividend.
template <bool quotient>
void divide_int(KernelContext& context, Args args) {
  if (!both_int(args)) return fail_type(context);
  const int64_t a = args[0]->integer;
  const int64_t b = args[1]->integer;
  if (b == 0) return fail_zero(context);
  if (b == -1) {
    if (quotient && a == INT64_MIN) return fail_overflow(context);
    *args[2] = EValue::of_int(quotient ? -a : 0);
    return;
  }
  *args[2] = EValue::of_int(quotient ? a / b : a % b);
}

enum class Relation { eq, gt, lt, ge, le };

template <Relation relation, typename T>
bool holds(T a, T b) {
  switch (relation) {
    case Relation::eq: return a == b;
    case Relation::gt: return a > b;
    case Relation::lt: return a < b;
    case Relation::ge: return a >= b;
    case Relation::le: return a <= b;
  }
  return false;
}

template <Relation relation>
void compare(KernelContext& context, Args args) {
  if (both_int(args)) {
    *args[2] = EValue::of_bool(holds<relation>(args[0]->integer, args[1]->integer));
  } else if (both_numbers(args)) {
    *args[2] = EValue::of_bool(holds<relation>(args[0]->to_double(), args[1]->to_double()));
  } else if (args[0]->tag == Tag::boolean && args[1]->tag == Tag::boolean) {
    *args[2] = EValue::of_bool(holds<relation>(static_cast<int>(args[0]->boolean), static_cast<int>(args[1]->boolean)));
  } else {
    fail_type(context);
  }
}

template <bool max>
void extremum(KernelContext& context, Args args) {
  if (!both_int(args)) return fail_type(context);
  const bool first = max ? args[0]->integer >= args[1]->integer : args[0]->integer <= args[1]->integer;
  *args[2] = *args[first ? 0 : 1];
}

void sym_float(KernelContext& context, Args args) {
  if (!is_number(*args[0])) return fail_type(context);
  *args[1] = EValue::of_real(args[0]->to_double());
}

void sym_int(KernelContext& context, Args args) {
  if (is_int(*args[0])) {
    *args[1] = *args[0];
  } else if (args[0]->tag == Tag::real) {
    store_whole(context, args[0]->real, args[1]);
  } else {
    fail_type(context);
  }
}

void neg(KernelContext& context, Args args) {
  if (args[0]->tag == Tag::real) {
    *args[1] = EValue::of_real(-args[0]->real);
  } else if (!is_int(*args[0])) {
    fail_type(context);
  } else if (args[0]->integer == INT64_MIN) {
    fail_overflow(context);
  } else {
    *args[1] = EValue::of_int(-args[0]->integer);
  }
}

void ceil_scalar(KernelContext& context, Args args) { store_whole(context, round_up(args[0]->real), args[1]); }
void round_scalar(KernelContext& context, Args args) { store_whole(context, round_to_even(args[0]->real), args[1]); }
void trunc_scalar(KernelContext& context, Args args) { store_whole(context, args[0]->real, args[1]); }
void sym_not(KernelContext&, Args args) { *args[1] = EValue::of_bool(!args[0]->boolean); }

void sym_ite(KernelContext& context, Args args) {
  const EValue chosen = *args[args[0]->boolean ? 1 : 2];
  *args[3] = chosen;
}

void sym_size(KernelContext& context, Args args) {
  const Tensor& tensor = *args[0]->tensor;
  int64_t dim = args[1]->integer;
  if (dim < 0) dim += tensor.rank;
  if (dim < 0 || dim >= tensor.rank) return context.fail(Error::InvalidArgument, "no such dimension");
  *args[2] = EValue::of_int(tensor.sizes[dim]);
}

void sym_numel(KernelContext&, Args args) { *args[1] = EValue::of_int(static_cast<int64_t>(args[0]->tensor->numel)); }

template <typename T>
int64_t element(const Tensor& tensor) {
  return static_cast<int64_t>(*tensor.as<const T>());
}

void local_scalar_dense(KernelContext& context, Args args) {
  const Tensor& tensor = *args[0]->tensor;
  EValue* out = args[1];
  if (tensor.numel != 1) return context.fail(Error::InvalidArgument, "wants a tensor of one element");
  switch (tensor.dtype) {
    case DType::boolean: *out = EValue::of_bool(*tensor.as<const uint8_t>() != 0); break;
    case DType::u8: *out = EValue::of_int(element<uint8_t>(tensor)); break;
    case DType::i8: *out = EValue::of_int(element<int8_t>(tensor)); break;
    case DType::i16: *out = EValue::of_int(element<int16_t>(tensor)); break;
    case DType::u16: *out = EValue::of_int(element<uint16_t>(tensor)); break;
    case DType::i32: *out = EValue::of_int(element<int32_t>(tensor)); break;
    case DType::u32: *out = EValue::of_int(element<uint32_t>(tensor)); break;
    case DType::i64: *out = EValue::of_int(element<int64_t>(tensor)); break;
    case DType::f16: *out = EValue::of_real(Half::to_float(*tensor.as<const uint16_t>())); break;
    case DType::bf16: *out = EValue::of_real(*tensor.as<const BFloat16>()); break;
    case DType::f32: *out = EValue::of_real(*tensor.as<const float>()); break;
    case DType::f64: *out = EValue::of_real(*tensor.as<const double>()); break;
    default: context.fail(Error::NotSupported, "no number of this dtype");
  }
}

/// dst[i, ...] = src; the first size of dst becomes i + 1. Row 0 decides the other sizes.
void copy_index(KernelContext& context, Args args) {
  Tensor& dst = *args[0]->tensor;
  const Tensor& src = *args[1]->tensor;
  if (!is_int(*args[2])) return fail_type(context);
  const int64_t index = args[2]->integer;
  if (dst.dtype != src.dtype || dst.rank != src.rank + 1 || index < 0 || index >= INT32_MAX) {
    return context.fail(Error::InvalidArgument, "dtype, rank or index does not fit");
  }
  int32_t sizes[kMaxRank];
  sizes[0] = static_cast<int32_t>(index + 1);
  for (size_t d = 0; d < src.rank; ++d) sizes[d + 1] = src.sizes[d];
  for (size_t d = 0; index > 0 && d < src.rank; ++d) {
    if (dst.sizes[d + 1] != src.sizes[d]) return context.fail(Error::InvalidArgument, "rows differ in shape");
  }
  if (!is_contiguous(src)) return context.fail(Error::NotSupported, "rows must be contiguous");
  const Error error = resize(dst, Span<const int32_t>(sizes, dst.rank));
  if (error != Error::Ok) return context.fail(error, "the row lies beyond the result's bounds");
  if (!is_contiguous(dst)) return context.fail(Error::NotSupported, "rows must be contiguous");
  if (src.numel == 0) return;
  if (!dst.data) return context.fail(Error::InvalidState, "the result has no memory");
  memmove(dst.as<uint8_t>() + static_cast<size_t>(index) * src.nbytes(), src.data, src.nbytes());
}

/// Resolves one -1 among `wanted`. False if the element counts do not match.
bool view_sizes(Span<const int64_t> wanted, size_t numel, int32_t* sizes) {
  int64_t known = 1;
  size_t unknown = wanted.size();
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == -1 && unknown == wanted.size()) {
      unknown = i;
      continue;
    }
    if (wanted[i] < 0 || wanted[i] > INT32_MAX || !checked_mul(known, wanted[i], &known)) return false;
    sizes[i] = static_cast<int32_t>(wanted[i]);
  }
  if (unknown == wanted.size()) return known == static_cast<int64_t>(numel);
  if (known == 0 || static_cast<int64_t>(numel) % known != 0) return false;
  sizes[unknown] = static_cast<int32_t>(static_cast<int64_t>(numel) / known);
  return true;
}

void view(KernelContext& context, Args args) {
  const Tensor& self = *args[0]->tensor;
  const Span<const int64_t> wanted = args[1]->ints();
  if (args[2]->tag != Tag::tensor) return fail_type(context);
  Tensor& out = *args[2]->tensor;
  int32_t sizes[kMaxRank];
  if (&out == &self || out.dtype != self.dtype || wanted.size() != out.rank || !view_sizes(wanted, self.numel, sizes)) {
    return context.fail(Error::InvalidArgument, "the view does not have the elements of its operand");
  }
  const size_t capacity_bytes = out.capacity_bytes;
  out.capacity_bytes = self.nbytes();
  const Error error = resize(out, Span<const int32_t>(sizes, out.rank));
  if (error != Error::Ok || !is_contiguous(self) || !is_contiguous(out)) {
    out.capacity_bytes = capacity_bytes;
    out.data = nullptr;
    return context.fail(error != Error::Ok ? error : Error::NotSupported, "the view cannot have this shape or layout");
  }
  out.data = self.data;
  out.read_only = self.read_only;
}

}  // namespace

// Named one by one, so that a table for particular programs can name only those that these need.
namespace kernels {

void prim_sym_size(KernelContext& context, Args args) { sym_size(context, args); }
void prim_sym_numel(KernelContext& context, Args args) { sym_numel(context, args); }
void prim_local_scalar_dense(KernelContext& context, Args args) { local_scalar_dense(context, args); }
void prim_add(KernelContext& context, Args args) { arithmetic<Arithmetic::add>(context, args); }
void prim_sub(KernelContext& context, Args args) { arithmetic<Arithmetic::sub>(context, args); }
void prim_mul(KernelContext& context, Args args) { arithmetic<Arithmetic::mul>(context, args); }
void prim_floordiv(KernelContext& context, Args args) { floordiv_scalar(context, args); }
void prim_truediv(KernelContext& context, Args args) { truediv_scalar(context, args); }
void prim_remainder(KernelContext& context, Args args) { divide_int<false>(context, args); }
void prim_quotient(KernelContext& context, Args args) { divide_int<true>(context, args); }
void prim_eq(KernelContext& context, Args args) { compare<Relation::eq>(context, args); }
void prim_gt(KernelContext& context, Args args) { compare<Relation::gt>(context, args); }
void prim_lt(KernelContext& context, Args args) { compare<Relation::lt>(context, args); }
void prim_ge(KernelContext& context, Args args) { compare<Relation::ge>(context, args); }
void prim_le(KernelContext& context, Args args) { compare<Relation::le>(context, args); }
void prim_sym_max(KernelContext& context, Args args) { extremum<true>(context, args); }
void prim_sym_min(KernelContext& context, Args args) { extremum<false>(context, args); }
void prim_sym_float(KernelContext& context, Args args) { sym_float(context, args); }
void prim_sym_int(KernelContext& context, Args args) { sym_int(context, args); }
void prim_neg(KernelContext& context, Args args) { neg(context, args); }
void prim_ceil(KernelContext& context, Args args) { ceil_scalar(context, args); }
void prim_round(KernelContext& context, Args args) { round_scalar(context, args); }
void prim_trunc(KernelContext& context, Args args) { trunc_scalar(context, args); }
void prim_sym_not(KernelContext& context, Args args) { sym_not(context, args); }
void prim_sym_ite(KernelContext& context, Args args) { sym_ite(context, args); }
void prim_copy_index(KernelContext& context, Args args) { copy_index(context, args); }
void prim_view(KernelContext& context, Args args) { view(context, args); }

}  // namespace kernels

namespace {

constexpr Kernel kRows[] = {
#define KERNEL(name, signature, function) {name, signature, kernels::function},
#include "runtime/exec/prim_list.inc"
#undef KERNEL
};

}  // namespace

KernelTable prim_kernels() { return KernelTable(kRows); }

}  // namespace wick
