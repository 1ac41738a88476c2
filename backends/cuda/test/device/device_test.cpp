// Loading, results, failures. Statement X1 of docs/cuda_proofs.md, and the bits of the portable kernels.
#include <dlfcn.h>

#include "backends/cuda/test/device/device_test_support.h"
#include "wick/device_timer.h"

namespace wick::cuda {
namespace {

INSTANTIATE_TEST_SUITE_P(, CudaDevice, ::testing::Values(Place::twin, Place::device), place_name);

constexpr char kTwice[] = "graph forward(%x: f32[8]) {\n  %y: f32[8] = aten.mul.Scalar(%x, 2)\n  return %y\n}";

std::string reason_of_refusal(const DeviceProgram& program, const std::string& device) {
  ModuleError error;
  const auto module = load(program.bytes, device, &error);
  if (!module) return error.message;
  std::vector<HostValue> out;
  EXPECT_FALSE(module->forward({numbers(DType::f32, {8}, 1)}, &out, &error));
  return error.message;
}

TEST_P(CudaDevice, AMissingOneIsRefusedInWords) {
  const std::string reason = reason_of_refusal(compile({kTwice}), is_device() ? "cuda:99" : "cuda-twin=/nowhere.so");
  EXPECT_NE(reason.find(is_device() ? "there is no device cuda:99; the driver finds " : "no usable NVIDIA driver"),
            std::string::npos)
      << reason;
}

TEST_P(CudaDevice, CodeForAnotherArchitectureIsRefusedInWords) {
  DeviceProgram program = compile({kTwice});
  if (is_device()) {
    const bool is_80 = Caller(program).device().architecture() / 10 == 8;
    program = compile_for(Place::device, functions_of({kTwice}), is_80 ? "sm_120" : "sm_80");
  } else {
    void* const library = dlopen(program.device.substr(std::strlen("cuda-twin=")).c_str(), RTLD_NOW);  // stays open
    ASSERT_NE(library, nullptr);
    reinterpret_cast<void (*)(const char*, int64_t)>(dlsym(library, "wick_twin_set"))("architecture", 80);
  }
  const std::string reason = reason_of_refusal(program, program.device);
  EXPECT_NE(reason.find("has compute capability "), std::string::npos) << reason;
  EXPECT_NE(reason.find("the file has code for sm_"), std::string::npos) << reason;
}

TEST_P(CudaDevice, TextForItsDriverRuns) {
  if (!is_device()) GTEST_SKIP() << "a twin has no PTX";
  const DeviceProgram program = compile_for(Place::device, functions_of({kTwice}), "ptx");
  ModuleError error;
  if (!open(program)->method("forward", &error) && error.message.find("JIT_COMPILER_NOT_FOUND") != std::string::npos)
    GTEST_SKIP() << error.message;
  const HostTensor x = numbers(DType::f32, {8}, 1);
  expect_same(results_of(*open(program), "forward", {x}),
              results_of(*open({"", compile_portable({kTwice}), {}}), "forward", {x}));
}

HostTensor flag(bool value) {
  HostTensor out;
  out.dtype = DType::boolean;
  out.bytes = {static_cast<uint8_t>(value)};
  return out;
}

/// Compares several modules with the portable kernels, one call each: the bits must be equal.
void expect_like_portable(const DeviceProgram& program, const std::vector<std::string>& texts,
                          const std::vector<std::pair<std::string, std::vector<HostValue>>>& calls, uint64_t seed = 0) {
  ModuleError error;
  const auto want = load(compile_portable(texts), "", &error, seed);
  const auto got = open(program, seed);
  ASSERT_TRUE(want && got) << error.message;
  for (size_t i = 0; i < calls.size(); ++i) {
    SCOPED_TRACE(calls[i].first + ", call " + std::to_string(i));
    expect_same(results_of(*got, calls[i].first, calls[i].second), results_of(*want, calls[i].first, calls[i].second));
  }
}

HostTensor some_integers(const std::vector<int32_t>& sizes, uint64_t seed) {
  size_t count = 1;
  for (const int32_t size : sizes) count *= static_cast<size_t>(size);
  std::vector<int64_t> values(count);
  for (size_t i = 0; i < count; ++i) {
    const RandomBlock block = philox4x32(seed, i);
    values[i] = static_cast<int64_t>(uint64_t{block.words[0]} << 32 | block.words[1]) >> block.words[2] % 56;
  }
  return integers(values, sizes);
}

// Operators that round nothing, or for which IEEE defines the rounding.
TEST_P(CudaDevice, ElementsAndIntegersHaveTheBitsOfThePortableKernels) {
  const std::string text = R"(graph forward(%x: f32[9, 130], %y: f32[9, 130], %i: i64[9, 130], %j: i64[9, 130]) {
  %p: f32[9, 130] = aten.mul.Tensor(%x, %y)
  %s: f32[9, 130] = aten.add.Tensor(%p, %x)
  %d: f32[9, 130] = aten.add.Scalar(%y, 1.5)
  %q: f32[9, 130] = aten.div.Tensor(%s, %d)
  %a: f32[9, 130] = aten.abs(%q)
  %r: f32[9, 130] = aten.sqrt(%a)
  %h: f16[9, 130] = aten._to_copy(%q, f16)
  %b: bf16[9, 130] = aten._to_copy(%q, bf16)
  %w: f64[9, 130] = aten._to_copy(%q, f64)
  %w_2: f64[9, 130] = aten.div.Scalar(%w, 3.0)
  %g: bool[9, 130] = aten.gt.Tensor(%x, %y)
  %f: f32[9, 130] = aten.where.self(%g, %r, %q)
  %m: i64[9, 130] = aten.mul.Tensor(%i, %j)
  %e: i64[9, 130] = aten.bitwise_xor.Tensor(%m, %i)
  %n: i64[9, 130] = aten.remainder.Scalar(%e, 1000003)
  %o: i32[9, 130] = aten._to_copy(%n, i32)
  %v: f32[9, 130] = aten._to_copy(%i, f32)
  %t: i64[9] = aten.sum.dim_IntList(%n, [1])
  %c: i64[9, 130] = aten.cumsum(%e, 1)
  %u: f32[9, 130], %k: i64[9, 130] = aten.sort(%x, 1)
  %l: i64[9] = aten.argmax(%x, 1)
  return %r, %h, %b, %w_2, %f, %n, %o, %v, %t, %c, %u, %k, %l
})";
  expect_like_portable(compile({text}), {text},
                       {{"forward",
                         {numbers(DType::f32, {9, 130}, 1), numbers(DType::f32, {9, 130}, 2),
                          some_integers({9, 130}, 3), some_integers({9, 130}, 4)}}});
}

