// For tests of these kernels: seeded random arguments, and requantization written from its equations in exact
// arithmetic, independently of requantize.h. C++20, hosted.
#pragma once
#include <cmath>

#include "runtime/kernels/kernel_test_support.h"
#include "wick/cortex_m_backend.h"

namespace wick::cortex_m {

using namespace wick::test;  // NOLINT

/// The random generator splitmix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t word() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  int64_t in(int64_t low, int64_t high) {  // both included
    return low + static_cast<int64_t>(word() % static_cast<uint64_t>(high - low + 1));
  }
  bool one_in(int64_t n) { return in(1, n) == 1; }
  template <typename T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[in(0, static_cast<int64_t>(choices.size()) - 1)];
  }

 private:
  uint64_t state_;
};

inline int64_t floor_divide(__int128 a, __int128 b) {
  return static_cast<int64_t>(a / b - (a % b != 0 && (a % b < 0) != (b < 0)));
}

/// The equations of requantization: wrap at 32 bits, round(v m / 2^31) halves up, round(h / 2^r) halves away from zero.
inline int32_t exact_requantize(int64_t accumulator, int32_t multiplier, int32_t shift) {
  const int32_t value =
      static_cast<int32_t>(static_cast<__int128>(static_cast<int32_t>(accumulator)) << (shift > 0 ? shift : 0));
  const int64_t high =
      floor_divide(static_cast<__int128>(value) * multiplier * 2 + (__int128{1} << 31), __int128{1} << 32);
  const int64_t divisor = int64_t{1} << (shift < 0 ? -shift : 0);
  const int64_t magnitude = (2 * std::llabs(high) + divisor) / (2 * divisor);
  return static_cast<int32_t>(high < 0 ? -magnitude : magnitude);
}

struct OutputParameters {
  int32_t multiplier = 1 << 30, shift = 0, offset = 0, min = -128, max = 127;

  int8_t operator()(int64_t accumulator) const {
    const int32_t value = static_cast<int32_t>(int64_t{exact_requantize(accumulator, multiplier, shift)} + offset);
    return static_cast<int8_t>(std::min(std::max(value, min), max));
  }
};

/// Mostly scales that bring sums of `terms` products near int8; sometimes any scale, sometimes extreme ones.
inline void randomize_scale(Random& random, int64_t terms, OutputParameters* p) {
  const double scale = std::exp2(-7.0 - 0.5 * std::log2(static_cast<double>(terms) + 1) + 0.01 * random.in(-300, 300));
  int exponent = 0;
  p->multiplier = static_cast<int32_t>(std::ldexp(std::frexp(scale, &exponent), 31) - 1);
  p->shift = std::clamp(exponent, -31, 30);
  if (random.one_in(8)) {
    p->multiplier = random.pick<int32_t>(
        {-INT32_MAX, -1, 0, 1, 1 << 30, INT32_MAX, static_cast<int32_t>(random.in(-INT32_MAX, INT32_MAX))});
    p->shift = random.pick<int32_t>({-31, -30, -1, 0, 1, 29, 30, static_cast<int32_t>(random.in(-31, 30))});
  }
}

inline OutputParameters random_output(Random& random, int64_t terms) {
  OutputParameters p;
  randomize_scale(random, terms, &p);
  p.offset = static_cast<int32_t>(random.pick<int64_t>({-128, 0, 127, random.in(-128, 127)}));
  if (random.one_in(2)) {
    p.min = static_cast<int32_t>(random.in(-128, 127));
    p.max = static_cast<int32_t>(random.in(p.min, 127));
  }
  return p;
}

/// Random int8 elements, or only -128 and 127.
inline std::vector<int64_t> random_int8(Random& random, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  const bool ends = random.one_in(10);
  for (int64_t& value : values) value = ends ? (random.one_in(2) ? -128 : 127) : random.in(-128, 127);
  return values;
}
inline std::vector<int64_t> random_int32(Random& random, int64_t count, int64_t magnitude) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t& value : values) value = random.in(-magnitude, magnitude);
  return values;
}
inline std::vector<int64_t> random_bias(Random& random, int64_t count) {
  return random_int32(random, count, random.one_in(10) ? INT32_MAX : 20000);
}

