// The example as a user runs it: compiled, then decoding on the twin. Eager's tokens are the truth.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "cli/arrays/npz.h"
#include "tests/support/scratch_folder.h"

namespace wick {
namespace {

const std::string kFolder = "tests/fixtures/decoder/";

std::string numbers(const std::vector<cli::NamedArray>& arrays, const char* name, size_t* count) {
  std::string text;
  for (const cli::NamedArray& array : arrays) {
    if (array.name != name) continue;
    *count = array.bytes.size() / sizeof(int64_t);
    for (size_t i = 0; i < *count; ++i) {
      int64_t number = 0;
      std::memcpy(&number, &array.bytes[i * sizeof number], sizeof number);
      text += (i ? " " : "") + std::to_string(number);
    }
  }
  return text;
}

TEST(DecodeTokens, GivesEagersTokens) {
  const testing::ScratchFolder folder;
  const std::string program = folder.file("decoder.pte"), twin = folder.file("twin.so"), out = folder.file("out");
  const std::string compile = "'" WICK_BINARY "' compile prefill=" + kFolder + "prefill.pt2 decode=" + kFolder +
                              "decode.pt2 -o " + program + " --backend cuda --gpu none --twin " + twin +
                              " --caller-io --require-full-delegation >" + out;
  ASSERT_EQ(std::system(compile.c_str()), 0);
  const auto arrays = cli::read_arrays(kFolder + "tokens.npz");
  ASSERT_TRUE(arrays.ok());
  for (const std::string before : {"", "other_"}) {
    size_t length = 0, count = 0;
    const std::string prompt = numbers(*arrays, (before + "prompt").c_str(), &length);
    const std::string tokens = numbers(*arrays, (before + "tokens").c_str(), &count);
    const std::string run = "'" DECODE_TOKENS_BINARY "' " + program + " cuda-twin=" + twin + " " +
                            std::to_string(count) + " " + prompt + " >" + out;
    ASSERT_EQ(std::system(run.c_str()), 0);
    std::ifstream file(out);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), tokens + "\n");
  }
}

}  // namespace
}  // namespace wick
