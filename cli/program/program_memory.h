// Describes the arena of a program over time, as text and as a picture.
#pragma once
#include <string>
#include <vector>

#include "compiler/plan/method_plan.h"
#include "wick/program.h"

namespace wick::cli {

/// A range of the arena and when it holds something; both instructions included. A state lives throughout.
struct ArenaBlock {
  uint64_t offset = 0, size_bytes = 0;
  uint32_t first = 0, last = 0;
  bool state = false;
  std::string label;
};

struct ArenaPicture {
  uint64_t arena_bytes = 0, lower_bound_bytes = 0;
  std::string above_lower_bound;  // why the arena is larger than the lower bound, if the plan is known
  uint32_t num_instructions = 0;
  std::vector<ArenaBlock> blocks;  // by offset, then time
};

ArenaPicture arena_picture(const compiler::MethodPlan& plan);
/// From the tensors of arena 1 (ExecuTorch's first) and the instructions that name them; labels are value numbers or
/// names.
ArenaPicture arena_picture(const MethodMeta& method);

/// The blocks that are alive at the instruction with the most live bytes, largest first.
struct Peak {
  uint32_t instruction = 0;
  uint64_t live_bytes = 0;
  std::vector<const ArenaBlock*> owners;
};
Peak peak_of(const ArenaPicture& picture);
/// The live bytes at each instruction; empty for programs too large for anyone to read it.
std::vector<uint64_t> live_bytes(const ArenaPicture& picture);

/// One line per block, time from left to right.
std::string to_text(const ArenaPicture& picture);
/// A self-contained SVG: time from left to right, addresses from bottom to top.
std::string to_svg(const ArenaPicture& picture, const std::string& title);

}  // namespace wick::cli
