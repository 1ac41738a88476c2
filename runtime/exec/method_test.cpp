#include <limits>

#include "runtime/exec/method_harness.h"

namespace wick {
namespace {

TEST(Method, AddsTwoPlannedInputs) {
  TestProgram program;
  fill_add_program(program);
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 x({2, 3}, {1, 2, 3, 4, 5, 6});
  HostTensor32 y({2, 3}, {10, 20, 30, 40, 50, 60});
  for (int run = 0; run < 2; ++run) {
    ASSERT_EQ(harness.method().set_input(0, x.tensor), Error::Ok) << harness.last_error();
    ASSERT_EQ(harness.method().set_input(1, y.tensor), Error::Ok) << harness.last_error();
    ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), (std::vector<float>{11, 22, 33, 44, 55, 66}));
  }
}

TEST(Method, WantsInputsSetBeforeEachExecution) {
  TestProgram program;
  fill_add_program(program);
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 x({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(harness.method().set_input(0, x.tensor), Error::Ok);
  ASSERT_EQ(harness.method().set_input(1, x.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok);
  EXPECT_EQ(harness.method().execute(), Error::InvalidState);
  EXPECT_EQ(harness.last_error(), "an input was not set since the last execution [InvalidState]");
}

TEST(Method, ReadsConstantsFromTheFileInPlace) {
  for (const bool inline_constants : {false, true}) {
    TestProgram program;
    program.inline_constants = inline_constants;
    const float weights[] = {0.5f, 1.5f};
    const int32_t x = program.planned(DType::f32, {2});
    const int32_t w = program.tensor({.sizes = {2}, .data_index = program.add_constant(weights, sizeof weights)});
    const int32_t alpha = program.integer(2);
    const int32_t out = program.planned(DType::f32, {2});
    program.call(program.op("aten::add", "out"), {x, w, alpha, out, out});
    program.inputs = {x};
    program.outputs = {out};
    MethodHarness harness(program);
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    const Span<const uint8_t> file = harness.program().file();
    const uint8_t* data = harness.method().value(static_cast<size_t>(w)).tensor->as<uint8_t>();
    EXPECT_TRUE(data >= file.data() && data < file.data() + file.size());
    HostTensor32 input({2}, {1, 1});
    ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), (std::vector<float>{2, 4}));
  }
}

TEST(Method, KeepsMutableBuffersBetweenExecutions) {
  TestProgram program;
  const float start[] = {100, 200};
  const uint32_t index = program.add_mutable(start, sizeof start);
  const int32_t x = program.planned(DType::f32, {2});
  program.arena_sizes.push_back(8);
  const int32_t state = program.tensor({.sizes = {2}, .memory_id = 2, .data_index = index});
  const int32_t alpha = program.integer(1);
  program.call(program.op("aten::add", "out"), {state, x, alpha, state, state});
  program.inputs = {x};
  program.outputs = {state};
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 input({2}, {1, 2});
  for (float run = 1; run <= 3; ++run) {
    ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), (std::vector<float>{100 + run, 200 + 2 * run}));
  }
}

