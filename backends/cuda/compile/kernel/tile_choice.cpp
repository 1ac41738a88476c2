// Chooses tiles for contractions and attention.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/cuda/compile/kernel/schedule.h"

namespace wick::cuda {
namespace {

// The model for f32 factors: clock cycles and bytes of one multiprocessor.
constexpr double kTf32FlopsPerClock = 1300, kFmaFlopsPerClock = 230;
constexpr double kBytesPerClock = 32;     // from the L2 cache
constexpr double kBlocksAtOnce = 4;       // limited by shared memory and registers
constexpr double kClocksPerStep = 150;    // in which a block waits for its copies and barriers
constexpr double kClocksPerBlock = 1500;  // first loads, stores
constexpr double kClocksPerMerge = 2500;  // if k is split: partial sums become visible, and the last block reads them
constexpr int64_t kMostSplits = 16;
constexpr int64_t kFewestStepsPerSplit = 2;

struct Row {
  Tile tile;
  uint32_t warps_m, warps_n, stages;
};
// Larger tiles come first: of equally fast rows the first is chosen. Each warp has at least 16 lines of each factor.
constexpr std::array<Row, 7> kTf32Rows = {{{{128, 128, 16}, 2, 4, 3},
                                           {{128, 64, 16}, 2, 2, 4},
                                           {{64, 128, 16}, 2, 2, 4},
                                           {{64, 64, 32}, 2, 2, 3},
                                           {{64, 32, 32}, 2, 2, 4},
                                           {{32, 64, 32}, 2, 2, 4},
                                           {{32, 32, 32}, 2, 2, 4}}};
constexpr std::array<Row, 6> kFmaRows = {{{{128, 128, 16}, 4, 2, 3},
                                          {{128, 64, 16}, 4, 1, 4},
                                          {{64, 128, 16}, 2, 2, 4},
                                          {{64, 64, 32}, 2, 2, 3},
                                          {{64, 32, 32}, 4, 1, 4},
                                          {{32, 32, 32}, 2, 1, 4}}};

// Tiles for matrix instructions of 16-bit factors. Each warp has at least 16 lines of each factor.
struct Shape {
  uint32_t m, n, warps_m, warps_n;
};
constexpr std::array<Shape, 18> kMatrixShapes = {{{128, 256, 2, 4},
                                                  {128, 128, 2, 2},
                                                  {128, 128, 2, 4},
                                                  {128, 96, 4, 2},
                                                  {128, 64, 4, 2},
                                                  {64, 128, 2, 4},
                                                  {96, 96, 2, 2},
                                                  {96, 64, 2, 2},
                                                  {64, 96, 2, 2},
                                                  {64, 64, 2, 2},
                                                  {48, 96, 3, 2},
                                                  {48, 64, 3, 2},
                                                  {64, 32, 2, 2},
                                                  {32, 64, 2, 4},
                                                  {32, 64, 2, 2},
                                                  {32, 32, 2, 2},
                                                  {64, 16, 4, 1},
                                                  {16, 64, 1, 4}}};
constexpr std::array<uint32_t, 3> kMatrixDepths = {128, 64, 32};
constexpr uint32_t kMostMatrixStages = 4;
// Tiles for instructions of four warps. Each instruction takes 64 lines along m and all of the tile's lines along n.
constexpr std::array<Shape, 6> kWarpgroupShapes = {
    {{128, 256, 8, 1}, {128, 128, 8, 1}, {64, 256, 4, 1}, {128, 64, 8, 1}, {64, 128, 4, 1}, {64, 64, 4, 1}}};
constexpr uint32_t kMostWarpgroupStages = 4;
// The model for factors of 16 bits: nanoseconds of the busiest multiprocessor, which runs its blocks in rounds of as
// many as fit. Fitted to times of 120 kernels of 20 shapes, measured on an H100.
constexpr double kNsPerRound = 98, kNsPerStep = 176, kNsPerMegaFlop = 432, kNsPerKilobyte = 2.9;
// Assumed, not measured: 60 % of the data sheet's rate. The rest of the model is the same.
constexpr double kNsPerMegaFlopOfWarpgroups = 222;
constexpr double kNsPerResult = 14.3, kNsPerNormedElement = 22.3;  // per thread
constexpr double kNsOfMerge = 500, kNsPerSplit = 200, kNsPerMergedResult = 31.7;
constexpr uint32_t kSharedBytesOfMultiprocessor = 227 << 10, kWarpsOfMultiprocessor = 64;
constexpr uint32_t kRegistersOfMultiprocessor = 65536, kRegistersBesideSums = 60, kMostRegisters = 255;

int64_t quotient_up(int64_t a, int64_t b) { return a / b + (a % b != 0); }

uint32_t element_bytes(const ContractionFacts& facts) { return facts.by_matrices ? 2 : 4; }

double flops_per_clock(const ContractionFacts& facts) { return facts.by_tf32 ? kTf32FlopsPerClock : kFmaFlopsPerClock; }

// The most elements of the next tile that a thread can hold in registers, besides the parts of their addresses that
// steps share. With more, registers spill.
constexpr uint32_t kMostHeldElements = 24, kMostHeldOfMatrices = 32;

// Adapts a row to the facts: without copies, halves the steps until a thread can hold its elements.
Row fitted(const ContractionFacts& facts, Row row) {
  const auto held = [&] { return (row.tile.m + row.tile.n) * row.tile.k / (32 * row.warps_m * row.warps_n); };
  const uint32_t most = facts.by_matrices ? kMostHeldOfMatrices : kMostHeldElements;
  while (!facts.copies && held() > most && row.tile.k > 16) row.tile.k /= 2;
  return row;
}

uint32_t stages_that_fit(const ContractionFacts& facts, const Row& row) {
  const uint32_t stage = (row.tile.m + row.tile.n) * row.tile.k * element_bytes(facts);
  const uint32_t norms = facts.norms * std::max(row.tile.m, row.tile.n) * 4;
  return std::min(row.stages, std::max((kMostSharedBytes - norms) / stage, 2u));
}

double count_tiles(const ContractionFacts& facts, const Tile& tile) {
  return static_cast<double>(quotient_up(facts.m, tile.m)) * static_cast<double>(quotient_up(facts.n, tile.n)) *
         static_cast<double>(facts.batch);
}

double clocks(const ContractionFacts& facts, const Row& row, int64_t splits) {
  const double tile_m = row.tile.m, tile_n = row.tile.n, tile_k = row.tile.k;
  const double blocks =
      std::ceil(count_tiles(facts, row.tile) * static_cast<double>(splits) / kMultiprocessors);  // of the busiest one
  const auto steps = static_cast<double>(quotient_up(quotient_up(facts.k, row.tile.k), splits));
  const double arithmetic = blocks * steps * 2 * tile_m * tile_n * tile_k / flops_per_clock(facts);
  const double bytes = blocks * steps * (tile_m + tile_n) * tile_k * element_bytes(facts);
  const double partial_bytes = splits > 1 ? blocks * tile_m * tile_n * 4 * 2 : 0;
  const double waiting = std::ceil(blocks / kBlocksAtOnce) * (steps * kClocksPerStep + kClocksPerBlock);
  return std::max(arithmetic, (bytes + partial_bytes) / kBytesPerClock) + waiting + (splits > 1 ? kClocksPerMerge : 0);
}

double nanoseconds(const ContractionFacts& facts, const Schedule& schedule) {
  const Tile& tile = schedule.tile;
  const double m = tile.m, n = tile.n, k = tile.k;
  const uint32_t warps = schedule.warps_m * schedule.warps_n, threads = 32 * warps;
  const int64_t steps = quotient_up(quotient_up(facts.k, tile.k), schedule.splits);
  const double splits = schedule.splits, blocks = std::ceil(count_tiles(facts, tile) * splits / kMultiprocessors);
  const double results = m * n / threads;  // of a thread
  const auto registers = std::min(kMostRegisters, kRegistersBesideSums + 2 * tile.m * tile.n / threads) * threads;
  const uint32_t shared = schedule.stages * (tile.m + tile.n) * tile.k * element_bytes(facts);
  const uint32_t resident =
      std::max(1u, std::min({kSharedBytesOfMultiprocessor / shared, kWarpsOfMultiprocessor / warps,
                             kRegistersOfMultiprocessor / registers}));
  const double rounds = std::ceil(blocks / resident), all_steps = blocks * static_cast<double>(steps);
  const int64_t lines = facts.norms == 0 ? 0 : facts.norms_m ? tile.m : tile.n;
  double normed = blocks * static_cast<double>(lines * facts.k) / threads;
  if (panel_steps(schedule, facts.norms_m, steps * tile.k) == 0) normed *= 3;
  const double stored = blocks / splits;
  const double per_mega_flop =
      schedule.kind == ScheduleKind::warpgroup_tiles ? kNsPerMegaFlopOfWarpgroups : kNsPerMegaFlop;
  return kNsPerRound * rounds + kNsPerStep * rounds * static_cast<double>(steps) +
         per_mega_flop * all_steps * 2 * m * n * k / 1e6 +
         kNsPerKilobyte * all_steps * (m + n) * k * element_bytes(facts) / 1e3 +
         kNsPerResult * facts.cost_of_result * stored * results + kNsPerNormedElement * normed +
         (splits > 1 ? kNsOfMerge + kNsPerSplit * splits + kNsPerMergedResult * blocks * results : 0);
}

constexpr double kBlocksOfAttention = 2;  // per multiprocessor: while one waits, another one computes
constexpr int64_t kFewestQueries = 16, kFewestKeyTilesPerSplit = 2;
constexpr uint32_t kMostResultsOfThread = 64;
// For tiles of few queries: the most splits of the keys, and blocks per multiprocessor, whose loads overlap.
constexpr int64_t kMostKeySplits = 32, kBlocksOfFewQueries = 3;
constexpr uint32_t kBytesOfBounds = 8 * 2 * 16 * 4;  // an upper bound: maximum and sum of 16 rows for each of 8 warps

// An upper bound of the bytes of a tile: rows of 16-byte chunks, padded as in tile_layout.h.
uint32_t tile_bytes(uint32_t rows, uint32_t width, uint32_t element_bytes) {
  return rows * padded_chunks(width * element_bytes / 16) * 16;
}

uint32_t shared_bytes(const AttentionWidths& widths, const Tile& tile, uint32_t stages, bool by_matrices) {
  const uint32_t element = by_matrices ? 2 : 4;
  return tile_bytes(tile.m, widths.features, element) +
         stages * (tile_bytes(tile.n, widths.features, element) + tile_bytes(tile.n, widths.results, element)) +
         (by_matrices ? 0 : tile_bytes(tile.m, tile.n, element));
}

// Few queries: the warps of a block share the keys of a tile, all of which are loaded at once. Keys are split among
// more blocks until each has few of them.
Schedule schedule_of_few_queries(const AttentionFacts& facts) {
  Schedule out;
  out.kind = ScheduleKind::query_matrix_tiles;
  const AttentionWidths widths = attention_widths(facts);
  out.tile = {16, 128, widths.features};
  const auto too_large = [&] {
    return facts.keys <= out.tile.n / 2 || shared_bytes(widths, out.tile, 1, true) > kPlainSharedBytes - kBytesOfBounds;
  };
  while (out.tile.n > 32 && too_large()) out.tile.n /= 2;
  // The partial results of the warps replace the keys and values in shared memory, and must fit there.
  out.warps_n = out.tile.n / (facts.queries <= 8 ? 16 : 32);
  out.threads = 32 * out.warps_n;
  const int64_t tiles = quotient_up(facts.queries, out.tile.m) * facts.batch;
  const int64_t steps = quotient_up(facts.keys, out.tile.n);
  const int64_t wanted = quotient_up(kMultiprocessors * kBlocksOfFewQueries, tiles);
  const int64_t splits = std::clamp<int64_t>(std::min(wanted, steps), 1, kMostKeySplits);
  out.splits = static_cast<uint32_t>(quotient_up(steps, quotient_up(steps, splits)));
  return out;
}

Schedule schedule_of(const ContractionFacts& facts, const Row& row, int64_t splits) {
  Schedule out;
  out.kind = facts.by_matrices ? ScheduleKind::matrix_tiles
             : facts.by_tf32   ? ScheduleKind::tf32_tiles
                               : ScheduleKind::fma_tiles;
  out.threads = 32 * row.warps_m * row.warps_n;
  out.tile = row.tile;
  out.warps_m = row.warps_m;
  out.warps_n = row.warps_n;
  out.stages = facts.copies ? stages_that_fit(facts, row) : 2;
  out.splits = static_cast<uint32_t>(splits);
  return out;
}

// As many stages as fit, so that copies run ahead.
uint32_t matrix_stages(const ContractionFacts& facts, const Row& row) {
  const uint32_t stage = (row.tile.m + row.tile.n) * row.tile.k * element_bytes(facts);
  return std::min(kMostMatrixStages, (kMostSharedBytes - facts.norms * std::max(row.tile.m, row.tile.n) * 4) / stage);
}

struct Best {
  Schedule schedule;
  double least = std::numeric_limits<double>::infinity();
};

void take_if_faster(const ContractionFacts& facts, const Row& row, ScheduleKind kind, Best& best) {
  const int64_t steps = quotient_up(facts.k, row.tile.k);
  for (int64_t wanted = 1; wanted <= kMostSplits; ++wanted) {
    const bool fills = count_tiles(facts, row.tile) >= kMultiprocessors;
    if (wanted > 1 && (fills || steps / wanted < kFewestStepsPerSplit)) break;
    Schedule made = schedule_of(facts, row, quotient_up(steps, quotient_up(steps, wanted)));  // no split is empty
    made.kind = kind;
    made.stages = row.stages;
    const double taken = nanoseconds(facts, made);
    if (taken >= best.least || bytes_of_results(made) > bytes_of_tiles(made)) continue;
    best = {made, taken};
  }
}

Schedule best_of_matrices(const ContractionFacts& facts) {
  Best best;
  for (const Shape& shape : kMatrixShapes) {
    for (const uint32_t depth : kMatrixDepths) {
      Row row = fitted(facts, {{shape.m, shape.n, depth}, shape.warps_m, shape.warps_n, 2});
      if (facts.copies) row.stages = matrix_stages(facts, row);
      if (row.stages >= 2) take_if_faster(facts, row, ScheduleKind::matrix_tiles, best);
    }
  }
  if (!facts.by_warpgroups) return best.schedule;
  for (const Shape& shape : kWarpgroupShapes) {
    const uint32_t stage = (shape.m + shape.n) * kWarpgroupDepth * element_bytes(facts);
    const Row row = {{shape.m, shape.n, kWarpgroupDepth},
                     shape.warps_m,
                     shape.warps_n,
                     std::min(kMostWarpgroupStages, kMostWarpgroupBytes / stage)};
    take_if_faster(facts, row, ScheduleKind::warpgroup_tiles, best);
  }
  return best.schedule;
}

template <size_t kRows>
Schedule best(const ContractionFacts& facts, const std::array<Row, kRows>& rows) {
  Schedule out;
  double least = std::numeric_limits<double>::infinity();
  for (const Row& listed : rows) {
    const Row row = fitted(facts, listed);
    const int64_t steps = quotient_up(facts.k, row.tile.k);
    for (int64_t wanted = 1; wanted <= kMostSplits; ++wanted) {
      const bool fills = count_tiles(facts, row.tile) >= kMultiprocessors;
      if (wanted > 1 && (fills || steps / wanted < kFewestStepsPerSplit)) break;
      const int64_t splits = quotient_up(steps, quotient_up(steps, wanted));  // no split is empty
      const double taken = clocks(facts, row, splits);
      const Schedule made = schedule_of(facts, row, splits);
      if (taken >= least || bytes_of_results(made) > bytes_of_tiles(made)) continue;
      least = taken;
      out = made;
    }
  }
  return out;
}

}  // namespace

uint32_t panel_steps(const Schedule& schedule, bool along_m, int64_t steps) {
  constexpr int64_t kMostPanelSteps = 1024, kPadding = 8;
  const int64_t lines = along_m ? schedule.tile.m : schedule.tile.n, others = schedule.tile.m + schedule.tile.n - lines;
  if (schedule.kind != ScheduleKind::matrix_tiles || lines % (schedule.threads / kLanesOfNorm) != 0) return 0;
  const int64_t ring = schedule.stages * others * schedule.tile.k;
  if (steps > kMostPanelSteps || 2 * (lines * (steps + kPadding) + ring) > kMostSharedBytes) return 0;
  return static_cast<uint32_t>(steps);
}

Schedule choose_tiles(const ContractionFacts& facts) {
  if (facts.by_matrices) return best_of_matrices(facts);
  return facts.by_tf32 ? best(facts, kTf32Rows) : best(facts, kFmaRows);
}

uint32_t bytes_of_tiles(const Schedule& schedule) {
  const bool by_16_bits = schedule.kind == ScheduleKind::matrix_tiles || schedule.kind == ScheduleKind::warpgroup_tiles;
  const uint32_t element_bytes = by_16_bits ? 2 : 4;
  return schedule.stages * (schedule.tile.m + schedule.tile.n) * schedule.tile.k * element_bytes;
}

uint32_t bytes_of_results(const Schedule& schedule) {
  const uint32_t rows = (schedule.kind == ScheduleKind::fma_tiles ? kLanesM : 16) * schedule.warps_m;
  return rows * (schedule.tile.n + kResultPadding) * 4;
}

AttentionWidths attention_widths(const AttentionFacts& facts) {
  const auto padded = [](int64_t width, int64_t to) { return static_cast<uint32_t>(quotient_up(width, to) * to); };
  return facts.by_matrices ? AttentionWidths{padded(facts.features, 16), padded(facts.results, 16)}
                           : AttentionWidths{padded(facts.features, 4), padded(facts.results, 32)};
}

Schedule choose_attention(const AttentionFacts& facts) {
  Schedule out;
  out.kind = ScheduleKind::query_per_block;
  out.threads = kThreadsOfQuery;
  if ((!facts.by_matrices && facts.queries < kFewestQueries) || facts.results < 2) return out;
  const AttentionWidths widths = attention_widths(facts);
  for (const uint32_t m : {64u, 32u, 16u}) {
    const double tiles = static_cast<double>(quotient_up(facts.queries, m)) * static_cast<double>(facts.batch);
    // Smaller tiles if larger ones leave multiprocessors idle.
    if (m > 16 && (tiles < kMultiprocessors || facts.queries <= m / 2)) continue;
    if (m == 16 && facts.by_matrices) return schedule_of_few_queries(facts);
    const uint32_t warps = facts.by_matrices ? m / 16 : 4;
    if (!facts.by_matrices && m / 16 * widths.results / 8 > kMostResultsOfThread) continue;
    for (const uint32_t stages : {2u, 1u}) {
      for (const uint32_t n : {64u, 32u, 16u, 8u}) {
        if ((n == 8 && facts.by_matrices) || (n == 64 && !facts.by_matrices)) continue;
        if (shared_bytes(widths, {m, n, 0}, stages, facts.by_matrices) > kPlainSharedBytes) continue;
        out.kind = facts.by_matrices ? ScheduleKind::query_matrix_tiles : ScheduleKind::query_tiles;
        out.threads = 32 * warps;
        out.tile = {m, n, widths.features};
        out.warps_m = warps;
        out.stages = stages;
        const int64_t steps = quotient_up(facts.keys, n);
        const auto wanted = static_cast<int64_t>(std::ceil(kBlocksOfAttention * kMultiprocessors / tiles));
        const int64_t splits = std::clamp<int64_t>(std::min(wanted, steps / kFewestKeyTilesPerSplit), 1, kMostSplits);
        out.splits = static_cast<uint32_t>(quotient_up(steps, quotient_up(steps, splits)));
        return out;
      }
    }
  }
  return out;
}

}  // namespace wick::cuda
