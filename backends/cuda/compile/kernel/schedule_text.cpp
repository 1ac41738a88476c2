#include <fmt/format.h>

#include "backends/cuda/compile/kernel/schedule.h"

namespace wick::cuda {
namespace {

const char* name_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::map: return "map";
    case ScheduleKind::turned_map: return "turned map";
    case ScheduleKind::unrolled: return "rows written out";
    case ScheduleKind::thread_per_row: return "thread per row";
    case ScheduleKind::warp_per_row: return "warp per row";
    case ScheduleKind::strands: return "rows side by side";
    case ScheduleKind::block_per_row: return "block per row";
    case ScheduleKind::fma_tiles: return "tiles";
    case ScheduleKind::matrix_tiles: return "matrix tiles";
    case ScheduleKind::tf32_tiles: return "TF32 tiles";
    case ScheduleKind::warpgroup_tiles: return "warpgroup tiles";
    case ScheduleKind::matvec: return "warp per column";
    case ScheduleKind::matvec_tiles: return "warps per 16 columns";
    case ScheduleKind::query_per_block: return "block per query";
    case ScheduleKind::query_tiles: return "query tiles";
    case ScheduleKind::query_matrix_tiles: return "query matrix tiles";
  }
  return "";
}

}  // namespace

std::string schedule_text(const Schedule& schedule) {
  std::string text = name_of(schedule.kind);
  if (schedule.tile.m > 0) text += fmt::format(" {} x {}", schedule.tile.m, schedule.tile.n);
  if (schedule.tile.k > 0) text += fmt::format(" x {}", schedule.tile.k);
  if (schedule.stages > 1) text += fmt::format(", {} stages", schedule.stages);
  if (schedule.splits > 1) text += fmt::format(", {} splits", schedule.splits);
  if (schedule.vector > 1) text += fmt::format(", vectors of {}", schedule.vector);
  if (schedule.strands > 1) text += fmt::format(", {} strands", schedule.strands);
  if (schedule.lanes < 32) text += fmt::format(", {} lanes", schedule.lanes);
  if (schedule.held > 0) text += fmt::format(", {} held", schedule.held);
  return text;
}

Arithmetic arithmetic_of(const Schedule& schedule) {
  switch (schedule.kind) {
    case ScheduleKind::matrix_tiles:
    case ScheduleKind::matvec_tiles:
    case ScheduleKind::query_matrix_tiles: return Arithmetic::matrix_f16;
    case ScheduleKind::tf32_tiles: return Arithmetic::matrix_tf32;
    case ScheduleKind::warpgroup_tiles: return Arithmetic::matrix_warpgroup;
    default: return Arithmetic::f32;
  }
}

}  // namespace wick::cuda