// Sums of products of multiples of 1 / 64 are exact, in whatever order matrix instructions add them.
TEST_P(CudaDevice, MatrixInstructionsRoundNothingThatIsExact) {
  const std::string text = R"(graph forward(%x: bf16[130, 256], %w: bf16[96, 256]) {
  %y: bf16[130, 96] = aten.linear(%x, %w)
  return %y
})";
  const DeviceProgram program = compile({text});
  EXPECT_EQ(program.plans.at(0).kernels.at(0).arithmetic, Arithmetic::matrix_f16);
  expect_like_portable(program, {text},
                       {{"forward", {numbers(DType::bf16, {130, 256}, 1), numbers(DType::bf16, {96, 256}, 2)}}});
}

// Blocks that share a tile count which is the last: each call must find the counters at 0. The sums are exact.
TEST_P(CudaDevice, SplitSumsOfCallsInARowAreRight) {
  const std::string text =
      R"(graph forward(%x: f32[40, 1030], %w: f32[50, 1030], %y: bf16[40, 2048], %v: bf16[64, 2048]) {
  %a: f32[40, 50] = aten.linear(%x, %w)
  %r: f32[40, 50] = aten.relu(%a)
  %b: bf16[40, 64] = aten.linear(%y, %v)
  return %r, %b
})";
  std::vector<std::pair<std::string, std::vector<HostValue>>> calls;
  for (uint64_t seed = 1; seed < 17; seed += 4) {
    calls.push_back({"forward",
                     {numbers(DType::f32, {40, 1030}, seed), numbers(DType::f32, {50, 1030}, seed + 1),
                      numbers(DType::bf16, {40, 2048}, seed + 2), numbers(DType::bf16, {64, 2048}, seed + 3)}});
  }
  expect_like_portable(compile({text}), {text}, calls);
}

