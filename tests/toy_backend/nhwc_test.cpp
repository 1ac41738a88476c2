// A backend of form kernels that wants channels last, among portable kernels that want contiguous tensors.
#include <gtest/gtest.h>

#include "backends/compile_table.h"
#include "compiler/testing/pipeline.h"
#include "tests/toy_backend/target.h"
#include "wick/xnnpack_backend.h"

namespace wick::toy::nhwc_test {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr char kCopy[] = "dim_order_ops._to_dim_order_copy";

// Two convolutions with pointwise nodes between them and a sum over channels, in order, behind.
constexpr char kNet[] = R"(graph f(%x: f32[2, 3, 6, 5]) {
  const %v: f32[4, 3, 3, 2] = ...
  const %w: f32[3, 4, 2, 2] = ...
  const %b: f32[2, 4, 4, 4] = ...
  %s = aten.sin(%x)
  %c = aten.convolution(%s, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %d = aten.maximum(%c, %b)
  %r = aten.relu(%d)
  %e = aten.convolution(%r, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %t = aten.cumsum(%e, 1)
  return %t
})";

Pipeline pipeline(const char* text) {
  return std::move(Pipeline::from_text(text).runtime(delegates(), kernels()).target(&kNhwcTarget));
}

TEST(ToyNhwc, RunsAmongContiguousKernelsWithOneCopyPerBorder) {
  Pipeline p = pipeline(kNet);
  p.at(Stage::lower).check_count("toy.conv2d", 2).check_count(kCopy, 2);
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

// The sine takes any dim order: the copy stands in front of it or behind it, wherever there are fewer bytes.
TEST(ToyNhwc, FiltersAndOtherConstantsArePermutedWhenTheProgramIsCompiled) {
  Pipeline p = pipeline(kNet);
  p.at(Stage::lower).check("f32[4, 3, 3, 2]{0,2,3,1}");
  ASSERT_NE(p.compiled(), nullptr) << p.failures();
  const compiler::MethodPlan& plan = p.compiled()->method_plans[0];
  size_t filters = 0;
  for (const compiler::PlannedValue& value : plan.values) {
    const auto* tensor = std::get_if<compiler::PlannedTensor>(&value);
    if (!tensor || plan.storages[tensor->storage].kind != compiler::Storage::Kind::constant) continue;
    filters += tensor->sizes.size() == 4 && tensor->dim_order == std::vector<uint8_t>{0, 2, 3, 1};
  }
  EXPECT_EQ(filters, 3u);
}

TEST(ToyNhwc, BranchesAndBuffersStayContiguousOutside) {
  Pipeline p = pipeline(R"(graph f(%p: bool[], %x: f32[1, 2, 4, 4]) {
    const %w: f32[2, 2, 1, 1] = [1.0, 2.0, 3.0, 4.0]
    state %n: f32[1, 2, 4, 4] "n" = ...
    %a = aten.convolution(%x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %m = aten.add.Tensor(%a, %n)
    %b: f32[1, 2, 4, 4] = higher_order.cond(%p, [%m]) graph (%s: f32[1, 2, 4, 4]) {
      const %w: f32[2, 2, 1, 1] = [1.0, 2.0, 3.0, 4.0]
      %t = aten.convolution(%s, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
      return %t
    } graph (%u: f32[1, 2, 4, 4]) {
      return %u
    }
    update %n = %m
    return %b, %a
  })");
  p.at(Stage::lower).check_count("toy.conv2d", 2);
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

TEST(ToyNhwc, DelegatesOfOthersGetContiguousTensors) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "no XNNPACK library";
  std::string text = kNet;  // with more elements than light nodes have
  text.replace(text.find("[2, 3, 6, 5]"), 12, "[2, 3, 66, 65]");
  text.replace(text.find("[2, 4, 4, 4]"), 12, "[2, 4, 64, 64]");
  Pipeline p = pipeline(text.c_str());
  p.target((*compiler::find_targets("xnnpack"))[0]);
  p.at(Stage::lower).check_count("toy.conv2d", 2).check("wick.call_delegate");
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

// What a permute shows of a channels-last tensor is contiguous: it costs nothing.
TEST(ToyNhwc, APermuteOfItsResultIsNoCopy) {
  Pipeline p = pipeline(R"(graph f(%x: f32[2, 3, 6, 5]) {
    const %v: f32[4, 3, 3, 2] = ...
    %s = aten.sin(%x)
    %c = aten.convolution(%s, %v, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
    %p = aten.permute(%c, [0, 2, 3, 1])
    %r = aten.view(%p, [2, 16, 4])
    %t = aten.cumsum(%r, 1)
    return %t
  })");
  p.at(Stage::lower).check_count("toy.conv2d", 1).check_count(kCopy, 1);
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
  ASSERT_NE(p.compiled(), nullptr);
  EXPECT_EQ(p.compiled()->methods[0].kernels, 4u);  // sine, copy, convolution, sum
}

// Nothing of it is left where the backend takes nothing.
TEST(ToyNhwc, ChangesNothingWhereItTakesNothing) {
  Pipeline p = pipeline(R"(graph f(%x: f32[2, 3, 6, 5]) {
    %s = aten.sin(%x)
    %t = aten.cumsum(%s, 1)
    return %t
  })");
  p.at(Stage::lower).check_not(kCopy);
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "");
}

}  // namespace
}  // namespace wick::toy::nhwc_test
