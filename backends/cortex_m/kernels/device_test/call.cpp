#include "backends/cortex_m/kernels/device_test/call.h"

namespace wick::cortex_m {

uint64_t Stream::word() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

int32_t Stream::in(int32_t low, int32_t high) {
  const uint64_t count = static_cast<uint64_t>(static_cast<int64_t>(high) - low) + 1;
  return static_cast<int32_t>(low + static_cast<int64_t>((word() >> 32) * count >> 32));
}

void Call::clear(Side side) {
  count_ = tensor_count_ = list_count_ = 0;
  scratch_ = 0;
  regions_.clear(side);
}

EValue& Call::next() {
  pointers_[count_] = &values_[count_];
  values_[count_] = EValue();
  return values_[count_++];
}

void Call::add_int(int64_t value) { next() = EValue::of_int(value); }
void Call::add_real(double value) { next() = EValue::of_real(value); }
void Call::add_bool(bool value) { next() = EValue::of_bool(value); }
void Call::add_none() { next(); }

void Call::add_ints(std::initializer_list<int64_t> items) {
  int64_t* slots = items_[list_count_];
  size_t size = 0;
  for (const int64_t item : items) slots[size++] = item;
  lists_[list_count_] = {nullptr, slots, size};
  EValue& value = next();
  value.tag = Tag::int_list;
  value.int_list = &lists_[list_count_++];
}

Tensor& Call::make_tensor(DType dtype, std::initializer_list<int32_t> sizes, Order order, Access access) {
  const size_t at = tensor_count_++;
  Tensor& tensor = tensors_[at] = Tensor();
  tensor.dtype = dtype;
  for (const int32_t size : sizes) sizes_[at][tensor.rank++] = size;
  if (images_are_nhwc && order == Order::channels_last) {
    const int32_t channels = sizes_[at][1];
    for (size_t d = 1; d + 1 < tensor.rank; ++d) sizes_[at][d] = sizes_[at][d + 1];
    sizes_[at][tensor.rank - 1] = channels;
    order = Order::contiguous;
  }
  for (uint8_t d = 0; d < tensor.rank; ++d)
    orders_[at][d] = order == Order::contiguous || d == 0 ? d : d + 1 == tensor.rank ? 1 : static_cast<uint8_t>(d + 1);
  tensor.sizes = sizes_[at];
  tensor.strides = strides_[at];
  tensor.dim_order = orders_[at];
  compute_layout(tensor);
  tensor.capacity_bytes = tensor.nbytes();
  tensor.data = regions_.add(tensor.nbytes(), access);
  next() = EValue::of_tensor(&tensor);
  return tensor;
}

Tensor& Call::add_tensor(DType dtype, std::initializer_list<int32_t> sizes, Order order) {
  Tensor& tensor = make_tensor(dtype, sizes, order, Access::read);
  uint8_t* bytes = tensor.as<uint8_t>();
  const bool extremes = random.one_in(10);  // only -128 and 127
  for (size_t i = 0; i < tensor.nbytes(); i += 8) {
    uint64_t word = random.word();
    for (size_t j = i; j < i + 8 && j < tensor.nbytes(); ++j, word >>= 8)
      bytes[j] = static_cast<uint8_t>(!extremes ? word : (word & 1) != 0 ? 127 : 128);
  }
  return tensor;
}

Tensor& Call::add_int32(int32_t count, int32_t low, int32_t high) {
  Tensor& tensor = make_tensor(DType::i32, {count}, Order::contiguous, Access::read);
  for (size_t i = 0; i < tensor.numel; ++i) tensor.as<int32_t>()[i] = random.in(low, high);
  return tensor;
}

Tensor& Call::add_int64(int32_t count, int32_t bits) {
  Tensor& tensor = make_tensor(DType::i64, {count}, Order::contiguous, Access::read);
  for (size_t i = 0; i < tensor.numel; ++i)
    tensor.as<int64_t>()[i] = static_cast<int64_t>(random.word()) >> (63 - bits);
  return tensor;
}

Tensor& Call::add_floats(std::initializer_list<int32_t> sizes, float magnitude) {
  Tensor& tensor = make_tensor(DType::f32, sizes, Order::contiguous, Access::read);
  for (size_t i = 0; i < tensor.numel; ++i)
    tensor.as<float>()[i] = static_cast<float>(random.in(-(1 << 24), 1 << 24)) * magnitude * 0x1p-24f;
  return tensor;
}

Tensor& Call::add_scratch(int32_t bytes) {
  scratch_ |= uint32_t{1} << count_;
  return make_tensor(DType::u8, {bytes}, Order::contiguous, Access::scratch);
}

Tensor& Call::add_out(DType dtype, std::initializer_list<int32_t> sizes, Order order) {
  return make_tensor(dtype, sizes, order, Access::write);
}

}  // namespace wick::cortex_m
