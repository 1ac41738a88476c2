// Where each arena storage lies.
#pragma once
#include <string>

#include "compiler/plan/method_plan.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// Delegates may read, but not use, this many bytes after a tensor. As many bytes follow the last tensor of an arena.
constexpr uint64_t kReadBehindBytes = 128;

/// Gives every arena storage and state an offset (a multiple of 16) and sets arena_bytes and arena_lower_bound_bytes
/// (the largest sum of bytes alive at one instruction). Places blocks one by one into the best-fitting gap. Tries
/// several orders: largest first, longest-lived first, those alive at the peak first, and others. In each order, the
/// block that makes the arena too large moves to the front, repeatedly. The smallest arena wins.
/// Storages that only delegates of one device read and write lie in an arena of that device, placed in the same way.
void plan_memory(MethodPlan& plan);

/// Why a planned arena is larger than its lower bound, in one sentence; "" for an arena that reaches it.
std::string above_lower_bound(const MethodPlan& plan);

/// Takes inputs and outputs out of the arena if their memory holds no other tensors. The caller gives their pointers at
/// run time. Call it before plan_memory.
void leave_io_to_caller(MethodPlan& plan);

/// Proves that no two storages alive at the same instruction overlap and that every tensor lies inside its storage.
Status verify_plan(const MethodPlan& plan);

/// Draws the plan as text: one line per storage, offset over time, and what is alive at the peak.
std::string draw_plan(const MethodPlan& plan);

}  // namespace wick::compiler
