// Writes contractions by tiles: a ring of tiles of both factors in shared memory, which copies fill ahead of the
// arithmetic (Kerr et al., CUTLASS).
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "backends/cuda/compile/kernel/contraction.h"
#include "backends/cuda/compile/kernel/tiles/normed_lines.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/result.h"

namespace wick::cuda {
namespace {

// If a device cannot run all tiles at once, blocks go through this many columns of tiles at a time.
constexpr int64_t kGroupedColumns = 8, kManyTiles = 256;
// The cost of a function such as gelu for one result. Storing a result costs 1.
constexpr double kCostOfFunction = 3;
// The most results that a thread computes and stores at once.
constexpr uint32_t kMostNeighbours = 4;

class ContractionWriter : public NormedLineWriter {
 public:
  ContractionWriter(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction)
      : NormedLineWriter(graph, kernel),
        contraction_(contraction),
        by_tf32_(contraction.factors == DType::f32 && graph.allows_tf32),
        by_matrices_(contraction.factors != DType::f32 || by_tf32_),
        left_(factor("m", contraction.left, contraction.m, contraction.left_is_normed)),
        right_(factor("n", contraction.right, contraction.n, contraction.right_is_normed)) {
    for (TileFactor* one : {&left_, &right_}) {
      if (one->reads_norms) hoist_values_of_lines(*one);
    }
    ContractionFacts facts;
    facts.m = max_extent(contraction.m);
    facts.n = max_extent(contraction.n);
    facts.k = max_extent(kernel.columns);
    facts.batch = max_extent(contraction.batch);
    facts.by_matrices = contraction.factors != DType::f32;
    facts.by_tf32 = by_tf32_;
    facts.copies = left_.is_copied() || right_.is_copied();
    facts.norms = static_cast<uint32_t>(numbers_.size());
    facts.norms_m = left_.reads_norms;
    facts.cost_of_result = cost_of_stores();
    facts.by_warpgroups = graph.has_warpgroups && facts.by_matrices && numbers_.empty() &&
                          left_.load == TileLoad::copies && right_.load == TileLoad::copies;
    schedule_ = choose_tiles(facts);
    left_.is_swizzled = right_.is_swizzled = by_warpgroups();
    left_.lines = schedule_.tile.m;
    right_.lines = schedule_.tile.n;
    left_.depth = right_.depth = schedule_.tile.k;
    for (const TileFactor* one : {&left_, &right_}) {
      if (one->reads_norms && panel_width(*one) > 0) panel_ = one;
    }
  }

  KernelSource run() {
    block_.indent = "  ";
    write_place();
    declare();
    for (const TileFactor* one : {&left_, &right_}) {
      if (one->reads_norms && one != panel_) write_norms(*one, schedule_.threads);
    }
    for (const TileFactor* one : {&left_, &right_}) {
      if (one != panel_) write_loader(*one, schedule_.threads);
    }
    by_warpgroups() ? write_warpgroup_steps() : write_steps();
    if (schedule_.splits > 1) write_merge();
    write_results();
    source_.schedule = schedule_;
    source_.has_barriers = true;
    source_.grid[0] = tiles() * Sym(int64_t{schedule_.splits});
    return finish(block_.text, lines_m() * lines_n());
  }

 private:
  TileFactor factor(const char* name, ExpressionPtr element, const std::vector<Loop>& loops, bool is_normed) {
    TileFactor out;
    out.name = out.line = name;
    out.line_loops = loops;
    out.step_loops = kernel_.columns;
    out.step_end = "k_end";
    out.element = element;
    out.dtype = contraction_.factors;
    out.reads_norms = is_normed;
    if (!is_normed) merge_own_loops(out);
    out.along_k = is_normed || lies_along_steps(out);
    out.spreads_steps = by_tf32_ && !out.along_k;
    out.load = choose_load(graph_, out);
    return out;
  }
  // Merges loops that this factor walks through as one, such as those of a convolution's weights over channels and
  // taps.
  void merge_own_loops(TileFactor& factor) {
    LoopKernel alone;
    alone.rows = factor.line_loops;
    alone.columns = factor.step_loops;
    alone.reductions.push_back({ReductionKind::sum, factor.element->type, factor.element, nullptr});
    merge_loops(graph_, alone);
    const auto name = [&](const std::vector<Loop>& merged, const std::vector<Loop>& loops, const char* of) {
      for (size_t i = 0; i < merged.size(); ++i) {
        const bool is_merged = std::none_of(loops.begin(), loops.end(),
                                            [&](const Loop& loop) { return loop.variable == merged[i].variable; });
        if (is_merged) name_variable(merged[i].variable, fmt::format("{}_{}{}", factor.name, of, i));
      }
    };
    name(alone.rows, factor.line_loops, "line");
    name(alone.columns, factor.step_loops, "step");
    factor.line_loops = alone.rows;
    factor.step_loops = alone.columns;
    factor.element = alone.reductions[0].element;
  }

