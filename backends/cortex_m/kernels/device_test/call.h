// A seeded call of a kernel: its arguments, and its tensors, each in separate memory. C++17, no heap.
#pragma once
#include <initializer_list>

#include "backends/cortex_m/kernels/device_test/regions.h"
#include "wick/kernel.h"

namespace wick::cortex_m {

/// The random generator splitmix64.
class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) {}
  uint64_t word();
  /// Uniform in [low, high].
  int32_t in(int32_t low, int32_t high);
  bool one_in(int32_t count) { return in(1, count) == 1; }

 private:
  uint64_t state_;
};

enum class Order { contiguous, channels_last };

/// Arguments in schema order. Sizes and lists live until clear().
class Call {
 public:
  explicit Call(uint64_t seed) : random(seed) {}

  Stream random;
  bool images_are_nhwc = false;  // channels-last tensors become contiguous ones of sizes NHWC, with the same bytes

  void clear(Side side = Side::end);
  void add_int(int64_t value);
  void add_real(double value);
  void add_bool(bool value);
  void add_none();
  void add_ints(std::initializer_list<int64_t> items);
  /// Adds an operand with random elements; those of add_floats are within +-`magnitude`.
  Tensor& add_tensor(DType dtype, std::initializer_list<int32_t> sizes, Order order = Order::contiguous);
  Tensor& add_int8(std::initializer_list<int32_t> sizes, Order order = Order::contiguous) {
    return add_tensor(DType::i8, sizes, order);
  }
  Tensor& add_int16(std::initializer_list<int32_t> sizes, Order order = Order::contiguous) {
    return add_tensor(DType::i16, sizes, order);
  }
  /// Adds int32 elements in [low, high].
  Tensor& add_int32(int32_t count, int32_t low, int32_t high);
  /// Adds int64 elements of at most `bits` bits.
  Tensor& add_int64(int32_t count, int32_t bits);
  Tensor& add_floats(std::initializer_list<int32_t> sizes, float magnitude);
  /// Memory that kernels may write: the output (the last argument), and scratch, aligned to 16 bytes.
  Tensor& add_scratch(int32_t bytes);
  Tensor& add_out(DType dtype, std::initializer_list<int32_t> sizes, Order order = Order::contiguous);

  Span<EValue*> args() { return {pointers_, count_}; }
  /// The arguments as the executor passes them: with a return slot for the output.
  Span<EValue*> args_and_slot() {
    pointers_[count_] = pointers_[count_ - 1];
    return {pointers_, count_ + 1};
  }
  Tensor& out() { return *values_[count_ - 1].tensor; }
  bool is_scratch(size_t arg) const { return (scratch_ >> arg & 1) != 0; }
  Span<Tensor> tensors() { return {tensors_, tensor_count_}; }
  Regions& regions() { return regions_; }

 private:
  EValue& next();
  Tensor& make_tensor(DType dtype, std::initializer_list<int32_t> sizes, Order order, Access access);

  static constexpr size_t kMaxArgs = 24, kMaxTensors = 14, kMaxLists = 8, kMaxItems = 4;
  EValue values_[kMaxArgs];
  EValue* pointers_[kMaxArgs + 1];
  size_t count_ = 0, tensor_count_ = 0, list_count_ = 0;
  uint32_t scratch_ = 0;  // one bit for each argument
  Tensor tensors_[kMaxTensors];
  int32_t sizes_[kMaxTensors][4], strides_[kMaxTensors][4];
  uint8_t orders_[kMaxTensors][4];
  IntListValue lists_[kMaxLists];
  int64_t items_[kMaxLists][kMaxItems];
  Regions regions_;
};

}  // namespace wick::cortex_m
