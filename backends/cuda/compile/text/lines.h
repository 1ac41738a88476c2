// Running reductions and sorted rows. Part of the text of kernels.
namespace wick_text {
namespace {

template <typename T>
WICK_FUNCTION T lane_up(T value, u32 delta) {
  return shuffle_up(value, delta);
}
WICK_FUNCTION bool lane_up(bool value, u32 delta) { return shuffle_up(static_cast<i32>(value), delta) != 0; }
template <typename T>
WICK_FUNCTION Positioned<T> lane_up(Positioned<T> value, u32 delta) {
  return {lane_up(value.value, delta), shuffle_up(value.position, delta)};
}

/// A scan over the threads of a block: combines `before` and the values of all threads up to this one. Then `before` is
/// the combination with the values of all threads. `totals` has room for one value per warp.
template <typename Combine, u32 kThreads, typename T>
WICK_FUNCTION T block_running(T value, T& before, T* totals) {
  for (u32 delta = 1; delta < 32; delta <<= 1) {
    const T other = lane_up(value, delta);
    if (lane() >= delta) value = Combine::of(other, value);
  }
  block_barrier();
  if (lane() == 31) totals[thread_x() / 32] = value;
  block_barrier();
  T all = before;
  for (u32 warp = 0; warp < kThreads / 32; ++warp) {
    if (warp == thread_x() / 32) before = all;
    all = Combine::of(all, totals[warp]);
  }
  value = Combine::of(before, value);
  before = all;
  return value;
}

/// The position of a place without an element. Such places are sorted to the end.
constexpr i32 kNoPosition = 0x7fffffff;

/// Whether `a` sorts before `b`, regardless of their positions. NaN is the largest.
template <bool kDescending, typename T>
WICK_FUNCTION bool is_before(T a, T b) {
  const bool a_nan = is_nan_value(a), b_nan = is_nan_value(b);
  if (a_nan || b_nan) return a_nan != b_nan && (kDescending ? a_nan : b_nan);
  return kDescending ? b < a : a < b;
}
/// Whether `a` at position `i` sorts before `b` at position `j`. Equal elements keep their order.
template <bool kDescending, typename T>
WICK_FUNCTION bool stands_before(T a, i32 i, T b, i32 j) {
  if (i == kNoPosition || j == kNoPosition) return i < j;
  return is_before<kDescending>(a, b) || (i < j && !is_before<kDescending>(b, a));
}

/// Sorts an array in shared memory (Batcher's bitonic network). All threads see the result.
template <bool kDescending, u32 kCount, u32 kThreads, typename T>
WICK_FUNCTION void block_sort(T* keys, i32* places) {
  for (u32 size = 2; size <= kCount; size <<= 1) {
    for (u32 stride = size >> 1; stride > 0; stride >>= 1) {
      block_barrier();
      for (u32 pair = thread_x(); pair < kCount / 2; pair += kThreads) {
        const u32 low = 2 * pair - (pair & (stride - 1)), high = low + stride;
        const T low_key = keys[low], high_key = keys[high];
        const i32 low_place = places[low], high_place = places[high];
        const bool ascends = (low & size) == 0;
        if (stands_before<kDescending>(high_key, high_place, low_key, low_place) != ascends) continue;
        keys[low] = high_key;
        keys[high] = low_key;
        places[low] = high_place;
        places[high] = low_place;
      }
    }
  }
  block_barrier();
}

/// Two sorted runs in memory, which are merged element by element. A run ends before `end`.
template <bool kDescending, typename T, typename Index>
struct SortedRuns {
  const T* keys;
  const i32* places;
  Index a, a_end, b, b_end;

  /// Whether the element at `i` sorts before the one at `j`.
  WICK_FUNCTION bool before(Index i, Index j) const {
    return stands_before<kDescending>(keys[i], places[i], keys[j], places[j]);
  }
  /// Skips the first `count` elements of the merged sequence. Bisection finds how many of them belong to `a`.
  WICK_FUNCTION void skip(Index count) {
    const Index a_count = a_end - a, b_count = b_end - b;
    if (count > a_count + b_count) count = a_count + b_count;
    Index low = count > b_count ? count - b_count : 0, high = count < a_count ? count : a_count;
    while (low < high) {
      const Index middle = (low + high) / 2;
      if (before(b + (count - 1 - middle), a + middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    a += low;
    b += count - low;
  }
  /// The index of the next element, or -1 if there is none.
  WICK_FUNCTION Index next() {
    if (b == b_end) return a == a_end ? -1 : a++;
    return a < a_end && !before(b, a) ? a++ : b++;
  }
};

}  // namespace
}  // namespace wick_text
