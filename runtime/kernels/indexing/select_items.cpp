// Selections that take the same ones of equal items as eager does. The steps of the algorithm decide that, so they are
// the same here. topk uses nth_element, sort and partial_sort, and mode uses sort of libstdc++, the C++ library that
// PyTorch is built with. Quickselect and quicksort split at the median of the second, the middle and the last item, and
// leave short ranges to insertion sort. Heaps replace them if the splits are bad. kthvalue has PyTorch's own
// quickselect.
#include "runtime/kernels/indexing/sort_keys.h"

namespace wick {
namespace kernels {
namespace {

void exchange(SortItem* a, SortItem* b) {
  const SortItem kept = *a;
  *a = *b;
  *b = kept;
}

int floor_log2(int64_t n) {
  int log = 0;
  for (; n > 1; n >>= 1) ++log;
  return log;
}

/// Puts `item` into the heap items[0, count) at `hole`: first down to a leaf along the larger children, then up again.
void sift(SortItem* items, int64_t hole, int64_t count, SortItem item) {
  const int64_t top = hole;
  int64_t child = hole;
  while (child < (count - 1) / 2) {
    child = 2 * (child + 1);
    if (items[child].key < items[child - 1].key) --child;
    items[hole] = items[child];
    hole = child;
  }
  if (count % 2 == 0 && child == (count - 2) / 2) {
    child = 2 * child + 1;
    items[hole] = items[child];
    hole = child;
  }
  for (int64_t parent = (hole - 1) / 2; hole > top && items[parent].key < item.key; parent = (hole - 1) / 2) {
    items[hole] = items[parent];
    hole = parent;
  }
  items[hole] = item;
}

/// Moves the `middle` least items of items[0, count) to the front, as a heap.
void select_by_heap(SortItem* items, int64_t middle, int64_t count) {
  for (int64_t parent = (middle - 2) / 2; middle > 1 && parent >= 0; --parent)
    sift(items, parent, middle, items[parent]);
  for (int64_t i = middle; i < count; ++i) {
    if (!(items[i].key < items[0].key)) continue;
    const SortItem item = items[i];
    items[i] = items[0];
    sift(items, 0, middle, item);
  }
}
void sort_heap(SortItem* items, int64_t count) {
  for (int64_t last = count - 1; last > 0; --last) {
    const SortItem item = items[last];
    items[last] = items[0];
    sift(items, 0, last, item);
  }
}

void sort_by_insertion(SortItem* first, SortItem* last) {
  for (SortItem* i = first; i < last; ++i) {
    const SortItem item = *i;
    SortItem* at = i;
    for (; at > first && item.key < at[-1].key; --at) *at = at[-1];
    *at = item;
  }
}

/// Splits a range of at least four items. Items before the returned one are not greater than those from it on.
SortItem* split(SortItem* first, SortItem* last) {
  SortItem *a = first + 1, *b = first + (last - first) / 2, *c = last - 1;
  if (a->key < b->key)
    exchange(first, b->key < c->key ? b : a->key < c->key ? c : a);
  else
    exchange(first, a->key < c->key ? a : b->key < c->key ? c : b);
  const uint64_t pivot = first->key;
  SortItem *left = first + 1, *right = last;
  for (;; ++left) {
    while (left->key < pivot) ++left;
    --right;
    while (pivot < right->key) --right;
    if (left >= right) return left;
    exchange(left, right);
  }
}

void move_nth(SortItem* first, SortItem* nth, SortItem* last) {
  for (int depth = 2 * floor_log2(last - first); last - first > 3; --depth) {
    if (depth == 0) {
      select_by_heap(first, nth + 1 - first, last - first);
      return exchange(first, nth);
    }
    SortItem* const cut = split(first, last);
    (cut <= nth ? first : last) = cut;
  }
  sort_by_insertion(first, last);
}

/// Sorts until every item is within 16 of its place. The order in which the parts are sorted does not change the
/// result.
void sort_roughly(SortItem* first, SortItem* last, int depth) {
  for (; last - first > 16; --depth) {
    if (depth == 0) {
      select_by_heap(first, last - first, last - first);
      return sort_heap(first, last - first);
    }
    SortItem* const cut = split(first, last);
    sort_roughly(cut, last, depth - 1);
    last = cut;
  }
}

}  // namespace

void sort_unstably(SortItem* items, int64_t count) {
  if (count < 2) return;
  sort_roughly(items, items + count, 2 * floor_log2(count));
  sort_by_insertion(items, items + count);
}

void select_items(SortItem* items, int64_t count, int64_t k, bool sorted) {
  if (k <= 0) return;
  if (k <= count / 64) {
    select_by_heap(items, k, count);
    return sort_heap(items, k);
  }
  move_nth(items, items + k - 1, items + count);
  if (sorted) sort_unstably(items, k - 1);
}

// Quickselect with the median of the first, the middle and the last item as the pivot.
int64_t select_nth(SortItem* items, int64_t count, int64_t k) {
  const auto order = [&](int64_t i, int64_t j) {
    if (items[i].key > items[j].key) exchange(items + i, items + j);
  };
  int64_t left = 0, right = count - 1;
  while (left < right) {
    if (right == left + 1) {
      order(left, right);
      break;
    }
    exchange(items + left + (right - left) / 2, items + left + 1);
    order(left + 1, right);
    order(left, right);
    order(left + 1, left);
    const uint64_t pivot = items[left].key;
    int64_t i = left + 1, j = right;
    for (;;) {
      do ++i;
      while (pivot > items[i].key);
      do --j;
      while (items[j].key > pivot);
      if (j < i) break;
      exchange(items + i, items + j);
    }
    exchange(items + left, items + j);
    if (j <= k) left = i;
    if (j >= k) right = j - 1;
  }
  return items[k].index;
}

}  // namespace kernels
}  // namespace wick