  // The cost of the epilogue by the functions that it calls: operators and conversions cost little.
  double cost_of_stores() const {
    std::set<ExpressionPtr> costly;
    for (const Store& store : kernel_.row_stores) {
      for_each({store.value}, [&](ExpressionPtr e) {
        const auto begins = [&](std::string_view prefix) { return e->text.compare(0, prefix.size(), prefix) == 0; };
        const bool is_function =
            e->kind == ExpressionKind::call && std::isalpha(static_cast<unsigned char>(e->text[0]));
        if (is_function && !begins("op_") && !begins("to_") && !begins("static_cast")) costly.insert(e);
      });
    }
    return 1 + kCostOfFunction * static_cast<double>(costly.size());
  }

  std::string result_text(ExpressionPtr reduced) const override {
    if (reduced->buffer == num_norms()) return neighbours_ == 1 ? "sum" : "sums[static_cast<int>(e)]";
    return norm_text(reduced, left_.reads_norms ? left_ : right_);
  }

  Sym lines_m() const { return extent_of(contraction_.m); }
  Sym lines_n() const { return extent_of(contraction_.n); }
  Sym tiles_m() const { return ceil_div(lines_m(), Sym(int64_t{schedule_.tile.m})); }
  Sym tiles_n() const { return ceil_div(lines_n(), Sym(int64_t{schedule_.tile.n})); }
  Sym tiles() const { return tiles_m() * tiles_n() * extent_of(contraction_.batch); }
  const char* element_type() const { return storage_name(contraction_.factors); }
  // Along m and n: the fragments of a warp, or without matrix instructions the lines of a thread.
  uint32_t parts_m() const {
    return by_matrices_ ? schedule_.tile.m / schedule_.warps_m / 16 : schedule_.tile.m / schedule_.warps_m / kLanesM;
  }
  uint32_t parts_n() const {
    return by_matrices_ ? schedule_.tile.n / schedule_.warps_n / 8 : schedule_.tile.n / schedule_.warps_n / kLanesN;
  }
  uint32_t sums() const { return parts_m() * parts_n() * (by_matrices_ ? 4 : 1); }

  // Steps of k that one block takes.
  Sym steps_of_block() const {
    return Sym(int64_t{schedule_.tile.k}) *
           ceil_div(extent_of(kernel_.columns), Sym(int64_t{schedule_.tile.k} * schedule_.splits));
  }

  // How many steps of the normed factor stay in shared memory; 0: they are too many, or their number is not known. Each
  // line is then read and normed once, ahead of the arithmetic.
  uint32_t panel_width(const TileFactor& factor) const {
    const Sym steps = steps_of_block();
    return steps.is_const() && fits_panel(factor) ? panel_steps(schedule_, &factor == &left_, steps.value()) : 0;
  }

