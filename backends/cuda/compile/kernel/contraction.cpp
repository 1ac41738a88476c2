#include "backends/cuda/compile/kernel/contraction.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/kernel_writer.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

std::set<std::string, std::less<>> symbols_of(ExpressionPtr expression) {
  std::set<std::string, std::less<>> out;
  std::set<ExpressionPtr> seen;
  std::vector<ExpressionPtr> open = {expression};
  while (!open.empty()) {
    const ExpressionPtr next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (next->kind == ExpressionKind::index) collect_symbols(next->index, out);
    open.insert(open.end(), next->args.begin(), next->args.end());
  }
  return out;
}

// bf16 or f16 if the factor has no more bits than that, else f32.
DType bits_of_factor(ExpressionPtr factor) {
  if (factor->kind == ExpressionKind::load && (factor->dtype == DType::bf16 || factor->dtype == DType::f16))
    return factor->dtype;
  if (factor->kind == ExpressionKind::call && factor->text == "to_f32(to_bf16({0}))") return DType::bf16;
  if (factor->kind == ExpressionKind::call && factor->text == "to_f32(to_f16({0}))") return DType::f16;
  return DType::f32;
}

// Threads of a block and the part of the result that it computes.
struct Tiles {
  uint32_t m = 64, n = 64, k = 16, threads = 256;
};
constexpr Tiles kScalarTiles = {64, 64, 16, 256};
constexpr Tiles kMatrixTiles = {64, 64, 32, 128};
// Padding of rows in shared memory, so that neighbouring rows lie in other banks.
constexpr uint32_t kScalarPadding = 4, kMatrixPadding = 8;

class ContractionWriter : public KernelWriter {
 public:
  ContractionWriter(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction)
      : KernelWriter(graph, kernel),
        contraction_(contraction),
        by_matrices_(contraction.factors != DType::f32),
        tiles_(by_matrices_ ? kMatrixTiles : kScalarTiles) {}

  KernelSource run() {
    block_.indent = "  ";
    const Sym m = extent_of(contraction_.m), n = extent_of(contraction_.n);
    block_.line(fmt::format("const idx m0 = static_cast<idx>(block_x()) * {};", tiles_.m));
    block_.line(fmt::format("const idx n0 = static_cast<idx>(block_y()) * {};", tiles_.n));
    if (!contraction_.batch.empty()) {
      block_.line("const idx batch = static_cast<idx>(block_z());");
      write_split(block_, contraction_.batch, "batch");
    }
    declare_tiles();
    block_.line(fmt::format("for (idx k0 = 0; k0 < {}; k0 += {}) {{", text(extent_of(kernel_.columns)), tiles_.k));
    write_load(contraction_.left, contraction_.m, contraction_.left_along_k, "m", tiles_.m);
    write_load(contraction_.right, contraction_.n, contraction_.right_along_k, "n", tiles_.n);
    block_.line("  block_barrier();");
    by_matrices_ ? write_matrices() : write_scalars();
    block_.line("  block_barrier();");
    block_.line("}");
    write_results();
    source_.threads = tiles_.threads;
    source_.has_barriers = true;
    source_.grid = {ceil_div(m, Sym(int64_t{tiles_.m})), ceil_div(n, Sym(int64_t{tiles_.n})),
                    extent_of(contraction_.batch)};
    return finish(block_.text, m * n);
  }

 private:
  std::string result_text(ExpressionPtr) const override { return "sum"; }

  uint32_t pitch(uint32_t length) const { return by_matrices_ ? tiles_.k + kMatrixPadding : length + kScalarPadding; }

