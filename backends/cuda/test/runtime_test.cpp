#include "backends/cuda/test/runtime_test_support.h"
#include "common/version.h"
#include "wick/device_timer.h"

namespace wick::cuda {
namespace {

Floats ramp(size_t count, float from = 0) {
  Floats floats(count);
  for (size_t i = 0; i < count; ++i) floats[i] = from + static_cast<float>(i);
  return floats;
}

TEST(CudaRuntime, ADelegateComputes) {
  const TestDriver driver;
  TestRun run(add_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  for (const float from : {0.0f, 10.0f}) {
    ASSERT_EQ(run.execute(ramp(8, from)), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), ramp(8, from + 0.5f));
  }
}

TEST(CudaRuntime, SizesOfInputsDecideGridsAndOutputs) {
  const TestDriver driver;
  TestRun run(dynamic_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  for (const int32_t size : {64, 1, 33, 64, 33, 33}) {
    const Floats x = ramp(static_cast<size_t>(size), 1);
    ASSERT_EQ(run.execute_sized(size, x), Error::Ok) << run.last_error();
    Floats expected = x;
    for (float& value : expected) value *= 9;
    EXPECT_EQ(run.output(), expected) << size;
  }
}

TEST(CudaRuntime, CopiesFillsAndOffsetsDoWhatThePlanSays) {
  const TestDriver driver;
  TestDelegate d;
  const uint32_t eight = d.number(8), bytes = d.number(16), half = d.number(16);
  const uint32_t x = d.argument(Space::input, DType::f32, {d.number(4)});
  const uint32_t y = d.argument(Space::output, DType::f32, {eight});
  d.fill(writes(y), bytes, 0);
  d.copy(writes(y, half), reads(x), bytes);
  d.copy(writes(y), reads(x), d.number(0)).after = {0, 1};
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  ASSERT_EQ(run.execute(Floats{1, 2, 3, 4}), Error::Ok) << run.last_error();
  EXPECT_EQ(run.output(), (Floats{0, 0, 0, 0, 1, 2, 3, 4}));
}

TEST(CudaRuntime, EmptyTensorsRunNoKernels) {
  const TestDriver driver;
  TestDelegate d = dynamic_delegate();
  d.plan.symbols[0].min = 0;
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run.execute_sized(0, {}), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), Floats());
  }
  EXPECT_EQ(driver.count("launches"), 0u);
  ASSERT_EQ(run.execute_sized(2, {1, 2}), Error::Ok) << run.last_error();
  EXPECT_EQ(run.output(), (Floats{9, 18}));
}

TEST(CudaRuntime, ABadIndexIsRefusedWithTheNodeAndTheNextCallIsGood) {
  const TestDriver driver;
  TestRun run(gather_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  using Indices = std::vector<int64_t>;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run.execute(Indices{7, 0, 3, 3}), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), (Floats{7, 0, 3, 3}));
    EXPECT_EQ(run.execute(Indices{7, 8, 3, 3}), Error::InvalidArgument);
    EXPECT_NE(run.last_error().find("an index of embedding (model.py:3) is not in 0 to 7"), std::string::npos)
        << run.last_error();
  }
}

// Counters begin at 0, kernels keep what they count, and a call that fails leaves none to the next one.
TEST(CudaRuntime, CountsOfBlocksBeginAtZero) {
  const TestDriver driver;
  TestRun run(arrive_delegate(), driver), other(arrive_delegate(), driver);
  for (TestRun* each : {&run, &other}) ASSERT_EQ(each->load(), Error::Ok) << each->text();
  for (int round = 0; round < 2; ++round) {
    for (const float calls : {1.0f, 2.0f, 3.0f}) {
      ASSERT_EQ(run.execute(Floats{1}), Error::Ok) << run.last_error();
      EXPECT_EQ(run.output(), Floats{calls});
    }
    EXPECT_EQ(run.execute(Floats{-1}), Error::InvalidArgument);
    EXPECT_NE(run.last_error().find("x is negative"), std::string::npos) << run.last_error();
  }
  ASSERT_EQ(other.execute(Floats{1}), Error::Ok) << other.last_error();
  EXPECT_EQ(other.output(), Floats{1});
}

