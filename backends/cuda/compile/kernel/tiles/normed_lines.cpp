#include "backends/cuda/compile/kernel/tiles/normed_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "backends/cuda/compile/kernel/vector_access.h"

namespace wick::cuda {
namespace {

// The most vectors of a line that a lane keeps in registers, if the line is read for its norms and again for its
// elements.
constexpr uint32_t kMostUnrolledSteps = 12;

// Whether all lanes take the same small number of vectors, so that they can keep them in registers.
bool are_few(const Sym& steps, uint32_t count) {
  const int64_t apart = int64_t{kLanesOfNorm} * count;
  return steps.is_const() && steps.value() % apart == 0 && steps.value() / apart <= kMostUnrolledSteps;
}

}  // namespace

std::string NormedLineWriter::norm_text(ExpressionPtr reduced, const TileFactor& factor) const {
  if (in_norms_) return fmt::format("acc{}", reduced->buffer);
  const size_t number = reduced->buffer - kernel_.reductions.size();
  if (panel_) return fmt::format("number{}", number);
  return fmt::format("norm{}[{}]", number, factor.along_k ? "row" : "column");
}

bool NormedLineWriter::fits_panel(const TileFactor& factor) {
  return factor.load == TileLoad::chunks && factor.along_k;
}

void NormedLineWriter::hoist_values_of_lines(TileFactor& factor) {
  std::map<ExpressionPtr, ExpressionPtr> known;
  std::vector<ExpressionPtr> open = {factor.element};
  while (!open.empty()) {
    const ExpressionPtr e = open.back();
    open.pop_back();
    if (known.count(e) > 0 || !reads_norm(e)) continue;
    if (e->type != ScalarType::f32 || mentions_step(e)) {
      open.insert(open.end(), e->args.begin(), e->args.end());
      continue;
    }
    const size_t number = kernel_.reductions.size() + numbers_.size();
    known[e] = graph_.pool.reduced(static_cast<uint32_t>(number), ScalarType::f32);
    numbers_.push_back(e);
  }
  factor.element = graph_.pool.rewrite(factor.element, [](const Sym& sym) { return sym; }, known);
}
bool NormedLineWriter::reads_norm(ExpressionPtr expression) {
  bool reads = false;
  for_each({expression}, [&](ExpressionPtr e) { reads = reads || e->kind == ExpressionKind::reduced; });
  return reads;
}
bool NormedLineWriter::mentions_step(ExpressionPtr expression) const {
  const auto symbols = symbols_of(expression);
  return std::any_of(kernel_.columns.begin(), kernel_.columns.end(),
                     [&](const Loop& loop) { return symbols.count(loop.variable.symbol_name()) > 0; });
}

// A few lanes compute the values of a line. Lines past the last one repeat it, so that all lanes of a warp take part in
// the reductions.
void NormedLineWriter::write_norms(const TileFactor& factor, uint32_t threads) {
  in_norms_ = true;
  block_.open_inner();
  for (size_t i = 0; i < numbers_.size(); ++i)
    block_.line(fmt::format("WICK_SHARED(f32, norm{}, {});", i, factor.lines));
  block_.line("WICK_NO_UNROLL");
  block_.line(fmt::format("for (u32 line = thread_x() / {0}; line < {1}; line += {2}) {{", kLanesOfNorm, factor.lines,
                          threads / kLanesOfNorm));
  Scope line = begin_line(factor);
  for (size_t i = 0; i < num_norms(); ++i) write_norm(line, i);
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const std::string number = value(line, numbers_[i]);
    line.line(fmt::format("norm{}[line] = {};", i, number));
  }
  block_.text += line.text;
  block_.line("}");
  block_.line("block_barrier();");
  block_.close_inner();
  in_norms_ = false;
}

// Begins the text for line number `line` of the tile.
Scope NormedLineWriter::begin_line(const TileFactor& factor) {
  block_.line(fmt::format("  const idx {0} = smaller<idx>({0}0 + static_cast<idx>(line), {1} - 1);", factor.line,
                          text(extent_of(factor.line_loops))));
  Scope line;
  line.indent = "  ";
  line.outer = &block_;
  line.has_results = true;
  for (const Loop& loop : factor.line_loops) line.symbols.insert(std::string(loop.variable.symbol_name()));
  write_split(line, factor.line_loops, factor.line);
  return line;
}

// Loads once what both the first norm and the elements read of a line.
void NormedLineWriter::hold_loads(Scope& line, const TileFactor& factor) {
  const Sym steps = extent_of(kernel_.columns);
  if (!are_few(steps, factor.chunk())) return;
  std::set<ExpressionPtr> of_elements;
  for_each({factor.element}, [&](ExpressionPtr e) { of_elements.insert(e); });
  std::vector<ExpressionPtr> loads;
  for_each({kernel_.reductions[0].element}, [&](ExpressionPtr e) {
    const bool is_load = e->kind == ExpressionKind::load && e->args.size() == 1 && of_elements.count(e) > 0;
    if (is_load && access_of(graph_, e, kernel_.columns.back(), factor.chunk()) == Access::vector) loads.push_back(e);
  });
  for (size_t i = 0; i < loads.size(); ++i) {
    const std::string vector = fmt::format("Vector<{}, {}>", storage_name(loads[i]->dtype), factor.chunk());
    line.line(fmt::format("{} held{}[{}];", vector, i, steps.value() / (int64_t{kLanesOfNorm} * factor.chunk())));
    begin_steps(line, "k", steps, factor.chunk());
    Scope column;
    column.indent = line.indent + "  ";
    column.outer = &line;
    for (const Loop& loop : kernel_.columns) column.symbols.insert(std::string(loop.variable.symbol_name()));
    write_split(column, kernel_.columns, "k");
    const std::string offset = value(column, loads[i]->args[0]);
    column.line(fmt::format("held{}[part] = load_vector<{}, {}>({} + {});", i, storage_name(loads[i]->dtype),
                            factor.chunk(), parameter(loads[i]->buffer, false), offset));
    line.text += column.text;
    line.line("}");
    hold(loads[i], fmt::format("held{}[part]", i));
  }
}

