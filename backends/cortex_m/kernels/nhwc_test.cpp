// Compares operators on images with NHWC sizes with those on channels-last images, on the calls of device_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "backends/cortex_m/kernels/device_test/cases.h"
#include "backends/cortex_m/kernels/variants.h"

namespace wick::cortex_m::nhwc_test {
namespace {

struct Twins {
  const char *nhwc, *channels_last;
};
constexpr Twins kTwins[] = {
    {"cortex_m::quantized_conv2d_nhwc.out", "cortex_m::quantized_conv2d.out"},
    {"cortex_m::quantized_depthwise_conv2d_nhwc.out", "cortex_m::quantized_depthwise_conv2d.out"},
    {"cortex_m::quantized_transpose_conv2d_nhwc.out", "cortex_m::quantized_transpose_conv2d.out"},
    {"cortex_m::quantized_avg_pool2d_nhwc.out", "cortex_m::quantized_avg_pool2d.out"},
    {"cortex_m::quantized_max_pool2d_nhwc.out", "cortex_m::quantized_max_pool2d.out"},
    {"cortex_m::pad_contiguous.out", "cortex_m::pad.out"},
};

const Kernel& kernel_named(const std::string& name) {
  const KernelTable table = reference_kernels();
  return *std::find_if(table.begin(), table.end(), [&](const Kernel& row) { return name == row.name; });
}

const CaseSource& source_of(const std::string& name) {
  const Span<const CaseSource> sources = case_sources();
  return *std::find_if(sources.begin(), sources.end(), [&](const CaseSource& row) { return name == row.name; });
}

std::string run(const char* name, Call& call) {
  KernelContext context({}, nullptr, nullptr);
  kernel_named(name).fn(context, call.args_and_slot());
  return context.message();
}

std::vector<uint8_t> bytes_of(const Tensor& tensor) {
  return {tensor.as<uint8_t>(), tensor.as<uint8_t>() + tensor.nbytes()};
}

TEST(CortexMNhwc, GivesTheBytesOfItsTwin) {
  for (const Twins& twins : kTwins) {
    int differ_in_sizes = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      Call nhwc(seed), twin(seed);
      nhwc.clear();
      twin.clear();
      source_of(twins.nhwc).make(nhwc);
      source_of(twins.channels_last).make(twin);
      ASSERT_EQ(run(twins.nhwc, nhwc), "") << twins.nhwc << " " << seed;
      ASSERT_EQ(run(twins.channels_last, twin), "");
      ASSERT_EQ(bytes_of(nhwc.out()), bytes_of(twin.out())) << twins.nhwc << " " << seed;
      const Span<const int32_t> a = nhwc.out().shape(), b = twin.out().shape();
      differ_in_sizes += !std::equal(a.begin(), a.end(), b.begin());
      nhwc.clear();
      twin.clear();
    }
    EXPECT_GT(differ_in_sizes, 50) << twins.nhwc;
  }
}

// The kernel refuses the other order of sizes, and other layouts.
TEST(CortexMNhwc, RefusesWhatItsTwinTakes) {
  for (const Twins& twins : kTwins) {
    int refused = 0;
    for (uint64_t seed = 0; seed < 50; ++seed) {
      Call call(seed);
      call.clear();
      source_of(twins.channels_last).make(call);
      refused += !run(twins.nhwc, call).empty();
      call.clear();
    }
    EXPECT_GT(refused, 15) << twins.nhwc;
  }
}

TEST(CortexMNhwc, RefusesOtherRanks) {
  for (const Twins& twins : kTwins) {
    if (std::string(twins.channels_last) == "cortex_m::pad.out") continue;  // takes any rank up to 4
    for (const bool first : {true, false}) {
      Call call(1);
      call.clear();
      source_of(twins.nhwc).make(call);
      Tensor& tensor = first ? *call.args()[0]->tensor : call.out();
      tensor.rank = 3;
      EXPECT_EQ(run(twins.nhwc, call), "an activation does not have 4 dimensions") << twins.nhwc;
      tensor.rank = 4;
      call.clear();
    }
  }
}

// Pads count in the order of the sizes, also where the tensor could be channels-last.
TEST(CortexMNhwc, PadsInTheOrderOfTheSizes) {
  Call call(1);
  call.clear();
  call.add_int8({1, 1, 1, 1});
  call.add_ints({0, 1, 0, 2});
  call.add_ints({0, 1, 2, 0});
  call.add_int(7);
  call.add_out(DType::i8, {1, 3, 3, 3});
  call.args()[0]->tensor->as<int8_t>()[0] = 9;
  ASSERT_EQ(run("cortex_m::pad_contiguous.out", call), "");
  for (int i = 0; i < 27; ++i) EXPECT_EQ(call.out().as<int8_t>()[i], i == (1 * 3 + 0) * 3 + 2 ? 9 : 7) << i;
  call.clear();
}

}  // namespace
}  // namespace wick::cortex_m::nhwc_test
