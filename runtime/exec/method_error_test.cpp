// Refusals of methods and their messages; damaged programs never reach outside their memory.
#include "runtime/exec/method_harness.h"

namespace wick {
namespace {

void expect_load_fails(TestProgram& program, Error error, const std::string& text) {
  MethodHarness harness(program);
  EXPECT_EQ(error_name(harness.load()), std::string(error_name(error)));
  EXPECT_EQ(harness.text, text);
}

TEST(MethodLoad, NamesAllMissingKernelsAndBackends) {
  TestProgram program;
  program.op("aten::foo", "out");
  program.op("aten::add", "out");
  program.op("aten::bar", "");
  program.delegate("FooBackend", {1});
  program.delegate("FooBackend", {2});
  program.delegate("BarBackend", {3});
  expect_load_fails(program, Error::OperatorMissing,
                    "no kernel for aten::foo.out, aten::bar; no backend FooBackend, BarBackend");
}

TEST(MethodLoad, SaysHowMuchMemoryItNeeds) {
  TestProgram program;
  fill_add_program(program);
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok);
  const size_t needed = Method::required_bytes(harness.program().method(0));
  TestProgram again;
  fill_add_program(again);
  MethodHarness small(again);
  small.method_bytes = needed - 1;
  EXPECT_EQ(small.load(), Error::MemoryAllocationFailed);
  EXPECT_EQ(small.text, "the method arena needs " + std::to_string(needed) + " bytes, " + std::to_string(needed - 1) +
                            " are given");
  small.method_bytes = needed;
  EXPECT_EQ(small.load(), Error::Ok) << small.text;
}

TEST(MethodLoad, WantsExternalTensorsToBeGiven) {
  TestProgram program;
  program.tensor({.sizes = {1}, .external = true, .name = "w"});
  expect_load_fails(program, Error::InvalidState, "tensor 0 (w) lies in a .ptd file, and none is given");
}

TEST(MethodInput, IsCheckedAgainstTheProgram) {
  TestProgram program;
  program.inputs = {program.planned(DType::f32, {2, 3})};
  const float data[] = {1};
  program.inputs.push_back(program.tensor({.sizes = {1}, .data_index = program.add_constant(data, sizeof data)}));
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  Method& method = harness.method();
  HostTensor32 good({2, 3}, std::vector<float>(6));
  HostTensor32 shape({3, 2}, std::vector<float>(6));
  HostTensor32 rank({6}, std::vector<float>(6));
  HostTensor32 order({2, 3}, std::vector<float>(6), {1, 0});
  HostTensor32 one({1}, {1});
  EXPECT_EQ(method.set_input(0, good.tensor), Error::Ok);
  EXPECT_EQ(method.set_input(0, shape.tensor), Error::NotSupported);
  EXPECT_EQ(harness.last_error(), "input has a different shape than the fixed one [NotSupported]");
  EXPECT_EQ(method.set_input(0, rank.tensor), Error::InvalidArgument);
  EXPECT_EQ(harness.last_error(), "input has a different rank [InvalidArgument]");
  EXPECT_EQ(method.set_input(0, order.tensor), Error::InvalidArgument);
  EXPECT_EQ(harness.last_error(), "input has a different dim order [InvalidArgument]");
  EXPECT_EQ(method.set_input(0, EValue::of_int(1)), Error::InvalidArgument);
  EXPECT_EQ(harness.last_error(), "input has a different type [InvalidArgument]");
  EXPECT_EQ(method.set_input(1, one.tensor), Error::NotSupported);
  EXPECT_EQ(harness.last_error(), "input is a constant [NotSupported]");
  good.tensor.dtype = DType::i32;
  EXPECT_EQ(method.set_input(0, good.tensor), Error::InvalidArgument);
  EXPECT_EQ(harness.last_error(), "input has a different dtype [InvalidArgument]");
}

TEST(MethodExecute, NamesTheInstructionThatFailed) {
  TestProgram program;
  const int32_t x = program.planned(DType::f32, {2});
  const int32_t y = program.planned(DType::f32, {3});
  const int32_t one = program.integer(1);
  const int32_t out = program.planned(DType::f32, {2});
  const int32_t add = program.op("aten::add", "out");
  program.call(add, {x, x, one, out, out});
  program.call(add, {x, y, one, out, out});
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  EXPECT_EQ(harness.method().execute(), Error::InvalidArgument);
  EXPECT_EQ(harness.last_error(),
            "instruction 1 (aten::add.out): wants two f32 tensors of one shape [InvalidArgument]");
  EXPECT_EQ(harness.method().last_error().instruction.index, 1u);
}

TEST(MethodLoad, RefusesCallsThatDoNotFitTheKernel) {
  const float data[] = {1, 2};
  for (const int variant : {0, 1, 2, 3, 4}) {
    TestProgram program;
    const int32_t x = program.planned(DType::f32, {2});
    const int32_t one = program.integer(1);
    const int32_t constant = program.tensor({.sizes = {2}, .data_index = program.add_constant(data, sizeof data)});
    const int32_t add = program.op("aten::add", "out");
    if (variant == 0) program.call(add, {x, x, one, x});
    if (variant == 1) program.call(add, {x, one, one, x, x});
    if (variant == 2) program.call(add, {x, x, one, constant, constant});
    // Behind a jump that is always taken, and with a list whose item is no int.
    if (variant == 3) {
      program.jump_false(program.boolean(false), 2);
      program.call(add, {x, one, one, x, x});
    }
    if (variant == 4) {
      const int32_t sizes = program.int_list({x});
      program.call(program.op("executorch_prim::et_view", "default"), {x, sizes, program.planned(DType::f32, {2})});
    }
    MethodHarness harness(program);
    ErrorKind kind = ErrorKind::none;
    harness.options.kind = &kind;
    const char* wanted[] = {
        "instruction 0 (aten::add.out): the number of arguments is not the operator's [InvalidProgram]",
        "instruction 0 (aten::add.out): an argument has a different type than the operator takes [InvalidType]",
        "instruction 0 (aten::add.out): an output argument lies in constant memory [InvalidProgram]",
        "instruction 1 (aten::add.out): an argument has a different type than the operator takes [InvalidType]",
        "instruction 0 (executorch_prim::et_view.default): an element of an int list is not an int [InvalidType]"};
    EXPECT_NE(harness.load(), Error::Ok) << variant;
    EXPECT_EQ(harness.text, wanted[variant]);
    EXPECT_EQ(kind, ErrorKind::corrupt_file);
  }
}

// Moves and kernels without out tensors change the kind of values; memory may come after loading.
TEST(MethodExecute, RefusesArgumentsThatNoLongerFitTheKernel) {
  for (const int variant : {0, 1, 2}) {
    TestProgram program;
    const int32_t x = program.planned(DType::f32, {2});
    const int32_t one = program.integer(1), moved = program.integer(1), sum = program.integer(0);
    const int32_t add = program.op("aten::add", "out");
    if (variant == 0) {
      program.move(x, moved);
      program.call(add, {x, x, moved, x, x});
    }
    if (variant == 1) {
      program.call(program.op("executorch_prim::truediv", "Scalar"), {one, one, sum});
      program.call(program.op("executorch_prim::et_view", "default"),
                   {x, program.int_list({sum}), program.planned(DType::f32, {2})});
    }
    if (variant == 2) {
      const int32_t nowhere = program.tensor({.sizes = {2}});
      program.call(add, {x, x, one, nowhere, nowhere});
    }
    MethodHarness harness(program);
    ASSERT_EQ(harness.load(), Error::Ok) << variant << harness.text;
    const char* wanted[] = {
        "instruction 1 (aten::add.out): an argument is not a number [InvalidType]",
        "instruction 1 (executorch_prim::et_view.default): an element of an int list is not an int [InvalidType]",
        "instruction 0 (aten::add.out): a tensor argument has no memory [InvalidState]"};
    EXPECT_NE(harness.method().execute(), Error::Ok);
    EXPECT_EQ(harness.last_error(), wanted[variant]);
    EXPECT_EQ(harness.method().last_error().kind(), ErrorKind::execution_failed);
  }
}

TEST(MethodExecute, EndsEndlessLoops) {
  TestProgram program;
  const int32_t never = program.boolean(false);
  program.jump_false(never, 0);
  MethodHarness harness(program);
  harness.options.max_instructions = 1000;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  EXPECT_EQ(harness.method().execute(), Error::InvalidProgram);
  EXPECT_EQ(harness.last_error(),
            "instruction 0: more instructions than max_instructions: an endless loop? [InvalidProgram]");
}

TEST(MethodExecute, WantsBoolConditions) {
  TestProgram program;
  program.jump_false(program.integer(0), 0);
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  EXPECT_EQ(harness.method().execute(), Error::InvalidProgram);
  EXPECT_EQ(harness.last_error(), "instruction 0: a condition is neither a bool nor a bool tensor [InvalidProgram]");
}

// A loop over a view, a list, a constant, a mutable buffer and a branch.
AlignedBytes make_rich_program(bool with_header) {
  TestProgram program;
  program.with_header = with_header;
  program.inline_constants = !with_header;
  const float data[] = {1, 2, 3, 4};
  const int32_t x = program.tensor({.sizes = {2, 2}, .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  const int32_t w = program.tensor({.sizes = {4}, .data_index = program.add_constant(data, sizeof data)});
  const int32_t minus = program.integer(-1);
  const int32_t sizes = program.int_list({minus});
  const int32_t flat = program.tensor({.sizes = {4}, .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  const int32_t one = program.integer(1);
  const int32_t out = program.planned(DType::f32, {4});
  const int32_t list = program.tensor_list({out, w});
  const int32_t sum = program.planned(DType::f32, {4});
  const int32_t iteration = program.integer(0);
  const int32_t three = program.integer(3);
  const int32_t done = program.boolean(false);
  program.call(program.op("executorch_prim::et_view", "default"), {x, sizes, flat});
  program.call(program.op("aten::add", "out"), {flat, w, one, out, out});
  program.call(program.op("test::sum_list", "out"), {list, sum, sum});
  program.call(program.op("executorch_prim::add", "Scalar"), {iteration, one, iteration});
  program.call(program.op("executorch_prim::eq", "Scalar"), {iteration, three, done});
  program.jump_false(done, 1);
  program.move(sum, out);
  program.inputs = {x};
  program.outputs = {out, flat};
  return program.build();
}

/// Loads and runs whatever the bytes are.
void run_anything(const AlignedBytes& file) {
  MethodHarness harness(AlignedBytes(file.data(), file.size()));
  harness.options.max_instructions = 100;
  if (harness.load() != Error::Ok) return;
  HostTensor32 input({2, 2}, {1, 2, 3, 4});
  for (int run = 0; run < 2; ++run) {
    (void)harness.method().set_input(0, input.tensor);
    (void)harness.method().execute();
  }
}

TEST(MethodExecute, RunsTheProgramThatIsDamagedBelow) {
  for (const bool with_header : {true, false}) {
    MethodHarness harness(make_rich_program(with_header));
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    HostTensor32 input({2, 2}, {1, 2, 3, 4});
    ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
    ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), (std::vector<float>{3, 6, 9, 12}));
  }
}

// Meant for the sanitizers.
TEST(MethodExecute, SurvivesTruncationAtEachByte) {
  for (const bool with_header : {true, false}) {
    const AlignedBytes file = make_rich_program(with_header);
    for (size_t size = 0; size < file.size(); ++size) run_anything(AlignedBytes(file.data(), size));
  }
}

TEST(MethodExecute, SurvivesAnyChangedByte) {
  for (const bool with_header : {true, false}) {
    const AlignedBytes file = make_rich_program(with_header);
    for (size_t at = 0; at < file.size(); ++at) {
      for (const uint8_t flip : {0x01, 0x02, 0x04, 0x10, 0x80, 0xff}) {
        AlignedBytes changed(file.data(), file.size());
        changed.data()[at] ^= flip;
        run_anything(changed);
      }
    }
  }
}

}  // namespace
}  // namespace wick
