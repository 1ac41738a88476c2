// For kernel tests: makes tensors with guard bytes around them, calls a kernel by registry name and compares the
// results.
//
//   TestTensor x = make(DType::f32, {2, 3}, {1, 2, 3, 4, 5, 6}), out = make_out(DType::f32, {2, 3});
//   ASSERT_EQ(call("aten::add.out", {x, x, 1, out}), Error::Ok);
//   EXPECT_TRUE(equals(out, {2, 4, 6, 8, 10, 12}));
//
// call() appends the repeated return slot, checks the arguments against the row's signature as the executor does, and
// fails the test if a byte outside a tensor, or an input of an out-variant, was changed. Values are given and read in
// logical (row-major) order whatever the dim order. C++20, hosted.
#pragma once
#include <gtest/gtest.h>
#include <math.h>
#include <string.h>

#include <algorithm>
#include <complex>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/check_argument.h"
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/portable_table.h"
#include "runtime/platform/cpu.h"
#include "wick/kernel.h"

namespace wick::test {

constexpr size_t kGuardBytes = 64;
constexpr uint8_t kGuard = 0xA5;
constexpr IsaLevel kIsaLevels[] = {IsaLevel::baseline, IsaLevel::avx2, IsaLevel::avx512};

/// A tensor that owns its memory. Movable; `tensor` points into the vectors.
struct TestTensor {
  Tensor tensor;
  std::vector<int32_t> sizes, strides;
  std::vector<uint8_t> dim_order;
  std::unique_ptr<uint8_t[]> storage;  // guard, capacity_bytes, guard

  TestTensor() = default;
  TestTensor(TestTensor&&) = default;
  TestTensor& operator=(TestTensor&&) = default;

  bool guards_intact() const {
    const uint8_t* after = storage.get() + kGuardBytes + tensor.capacity_bytes;
    return std::all_of(storage.get(), storage.get() + kGuardBytes, [](uint8_t b) { return b == kGuard; }) &&
           std::all_of(after, after + kGuardBytes, [](uint8_t b) { return b == kGuard; });
  }
  std::vector<uint8_t> bytes() const {
    const uint8_t* data = storage.get() + kGuardBytes;
    return {data, data + tensor.nbytes()};
  }
};

/// An uninitialised (0xCD) tensor. Empty `dim_order` means row-major.
inline TestTensor make_out(DType dtype, std::vector<int32_t> sizes, std::vector<uint8_t> dim_order = {},
                           ShapeDynamism dynamism = ShapeDynamism::fixed) {
  TestTensor t;
  t.sizes = std::move(sizes);
  t.strides.resize(t.sizes.size());
  t.dim_order = std::move(dim_order);
  for (size_t d = t.dim_order.size(); d < t.sizes.size(); ++d) t.dim_order.push_back(static_cast<uint8_t>(d));
  t.tensor.dtype = dtype;
  t.tensor.rank = static_cast<uint8_t>(t.sizes.size());
  t.tensor.dynamism = dynamism;
  t.tensor.sizes = t.sizes.data();
  t.tensor.strides = t.strides.data();
  t.tensor.dim_order = t.dim_order.data();
  size_t numel = 1;
  for (int32_t size : t.sizes) numel *= static_cast<size_t>(size);
  t.tensor.capacity_bytes = numel * dtype_size_bytes(dtype);
  EXPECT_EQ(compute_layout(t.tensor), Error::Ok);
  t.storage = std::make_unique<uint8_t[]>(2 * kGuardBytes + t.tensor.capacity_bytes);
  memset(t.storage.get(), kGuard, 2 * kGuardBytes + t.tensor.capacity_bytes);
  memset(t.storage.get() + kGuardBytes, 0xCD, t.tensor.capacity_bytes);
  t.tensor.data = numel == 0 ? nullptr : t.storage.get() + kGuardBytes;
  return t;
}

/// An out tensor that a kernel may resize to at most `upper`; its shape now is `upper`.
inline TestTensor make_dynamic(DType dtype, std::vector<int32_t> upper) {
  return make_out(dtype, std::move(upper), {}, ShapeDynamism::upper_bound);
}

/// Position in memory (in elements) of the `index`-th element in logical order.
inline size_t memory_index(const Tensor& tensor, size_t index) {
  size_t position = 0;
  for (size_t d = tensor.rank; d-- > 0;) {
    const size_t size = static_cast<size_t>(tensor.sizes[d]);
    position += index % size * static_cast<size_t>(tensor.strides[d]);
    index /= size;
  }
  return position;
}

/// Calls fn(T&) for each element in logical order, T the element type (floats, ints, bool, complex).
template <typename F>
void for_each_element(const TestTensor& t, F&& fn) {
  auto walk = [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < t.tensor.numel; ++i) fn(i, t.tensor.as<T>()[memory_index(t.tensor, i)]);
  };
  EXPECT_TRUE(dispatch_real(t.tensor.dtype, walk) || dispatch_complex(t.tensor.dtype, walk)) << "dtype not supported";
}

