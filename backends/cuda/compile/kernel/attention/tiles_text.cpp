// Attention by tiles of queries: a block walks over keys and values tile by tile, with a running maximum and sum for
// each query (Dao, FlashAttention-2).
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/attention/attention.h"
#include "backends/cuda/compile/kernel/tile_loader.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

constexpr uint32_t kLanesM = 4, kLanesN = 8;  // of a warp, without matrix instructions

class AttentionTilesWriter : public TileWriter {
 public:
  AttentionTilesWriter(LoweredGraph& graph, const LoopKernel& kernel, const AttentionLoops& loops,
                       const Schedule& schedule)
      : TileWriter(graph, kernel),
        attention_(*kernel.attention),
        loops_(loops),
        schedule_(schedule),
        by_matrices_(loops.factors != DType::f32),
        shares_keys_(by_matrices_ && schedule.warps_m == 1),
        query_(factor("q", attention_.query, "m", loops.queries, "k", {attention_.feature})),
        key_(factor("k", attention_.key_element, "n", {attention_.key}, "k", {attention_.feature})),
        value_(factor("v", attention_.value, "c", kernel.columns, "n", {attention_.key})) {
    const AttentionWidths widths = attention_widths(loops.facts);
    query_.lines = schedule.tile.m;
    key_.lines = value_.depth = schedule.tile.n;
    query_.depth = key_.depth = widths.features;
    value_.lines = widths.results;
    query_.along_k = key_.along_k = true;
    for (TileFactor* one : {&query_, &key_, &value_}) one->load = choose_load(graph_, *one);
  }

  KernelSource run() {
    block_.indent = "  ";
    write_place();
    declare();
    for (const TileFactor* one : {&query_, &key_, &value_}) write_loader(*one, schedule_.threads);
    start_load("", query_, "q_tiles", "m0", "0");
    finish_load("", query_, "q_tiles");
    block_.open_inner();
    schedule_.stages > 1 ? write_steps_ahead() : write_steps();
    block_.close_inner();
    block_.line(fmt::format("join_totals<{}>(total);", rows_text()));
    shares_keys_ ? write_joined_rows() : write_rows();
    source_.schedule = schedule_;
    source_.has_barriers = true;
    source_.grid[0] = tiles() * Sym(int64_t{schedule_.splits});
    return finish(block_.text, extent_of(kernel_.rows) * attention_.key.extent);
  }

 private:
  std::string result_text(ExpressionPtr reduced) const override { return reduced->buffer == 0 ? "result" : "product"; }

  TileFactor factor(const char* name, ExpressionPtr element, const char* line, std::vector<Loop> line_loops,
                    const char* step, std::vector<Loop> step_loops) {
    TileFactor out;
    out.name = name;
    out.line = line;
    out.line_loops = std::move(line_loops);
    out.step = step;
    out.step_loops = std::move(step_loops);
    out.step_end = text(extent_of(out.step_loops));
    out.element = element;
    out.dtype = loops_.factors;
    return out;
  }

  Sym query_tiles() const { return ceil_div(extent_of(loops_.queries), Sym(int64_t{schedule_.tile.m})); }
  Sym tiles() const { return query_tiles() * extent_of(loops_.batch); }
  // Rows of a thread.
  uint32_t rows() const { return by_matrices_ ? 2 : schedule_.tile.m / (kLanesM * schedule_.warps_m); }
  uint32_t keys_of_warp() const { return schedule_.tile.n / (shares_keys_ ? schedule_.warps_n : 1); }
  uint32_t scores() const { return by_matrices_ ? keys_of_warp() / 2 : rows() * schedule_.tile.n / kLanesN; }
  uint32_t outs() const { return by_matrices_ ? value_.lines / 2 : rows() * value_.lines / kLanesN; }
  std::string rows_text() const { return fmt::format("{}, {}", by_matrices_, rows()); }
  uint32_t threads_m() const { return kLanesM * schedule_.warps_m; }

