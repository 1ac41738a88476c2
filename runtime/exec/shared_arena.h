// Mutable buffers that several methods of a program share. C++17, freestanding.
#pragma once
#include "wick/program.h"

namespace wick {

/// The arena of shared buffers.
constexpr size_t kSharedArena = 1;

/// Methods that share mutable buffers keep them in the second arena, of one size in all of them; all further arenas are
/// on devices. Loading a method sets its buffers to their initial values, so such methods are loaded together, before
/// the first call.
inline bool shares_arena(const Program& program) {
  if (program.num_methods() < 2) return false;
  const uint64_t size_bytes = program.method(0).num_arenas() > kSharedArena ? program.method(0).arena_bytes(1) : 0;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const MethodMeta meta = program.method(i);
    if (meta.num_arenas() <= kSharedArena || meta.arena_bytes(kSharedArena) != size_bytes) return false;
    if (meta.arena_device(kSharedArena) != 0) return false;
    for (size_t k = kSharedArena + 1; k < meta.num_arenas(); ++k) {
      if (meta.arena_device(k) == 0) return false;
    }
  }
  return true;
}

}  // namespace wick
