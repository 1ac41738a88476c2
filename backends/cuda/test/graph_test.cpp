#include "backends/cuda/runtime/graph.h"

#include <stdlib.h>

#include <atomic>
#include <new>

#include "backends/cuda/test/runtime_test_support.h"

// ThreadSanitizer defines these operators itself.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WICK_HAS_TSAN 1
#endif
#endif

namespace {

std::atomic<uint64_t> g_num_allocations{0};
bool (*g_is_driver)() = nullptr;  // allocations of the driver do not count

[[maybe_unused]] void* counted(size_t size, size_t alignment) {
  if (!g_is_driver || !g_is_driver()) ++g_num_allocations;
  if (size == 0) size = 1;
  return alignment <= sizeof(void*) * 2 ? malloc(size)
                                        : aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace

#ifndef WICK_HAS_TSAN
void* operator new(size_t size) { return counted(size, 1); }
void* operator new[](size_t size) { return counted(size, 1); }
void* operator new(size_t size, std::align_val_t alignment) { return counted(size, static_cast<size_t>(alignment)); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted(size, 1); }
// The analyzer takes the release that these do themselves for a use of released memory.
// NOLINTBEGIN(clang-analyzer-cplusplus.NewDelete)
void operator delete(void* memory) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { free(memory); }
// NOLINTEND(clang-analyzer-cplusplus.NewDelete)
#endif

namespace wick::cuda {
namespace {

TEST(CudaGraph, StaticSizesHaveAGraphFromTheFirstCall) {
  const TestDriver driver;
  TestRun run(add_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  for (uint64_t i = 1; i <= 3; ++i) {
    ASSERT_EQ(run.execute(Floats(8, 1)), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), Floats(8, 1.5f));
    EXPECT_EQ(driver.count("graphs"), 1u);
    EXPECT_EQ(driver.count("graph_launches"), i);
  }
  EXPECT_EQ(driver.count("node_changes"), 0u);
}

TEST(CudaGraph, OtherSizesHaveAGraphFromTheirSecondCall) {
  const TestDriver driver;
  TestRun run(dynamic_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  const struct {
    int32_t size;
    uint64_t graphs, launches;
  } calls[] = {{4, 0, 0}, {5, 0, 0}, {4, 1, 1}, {5, 2, 2}, {4, 2, 3}, {6, 2, 3}, {5, 2, 4}};
  for (const auto& call : calls) {
    ASSERT_EQ(run.execute_sized(call.size, Floats(static_cast<size_t>(call.size), 2)), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), Floats(static_cast<size_t>(call.size), 18));
    EXPECT_EQ(driver.count("graphs"), call.graphs);
    EXPECT_EQ(driver.count("graph_launches"), call.launches);
  }
}

TEST(CudaGraph, TheGraphOfTheSizesUsedLeastRecentlyMakesWay) {
  const TestDriver driver;
  TestRun run(dynamic_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  const auto call = [&](int32_t size) {
    ASSERT_EQ(run.execute_sized(size, Floats(static_cast<size_t>(size), 1)), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), Floats(static_cast<size_t>(size), 9));
  };
  for (int32_t size = 1; size <= 8; ++size) {
    call(size);
    call(size);
  }
  EXPECT_EQ(driver.count("graphs"), 8u);
  const uint64_t objects = driver.count("objects");
  call(1);
  call(9);
  call(9);  // replaces the graph for 2
  EXPECT_EQ(driver.count("graphs"), 9u);
  EXPECT_EQ(driver.count("objects"), objects);
  call(1);
  EXPECT_EQ(driver.count("graphs"), 9u);
  call(2);
  call(2);
  EXPECT_EQ(driver.count("graphs"), 10u);
}

// The stand-in runs nodes as late as it may.
TEST(CudaGraph, NodesWaitForThoseThatThePlanSays) {
  const TestDriver driver;
  TestDelegate d = dynamic_delegate();
  for (const bool has_edges : {true, false}) {
    if (!has_edges) d.plan.nodes[2].after.clear();
    TestRun run(d, driver);
    ASSERT_EQ(run.load(), Error::Ok) << run.text();
    for (int i = 0; i < 2; ++i) ASSERT_EQ(run.execute_sized(3, {1, 2, 3}), Error::Ok) << run.last_error();
    // Without its dependency, the last node would run first, and read what the arena holds from the first call.
    ASSERT_EQ(run.execute_sized(3, {2, 4, 6}), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output() == (Floats{18, 36, 54}), has_edges);
  }
}

TEST(CudaGraph, PartsOfConditionsAndLoopsAreGraphsOfTheirOwn) {
  const TestDriver driver;
  TestRun run(control_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  for (const uint8_t condition : {1, 0, 0, 1}) {
    ASSERT_EQ(run.execute(Floats{1, 2, 3, 4}, std::vector<uint8_t>{condition}), Error::Ok) << run.last_error();
    const float factor = condition ? 50 : 75;
    EXPECT_EQ(run.output(), (Floats{factor, 2 * factor, 3 * factor, 4 * factor}));
  }
  EXPECT_EQ(driver.count("graphs"), 4u);
  // A branch, two rounds, and the nodes after them.
  EXPECT_EQ(driver.count("graph_launches"), 16u);
}

// Copies more bytes than a pitch may have.
TEST(CudaGraph, CopiesMayBeLargerThanAPitch) {
  const TestDriver driver;
  PlanBuilder b;
  const uint32_t from = b.arena_buffer(1), to = b.arena_buffer(1);
  const int64_t size = (int64_t{1} << 31) + 4096;
  b.copy(writes(to), reads(from), b.number(size));
  Failure failure;
  const std::shared_ptr<Device> device = Device::open(device_or_default(driver.device().c_str()), &failure);
  ASSERT_TRUE(device) << failure.text;
  const ContextScope current(*device);
  const std::vector<DriverFunction*> functions;
  WorkList work(b.plan, functions);
  work.update({&size, 1});
  Graph graph(*device);
  failure = graph.build(b.plan, work, 0, 1);
  EXPECT_FALSE(failure) << failure.text;
}

// Statement X2 of docs/cuda_proofs.md.
TEST(CudaGraph, NothingIsAllocatedAfterWarmUp) {
#ifdef WICK_HAS_TSAN
  GTEST_SKIP() << "ThreadSanitizer does not let the test count allocations";
#endif
  const TestDriver driver;
  TestRun fixed(add_delegate(), driver), dynamic(dynamic_delegate(), driver), checked(gather_delegate(), driver),
      state(counter_delegate(), driver), controlled(control_delegate(), driver);
  const std::vector<int64_t> indices = {1, 2, 3, 4};
  const std::vector<uint8_t> conditions[] = {{0}, {1}};
  const Floats eight(8, 1), four(4, 1);
  HostTensor32 three({3}, {1, 2, 3}), five({5}, {1, 2, 3, 4, 5});
  for (TestRun* run : {&fixed, &dynamic, &checked, &state, &controlled})
    ASSERT_EQ(run->load(), Error::Ok) << run->text();
  Method& sized = dynamic.harness().method();
  g_is_driver = driver.function<bool()>("wick_twin_is_running");
  uint64_t on_host = 0, on_device = 0;
  for (int i = 0; i < 6; ++i) {
    if (i == 3) {
      on_host = g_num_allocations;
      on_device = driver.count("allocations");
    }
    Error error = fixed.execute(eight);
    if (error == Error::Ok) error = checked.execute(indices);
    if (error == Error::Ok) error = state.execute(four);
    if (error == Error::Ok) error = controlled.execute(four, conditions[i % 2]);
    for (HostTensor32* input : {&three, &five}) {
      if (error == Error::Ok) error = sized.set_input(0, input->tensor);
      if (error == Error::Ok) error = sized.execute();
    }
    if (error != Error::Ok) break;
  }
  const uint64_t new_on_host = g_num_allocations - on_host;
  g_is_driver = nullptr;
  EXPECT_GT(on_host, 0u);
  EXPECT_EQ(new_on_host, 0u);
  EXPECT_EQ(driver.count("allocations"), on_device);
  EXPECT_EQ(state.output(), Floats(4, 6));
}

}  // namespace
}  // namespace wick::cuda