// From its second call on, each size has a graph. Nodes of size 0 are empty.
TEST_P(CudaDevice, SizesTakeTurns) {
  const std::string text = R"(graph forward(%x: f32[s0, 6], %z: f32[s0]) {
  range s0: 0..512
  %e: f32[s0, 6] = aten.mul.Tensor(%x, %x)
  %u: f32[s0, 1] = aten.unsqueeze(%z, 1)
  %y: f32[s0, 6] = aten.add.Tensor(%e, %u)
  %t: f32[6] = aten.sum.dim_IntList(%y, [0])
  return %y, %t
})";
  std::vector<std::pair<std::string, std::vector<HostValue>>> calls;
  for (uint64_t i = 0; i < 12; ++i) {
    const int32_t size = std::vector<int32_t>{300, 1, 0, 37}[i % 4];
    calls.push_back({"forward", {numbers(DType::f32, {size, 6}, i), numbers(DType::f32, {size}, 100 + i)}});
  }
  expect_like_portable(compile({text}), {text}, calls);
}

TEST_P(CudaDevice, ConditionsAndLoopsAskTheDevice) {
  const std::string text = R"(graph forward(%p: bool[], %n: i64[], %x: f32[40, 60]) {
  %r: f32[40, 60] = higher_order.cond(%p, [%x]) graph (%u: f32[40, 60]) {
    %b: f32[40, 60] = aten.mul.Scalar(%u, 3)
    return %b
  } graph (%u: f32[40, 60]) {
    %c: f32[40, 60] = aten.add.Scalar(%u, 0.5)
    return %c
  }
  %i: i64[], %s: f32[40, 60] = higher_order.while_loop([%n, %r], []) graph (%c: i64[], %v: f32[40, 60]) {
    %q: bool[] = aten.gt.Scalar(%c, 0)
    return %q
  } graph (%c: i64[], %v: f32[40, 60]) {
    %d: i64[] = aten.sub.Scalar(%c, 1)
    %f: f32[40, 60] = aten.flip(%v, [0, 1])
    %w: f32[40, 60] = aten.add.Tensor(%f, %v)
    return %d, %w
  }
  return %s, %i
})";
  std::vector<std::pair<std::string, std::vector<HostValue>>> calls;
  for (const int64_t rounds : {3, 0, 7, 1}) {
    calls.push_back(
        {"forward", {flag(rounds % 3 == 0), integers({rounds}, {}), numbers(DType::f32, {40, 60}, calls.size())}});
  }
  expect_like_portable(compile({text}), {text}, calls);
}

TEST_P(CudaDevice, RandomNumbersAreThoseOfThePortableKernels) {
  const std::string text = R"(graph forward(%x: f32[64, 20]) {
  %a: f32[500] = aten.rand([500], f32)
  %b: f32[130] = aten.randn([130], f32)
  %c: i64[40] = aten.randint.low(-3, 9, [40])
  %d: i64[100] = aten.randperm(100)
  %e: f32[64, 20] = aten.dropout(%x, 0.25, true)
  return %a, %b, %c, %d, %e
})";
  const DeviceProgram program = compile({text});
  const HostTensor x = numbers(DType::f32, {64, 20}, 1);
  for (const uint64_t seed : {uint64_t{0}, uint64_t{0x123456789abcdef0}})
    expect_like_portable(program, {text}, {{"forward", {x}}, {"forward", {x}}, {"forward", {x}}}, seed);
}

TEST_P(CudaDevice, ABadIndexWritesNothingAndTheNextCallIsRight) {
  const DeviceProgram program =
      compile({"graph write(%x: f32[2, 8], %at: i64[2]) {\n  state %s: f32[40, 8] \"s\" = ...\n"
               "  %n: f32[40, 8] = aten.index_put(%s, [%at], %x)\n  update %s = %n\n  return 0\n}",
               "graph look() {\n  state %s: f32[40, 8] \"s\" = ...\n  %y: f32[40, 8] = aten.add.Tensor(%s, 1)\n"
               "  update %s = %s\n  return %y\n}"});
  const auto module = open(program);
  const HostTensor rows = numbers(DType::f32, {2, 8}, 1), others = numbers(DType::f32, {2, 8}, 2);
  const HostTensor first = result_of(*module, "look", {});
  (void)results_of(*module, "write", {rows, integers({3, 39}, {2})});
  const HostTensor before = result_of(*module, "look", {});
  EXPECT_FALSE(before.bytes == first.bytes);
  for (const int64_t bad : {int64_t{40}, int64_t{-41}, int64_t{1} << 40}) {
    std::vector<HostValue> out;
    ModuleError error;
    EXPECT_FALSE(module->execute("write", {others, integers({bad, bad}, {2})}, &out, &error));
    EXPECT_NE(error.message.find("out of bounds"), std::string::npos) << error.message;
    EXPECT_TRUE(result_of(*module, "look", {}).bytes == before.bytes);
  }
  (void)results_of(*module, "write", {others, integers({3, -1}, {2})});
  const HostTensor after = result_of(*module, "look", {});
  ASSERT_EQ(after.bytes.size(), 40u * 8 * sizeof(float));
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(element(after, 3 * 8 + i), element(others, i) + 1);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(element(after, 39 * 8 + i), element(others, 8 + i) + 1);
}

