// Ordering of elements of any real dtype by one kind of key, and a stable sort of keys.
#pragma once
#include <stdint.h>

#include "wick/dtype.h"
#include "wick/kernel.h"

namespace wick {
namespace kernels {

constexpr uint64_t kNanKey = UINT64_MAX;

/// A key and where its element was.
struct SortItem {
  uint64_t key;
  int64_t index;
};

/// items[i] = {key of src[i * stride], i}: keys order as the values do, -0 equals 0, every NaN has kNanKey, the
/// greatest. Descending keys order the other way round. `dtype` is real (floating, integral or bool).
void load_items(const void* src, DType dtype, int64_t stride, int64_t count, bool descending, SortItem* items);
/// Sorts by key, keeping the order of equal keys. `scratch` has room for `count` items; the result is in `items`.
void sort_items(SortItem* items, SortItem* scratch, int64_t count);

/// Sorts by key. Equal keys come in the order in which eager's mode has them on a CPU.
void sort_unstably(SortItem* items, int64_t count);

/// Moves the k <= count least items to the front: with `sorted` in order, else in the order in which eager's topk
/// leaves them. It takes the same ones of equal items as eager does on a CPU.
void select_items(SortItem* items, int64_t count, int64_t k, bool sorted);
/// The index of the item of rank k (from 0); of equal items, the one that eager's kthvalue names on a CPU. Moves items.
int64_t select_nth(SortItem* items, int64_t count, int64_t k);

}  // namespace kernels
}  // namespace wick