  void write_place() {
    const std::string keys = text(attention_.key.extent);
    block_.line("const idx block = static_cast<idx>(block_x());");
    block_.line(fmt::format("const idx m0 = block % {} * {};", text(query_tiles()), schedule_.tile.m));
    std::string first = "0", end = keys;
    if (schedule_.splits > 1) {
      const Sym per_split = Sym(int64_t{schedule_.tile.n}) *
                            ceil_div(attention_.key.extent, Sym(int64_t{schedule_.tile.n} * schedule_.splits));
      block_.line(fmt::format("const idx tile = block % {0}, split = block / {0};", text(tiles())));
      first = fmt::format("split * {}", text(per_split));
      end = fmt::format("smaller<idx>((split + 1) * {}, {})", text(per_split), keys);
    }
    // Causal: no query of the tile sees a key at or behind this end.
    if (loops_.causal)
      end = fmt::format("smaller<idx>({}, (m0 + {}) / {} + 1)", end, schedule_.tile.m - 1, text(loops_.per_position));
    block_.line(fmt::format("const idx key_first = {}, key_end = {};", first, end));
    if (loops_.batch.empty()) return;
    block_.line(fmt::format("const idx batch = block / {} % {};", text(query_tiles()), text(extent_of(loops_.batch))));
    write_split(block_, loops_.batch, "batch");
  }

  void declare() {
    const char* type = storage_name(loops_.factors);
    block_.line(fmt::format("WICK_SHARED({}, q_tiles, {});", type, query_.size()));
    block_.line(
        fmt::format("WICK_SHARED({}, tiles, {} * ({} + {}));", type, schedule_.stages, key_.size(), value_.size()));
    block_.line(fmt::format("{}* const k_tiles = tiles, *const v_tiles = tiles + {} * {};", type, schedule_.stages,
                            key_.size()));
    if (by_matrices_) {
      block_.line(fmt::format("const u32 warp = thread_x() / 32, own_m = {}, own_n = {};",
                              shares_keys_ ? "0" : "warp * 16",
                              shares_keys_ ? fmt::format("warp * {}", keys_of_warp()) : "0"));
      block_.line(fmt::format("f32 out[1][{}][4] = {{}}, scores[1][{}][4];", value_.lines / 8, keys_of_warp() / 8));
    } else {
      block_.line(
          fmt::format("WICK_SHARED(f32, weights, tile_chunks({}, {}) * 4);", schedule_.tile.m, schedule_.tile.n / 4));
      block_.line(fmt::format("const u32 own_m = thread_x() / 32 * {} + lane() / {}, own_n = lane() % {};", kLanesM,
                              kLanesN, kLanesN));
      block_.line(fmt::format("f32 out[{0}][{1}] = {{}}, scores[{0}][{2}];", rows(), value_.lines / kLanesN,
                              schedule_.tile.n / kLanesN));
    }
    block_.line(fmt::format("f32* const out_values = &out[0]{0}[0], *const score_values = &scores[0]{0}[0];",
                            by_matrices_ ? "[0]" : ""));
    block_.line(fmt::format("f32 largest[{0}], total[{0}];", rows()));
    block_.line(fmt::format("for (u32 r = 0; r < {}; ++r) {{", rows()));
    block_.line("  largest[r] = -infinity(0.0f);");
    block_.line("  total[r] = 0.0f;");
    block_.line("}");
  }

  void start_loads(const char* indent, const char* slot, const char* n0) {
    start_load(indent, key_, in_ring(key_, slot), n0, "0");
    start_load(indent, value_, in_ring(value_, slot), "0", n0);
  }
  void finish_loads(const char* indent, const char* slot) {
    for (const TileFactor* one : {&key_, &value_}) finish_load(indent, *one, in_ring(*one, slot));
  }

  // Copies of the next keys and values run while the current ones are multiplied. The first iteration only loads.
  void write_steps_ahead() {
    block_.line("u32 now = 1;");
    block_.line(fmt::format("for (idx n0 = key_first - {0}; n0 < key_end; n0 += {0}) {{", schedule_.tile.n));
    block_.line("  cp_async_wait<0>();");
    block_.line("  block_barrier();");
    block_.line(fmt::format("  const idx n_next = n0 + {};", schedule_.tile.n));
    block_.line("  if (n_next < key_end) {");
    start_loads("    ", "(1 - now)", "n_next");
    block_.line("  }");
    block_.line("  cp_async_commit();");
    block_.line("  if (n0 >= key_first) {");
    write_tile("now");
    block_.line("  }");
    block_.line("  if (n_next < key_end) {");
    finish_loads("    ", "(1 - now)");
    block_.line("  }");
    block_.line("  now = 1 - now;");
    block_.line("}");
  }

