#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/testing/pipeline.h"

namespace wick::testing::loop_bodies_test {
namespace {

// Layers that the backend takes only with constant weights, in a body that captures these: from %s to %y.
constexpr char kLayers[] = R"(
    %l: f32[4, 8] = aten.linear(%s, %a)
    %g: f32[4, 8] = aten.layer_norm(%l, [8], %b, %c)
    %h: f32[4, 8] = aten.linear(%g, %a)
    %v: f32[1, 4, 8] = aten.unsqueeze(%h, 0)
    %o: f32[1, 4, 8] = aten.conv1d(%v, %d, none, [1], [1])
    %q: f32[4, 8] = aten.squeeze.dim(%o, 0)
    %y: f32[4, 8] = aten.tanh(%q)
)";
constexpr char kInner[] = "%a: f32[8, 8], %b: f32[8], %c: f32[8], %d: f32[4, 4, 3]";

std::string program(const std::string& control) {
  return fmt::format(R"(graph f(%p: bool[], %x: f32[4, 8], %z: f32[3, 4, 8]) {{
  const %w0: f32[8, 8] = ...
  const %w1: f32[8] = ...
  const %w2: f32[8] = ...
  const %w3: f32[4, 4, 3] = ...
  {}
}})",
                     control);
}

std::string while_loop() {
  return program(fmt::format(R"(%i: i64[] = aten.full([], 0, i64)
  %n: i64[], %r: f32[4, 8] = higher_order.while_loop([%i, %x], [%w0, %w1, %w2, %w3]) graph (%j: i64[], %s: f32[4, 8], {0}) {{
    %t: bool[] = aten.lt.Scalar(%j, 3)
    return %t
  }} graph (%j: i64[], %s: f32[4, 8], {0}) {{
    %m: i64[] = aten.add.Scalar(%j, 1){1}
    return %m, %y
  }}
  return %r)",
                             kInner, kLayers));
}

std::string scan() {
  return program(fmt::format(
      R"(%n: f32[4, 8], %r: f32[3, 4, 8] = higher_order.scan([%x], [%z], [%w0, %w1, %w2, %w3]) graph (%k: f32[4, 8], %e: f32[4, 8], {}) {{
    %s: f32[4, 8] = aten.add.Tensor(%k, %e){}
    return %y, %y
  }}
  return %n, %r)",
      kInner, kLayers));
}

std::string map() {
  return program(
      fmt::format(R"(%r: f32[3, 4, 8] = higher_order.map_impl([%z], [%w0, %w1, %w2, %w3]) graph (%s: f32[4, 8], {}) {{{}
    return %y
  }}
  return %r)",
                  kInner, kLayers));
}

std::string cond() {
  return program(
      fmt::format(R"(%r: f32[4, 8] = higher_order.cond(%p, [%x, %w0, %w1, %w2, %w3]) graph (%s: f32[4, 8], {0}) {{{1}
    return %y
  }} graph (%s: f32[4, 8], {0}) {{
    return %s
  }}
  return %r)",
                  kInner, kLayers));
}

TEST(LoopBodies, CapturedConstantsAreWeightsOfOneDelegate) {
  for (const std::string& text : {while_loop(), scan(), map(), cond()}) {
    Pipeline p = Pipeline::from_text(text);
    p.backend("xnnpack");
    p.at(Stage::partition).check_delegates(1);
    p.run_and_compare();
    EXPECT_EQ(p.failures(), "") << text;
  }
}

// Folding makes them constants, after the layers of the body were first looked at.
TEST(LoopBodies, WeightsComputedOfConstantsBeforeTheLoopAreConstants) {
  std::string text = map();
  text.replace(text.find("[%w0, %w1, %w2, %w3]"), 20, "[%v0, %w1, %w2, %v3]");
  text.insert(text.find("%r:"), "%v0: f32[8, 8] = aten.t(%w0)\n  %v3: f32[4, 4, 3] = aten.mul.Tensor(%w3, %w3)\n  ");
  Pipeline p = Pipeline::from_text(text);
  p.backend("xnnpack")
      .at(Stage::partition)
      .check_delegates(1)
      .check_outside({"higher_order.map_impl.default: control flow stays in the program; its bodies are partitioned by "
                      "themselves"});
  p.run_and_compare();
  EXPECT_EQ(p.failures(), "") << text;
}

}  // namespace
}  // namespace wick::testing::loop_bodies_test