template <typename T, typename V>
T element_from(const V& value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// A tensor of `values` (logical order), or filled with the one value if there is just one.
template <typename V>
TestTensor make_of(DType dtype, std::vector<int32_t> sizes, const std::vector<V>& values,
                   std::vector<uint8_t> dim_order = {}) {
  TestTensor t = make_out(dtype, std::move(sizes), std::move(dim_order));
  EXPECT_TRUE(values.size() == t.tensor.numel || values.size() == 1) << "wrong number of values";
  if (values.empty()) return t;
  for_each_element(t, [&](size_t i, auto& element) {
    element = element_from<std::remove_reference_t<decltype(element)>>(values[values.size() == 1 ? 0 : i]);
  });
  return t;
}
inline TestTensor make(DType dtype, std::vector<int32_t> sizes, const std::vector<double>& values,
                       std::vector<uint8_t> dim_order = {}) {
  return make_of<double>(dtype, std::move(sizes), values, std::move(dim_order));
}
/// For integers a double cannot hold.
inline TestTensor make_ints(DType dtype, std::vector<int32_t> sizes, const std::vector<int64_t>& values) {
  return make_of<int64_t>(dtype, std::move(sizes), values);
}
inline TestTensor make_complex(DType dtype, std::vector<int32_t> sizes,
                               const std::vector<std::complex<double>>& values) {
  TestTensor t = make_out(dtype, std::move(sizes));
  for (size_t i = 0; i < t.tensor.numel; ++i) {
    if (dtype == DType::c64) t.tensor.as<std::complex<float>>()[i] = std::complex<float>(values[i]);
    if (dtype == DType::c128) t.tensor.as<std::complex<double>>()[i] = values[i];
  }
  return t;
}

/// Elements in logical order, as double (the real part of complex numbers) and as int64.
template <typename V>
std::vector<V> elements_as(const TestTensor& t) {
  std::vector<V> values(t.tensor.numel);
  for_each_element(t, [&](size_t i, auto& element) {
    using T = std::remove_reference_t<decltype(element)>;
    if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
      values[i] = static_cast<V>(element.real());
    } else {
      values[i] = static_cast<V>(element);
    }
  });
  return values;
}
inline std::vector<double> values(const TestTensor& t) { return elements_as<double>(t); }
inline std::vector<int64_t> ints(const TestTensor& t) { return elements_as<int64_t>(t); }
inline std::vector<std::complex<double>> complex_values(const TestTensor& t) {
  std::vector<std::complex<double>> result(t.tensor.numel);
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = t.tensor.dtype == DType::c64 ? std::complex<double>(t.tensor.as<std::complex<float>>()[i])
                                             : t.tensor.as<std::complex<double>>()[i];
  }
  return result;
}

/// One argument of call(): a tensor, number, bool, nullptr (None), string, list of ints, doubles, bools or tensors.
/// A tensor list may hold null for None where the kernel's signature says Tensor?[].
class Arg {
 public:
  Arg(const TestTensor& t) : tensor_(&t) {}
  Arg(int v) : value_(EValue::of_int(v)) {}
  Arg(int64_t v) : value_(EValue::of_int(v)) {}
  Arg(double v) : value_(EValue::of_real(v)) {}
  Arg(bool v) : value_(EValue::of_bool(v)) {}
  Arg(DType v) : value_(EValue::of_int(static_cast<int64_t>(v))) {}
  Arg(std::nullptr_t) {}
  Arg(const char* text) {
    value_.tag = Tag::string;
    value_.string = {text, strlen(text)};
  }
  Arg(std::vector<int64_t> v) : kind_(Tag::int_list), ints_(std::move(v)) {}
  Arg(std::vector<int> v) : kind_(Tag::int_list), ints_(v.begin(), v.end()) {}
  Arg(std::vector<double> v) : kind_(Tag::real_list), reals_(std::move(v)) {}
  Arg(std::vector<bool> v) : kind_(Tag::bool_list), bools_(v.begin(), v.end()) {}
  Arg(std::vector<TestTensor*> v) : kind_(Tag::tensor_list), list_(std::move(v)) {}
  /// Memory that the kernel may write.
  static Arg scratch(const TestTensor& t) {
    Arg arg(t);
    arg.is_scratch_ = true;
    return arg;
  }

