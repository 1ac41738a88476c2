// Writes matmuls of a few rows with a matrix that is read once, by matrix instructions. A line is a column of the
// result.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/matvec.h"
#include "backends/cuda/compile/kernel/tile_loader.h"
#include "backends/cuda/compile/kernel/vector_access.h"

namespace wick::cuda {
namespace {

constexpr uint32_t kThreads = 256, kWarps = kThreads / 32;
constexpr int64_t kMostLines = 32;  // lines of a warp at most
// Warps that fill a device, and blocks that it runs at once.
constexpr int64_t kWarpsOfDevice = kMultiprocessors * 24, kBlocksOfDevice = kMultiprocessors * 2;
// The most chunks that a lane loads ahead.
constexpr int64_t kMostChunks = 16;
// The most shared memory for copied rows.
constexpr int64_t kMostRowBytes = 32 * 1024;

// The vocabulary's type for a kind of chunk.
const char* chunk_text(Chunk chunk) {
  switch (chunk) {
    case Chunk::floats: return "FloatChunk";
    case Chunk::bytes: return "ByteChunk";
    case Chunk::nibbles: return "NibbleChunk<0>";
    case Chunk::signed_nibbles: return "NibbleChunk<8>";
    default: return "";
  }
}

// Bytes of the few rows if they are copied to shared memory; 0 if they are read where they are.
int64_t copied_row_bytes(const LoopKernel& kernel, const Matvec& matvec) {
  const int64_t bytes = max_extent(matvec.m) * kernel.columns[0].extent.value() * 2;
  return kernel.prologues.empty() && bytes <= kMostRowBytes ? bytes : 0;
}

class MatrixMatvecWriter : public KernelWriter {
 public:
  MatrixMatvecWriter(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec)
      : KernelWriter(graph, kernel),
        matvec_(matvec),
        k_(kernel.columns[0]),
        columns_(extent_of(matvec.n)),
        groups_(graph, k_, matvec.count, "group"),
        parts_(graph, k_, 8, "part"),
        steps_(k_.extent.value() / (4 * int64_t{matvec.count})) {
    name_variable(groups_.group, "chunk");
    name_variable(parts_.group, "part");
    rows_ = max_extent(matvec.m);
    choose();
  }

  KernelSource run() {
    block_.indent = "  ";
    const bool walks = splits_ == 1 && !kernel_.prologues.empty() && max_tiles() > kBlocksOfDevice * kWarps;
    source_.grid[0] = ceil_div(tiles(), Sym(int64_t{kWarps} / splits_));
    block_.line("const u32 warp = thread_x() / 32;");
    block_.line(fmt::format("const idx first_step = static_cast<idx>(warp % {}) * {};", splits_, steps_of_warp()));
    block_.line(fmt::format("WICK_SHARED(f32, line_sums, {});", kWarps * sums_of_warp()));
    if (walks) {
      source_.grid[0] = sym_min(source_.grid[0], Sym(kBlocksOfDevice));
      write_rows();
      block_.line(fmt::format("for (idx tile = {}; tile < {}; tile += {}) {{", tile_text(), text(tiles()),
                              kBlocksOfDevice * kWarps));
      block_.indent += "  ";
    } else {
      block_.line(fmt::format("const idx tile = {};", tile_text()));
    }
    write_fetch();
    if (!walks) write_rows();
    write_sums();
    write_results();
    if (walks) block_.text += "    warp_barrier();\n  }\n";
    source_.schedule.kind = ScheduleKind::matvec_tiles;
    source_.schedule.threads = kThreads;
    source_.schedule.vector = matvec_.count;
    source_.has_barriers = true;
    return finish(block_.text, columns_ * Sym(int64_t{kThreads}));
  }

 private:
  // Lines of a warp.
  int64_t lines() const { return 8 * halves_; }
  Sym tiles() const { return ceil_div(columns_, Sym(lines())); }
  int64_t max_tiles() const { return compiler::SymScope::range(tiles()).max; }
  int64_t steps_of_warp() const { return steps_ / splits_; }
  int64_t chunks_of_step() const { return static_cast<int64_t>(matvec_.matrices.size()) * halves_; }
  int64_t sums_of_warp() const { return static_cast<int64_t>(matvec_.matrices.size()) * lines() * rows_; }
  std::string tile_text() const {
    return fmt::format("static_cast<idx>(block_x()) * {} + static_cast<idx>(warp / {})", kWarps / splits_, splits_);
  }
  std::string result_text(ExpressionPtr reduced) const override { return fmt::format("acc{}", reduced->buffer); }

