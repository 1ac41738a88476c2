// Objects that delegates share on a device, and objects that they do not share.
#include <thread>

#include "backends/cuda/test/runtime_test_support.h"

namespace wick::cuda {
namespace {

const Floats kOnes = {1, 1, 1, 1};

// The bytes on the device that loading the delegate takes.
uint64_t bytes_of(const TestDelegate& delegate, const TestDriver& driver) {
  const uint64_t before = driver.count("bytes");
  TestRun run(delegate, driver);
  EXPECT_EQ(run.load(), Error::Ok) << run.text();
  return driver.count("bytes") - before;
}

// M4
TEST(CudaSharing, EqualConstantsLieOnTheDeviceOnceWhateverTheirNames) {
  const TestDriver driver;
  const Floats weight(1000, 0.25f);
  TestRun first(add_delegate("w", weight), driver);
  ASSERT_EQ(first.load(), Error::Ok) << first.text();
  EXPECT_LT(bytes_of(add_delegate("w", weight), driver), 4000u);
  EXPECT_LT(bytes_of(add_delegate("other name", weight), driver), 4000u);
  EXPECT_EQ(driver.count("images"), 1u);
}

// M4
TEST(CudaSharing, EqualNamesOfDifferentConstantsAreKeptApart) {
  const TestDriver driver;
  Floats changed(8, 0.5f);
  changed[7] = 4;
  TestRun first(add_delegate("w"), driver), second(add_delegate("w", changed), driver);
  ASSERT_EQ(first.load(), Error::Ok) << first.text();
  ASSERT_EQ(second.load(), Error::Ok) << second.text();
  ASSERT_EQ(first.execute(Floats(8, 1)), Error::Ok) << first.last_error();
  ASSERT_EQ(second.execute(Floats(8, 1)), Error::Ok) << second.last_error();
  EXPECT_EQ(first.output(), Floats(8, 1.5f));
  EXPECT_EQ(second.output()[7], 5);
}

// M6
TEST(CudaSharing, UnloadingInAnyOrderGivesMemoryBackAndLeavesTheRestWorking) {
  const TestDriver driver;
  for (const bool in_order : {true, false}) {
    auto first = std::make_unique<TestRun>(add_delegate(), driver);
    auto second = std::make_unique<TestRun>(add_delegate(), driver);
    ASSERT_EQ(first->load(), Error::Ok) << first->text();
    ASSERT_EQ(first->execute(Floats(8, 1)), Error::Ok) << first->last_error();
    const uint64_t one = driver.count("bytes");
    ASSERT_EQ(second->load(), Error::Ok) << second->text();
    ASSERT_EQ(second->execute(Floats(8, 1)), Error::Ok) << second->last_error();
    (in_order ? first : second).reset();
    EXPECT_EQ(driver.count("bytes"), one);
    TestRun& left = in_order ? *second : *first;
    ASSERT_EQ(left.execute(Floats(8, 2)), Error::Ok) << left.last_error();
    EXPECT_EQ(left.output(), Floats(8, 2.5f));
    const uint64_t objects = driver.count("objects");
    auto other = std::make_unique<TestRun>(add_delegate("v", Floats(8, 2)), driver);
    ASSERT_EQ(other->load(), Error::Ok) << other->text();
    ASSERT_EQ(other->execute(Floats(8, 1)), Error::Ok) << other->last_error();
    EXPECT_GT(driver.count("bytes"), one);
    other.reset();
    EXPECT_EQ(driver.count("bytes"), one) << "what nobody else uses goes with its delegate";
    EXPECT_EQ(driver.count("objects"), objects);
    first.reset();
    second.reset();
    EXPECT_EQ(driver.count("objects"), 0u);
  }
}

// M3
TEST(CudaSharing, TwoEqualDelegatesOfOneMethodCoexist) {
  const TestDriver driver;
  const TestDelegate d = add_delegate();
  schema::TestProgram program;
  for (const auto& [key, bytes] : d.named) program.add_named_data(key.c_str(), bytes);
  const int32_t x = program.planned(DType::f32, {8}), y = program.planned(DType::f32, {8}),
                z = program.planned(DType::f32, {8});
  const int32_t first = program.delegate(kBackendId, write_plan(d.plan));
  const int32_t second = program.delegate(kBackendId, write_plan(d.plan));
  program.delegate_call(first, {x, y});
  program.delegate_call(second, {y, z});
  program.inputs = {x};
  program.outputs = {z};
  TestRun run(program.build(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  ASSERT_EQ(run.execute(Floats(8, 1)), Error::Ok) << run.last_error();
  EXPECT_EQ(run.output(), Floats(8, 2));
}

// Statement M2 of docs/cuda_proofs.md: the plan still has the old name.
TEST(CudaSharing, ARenamedMethodRuns) {
  const TestDriver driver;
  schema::TestProgram program;
  program.method_name = "renamed";
  add_delegate().add_to(program);
  TestRun run(program.build(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  ASSERT_EQ(run.execute(Floats(8, 1)), Error::Ok) << run.last_error();
  EXPECT_EQ(run.output(), Floats(8, 1.5f));
}

// M5
TEST(CudaSharing, MethodsOfASessionShareStateByName) {
  const TestDriver driver;
  const int session = 0;
  TestRun prefill(counter_delegate(), driver), decode(counter_delegate(), driver);
  prefill.options().delegates.session = decode.options().delegates.session = &session;
  ASSERT_EQ(prefill.load(), Error::Ok) << prefill.text();
  ASSERT_EQ(decode.load(), Error::Ok) << decode.text();
  ASSERT_EQ(prefill.execute(kOnes), Error::Ok) << prefill.last_error();
  ASSERT_EQ(prefill.execute(kOnes), Error::Ok) << prefill.last_error();
  ASSERT_EQ(decode.execute(kOnes), Error::Ok) << decode.last_error();
  EXPECT_EQ(decode.output(), Floats(4, 3));
}

// M5
TEST(CudaSharing, InterleavedSessionsGiveWhatTheyGiveAlone) {
  const TestDriver driver;
  const int sessions[2] = {};
  TestRun first(counter_delegate("count", "start", {10, 20, 30, 40}), driver);
  TestRun second(counter_delegate("count", "start", {10, 20, 30, 40}), driver);
  first.options().delegates.session = &sessions[0];
  second.options().delegates.session = &sessions[1];
  ASSERT_EQ(first.load(), Error::Ok) << first.text();
  ASSERT_EQ(second.load(), Error::Ok) << second.text();
  for (int i = 1; i <= 3; ++i) {
    const float n = static_cast<float>(i);
    ASSERT_EQ(first.execute(kOnes), Error::Ok) << first.last_error();
    ASSERT_EQ(second.execute(Floats(4, 5)), Error::Ok) << second.last_error();
    EXPECT_EQ(first.output(), (Floats{10 + n, 20 + n, 30 + n, 40 + n}));
    EXPECT_EQ(second.output(), (Floats{10 + 5 * n, 20 + 5 * n, 30 + 5 * n, 40 + 5 * n}));
  }
}

// Statement M5: equal bytes are no reason to share state.
TEST(CudaSharing, StateOfOtherNamesAndOfLoneMethodsIsKeptApart) {
  const TestDriver driver;
  const int session = 0;
  TestRun first(counter_delegate("a"), driver), second(counter_delegate("b"), driver);
  first.options().delegates.session = second.options().delegates.session = &session;
  TestRun lone(counter_delegate("a"), driver), other(counter_delegate("a"), driver);
  for (TestRun* run : {&first, &second, &lone, &other}) {
    ASSERT_EQ(run->load(), Error::Ok) << run->text();
    ASSERT_EQ(run->execute(kOnes), Error::Ok) << run->last_error();
    EXPECT_EQ(run->output(), kOnes);
  }
}

TEST(CudaSharing, StateBeginsAnewWithASessionWhoseDelegatesAreGone) {
  const TestDriver driver;
  const int session = 0;
  for (int i = 0; i < 2; ++i) {
    TestRun run(counter_delegate(), driver);
    run.options().delegates.session = &session;
    ASSERT_EQ(run.load(), Error::Ok) << run.text();
    ASSERT_EQ(run.execute(kOnes), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), kOnes);
  }
}

TEST(CudaSharing, StateOfAnotherSizeOrBeginningIsRefused) {
  const TestDriver driver;
  const int session = 0;
  TestRun first(counter_delegate(), driver);
  first.options().delegates.session = &session;
  ASSERT_EQ(first.load(), Error::Ok) << first.text();
  TestDelegate larger = counter_delegate();
  larger.plan.buffers[2].size_bytes = 32;
  for (const TestDelegate& d : {larger, counter_delegate("count", "start", kOnes)}) {
    TestRun run(d, driver);
    run.options().delegates.session = &session;
    EXPECT_EQ(run.load(), Error::InvalidProgram);
    EXPECT_NE(run.text().find("state 'count' has another size or another initial value"), std::string::npos)
        << run.text();
  }
}

// Two threads load, execute and unload delegates that share constants, code and the device.
TEST(CudaSharing, ThreadsUseTheDeviceAtTheSameTime) {
  const TestDriver driver;
  const auto work = [&](float from) {
    for (int i = 0; i < 20; ++i) {
      TestRun run(add_delegate(), driver), other(dynamic_delegate(), driver);
      ASSERT_EQ(run.load(), Error::Ok) << run.text();
      ASSERT_EQ(other.load(), Error::Ok) << other.text();
      for (int k = 0; k < 5; ++k) {
        const float value = from + static_cast<float>(k);
        ASSERT_EQ(run.execute(Floats(8, value)), Error::Ok) << run.last_error();
        ASSERT_EQ(run.output(), Floats(8, value + 0.5f));
        ASSERT_EQ(other.execute_sized(3, Floats(3, value)), Error::Ok) << other.last_error();
        ASSERT_EQ(other.output(), Floats(3, 9 * value));
      }
    }
  };
  std::thread first(work, 1.0f), second(work, 100.0f);
  first.join();
  second.join();
  EXPECT_EQ(driver.count("objects"), 0u);
}

}  // namespace
}  // namespace wick::cuda