 private:
  friend Error call_detailed(const char*, std::vector<Arg>, KernelContext&);

  /// The boxed form; borrows from *this.
  EValue* box(char letter) {
    if (tensor_) value_ = EValue::of_tensor(const_cast<Tensor*>(&tensor_->tensor));
    if (kind_ == Tag::int_list) {
      for (int64_t v : ints_) items_.push_back(EValue::of_int(v));
      for (EValue& item : items_) pointers_.push_back(&item);
      unboxed_.assign(ints_.size(), INT64_MIN);
      int_list_ = {pointers_.data(), unboxed_.data(), ints_.size()};
      value_.int_list = &int_list_;
    } else if (kind_ == Tag::real_list) {
      value_.real_list = {reals_.data(), reals_.size()};
    } else if (kind_ == Tag::bool_list) {
      value_.bool_list = {reinterpret_cast<const bool*>(bools_.data()), bools_.size()};
    } else if (kind_ == Tag::tensor_list) {
      for (TestTensor* t : list_) tensors_.push_back(t ? &t->tensor : nullptr);
      value_.tensor_list = {tensors_.data(), tensors_.size()};
    }
    if (kind_ != Tag::none) value_.tag = letter == 'l' ? Tag::optional_tensor_list : kind_;
    return &value_;
  }
  template <typename F>
  void for_each_tensor(F&& fn) const {
    if (tensor_) fn(*tensor_);
    for (const TestTensor* t : list_) {
      if (t) fn(*t);
    }
  }

  const TestTensor* tensor_ = nullptr;
  bool is_scratch_ = false;
  EValue value_;
  Tag kind_ = Tag::none;  // of a list
  std::vector<int64_t> ints_, unboxed_;
  std::vector<double> reals_;
  std::vector<char> bools_;
  std::vector<TestTensor*> list_;
  std::vector<EValue> items_;
  std::vector<EValue*> pointers_;
  std::vector<Tensor*> tensors_;
  IntListValue int_list_{};
};

/// Int list arguments: call("aten::sum.IntList_out", {x, int_list({0, 2}), ..}).
inline Arg int_list(std::initializer_list<int64_t> items) { return Arg(std::vector<int64_t>(items)); }

/// Runs pieces of the smallest legal size, last first, on the caller's thread: finds kernels that depend on the split.
class SplitParallelism final : public Parallelism {
 public:
  int num_threads() const override { return 4; }
  void parallel_for(int64_t count, int64_t grain, Body body, void* state) override {
    const int64_t step = std::max<int64_t>(grain, 1);
    for (int64_t i = (count - 1) / step; i >= 0; --i) body(state, i * step, std::min(count, (i + 1) * step));
  }
};

/// The table in which call() looks names up. Tests of another table set it first.
inline KernelTable& table_under_test() {
  static KernelTable table = portable_kernels();
  return table;
}

/// The row of the table under test, or null.
inline const Kernel* find_kernel(const char* name) {
  for (const Kernel& kernel : table_under_test()) {
    if (strcmp(kernel.name, name) == 0) return &kernel;
  }
  return nullptr;
}