  // Lets warps share the steps of a tile where there are few tiles.
  void choose() {
    while (splits_ < kWarps && steps_ % (2 * splits_) == 0 && max_tiles() * splits_ < kWarpsOfDevice) splits_ *= 2;
    // If there are more tiles than blocks that run at once, tiles become larger, so that what a block computes first
    // (prologues, copied rows) serves more lines.
    if (splits_ > 1 && max_tiles() > kBlocksOfDevice) halves_ = kMostLines / 8;
    const int64_t most = kMostChunks / chunks_of_step();
    for (int64_t depth = 1; depth <= std::max<int64_t>(most, 1); ++depth) {
      if (steps_of_warp() % depth == 0) depth_ = depth;
    }
  }

  Scope inside(Scope& outer, const std::vector<Sym>& symbols, const std::vector<Loop>& loops) {
    Scope scope;
    scope.outer = &outer;
    scope.indent = outer.indent + "  ";
    for (const Sym& symbol : symbols) scope.symbols.insert(std::string(symbol.symbol_name()));
    for (const Loop& loop : loops) scope.symbols.insert(std::string(loop.variable.symbol_name()));
    return scope;
  }

  // The expression at the first element of a chunk or part.
  ExpressionPtr at_first(const Groups& groups, ExpressionPtr e) {
    const auto change = [&](const Sym& sym) {
      return substitute(groups.of(graph_, sym, k_), {{std::string(groups.inner.symbol_name()), Sym(0)}});
    };
    std::map<ExpressionPtr, ExpressionPtr> known;
    return graph_.pool.rewrite(e, change, known);
  }

  // Writes function `fetch`, which loads a lane's chunks of step `step`, of all matrices. The loads of the first steps
  // start before anything else.
  void write_fetch() {
    block_.line(fmt::format("Words4 held[{}][{}];", depth_, chunks_of_step()));
    block_.line(fmt::format("f32 scales[{}][{}] = {{}};", depth_, chunks_of_step()));
    Scope chunk = inside(block_, {groups_.group}, {});
    chunk.line("const idx chunk = step * 4 + static_cast<idx>(lane() % 4);");
    for (int64_t half = 0; half < halves_; ++half) {
      Scope line = inside(chunk, {}, matvec_.n);
      line.line(fmt::format("const idx n = smaller<idx>(tile * {} + static_cast<idx>(lane() / 4 + {}), {});", lines(),
                            8 * half, text(columns_ - Sym(1))));
      write_split(line, matvec_.n, "n");
      int64_t number = half;
      for (const Matvec::Matrix& matrix : matvec_.matrices) {
        const ExpressionPtr packed = at_first(groups_, matrix.packed);
        line.line(fmt::format("held[slot][{}] = load_words4_once({} + {});", number, parameter(packed->buffer, false),
                              value(line, packed->args[0])));
        if (matrix.scale)
          line.line(fmt::format("scales[slot][{}] = {};", number, value(line, at_first(groups_, matrix.scale))));
        number += halves_;
      }
      chunk.line("{");
      chunk.text += line.text;
      chunk.line("}");
    }
    block_.line("const auto fetch = [&](u32 slot, idx step) {");
    block_.text += chunk.text;
    block_.line("};");
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 d = 0; d < {}; ++d) fetch(d, first_step + static_cast<idx>(d));", depth_));
  }

  // Runs the prologues, or copies the rows to shared memory if they fit.
  void write_rows() {
    write_prologues(block_, kThreads);
    if (copied_row_bytes(kernel_, matvec_) == 0) return;
    const int64_t parts = k_.extent.value() / 8;
    block_.line(fmt::format("WICK_SHARED({}, shared_rows, {});", storage_name(matvec_.factors), rows_ * parts * 8));
    block_.line(fmt::format("for (u32 c = thread_x(); c < {}; c += {}) {{", rows_ * parts, kThreads));
    Scope copy = inside(block_, {parts_.group}, matvec_.m);
    copy.line(fmt::format("const idx m = static_cast<idx>(c) / {0}, part = static_cast<idx>(c) % {0};", parts));
    copy.line(fmt::format("cp_async16(shared_rows + 8 * c, {});", row_part(copy)));
    block_.text += copy.text;
    block_.line("}");
    block_.line("cp_async_commit();");
    block_.line("cp_async_wait<0>();");
    block_.line("block_barrier();");
    copied_ = true;
  }