/// A tensor of `values` in logical order, stored in the order `dim_order`.
inline TestTensor make_ints_in(DType dtype, std::vector<int32_t> sizes, const std::vector<int64_t>& values,
                               std::vector<uint8_t> dim_order) {
  return make_of<int64_t>(dtype, std::move(sizes), values, std::move(dim_order));
}

inline int64_t product(const std::vector<int32_t>& sizes) {
  int64_t count = 1;
  for (const int32_t size : sizes) count *= size;
  return count;
}

/// The sizes to which two operands broadcast, as in NumPy.
inline std::vector<int32_t> broadcast(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> sizes(std::max(a.size(), b.size()), 1);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const int32_t x = d < a.size() ? a[a.size() - 1 - d] : 1, y = d < b.size() ? b[b.size() - 1 - d] : 1;
    sizes[sizes.size() - 1 - d] = x == 1 ? y : x;
  }
  return sizes;
}

/// The index of an operand's element at a logical position of the output.
inline size_t operand_index(size_t index, const std::vector<int32_t>& out, const std::vector<int32_t>& operand) {
  size_t result = 0, factor = 1;
  for (size_t d = 0; d < out.size(); ++d) {
    const size_t size = static_cast<size_t>(out[out.size() - 1 - d]), at = index % size;
    index /= size;
    if (d >= operand.size()) continue;
    const size_t own = static_cast<size_t>(operand[operand.size() - 1 - d]);
    result += (own == 1 ? 0 : at) * factor;
    factor *= own;
  }
  return result;
}

/// Sizes of two operands of rank 0 to 4 that broadcast.
inline std::pair<std::vector<int32_t>, std::vector<int32_t>> random_broadcasting(Random& random) {
  std::vector<int32_t> a;
  for (int64_t d = random.in(1, 4); d > 0; --d) a.push_back(static_cast<int32_t>(random.in(1, 4)));
  std::vector<int32_t> b = a;
  for (std::vector<int32_t>* sizes : {&a, &b}) {
    for (int32_t& size : *sizes) size = random.one_in(3) ? 1 : size;
    sizes->erase(sizes->begin(), sizes->begin() + random.in(0, static_cast<int64_t>(sizes->size())));
  }
  return {a, b};
}
/// A random dim order; for rank 4 sometimes channels last.
inline std::vector<uint8_t> random_order(Random& random, const std::vector<int32_t>& sizes) {
  return sizes.size() == 4 && random.one_in(2) ? std::vector<uint8_t>{0, 2, 3, 1} : std::vector<uint8_t>{};
}

/// Calls a kernel of this table with little temp memory, and keeps its error.
struct Outcome {
  Error error;
  std::string message;
};
inline Outcome run(const char* name, std::vector<Arg> args) {
  table_under_test() = cortex_m_kernels();
  static std::vector<uint8_t> temp(1u << 16);
  RandomState random;
  KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, nullptr);
  call_detailed(name, std::move(args), context);
  return {context.error(), context.message()};
}
inline ::testing::AssertionResult runs(const char* name, std::vector<Arg> args) {
  const Outcome outcome = run(name, std::move(args));
  return outcome.error == Error::Ok ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << outcome.message;
}
inline ::testing::AssertionResult refuses(const char* name, std::vector<Arg> args, const std::string& part) {
  const Outcome outcome = run(name, std::move(args));
  if (outcome.error == Error::Ok) return ::testing::AssertionFailure() << "it ran";
  if (outcome.message.find(part) == std::string::npos) return ::testing::AssertionFailure() << outcome.message;
  return ::testing::AssertionSuccess();
}

}  // namespace wick::cortex_m
