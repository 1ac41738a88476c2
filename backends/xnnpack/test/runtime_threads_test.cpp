// Instances on several threads, and threads inside one instance.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "backends/xnnpack/payload/payload_nodes.h"
#include "backends/xnnpack/runtime/xnn/library_engine.h"
#include "backends/xnnpack/runtime/xnn/shared_resources.h"
#include "backends/xnnpack/test/runtime_test_support.h"
#include "runtime/platform/thread_pool.h"

namespace wick::xnnpack {
namespace {

// x -> relu(x W) V, wide enough for the library to split.
TestDelegate two_layers() {
  TestDelegate delegate;
  const uint32_t in = delegate.input({64, 48}), hidden = delegate.value(DataType::fp32, {64, 384}),
                 out = delegate.output({64, 48});
  const uint32_t w = delegate.constant({384, 48}, some_floats(384 * 48)),
                 v = delegate.constant({48, 384}, some_floats(384 * 48, 9));
  delegate.node(NodeType::fully_connected, {in, w, kNoValue}, hidden).output_min = 0;
  delegate.node(NodeType::fully_connected, {hidden, v, kNoValue}, out);
  return delegate;
}

ValueDims dims_of(const TestDelegate& delegate) {
  ValueDims dims;
  EXPECT_EQ(check_payload(delegate.payload, nullptr, &dims, nullptr), Error::Ok);
  return dims;
}

TEST(XnnpackThreads, PayWhereNodesAreLargeOnAverage) {
  TestDelegate delegate = two_layers();
  EXPECT_TRUE(pays_threads(delegate.payload, dims_of(delegate)));
  uint32_t at = delegate.payload.output_ids[0];
  delegate.payload.values[at].is_output = false;
  for (int i = 0; i < 10; ++i) {
    const uint32_t next = delegate.value(DataType::fp32, {64, 48});
    delegate.node(NodeType::negate, {at}, next);
    at = next;
  }
  EXPECT_FALSE(pays_threads(delegate.payload, ValueDims(delegate.payload.values.size(), Shape{64, 48})));
}

TEST(XnnpackThreads, NobodyWaitsForTheLoopOfAnother) {
  const TestDelegate delegate = two_layers();
  ThreadPool two(2);
  TestRun run(delegate);
  run.harness().options.parallelism = &two;
  ASSERT_EQ(run.load(), Error::Ok) << run.harness().text;
  // The pool is at work until the delegate is through, which it never is if it waits for the pool: then the loop gives
  // up.
  const auto pool = shared_pool(2);
  ASSERT_NE(pool, nullptr);
  std::atomic<bool> has_run{false}, is_busy{false}, gave_up{false};
  struct Wait {
    std::atomic<bool>*has_run, *is_busy, *gave_up;
  } wait{&has_run, &is_busy, &gave_up};
  std::thread other([&] {
    const auto loop = [](void* argument, size_t) {
      const Wait& w = *static_cast<Wait*>(argument);
      w.is_busy->store(true);
      for (int i = 0; i < 30'000 && !w.has_run->load(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (!w.has_run->load()) w.gave_up->store(true);
    };
    pthreadpool_parallelize_1d(pool.get(), loop, &wait, 2, 0);
  });
  while (!is_busy.load()) std::this_thread::yield();
  EXPECT_EQ(run.execute({bytes_of(some_floats(64 * 48))}), Error::Ok);
  has_run.store(true);
  other.join();
  EXPECT_FALSE(gave_up.load());
}

TEST(XnnpackThreads, InstancesDoNotDisturbEachOther) {
  const TestDelegate delegate = two_layers();
  const auto input = [](uint32_t seed) { return bytes_of(some_floats(64 * 48, seed)); };
  std::vector<Floats> expected;
  TestRun alone(delegate);
  ASSERT_EQ(alone.load(), Error::Ok) << alone.harness().text;
  ASSERT_TRUE(pays_threads(delegate.payload, dims_of(delegate)));
  for (uint32_t seed = 0; seed < 4; ++seed) {
    ASSERT_EQ(alone.execute({input(seed)}), Error::Ok);
    expected.push_back(alone.output<float>());
  }
  // One pool of two threads serves all; each instance is loaded, used and destroyed while others run.
  for (const int num_threads : {1, 2}) {
    std::vector<std::thread> threads;
    for (uint32_t seed = 0; seed < 4; ++seed) {
      threads.emplace_back([&, seed] {
        for (int round = 0; round < 3; ++round) {
          ThreadPool pool(num_threads);
          TestRun test(delegate);
          test.harness().options.parallelism = &pool;
          ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
          for (int i = 0; i < 5; ++i) {
            ASSERT_EQ(test.execute({input(seed)}), Error::Ok);
            ASSERT_EQ(test.output<float>(), expected[seed]);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  size_t all_pages = 0, pages = 0;
  statm >> all_pages >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(XnnpackThreads, InstancesShareTheirPackedWeights) {
  constexpr uint32_t kSide = 1536;
  constexpr size_t kWeightBytes = size_t{kSide} * kSide * 4;
  TestDelegate delegate;
  const uint32_t w = delegate.constant({kSide, kSide}, some_floats(kSide * kSide));
  delegate.node(NodeType::fully_connected, {delegate.input({4, kSide}), w, kNoValue}, delegate.output({4, kSide}));
  const schema::AlignedBytes program = delegate.program();
  const auto make = [&] {
    auto harness = std::make_unique<MethodHarness>(schema::AlignedBytes(program.data(), program.size()));
    harness->backends = {&xnnpack_backend()};
    return harness;
  };
  const auto first = make(), second = make(), third = make();
  const size_t before = resident_bytes();
  ASSERT_EQ(first->load(), Error::Ok) << first->text;
  const size_t one = resident_bytes() - before;
  ASSERT_GE(one, kWeightBytes);
  ASSERT_EQ(second->load(), Error::Ok) << second->text;
  ASSERT_EQ(third->load(), Error::Ok) << third->text;
  EXPECT_LT(resident_bytes() - before, one + kWeightBytes / 4);
}

}  // namespace
}  // namespace wick::xnnpack
