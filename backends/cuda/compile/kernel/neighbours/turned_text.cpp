// Writes maps that store along one loop and load along another, such as transposes. Squares pass through shared memory,
// so that both sides move adjacent elements at once.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/vector_access.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

// Equals kTurnedSide of the vocabulary.
constexpr uint32_t kSide = 64;

struct TurnedLoad {
  ExpressionPtr load = nullptr;
  uint32_t vector = 1;  // elements that are loaded at once
};
struct Turned {
  size_t along = 0;  // the loop along which the loads read adjacent elements
  std::vector<TurnedLoad> loads;
  uint32_t vector = 1;  // elements that are stored at once
};

uint32_t bytes_of(const TurnedLoad& turned) { return static_cast<uint32_t>(dtype_size_bytes(turned.load->dtype)); }

bool depends_on(ExpressionPtr offset, const Loop& loop) {
  std::set<std::string, std::less<>> symbols;
  collect_symbols(offset->index, symbols);
  return symbols.count(loop.variable.symbol_name()) > 0;
}

// The most elements that a load along a loop takes at once; 0 if neighbours along the loop are not adjacent in memory.
uint32_t vector_along(LoweredGraph& graph, ExpressionPtr load, const std::vector<Loop>& rows, size_t along) {
  for (uint32_t count = 16 / static_cast<uint32_t>(dtype_size_bytes(load->dtype)); count > 1; count /= 2) {
    if (groups_fit({rows[along]}, count) && access_of(graph, load, rows[along], count) == Access::vector) return count;
  }
  return steps_by_one(load->args[0], rows[along]) ? 1 : 0;
}

std::optional<Turned> find_turned(LoweredGraph& graph, const LoopKernel& kernel) {
  constexpr int64_t kLeastElements = 1 << 18, kLeastSide = 16;
  constexpr uint32_t kMostSharedBytes = 32 * 1024;
  const std::vector<Loop>& rows = kernel.rows;
  const bool is_map = kernel.columns.empty() && kernel.reductions.empty() && kernel.column_stores.empty();
  if (!is_map || kernel.in_order || !kernel.prologues.empty() || rows.size() < 2) return std::nullopt;
  const auto is_long = [](const Loop& loop) { return SymScope::range(loop.extent).max >= kLeastSide; };
  if (max_extent(rows) < kLeastElements || !is_long(rows.back()) || reads_what_it_writes(kernel)) return std::nullopt;
  for (const Store& store : kernel.row_stores) {
    if (!steps_by_one(store.offset, rows.back())) return std::nullopt;
  }
  std::vector<ExpressionPtr> scattered;
  for_each(expressions_of(kernel), [&](ExpressionPtr e) {
    const bool turns = e->kind == ExpressionKind::load && e->args[0]->kind == ExpressionKind::index &&
                       depends_on(e->args[0], rows.back()) && !steps_by_one(e->args[0], rows.back());
    if (turns) scattered.push_back(e);
  });
  Turned best;
  for (size_t i = 0; i + 1 < rows.size(); ++i) {
    Turned turned{i, {}, 1};
    uint32_t shared = 0;
    for (const ExpressionPtr load : scattered) {
      const uint32_t vector = is_long(rows[i]) ? vector_along(graph, load, rows, i) : 0;
      const uint32_t bytes = kSide * kSide * static_cast<uint32_t>(dtype_size_bytes(load->dtype));
      if (vector == 0 || shared + bytes > kMostSharedBytes) continue;
      shared += bytes;
      turned.loads.push_back({load, vector});
    }
    if (turned.loads.size() > best.loads.size()) best = std::move(turned);
  }
  if (best.loads.empty()) return std::nullopt;
  std::vector<ExpressionPtr> apart;
  for (const TurnedLoad& turned : best.loads) apart.push_back(turned.load);
  best.vector = vector_of_others(graph, kernel, rows, kernel.row_stores, apart);
  return best;
}

class TurnedWriter : public KernelWriter {
 public:
  TurnedWriter(LoweredGraph& graph, const LoopKernel& kernel, Turned turned)
      : KernelWriter(graph, kernel),
        turned_(std::move(turned)),
        across_(kernel.rows.back()),
        along_(kernel.rows[turned_.along]) {
    block_.indent = "  ";
    source_.schedule.kind = ScheduleKind::turned_map;
    source_.schedule.tile = {kSide, kSide, 0};
    source_.schedule.vector = turned_.vector;
    source_.has_barriers = true;
  }

  KernelSource write() {
    begin_block();
    for (size_t i = 0; i < turned_.loads.size(); ++i) load_square(i);
    for (size_t i = 0; i < turned_.loads.size(); ++i) turn_square(i);
    block_.line("block_barrier();");
    store_square();
    return finish(block_.text, 1);
  }

 private:
  std::string result_text(ExpressionPtr) const override { return ""; }
  uint32_t threads() const { return source_.schedule.threads; }
  uint32_t loads_of_thread(const TurnedLoad& turned) const { return kSide * kSide / turned.vector / threads(); }

