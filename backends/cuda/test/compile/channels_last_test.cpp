// Images between convolutions, with channels innermost: which kernels copy their tiles, and what they compute.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

// Fills constants that a text leaves out with multiples of 1/64.
std::string filled(std::string text) {
  constexpr std::string_view kLeftOut = "...";
  for (size_t at = text.find(kLeftOut); at != std::string::npos; at = text.find(kLeftOut)) {
    const size_t begin = text.rfind('[', at) + 1;
    size_t count = 1;
    for (const char* size = &text[begin]; *size != ' '; ++size) {  // the sizes end in "] = "
      char* end = nullptr;
      count *= std::strtoul(size, &end, 10);
      size = *end == ',' ? end + 1 : end;
    }
    std::string numbers;
    for (size_t i = 0; i < count; ++i)
      numbers +=
          fmt::format("{}{}", i == 0 ? "[" : ", ", (static_cast<int>(philox4x32(at, i).words[0] % 33) - 16) / 64.0);
    text.replace(at, kLeftOut.size(), numbers + "]");
  }
  return text;
}

class ChannelsLast : public CudaLower {
 protected:
  void compile(const std::string& text) { CudaLower::compile(filled(text)); }
};

size_t count_of(const std::string& text, const std::string& what) {
  size_t count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Both factors are copied, of a convolution that reads another convolution's result, and of a transposed one.
TEST_F(ChannelsLast, TilesOfAnInnerImageAreCopies) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const bool narrow = dtype == DType::bf16;
    compile(fmt::format(R"(graph f(%x: {0}[2, 3, 9, 10]) {{
  const %v: {0}[16, 3, 3, 3] = ...
  const %w: {0}[24, 16, 3, 3] = ...
  const %u: {0}[24, 16, 2, 2] = ...
  const %c: {0}[24] = ...
  %a: {0}[2, 16, 9, 10] = aten.convolution(%x, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %b: {0}[2, 24, 5, 5] = aten.convolution(%a, %w, %c, [2, 2], [1, 1], [1, 1], false, [0, 0], 1)
  %r: {0}[2, 24, 5, 5] = aten.relu(%b)
  %y: {0}[2, 16, 10, 10] = aten.convolution(%r, %u, none, [2, 2], [0, 0], [1, 1], true, [0, 0], 1)
  return %y
}})",
                        narrow ? "bf16" : "f32"));
    ASSERT_EQ(launches(), 3u);
    for (const size_t kernel : {1u, 2u}) {
      EXPECT_EQ(count_of(kernel_text(kernel), "cp_async16("), 2u) << kernel_text(kernel);
      EXPECT_EQ(count_of(kernel_text(kernel), "fetch_"), 0u) << kernel_text(kernel);
    }
    expect_like_portable({HostValue(numbers(dtype, {2, 3, 9, 10}, 5))}, narrow ? 2e-2 : 1e-5);
  }
}

// An image of few channels keeps its layout: neighbouring threads read neighbouring pixels of a tap.
TEST_F(ChannelsLast, AnImageOfFewChannelsIsReadAlongItsPixels) {
  compile(R"(graph f(%x: bf16[1, 3, 9, 70]) {
  const %w: bf16[16, 3, 5, 5] = ...
  %a: bf16[1, 16, 5, 35] = aten.convolution(%x, %w, none, [2, 2], [2, 2], [1, 1], false, [0, 0], 1)
  return %a
})");
  EXPECT_EQ(launches(), 1u);
  EXPECT_EQ(count_of(kernel_text(0), "n = line0 + static_cast<idx>(column), k = step0"), 1u) << kernel_text(0);
  expect_like_portable({HostValue(numbers(DType::bf16, {1, 3, 9, 70}, 5))}, 2e-2);
}