// A loop over `steps` steps for the lanes of a line, `count` steps at once. It is unrolled for a panel if it is short.
void NormedLineWriter::begin_steps(Scope& line, const char* name, const Sym& steps, uint32_t count) {
  const int64_t apart = int64_t{kLanesOfNorm} * count;
  if (panel_ && are_few(steps, count)) {
    line.line("WICK_UNROLL");
    line.line(fmt::format("for (u32 part = 0; part < {}; ++part) {{", steps.value() / apart));
    line.line(fmt::format("  const idx {} = static_cast<idx>(part * {} + lane() % {} * {});", name, apart, kLanesOfNorm,
                          count));
    return;
  }
  line.line("WICK_UNROLL_BY_2");
  line.line(fmt::format("for (idx {0} = static_cast<idx>(lane() % {1} * {2}); {0} < {3}; {0} += {4}) {{", name,
                        kLanesOfNorm, count, text(steps), apart));
}

void NormedLineWriter::write_norm(Scope& line, size_t index) {
  const Reduction& norm = kernel_.reductions[index];
  const std::string acc = fmt::format("acc{}", index);
  line.line(fmt::format("{} {} = {};", type_of(norm), acc, first_value(norm)));
  Scope column;
  column.indent = line.indent + "  ";
  column.outer = &line;
  for (const Loop& loop : kernel_.columns) column.symbols.insert(std::string(loop.variable.symbol_name()));
  const auto many = static_cast<uint32_t>(std::clamp<int64_t>(max_extent(kernel_.columns) / kLanesOfNorm, 1, 8));
  const uint32_t count = vector_of_loads(graph_, {norm.element}, kernel_.columns, many);
  write_split(column, kernel_.columns, "k");
  if (count == 1)
    write_accumulation(column, norm, acc, "k");
  else
    write_group(column, kernel_.columns.back(), count, {norm.element},
                [&](Scope& inner) { write_accumulation(inner, norm, acc, "k"); });
  begin_steps(line, "k", extent_of(kernel_.columns), count);
  line.text += column.text;
  line.line("}");
  line.line(fmt::format("{0} = warp_reduce<{1}, {2}>({0});", acc, combiner(norm.kind), kLanesOfNorm));
}

// The normed elements go to shared memory while the first tiles of the other factor are copied.
void NormedLineWriter::write_panel(const TileFactor& factor, uint32_t width, uint32_t threads) {
  in_norms_ = true;
  block_.open_inner();
  const uint32_t at_once = threads / kLanesOfNorm;
  block_.line("WICK_UNROLL_BY_2");
  block_.line(fmt::format("for (u32 group = 0; group < {}; ++group) {{", factor.lines / at_once));
  block_.line(fmt::format("  const u32 line = group * {} + thread_x() / {};", at_once, kLanesOfNorm));
  Scope line = begin_line(factor);
  if (width == extent_of(kernel_.columns).value()) hold_loads(line, factor);
  for (size_t i = 0; i < num_norms(); ++i) write_norm(line, i);
  for (size_t i = 0; i < numbers_.size(); ++i)
    line.line(fmt::format("const f32 number{} = {};", i, value(line, numbers_[i])));
  in_norms_ = false;
  begin_steps(line, "column", Sym(int64_t{width}), factor.chunk());
  line.line("  const idx k = k_begin + column;");
  const std::string vector = fmt::format("Vector<{}, {}>", storage_name(factor.dtype), factor.chunk());
  line.line(fmt::format("  {} packed = {{}};", vector));
  Scope element;
  element.indent = line.indent + "    ";
  element.outer = &line;
  element.has_results = true;
  for (const Loop& loop : factor.step_loops) element.symbols.insert(std::string(loop.variable.symbol_name()));
  write_split(element, factor.step_loops, "k");
  write_group(element, factor.step_loops.back(), factor.chunk(), {factor.element}, [&](Scope& inner) {
    inner.line(fmt::format("packed[static_cast<int>(e)] = {};", stored_as(factor.dtype, value(inner, factor.element))));
  });
  line.line(fmt::format("  if (k < {}) {{", factor.step_end));
  line.text += element.text;
  line.line("  }");
  line.line(fmt::format("  store_vector(tile_at<{}>({}_tiles, line, static_cast<u32>(column)), packed);", width,
                        factor.name));
  line.line("}");
  block_.text += line.text;
  block_.line("}");
  block_.close_inner();
}

}  // namespace wick::cuda
