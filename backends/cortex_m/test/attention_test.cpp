// Attention between int8 or int16 values is computed on integers, within one step of the quantized graph on portable
// kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cortex_m/test/graph_test_support.h"

namespace wick::cortex_m::attention_test {
namespace {

using testing::Pipeline;
using testing::Stage;

struct Form {
  const char *query = "2, 3, 5, 8", *keys = "2, 3, 7, 8", *values = "2, 3, 7, 6", *more = "", *mask = "", *inputs = "";
  std::string q = parameters(0.03125, -11), k = parameters(0.025, 20), v = parameters(0.0125, 3),
              y = parameters(0.01, -4);
  const char* dtype = "i8";

  const char* op() const {
    return dtype == std::string("i8") ? "wick_cortex_m.attention.default" : "wick_cortex_m.attention_int16";
  }
};

std::string wide(double scale) { return parameters(scale, 0, -32767, 32767); }

Form of_int16(Form form) {
  form.q = wide(0x1p-13), form.k = wide(0x1p-12), form.v = wide(0x1p-13), form.y = wide(0x1p-13);
  form.dtype = "i16";
  return form;
}

std::string attention(const Form& form) {
  const auto fake = [&](const char* d, const char* x, const char* e, const std::string& q) {
    return quantize_line(e, x, q, form.dtype) + dequantize_line(d, e, q, form.dtype);
  };
  return fmt::format("graph f(%x: f32[{}], %z: f32[{}], %w: f32[{}]{}) {{\n", form.query, form.keys, form.values,
                     form.inputs) +
         fake("q", "x", "a", form.q) + fake("k", "z", "b", form.k) + fake("v", "w", "c", form.v) + form.mask +
         fmt::format("  %y = aten.scaled_dot_product_attention(%q, %k, %v{})\n", form.more) +
         fake("o", "y", "p", form.y) + "  return %o\n}";
}

void expect_integers(const Form& form) {
  for (const char* cpu : {"cortex-m55", "cortex-m4", "cortex-m3"}) {
    SCOPED_TRACE(attention(form));
    Pipeline p = std::move(Pipeline::from_text(attention(form)).backend(backend_for(cpu)));
    p.at(Stage::lower).check_count(form.op(), 1).check_not("softmax");
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

// A mask with a row of 7 keys for each query; the same for all heads and batches.
std::string mask_of(const char* type, const std::vector<const char*>& row, int rows) {
  std::vector<const char*> elements;
  for (int i = 0; i < rows; ++i) {
    for (size_t n = 0; n < row.size(); ++n) elements.push_back(row[(n + static_cast<size_t>(i)) % row.size()]);
  }
  return fmt::format("  const %m: {} = [{}]\n", type, fmt::join(elements, ", "));
}

TEST(CortexMCompileAttention, ConstantMasksAreAddedOrHideKeys) {
  const std::vector<const char*> hides = {"0", "-inf", "0", "0", "-inf", "0", "0"};
  const std::vector<const char*> adds = {"0", "-1.5", "-0.25", "2.5", "-inf", "-3e38", "-10000"};
  const std::vector<const char*> nothing = {"-inf", "-inf", "-inf", "-inf", "-inf", "-inf", "-inf"};
  for (const auto& row : {hides, adds, nothing}) {
    expect_integers({.more = ", %m", .mask = mask_of("f32[5, 7]", row, 5).c_str()});
    expect_integers({.more = ", %m", .mask = mask_of("f32[2, 1, 1, 7]", row, 2).c_str()});
    expect_integers({.more = ", %m", .mask = mask_of("f32[1, 3, 5, 7]", row, 15).c_str()});
  }
  const std::vector<const char*> seen = {"true", "false", "true", "true", "false", "false", "true"};
  expect_integers({.more = ", %m", .mask = mask_of("bool[5, 7]", seen, 5).c_str()});
  expect_integers({.more = ", %m", .inputs = ", %m: bool[5, 7]"});
  expect_integers({.more = ", %m", .inputs = ", %m: bool[2, 1, 1, 7]"});
  expect_integers({.more = ", %m", .mask = "  const %m: f32[5, 1] = [1, -2, 3, -4, 5]\n"});
}

TEST(CortexMCompileAttention, HeadsOfTheQueryShareKeysAndValues) {
  expect_integers(
      {.query = "2, 6, 5, 8", .keys = "2, 3, 7, 8", .values = "2, 3, 7, 6", .more = ", none, 0.0, false, none, true"});
  expect_integers(
      {.query = "2, 6, 5, 8", .keys = "2, 1, 7, 8", .values = "2, 1, 7, 6", .more = ", none, 0.0, true, none, true"});
  expect_integers({.query = "1, 4, 5, 8",
                   .keys = "1, 2, 7, 8",
                   .values = "1, 2, 7, 6",
                   .more = ", %m, 0.0, false, none, true",
                   .mask = mask_of("f32[1, 4, 1, 7]", {"0", "1", "-2", "0", "-inf", "0", "0"}, 4).c_str()});
}

TEST(CortexMCompileAttention, OfInt16) {
  expect_integers(of_int16({}));
  expect_integers(of_int16({.more = ", none, 0.0, true"}));
  expect_integers(of_int16({.more = ", none, 0.0, false, 0.7"}));
  expect_integers(of_int16({"1, 1, 1, 1", "1, 1, 1, 1", "1, 1, 1, 1"}));
  expect_integers(of_int16({"1, 2, 2, 3, 5", "1, 2, 2, 4, 5", "1, 2, 2, 4, 2"}));
  expect_integers(of_int16(
      {.query = "2, 6, 5, 8", .keys = "2, 3, 7, 8", .values = "2, 3, 7, 6", .more = ", none, 0.0, false, none, true"}));
  const std::vector<const char*> adds = {"0", "-1.5", "-0.25", "2.5", "-inf", "-3e38", "-10000"};
  expect_integers(of_int16({.more = ", %m", .mask = mask_of("f32[5, 7]", adds, 5).c_str()}));
  const std::vector<const char*> seen = {"true", "false", "true", "true", "false", "false", "true"};
  expect_integers(of_int16({.more = ", %m", .mask = mask_of("bool[5, 7]", seen, 5).c_str()}));
  expect_integers(of_int16({.more = ", %m", .inputs = ", %m: bool[5, 7]"}));
  Form fine = of_int16({});
  fine.y = wide(0x1.1p-14);
  expect_integers(fine);
}

// Scores have two levels, a step apart, and values are at both ends of their range: half a unit of scores then shows
// most.
std::vector<HostValue> two_levels(double q, double k, double v) {
  constexpr int kQueries = 2, kKeys = 32, kFeatures = 8, kValues = 4;
  std::vector<float> query(kQueries * kFeatures), keys(kKeys * kFeatures), values;
  for (int m = 0; m < kQueries; ++m) query[static_cast<size_t>(m * kFeatures)] = static_cast<float>(q);
  for (int n = 0; n < kKeys; ++n) {
    keys[static_cast<size_t>(n * kFeatures)] = static_cast<float>((n % 2 == 0 ? 4 : 3) * k);
    values.insert(values.end(), kValues, static_cast<float>((n % 2 == 0 ? 32767 : -32767) * v));
  }
  return {float_input({1, 1, kQueries, kFeatures}, query), float_input({1, 1, kKeys, kFeatures}, keys),
          float_input({1, 1, kKeys, kValues}, values)};
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

// A step of the values is `ratio` steps of the result.
TEST(CortexMCompileAttention, OfInt16WithFinerStepsOfTheResult) {
  Form form = of_int16({.query = "1, 1, 2, 8", .keys = "1, 1, 32, 8", .values = "1, 1, 32, 4"});
  constexpr double kValueStep = 0x1p-13;
  for (const double ratio : {1.0, 8.0, 64.0}) {
    SCOPED_TRACE(ratio);
    // A unit of 2^-17 / ratio.
    const double step = std::sqrt(0x1p-20 * std::sqrt(8.0) / ratio);
    form.q = form.k = wide(0.9999 * step), form.v = wide(kValueStep), form.y = wide(kValueStep / ratio);
    Pipeline p = std::move(Pipeline::from_text(attention(form)).backend("cortex-m"));
    p.run_and_compare(one_step(), two_levels(step, step, kValueStep));
    EXPECT_EQ(p.failures(), "");
    EXPECT_TRUE(p.outside().empty());
    form.q = form.k = wide(1.0001 * step);
    EXPECT_NE(refusal(form).find("too large for 30 bits"), std::string::npos);
  }
  form.q = form.k = wide(0x1p-14), form.v = form.y = wide(kValueStep);
  form.keys = "1, 1, 8192, 8", form.values = "1, 1, 8192, 4";
  EXPECT_EQ(refusal(form), "");
  form.y = wide(0.99 * kValueStep);
  EXPECT_NE(refusal(form).find("30 bits of probabilities"), std::string::npos);
}

// Scores and probabilities are int16 then.
TEST(CortexMCompileAttention, WhatItDoesNotTakeAsAWholeIsIntegersInParts) {
  EXPECT_EQ(refusal({.keys = "1, 3, 7, 8", .values = "1, 3, 7, 6"}), "") << "heads that are shared by a batch";
  EXPECT_EQ(refusal({.more = ", none, 0.0, false, -0.5"}), "");
}

TEST(CortexMCompileAttention, WhatItDoesNotTakeStaysInFloats) {
  Form coarse = of_int16({});
  coarse.q = wide(0x1p-9), coarse.k = wide(0x1.6p-10);  // a unit of 2^-19 2^3 / sqrt(8) 1.375 is below 2^-17
  expect_integers(coarse);
  coarse.k = wide(0x1.7p-10);
  EXPECT_NE(refusal(coarse).find("too large for 30 bits"), std::string::npos);
  EXPECT_NE(refusal({}, true), "");
  EXPECT_NE(refusal({.more = ", %m", .inputs = ", %m: f32[5, 7]"}).find("computed when the program runs"),
            std::string::npos);
  const std::string far = mask_of("f32[5, 7]", {"-9000", "-9001", "-9002", "-9000", "-9001", "-9000", "-9000"}, 5);
  EXPECT_NE(refusal({.more = ", %m", .mask = far.c_str()}).find("far from 0"), std::string::npos);
  const std::string some = mask_of("f32[5, 7]", {"0", "-1", "-2", "0", "-1", "0", "0"}, 5);
  EXPECT_NE(refusal({.more = ", %m", .mask = some.c_str(), .q = parameters(4.0, 7), .k = parameters(4.0, -100)}), "")
      << "a score is a step of 5.7, and has room for ten bits more";
}

}  // namespace
}  // namespace wick::cortex_m::attention_test