TEST(CudaRuntime, APlanOfAnotherVersionThatIsRefusedNamesIt) {
  const TestDriver driver;
  TestDelegate d = add_delegate();
  d.plan.kernels[0].block = {0, 1, 1};
  for (const std::string& producer : {std::string("wick 99.0.0"), std::string("wick ") + kVersion}) {
    d.plan.producer = producer;
    TestRun run(d, driver);
    EXPECT_EQ(run.load(), Error::InvalidProgram);
    EXPECT_NE(run.text().find("a block of 0 x 1 x 1 threads"), std::string::npos) << run.text();
    EXPECT_EQ(run.text().find("'wick 99.0.0' made the plan, this is wick ") != std::string::npos,
              producer == "wick 99.0.0")
        << run.text();
  }
}

TEST(CudaRuntime, WritesBesideABufferAreNoticed) {
  const TestDriver driver;
  TestDelegate d;
  const uint32_t y = d.argument(Space::output, DType::f32, {d.number(4)});
  const uint32_t stray = d.kernel("stray", {ParameterKind::pointer});
  d.launch(stray, d.number(1), {writes(d.arena_buffer(4))});
  d.fill(writes(y), d.number(16), 0);
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  EXPECT_EQ(run.execute(), Error::Internal);
  EXPECT_NE(run.last_error().find("bytes beside an allocation of 256 were written"), std::string::npos)
      << run.last_error();
}

TEST(CudaRuntime, SizesThatDoNotFitAreRefused) {
  const TestDriver driver;
  TestDelegate d = dynamic_delegate();
  d.plan.symbols[0].min = 2;
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  EXPECT_EQ(run.execute_sized(1, {1}), Error::InvalidArgument);
  EXPECT_NE(run.last_error().find("size 0 of input 0 of the delegate is 1, wanted 2 to 64"), std::string::npos)
      << run.last_error();
  ASSERT_EQ(run.execute_sized(2, {1, 2}), Error::Ok) << run.last_error();
  EXPECT_EQ(run.output(), (Floats{9, 18}));
}

// Before anything runs, and with a message.
TEST(CudaRuntime, SizesThatANodeDoesNotTakeAreRefused) {
  const TestDriver driver;
  TestDelegate d = dynamic_delegate();
  const uint32_t s0 = d.formula({symbol(0)}), rest = d.formula({symbol(0), constant(4), op(FormulaOp::modulo)});
  const uint32_t zero = d.number(0), eight = d.number(8);
  d.plan.requirements = {{rest, zero, zero, "view: elements"},
                         {s0, eight, kNone, "conv: size"},
                         {s0, kNone, d.number(63), "pad: size"},
                         {s0, eight, d.number(32), "select: index"}};
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  const std::pair<int32_t, const char*> refused[] = {{9, "view: elements: 1, wanted 0"},
                                                     {4, "conv: size: 4, wanted at least 8"},
                                                     {64, "pad: size: 64, wanted at most 63"},
                                                     {36, "select: index: 36, wanted 8 to 32"}};
  for (const auto& [size, words] : refused) {
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(run.execute_sized(size, ramp(static_cast<size_t>(size))), Error::InvalidArgument);
      EXPECT_NE(run.last_error().find(words), std::string::npos) << run.last_error();
    }
    ASSERT_EQ(run.execute_sized(8, ramp(8)), Error::Ok) << run.last_error();
  }
}

// Arguments that a program may pass, though the plan does not allow them.
TEST(CudaRuntime, ArgumentsThatDoNotFitAreRefused) {
  const TestDriver driver;
  const struct {
    const char* text;
    void (*make)(Plan&);
  } changes[] = {
      {"a different dtype", [](Plan& p) { p.inputs[0].dtype = DType::i32; }},
      {"a different dtype", [](Plan& p) { p.outputs[0].dtype = DType::i32; }},
      {"a different rank",
       [](Plan& p) {
         p.inputs[0].sizes.push_back(1);
         p.inputs[0].dim_order.push_back(1);
       }},
      {"size 0 of input 0 of the delegate is 8, wanted 7",
       [](Plan& p) {
         p.inputs[0].sizes[0] = static_cast<uint32_t>(p.formulas.size());
         p.formulas.push_back({constant(7)});
         p.buffers[0].size_bytes = 28;
       }},
      {"an output of the delegate has a different shape",
       [](Plan& p) {
         p.outputs[0].sizes[0] = static_cast<uint32_t>(p.formulas.size());
         p.formulas.push_back({constant(7)});
         p.buffers[1].size_bytes = 28;
       }},
      {"a different number of arguments", [](Plan& p) { p.inputs.push_back(p.inputs[0]); }},
  };
  for (const auto& change : changes) {
    const TestDelegate good = add_delegate();
    TestDelegate bad = add_delegate();
    change.make(bad.plan);
    schema::TestProgram program;
    for (const auto& [key, bytes] : good.named) program.add_named_data(key.c_str(), bytes);
    program.inputs = {program.planned(DType::f32, {8})};
    program.outputs = {program.planned(DType::f32, {8})};
    program.delegate_call(program.delegate(kBackendId, write_plan(bad.plan)), {program.inputs[0], program.outputs[0]});
    TestRun run(program.build(), driver);
    ASSERT_EQ(run.load(), Error::Ok) << run.text();
    EXPECT_NE(run.execute(ramp(8)), Error::Ok);
    EXPECT_NE(run.last_error().find(change.text), std::string::npos) << run.last_error();
  }
}

