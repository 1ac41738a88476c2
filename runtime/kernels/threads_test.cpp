// Kernels on several operating system threads give the bits of one thread. ThreadSanitizer builds run this too.
#include <algorithm>
#include <random>
#include <thread>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::threads_test {
namespace {

/// Four threads, each with every fourth of the smallest allowed pieces.
class Threads final : public Parallelism {
 public:
  int num_threads() const override { return 4; }
  void parallel_for(int64_t count, int64_t grain, Body body, void* state) override {
    std::vector<std::thread> threads;
    for (int64_t t = 0; t < 4; ++t) {
      threads.emplace_back([=] {
        for (int64_t begin = t * grain; begin < count; begin += 4 * grain)
          body(state, begin, std::min(begin + grain, count));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TestTensor random_tensor(DType dtype, std::vector<int32_t> sizes) {
  std::mt19937 rng(11);
  size_t numel = 1;
  for (int32_t size : sizes) numel *= static_cast<size_t>(size);
  std::vector<double> values(numel);
  for (double& v : values) v = (static_cast<int>(rng() % 1000) + 1) / 256.0;
  return make(dtype, std::move(sizes), values);
}

Error call_threaded(const char* name, std::vector<Arg> args) {
  static std::vector<uint8_t> temp(64u << 20);
  RandomState random;
  Threads threads;
  KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, &threads);
  return call_detailed(name, std::move(args), context);
}

using Arguments = std::vector<Arg> (*)(const TestTensor& x, const TestTensor& w, TestTensor& out);

void expect_same(const char* name, const TestTensor& x, const TestTensor& w, DType dtype, std::vector<int32_t> sizes,
                 Arguments arguments) {
  TestTensor one = make_out(dtype, sizes), many = make_out(dtype, sizes);
  ASSERT_EQ(call(name, arguments(x, w, one)), Error::Ok) << name;
  ASSERT_EQ(call_threaded(name, arguments(x, w, many)), Error::Ok) << name;
  EXPECT_EQ(one.bytes(), many.bytes()) << name;
}

std::vector<Arg> unary(const TestTensor& x, const TestTensor&, TestTensor& out) { return {x, out}; }
std::vector<Arg> binary(const TestTensor& x, const TestTensor& w, TestTensor& out) { return {x, w, out}; }
std::vector<Arg> over_rows(const TestTensor& x, const TestTensor&, TestTensor& out) {
  return {x, int_list({0}), false, nullptr, out};
}
std::vector<Arg> scan_rows(const TestTensor& x, const TestTensor&, TestTensor& out) { return {x, 0, nullptr, out}; }
std::vector<Arg> softmax_rows(const TestTensor& x, const TestTensor&, TestTensor& out) { return {x, -1, false, out}; }
std::vector<Arg> softmax_columns(const TestTensor& x, const TestTensor&, TestTensor& out) { return {x, 0, false, out}; }

TEST(KernelsOnThreads, PointwiseAndReductionsGiveTheBitsOfOneThread) {
  for (DType dtype : {DType::f32, DType::f16}) {
    const TestTensor x = random_tensor(dtype, {300, 333}), w = random_tensor(dtype, {300, 1});
    for (const char* name : {"aten::log.out", "aten::sin.out", "aten::exp.out"}) {
      expect_same(name, x, w, dtype, {300, 333}, unary);
    }
    for (const char* name : {"aten::pow.Tensor_Tensor_out", "aten::mul.out", "aten::atan2.out"})
      expect_same(name, x, w, dtype, {300, 333}, binary);
    expect_same("aten::sum.IntList_out", x, w, dtype, {333}, over_rows);
    expect_same("aten::cumsum.out", x, w, dtype, {300, 333}, scan_rows);
    expect_same("aten::_softmax.out", x, w, dtype, {300, 333}, softmax_rows);
    expect_same("aten::_softmax.out", x, w, dtype, {300, 333}, softmax_columns);
  }
}

std::vector<Arg> convolution(const TestTensor& x, const TestTensor& w, TestTensor& out) {
  return {x, w, nullptr, int_list({2, 2}), int_list({1, 1}), int_list({1, 1}), false, int_list({0, 0}), 1, out};
}
std::vector<Arg> transposed(const TestTensor& x, const TestTensor& w, TestTensor& out) {
  return {x, w, nullptr, int_list({2, 2}), int_list({1, 1}), int_list({1, 1}), true, int_list({0, 0}), 1, out};
}

TEST(KernelsOnThreads, ProductsAndConvolutionsGiveTheBitsOfOneThread) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    const TestTensor a = random_tensor(dtype, {70, 90}), b = random_tensor(dtype, {90, 110});
    expect_same("aten::mm.out", a, b, dtype, {70, 110}, binary);
    const TestTensor x = random_tensor(dtype, {2, 12, 19, 23}), w = random_tensor(dtype, {12, 12, 4, 4});
    expect_same("aten::convolution.out", x, w, dtype, {2, 12, 9, 11}, convolution);
    expect_same("aten::convolution.out", x, w, dtype, {2, 12, 38, 46}, transposed);
  }
}

}  // namespace
}  // namespace wick::test::threads_test