  // Which tile and which part of k the block computes. Neighbouring blocks take neighbouring tiles along m. If there
  // are many tiles, they stay within a few columns of tiles, so that blocks that run at the same time share what they
  // read.
  void write_place() {
    const Sym per_split = steps_of_block();
    const std::string depth = text(extent_of(kernel_.columns));
    block_.line("const idx block = static_cast<idx>(block_x());");
    if (groups_columns()) {
      const int64_t m = tiles_m().value(), n = tiles_n().value();
      block_.line(
          fmt::format("const idx in_batch = block % {}, in_group = in_batch % {};", m * n, m * kGroupedColumns));
      block_.line(fmt::format("const idx first = in_batch / {} * {}, wide = smaller<idx>({} - first, {});",
                              m * kGroupedColumns, kGroupedColumns, n, kGroupedColumns));
      block_.line(fmt::format("const idx m0 = in_group / wide * {}, n0 = (first + in_group % wide) * {};",
                              schedule_.tile.m, schedule_.tile.n));
    } else {
      block_.line(fmt::format("const idx m0 = block % {} * {};", text(tiles_m()), schedule_.tile.m));
      block_.line(
          fmt::format("const idx n0 = block / {} % {} * {};", text(tiles_m()), text(tiles_n()), schedule_.tile.n));
    }
    if (schedule_.splits > 1) {
      block_.line(fmt::format("const idx tile = block % {0}, split = block / {0};", text(tiles())));
      block_.line(fmt::format("const idx k_begin = split * {}, k_end = smaller<idx>(k_begin + {}, {});",
                              text(per_split), text(per_split), depth));
    } else {
      block_.line(fmt::format("const idx k_begin = 0, k_end = {};", depth));
    }
    if (contraction_.batch.empty()) return;
    block_.line(fmt::format("const idx batch = block / {} % {};", text(tiles_m() * tiles_n()),
                            text(extent_of(contraction_.batch))));
    write_split(block_, contraction_.batch, "batch");
  }

  bool groups_columns() const {
    return tiles_m().is_const() && tiles_n().is_const() && tiles_m().value() >= kGroupedColumns &&
           tiles_n().value() > kGroupedColumns && tiles_m().value() * tiles_n().value() > kManyTiles;
  }

  uint32_t elements_of(const TileFactor& factor) const {
    const uint32_t chunk = factor.chunk();
    if (&factor == panel_) return factor.lines * padded_chunks(panel_width(factor) / chunk) * chunk;
    return schedule_.stages * factor.rows() * padded_chunks(factor.width() / chunk) * chunk;
  }
  std::string size_of(const TileFactor& factor) const {
    if (&factor != panel_) return fmt::format("{} * {}", schedule_.stages, factor.size());
    return fmt::format("tile_chunks({}, {}) * {}", factor.lines, panel_width(factor) / factor.chunk(), factor.chunk());
  }

  // Bytes of shared memory for the tiles, or for the smallest part of the results that passes through it.
  uint32_t shared_bytes() const {
    const auto element = static_cast<uint32_t>(dtype_size_bytes(contraction_.factors));
    return std::max((elements_of(left_) + elements_of(right_)) * element, bytes_of_results(schedule_));
  }

  void declare() {
    const uint32_t bytes = shared_bytes();
    const auto norms = static_cast<uint32_t>(numbers_.size()) * std::max(left_.lines, right_.lines) * 4;
    if (bytes + norms > kPlainSharedBytes) {
      source_.dynamic_shared_bytes = bytes;
      block_.line(fmt::format("WICK_{}_SHARED({}, tiles);", by_warpgroups() ? "SWIZZLED" : "DYNAMIC", element_type()));
    } else {
      const auto element = static_cast<uint32_t>(dtype_size_bytes(contraction_.factors));
      const bool for_results = bytes > (elements_of(left_) + elements_of(right_)) * element;
      block_.line(fmt::format(
          "WICK_SHARED({}, tiles, {});", element_type(),
          for_results ? std::to_string(bytes / element) : fmt::format("{} + {}", size_of(left_), size_of(right_))));
    }
    block_.line(fmt::format("{0}* const {1}_tiles = tiles, *const {2}_tiles = tiles + {3};", element_type(), left_.name,
                            right_.name, size_of(left_)));
    const uint32_t m = schedule_.tile.m / schedule_.warps_m, n = schedule_.tile.n / schedule_.warps_n;
    block_.line("const u32 warp = thread_x() / 32;");
    if (by_matrices_) {
      block_.line(
          fmt::format("const u32 own_m = warp / {0} * {1}, own_n = warp % {0} * {2};", schedule_.warps_n, m, n));
      if (by_warpgroups()) {
        block_.line(fmt::format("WarpgroupSums<{}> sums = {{}};", schedule_.tile.n));
        block_.line("auto& acc = sums.of;");
        return;
      }
      block_.line(fmt::format("f32 acc[{}][{}][4] = {{}};", parts_m(), parts_n()));
      if (!by_tf32_) block_.line(fmt::format("FragmentPair<{}, {}> fragments[2];", parts_m(), parts_n()));
    } else {
      block_.line(
          fmt::format("const u32 own_m = warp / {0} * {1} + lane() / {2}, own_n = warp % {0} * {2} + lane() % {2};",
                      schedule_.warps_n, kLanesM, kLanesN));
      block_.line(fmt::format("f32 acc[{}][{}] = {{}};", parts_m(), parts_n()));
    }
  }

