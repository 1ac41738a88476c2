#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "runtime/kernels/indexing/sort_keys.h"

namespace wick::test {
namespace {

#ifdef __GLIBCXX__
using kernels::SortItem;

// Eager's topk uses the algorithms of this library.
TEST(SelectItems, TakesEqualItemsAsTheLibraryOfEagerDoes) {
  std::mt19937 rng(5);
  const auto before = [](const SortItem& a, const SortItem& b) { return a.key < b.key; };
  for (int round = 0; round < 4000; ++round) {
    const size_t count = 1 + rng() % (round % 4 == 0 ? 900 : 60);
    const size_t k = round % 2 == 0 ? 1 + rng() % count : std::max<size_t>(1, count / 64);
    const uint64_t values = 1 + rng() % (round % 3 == 0 ? 1000 : 9);
    std::vector<SortItem> items(count);
    for (size_t i = 0; i < count; ++i) items[i] = {rng() % values, static_cast<int64_t>(i)};
    for (size_t i = 0; round % 8 == 1 && i < count; ++i) items[i].key = i < count / 2 ? i : count - i;  // bad splits
    for (const bool sorted : {false, true}) {
      std::vector<SortItem> wanted = items, got = items;
      const auto end = wanted.begin() + static_cast<std::ptrdiff_t>(k);
      if (64 * k <= count) {
        std::partial_sort(wanted.begin(), end, wanted.end(), before);
      } else {
        std::nth_element(wanted.begin(), end - 1, wanted.end(), before);
        if (sorted) std::sort(wanted.begin(), end - 1, before);
      }
      kernels::select_items(got.data(), static_cast<int64_t>(count), static_cast<int64_t>(k), sorted);
      for (size_t i = 0; i < k; ++i) ASSERT_EQ(got[i].index, wanted[i].index) << round << ": " << count << ", " << k;
    }
  }
}
#endif

}  // namespace
}  // namespace wick::test
