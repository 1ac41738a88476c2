// quantized_add on cores without vectors. The operand with the larger scale has the multiplier 2^30 and no shift, so it
// becomes (a - zero_point) * 2^19: no multiplication is needed. C++17, freestanding.
#include "backends/cortex_m/kernels/add/add.h"
#include "backends/cortex_m/kernels/isa/chosen.h"
#include "backends/cortex_m/kernels/reference.h"

namespace wick::cortex_m::plain {
namespace {

bool is_shifted_only(const Addend& addend) { return addend.scale.multiplier == 1 << 30 && addend.scale.shift == 0; }

struct AddLine {
  int32_t shifted_zero, other_zero, multiplier, right;  // of the operands
  int32_t out_multiplier, out_right, out_offset, min, max;
};

/// One line of elements. `kBoth`: both operands need only a shift.
template <bool kBoth>
__attribute__((noinline)) void add_line(const AddLine p, const int8_t* shifted, const int8_t* other, int32_t count,
                                        int8_t* y) {
  const int32_t zeros = wrapping_shift_left(kBoth ? p.shifted_zero + p.other_zero : p.shifted_zero, 19);
  const bool saturates = p.min == INT8_MIN && p.max == INT8_MAX;
  for (const int8_t* end = y + count; y != end;) {
    const int32_t a = *shifted++, b = *other++;
    const int32_t sum = kBoth ? wrapping_shift_left(a + b, 19) - zeros
                              : Isa::rescale(wrapping_shift_left(b - p.other_zero, 20), p.multiplier, p.right, -zeros) +
                                    wrapping_shift_left(a, 19);
    const int32_t value = Isa::rescale(sum, p.out_multiplier, p.out_right, p.out_offset);
    *y++ = static_cast<int8_t>(saturates       ? Isa::saturate_int8(value)
                               : value < p.min ? p.min
                               : value > p.max ? p.max
                                               : value);
  }
}

void add_lines(const Add& add) {
  // The magnitude of the sum is less than 2^28.
  const bool swaps = !is_shifted_only(add.first);
  const Addend &shifted = swaps ? add.second : add.first, &other = swaps ? add.first : add.second;
  const bool both = is_shifted_only(other);
  const size_t period_a = add.operands.period_a, period_b = add.operands.period_b;
  const AddLine line = {shifted.zero_point, other.zero_point,     other.scale.multiplier,
                        -other.scale.shift, add.stage.multiplier, -add.stage.shift,
                        add.stage.offset,   add.stage.min,        add.stage.max};
  size_t length = period_a < period_b ? period_a : period_b;
  if (length > add.count) length = add.count;
  for (size_t at = 0; at < add.count; at += length) {
    const int8_t *a = add.a + (period_a == SIZE_MAX ? at : 0), *b = add.b + (period_b == SIZE_MAX ? at : 0);
    const int8_t *x = swaps ? b : a, *z = swaps ? a : b;
    (both ? add_line<true> : add_line<false>)(line, x, z, static_cast<int32_t>(length), add.y + at);
  }
}

/// Whether add_lines can compute it.
bool is_usual(const Add& add) {
  const bool first = is_shifted_only(add.first), second = is_shifted_only(add.second);
  return add.stage.shift < 0 && (first || second) && (first || add.first.scale.shift < 0) &&
         (second || add.second.scale.shift < 0);
}

}  // namespace

void quantized_add(KernelContext& context, Span<EValue*> args) {
  Add add;
  if (!read_add(context, args, &add)) return;
  if (!is_usual(add)) return reference::quantized_add(context, args);
  add_lines(add);
}

}  // namespace wick::cortex_m::plain