inline Error call_detailed(const char* name, std::vector<Arg> args, KernelContext& context) {
  const Kernel* kernel = find_kernel(name);
  if (!kernel) {
    ADD_FAILURE() << name << " is not in the table under test";
    return Error::OperatorMissing;
  }
  const char* form = form_of(kernel->signature, args.size());
  if (!form) {
    ADD_FAILURE() << name << " takes " << kernel->signature << ", got " << args.size() << " arguments";
    return Error::InvalidProgram;
  }
  const std::string signature(form, args.size());
  const bool has_out = signature.find_first_of("oO") != std::string::npos;
  std::vector<EValue*> boxed;
  std::vector<Tensor*> outs;
  EValue* last_out = nullptr;
  for (size_t i = 0; i < args.size(); ++i) {
    boxed.push_back(args[i].box(signature[i]));
    if (signature[i] == 'o' || signature[i] == 'O') {
      last_out = boxed.back();
      if (signature[i] == 'o' && last_out->tag == Tag::tensor) outs.push_back(last_out->tensor);
    }
  }
  EValue out_list;
  if (outs.size() > 1) {
    out_list.tag = Tag::tensor_list;
    out_list.tensor_list = {outs.data(), outs.size()};
    last_out = &out_list;
  }
  boxed.push_back(has_out ? last_out : boxed.empty() ? &out_list : boxed[0]);

  std::vector<std::pair<const TestTensor*, std::vector<uint8_t>>> inputs;
  for (size_t i = 0; i < args.size() && has_out; ++i) {
    if (signature[i] == 'o' || signature[i] == 'O' || args[i].is_scratch_) continue;
    args[i].for_each_tensor([&](const TestTensor& t) { inputs.emplace_back(&t, t.bytes()); });
  }
  if (check_arguments(context, kernel->signature, Span<EValue*>(boxed.data(), boxed.size()))) {
    kernel->fn(context, Span<EValue*>(boxed.data(), boxed.size()));
  }
  for (const auto& [input, bytes] : inputs) {
    const bool is_out = std::find(outs.begin(), outs.end(), &input->tensor) != outs.end();
    EXPECT_TRUE(is_out || input->bytes() == bytes) << name << " changed an input";
  }
  for (const Arg& arg : args) {
    arg.for_each_tensor(
        [&](const TestTensor& t) { EXPECT_TRUE(t.guards_intact()) << name << " wrote outside a tensor"; });
  }
  return context.error();
}

/// Calls the kernel on one thread with 16 MiB of temp memory and a random state of seed 0.
inline Error call(const char* name, std::vector<Arg> args) {
  static std::vector<uint8_t> temp(16u << 20);
  RandomState random;
  KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, nullptr);
  return call_detailed(name, std::move(args), context);
}

/// As call(), the work split into the smallest pieces.
inline Error call_split(const char* name, std::vector<Arg> args) {
  static std::vector<uint8_t> temp(16u << 20);
  RandomState random;
  SplitParallelism parallelism;
  KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, &parallelism);
  return call_detailed(name, std::move(args), context);
}

inline bool same_number(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }

/// Elements equal `expected`; NaN equals NaN, 0 differs from -0.
inline ::testing::AssertionResult equals(const TestTensor& t, const std::vector<double>& expected) {
  const std::vector<double> actual = values(t);
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " elements, wanted " << expected.size();
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    if (!same_number(actual[i], expected[i])) {
      return ::testing::AssertionFailure() << "element " << i << " is " << actual[i] << ", wanted " << expected[i];
    }
  }
  return ::testing::AssertionSuccess();
}

/// |actual - expected| <= atol + rtol * |expected|; infinities and NaN must agree.
inline ::testing::AssertionResult near(const TestTensor& t, const std::vector<double>& expected, double rtol = 1e-6,
                                       double atol = 0) {
  const std::vector<double> actual = values(t);
  if (actual.size() != expected.size()) {
    return ::testing::AssertionFailure() << actual.size() << " elements, wanted " << expected.size();
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i], e = expected[i];
    if (a == e || (isnan(a) && isnan(e))) continue;
    if (!(fabs(a - e) <= atol + rtol * fabs(e)) || isinf(a) || isinf(e)) {
      return ::testing::AssertionFailure()
             << "element " << i << " is " << a << ", wanted " << e << " (off by " << a - e << ")";
    }
  }
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult has_shape(const TestTensor& t, const std::vector<int32_t>& sizes) {
  const std::vector<int32_t> actual(t.tensor.sizes, t.tensor.sizes + t.tensor.rank);
  return actual == sizes ? ::testing::AssertionSuccess()
                         : ::testing::AssertionFailure() << "shape is " << ::testing::PrintToString(actual)
                                                         << ", wanted " << ::testing::PrintToString(sizes);
}

}  // namespace wick::test
