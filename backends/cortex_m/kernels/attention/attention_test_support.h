// Shared by the tests of attention and attention_int16: sizes and masks of a `Case`, which both tests define. C++20,
// hosted.
#pragma once
#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m {

template <typename Case>
void randomize_sizes(Random& random, int32_t most_outputs, Case* c) {
  c->group = random.one_in(3) ? static_cast<int32_t>(random.in(2, 3)) : 1;
  c->batch = c->group * static_cast<int32_t>(random.in(1, 2));
  c->queries = static_cast<int32_t>(random.in(1, 5));
  c->keys = static_cast<int32_t>(random.one_in(5) ? random.in(1, 300) : random.in(1, 20));
  c->features = static_cast<int32_t>(random.in(1, 35));
  c->outputs = static_cast<int32_t>(random.in(1, most_outputs));
}

/// Hides keys, or adds up to `most` to scores.
template <typename Case>
void add_mask(Random& random, int64_t most, Case* c) {
  c->mask_sizes = {random.one_in(2) ? 1 : c->batch, random.one_in(2) ? 1 : c->queries, c->keys};
  c->boolean = random.one_in(2);
  const bool none = random.one_in(10);
  for (int64_t i = product(c->mask_sizes); i > 0; --i) {
    const bool hidden = none || random.one_in(3);
    if (c->boolean)
      c->mask.push_back(hidden ? 0 : 1);
    else
      c->mask.push_back(hidden ? INT32_MIN : random.in(-most, most));
  }
}

/// A score after the mask, whose numbers are in units of 2^-bits of a score.
template <typename Case>
double masked(const Case& c, int32_t b, int32_t m, int32_t n, double score, int64_t bits = 0) {
  if (c.mask_sizes.empty()) return score;
  const int64_t row = int64_t{c.mask_sizes[0] == 1 ? 0 : b} * c.mask_sizes[1] + (c.mask_sizes[1] == 1 ? 0 : m);
  const int64_t element = c.mask[static_cast<size_t>(row * c.keys + n)];
  if (element == (c.boolean ? 0 : INT32_MIN)) return -HUGE_VAL;
  return c.boolean ? score : std::ldexp(score, static_cast<int>(bits)) + static_cast<double>(element);
}

}  // namespace wick::cortex_m
