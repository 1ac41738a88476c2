// Terms of a call's cost, and the sizes that they are counted from: in floating point, as sizes come from a file, and
// their products may be anything. C++20.
#pragma once
#include <algorithm>
#include <cmath>

#include "compiler/partition/call_cost.h"

namespace wick::cortex_m {

inline constexpr double kMostMacs = 1e19;  // what fits 64 bits

class Terms {
 public:
  explicit Terms(compiler::CallCost& cost) : cost_(cost) { add("call", 1); }
  void add(const char* name, double count) { cost_.terms.push_back({name, count, 0}); }
  void add_macs(double macs, const char* name = "macs") {
    cost_.macs = macs < kMostMacs ? static_cast<uint64_t>(macs) : UINT64_MAX;
    add(name, macs);
  }

 private:
  compiler::CallCost& cost_;
};

inline double numel(const compiler::CallArgument& tensor) { return static_cast<double>(tensor.numel()); }
inline double size(const compiler::CallArgument& tensor, size_t dim) {
  return dim < tensor.sizes.size() ? static_cast<double>(tensor.sizes[dim]) : 1;
}
inline double last_size(const compiler::CallArgument& tensor) {
  return tensor.sizes.empty() ? 1 : static_cast<double>(tensor.sizes.back());
}
inline double number(const compiler::CallArgument& list, size_t index) {
  return index < list.numbers.size() ? static_cast<double>(list.numbers[index]) : 0;
}
inline double at_least_one(double value) { return std::max(value, 1.0); }
// Vectors have 16 elements of int8.
inline double vectors(double elements) { return std::ceil(elements / 16); }

}  // namespace wick::cortex_m
