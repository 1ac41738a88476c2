// Choices of a mutator: splitmix64 from a seed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace wick::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, count); 0 if count is 0.
  size_t below(size_t count) { return count == 0 ? 0 : bits() % count; }
  bool one_in(size_t count) { return below(count) == 0; }

  /// A number that tends to break things, near `old` or far from it.
  int64_t number(int64_t old) {
    static constexpr int64_t kEdges[] = {
        0,         1,         -1,        2,         3,         4,         5,
        7,         8,         9,         15,        16,        17,        63,
        64,        65,        127,       128,       255,       256,       -2,
        65535,     65536,     INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX / 2,
        1ll << 31, 1ll << 32, 1ll << 40, 1000,      1 << 20};
    switch (below(6)) {
      case 0: return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
      case 1: return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
      case 2: return static_cast<int64_t>(below(12));
      case 3: return static_cast<int64_t>(static_cast<uint64_t>(old) * (one_in(2) ? 2 : static_cast<uint64_t>(-1)));
      default: return kEdges[below(std::size(kEdges))];
    }
  }

 private:
  uint64_t state_;
};

}  // namespace wick::fuzz
