// Tensors in device memory, on the caller's stream; copies between host and device.
#include <numeric>

#include "backends/cuda/test/runtime_test_support.h"

namespace wick::cuda {
namespace {

/// A program that uses the driver's own interface: a context, memory, a stream.
class Caller {
 public:
  explicit Caller(const TestDriver& driver) : driver_(driver) {
    call<int(unsigned)>("cuInit", 0u);
    call<int(void**, int)>("cuDevicePrimaryCtxRetain", &context_, 0);
    push();
    call<int(void**, unsigned)>("cuStreamCreate", &stream_, 1u);
    pop();
  }
  ~Caller() {
    push();
    for (const uint64_t address : memory_) call<int(uint64_t)>("cuMemFree_v2", address);
    call<int(void*)>("cuStreamDestroy_v2", stream_);
    pop();
    call<int(int)>("cuDevicePrimaryCtxRelease_v2", 0);
  }
  void* stream() const { return stream_; }
  /// Destroys the stream without waiting for it, and makes another one.
  void renew_stream() {
    push();
    EXPECT_EQ((call<int(void*)>("cuStreamDestroy_v2", stream_)), 0);
    EXPECT_EQ((call<int(void**, unsigned)>("cuStreamCreate", &stream_, 1u)), 0);
    pop();
  }
  float* allocate(const Floats& values) {
    uint64_t address = 0;
    push();
    call<int(uint64_t*, size_t)>("cuMemAlloc_v2", &address, values.size() * sizeof(float));
    pop();
    memory_.push_back(address);
    memcpy(reinterpret_cast<void*>(address), values.data(), values.size() * sizeof(float));  // the stand-in's memory
    return reinterpret_cast<float*>(address);
  }
  void wait() {
    push();
    EXPECT_EQ((call<int(void*)>("cuStreamSynchronize", stream_)), 0);
    pop();
  }

 private:
  template <typename F, typename... T>
  int call(const char* name, T... arguments) {
    return driver_.function<F>(name)(arguments...);
  }
  void push() { call<int(void*)>("cuCtxPushCurrent_v2", context_); }
  void pop() {
    void* context = nullptr;
    call<int(void**)>("cuCtxPopCurrent_v2", &context);
  }

  const TestDriver& driver_;
  void *context_ = nullptr, *stream_ = nullptr;
  std::vector<uint64_t> memory_;
};

/// An input and an output in the caller's memory.
class Bound {
 public:
  Bound(TestRun& run, size_t count) : run_(run), input_({static_cast<int32_t>(count)}, Floats(count)) {}
  Error execute(float* x, float* y, size_t count) {
    input_.tensor.data = x;
    Method& method = run_.harness().method();
    Error error = method.set_input(0, input_.tensor);
    if (error == Error::Ok) error = method.set_output_memory(0, y, count * sizeof(float));
    return error == Error::Ok ? method.execute() : error;
  }