  // The text of the address of part `part` of row `m`.
  std::string row_part(Scope& scope) {
    if (copied_)
      return fmt::format("shared_rows + 8 * ({}part)",
                         rows_ == 1 ? "" : fmt::format("m * {} + ", k_.extent.value() / 8));
    write_split(scope, matvec_.m, "m");
    const ExpressionPtr left = at_first(parts_, matvec_.left);
    return parameter(left->buffer, false) + " + " + value(scope, left->args[0]);
  }

  // Writes function `multiply`, which adds the products of what fetch() has loaded.
  void write_multiply() {
    const std::string chunk_name = chunk_text(matvec_.matrices[0].chunk), type = storage_name(matvec_.factors);
    Scope chunk = inside(block_, {groups_.group}, {});
    chunk.line("const idx chunk = step * 4 + static_cast<idx>(lane() % 4);");
    chunk.line(fmt::format("Words4 rows[{}::kParts];", chunk_name));
    Scope part = inside(chunk, {parts_.group}, matvec_.m);
    part.line(fmt::format("const idx part = chunk * {} + static_cast<idx>(c);", matvec_.count / 8));
    // Lanes past the last row repeat it. Nobody reads what they compute.
    if (rows_ > 1) part.line(fmt::format("const idx m = smaller<idx>(static_cast<idx>(lane() / 4), {});", rows_ - 1));
    part.line(fmt::format("rows[c] = {}::ordered(load_words4({}));", chunk_name, row_part(part)));
    chunk.line("WICK_UNROLL");
    chunk.line(fmt::format("for (u32 c = 0; c < {}; ++c) {{", matvec_.count / 8));
    chunk.text += part.text;
    chunk.line("}");
    for (int64_t i = 0; i < chunks_of_step(); i += 2)
      chunk.line(
          fmt::format("multiply_chunks<{0}>(sums[{1}], held[slot][{2}], scales[slot][{2}], held[slot][{3}], "
                      "scales[slot][{3}], rows, {4}());",
                      chunk_name, i / 2, i, i + 1, type));
    block_.line("const auto multiply = [&](u32 slot, idx step) {");
    block_.text += chunk.text;
    block_.line("};");
  }

  void write_sums() {
    block_.line(fmt::format("f32 sums[{}][4] = {{}};", chunks_of_step() / 2));
    write_multiply();
    block_.line("idx step = first_step;");
    if (steps_of_warp() > depth_) {
      block_.line(fmt::format("for (; step < first_step + {0}; step += {1}) {{", steps_of_warp() - depth_, depth_));
      block_.line("  WICK_UNROLL");
      block_.line(fmt::format("  for (u32 d = 0; d < {}; ++d) {{", depth_));
      block_.line("    multiply(d, step + static_cast<idx>(d));");
      block_.line(fmt::format("    fetch(d, step + static_cast<idx>(d + {}));", depth_));
      block_.line("  }");
      block_.line("}");
    }
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 d = 0; d < {}; ++d) multiply(d, step + static_cast<idx>(d));", depth_));
    for (int64_t i = 0; i < chunks_of_step() / 2; ++i)
      block_.line(fmt::format("put_line_sums<{}>(line_sums + warp * {} + {}, sums[{}]);", rows_, sums_of_warp(),
                              16 * i * rows_, i));
    block_.line(splits_ == 1 ? "warp_barrier();" : "block_barrier();");
  }

  // A thread adds the partial sums that the warps have for a line, for all rows.
  void write_results() {
    block_.line(fmt::format("const u32 own = thread_x() % {};", 32 * splits_));
    block_.line(fmt::format("const idx own_n = tile * {} + static_cast<idx>(own % {});", lines(), lines()));
    block_.line(fmt::format("const idx n = smaller<idx>(own_n, {});", text(columns_ - Sym(1))));
    block_.line(fmt::format("const bool stores = own < {} && own_n < {};", lines(), text(columns_)));
    block_.line(fmt::format("const f32* const own_sums = line_sums + warp / {0} * {0} * {1} + own % {2} * {3};",
                            splits_, sums_of_warp(), lines(), rows_));
    write_split(block_, matvec_.n, "n");
    if (rows_ == 1) return write_row_of_results();
    for (int64_t m = 0; m < rows_; ++m) write_row(m);
  }

  std::string sum_text(size_t matrix, int64_t m) const {
    return fmt::format("sum_of_parts<{}>(own_sums + {}, {})", splits_,
                       static_cast<int64_t>(matrix) * lines() * rows_ + m, sums_of_warp());
  }