  // Neighbouring blocks store adjacent squares.
  void begin_block() {
    const Sym side = int64_t{kSide}, across = ceil_div(across_.extent, side), along = ceil_div(along_.extent, side);
    std::vector<Loop> outer;
    for (const Loop& loop : kernel_.rows) {
      const bool inside = name_of(loop) == name_of(across_) || name_of(loop) == name_of(along_);
      if (!inside) outer.push_back(loop);
    }
    source_.grid[0] = extent_of(outer) * along * across;
    block_.line("const idx square = static_cast<idx>(block_x());");
    block_.line(fmt::format("const idx across = square % {0} * {1}, along = square / {0} % {2} * {1};", text(across),
                            kSide, text(along)));
    write_split(block_, outer, fmt::format("(square / {})", text(across * along)));
  }

  Scope inner(const char* indent) {
    Scope scope;
    scope.outer = &block_;
    scope.indent = indent;
    for (const Loop& loop : {across_, along_}) scope.symbols.insert(std::string(loop.variable.symbol_name()));
    return scope;
  }
  std::string inside() {
    return fmt::format("{} < {} && {} < {}", name_of(across_), text(across_.extent), name_of(along_),
                       text(along_.extent));
  }
  std::string vector_type(const TurnedLoad& turned) const {
    return fmt::format("Vector<{}, {}>", storage_name(turned.load->dtype), turned.vector);
  }
  // Neighbouring threads load adjacent elements.
  std::string place_text(const TurnedLoad& turned) const {
    const uint32_t vectors = kSide / turned.vector;
    return fmt::format("const u32 item = k * {}u + thread_x(), line = item / {}u, place = item % {}u * {}u;", threads(),
                       vectors, vectors, turned.vector);
  }

  void load_square(size_t i) {
    const TurnedLoad& turned = turned_.loads[i];
    Scope take = inner("      ");
    const std::string name = fmt::format("loaded{}", i);
    define_vector(take, turned.load, turned.vector, name);
    block_.line(fmt::format("{} got{}[{}] = {{}};", vector_type(turned), i, loads_of_thread(turned)));
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 k = 0; k < {}; ++k) {{", loads_of_thread(turned)));
    block_.line("  " + place_text(turned));
    block_.line(fmt::format("  const idx {} = across + static_cast<idx>(line), {} = along + static_cast<idx>(place);",
                            name_of(across_), name_of(along_)));
    block_.line(fmt::format("  if ({}) {{", inside()));
    block_.text += take.text;
    block_.line(fmt::format("    got{}[k] = {};", i, name));
    block_.line("  }");
    block_.line("}");
  }

  void turn_square(size_t i) {
    const TurnedLoad& turned = turned_.loads[i];
    const std::string type = storage_name(turned.load->dtype);
    block_.line(fmt::format("WICK_SHARED({}, square{}, {});", type, i, kSide * kSide));
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 k = 0; k < {}; ++k) {{", loads_of_thread(turned)));
    block_.line("  " + place_text(turned));
    block_.line(fmt::format("  turn_in(square{0}, line, place, got{0}[k]);", i));
    block_.line("}");
    hold(turned.load, element_of(turned.load->dtype,
                                 fmt::format("square{}[turned_at<{}>(first + static_cast<u32>(e), place)]", i, type)));
  }

  // The lanes of a warp store to few rows of the result, and read neighbouring words of the squares.
  void store_square() {
    uint32_t narrowest = 8;
    for (const TurnedLoad& turned : turned_.loads) narrowest = std::min(narrowest, bytes_of(turned));
    const uint32_t groups = kSide / turned_.vector, lanes = turned_.vector >= 4 ? std::min(groups, 8u) : 32u;
    const uint32_t each = std::min(std::max(4 / narrowest, 1u), groups * kSide / threads());
    const uint32_t items = groups * kSide / each / threads(), beside = 32 / lanes, rest = groups / lanes;
    Scope give = inner("      ");
    if (turned_.vector > 1) {
      write_group_stores(give, across_, turned_.vector, kernel_.row_stores);
    } else {
      give.line("const u32 e = 0;");
      for (const Store& store : kernel_.row_stores) write_store(give, store, "");
    }
    block_.line("WICK_UNROLL");
    block_.line(fmt::format("for (u32 k = 0; k < {}; ++k) {{", items));
    block_.line(fmt::format("  const u32 item = k * {}u + thread_x(), more = item / 32u;", threads()));
    block_.line(
        fmt::format("  const u32 first = (item % {0}u + more % {1}u * {0}u) * {2}u;", lanes, rest, turned_.vector));
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 i = 0; i < {}; ++i) {{", each));
    block_.line(fmt::format("    const u32 place = (item / {}u % {}u + more / {}u * {}u) * {}u + i;", lanes, beside,
                            rest, beside, each));
    block_.line(
        fmt::format("    const idx {} = across + static_cast<idx>(first), {} = along + static_cast<idx>(place);",
                    name_of(across_), name_of(along_)));
    block_.line(fmt::format("    if ({}) {{", inside()));
    block_.text += give.text;
    block_.line("    }");
    block_.line("  }");
    block_.line("}");
  }

  const Turned turned_;
  const Loop across_, along_;
  Scope block_;
};

}  // namespace

std::optional<KernelSource> write_turned(LoweredGraph& graph, const LoopKernel& kernel) {
  std::optional<Turned> turned = find_turned(graph, kernel);
  if (!turned) return std::nullopt;
  return TurnedWriter(graph, kernel, std::move(*turned)).write();
}

}  // namespace wick::cuda
