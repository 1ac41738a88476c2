// Inputs without elements: the library has none, the delegate answers for it.
#include "backends/xnnpack/test/runtime_test_support.h"

namespace wick::xnnpack {
namespace {

TEST(XnnpackEmptyInputs, GiveEmptyOutputsOfTheSizesThatFollow) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t in = delegate.input({6, 7}), weights = delegate.constant({5, 7}, some_floats(35)),
                 out = delegate.output({6, 5}), twice = delegate.output({12, 5});
  delegate.node(NodeType::fully_connected, {in, weights, kNoValue}, out);
  delegate.node(NodeType::concatenate_2, {out, out}, twice).axis = 0;
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  for (const int32_t rows : {3, 0, 3, 2, 0, 6}) {
    HostTensor32 x({rows, 7}, some_floats(static_cast<size_t>(rows) * 7));
    ASSERT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
    ASSERT_EQ(test.harness().method().execute(), Error::Ok) << test.harness().last_error();
    EXPECT_EQ(test.harness().method().output(0).tensor->sizes[0], rows);
    EXPECT_EQ(test.harness().method().output(0).tensor->sizes[1], 5);
    EXPECT_EQ(test.harness().method().output(1).tensor->sizes[0], 2 * rows);
    Floats expected = test.output<float>(0);
    expected.insert(expected.end(), expected.begin(), expected.begin() + 5 * rows);
    EXPECT_EQ(test.output<float>(1), expected);
  }
}

TEST(XnnpackEmptyInputs, AreRefusedWhereAnOutputHasElements) {
  TestDelegate delegate;
  delegate.is_dynamic = true;
  const uint32_t in = delegate.input({2, 6, 1, 4}), out = delegate.output({2, 1, 1, 4});
  delegate.node(NodeType::global_avg_pooling_2d, {in}, out).flags = kKeepDims;
  TestRun test(delegate);
  ASSERT_EQ(test.load(), Error::Ok) << test.harness().text;
  HostTensor32 x({2, 0, 1, 4}, {});
  ASSERT_EQ(test.harness().method().set_input(0, x.tensor), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.harness().method().execute(), Error::NotSupported);
  EXPECT_NE(test.harness().last_error().find("an input of the delegate is empty"), std::string::npos)
      << test.harness().last_error();
}

}  // namespace
}  // namespace wick::xnnpack
