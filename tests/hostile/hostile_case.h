// One made file, what the tool must answer, and the bounds it must keep (SECURITY.md).
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace wick::testing {

struct HostileCase {
  const char* name;  // with the extension
  std::function<std::string()> make;
  std::vector<int> exit_codes;
  std::string says = {};                  // part of the message; not asked for where the exit code is 0
  std::vector<std::string> command = {};  // "@" stands for the file; default: verify @
  uint64_t may_ask_bytes = 0;             // memory that the file may ask for beyond loading it
};

/// Fails the current test unless exit code, message, time (10 s) and memory (4 x file + 16 x its JSON + 64 MB) are
/// right.
void expect_harmless(const HostileCase& test);

}  // namespace wick::testing
