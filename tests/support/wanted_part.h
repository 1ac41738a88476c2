// Which part of a test's generated cases runs: WICK_CASES_PART=3/16 in the environment says every 16th, from number 3
// on.
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace wick::testing {

struct Part {
  size_t first = 0, step = 1;
  bool has(size_t number) const { return number % step == first; }
};

/// All cases if the variable is not set; nothing for a text like 5/1 or 16/16, which names no part.
inline std::optional<Part> wanted_part() {
  const char* const text = std::getenv("WICK_CASES_PART");  // NOLINT(concurrency-mt-unsafe)
  Part part;
  int length = 0;
  if (text && (std::sscanf(text, "%zu/%zu%n", &part.first, &part.step, &length) != 2 || text[length] != '\0' ||
               part.first >= part.step))
    return std::nullopt;
  return part;
}

}  // namespace wick::testing
