// Instances on several threads, and threads inside one instance.
#include <thread>

#include "backends/xnnpack/test/runtime_test_support.h"
#include "runtime/platform/thread_pool.h"

namespace wick::xnnpack {
namespace {

// x -> relu(x W) V, wide enough for the library to split.
TestDelegate two_layers() {
  TestDelegate delegate;
  const uint32_t in = delegate.input({64, 48}), hidden = delegate.value(DataType::fp32, {64, 96}),
                 out = delegate.output({64, 48});
  const uint32_t w = delegate.constant({96, 48}, some_floats(96 * 48)),
                 v = delegate.constant({48, 96}, some_floats(96 * 48, 9));
  delegate.node(NodeType::fully_connected, {in, w, kNoValue}, hidden).output_min = 0;
  delegate.node(NodeType::fully_connected, {hidden, v, kNoValue}, out);
  return delegate;
}

TEST(XnnpackThreads, InstancesDoNotDisturbEachOther) {
  const TestDelegate delegate = two_layers();
  const auto input = [](uint32_t seed) { return bytes_of(some_floats(64 * 48, seed)); };
  std::vector<Floats> expected;
  TestRun alone(delegate);
  ASSERT_EQ(alone.load(), Error::Ok) << alone.harness().text;
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

}  // namespace
}  // namespace wick::xnnpack