// An input is copied once for all convolutions that read it several times, but not for one that reads each pixel once.
TEST_F(ChannelsLast, AnInputIsCopiedWhereTilesReadItOften) {
  const auto graph = [](int taps) {
    return fmt::format(R"(graph f(%x: bf16[1, 16, 40]) {{
  const %v: bf16[64, 16, {0}] = ...
  const %w: bf16[128, 16, {0}] = ...
  %a: bf16[1, 64, 40] = aten.convolution(%x, %v, none, [1], [{1}], [1], false, [0], 1)
  %b: bf16[1, 128, 40] = aten.convolution(%x, %w, none, [1], [{1}], [1], false, [0], 1)
  return %a, %b
}})",
                       taps, taps / 2);
  };
  compile(graph(1));
  EXPECT_EQ(launches(), 2u);
  compile(graph(5));
  EXPECT_EQ(launches(), 3u);
  EXPECT_EQ(count_of(kernel_text(1), "cp_async16("), 2u) << kernel_text(1);
  expect_like_portable({HostValue(numbers(DType::bf16, {1, 16, 40}, 5))}, 2e-2);
}

// Pools, depthwise and grouped convolutions, concatenations, norms and views read and write such images too.
TEST_F(ChannelsLast, OtherOperatorsFollow) {
  compile(R"(graph f(%x: f32[2, 16, 8, 8]) {
  const %v: f32[32, 16, 3, 3] = ...
  const %w: f32[16, 32, 1, 1] = ...
  const %d: f32[32, 1, 3, 3] = ...
  const %e: f32[32, 8, 3, 3] = ...
  const %l: f32[5, 48] = ...
  const %g: f32[48] = ...
  %a: f32[2, 32, 8, 8] = aten.convolution(%x, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %p: f32[2, 32, 4, 4], %i: i64[2, 32, 4, 4] = aten.max_pool2d_with_indices(%a, [2, 2], [2, 2], [0, 0], [1, 1], false)
  %b: f32[2, 32, 4, 4] = aten.convolution(%p, %d, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 32)
  %c: f32[2, 32, 4, 4] = aten.convolution(%b, %e, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 4)
  %h: f32[2, 16, 4, 4] = aten.convolution(%c, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 1)
  %j: f32[2, 48, 4, 4] = aten.cat([%c, %h], 1)
  %n: f32[2, 48, 4, 4], %s: f32[2, 6], %t: f32[2, 6] = aten.native_group_norm(%j, %g, none, 2, 48, 16, 6, 1e-5)
  %m: f32[2, 48] = aten.mean.dim(%n, [2, 3])
  %o: f32[2, 5] = aten.linear(%m, %l)
  %q: f32[2, 48, 16] = aten.view(%n, [2, 48, 16])
  %k: f32[2, 16, 48] = aten.permute(%q, [0, 2, 1])
  %z: f32[2, 16, 5] = aten.linear(%k, %l)
  return %o, %z, %i
})");
  expect_like_portable({HostValue(numbers(DType::f32, {2, 16, 8, 8}, 5))}, 1e-5);
}

// An image that is also an output keeps its layout there. The convolution that reads it gets a copy.
TEST_F(ChannelsLast, AnOutputThatAConvolutionReads) {
  for (const char* outputs : {"%r, %y", "%y, %r"}) {
    compile(fmt::format(R"(graph f(%x: f32[1, 16, 6, 7]) {{
  const %v: f32[16, 16, 3, 3] = ...
  const %w: f32[16, 16, 3, 3] = ...
  %a: f32[1, 16, 6, 7] = aten.convolution(%x, %v, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  %r: f32[1, 16, 6, 7] = aten.relu(%a)
  %y: f32[1, 16, 6, 7] = aten.convolution(%r, %w, none, [1, 1], [1, 1], [1, 1], false, [0, 0], 1)
  return {}
}})",
                        outputs));
    expect_like_portable({numbers(DType::f32, {1, 16, 6, 7}, 1)}, 1e-5);
  }
}

}  // namespace
}  // namespace wick::cuda