  bool by_warpgroups() const { return schedule_.kind == ScheduleKind::warpgroup_tiles; }
  bool copies() const { return left_.is_copied() || right_.is_copied(); }
  // Whether threads compute elements of tiles in the ring.
  bool computes() const {
    return (&left_ != panel_ && !left_.is_copied()) || (&right_ != panel_ && !right_.is_copied());
  }

  void start_loads(const char* indent, const char* slot, const char* k0) {
    if (&left_ != panel_) start_load(indent, left_, in_ring(left_, slot), "m0", k0);
    if (&right_ != panel_) start_load(indent, right_, in_ring(right_, slot), "n0", k0);
  }
  void finish_loads(const char* indent, const char* slot) {
    for (const TileFactor* factor : {&left_, &right_}) {
      if (factor != panel_) finish_load(indent, *factor, in_ring(*factor, slot));
    }
  }

  // The first iterations only fill the ring, so that the loads appear once in the text. A barrier separates the last
  // read of a tile from the copies that replace it.
  void write_steps() {
    const uint32_t ahead = schedule_.stages - 1, depth = schedule_.tile.k;
    const bool by_fragments = by_matrices_ && !by_tf32_;
    block_.line("u32 now = 0, free = 0;");
    block_.line(fmt::format("for (idx k0 = k_begin - {}; k0 < k_end; k0 += {}) {{", ahead * depth, depth));
    block_.line(fmt::format("  const idx k_next = k0 + {};", ahead * depth));
    block_.line("  if (k_next < k_end) {");
    start_loads("    ", "free", "k_next");
    block_.line("  }");
    if (copies()) block_.line("  cp_async_commit();");
    block_.line("  if (k0 >= k_begin) {");
    write_multiply(by_fragments ? "multiply_first_steps" : by_tf32_ ? "multiply_by_tf32" : "multiply_by_fma");
    block_.line(fmt::format("    now = now + 1 == {0} ? 0 : now + 1;", schedule_.stages));
    block_.line("  }");
    if (computes()) {
      block_.line("  if (k_next < k_end) {");
      finish_loads("    ", "free");
      block_.line("  }");
    }
    if (panel_) {
      block_.line(fmt::format("  if (k0 == k_begin - {}) {{", depth));
      write_panel(*panel_, panel_width(*panel_), schedule_.threads);
      block_.line("  }");
    }
    if (copies()) block_.line(fmt::format("  cp_async_wait<{}>();", ahead - 1));
    block_.line("  block_barrier();");
    if (by_fragments) {
      block_.line(fmt::format("  if (k0 >= k_begin - {0} && k0 + {0} < k_end) {{", depth));
      write_multiply("load_fragments", fmt::format("next_fragments<{}>(fragments)", tiles_text()), depth);
      block_.line("  }");
      block_.line(fmt::format("  if (k0 >= k_begin) multiply_last_steps<{}, {}>(acc, fragments);", tiles_text(),
                              element_type()));
    }
    block_.line(fmt::format("  free = free + 1 == {0} ? 0 : free + 1;", schedule_.stages));
    block_.line("}");
  }