  void declare_tiles() {
    const char* type = by_matrices_ ? storage_name(contraction_.factors) : "f32";
    const uint32_t m = by_matrices_ ? tiles_.m * pitch(0) : tiles_.k * pitch(tiles_.m);
    const uint32_t n = by_matrices_ ? tiles_.n * pitch(0) : tiles_.k * pitch(tiles_.n);
    block_.line(fmt::format("WICK_SHARED({}, m_tile, {});", type, m));
    block_.line(fmt::format("WICK_SHARED({}, n_tile, {});", type, n));
    if (by_matrices_) {
      // Warps are 2 x 2, each computes 32 x 32.
      block_.line("const u32 warp_m = thread_x() / 64 * 32, warp_n = thread_x() / 32 % 2 * 32;");
      block_.line("f32 acc[2][4][4] = {};");
    } else {
      block_.line("const u32 own_m = thread_x() / 16 * 4, own_n = thread_x() % 16 * 4;");
      block_.line("f32 acc[4][4] = {};");
    }
  }

  // Each thread brings some elements of a factor to shared memory. Matrix instructions read [m][k] and [n][k], the
  // others [k][m] and [k][n].
  void write_load(ExpressionPtr factor, const std::vector<Loop>& loops, bool along_k, const char* side,
                  uint32_t length) {
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 e = thread_x(); e < {}; e += {}) {{", length * tiles_.k, tiles_.threads));
    const std::string kk = along_k ? fmt::format("e % {}", tiles_.k) : fmt::format("e / {}", length);
    const std::string line = along_k ? fmt::format("e / {}", tiles_.k) : fmt::format("e % {}", length);
    block_.line(fmt::format("    const u32 kk = {}, line = {};", kk, line));
    block_.line(fmt::format("    const idx k = k0 + static_cast<idx>(kk), {0} = {0}0 + static_cast<idx>(line);", side));
    block_.line("    f32 element = 0.0f;");
    block_.line(
        fmt::format("    if ({} < {} && k < {}) {{", side, text(extent_of(loops)), text(extent_of(kernel_.columns))));
    Scope load;
    load.indent = "      ";
    load.outer = &block_;
    write_split(load, loops, side);
    write_split(load, kernel_.columns, "k");
    for (const std::vector<Loop>* list : {&loops, &kernel_.columns}) {
      for (const Loop& loop : *list) load.symbols.insert(std::string(loop.variable.symbol_name()));
    }
    load.line(fmt::format("element = {};", value(load, factor)));
    block_.text += load.text;
    block_.line("    }");
    if (by_matrices_) {
      block_.line(
          fmt::format("    {}_tile[line * {} + kk] = {};", side, pitch(0), stored_as(contraction_.factors, "element")));
    } else {
      block_.line(fmt::format("    {}_tile[kk * {} + line] = element;", side, pitch(length)));
    }
    block_.line("  }");
  }

  void write_scalars() {
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 kk = 0; kk < {}; ++kk) {{", tiles_.k));
    block_.line("    f32 a[4], b[4];");
    block_.line(fmt::format("    for (u32 i = 0; i < 4; ++i) a[i] = m_tile[kk * {} + own_m + i];", pitch(tiles_.m)));
    block_.line(fmt::format("    for (u32 j = 0; j < 4; ++j) b[j] = n_tile[kk * {} + own_n + j];", pitch(tiles_.n)));
    block_.line("    for (u32 i = 0; i < 4; ++i) {");
    block_.line("      for (u32 j = 0; j < 4; ++j) acc[i][j] = fused_multiply_add(a[i], b[j], acc[i][j]);");
    block_.line("    }");
    block_.line("  }");
  }

  void write_matrices() {
    const char* dtype = storage_name(contraction_.factors);
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 kk = 0; kk < {}; kk += 16) {{", tiles_.k));
    block_.line("    u32 a[2][4], b[4][2];");
    block_.line("    WICK_UNROLL");
    block_.line("    for (u32 i = 0; i < 2; ++i) {");
    block_.line("      const u32 line = warp_m + i * 16 + lane() % 16;");
    block_.line(fmt::format("      ldmatrix_x4(a[i], m_tile + line * {} + kk + lane() / 16 * 8);", pitch(0)));
    block_.line("    }");
    block_.line("    WICK_UNROLL");
    block_.line("    for (u32 j = 0; j < 4; j += 2) {");
    block_.line("      u32 pair[4];");
    block_.line("      const u32 line = warp_n + j * 8 + lane() / 16 * 8 + lane() % 8;");
    block_.line(fmt::format("      ldmatrix_x4(pair, n_tile + line * {} + kk + lane() / 8 % 2 * 8);", pitch(0)));
    block_.line("      b[j][0] = pair[0];");
    block_.line("      b[j][1] = pair[1];");
    block_.line("      b[j + 1][0] = pair[2];");
    block_.line("      b[j + 1][1] = pair[3];");
    block_.line("    }");
    block_.line("    WICK_UNROLL");
    block_.line("    for (u32 i = 0; i < 2; ++i) {");
    block_.line("      WICK_UNROLL");
    block_.line(fmt::format("      for (u32 j = 0; j < 4; ++j) mma_m16n8k16_{}(acc[i][j], a[i], b[j]);", dtype));
    block_.line("    }");
    block_.line("  }");
  }

  void write_results() {
    const char* place[2] = {};
    block_.line("WICK_UNROLL");
    if (by_matrices_) {
      block_.line("for (u32 e = 0; e < 32; ++e) {");
      block_.line("  const u32 i = e / 16, j = e / 4 % 4, c = e % 4;");
      place[0] = "warp_m + i * 16 + lane() / 4 + c / 2 * 8";
      place[1] = "warp_n + j * 8 + lane() % 4 * 2 + c % 2";
    } else {
      block_.line("for (u32 e = 0; e < 16; ++e) {");
      block_.line("  const u32 i = e / 4, j = e % 4;");
      place[0] = "own_m + i";
      place[1] = "own_n + j";
    }
    block_.line(fmt::format("  const idx m = m0 + static_cast<idx>({});", place[0]));
    block_.line(fmt::format("  const idx n = n0 + static_cast<idx>({});", place[1]));
    block_.line(
        fmt::format("  if (m < {} && n < {}) {{", text(extent_of(contraction_.m)), text(extent_of(contraction_.n))));
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
  }

  const Contraction& contraction_;
  const bool by_matrices_;
  const Tiles tiles_;
  Scope block_;
};

}  // namespace

std::optional<Contraction> find_contraction(const LoopKernel& kernel) {
  if (kernel.reductions.size() != 1 || !kernel.column_stores.empty() || kernel.columns.empty()) return std::nullopt;
  const Reduction& reduction = kernel.reductions[0];
  if (reduction.kind != ReductionKind::sum || reduction.guard || reduction.type != ScalarType::f32) return std::nullopt;
  if (reduction.element->kind != ExpressionKind::call || reduction.element->text != "op_mul({0}, {1})")
    return std::nullopt;
  Contraction out;
  out.left = reduction.element->args[0];
  out.right = reduction.element->args[1];
  const auto left = symbols_of(out.left), right = symbols_of(out.right);
  for (const Loop& loop : kernel.rows) {
    const bool in_left = left.count(loop.variable.symbol_name()) > 0,
               in_right = right.count(loop.variable.symbol_name()) > 0;
    (in_left == in_right ? out.batch : in_left ? out.m : out.n).push_back(loop);
  }
  const auto most = [](const std::vector<Loop>& loops) { return SymScope::range(extent_of(loops)).max; };
  if (most(out.m) < 16 || most(out.n) < 16 || most(kernel.columns) < 8 || most(out.batch) > 65535) return std::nullopt;
  if (most(out.n) / 64 >= 65535) return std::nullopt;
  out.left_along_k = walks_along(out.left, kernel.columns.back());
  out.right_along_k = walks_along(out.right, kernel.columns.back());
  const DType factors = bits_of_factor(out.left);
  if (factors == bits_of_factor(out.right)) out.factors = factors;
  return out;
}

KernelSource write_contraction(LoweredGraph& graph, const LoopKernel& kernel, const Contraction& contraction) {
  return ContractionWriter(graph, kernel, contraction).run();
}

}  // namespace wick::cuda
