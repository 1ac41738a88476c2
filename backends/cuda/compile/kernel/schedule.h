// How threads share the work of a kernel: chooses a schedule from facts about the kernel. C++20.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "backends/cuda/compile/kernel/loop_kernel.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

/// Multiprocessors of the device that schedules are chosen for.
constexpr int64_t kMultiprocessors = 132;

struct LoweredGraph;

enum class ScheduleKind : uint8_t {
  map,             // no columns: a thread for each row, or for `vector` adjacent rows
  turned_map,      // a map by squares in shared memory: loads and stores have neighbours along different loops
  unrolled,        // a thread for `vector` adjacent rows, each written out, as their loads are not vectors
  thread_per_row,  // a thread walks over the columns
  warp_per_row,
  strands,  // a thread takes `vector` adjacent rows and every n-th column of them, n = `strands`
  block_per_row,
  fma_tiles,           // a contraction: a block computes a tile, each thread a part of it
  matrix_tiles,        // the same, by matrix instructions
  tf32_tiles,          // the same for f32 factors, which are rounded to TF32
  warpgroup_tiles,     // the same for 16-bit factors, by instructions of four warps: for sm_90a
  matvec,              // a warp computes one column of the result for a few rows of the other factor
  matvec_tiles,        // the same for 16 or 32 columns, by matrix instructions
  query_per_block,     // attention: the warps of a block share the keys of a query
  query_tiles,         // attention: a block computes a tile of queries, key tile by key tile
  query_matrix_tiles,  // the same by matrix instructions
};

/// Lines of both factors that a block multiplies (m and n), and the steps of k that it takes at a time. For attention:
/// queries, keys and features.
struct Tile {
  uint32_t m = 0, n = 0, k = 0;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::map;
  uint32_t threads = 256;             // in a block
  Tile tile = {};                     // for kinds that have tiles
  uint32_t warps_m = 1, warps_n = 1;  // warps along m and n that share a tile
  // tiles of each factor in shared memory: copies run ahead by stages - 1, by one less for warpgroup_tiles
  uint32_t stages = 1;
  uint32_t splits = 1;   // blocks that share a tile: each takes a part of k, or of the keys
  uint32_t vector = 1;   // elements that a thread loads or stores at once
  uint32_t strands = 1;  // threads of a block that share the columns of a row
  uint32_t lanes = 32;   // warp_per_row: lanes per row, fewer than 32 if rows are short
  // vectors of a row that a thread keeps in registers for all walks over it; 0: each walk loads them again
  uint32_t held = 0;
};

/// Facts that determine the schedule of a contraction. Sizes are upper bounds.
struct ContractionFacts {
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool by_matrices = false;    // both factors have 16 bits
  bool by_tf32 = false;        // f32 factors, rounded to TF32
  bool by_warpgroups = false;  // instructions of four warps may be used: copies bring both factors
  /// Whether asynchronous copies bring at least one factor.
  bool copies = false;
  uint32_t norms = 0;         // f32 values per line of the normed factor that shared memory holds besides the tiles
  bool norms_m = false;       // the normed factor is the one along m
  double cost_of_result = 1;  // of the epilogue; 1: the result is only stored
};
/// The tile and the number of splits that are the fastest by a model of a device with kMultiprocessors. The model
/// counts nanoseconds for factors of 16 bits, else clock cycles.
Schedule choose_tiles(const ContractionFacts& facts);

/// Bytes of shared memory of a kernel: the most without a request to the driver, and the most on every device that
/// there is code for (compute capability 12.x has 99 KB, of which the driver takes 1).
constexpr uint32_t kPlainSharedBytes = 48 << 10, kMostSharedBytes = 98 << 10;
/// The same for warpgroup_tiles.
constexpr uint32_t kMostWarpgroupBytes = 226 << 10;
/// warpgroup_tiles: the steps of k of a tile, and how many of the `stages` copies must not overwrite: the instructions
/// still read these.
constexpr uint32_t kWarpgroupDepth = 64, kTilesInUse = 2;
/// The chunks (16 bytes) that a row of a tile occupies if it has `chunks` chunks of elements (tile_layout.h).
constexpr uint32_t padded_chunks(uint32_t chunks) {
  return chunks % 8 == 0 || chunks % 2 != 0 || chunks == 2 || chunks == 4 ? chunks : chunks + 1;
}
/// fma_tiles: lanes of a warp along m and along n.
constexpr uint32_t kLanesM = 4, kLanesN = 8;
/// Lanes that norm a line of a factor together.
constexpr uint32_t kLanesOfNorm = 8;
/// Floats between two rows of results in shared memory, which put the rows into different banks.
constexpr uint32_t kResultPadding = 8;
/// For a contraction: bytes of its tiles in shared memory, and of the smallest part of the results that passes through
/// there.
uint32_t bytes_of_tiles(const Schedule& schedule);
uint32_t bytes_of_results(const Schedule& schedule);

/// The steps of the normed factor, which lies along m or n, if a block can keep all of them in shared memory beside the
/// tiles of the other factor: each line is then read and normed once. 0 if they are too many, or the tiles are not
/// matrix_tiles of fitting size.
uint32_t panel_steps(const Schedule& schedule, bool along_m, int64_t steps);

/// The same for attention: `batch` problems of `queries` and `keys`, with `features` of each query and key, and
/// `results` of each value.
struct AttentionFacts {
  int64_t queries = 0, keys = 0, batch = 1, features = 0, results = 0;
  bool by_matrices = false;
};
/// Features and results of a tile, padded with zeros.
struct AttentionWidths {
  uint32_t features = 0, results = 0;
};
AttentionWidths attention_widths(const AttentionFacts& facts);
/// Tiles of queries. Query by query if the factors are f32 and queries are few, or if no tile fits into shared memory.
Schedule choose_attention(const AttentionFacts& facts);
constexpr uint32_t kThreadsOfQuery = 128;

/// Splits the reductions into walks over the columns: reductions that do not read each other's results share one.
/// Returns the index behind each walk's last reduction.
std::vector<size_t> ends_of_walks(const LoopKernel& kernel);
/// The loads that depend on the column and occur in more than one walk; the column stores count as a walk. With
/// `vector` > 1, only loads that are vectors over neighbouring columns.
std::vector<ExpressionPtr> loads_of_walks(LoweredGraph& graph, const LoopKernel& kernel, uint32_t vector);

/// The schedule of a map or of reductions. Depends on sizes at their upper bounds and on how the kernel reads memory.
Schedule choose_schedule(LoweredGraph& graph, const LoopKernel& kernel);

/// Nothing if the kernel's rows are not adjacent in memory, or are few.
std::optional<Schedule> choose_strands(LoweredGraph& graph, const LoopKernel& kernel);
/// For a map, or for reductions in one walk, whose stores are vectors although not all of its loads are: a schedule
/// with more than `vector` rows for each thread. Nothing if none is faster by an estimate.
std::optional<Schedule> choose_unrolled(LoweredGraph& graph, const LoopKernel& kernel, uint32_t vector);

/// For reports: "matrix tiles 64 x 64 x 32, 3 stages".
std::string schedule_text(const Schedule& schedule);
/// The arithmetic units that bound the kernel. Requires: it computes in f32 or less.
Arithmetic arithmetic_of(const Schedule& schedule);

}  // namespace wick::cuda