  // The same by warpgroup instructions, which still read one tile when they are given the next one. The barrier of an
  // iteration says that all warps are done with the iteration before the previous one, whose tile the copies then
  // replace.
  void write_warpgroup_steps() {
    const uint32_t ahead = schedule_.stages - kTilesInUse, depth = schedule_.tile.k;
    block_.line("u32 now = 0, free = 0;");
    block_.line(fmt::format("for (idx k0 = k_begin - {}; k0 < k_end; k0 += {}) {{", ahead * depth, depth));
    block_.line("  if (k0 >= k_begin) {");
    block_.line(fmt::format("    cp_async_wait<{}>();", ahead - 1));
    block_.line("    warpgroup_publish();");
    block_.line("    block_barrier();");
    block_.line("  }");
    block_.line(fmt::format("  const idx k_next = k0 + {};", ahead * depth));
    block_.line("  if (k_next < k_end) {");
    start_loads("    ", "free", "k_next");
    block_.line("  }");
    block_.line("  cp_async_commit();");
    block_.line("  if (k0 >= k_begin) {");
    block_.line(fmt::format("    multiply_by_warpgroup<{}>(sums, {}, {}, shuffle(thread_x() / 128, 0) * 64);",
                            tiles_text(), in_ring(left_, "now"), in_ring(right_, "now")));
    block_.line("    warpgroup_wait<1>(sums);");
    block_.line(fmt::format("    now = now + 1 == {0} ? 0 : now + 1;", schedule_.stages));
    block_.line("  }");
    block_.line(fmt::format("  free = free + 1 == {0} ? 0 : free + 1;", schedule_.stages));
    block_.line("}");
    block_.line("warpgroup_wait<0>(sums);");
  }

  std::string tiles_text() const {
    const auto width = [&](const TileFactor& factor) {
      return &factor == panel_ ? panel_width(factor) : factor.width();
    };
    return fmt::format("TilePair<{}, {}, {}, {}, {}>", schedule_.tile.k, width(left_), left_.along_k, width(right_),
                       right_.along_k);
  }

  // Calls a function with the tiles of an iteration. `into`: what it changes; `ahead`: steps from k0 to the tile's
  // first one.
  void write_multiply(const char* function, std::string into = "acc", uint32_t ahead = 0) {
    const bool by_fragments = by_matrices_ && !by_tf32_;
    const auto tile = [&](const TileFactor& factor) {
      return &factor == panel_ ? fmt::format("{}_tiles", factor.name) : in_ring(factor, "now");
    };
    const auto first_step = [&](const TileFactor& factor) {
      if (&factor != panel_) return std::string("0");
      return fmt::format("static_cast<u32>(k0 - k_begin + {})", ahead);
    };
    if (by_fragments && into == "acc") into = "acc, fragments";
    const std::string threads = fmt::format(", {}, {}", kLanesM * schedule_.warps_m, kLanesN * schedule_.warps_n);
    block_.line(fmt::format("    {}<{}{}>({}, {}, {}, own_m, own_n{});", function, tiles_text(),
                            by_matrices_ ? "" : threads, into, tile(left_), tile(right_),
                            by_fragments ? fmt::format(", {}, {}", first_step(left_), first_step(right_)) : ""));
  }

  void write_merge() {
    const int64_t per_tile = int64_t{sums()} * schedule_.threads * schedule_.splits;
    KernelBuffer partial;
    partial.elements = tiles() * Sym(per_tile);
    graph_.buffers.push_back(std::move(partial));
    const std::string name = parameter(static_cast<uint32_t>(graph_.buffers.size() - 1), true);
    source_.counters = tiles();
    block_.line(fmt::format(
        "if (!add_splits<{}>(&acc[0]{}[0], {} + static_cast<i64>(tile) * {}, {} + tile, tiles, "
        "static_cast<u32>(split), {}, {})) return;",
        sums(), by_matrices_ ? "[0]" : "", name, per_tile, counters_parameter(), schedule_.splits, schedule_.threads));
  }