 private:
  TestRun& run_;
  HostTensor32 input_;
};

TEST(CudaStream, TensorsOnTheDeviceAreUsedInPlace) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(add_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *x = caller.allocate(Floats(8, 1)), *y = caller.allocate(Floats(8, 0));
  const uint64_t copies = driver.count("copies_to_device");
  {
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(Bound(run, 8).execute(x, y, 8), Error::Ok) << run.last_error();
  }
  EXPECT_EQ(CudaStreamScope::current(), nullptr);
  EXPECT_EQ(y[0], 0);  // nothing has run, since nobody has waited
  caller.wait();
  EXPECT_EQ(Floats(y, y + 8), Floats(8, 1.5f));
  EXPECT_EQ(driver.count("copies_to_device"), copies);
  EXPECT_EQ(driver.count("copies_to_host"), 0u);
}

/// y[2] = the seed and the first block of the call, which takes 5 blocks. By a copy, so calls do not wait for each
/// other.
TestDelegate random_delegate() {
  TestDelegate d;
  const uint32_t y = d.argument(Space::output, DType::i64, {d.number(2)});
  d.plan.random_buffer = d.arena_buffer(kRandomBytes);
  d.plan.random_blocks = d.number(5);
  d.copy(writes(y), reads(d.plan.random_buffer), d.number(16));
  return d;
}

TEST(CudaStream, CallsThatNobodyHasWaitedForDrawTheirOwnRandomNumbers) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(random_delegate(), driver, false);
  run.options().seed = 0x123456789;
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float* results[4];
  for (float*& result : results) {
    result = caller.allocate(Floats(4, 0));
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(run.harness().method().set_output_memory(0, result, 16), Error::Ok);
    ASSERT_EQ(run.harness().method().execute(), Error::Ok) << run.last_error();
  }
  caller.wait();
  for (uint64_t i = 0; i < 4; ++i) {
    uint64_t words[2];
    memcpy(words, results[i], sizeof words);
    EXPECT_EQ(words[0], 0x123456789u);
    EXPECT_EQ(words[1], 5 * i);
  }
}

// Statement X3 of docs/cuda_proofs.md.
TEST(CudaStream, GraphsFollowNewPointersStreamsAndSessions) {
  const TestDriver driver;
  Caller caller(driver), other(driver);
  const int sessions[2] = {};
  TestRun runs[] = {TestRun(counter_delegate(), driver, false), TestRun(counter_delegate(), driver, false)};
  float *x[3], *y[3];
  for (int i = 0; i < 3; ++i) {
    x[i] = caller.allocate(Floats(4, static_cast<float>(i + 1)));
    y[i] = caller.allocate(Floats(4, 0));
  }
  for (int s = 0; s < 2; ++s) {
    runs[s].options().delegates.session = &sessions[s];
    ASSERT_EQ(runs[s].load(), Error::Ok) << runs[s].text();
  }
  float sums[2] = {};
  for (int i = 0; i < 12; ++i) {
    const int s = i % 2, from = i % 3, to = (i + i / 3) % 3;
    Caller& stream = i / 4 % 2 ? other : caller;
    const CudaStreamScope scope(stream.stream());
    ASSERT_EQ(Bound(runs[s], 4).execute(x[from], y[to], 4), Error::Ok) << runs[s].last_error();
    sums[s] += static_cast<float>(from + 1);
    stream.wait();
    EXPECT_EQ(Floats(y[to], y[to] + 4), Floats(4, sums[s])) << i;
  }
  EXPECT_EQ(driver.count("graphs"), 2u);
  EXPECT_EQ(driver.count("graph_launches"), 12u);
  EXPECT_GT(driver.count("node_changes"), 0u);
}

// Only one call at a time may use the arena, whatever streams the calls are on.
TEST(CudaStream, CallsOnDifferentStreamsWaitForEachOther) {
  const TestDriver driver;
  Caller first(driver), second(driver);
  TestRun run(counter_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *x = first.allocate(Floats(4, 1)), *y = first.allocate(Floats(4, 0)), *z = first.allocate(Floats(4, 0));
  {
    const CudaStreamScope scope(first.stream());
    ASSERT_EQ(Bound(run, 4).execute(x, y, 4), Error::Ok) << run.last_error();
    const CudaStreamScope inner(second.stream());
    EXPECT_EQ(CudaStreamScope::current(), &inner);
    ASSERT_EQ(Bound(run, 4).execute(x, z, 4), Error::Ok) << run.last_error();
  }
  second.wait();
  EXPECT_EQ(Floats(y, y + 4), Floats(4, 1));
  EXPECT_EQ(Floats(z, z + 4), Floats(4, 2));
}

// A driver reuses handles, and still runs what waits on a destroyed stream.
TEST(CudaStream, CallsOnANewStreamWaitForThoseOnADestroyedOne) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(counter_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *x = caller.allocate(Floats(4, 1)), *y = caller.allocate(Floats(4, 0));
  void* const old = caller.stream();
  {
    const CudaStreamScope scope(old);
    ASSERT_EQ(Bound(run, 4).execute(x, y, 4), Error::Ok) << run.last_error();
  }
  caller.renew_stream();
  ASSERT_EQ(caller.stream(), old);
  {
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(Bound(run, 4).execute(x, y, 4), Error::Ok) << run.last_error();
  }
  caller.wait();
  EXPECT_EQ(Floats(y, y + 4), Floats(4, 2));
}

/// y[s0] = 2 * x[s0], in a loop that allows up to 4 elements.
TestDelegate choosy_delegate() {
  TestDelegate d;
  d.plan.symbols.push_back({"s0", 1, 8, 0, 0});
  const uint32_t n = d.formula({symbol(0)}), one = d.number(1);
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  const uint32_t t = d.arena_buffer(32);
  const uint32_t scale =
      d.kernel("scale", {ParameterKind::pointer, ParameterKind::int32, ParameterKind::pointer, ParameterKind::int64});
  d.launch(scale, one, {reads(x), int32(d.number(2)), writes(t), int64(n)});
  PlanNode repeat;
  repeat.kind = NodeKind::repeat;
  repeat.size = one;
  repeat.first_end = repeat.second_end = 3;
  repeat.after = {0};
  d.plan.nodes.push_back(repeat);
  d.launch(scale, one, {reads(t), int32(one), writes(y), int64(n)});
  d.plan.requirements.push_back({n, kNone, d.number(4), "the rows of view (model.py:7)", 1});
  return d;
}

// Whatever stream the next call is on.
TEST(CudaStream, ACallThatFailsLeavesNothingUnderWay) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(choosy_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *x = caller.allocate(Floats(8, 1)), *y = caller.allocate(Floats(8, 0));
  const CudaStreamScope scope(caller.stream());
  Method& method = run.harness().method();
  for (const int32_t size : {4, 8}) {
    HostTensor32 input({size}, Floats(static_cast<size_t>(size)));
    input.tensor.data = x;
    ASSERT_EQ(method.set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(method.set_output_memory(0, y, 32), Error::Ok);
    EXPECT_EQ(method.execute(), size == 4 ? Error::Ok : Error::InvalidArgument);
    EXPECT_EQ(driver.count("launches"), size == 4 ? 0u : 3u);
  }
  EXPECT_NE(run.last_error().find("the rows of view (model.py:7): 8, wanted at most 4"), std::string::npos)
      << run.last_error();
}

// The same for the state of a session, whose methods are separate delegates.
TEST(CudaStream, MethodsOfASessionOnDifferentStreamsWaitForEachOther) {
  const TestDriver driver;
  Caller first(driver), second(driver);
  const int session = 0;
  TestRun prefill(counter_delegate(), driver, false), decode(counter_delegate(), driver, false);
  prefill.options().delegates.session = decode.options().delegates.session = &session;
  ASSERT_EQ(prefill.load(), Error::Ok) << prefill.text();
  ASSERT_EQ(decode.load(), Error::Ok) << decode.text();
  float *x = first.allocate(Floats(4, 1)), *y = first.allocate(Floats(4, 0)), *z = first.allocate(Floats(4, 0));
  {
    const CudaStreamScope scope(first.stream());
    ASSERT_EQ(Bound(prefill, 4).execute(x, y, 4), Error::Ok) << prefill.last_error();
    const CudaStreamScope inner(second.stream());
    ASSERT_EQ(Bound(decode, 4).execute(x, z, 4), Error::Ok) << decode.last_error();
  }
  second.wait();
  EXPECT_EQ(Floats(y, y + 4), Floats(4, 1));
  EXPECT_EQ(Floats(z, z + 4), Floats(4, 2));
}

TEST(CudaStream, HostTensorsAfterDeviceTensorsWaitForThem) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(counter_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *x = caller.allocate(Floats(4, 1)), *y = caller.allocate(Floats(4, 0));
  Floats host_x(4, 10), host_y(4);
  {
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(Bound(run, 4).execute(x, y, 4), Error::Ok) << run.last_error();
  }
  ASSERT_EQ(Bound(run, 4).execute(host_x.data(), host_y.data(), 4), Error::Ok) << run.last_error();
  EXPECT_EQ(host_y, Floats(4, 11));
  EXPECT_EQ(Floats(y, y + 4), Floats(4, 1));
}

// Statement X4 of docs/cuda_proofs.md.
TEST(CudaStream, AHostPointerIsRefusedUnlessTheCheckIsOff) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(add_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *x = caller.allocate(Floats(8, 1)), *y = caller.allocate(Floats(8, 0));
  alignas(16) float host[8] = {};
  {
    const CudaStreamScope scope(caller.stream());
    EXPECT_EQ(Bound(run, 8).execute(host, y, 8), Error::InvalidArgument);
    EXPECT_NE(run.last_error().find("input 0 of the delegate is host memory"), std::string::npos) << run.last_error();
    EXPECT_EQ(Bound(run, 8).execute(x, host, 8), Error::InvalidArgument);
    EXPECT_NE(run.last_error().find("output 0 of the delegate is host memory"), std::string::npos) << run.last_error();
    EXPECT_EQ(Bound(run, 8).execute(x, y + 1, 7 + 1), Error::InvalidArgument);
    EXPECT_NE(run.last_error().find("output 0 of the delegate does not begin at a multiple of 16"), std::string::npos)
        << run.last_error();
  }
  const uint64_t checks = driver.count("pointer_checks");
  const CudaStreamScope scope(caller.stream(), CudaPointers::unchecked);
  ASSERT_EQ(Bound(run, 8).execute(x, y, 8), Error::Ok) << run.last_error();
  EXPECT_EQ(driver.count("pointer_checks"), checks);
  caller.wait();
  EXPECT_EQ(Floats(y, y + 8), Floats(8, 1.5f));
}

TEST(CudaStream, ABadIndexIsReportedByTheCallThatHasIt) {
  const TestDriver driver;
  Caller caller(driver);
  TestRun run(gather_delegate(), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  float *index = caller.allocate(Floats(8, 0)), *y = caller.allocate(Floats(4, 9));
  const int64_t bad[] = {0, 1, -1, 2};
  memcpy(index, bad, sizeof bad);
  int32_t sizes[] = {4}, strides[] = {1};
  const uint8_t order[] = {0};
  Tensor tensor;
  tensor.dtype = DType::i64;
  tensor.rank = 1;
  tensor.sizes = sizes;
  tensor.strides = strides;
  tensor.dim_order = order;
  tensor.data = index;
  tensor.numel = 4;
  tensor.capacity_bytes = 32;
  const CudaStreamScope scope(caller.stream());
  Method& method = run.harness().method();
  ASSERT_EQ(method.set_input(0, tensor), Error::Ok);
  ASSERT_EQ(method.set_output_memory(0, y, 16), Error::Ok);
  EXPECT_EQ(method.execute(), Error::InvalidArgument);
  EXPECT_NE(run.last_error().find("an index of embedding (model.py:3)"), std::string::npos) << run.last_error();
}

// --- copies between host and device ---

// Two full parts of the ring, part of a third, and numbers that do not repeat.
constexpr size_t kCount = (9 << 20) / sizeof(float) + 5;

Floats counted(float from) {
  Floats values(kCount);
  std::iota(values.begin(), values.end(), from);
  return values;
}

/// y = x, z = w.
TestDelegate copying_delegate(const Floats& weight) {
  TestDelegate d;
  const uint32_t n = d.number(kCount), bytes = d.number(kCount * sizeof(float));
  const uint32_t x = d.argument(Space::input, DType::f32, {n});
  const uint32_t y = d.argument(Space::output, DType::f32, {n}), z = d.argument(Space::output, DType::f32, {n});
  d.copy(writes(y), reads(x), bytes);
  d.copy(writes(z), reads(d.weight("w", weight)), bytes);
  return d;
}

void expect_copied(const TestDriver& driver) {
  const Floats weight = counted(0.5f);
  TestRun run(copying_delegate(weight), driver, false);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  Method& method = run.harness().method();
  for (const float from : {3.0f, -7.0f}) {
    HostTensor32 input({static_cast<int32_t>(kCount)}, counted(from));
    Floats copied(kCount), constant(kCount);
    ASSERT_EQ(method.set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(method.set_output_memory(0, copied.data(), kCount * sizeof(float)), Error::Ok);
    ASSERT_EQ(method.set_output_memory(1, constant.data(), kCount * sizeof(float)), Error::Ok);
    ASSERT_EQ(method.execute(), Error::Ok) << run.last_error();
    EXPECT_EQ(copied, counted(from));
    EXPECT_EQ(constant, weight);
  }
}

// The stand-in reads pinned memory when the copy runs: a part that is refilled too early gives wrong numbers.
TEST(CudaCopies, LargeOnesGoThroughPinnedMemory) {
  const TestDriver driver;
  expect_copied(driver);
  EXPECT_EQ(driver.count("pinned_copies"), 3u + 2 * 3 * 3);
  EXPECT_EQ(driver.count("objects"), 0u);
}

TEST(CudaCopies, WithoutPinnedMemoryTheDriverCopies) {
  const TestDriver driver;
  driver.set("no_pinned_memory", 1);
  expect_copied(driver);
  EXPECT_EQ(driver.count("pinned_copies"), 0u);
}

TEST(CudaCopies, AStreamOfOursHasMemoryAndOrder) {
  const TestDriver driver;
  const std::string device = driver.device();
  char buffer[256];
  ErrorText text(buffer);
  {
    CudaStream stream;
    ASSERT_TRUE(stream.open(device.c_str(), &text)) << text.c_str();
    TestRun run(add_delegate(), driver, false);
    ASSERT_EQ(run.load(), Error::Ok) << run.text();
    const Floats given(8, 1);
    HostTensor32 input({8}, given);
    Floats got(8);
    void *const x = stream.allocate(32), *const y = stream.allocate(32);
    ASSERT_EQ(stream.copy_to_device(x, given.data(), 32), Error::Ok);
    input.tensor.data = x;
    const CudaStreamScope scope(stream.handle());
    Method& method = run.harness().method();
    ASSERT_EQ(method.set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(method.set_output_memory(0, y, 32), Error::Ok);
    ASSERT_EQ(method.execute(), Error::Ok) << run.last_error();
    ASSERT_EQ(stream.copy_to_host(got.data(), y, 32), Error::Ok);
    EXPECT_EQ(got, Floats(8, 1.5f));
    EXPECT_EQ(stream.allocate(size_t{1} << 40), nullptr);
    EXPECT_EQ(stream.wait(), Error::Ok);
  }
  EXPECT_EQ(driver.count("objects"), 0u);
}

TEST(CudaCopies, AStreamNeedsADevice) {
  char buffer[256];
  ErrorText text(buffer);
  EXPECT_FALSE(CudaStream().open("gpu", &text));
  EXPECT_STREQ(text.c_str(), "gpu is no device of the CUDA backend");
  ErrorText other(buffer);
  EXPECT_FALSE(CudaStream().open("cuda-twin=/nowhere.so", &other));
  EXPECT_NE(std::string(other.c_str()).find("no usable NVIDIA driver"), std::string::npos) << other.c_str();
}

}  // namespace
}  // namespace wick::cuda
