// How threads share the work of a kernel: facts about it in, a schedule out. C++20.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

/// Of the device that schedules are chosen for.
constexpr int64_t kMultiprocessors = 132;

struct LoweredGraph;

enum class ScheduleKind : uint8_t {
  map,             // no columns: a thread for each row, or for `vector` rows
  turned_map,      // the same by squares, where loads and stores have neighbours along different loops
  unrolled,        // a thread for `vector` rows, of which each is written out: they read what is no vector
  thread_per_row,  // a thread walks over the columns
  warp_per_row,
  strands,  // a thread walks over a part of the columns, the same of `vector` rows that lie side by side
  block_per_row,
  fma_tiles,           // a contraction: a block computes a tile, each thread a part of it
  matrix_tiles,        // the same by matrix instructions
  tf32_tiles,          // the same of f32 factors, which are rounded to TF32
  warpgroup_tiles,     // the same of 16-bit factors by instructions of four warps: for sm_90a
  matvec,              // a warp computes one column of the result for a few rows of the other factor
  matvec_tiles,        // .. 16 columns, by matrix instructions
  query_per_block,     // attention: the warps of a block share the keys of a query
  query_tiles,         // attention: a block computes a tile of queries, key tile by key tile
  query_matrix_tiles,  // the same by matrix instructions
};

/// Lines of both factors that a block multiplies, and the steps of k that it takes at a time. Attention: queries, keys
/// and features.
struct Tile {
  uint32_t m = 0, n = 0, k = 0;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::map;
  uint32_t threads = 256;             // of a block
  Tile tile = {};                     // of kinds that have tiles
  uint32_t warps_m = 1, warps_n = 1;  // how the warps share the tile
  uint32_t stages = 1;                // tiles of each factor in shared memory: copies run ahead by stages - 1
  uint32_t splits = 1;                // blocks that share a tile: parts of k, or of the keys
  uint32_t vector = 1;                // elements that a thread loads or stores at once
  uint32_t strands = 1;               // parts of the columns that threads of a block take
  uint32_t lanes = 32;                // warp_per_row: of each row, if it is short
  uint32_t held = 0;                  // vectors of a row that each thread holds for all walks over it; 0: loads again
};

/// What the schedule of a contraction depends on, at the upper bounds of sizes.
struct ContractionFacts {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool by_matrices = false;    // 16-bit factors
  bool by_tf32 = false;        // f32 factors, rounded to TF32
  bool by_warpgroups = false;  // also by instructions of four warps, which read tiles that copies bring
  /// Whether asynchronous copies bring at least one of the factors.
  bool copies = false;
  uint32_t norms = 0;         // numbers of each line of one factor that shared memory holds, besides the tiles
  bool norms_m = false;       // of the factor along m
  double cost_of_result = 1;  // of what is done to a sum until it is stored; 1: little
};
/// Of all tiles, and of all numbers of splits, the one that takes the fewest clock cycles by a model of a device of
/// kMultiprocessors.
Schedule choose_tiles(const ContractionFacts& facts);

/// Bytes of shared memory that a kernel may have: without asking the driver, and at all on every device that there is
/// code for (99 KB on those of compute capability 12.x, 1 of them the driver's).
constexpr uint32_t kPlainSharedBytes = 48 << 10, kMostSharedBytes = 98 << 10;
/// .. and that tiles of a warpgroup may have.
constexpr uint32_t kMostWarpgroupBytes = 226 << 10;
/// The steps of k of their tiles, and how many tiles copies are not ahead of the ones that are multiplied.
constexpr uint32_t kWarpgroupDepth = 64, kTilesInUse = 2;
/// The chunks of 16 bytes that a row of a tile takes if it has `chunks` of its own (tile_layout.h).
constexpr uint32_t padded_chunks(uint32_t chunks) {
  return chunks % 8 == 0 || chunks % 2 != 0 || chunks == 2 || chunks == 4 ? chunks : chunks + 1;
}
/// Lanes of a warp along m and n, where each thread has lines of its own.
constexpr uint32_t kLanesM = 4, kLanesN = 8;
/// Lanes that norm a line of a factor together.
constexpr uint32_t kLanesOfNorm = 8;
/// Floats between two rows of results in shared memory, so that they lie in different banks.
constexpr uint32_t kResultPadding = 8;
/// Of a contraction: bytes of its tiles in shared memory, and of the rows of results that pass through there at least.
uint32_t bytes_of_tiles(const Schedule& schedule);
uint32_t bytes_of_results(const Schedule& schedule);

/// Of a factor with norms along m or n: its steps if a block keeps all of them in shared memory beside the other
/// factor's tiles, so that each line is read and normed once. 0: too many, or they fit no tile of 16-bit factors.
uint32_t panel_steps(const Schedule& schedule, bool along_m, int64_t steps);

/// The same of attention: `batch` problems of `queries` and `keys`, with `features` of each query and key and `results`
/// of each value.
struct AttentionFacts {
  int64_t queries = 0, keys = 0, batch = 1, features = 0, results = 0;
  bool by_matrices = false;
};
/// Features and results as tiles hold them, padded by zeros.
struct AttentionWidths {
  uint32_t features = 0, results = 0;
};
AttentionWidths attention_widths(const AttentionFacts& facts);
/// Tiles of queries; query by query where there are few of f32, or the features do not fit into shared memory.
Schedule choose_attention(const AttentionFacts& facts);
constexpr uint32_t kThreadsOfQuery = 128;

/// Where walks over the columns end: reductions that read no results of each other share one.
std::vector<size_t> ends_of_walks(const LoopKernel& kernel);
/// Loads of more than one walk, stores among them, that differ by column: of each, neighbouring columns are a vector.
std::vector<ExpressionPtr> loads_of_walks(LoweredGraph& graph, const LoopKernel& kernel, uint32_t vector);

/// The schedule of a map or of reductions, from sizes at their upper bounds and from how it reads memory.
Schedule choose_schedule(LoweredGraph& graph, const LoopKernel& kernel);

/// Nothing if the kernel's rows do not lie side by side, or are few.
std::optional<Schedule> choose_strands(LoweredGraph& graph, const LoopKernel& kernel);
/// Of a map, or of reductions in one walk, whose stores are vectors though its loads are not all: of more rows than
/// `vector`. Nothing if that takes no less time.
std::optional<Schedule> choose_unrolled(LoweredGraph& graph, const LoopKernel& kernel, uint32_t vector);

/// To read: "matrix tiles 64 x 64 x 32, 3 stages".
std::string schedule_text(const Schedule& schedule);
/// Of a kernel that computes in no more than f32.
Arithmetic arithmetic_of(const Schedule& schedule);

}  // namespace wick::cuda