TEST(CudaRuntime, ADifferentDimOrderIsRefused) {
  const TestDriver driver;
  TestDelegate d;
  const uint32_t two = d.number(2), three = d.number(3);
  const uint32_t x = d.argument(Space::input, DType::f32, {two, three});
  const uint32_t y = d.argument(Space::output, DType::f32, {two, three});
  d.copy(writes(y), reads(x), d.number(24));
  schema::TestProgram program;
  for (const auto& [key, bytes] : d.named) program.add_named_data(key.c_str(), bytes);
  program.arena_sizes = {0, 64};
  program.inputs = {program.tensor({.sizes = {2, 3}, .dim_order = {1, 0}, .memory_id = 1})};
  program.outputs = {program.tensor({.sizes = {2, 3}, .memory_id = 1, .memory_offset = 32})};
  program.delegate_call(program.delegate(kBackendId, write_plan(d.plan)), {program.inputs[0], program.outputs[0]});
  TestRun run(program.build(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  EXPECT_EQ(run.execute(ramp(6)), Error::InvalidArgument);
  EXPECT_NE(run.last_error().find("a different dim order"), std::string::npos) << run.last_error();
}

// The argument is smaller than the copy, at sizes for which interval bounds cannot find that.
TEST(CudaRuntime, ACopyBeyondAnArgumentOfThisSizeIsRefused) {
  const TestDriver driver;
  TestDelegate d;
  d.plan.symbols.push_back({"s0", 1, 8, 0, 0});
  const uint32_t n = d.formula({symbol(0)}), bytes = d.number(32);
  const uint32_t x = d.argument(Space::input, DType::f32, {n}), y = d.argument(Space::output, DType::f32, {n});
  d.copy(writes(y), reads(x), bytes);
  TestRun run(d, driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  EXPECT_EQ(run.execute_sized(8, ramp(8)), Error::Ok) << run.last_error();
  EXPECT_EQ(run.execute_sized(7, ramp(7)), Error::InvalidProgram);
  EXPECT_NE(run.last_error().find("beyond an argument of these sizes"), std::string::npos) << run.last_error();
}

std::string refusal(const TestDelegate& delegate, const TestDriver& driver, Error code) {
  TestRun run(delegate, driver);
  EXPECT_EQ(run.load(), code);
  EXPECT_EQ(driver.count("objects"), 0u);
  return run.text();
}

TEST(CudaRuntime, APlanAndItsDataMustFit) {
  const TestDriver driver;
  TestDelegate d = add_delegate();
  d.named.pop_back();
  EXPECT_NE(refusal(d, driver, Error::NotFound).find("the program has no data 'w', which the delegate asks for"),
            std::string::npos);
  d = add_delegate();
  d.named.back().second += "x";
  EXPECT_NE(refusal(d, driver, Error::InvalidProgram).find("data 'w' has 33 bytes, wanted 32"), std::string::npos);
  d = add_delegate();
  d.plan.buffers[0].size_bytes = 28;
  EXPECT_NE(refusal(d, driver, Error::InvalidProgram).find("the plan's buffer 0: 28 bytes"), std::string::npos);
  d = add_delegate();
  d.plan.kernels[0].name = "none";
  EXPECT_NE(refusal(d, driver, Error::InvalidProgram).find("the device code has no kernel 'none'"), std::string::npos);
  d = add_delegate();
  d.plan.kernels[0].parameters[3] = ParameterKind::int64;
  d.plan.nodes[0].arguments[3].kind = ParameterKind::int64;
  EXPECT_NE(refusal(d, driver, Error::InvalidProgram).find("kernel 'add' has other parameters in the device code"),
            std::string::npos);
  d = add_delegate();
  d.plan.kernels[0].parameters.pop_back();
  d.plan.nodes[0].arguments.pop_back();
  EXPECT_NE(refusal(d, driver, Error::InvalidProgram).find("kernel 'add' has other parameters in the device code"),
            std::string::npos);
}

TEST(CudaRuntime, DeviceCodeCanBeSwitchedOff) {
  const TestDriver driver;
  TestRun run(add_delegate(), driver);
  run.options().delegates.allow_device_code = false;
  EXPECT_EQ(run.load(), Error::DelegateInvalidCompatibility);
  EXPECT_NE(run.text().find("it holds device code, which is switched off"), std::string::npos) << run.text();
}

TEST(CudaRuntime, MemoryOfTheHostCountsAgainstTheLimit) {
  const TestDriver driver;
  TestRun run(add_delegate(), driver);
  run.options().max_delegate_bytes = 1000;
  EXPECT_EQ(run.load(), Error::DelegateMemoryAllocationFailed);
  EXPECT_NE(run.text().find("more memory than is left of the limit"), std::string::npos) << run.text();
}

TEST(CudaRuntime, ATracerSeesEachNode) {
  const TestDriver driver;
  std::vector<DelegateEvent> events;
  Tracer tracer = {[](void*, const InstructionInfo&) {}, [](void*, const InstructionInfo&, Error) {}, &events,
                   [](void* state, const DelegateEvent& event) {
                     static_cast<std::vector<DelegateEvent>*>(state)->push_back(event);
                   }};
  TestRun run(dynamic_delegate(), driver);
  run.options().tracer = &tracer;
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  ASSERT_EQ(run.execute_sized(2, {1, 2}), Error::Ok) << run.last_error();
  EXPECT_EQ(run.output(), (Floats{9, 18}));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_STREQ(events[0].kind, "scale");
  EXPECT_STREQ(events[0].name, "CUDA kernel");
  EXPECT_STREQ(events[1].kind, "add");
  EXPECT_EQ(events[0].debug_handle, 4u);
  EXPECT_EQ(events[1].debug_handle, kNone);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].start_ns, i * 1000000);  // the stand-in counts a millisecond for each
    EXPECT_EQ(events[i].duration_ns, 1000000u);
  }
}

