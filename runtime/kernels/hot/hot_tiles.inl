// Register tiles of products in types other than f32. Included inside the namespace of one instruction set.

/// sums[r, j] += sum over k of a[k, r] * b[k, j], k ascending.
template <typename T>
void product_tile(const T* a, const T* b, int64_t k, T* sums) {
  typedef T Lanes __attribute__((vector_size(WICK_HOT_LANES * 4)));
  constexpr int64_t kWidth = sizeof(Lanes) / sizeof(T);
  static_assert(2 * kWidth * sizeof(T) <= kMostProductColumns * sizeof(float));
  Lanes sum[kProductRows][2];
  __builtin_memcpy(sum, sums, sizeof sum);
  for (int64_t i = 0; i < k; ++i, a += kProductRows, b += 2 * kWidth) {
    Lanes right[2];
    __builtin_memcpy(right, b, sizeof right);
#pragma GCC unroll 4
    for (int r = 0; r < kProductRows; ++r) {
      const Lanes left = a[r] - Lanes{};
      sum[r][0] += left * right[0];
      sum[r][1] += left * right[1];
    }
  }
  __builtin_memcpy(sums, sum, sizeof sum);
}
