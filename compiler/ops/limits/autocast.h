// Which operators torch.autocast casts.
#pragma once
#include <cstdint>

#include "compiler/ir/graph.h"

namespace wick::compiler {

enum class Autocast : uint8_t {
  keeps,   // f32 stays f32
  lowers,  // casts its f32 operands, so the result has the region's dtype
  mixes,   // casts the operands of some matmuls inside, but its result stays f32: no dtype in a file shows it
};

/// The cast of f32 operands on the CPU, or on another device. `args` has an entry for each argument of the schema.
Autocast autocast_of(const OpDef& def, const Args& args, bool on_cpu);

}  // namespace wick::compiler