  void write_row_of_results() {
    for (size_t i = 0; i < matvec_.matrices.size(); ++i)
      block_.line(fmt::format("const f32 acc{} = {};", i, sum_text(i, 0)));
    for (const Store& store : kernel_.row_stores) write_store(block_, store, "stores");
    for (const RowPart& part : kernel_.row_parts) write_part(block_, part, "n", "stores");
  }

  void write_row(int64_t m) {
    Scope result = inside(block_, {}, {});
    result.has_results = true;
    result.line(fmt::format("const f32 acc0 = {};", sum_text(0, m)));
    std::map<ExpressionPtr, ExpressionPtr> known;
    const auto rewrite = [&](ExpressionPtr e) {
      return e ? graph_.pool.rewrite(e, [&](const Sym& sym) { return matvec_.in_row(sym, m); }, known) : nullptr;
    };
    for (Store store : kernel_.row_stores) {
      store.offset = rewrite(store.offset);
      store.value = rewrite(store.value);
      store.guard = rewrite(store.guard);
      write_store(result, store, "");
    }
    block_.line("if (stores) {");
    block_.text += result.text;
    block_.line("}");
  }

  const Matvec& matvec_;
  const Loop k_;
  const Sym columns_;
  const Groups groups_, parts_;
  const int64_t steps_;  // of all warps together; a step is four chunks of a line
  int64_t rows_ = 1, splits_ = 1, depth_ = 1;
  bool copied_ = false;  // the rows are in shared memory
  int64_t halves_ = 2;   // a warp has 8 * halves_ lines, a lane one of each 8
  Scope block_;
};

// Finds what the chunks of a matrix hold. False unless they hold floats of dtype `factors`, or integers that become the
// factor by nothing but a scale that all elements of a chunk share.
bool find_chunk(LoweredGraph& graph, const Loop& k, int64_t count, DType factors, Matvec::Matrix& matrix) {
  if (matrix.packed == matrix.element) {
    matrix.chunk = Chunk::floats;
    return matrix.element->dtype == factors;
  }
  const ExpressionPtr rounded = matrix.element;
  if (rounded->kind != ExpressionKind::call || bits_of_factor(rounded) != factors) return false;
  const ExpressionPtr real = rounded->args[0];
  if (real->kind != ExpressionKind::call || real->text != "dequantized({0}, {1})") return false;
  const ExpressionPtr integer = real->args[0], scale = real->args[1];
  const auto is_nibble = [&](const char* text) {
    return integer->kind == ExpressionKind::call && integer->text == text && integer->args[0] == matrix.packed &&
           bits_of_factor(scale) == factors;
  };
  Chunk chunk = Chunk::other;
  if (integer == matrix.packed && matrix.packed->dtype == DType::i8) chunk = Chunk::bytes;
  if (is_nibble("nibble({0}, {1})")) chunk = Chunk::nibbles;
  if (is_nibble("(nibble({0}, {1}) - 8)")) chunk = Chunk::signed_nibbles;
  const Groups groups(graph, k, count, "group");
  std::map<ExpressionPtr, ExpressionPtr> known;
  const auto change = [&](const Sym& sym) { return groups.of(graph, sym, k); };
  const auto symbols = symbols_of(graph.pool.rewrite(scale, change, known));
  if (chunk == Chunk::other || symbols.count(groups.inner.symbol_name()) > 0) return false;
  matrix.chunk = chunk;
  matrix.scale = scale;
  return true;
}

}  // namespace

void find_chunks(LoweredGraph& graph, const Loop& k, Matvec& matvec) {
  const ExpressionPtr left = matvec.left;
  const DType factors = bits_of_factor(left);
  if (factors == DType::f32 || left->kind != ExpressionKind::load || left->args.size() > 1) return;
  const int64_t step = 4 * int64_t{matvec.count};
  if (!k.extent.is_const() || k.extent.value() % step != 0 || access_of(graph, left, k, 8) != Access::vector) return;
  for (Matvec::Matrix& matrix : matvec.matrices) {
    if (!find_chunk(graph, k, matvec.count, factors, matrix) || matrix.chunk != matvec.matrices[0].chunk) return;
  }
  matvec.factors = factors;
}

int64_t shared_bytes(const LoopKernel& kernel, const Matvec& matvec) {
  if (matvec.factors == DType::f32) return 0;
  const int64_t sums = max_extent(matvec.m) * static_cast<int64_t>(matvec.matrices.size()) * kMostLines;
  return copied_row_bytes(kernel, matvec) + int64_t{kWarps} * sums * 4;
}

KernelSource write_matvec_by_matrices(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec) {
  return MatrixMatvecWriter(graph, kernel, matvec).run();
}

}  // namespace wick::cuda
