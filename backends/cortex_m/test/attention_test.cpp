// Attention between int8 values: integers throughout, within one step of the quantized graph on portable kernels.
#include <gtest/gtest.h>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m {
namespace {

using testing::Pipeline;
using testing::Stage;

constexpr char kAttention[] = "wick_cortex_m.attention";

struct Form {
  const char *query = "2, 3, 5, 8", *keys = "2, 3, 7, 8", *values = "2, 3, 7, 6", *more = "";
  std::string q = parameters(0.03125, -11), k = parameters(0.025, 20), v = parameters(0.0125, 3),
              y = parameters(0.01, -4);
};

std::string attention(const Form& form) {
  return fmt::format("graph f(%x: f32[{}], %z: f32[{}], %w: f32[{}]) {{\n", form.query, form.keys, form.values) +
         fake_quantized("q", "x", "a", form.q) + fake_quantized("k", "z", "b", form.k) +
         fake_quantized("v", "w", "c", form.v) +
         fmt::format("  %y = aten.scaled_dot_product_attention(%q, %k, %v{})\n", form.more) +
         fake_quantized("o", "y", "p", form.y) + "  return %o\n}";
}

void expect_integers(const Form& form) {
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3"}) {
    SCOPED_TRACE(attention(form));
    Pipeline p = std::move(Pipeline::from_text(attention(form)).backend(backend_for(cpu)));
    p.at(Stage::lower).check_count(kAttention, 1).check_not("softmax");
    p.run_and_compare(one_step());
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
  }
}

TEST(CortexMCompileAttention, NeedsNoParametersForScoresAndProbabilities) {
  expect_integers({});
  expect_integers({.more = ", none, 0.0, true"});
  expect_integers({.more = ", none, 0.0, false, 0.7"});
  expect_integers({"1, 3, 4", "1, 9, 4", "1, 9, 5"});
  expect_integers({"1, 1, 1, 1", "1, 1, 1, 1", "1, 1, 1, 1"});
  expect_integers({"1, 2, 2, 3, 5", "1, 2, 2, 4, 5", "1, 2, 2, 4, 2"});
}

TEST(CortexMCompileAttention, SharpAndFlatRows) {
  expect_integers({.q = parameters(0.5, 7), .k = parameters(0.5, -100)});
  expect_integers({.q = parameters(0.0001, 7), .k = parameters(0.0001, 3)});
}

std::string refusal(const Form& form, bool stock = false) {
  Pipeline p = std::move(Pipeline::from_text(attention(form)).backend("cortex-m"));
  if (stock) p.options().profile = compiler::Profile::stock;
  p.run_and_compare(one_step());
  EXPECT_EQ(p.failures(), "");
  std::string reasons;
  for (const std::string& each : p.outside()) reasons += each + "\n";
  return reasons;
}

TEST(CortexMCompileAttention, WhatItDoesNotTakeStaysInFloats) {
  EXPECT_NE(refusal({.keys = "1, 3, 7, 8", .values = "1, 3, 7, 6"}), "") << "heads that are shared by a batch";
  EXPECT_NE(refusal({.more = ", none, 0.0, false, -0.5"}), "");
  EXPECT_NE(refusal({}, true), "");
}

}  // namespace
}  // namespace wick::cortex_m
