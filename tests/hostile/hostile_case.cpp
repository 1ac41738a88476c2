#include "tests/hostile/hostile_case.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/hostile/run_wick.h"

namespace wick::testing {
namespace {

#ifdef WICK_SANITIZED
constexpr bool kMeasured = false;  // sanitizers take memory and time of their own
#else
constexpr bool kMeasured = true;
#endif

uint64_t own_bytes() {
  static const uint64_t bytes = run_wick({"--version"}).peak_bytes;
  return bytes;
}

// What is wrong, and where, or what to do about it.
bool explains(const std::string& text) {
  for (const char* line : {"\n  help ", "\n  found ", "\n  note ", "\n  at "}) {
    if (text.find(line) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void expect_harmless(const HostileCase& test) {
  SCOPED_TRACE(test.name);
  const std::string path = made_file(test.name, test.make);
  std::vector<std::string> args = test.command;
  if (args.empty()) args = {"verify", "@"};
  std::replace(args.begin(), args.end(), std::string("@"), path);
  const Outcome outcome = run_wick(args);
  const uint64_t size = file_bytes(path);
  const bool has_json = path.ends_with(".pt2");
  const uint64_t bound = (has_json ? 20 : 4) * size + (uint64_t{64} << 20) + own_bytes() + test.may_ask_bytes;
  EXPECT_EQ(outcome.signal, 0) << outcome.output;
  EXPECT_TRUE(std::count(test.exit_codes.begin(), test.exit_codes.end(), outcome.exit_code))
      << "exit code " << outcome.exit_code << "\n"
      << outcome.output.substr(0, 2000);
  if (outcome.exit_code != 0) {
    EXPECT_NE(outcome.output.find(test.says), std::string::npos) << outcome.output.substr(0, 2000);
    EXPECT_TRUE(explains(outcome.output)) << outcome.output.substr(0, 2000);
    EXPECT_LT(outcome.output.size(), 20000u);
  }
  if (kMeasured) {
    EXPECT_LT(outcome.seconds, 10) << size << " bytes";
    EXPECT_LT(outcome.peak_bytes, bound) << size << " bytes";
  }
  std::printf("%-34s exit %d, %5.2f s, %6.1f MB of %6.1f, file %.2f MB\n", test.name, outcome.exit_code,
              outcome.seconds, static_cast<double>(outcome.peak_bytes) / 1e6, static_cast<double>(bound) / 1e6,
              static_cast<double>(size) / 1e6);
  std::remove(path.c_str());
}

}  // namespace wick::testing
