// Tiles of a matrix product: a ring of tiles of both factors in shared memory, which copies fill ahead of the
// arithmetic (Kerr et al., CUTLASS).
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/contraction.h"
#include "backends/cuda/compile/kernel/tile_loader.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/result.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

// Lanes of a warp along m and n, where each thread has lines of its own.
constexpr uint32_t kLanesM = 4, kLanesN = 8;

class ContractionWriter : public TileWriter {
 public:
  ContractionWriter(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction)
      : TileWriter(graph, kernel),
        contraction_(contraction),
        by_matrices_(contraction.factors != DType::f32),
        left_(factor("m", contraction.left, contraction.m, contraction.left_is_normed)),
        right_(factor("n", contraction.right, contraction.n, contraction.right_is_normed)) {
    ContractionFacts facts;
    facts.m = most(contraction.m);
    facts.n = most(contraction.n);
    facts.k = most(kernel.columns);
    facts.batch = most(contraction.batch);
    facts.by_matrices = by_matrices_;
    facts.copies = left_.load == TileLoad::copies || right_.load == TileLoad::copies;
    facts.norms = static_cast<uint32_t>(num_norms());
    schedule_ = choose_tiles(facts);
    left_.lines = schedule_.tile.m;
    right_.lines = schedule_.tile.n;
    left_.depth = right_.depth = schedule_.tile.k;
  }

  KernelSource run() {
    block_.indent = "  ";
    write_place();
    declare();
    for (const TileFactor* one : {&left_, &right_}) {
      if (one->reads_norms) write_norms(*one);
    }
    write_loader(left_, schedule_.threads);
    write_loader(right_, schedule_.threads);
    write_steps();
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
    out.along_k = is_normed || lies_along_steps(out);
    out.load = choose_load(graph_, out);
    return out;
  }
  static int64_t most(const std::vector<Loop>& loops) { return SymScope::range(extent_of(loops)).max; }
  size_t num_norms() const { return kernel_.reductions.size() - 1; }
  std::string result_text(ExpressionPtr reduced) const override {
    if (reduced->buffer == num_norms()) return "sum";
    if (in_norms_) return fmt::format("acc{}", reduced->buffer);
    const TileFactor& normed = left_.reads_norms ? left_ : right_;
    return fmt::format("norm{}[{}]", reduced->buffer, normed.along_k ? "row" : "column");
  }

  Sym lines_m() const { return extent_of(contraction_.m); }
  Sym lines_n() const { return extent_of(contraction_.n); }
  Sym tiles_m() const { return ceil_div(lines_m(), Sym(int64_t{schedule_.tile.m})); }
  Sym tiles_n() const { return ceil_div(lines_n(), Sym(int64_t{schedule_.tile.n})); }
  Sym tiles() const { return tiles_m() * tiles_n() * extent_of(contraction_.batch); }
  const char* element_type() const { return storage_name(contraction_.factors); }
  // Of the fragments or lines of one warp or thread.
  uint32_t parts_m() const {
    return by_matrices_ ? schedule_.tile.m / schedule_.warps_m / 16 : schedule_.tile.m / schedule_.warps_m / kLanesM;
  }
  uint32_t parts_n() const {
    return by_matrices_ ? schedule_.tile.n / schedule_.warps_n / 8 : schedule_.tile.n / schedule_.warps_n / kLanesN;
  }
  uint32_t sums() const { return parts_m() * parts_n() * (by_matrices_ ? 4 : 1); }

