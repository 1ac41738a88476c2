#include "wick/error_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wick {
namespace {

TEST(ErrorText, WritesNumbersInDecimal) {
  char buffer[32];
  ErrorText text(buffer);
  std::vector<uint64_t> numbers = {0, UINT64_MAX, uint64_t{1} << 63};
  for (uint64_t power = 10; power < UINT64_MAX / 10; power *= 10) numbers.insert(numbers.end(), {power - 1, power});
  for (int shift = 1; shift < 64; ++shift)
    numbers.insert(numbers.end(), {(uint64_t{1} << shift) - 1, uint64_t{7} << shift});
  for (const uint64_t number : numbers) {
    text.clear();
    text.append(number);
    EXPECT_EQ(text.c_str(), std::to_string(number));
    text.clear();
    text.append(static_cast<int64_t>(number));
    EXPECT_EQ(text.c_str(), std::to_string(static_cast<int64_t>(number)));
  }
}

TEST(ErrorText, CutsWhatDoesNotFit) {
  char buffer[6];
  ErrorText text(buffer);
  text.append("abc", uint64_t{12345});
  EXPECT_STREQ(text.c_str(), "abc12");
}

}  // namespace
}  // namespace wick