// The sine of a complex number stays on the CPU. Values that the delegates around it pass to each other stay on the
// device.
TEST_P(CudaDevice, ValuesPassFromDelegateToDelegate) {
  const std::string text = R"(graph forward(%x: f32[64, 64]) {
  %a: f32[64, 64] = aten.abs(%x)
  %b: f32[64, 64] = aten.add.Scalar(%a, 0.25)
  %e: f32[64, 64] = aten.neg(%b)
  %s: f32[64, 64] = aten.sqrt(%b)
  %w: c64[64, 64] = aten.complex(%e, %e)
  %c: c64[64, 64] = aten.sin(%w)
  %v: f32[64, 64, 2] = aten.view_as_real(%c)
  %d: f32[64, 64] = aten.select.int(%v, 2, 0)
  %y: f32[64, 64] = aten.add.Tensor(%s, %d)
  %z: f32[64, 64] = aten.mul.Tensor(%e, %y)
  return %z
})";
  const DeviceProgram program = compile({text});
  EXPECT_EQ(program.plans.size(), 2u);
  expect_like_portable(
      program, {text},
      {{"forward", {numbers(DType::f32, {64, 64}, 1)}}, {"forward", {numbers(DType::f32, {64, 64}, 2)}}});
}

TEST_P(CudaDevice, NodesAndCallsAreTimed) {
  const DeviceProgram program = compile({kTwice});
  std::vector<DelegateEvent> events;
  Tracer tracer{[](void*, const InstructionInfo&) {}, [](void*, const InstructionInfo&, Error) {}, &events,
                [](void* state, const DelegateEvent& event) {
                  static_cast<std::vector<DelegateEvent>*>(state)->push_back(event);
                }};
  ModuleError error;
  const auto traced = load(program.bytes, program.device, &error, 0, &tracer);
  ASSERT_TRUE(traced) << error.message;
  const HostTensor x = numbers(DType::f32, {8}, 1);
  const auto want = results_of(*traced, "forward", {x});
  ASSERT_EQ(events.size(), program.plans.at(0).nodes.size());
  EXPECT_STREQ(events[0].name, "CUDA kernel");
  EXPECT_GT(events[0].duration_ns, 0u);
  const auto module = open(program);
  DeviceTimer timer;
  for (int i = 0; i < 3; ++i) {
    expect_same(results_of(*module, "forward", {x}), want);
    EXPECT_GT(timer.take(), 0u);
  }
}

// In a separate process, because that cannot use the device afterwards. Address 16 is never valid.
TEST_P(CudaDevice, AFaultEndsTheUseOfTheDevice) {
  if (!is_device()) GTEST_SKIP() << "a twin's fault is one of this process; CudaDriver has what the stand-in says";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts a new process: the driver does not survive a fork
  const auto fail_in_words = [] {
    const DeviceProgram program = compile({kTwice});
    Caller caller(program);
    const auto module = open(program);
    ModuleError error;
    Method* const method = module->method("forward", &error);
    const CudaStreamScope scope(caller.stream(), CudaPointers::unchecked);
    void* const nowhere = reinterpret_cast<void*>(uintptr_t{16});  // NOLINT(performance-no-int-to-ptr)
    (void)begin(*method, {{DType::f32, {8}, nowhere}}, {{caller.allocate(32), 32}});
    {
      const ContextScope current(caller.device());
      (void)caller.driver().stream_wait(static_cast<DriverStream*>(caller.stream()));
    }
    const auto other = open(program);
    std::vector<HostValue> out;
    if (other && other->forward({numbers(DType::f32, {8}, 1)}, &out, &error)) std::_Exit(1);
    fmt::print(stderr, "{}\n", error.message);
    std::_Exit(0);
  };
  EXPECT_EXIT(fail_in_words(), ::testing::ExitedWithCode(0), "a kernel failed");
}

}  // namespace
}  // namespace wick::cuda
