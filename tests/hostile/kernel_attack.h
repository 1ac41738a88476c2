// Attacks the kernels of compiled programs through their arguments, in processes of their own. C++20.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/fuzz/argument_edit.h"

namespace wick::testing {

/// A program whose arguments are changed, and the bytes of its inputs.
struct AttackedProgram {
  std::vector<uint8_t> pte;
  std::vector<std::vector<uint8_t>> inputs;
  fuzz::Room room = fuzz::Room::more;  // of results
};
/// Programs under one name; made in the process that attacks them.
struct AttackedGroup {
  std::string name;
  std::function<std::vector<AttackedProgram>()> make;
};
struct AttackCounts {
  uint64_t programs = 0, executed = 0, succeeded = 0;  // programs; changed ones; of these, with a result
};

/// Runs each program as it is, then with each number among the arguments at its edges, several at once, lists of other
/// lengths, tensors exchanged, laid over each other, and of other dtypes and shapes: `combinations` of such changes for
/// each four numbers. Always the same. A crash or a hang of a group fails the current test with its name, and the rest
/// still gets its turn.
AttackCounts attack_kernels(const std::vector<AttackedGroup>& groups, size_t combinations);

}  // namespace wick::testing
