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

}  // namespace

void load_items(const void* src, DType dtype, int64_t stride, int64_t count, bool descending, SortItem* items) {
  constexpr int64_t kChunk = 64;
  const int64_t step = stride * static_cast<int64_t>(dtype_size_bytes(dtype));
  const uint64_t flip = descending ? UINT64_MAX : 0;
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t n = count - begin < kChunk ? count - begin : kChunk;
    const uint8_t* from = static_cast<const uint8_t*>(src) + begin * step;
    uint64_t keys[kChunk];
    if (is_floating(dtype)) {
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
  constexpr int64_t kRun = 16;
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