  void write_steps() {
    block_.line(fmt::format("for (idx n0 = key_first; n0 < key_end; n0 += {}) {{", schedule_.tile.n));
    block_.line("  block_barrier();");
    start_loads("  ", "0", "n0");
    finish_loads("  ", "0");
    block_.line("  cp_async_commit();");
    block_.line("  cp_async_wait<0>();");
    block_.line("  block_barrier();");
    write_tile("0");
    block_.line("}");
  }

  // Computes the scores of a tile of keys, their weights, and the weighted sum of the values.
  void write_tile(const char* slot) {
    const std::string key_tile = in_ring(key_, slot), value_tile = in_ring(value_, slot);
    const uint32_t depth = key_.depth, keys = schedule_.tile.n;
    block_.line(fmt::format("  for (u32 e = 0; e < {}; ++e) score_values[e] = 0.0f;", scores()));
    if (by_matrices_)
      block_.line(fmt::format(
          "  multiply_by_matrices<TilePair<{0}, {0}, true, {0}, true>>(scores, q_tiles, {1}, own_m, own_n);", depth,
          key_tile));
    else
      block_.line(fmt::format(
          "  multiply_by_fma<TilePair<{0}, {0}, true, {0}, true>, {1}, {2}>(scores, q_tiles, {3}, own_m, own_n);",
          depth, threads_m(), kLanesN, key_tile));
    write_scores();
    block_.line(fmt::format("  weigh_scores<{}, {}, {}>(score_values, out_values, largest, total);", rows_text(),
                            scores(), outs()));
    if (by_matrices_) {
      block_.line(
          fmt::format("  add_values<{0}>(out, scores, tile_at<{0}>({1}, own_n, 0));", value_.width(), value_tile));
      return;
    }
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 e = 0; e < {}; ++e) {{", scores()));
    block_.line(fmt::format("    *tile_at<{}>(weights, {}, {}) = score_values[e];", keys, score_row(), score_column()));
    block_.line("  }");
    block_.line("  warp_barrier();");
    block_.line(fmt::format(
        "  multiply_by_fma<TilePair<{0}, {0}, true, {1}, false>, {2}, {3}>(out, weights, {4}, own_m, own_n);", keys,
        value_.width(), threads_m(), kLanesN, value_tile));
  }

  // Row (query) and column (key) within the tile of score number `e` of a thread.
  std::string score_row() const {
    return by_matrices_ ? "own_m + lane() / 4 + e % 4 / 2 * 8"
                        : fmt::format("own_m + e / {} * {}", scores() / rows(), threads_m());
  }
  std::string score_column() const {
    return by_matrices_ ? "own_n + e / 4 * 8 + lane() % 4 * 2 + e % 2"
                        : fmt::format("own_n + e % {} * {}", scores() / rows(), kLanesN);
  }

  Scope in_row(std::initializer_list<const std::vector<Loop>*> inner) {
    Scope scope;
    scope.outer = &block_;
    scope.has_results = true;
    for (const std::vector<Loop>* list : inner) {
      for (const Loop& loop : *list) scope.symbols.insert(std::string(loop.variable.symbol_name()));
    }
    return scope;
  }

  // Rows past the last query are not stored, whatever their scores. Keys past the last one, which only a block's last
  // tile has, score -inf. If the score reads memory (a mask), it is computed only for queries and keys that exist, so
  // that no read is out of bounds.
  bool reads_memory_for_scores() const {
    bool reads = false;
    for_each({attention_.score}, [&](ExpressionPtr e) { reads = reads || e->kind == ExpressionKind::load; });
    return reads;
  }
  void mask_keys_past_end() {
    block_.line(fmt::format("  if (n0 + {} > key_end) {{", schedule_.tile.n));
    block_.line("    WICK_UNROLL");
    block_.line(fmt::format("    for (u32 e = 0; e < {}; ++e) {{", scores()));
    block_.line(fmt::format("      if (n0 + static_cast<idx>({}) >= key_end) score_values[e] = -infinity(0.0f);",
                            score_column()));
    block_.line("    }");
    block_.line("  }");
  }

  void write_scores() {
    const bool reads = reads_memory_for_scores();
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 e = 0; e < {}; ++e) {{", scores()));
    block_.line(fmt::format("    const idx m = m0 + static_cast<idx>({});", score_row()));
    block_.line(fmt::format("    const idx n = n0 + static_cast<idx>({});", score_column()));
    block_.line("    f32 score = -infinity(0.0f);");
    if (reads)
      block_.line(fmt::format("    if (m < {} && n < key_end) {{", text(extent_of(loops_.queries))));
    else
      block_.line("    {");
    const std::vector<Loop> keys = {attention_.key};
    Scope score = in_row({&loops_.queries, &keys});
    score.indent = "      ";
    write_split(score, loops_.queries, "m");
    write_split(score, keys, "n");
    score.line("const f32 product = score_values[e];");
    score.line(fmt::format("score = {};", value(score, attention_.score)));
    block_.text += score.text;
    block_.line("    }");
    block_.line("    score_values[e] = score;");
    block_.line("  }");
    if (!reads) mask_keys_past_end();
  }

  // Adds a buffer in which the splits of a tile leave partial results, `per_tile` numbers for each tile, and returns
  // its parameter.
  std::string partial_parameter(int64_t per_tile) {
    KernelBuffer partial;
    partial.elements = tiles() * Sym(per_tile);
    graph_.buffers.push_back(std::move(partial));
    source_.counters = tiles();
    return parameter(static_cast<uint32_t>(graph_.buffers.size() - 1), true);
  }

  void write_rows() {
    if (schedule_.splits > 1) write_merge();
    block_.line(fmt::format("invert_totals<{}>(total, {});", rows(), empty_row_text(kernel_)));
    block_.open_inner();
    write_results();
    block_.close_inner();
  }

  void write_merge() {
    const int64_t per_tile = int64_t{outs() + 2 * rows()} * schedule_.threads * schedule_.splits;
    const std::string name = partial_parameter(per_tile);
    block_.line(
        fmt::format("if (!join_splits<{}, {}>(out_values, largest, total, {} + static_cast<i64>(tile) * {}, {} + "
                    "tile, q_tiles, static_cast<u32>(split), {}, {})) return;",
                    rows_text(), outs(), name, per_tile, counters_parameter(), schedule_.splits, schedule_.threads));
  }

  // Combines the partial rows of the warps in shared memory and those of splits in global memory. Then all threads
  // share the results. Rows of the tile past the last query take no part.
  void write_joined_rows() {
    const auto rows = static_cast<uint32_t>(std::min<int64_t>(loops_.facts.queries, schedule_.tile.m));
    const uint32_t width = value_.lines, warps = schedule_.warps_n, splits = schedule_.splits;
    const std::string shape = fmt::format("{}, {}", rows, width);
    block_.line("block_barrier();");
    block_.line("f32* const parts = reinterpret_cast<f32*>(tiles);");
    block_.line(fmt::format("WICK_SHARED(f32, bounds, {});", warps * 2 * rows));
    block_.line(fmt::format("put_rows<{}>(parts, bounds, out, largest, total, warp);", shape));
    block_.line("block_barrier();");
    std::string joined = fmt::format("join_rows_of_warps<{}, {}>(parts, bounds, e)", warps, shape);
    if (splits > 1) {
      const int64_t per_split = int64_t{rows} * (width + 2);
      const std::string name = partial_parameter(per_split * splits);
      block_.line(fmt::format("f32* const of_tile = {} + static_cast<i64>(tile) * {};", name, per_split * splits));
      block_.line(fmt::format("for (u32 e = thread_x(); e < {}; e += {}) {{", rows * width, schedule_.threads));
      block_.line(fmt::format("  put_row<{}>(of_tile + split * {}, e, {});", shape, per_split, joined));
      block_.line("}");
      block_.line(fmt::format("if (!is_last_split({} + tile, q_tiles, {})) return;", counters_parameter(), splits));
      joined = fmt::format("join_rows_of_splits<{}, {}>(of_tile, e)", splits, shape);
    }
    block_.open_inner();
    block_.line(fmt::format("for (u32 e = thread_x(); e < {}; e += {}) {{", rows * width, schedule_.threads));
    write_result(fmt::format("static_cast<idx>(e / {})", width), fmt::format("static_cast<idx>(e % {})", width),
                 fmt::format("result_of({}, {})", joined, empty_row_text(kernel_)));
    block_.line("}");
    block_.close_inner();
  }

  void write_results() {
    const std::string column = by_matrices_
                                   ? "e / 4 * 8 + lane() % 4 * 2 + e % 2"
                                   : fmt::format("line_of_thread<{}, false>(own_n, e % {})", kLanesN, outs() / rows());
    const std::string row =
        by_matrices_ ? score_row() : fmt::format("own_m + e / {} * {}", outs() / rows(), threads_m());
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 e = 0; e < {}; ++e) {{", outs()));
    write_result(fmt::format("static_cast<idx>({})", row), fmt::format("static_cast<idx>({})", column),
                 fmt::format("out_values[e] * total[row_of_value<{}, {}>(e)]", rows_text(), outs()));
    block_.line("}");
  }

  // Writes the stores of the result at a row and a column of the tile.
  void write_result(const std::string& row, const std::string& column, const std::string& of_element) {
    block_.line(fmt::format("  const idx m = m0 + {}, c = {};", row, column));
    block_.line(
        fmt::format("  if (m < {} && c < {}) {{", text(extent_of(loops_.queries)), text(extent_of(kernel_.columns))));
    Scope result = in_row({&loops_.queries, &kernel_.columns});
    result.indent = "    ";
    write_split(result, loops_.queries, "m");
    write_split(result, kernel_.columns, "c");
    result.line(fmt::format("const f32 result = {};", of_element));
    for (const auto* stores : {&kernel_.row_stores, &kernel_.column_stores}) {
      for (const Store& store : *stores) write_store(result, store, "");
    }
    block_.text += result.text;
    block_.line("  }");
  }

  const Attention& attention_;
  const AttentionLoops& loops_;
  const Schedule schedule_;
  const bool by_matrices_;
  const bool shares_keys_;  // each warp has its own keys, and all queries of the tile
  TileFactor query_, key_, value_;
};

}  // namespace

const char* empty_row_text(const LoopKernel& kernel) {
  return kernel.attention->guarded ? "0.0f" : "infinity(0.0f) - infinity(0.0f)";
}

AttentionLoops find_attention_loops(const LoopKernel& kernel) {
  const Attention& attention = *kernel.attention;
  AttentionLoops out;
  auto shared = symbols_of(attention.key_element);
  shared.merge(symbols_of(attention.value));
  for (const Loop& loop : kernel.rows)
    (shared.count(loop.variable.symbol_name()) > 0 ? out.batch : out.queries).push_back(loop);
  const DType factors = bits_of_factor(attention.query);
  if (factors == bits_of_factor(attention.key_element) && factors == bits_of_factor(attention.value))
    out.factors = factors;
  out.causal = attention.causal && !out.queries.empty() && out.queries.back().variable == kernel.rows.back().variable;
  if (out.causal) {
    // A tile holds neighbouring positions, of all heads that share the keys.
    std::rotate(out.queries.begin(), out.queries.end() - 1, out.queries.end());
    out.per_position = extent_of({out.queries.begin() + 1, out.queries.end()});
  }
  out.facts.queries = max_extent(out.queries);
  out.facts.batch = max_extent(out.batch);
  out.facts.keys = SymScope::range(attention.key.extent).max;
  out.facts.features = SymScope::range(attention.feature.extent).max;
  out.facts.results = max_extent(kernel.columns);
  out.facts.by_matrices = out.factors != DType::f32;
  return out;
}

KernelSource write_attention(LoweredGraph& graph, const LoopKernel& kernel) {
  const AttentionLoops loops = find_attention_loops(kernel);
  const Schedule schedule = choose_attention(loops.facts);
  if (schedule.kind == ScheduleKind::query_per_block) return write_attention_of_query(graph, kernel, schedule);
  return AttentionTilesWriter(graph, kernel, loops, schedule).run();
}

}  // namespace wick::cuda
