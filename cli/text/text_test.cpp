#include "cli/text/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "cli/text/progress.h"

namespace wick::cli {
namespace {

TEST(Text, BytesTakeTheUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1024), "1.0 KiB");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(1024 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(bytes_text(~uint64_t{0}), "16.0 EiB");
}

TEST(Text, PaddingCountsCharactersAndNeverCuts) {
  EXPECT_EQ(pad_right("ab", 4), "ab  ");
  EXPECT_EQ(pad_left("ab", 4), "  ab");
  EXPECT_EQ(pad_left("\u00e9", 3), "  \u00e9");
  EXPECT_EQ(pad_right("abcdef", 4), "abcdef");
}

TEST(Text, APictureHasHalfAsManyRows) {
  const std::vector<float> pixels = {0, 1, 0, 1};
  EXPECT_EQ(half_block_picture({pixels.data(), 4}, 2, 2, false), " █\n");
  const std::vector<float> wild = {NAN, -5, INFINITY, 7};
  EXPECT_EQ(half_block_picture({wild.data(), 4}, 4, 1, false), " \n█\n");
}

TEST(Text, AColouredPictureResetsEveryRow) {
  const std::vector<float> pixels = {0, 1};
  EXPECT_EQ(half_block_picture({pixels.data(), 2}, 2, 1, true), "\x1b[38;5;232;48;5;255m▀\x1b[0m\n");
}

TEST(Progress, EstimatesFromTheStepsBehind) {
  EXPECT_EQ(progress_line("compiling", "import", 0, 40, 1.2), "compiling: import, 1 s");
  EXPECT_EQ(progress_line("compiling", "plan", 30, 40, 6), "compiling: plan, 6 s, about 2 s left");
  EXPECT_EQ(progress_line("compiling", "emit", 40, 40, 6), "compiling: emit, 6 s");
}

TEST(Text, NoColourGoesToAFile) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(colour_allowed(file));
  std::fclose(file);
}

}  // namespace
}  // namespace wick::cli