  // Which tile, and which part of k, the block computes. Tiles along m are neighbours.
  void write_place() {
    const Sym per_split = Sym(int64_t{schedule_.tile.k}) *
                          ceil_div(extent_of(kernel_.columns), Sym(int64_t{schedule_.tile.k} * schedule_.splits));
    const std::string depth = text(extent_of(kernel_.columns));
    block_.line("const idx block = static_cast<idx>(block_x());");
    block_.line(fmt::format("const idx m0 = block % {} * {};", text(tiles_m()), schedule_.tile.m));
    block_.line(
        fmt::format("const idx n0 = block / {} % {} * {};", text(tiles_m()), text(tiles_n()), schedule_.tile.n));
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

  void declare() {
    for (const TileFactor* factor : {&left_, &right_}) {
      block_.line(fmt::format("WICK_SHARED({}, {}_tiles, {} * {});", element_type(), factor->name, schedule_.stages,
                              factor->size()));
    }
    const uint32_t m = schedule_.tile.m / schedule_.warps_m, n = schedule_.tile.n / schedule_.warps_n;
    block_.line("const u32 warp = thread_x() / 32;");
    if (by_matrices_) {
      block_.line(
          fmt::format("const u32 own_m = warp / {0} * {1}, own_n = warp % {0} * {2};", schedule_.warps_n, m, n));
      block_.line(fmt::format("f32 acc[{}][{}][4] = {{}};", parts_m(), parts_n()));
    } else {
      block_.line(
          fmt::format("const u32 own_m = warp / {0} * {1} + lane() / {2}, own_n = warp % {0} * {2} + lane() % {2};",
                      schedule_.warps_n, kLanesM, kLanesN));
      block_.line(fmt::format("f32 acc[{}][{}] = {{}};", parts_m(), parts_n()));
    }
  }

  // The numbers norm0, norm1 .. of the tile's lines of a factor: a warp for each line.
  void write_norms(const TileFactor& factor) {
    in_norms_ = true;
    block_.open_inner();
    for (size_t i = 0; i < num_norms(); ++i) block_.line(fmt::format("WICK_SHARED(f32, norm{}, {});", i, factor.lines));
    block_.line("WICK_UNROLL_BY_4");
    block_.line(fmt::format("for (u32 line = warp; line < {}; line += {}) {{", factor.lines, schedule_.threads / 32));
    block_.line(fmt::format("  const idx {0} = {0}0 + static_cast<idx>(line);", factor.line));
    block_.line(fmt::format("  if ({} < {}) {{", factor.line, text(extent_of(factor.line_loops))));
    Scope line;
    line.indent = "    ";
    line.outer = &block_;
    line.has_results = true;
    for (const Loop& loop : factor.line_loops) line.symbols.insert(std::string(loop.variable.symbol_name()));
    write_split(line, factor.line_loops, factor.line);
    for (size_t i = 0; i < num_norms(); ++i) write_norm(line, i);
    line.line("if (lane() == 0) {");
    for (size_t i = 0; i < num_norms(); ++i) line.line(fmt::format("  norm{0}[line] = acc{0};", i));
    line.line("}");
    block_.text += line.text;
    block_.line("  }");
    block_.line("}");
    block_.line("block_barrier();");
    block_.close_inner();
    in_norms_ = false;
  }

  void write_norm(Scope& line, size_t index) {
    const Reduction& norm = kernel_.reductions[index];
    const std::string acc = fmt::format("acc{}", index);
    line.line(fmt::format("{} {} = {};", type_of(norm), acc, first_value(norm)));
    Scope column;
    column.indent = line.indent + "  ";
    column.outer = &line;
    for (const Loop& loop : kernel_.columns) column.symbols.insert(std::string(loop.variable.symbol_name()));
    write_split(column, kernel_.columns, "k");
    write_accumulation(column, norm, acc, "k");
    line.line(
        fmt::format("for (idx k = static_cast<idx>(lane()); k < {}; k += 32) {{", text(extent_of(kernel_.columns))));
    line.text += column.text;
    line.line("}");
    line.line(fmt::format("{0} = warp_reduce<{1}>({0});", acc, combiner(norm.kind)));
  }

  bool copies() const { return left_.load == TileLoad::copies || right_.load == TileLoad::copies; }

  void start_loads(const char* indent, const char* slot, const char* k0) {
    start_load(indent, left_, in_ring(left_, slot), "m0", k0);
    start_load(indent, right_, in_ring(right_, slot), "n0", k0);
  }
  void finish_loads(const char* indent, const char* slot) {
    for (const TileFactor* factor : {&left_, &right_}) finish_load(indent, *factor, in_ring(*factor, slot));
  }

  void write_steps() {
    const uint32_t ahead = schedule_.stages - 1, depth = schedule_.tile.k;
    const bool computed = left_.load != TileLoad::copies || right_.load != TileLoad::copies;
    block_.line(fmt::format("for (u32 slot = 0; slot < {}; ++slot) {{", ahead));
    block_.line(fmt::format("  const idx k0 = k_begin + static_cast<idx>(slot) * {};", depth));
    block_.line("  if (k0 < k_end) {");
    start_loads("    ", "slot", "k0");
    finish_loads("    ", "slot");
    block_.line("  }");
    if (copies()) block_.line("  cp_async_commit();");
    block_.line("}");
    block_.line(fmt::format("u32 now = 0, free = {};", ahead));
    block_.line(fmt::format("for (idx k0 = k_begin; k0 < k_end; k0 += {}) {{", depth));
    if (copies()) block_.line(fmt::format("  cp_async_wait<{}>();", ahead - 1));
    block_.line("  block_barrier();");
    block_.line(fmt::format("  const idx k_next = k0 + {};", ahead * depth));
    block_.line("  if (k_next < k_end) {");
    start_loads("    ", "free", "k_next");
    block_.line("  }");
    if (copies()) block_.line("  cp_async_commit();");
    write_multiply();
    if (computed) {
      block_.line("  if (k_next < k_end) {");
      finish_loads("    ", "free");
      block_.line("  }");
    }
    block_.line(fmt::format("  now = now + 1 == {0} ? 0 : now + 1;", schedule_.stages));
    block_.line(fmt::format("  free = free + 1 == {0} ? 0 : free + 1;", schedule_.stages));
    block_.line("}");
  }

  void write_multiply() {
    const std::string tiles = fmt::format("TilePair<{}, {}, {}, {}, {}>", schedule_.tile.k, left_.width(),
                                          left_.along_k, right_.width(), right_.along_k);
    const std::string threads = fmt::format(", {}, {}", kLanesM * schedule_.warps_m, kLanesN * schedule_.warps_n);
    block_.line(fmt::format("  {}<{}{}>(acc, {}, {}, own_m, own_n);",
                            by_matrices_ ? "multiply_by_matrices" : "multiply_by_fma", tiles,
                            by_matrices_ ? "" : threads, in_ring(left_, "now"), in_ring(right_, "now")));
  }

  void write_merge() {
    const int64_t per_tile = int64_t{sums()} * schedule_.threads * schedule_.splits;
    KernelBuffer partial;
    partial.elements = tiles() * Sym(per_tile);
    graph_.buffers.push_back(std::move(partial));
    const std::string name = parameter(static_cast<uint32_t>(graph_.buffers.size() - 1), true);
    source_.counters = tiles();
    block_.line(fmt::format(
        "if (!add_splits<{}>(&acc[0]{}[0], {} + static_cast<i64>(tile) * {}, {} + tile, m_tiles, "
        "static_cast<u32>(split), {}, {})) return;",
        sums(), by_matrices_ ? "[0]" : "", name, per_tile, counters_parameter(), schedule_.splits, schedule_.threads));
  }

  void write_results() {
    block_.open_inner();
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 e = 0; e < {}; ++e) {{", sums()));
    std::string m, n;
    if (by_matrices_) {
      block_.line(fmt::format("  const u32 i = e / {0}, j = e / 4 % {1}, c = e % 4;", 4 * parts_n(), parts_n()));
      m = "own_m + i * 16 + lane() / 4 + c / 2 * 8";
      n = "own_n + j * 8 + lane() % 4 * 2 + c % 2";
    } else {
      block_.line(fmt::format("  const u32 i = e / {0}, j = e % {0};", parts_n()));
      m = fmt::format("line_of_thread<{}, {}>(own_m, i)", kLanesM * schedule_.warps_m, left_.along_k);
      n = fmt::format("line_of_thread<{}, {}>(own_n, j)", kLanesN * schedule_.warps_n, right_.along_k);
    }
    block_.line(fmt::format("  const idx m = m0 + static_cast<idx>({});", m));
    block_.line(fmt::format("  const idx n = n0 + static_cast<idx>({});", n));
    block_.line(fmt::format("  if (m < {} && n < {}) {{", text(lines_m()), text(lines_n())));
    Scope result;
    result.indent = "    ";
    result.outer = &block_;
    result.has_results = true;
    result.line(by_matrices_ ? "const f32 sum = acc[i][j][c];" : "const f32 sum = acc[i][j];");
    write_split(result, contraction_.m, "m");
    write_split(result, contraction_.n, "n");
    for (const std::vector<Loop>* list : {&contraction_.m, &contraction_.n}) {
      for (const Loop& loop : *list) result.symbols.insert(std::string(loop.variable.symbol_name()));
    }
    for (const Store& store : kernel_.row_stores) write_store(result, store, "");
    block_.text += result.text;
    block_.line("  }");
    block_.line("}");
    block_.close_inner();
  }

  const Contraction& contraction_;
  const bool by_matrices_;
  TileFactor left_, right_;
  Schedule schedule_;
  bool in_norms_ = false;
};

}  // namespace

KernelSource write_contraction(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction) {
  return ContractionWriter(graph, kernel, contraction).run();
}

}  // namespace wick::cuda
