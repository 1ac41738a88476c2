// Plans written by hand test what the driver promises about graphs, about nodes that are no kernels, and about shared
// memory.
#include "backends/cuda/compile/text/program.h"
#include "backends/cuda/nvrtc/compile.h"
#include "backends/cuda/test/device/device_test_support.h"
#include "backends/cuda/test/runtime_test_support.h"
#include "backends/cuda/twin/build_twin.h"

namespace wick::cuda {
namespace {

// y = x, rotated by `shift` elements: all elements are in shared memory at once.
const KernelText kTurn = {"turn", R"(
WICK_KERNEL(turn, 256)(const f32* x, f32* y, i32 count, i64 shift) {
  WICK_DYNAMIC_SHARED(f32, elements);
  for (i32 i = thread_x(); i < count; i += 256) elements[i] = x[i];
  block_barrier();
  for (i32 i = thread_x(); i < count; i += 256) y[i] = elements[(i + shift) % count];
}
)",
                          true};
const std::vector<ParameterKind> kTurnParameters = {ParameterKind::pointer, ParameterKind::pointer,
                                                    ParameterKind::int32, ParameterKind::int64};
constexpr size_t kMost = 16000;  // 62.5 KiB

class CudaDevicePlans : public CudaDevice {
 protected:
  /// Adds the plan's code. Chooses where it runs.
  void add_code(TestDelegate& delegate) {
    const Span<const KernelText> kernels(&kTurn, 1);
    if (!is_device()) {
      static const testing::ScratchFolder folder;
      const std::string library = folder.file("plans.so");
      static const bool is_built = build_twin(kernels, library).ok();
      ASSERT_TRUE(is_built);
      where_.device = "cuda-twin=" + library;
      return;
    }
    where_.device = device_of_environment();
    const char* const chosen = std::getenv("WICK_CUDA_GPU");  // NOLINT(concurrency-mt-unsafe)
    std::vector<Architecture> architectures;
    for (const Architecture each : default_architectures()) {
      const std::string name = each.is_ptx ? "ptx" : architecture_name(each);
      if (!chosen || std::string(chosen).find(name) != std::string::npos) architectures.push_back(each);
    }
    const auto code = compile_device_code(kernels, {architectures.data(), architectures.size()});
    ASSERT_TRUE(code.ok()) << compiler::render(code.diag());
    delegate.plan.modules.clear();
    delegate.named.clear();
    for (const DeviceCode& each : *code) {
      const std::string name = architecture_name(each.architecture);
      delegate.plan.modules.push_back(
          {each.architecture.number, each.architecture.is_ptx, name, each.architecture.is_exact});
      delegate.named.emplace_back(name, std::string(each.bytes.begin(), each.bytes.end()));
    }
  }
  /// Loads the delegate with arguments in the caller's memory.
  std::unique_ptr<MethodHarness> load(const TestDelegate& delegate, Error wanted = Error::Ok) {
    auto harness = std::make_unique<MethodHarness>(delegate.program(false));
    harness->backends = {&cuda_backend()};
    harness->options.delegates.device = where_.device.c_str();
    EXPECT_EQ(harness->load(), wanted) << harness->text;
    return harness;
  }

