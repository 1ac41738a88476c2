#include "cli/trace/local_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/trace/watched_run.h"

namespace wick::cli::local_check_test {
namespace {

template <typename Watcher>
void run(const std::string& body, Watcher& watcher) {
  run_watched(body, {2, 3}, {1, -2, 3, 4, 25, -17}, watcher);
}

std::optional<Deviation> deviation_of(const std::string& program, const std::string& model) {
  ElementRecorder recorder(1 << 20);
  run(program, recorder);
  const Reading reading;
  LocalCheck check(recorder.all(), reading);
  run(model, check);
  return check.first_deviation();
}

constexpr char kIn[] = " %q = quantized_decomposed.quantize_per_tensor(%x, 0.5, 0, -128, 127, i8)\n";
constexpr char kNumbers[] = " %d = quantized_decomposed.dequantize_per_tensor(%q, 0.5, 0, -128, 127, i8)\n";
constexpr char kOut[] = " %r = quantized_decomposed.quantize_per_tensor(%y, 0.4, 0, -128, 127, i8)\n return %r\n";
constexpr char kScaled[] = " %y = aten.mul.Scalar(%d, 0.3) @ \"layer\" \"model.py:3\"\n";

TEST(LocalCheck, TheSameProgramDoesNotDeviate) {
  const std::string model = std::string(kIn) + kNumbers + kScaled + kOut;
  EXPECT_FALSE(deviation_of(model, model));
}

TEST(LocalCheck, FindsAKernelByItsPlace) {
  const std::string model = std::string(kIn) + kNumbers + kScaled + kOut;
  const auto found =
      deviation_of(std::string(kIn) + " %y = aten.neg(%q) @ \"layer\" \"model.py:3\"\n return %y\n", model);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->op, "aten::neg.out");
  EXPECT_EQ(found->module, "layer");
  EXPECT_EQ(found->source, "model.py:3");
  EXPECT_EQ(found->difference.max_abs, 69) << "-50 in the place of 19";
  EXPECT_EQ(found->difference.where, std::vector<int64_t>{4});
}

TEST(LocalCheck, KernelsOfOtherPlacesHaveOtherTasks) {
  const std::string model = std::string(kIn) + kNumbers + kScaled + kOut;
  EXPECT_FALSE(deviation_of(std::string(kIn) + " %y = aten.neg(%q) @ \"other\" \"model.py:4\"\n return %y\n", model));
}

// A kernel may write anything beside the result that is read.
TEST(LocalCheck, AResultThatNothingReadsIsNotJudged) {
  const std::string model = std::string(kIn) + kNumbers +
                            " %m = aten.amin(%d, [1], true) @ \"layer\" \"model.py:3\"\n" +
                            " %y = aten.mul.Scalar(%m, 0.3) @ \"layer\" \"model.py:3\"\n" + kOut;
  const std::string program = std::string(kIn) + " %a, %i = aten.max.dim(%q, 1, true) @ \"layer\" \"model.py:3\"\n";
  EXPECT_FALSE(deviation_of(program + " return %i\n", model));
  EXPECT_TRUE(deviation_of(program + " return %a\n", model));
}

// The program may compute one result of the line without the other, and write intermediate results of its own.
TEST(LocalCheck, ALineWithAnotherResultIsNotJudged) {
  const std::string first = std::string(kIn) + kNumbers + kScaled;
  const std::string result = " %r = quantized_decomposed.quantize_per_tensor(%y, 0.4, 0, -128, 127, i8)";
  const std::string place = " @ \"layer\" \"model.py:3\"\n", own = " %n = aten.neg(%q)" + place;
  const std::string model =
      first + result + "\n %z = aten.mul.Scalar(%d, 0.7)" + place +
      " %t = quantized_decomposed.quantize_per_tensor(%z, 0.4, 0, -128, 127, i8)\n return %r, %t\n";
  EXPECT_FALSE(deviation_of(first + result + place + own + " return %r, %n\n", model));
  EXPECT_TRUE(deviation_of(std::string(kIn) + own + " return %n\n", model));
}

// A flipped rounding of one step moves the next value by four steps. That value is judged by the program's own
// elements. The program has an operator that the model lacks.
TEST(LocalCheck, JudgesWhatTheProgramMakesOfItsOwnElements) {
  const std::string first = std::string(kIn) + kNumbers + kScaled;
  const auto rest = [](const char* to, const char* factor, const char* more) {
    return fmt::format(
        " %r = quantized_decomposed.quantize_per_tensor({}, 0.4, 0, -128, 127, i8)\n"
        " %e = quantized_decomposed.dequantize_per_tensor(%r, 0.4, 0, -128, 127, i8)\n"
        " %z = aten.mul.Scalar(%e, {}) @ \"last\" \"model.py:9\"\n"
        " %t = quantized_decomposed.quantize_per_tensor(%z, 0.7, 0, -128, 127, i8) @ \"last\" \"model.py:9\"\n"
        " return %t{}\n",
        to, factor, more);
  };
  const std::string model = first + rest("%y", "7.3", ""),
                    turn = " %u = aten.add.Scalar(%y, 0.15)\n %k = aten.neg(%q)\n";
  EXPECT_FALSE(deviation_of(first + turn + rest("%u", "7.3", ", %k"), model));
  EXPECT_TRUE(deviation_of(first + turn + rest("%u", "6.3", ", %k"), model));
}

TEST(LocalCheck, DimensionsMayLieInAnotherOrder) {
  const std::string moved =
      " %p = aten.permute(%d, [1, 0])\n %y = aten.mul.Scalar(%p, 0.3) @ \"layer\" \"model.py:3\"\n";
  EXPECT_FALSE(deviation_of(std::string(kIn) + kNumbers + moved + kOut, std::string(kIn) + kNumbers + kScaled + kOut));
}

TEST(LocalCheck, WhatOnlyMovesElementsIsNotJudged) {
  const std::string model = std::string(kIn) + kNumbers + " %y = aten.relu(%d) @ \"layer\" \"model.py:3\"\n" +
                            " %r = quantized_decomposed.quantize_per_tensor(%y, 0.5, 0, -128, 127, i8)\n return %r\n";
  EXPECT_FALSE(deviation_of(std::string(kIn) + " %y = aten.neg(%q) @ \"layer\" \"model.py:3\"\n return %y\n", model));
}

}  // namespace
}  // namespace wick::cli::local_check_test
