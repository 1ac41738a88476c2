#include "cli/trace/node_trace.h"

#include <gtest/gtest.h>

#include "cli/trace/rounding_flips.h"
#include "cli/trace/watched_run.h"

namespace wick::cli::node_trace_test {
namespace {

template <typename Watcher>
void run(const std::string& body, Watcher& watcher) {
  run_watched(body, {4}, {1, -2, 3, 4}, watcher);
}

constexpr char kQuantize[] = " %q = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, -128, 127, i8)\n";

TEST(NodeComparer, FindsADeviationBehindOneByValue) {
  NodeRecorder model(1 << 20);
  run(std::string(kQuantize) + " %y = aten.sin(%x)\n return %q, %y\n", model);
  NodeComparer program(model, nullptr, Tolerance{});
  run(std::string(kQuantize) +
          " %n = aten.neg(%q)\n %h = aten.mul.Scalar(%x, 0.5)\n %y = aten.sin(%h)\n"
          " return %n, %y\n",
      program);

  const std::optional<Deviation> first = program.first_deviation();
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->by_value) << "elements that the model does not quantize to";
  EXPECT_EQ(first->op, "aten::neg.out");
  const std::optional<Deviation> by_node = program.first_deviation(false);
  ASSERT_TRUE(by_node);
  EXPECT_FALSE(by_node->by_value);
  EXPECT_EQ(by_node->op, "aten::sin.out");
}

TEST(NodeComparer, FindsNothingByNodeWhereOnlyElementsDeviate) {
  NodeRecorder model(1 << 20);
  run(std::string(kQuantize) + " return %q\n", model);
  NodeComparer program(model, nullptr, Tolerance{});
  run(std::string(kQuantize) + " %n = aten.neg(%q)\n return %n\n", program);
  EXPECT_TRUE(program.first_deviation());
  EXPECT_FALSE(program.first_deviation(false));
}

// 1 / 2 and 3 / 2 lie in the middle. Rounded the other way, both together leave their sum as it is.
TEST(RoundingFlipper, FindsWhatSomeRoundingsDoThatCancelTogether) {
  const std::string body =
      " %q = quantized_decomposed.quantize_per_tensor(%x, 2.0, 0, -128, 127, i8)\n"
      " %d = quantized_decomposed.dequantize_per_tensor(%q, 2.0, 0, -128, 127, i8)\n"
      " %a = aten.slice.Tensor(%d, 0, 0, 1)\n %b = aten.slice.Tensor(%d, 0, 2, 3)\n %y = aten.add.Tensor(%a, %b)\n"
      " return %y\n";
  NodeRecorder model(1 << 20);
  run(body, model);
  const NodeKey sum = {"", "", "f32[1]", "aten::add.out"};
  ASSERT_NE(model.result(sum, 0), nullptr);
  RoundingFlipper flipper(model);
  run(body, flipper);
  EXPECT_EQ(flipper.deviation(sum, 0), 0) << "0 + 4 became 2 + 2";
  for (uint64_t i = 1; i < kFlippedRuns; ++i) run(body, flipper);
  EXPECT_EQ(flipper.deviation(sum, 0), 2);
}

// The largest difference of the program's integers from the plain run over the runs with flips.
double deviation_of_integers(const std::string& body) {
  NodeRecorder model(1 << 20);
  run(body, model);
  RoundingFlipper flipper(model);
  run(body, flipper);
  return flipper.deviation({"", "", "i8[4]", "aten::_to_copy.out"}, 0);
}

// torchao's quantization is decomposed: the program has no operator for it. Its zero points and other roundings are not
// flipped.
TEST(RoundingFlipper, TurnsRoundingsThatAreClampedAndConverted) {
  const std::string halves = " %m = aten.mul.Scalar(%x, 0.5)\n %r = aten.round(%m)\n";
  const std::string integers = " %q = aten._to_copy(%c, i8)\n return %q\n";
  EXPECT_EQ(
      deviation_of_integers(halves + " %a = aten.add.Tensor(%r, %x)\n %c = aten.clamp(%a, -128, 127)\n" + integers), 1);
  EXPECT_EQ(deviation_of_integers(halves + " %c = aten.clamp(%r, -128, 127)\n" + integers), 1);
  EXPECT_EQ(
      deviation_of_integers(halves + " %a = aten.rsub.Scalar(%r, 5)\n %c = aten.clamp(%a, -128, 127)\n" + integers), 0);
  EXPECT_EQ(deviation_of_integers(halves + " %c = aten.neg(%r)\n" + integers), 0);
}

// 1 / 2.5 is a tenth of a step from the middle, and 3 / 2.5 three tenths.
TEST(RoundingFlipper, NumbersOfSixteenBitsMayRoundFurtherFromTheMiddle) {
  const std::string body = " %q = quantized_decomposed.quantize_per_tensor(%x, 2.5, 0, -128, 127, i8)\n return %q\n";
  const NodeKey elements = {"", "", "i8[4]", "quantized_decomposed::quantize_per_tensor.out"};
  NodeRecorder model(1 << 20);
  run(body, model);
  RoundingFlipper exact(model), wide(model);
  wide.allow_int16();
  run(body, exact);
  run(body, wide);
  ASSERT_NE(model.result(elements, 0), nullptr);
  EXPECT_EQ(exact.deviation(elements, 0), 0);
  EXPECT_EQ(wide.deviation(elements, 0), 1);
}

// 1 / 2.5, 3 / 2.5 and 4 / 2.5 lie between elements.
double deviation_with_tables(const std::string& range_and_dtype, const std::string& type) {
  const std::string body =
      " %q = quantized_decomposed.quantize_per_tensor(%x, 2.5, 0, " + range_and_dtype + ")\n return %q\n";
  const NodeKey elements = {"", "", type, "quantized_decomposed::quantize_per_tensor.out"};
  NodeRecorder model(1 << 20);
  run(body, model);
  RoundingFlipper flipper(model);
  flipper.allow_tables();
  run(body, flipper);
  EXPECT_NE(model.result(elements, 0), nullptr) << type;
  return flipper.deviation(elements, 0);
}

struct OperatorWatcher {
  std::set<std::string> known, found;
  bool is_beyond = false;
  void watch(const MethodMeta& method) {
    found = operators_of(method);
    is_beyond = has_int16_beyond(known, method);
  }
  const Tracer* tracer() const { return nullptr; }
};

TEST(RoundingFlipper, OperatorsThatTheModelLacksAreBeyondItIfTheyHaveInt16) {
  const auto is_beyond = [](const std::string& body, const std::set<std::string>& known) {
    OperatorWatcher watcher;
    watcher.known = known;
    run(body, watcher);
    EXPECT_FALSE(watcher.found.empty());
    return watcher.is_beyond;
  };
  const std::string wide = " %w = aten._to_copy(%x, i16)\n %y = aten.abs(%w)\n return %y\n";
  const std::string narrow = " %w = aten._to_copy(%x, i8)\n %y = aten.abs(%w)\n return %y\n";
  EXPECT_TRUE(is_beyond(wide, {"aten::_to_copy.out"}));
  EXPECT_FALSE(is_beyond(narrow, {"aten::_to_copy.out"}));
  OperatorWatcher all;
  run(wide, all);
  EXPECT_FALSE(is_beyond(wide, all.found));
}

TEST(RoundingFlipper, OnlyElementsOfInt16AreThoseOfTables) {
  EXPECT_EQ(deviation_with_tables("-32768, 32767, i16", "i16[4]"), 1);
  EXPECT_EQ(deviation_with_tables("-128, 127, i8", "i8[4]"), 0);
}

}  // namespace
}  // namespace wick::cli::node_trace_test