  // Sums pass through shared memory, in the place of the tiles, to threads that take neighbours along n. So the
  // epilogue reads and writes adjacent elements, and its text appears once. Each round takes `parts` parts of the lines
  // of each warp.
  void write_results() {
    const uint32_t rows = by_matrices_ ? 16 * schedule_.warps_m : kLanesM * schedule_.warps_m;  // of a part
    const uint32_t pitch = schedule_.tile.n + kResultPadding, parts = parts_at_once(), all = parts_m();
    block_.line("f32* const results = reinterpret_cast<f32*>(tiles);");
    block_.open_inner();
    if (parts < all) block_.line("WICK_NO_UNROLL");
    block_.line(fmt::format("for (u32 part = 0; part < {}; part += {}) {{", all, parts));
    block_.line("  block_barrier();");
    const std::string lines = fmt::format("{}, {}, {}", parts, rows, pitch);
    if (by_matrices_)
      block_.line(
          fmt::format("  put_fragments<{}>(results, acc, part, warp / {} * 16, own_n);", lines, schedule_.warps_n));
    else
      block_.line(fmt::format("  put_lines<{}, {}, {}>(results, acc, part, own_m, own_n);", lines,
                              kLanesN * schedule_.warps_n, right_.along_k));
    block_.line("  block_barrier();");
    const uint32_t count = vector_of_stores(graph_, kernel_, contraction_.n, kernel_.row_stores, kMostNeighbours);
    const uint32_t per_row = schedule_.tile.n / count;
    block_.line("  WICK_UNROLL_BY_2");
    block_.line(fmt::format("  for (u32 number = thread_x(); number < {}; number += {}) {{", parts * rows * per_row,
                            schedule_.threads));
    block_.line(fmt::format("    const u32 row = number / {0}, column = number % {0} * {1};", per_row, count));
    block_.line(fmt::format("    const u32 i = part + row / {};", rows));
    block_.line(fmt::format("    const idx m = m0 + static_cast<idx>({});", line_of_row(rows)));
    block_.line("    const idx n = n0 + static_cast<idx>(column);");
    block_.line(fmt::format("    if (m < {} && n < {}) {{", text(lines_m()), text(lines_n())));
    write_result(fmt::format("results + row * {} + column", pitch), count);
    block_.line("    }");
    block_.line("  }");
    block_.line("}");
    block_.close_inner();
  }

  // The most parts that fit in the memory of the tiles. Their number divides the number of all parts.
  uint32_t parts_at_once() const {
    const uint32_t part_bytes = bytes_of_results(schedule_), room = shared_bytes();
    uint32_t parts = parts_m();
    while (parts > 1 && parts * part_bytes > room) parts /= 2;
    WICK_CHECK(parts_m() % parts == 0 && parts * part_bytes <= room);
    return parts;
  }

  // The line of the tile that row `row` in shared memory holds, in the round of part i.
  std::string line_of_row(uint32_t rows) const {
    const std::string own = fmt::format("row % {}", rows);
    if (by_matrices_) return fmt::format("{} / 16 * {} + i * 16 + row % 16", own, schedule_.tile.m / schedule_.warps_m);
    return fmt::format("line_of_thread<{}, {}>({}, i)", rows, left_.along_k, own);
  }

  void write_result(const std::string& from, uint32_t count) {
    Scope result;
    result.indent = "      ";
    result.outer = &block_;
    result.has_results = true;
    result.has_results_of_elements = count > 1;
    neighbours_ = count;
    result.line(count == 1 ? fmt::format("const f32 sum = *({});", from)
                           : fmt::format("const Vector<f32, {0}> sums = load_vector<f32, {0}>({1});", count, from));
    write_split(result, contraction_.m, "m");
    write_split(result, contraction_.n, "n");
    for (const std::vector<Loop>* list : {&contraction_.m, &contraction_.n}) {
      for (const Loop& loop : *list) result.symbols.insert(std::string(loop.variable.symbol_name()));
    }
    if (count == 1) {
      for (const Store& store : kernel_.row_stores) write_store(result, store, "");
    } else {
      write_group_stores(result, contraction_.n.back(), count, kernel_.row_stores);
    }
    block_.text += result.text;
  }

  const Contraction& contraction_;
  const bool by_tf32_;      // by matrix instructions that round f32 factors to TF32
  const bool by_matrices_;  // by matrix instructions of any kind
  TileFactor left_, right_;
  Schedule schedule_;
  uint32_t neighbours_ = 1;  // results that a thread stores at once
};

}  // namespace

KernelSource write_contraction(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction) {
  return ContractionWriter(graph, kernel, contraction).run();
}

}  // namespace wick::cuda