TEST(Method, SharesMemoryOfUnplannedInputsAndOutputs) {
  TestProgram program;
  const int32_t x = program.tensor({.sizes = {4}, .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  const int32_t out = program.tensor({.sizes = {4}, .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  const int32_t alpha = program.integer(1);
  program.call(program.op("aten::add", "out"), {x, x, alpha, out, out});
  program.inputs = {x};
  program.outputs = {out};
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  std::vector<float> result(4);
  EXPECT_EQ(harness.method().set_output_memory(0, result.data(), 15), Error::InvalidArgument);
  ASSERT_EQ(harness.method().set_output_memory(0, result.data(), 16), Error::Ok);
  HostTensor32 too_big({5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(harness.method().set_input(0, too_big.tensor), Error::OutOfResources);
  HostTensor32 small({2}, {1, 2});
  HostTensor32 full({4}, {1, 2, 3, 4});
  ASSERT_EQ(harness.method().set_input(0, small.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
  EXPECT_EQ(harness.output(0), (std::vector<float>{2, 4}));
  ASSERT_EQ(harness.method().set_input(0, full.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
  EXPECT_EQ(result, (std::vector<float>{2, 4, 6, 8}));
}

TEST(Method, ComparesOtherInputsWithTheTracedValue) {
  TestProgram program;
  const double infinity = std::numeric_limits<double>::infinity();
  program.inputs = {program.integer(7),     program.real(2.5), program.boolean(true),
                    program.string("mean"), program.none(),    program.real(infinity)};
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  Method& method = harness.method();
  EXPECT_EQ(method.set_input(0, EValue::of_int(7)), Error::Ok);
  EXPECT_EQ(method.set_input(0, EValue::of_int(8)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(0, EValue::of_real(7)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(1, EValue::of_real(2.50001)), Error::Ok);
  EXPECT_EQ(method.set_input(1, EValue::of_real(2.51)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(2, EValue::of_bool(false)), Error::InvalidArgument);
  EValue text;
  text.tag = Tag::string;
  text.string.data = "mean";
  text.string.size = 4;
  EXPECT_EQ(method.set_input(3, text), Error::Ok);
  text.string.size = 3;
  EXPECT_EQ(method.set_input(3, text), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(4, EValue::of_int(3)), Error::Ok);
  EXPECT_EQ(method.set_input(5, EValue::of_real(1)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input(5, EValue::of_real(infinity)), Error::Ok);
  EXPECT_EQ(method.set_input(6, EValue::of_int(3)), Error::InvalidArgument);
}

// if x < y then out = a + a else out = a + b, as cond is written.
TEST(Method, JumpsAndMovesChooseABranch) {
  for (const bool pred : {true, false}) {
    TestProgram program;
    const int32_t condition = program.boolean(pred);
    const int32_t never = program.boolean(false);
    const int32_t a = program.planned(DType::f32, {1});
    const int32_t b = program.planned(DType::f32, {1});
    const int32_t one = program.integer(1);
    const int32_t then_out = program.planned(DType::f32, {1});
    const int32_t else_out = program.planned(DType::f32, {1});
    const int32_t out = program.planned(DType::f32, {1});
    const int32_t list = program.tensor_list({out, a});
    const int32_t sum = program.planned(DType::f32, {1});
    const int32_t add = program.op("aten::add", "out");
    program.jump_false(condition, 4);
    program.call(add, {a, a, one, then_out, then_out});
    program.move(then_out, out);
    program.jump_false(never, 6);
    program.call(add, {a, b, one, else_out, else_out});
    program.move(else_out, out);
    program.call(program.op("test::sum_list", "out"), {list, sum, sum});
    program.free(a);
    program.inputs = {a, b};
    program.outputs = {out, sum};
    MethodHarness harness(program);
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    HostTensor32 one_value({1}, {1});
    HostTensor32 two({1}, {2});
    for (int run = 0; run < 2; ++run) {
      ASSERT_EQ(harness.method().set_input(0, one_value.tensor), Error::Ok);
      ASSERT_EQ(harness.method().set_input(1, two.tensor), Error::Ok);
      ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
      EXPECT_EQ(harness.output(0), std::vector<float>{pred ? 2.0f : 3.0f});
      // The list follows the move.
      EXPECT_EQ(harness.output(1), std::vector<float>{pred ? 3.0f : 4.0f});
    }
  }
}

TEST(Method, AListThatWasMovedOverKeepsItsPlaces) {
  TestProgram program;
  const int32_t a = program.planned(DType::f32, {1});
  const int32_t b = program.planned(DType::f32, {1});
  const int32_t number = program.integer(6);
  const int32_t lost = program.tensor_list({a});
  const int32_t shorter = program.tensor_list({a});
  const int32_t longer = program.tensor_list({a, b, b});
  const int32_t sum = program.planned(DType::f32, {1});
  program.move(number, lost);
  program.move(longer, shorter);
  program.move(b, a);  // all lists are made again
  program.call(program.op("test::sum_list", "out"), {shorter, sum, sum});
  program.inputs = {a, b};
  program.outputs = {sum};
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 one({1}, {1}), two({1}, {2});
  ASSERT_EQ(harness.method().set_input(0, one.tensor), Error::Ok);
  ASSERT_EQ(harness.method().set_input(1, two.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
  EXPECT_EQ(harness.output(0), std::vector<float>{6});
}

TEST(Method, ViewsShareTheMemoryOfTheirOperand) {
  TestProgram program;
  const int32_t x = program.tensor({.sizes = {2, 3}, .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  const int32_t minus = program.integer(-1);
  const int32_t sizes = program.int_list({minus});
  const int32_t flat = program.tensor({.sizes = {6}, .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  const int32_t one = program.integer(1);
  const int32_t out = program.planned(DType::f32, {6});
  program.call(program.op("executorch_prim::et_view", "default"), {x, sizes, flat});
  program.call(program.op("aten::add", "out"), {flat, flat, one, out, out});
  program.inputs = {x};
  program.outputs = {out, flat};
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 input({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
  EXPECT_EQ(harness.output(0), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(harness.method().output(1).tensor->data, input.data.data());
}

struct TestBackendState {
  int inits = 0;
  int destroys = 0;
  std::string payload;
} g_backend;

Error init_test_backend(BackendInit& context, Span<const uint8_t> payload, void** handle) {
  ++g_backend.inits;
  g_backend.payload.assign(payload.begin(), payload.end());
  if (context.num_specs() != 1 || std::string(context.spec(0).key) != "k") return Error::InvalidProgram;
  *handle = context.allocate(100);
  if (payload.size() == 3) {
    context.text()->append("payload is bad");
    return Error::DelegateInvalidCompatibility;
  }
  return *handle ? Error::Ok : Error::DelegateMemoryAllocationFailed;
}
void execute_test_backend(KernelContext& context, void*, Span<EValue*> args) {
  if (args.size() != 2) return context.fail(Error::InvalidArgument, "wants an input and an output");
  for (size_t i = 0; i < args[1]->tensor->numel; ++i) {
    args[1]->tensor->as<float>()[i] = -args[0]->tensor->as<float>()[i];
  }
}
void destroy_test_backend(void*) { ++g_backend.destroys; }
constexpr Backend kTestBackend = {"TestBackend", init_test_backend, execute_test_backend, destroy_test_backend};

TEST(Method, RunsDelegates) {
  g_backend = {};
  {
    TestProgram program;
    const int32_t x = program.planned(DType::f32, {2});
    const int32_t out = program.planned(DType::f32, {2});
    program.delegate_call(program.delegate("TestBackend", {'a', 'b'}), {x, out});
    program.inputs = {x};
    program.outputs = {out};
    MethodHarness harness(program);
    harness.backends = {&kTestBackend};
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    HostTensor32 input({2}, {1, -2});
    ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), (std::vector<float>{-1, 2}));
    EXPECT_EQ(g_backend.payload, "ab");
  }
  EXPECT_EQ(g_backend.inits, 1);
  EXPECT_EQ(g_backend.destroys, 1);
}

TEST(Method, DestroysEarlierDelegatesWhenOneFails) {
  g_backend = {};
  TestProgram program;
  program.delegate("TestBackend", {'a'});
  program.delegate("TestBackend", {'a', 'b', 'c'});
  MethodHarness harness(program);
  harness.backends = {&kTestBackend};
  EXPECT_EQ(harness.load(), Error::DelegateInvalidCompatibility);
  EXPECT_EQ(harness.text, "delegate 1 (TestBackend): payload is bad [DelegateInvalidCompatibility]");
  EXPECT_EQ(g_backend.destroys, 1);
}

TEST(Method, TracesEachInstruction) {
  TestProgram program;
  fill_add_program(program);
  MethodHarness harness(program);
  std::vector<std::string> events;
  const Tracer tracer = {
      [](void* state, const InstructionInfo& i) {
        static_cast<std::vector<std::string>*>(state)->push_back("begin " + std::to_string(i.index) + " " + i.op.name);
      },
      [](void* state, const InstructionInfo& i, Error error) {
        static_cast<std::vector<std::string>*>(state)->push_back("end " + std::to_string(i.args.size()) +
                                                                 error_name(error));
      },
      &events};
  harness.options.tracer = &tracer;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 x({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(harness.method().set_input(0, x.tensor), Error::Ok);
  ASSERT_EQ(harness.method().set_input(1, x.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok);
  EXPECT_EQ(events, (std::vector<std::string>{"begin 0 aten::add", "end 5Ok"}));
}

}  // namespace
}  // namespace wick
