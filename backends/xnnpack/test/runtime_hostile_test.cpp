// Payloads that ask for too much, and what the library must not be given.
#include "backends/xnnpack/test/runtime_test_support.h"

namespace wick::xnnpack {
namespace {

TEST(XnnpackHostile, PayloadsThatAskForMoreMemoryThanAllowedAreRefused) {
  // A few hundred bytes of file that ask for 6.4 GB in between.
  TestDelegate delegate;
  const uint32_t rows = delegate.input({40000, 1}), columns = delegate.input({1, 40000});
  const uint32_t sum = delegate.value(DataType::fp32, {40000, 40000}), out = delegate.output({1, 1});
  delegate.node(NodeType::add, {rows, columns}, sum);
  PayloadNode& slice = delegate.node(NodeType::static_slice, {sum}, out);
  slice.first = {0, 0};
  slice.second = {1, 1};
  TestRun test(delegate);
  test.harness().options.max_delegate_bytes = uint64_t{1} << 30;
  EXPECT_EQ(test.load(), Error::DelegateMemoryAllocationFailed);
  EXPECT_NE(test.harness().text.find("more than the 1073741824 that are left of the limit"), std::string::npos)
      << test.harness().text;
}

// ExecuTorch 1.6 may plan scratch memory of a delegate as further arguments of its call.
TEST(XnnpackHostile, FurtherArgumentsAreScratchOrRefused) {
  const auto error_with = [](std::vector<std::pair<DType, std::vector<int32_t>>> more) {
    TestDelegate delegate;
    const uint32_t in = delegate.input({4}), out = delegate.output({4});
    delegate.node(NodeType::negate, {in}, out);
    delegate.more_arguments = std::move(more);
    TestRun test(delegate);
    EXPECT_EQ(test.load(), Error::Ok) << test.harness().text;
    const Error error = test.execute({bytes_of(Floats{1, -2, 3, 0.5f})});
    if (error == Error::Ok) expect_near(test.output<float>(), {-1, 2, -3, -0.5f}, 0);
    return error;
  };
  EXPECT_EQ(error_with({}), Error::Ok);
  EXPECT_EQ(error_with({{DType::u8, {1000}}}), Error::Ok);
  EXPECT_EQ(error_with({{DType::u8, {0}}, {DType::u8, {16}}}), Error::Ok);
  EXPECT_EQ(error_with({{DType::f32, {4}}}), Error::InvalidArgument);
  EXPECT_EQ(error_with({{DType::u8, {2, 2}}}), Error::InvalidArgument);
  EXPECT_EQ(error_with({{DType::u8, {4}}, {DType::i8, {4}}}), Error::InvalidArgument);
}

TEST(XnnpackHostile, LargerInputsThanThePayloadSaysCountAgainstTheLimit) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t rows = delegate.input({2, 1}), columns = delegate.input({1, 2});
  const uint32_t hidden = delegate.value(DataType::fp32, {2, 2}), out = delegate.output({2, 2});
  delegate.node(NodeType::add, {rows, columns}, hidden);
  delegate.node(NodeType::negate, {hidden}, out);
  schema::TestProgram program;
  program.arena_sizes = {0, 1 << 16};
  const auto tensor = [&](std::vector<int32_t> sizes, uint64_t offset) {
    return program.tensor({.sizes = std::move(sizes),
                           .memory_id = 1,
                           .memory_offset = offset,
                           .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  };
  program.inputs = {tensor({1024, 1}, 0), tensor({1, 1024}, 4096)};
  program.outputs = {tensor({64, 64}, 8192)};
  program.delegate_call(program.delegate(kBackendId, write_payload(delegate.payload)),
                        {program.inputs[0], program.inputs[1], program.outputs[0]});
  MethodHarness harness(program);
  harness.backends = {&xnnpack_backend()};
  harness.options.max_delegate_bytes = 1 << 20;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  ASSERT_NE(harness.method().input_in_place(0), nullptr);
  ASSERT_NE(harness.method().input_in_place(1), nullptr);
  EXPECT_EQ(harness.method().execute(), Error::OutOfResources) << harness.last_error();
}

TEST(XnnpackHostile, ImagesOfAConvolutionQuantizedAtRunTimeChangeTheirNumberOrTheirSize) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  Quantization per_image, per_channel;
  per_image.kind = Quantization::Kind::per_token;
  per_image.num_nonbatch_dims = 3;
  per_channel.kind = Quantization::Kind::per_channel;
  per_channel.scale_constant = delegate.named_constant(bytes_of(Floats{0.5f, 0.25f}));
  const uint32_t in = delegate.input({3, 8, 8, 4}), rows = delegate.value(DataType::qdint8, {3, 8, 8, 4}, per_image);
  const uint32_t weights =
      delegate.constant({2, 3, 3, 4}, std::vector<int8_t>(2 * 3 * 3 * 4, 3), DataType::qcint8, per_channel);
  const uint32_t out = delegate.output({3, 8, 8, 2});
  delegate.node(NodeType::convert, {in}, rows);
  PayloadNode& node = delegate.node(NodeType::conv_2d, {rows, weights, kNoValue}, out);
  node.window.kernel[0] = node.window.kernel[1] = 3;
  node.window.pad_top = node.window.pad_left = node.window.pad_bottom = node.window.pad_right = 1;
  node.group_input_channels = 4;
  node.group_output_channels = 2;
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  const auto run_with = [&](std::vector<int32_t> sizes) {
    size_t count = 1;
    for (const int32_t size : sizes) count *= static_cast<size_t>(size);
    HostTensor32 x(std::move(sizes), some_floats(count));
    EXPECT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok);
    return test.harness().method().execute();
  };
  EXPECT_EQ(run_with({3, 8, 8, 4}), Error::Ok) << test.harness().last_error();
  const Floats three = test.output<float>();
  EXPECT_EQ(run_with({1, 8, 8, 4}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.output<float>(), Floats(three.begin(), three.begin() + 8 * 8 * 2));
  EXPECT_EQ(run_with({2, 8, 8, 4}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.output<float>(), Floats(three.begin(), three.begin() + 2 * 8 * 8 * 2));
  EXPECT_EQ(run_with({2, 5, 6, 4}), Error::NotSupported);
  EXPECT_EQ(run_with({3, 5, 6, 4}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(run_with({1, 5, 6, 4}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(run_with({1, 4, 6, 4}), Error::NotSupported);
  EXPECT_EQ(run_with({3, 8, 8, 4}), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.output<float>(), three);
  EXPECT_EQ(run_with({1, 8, 8, 4}), Error::Ok) << test.harness().last_error();
}

TEST(XnnpackHostile, TransposedConvolutionsQuantizedAtRunTimeAreRefused) {
  TestDelegate delegate;
  Quantization per_image, per_channel;
  per_image.kind = Quantization::Kind::per_token;
  per_image.num_nonbatch_dims = 3;
  per_channel.kind = Quantization::Kind::per_channel;
  per_channel.scale_constant = delegate.named_constant(bytes_of(Floats{0.5f, 0.25f}));
  const uint32_t in = delegate.input({1, 4, 4, 4}), rows = delegate.value(DataType::qdint8, {1, 4, 4, 4}, per_image);
  const uint32_t weights =
      delegate.constant({2, 3, 3, 4}, std::vector<int8_t>(2 * 3 * 3 * 4, 3), DataType::qcint8, per_channel);
  delegate.node(NodeType::convert, {in}, rows);
  PayloadNode& node =
      delegate.node(NodeType::conv_transpose_2d, {rows, weights, kNoValue}, delegate.output({1, 6, 6, 2}));
  node.window.kernel[0] = node.window.kernel[1] = 3;
  node.group_input_channels = 4;
  node.group_output_channels = 2;
  TestRun test(delegate);
  EXPECT_EQ(test.load(), Error::DelegateInvalidCompatibility);
  EXPECT_NE(test.harness().text.find("node 1 (conv_transpose_2d): the XNNPACK library refuses it"), std::string::npos)
      << test.harness().text;
}

}  // namespace
}  // namespace wick::xnnpack
