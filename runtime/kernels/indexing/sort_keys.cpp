#include "runtime/kernels/indexing/sort_keys.h"

#include <string.h>

#include "runtime/kernels/movement/convert.h"

namespace wick {
namespace kernels {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;

uint64_t key_of_double(double value) {
  if (value != value) return kNanKey;
  const double positive_zero = value == 0 ? 0 : value;
  uint64_t bits;
  memcpy(&bits, &positive_zero, sizeof bits);
  return bits & kSign ? ~bits : bits | kSign;
}

/// Orders as key_of_double(value) does.
uint64_t key_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  constexpr uint32_t kFloatSign = uint32_t{1} << 31;
  const uint32_t magnitude = bits & ~kFloatSign;
  const uint32_t key = magnitude == 0 ? kFloatSign : bits & kFloatSign ? ~bits : bits | kFloatSign;
  return magnitude > 0x7f800000u ? kNanKey : key;
}

/// Sorts by the eight bits of the keys from `shift` on, keeping the order of equal ones.
void scatter_by_byte(const SortItem* from, SortItem* to, int64_t count, int shift) {
  uint64_t starts[256] = {};
  for (int64_t i = 0; i < count; ++i) ++starts[from[i].key >> shift & 255];
  uint64_t sum = 0;
  for (uint64_t& start : starts) {
    const uint64_t found = start;
    start = sum;
    sum += found;
  }
  for (int64_t i = 0; i < count; ++i) to[starts[from[i].key >> shift & 255]++] = from[i];
}

}  // namespace

void load_items(const void* src, DType dtype, int64_t stride, int64_t count, bool descending, SortItem* items) {
  constexpr int64_t kChunk = 64;
  const int64_t step = stride * static_cast<int64_t>(dtype_size_bytes(dtype));
  const uint64_t flip = descending ? UINT64_MAX : 0;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = count - begin < kChunk ? count - begin : kChunk;
    const uint8_t* from = static_cast<const uint8_t*>(src) + begin * step;
    uint64_t keys[kChunk];
    if (dtype == DType::f32) {
      const float* values = reinterpret_cast<const float*>(from);
      for (int64_t i = 0; i < n; ++i) keys[i] = key_of_float(values[i * stride]);
    } else if (is_floating(dtype)) {
      double values[kChunk];
      convert_elements(values, DType::f64, 1, from, dtype, stride, n);
      for (int64_t i = 0; i < n; ++i) keys[i] = key_of_double(values[i]);
    } else {
      convert_elements(keys, dtype == DType::u64 ? DType::u64 : DType::i64, 1, from, dtype, stride, n);
      for (int64_t i = 0; i < n && dtype != DType::u64; ++i) keys[i] ^= kSign;
    }
    for (int64_t i = 0; i < n; ++i) items[begin + i] = {keys[i] ^ flip, begin + i};
  }
}

void sort_items(SortItem* items, SortItem* scratch, int64_t count) {
  constexpr int64_t kRun = 16, kFew = 256;
  if (count >= kFew) {
    uint64_t differing = 0;
    for (int64_t i = 1; i < count; ++i) differing |= items[i].key ^ items[0].key;
    SortItem *from = items, *to = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
      if ((differing >> shift & 255) == 0) continue;  // the same in all keys
      scatter_by_byte(from, to, count, shift);
      SortItem* const sorted = to;
      to = from;
      from = sorted;
    }
    if (from != items) memcpy(items, from, static_cast<size_t>(count) * sizeof(SortItem));
    return;
  }
  for (int64_t begin = 0; begin < count; begin += kRun) {
    const int64_t end = begin + kRun < count ? begin + kRun : count;
    for (int64_t i = begin + 1; i < end; ++i) {
      const SortItem item = items[i];
      int64_t at = i;
      for (; at > begin && items[at - 1].key > item.key; --at) items[at] = items[at - 1];
      items[at] = item;
    }
  }
  SortItem* from = items;
  SortItem* to = scratch;
  for (int64_t width = kRun; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      const int64_t middle = begin + width < count ? begin + width : count;
      const int64_t end = begin + 2 * width < count ? begin + 2 * width : count;
      int64_t left = begin, right = middle;
      for (int64_t at = begin; at < end; ++at) {
        const bool take_left = left < middle && (right == end || from[left].key <= from[right].key);
        to[at] = take_left ? from[left++] : from[right++];
      }
    }
    SortItem* swap = from;
    from = to;
    to = swap;
  }
  if (from != items && count > 0) memcpy(items, from, static_cast<size_t>(count) * sizeof(SortItem));
}

}  // namespace kernels
}  // namespace wick