TEST(CudaRuntime, ATracerSeesWhatBranchesAndRoundsRun) {
  const TestDriver driver;
  std::vector<DelegateEvent> events;
  Tracer tracer = {[](void*, const InstructionInfo&) {}, [](void*, const InstructionInfo&, Error) {}, &events,
                   [](void* state, const DelegateEvent& event) {
                     static_cast<std::vector<DelegateEvent>*>(state)->push_back(event);
                   }};
  TestRun run(control_delegate(), driver);
  run.options().tracer = &tracer;
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  for (int call = 0; call < 2; ++call) {
    events.clear();
    ASSERT_EQ(run.execute(Floats{1, 2, 3, 4}, std::vector<uint8_t>{1}), Error::Ok) << run.last_error();
    EXPECT_EQ(run.output(), (Floats{50, 100, 150, 200}));
    ASSERT_EQ(events.size(), 4u);  // the branch, two rounds, a copy
    EXPECT_STREQ(events[2].kind, "scale");
    EXPECT_STREQ(events[3].kind, "copy");
    for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i].start_ns, i * 1000000);
  }
}

TEST(CudaRuntime, ATimerCountsTheDevicesTimeOfCallsWhileItLives) {
  const TestDriver driver;
  TestRun run(dynamic_delegate(), driver);
  ASSERT_EQ(run.load(), Error::Ok) << run.text();
  ASSERT_EQ(run.execute_sized(2, {1, 2}), Error::Ok) << run.last_error();
  {
    DeviceTimer timer;
    EXPECT_EQ(DeviceTimer::current(), &timer);
    for (int call = 0; call < 3; ++call) {  // launches, then the graph
      ASSERT_EQ(run.execute_sized(2, {1, 2}), Error::Ok) << run.last_error();
      EXPECT_EQ(run.output(), (Floats{9, 18}));
      EXPECT_GE(timer.take(), 1000000u);  // the stand-in counts a millisecond for each event
      EXPECT_EQ(timer.take(), 0u);
    }
  }
  EXPECT_EQ(DeviceTimer::current(), nullptr);
}

}  // namespace
}  // namespace wick::cuda