  DeviceProgram where_;
};
INSTANTIATE_TEST_SUITE_P(, CudaDevicePlans, ::testing::Values(Place::twin, Place::device), place_name);

/// y = x, z = bytes 0x3f, u = x rotated by 3.
TestDelegate copies_fills_and_turns() {
  TestDelegate d;
  d.plan.symbols.push_back({"s0", 1, static_cast<int64_t>(kMost), 0, 0});
  const uint32_t n = d.formula({symbol(0)}), bytes = d.formula({symbol(0), constant(4), op(FormulaOp::multiply)});
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  const uint32_t z = d.argument(Space::output, DType::f32, {n}), u = d.argument(Space::output, DType::f32, {n});
  const uint32_t turn = d.kernel("turn", kTurnParameters, 256);
  d.plan.kernels[turn].dynamic_shared_bytes = kMost * sizeof(float);
  d.plan.kernels[turn].has_barriers = true;
  d.copy(writes(y), reads(x), bytes);
  d.fill(writes(z), bytes, 0x3f);
  d.launch(turn, d.number(1), {reads(x), writes(u), int32(n), int64(d.number(3))});
  return d;
}

// Sizes and addresses alternate between calls, while there is a graph for each size.
TEST_P(CudaDevicePlans, CopiesFillsAndLargeSharedMemoryFollowSizesAndPointers) {
  TestDelegate delegate = copies_fills_and_turns();
  add_code(delegate);
  const auto harness = load(delegate);
  Caller caller(where_);
  constexpr size_t kBytes = kMost * sizeof(float);
  Floats values(kMost);
  for (size_t i = 0; i < kMost; ++i) values[i] = static_cast<float>(i);
  const void* const inputs[2] = {caller.place(values), caller.place(values)};
  void* outputs[6];
  for (void*& each : outputs) each = caller.allocate(kBytes);
  for (size_t call = 0; call < 12; ++call) {
    const size_t count = std::vector<size_t>{kMost, 1, 777}[call % 3];
    const auto out = [&](size_t index) { return outputs[(index + call) % 6]; };
    {
      const CudaStreamScope scope(caller.stream());
      const DeviceTensor x = {DType::f32, {static_cast<int32_t>(count)}, const_cast<void*>(inputs[call / 3 % 2])};
      ASSERT_EQ(begin(harness->method(), {x}, {{out(0), kBytes}, {out(1), kBytes}, {out(2), kBytes}}), Error::Ok)
          << harness->last_error();
    }
    const Floats wanted(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count));
    EXPECT_TRUE(caller.read<float>(out(0), count) == wanted) << "call " << call;
    EXPECT_TRUE(caller.read<uint32_t>(out(1), count) == std::vector<uint32_t>(count, 0x3f3f3f3f)) << "call " << call;
    Floats turned(count);
    for (size_t i = 0; i < count; ++i) turned[i] = wanted[(i + 3) % count];
    EXPECT_TRUE(caller.read<float>(out(2), count) == turned) << "call " << call;
  }
}

// The driver knows the kernels of the code and their parameters.
TEST_P(CudaDevicePlans, KernelsThatTheCodeLacksOrHasOtherwiseAreRefused) {
  TestDelegate other = copies_fills_and_turns();
  add_code(other);
  other.plan.kernels[0].parameters[2] = ParameterKind::int64;
  other.plan.nodes[2].arguments[2].kind = ParameterKind::int64;
  EXPECT_NE(load(other, Error::InvalidProgram)->text.find("kernel 'turn' has other parameters"), std::string::npos);
  TestDelegate absent = copies_fills_and_turns();
  add_code(absent);
  absent.plan.kernels[0].name = "absent";
  EXPECT_NE(load(absent, Error::InvalidProgram)->text.find("has no kernel 'absent'"), std::string::npos);
}

// Copies more bytes than a pitch may have. Not on a twin, which lacks the memory.
TEST_P(CudaDevicePlans, CopiesMayBeLargerThanAPitch) {
  constexpr int64_t kLarge = (int64_t{1} << 31) + 4096;
  TestDelegate delegate;
  const uint32_t large = delegate.number(kLarge), sixteen = delegate.number(16), last = delegate.number(kLarge - 16);
  const uint32_t y = delegate.argument(Space::output, DType::f32, {delegate.number(4)});
  const uint32_t from = delegate.arena_buffer(kLarge), to = delegate.arena_buffer(kLarge);
  add_code(delegate);
  delegate.fill(writes(from), large, 0x3f);
  delegate.copy(writes(to), reads(from), large).after = {0};
  delegate.copy(writes(y), reads(to, last), sixteen).after = {1};
  if (!is_device()) {
    const std::string words = load(delegate, Error::DelegateMemoryAllocationFailed)->text;
    EXPECT_NE(words.find("the arena of method 'forward', partition 0 takes 4294975488 bytes"), std::string::npos)
        << words;
    return;
  }
  const auto harness = load(delegate);
  Caller caller(where_);
  void* const out = caller.allocate(16);
  for (int call = 0; call < 2; ++call) {
    const CudaStreamScope scope(caller.stream());
    ASSERT_EQ(begin(harness->method(), {}, {{out, 16}}), Error::Ok) << harness->last_error();
  }
  EXPECT_EQ(caller.read<uint32_t>(out, 4), std::vector<uint32_t>(4, 0x3f3f3f3f));
}

}  // namespace
}  // namespace wick::cuda
