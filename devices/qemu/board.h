// Boards that QEMU emulates, and the files of this installation that run on them.
#pragma once
#include <string>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::device {

struct Board {
  const char* device;       // as the user names it
  const char* description;  // core, board
  const char* machine;      // as QEMU names it
  const char* preset;       // the build preset of its runner
};
Span<const Board> boards();

/// Files that a board needs.
struct BoardFiles {
  std::string runner;     // the firmware that loads and calls programs
  std::string parts;      // everything that a firmware may link, in one object
  std::string gcc_parts;  // the same compiled by GCC; "" if it was not built
  std::string counter;    // QEMU's plugin that counts instructions; "" if it was not built
  std::string qemu;       // path of the QEMU executable
};
/// Looks for the runner in WICK_DEVICES if that is set, beside an installed tool, and in the build folder.
/// Errors: usage, with what to install or build.
compiler::Result<BoardFiles> find_files(const Board& board);

}  // namespace wick::device
