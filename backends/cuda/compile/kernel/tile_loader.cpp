#include "backends/cuda/compile/kernel/tile_loader.h"

#include <fmt/format.h>

#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

uint32_t TileFactor::chunk() const { return static_cast<uint32_t>(16 / dtype_size_bytes(dtype)); }
std::string TileFactor::size() const {
  return fmt::format("tile_chunks({}, {}) * {}", rows(), width() / chunk(), chunk());
}

std::string TileFactor::place() const {
  if (is_swizzled) return fmt::format("swizzled_tile_at<{}>", rows());
  return fmt::format("{}<{}>", spreads_steps ? "spread_tile_at" : "tile_at", width());
}

DType bits_of_factor(ExpressionPtr factor) {
  if (factor->kind == ExpressionKind::load && (factor->dtype == DType::bf16 || factor->dtype == DType::f16))
    return factor->dtype;
  if (factor->kind == ExpressionKind::call && factor->text == "to_f32(to_bf16({0}))") return DType::bf16;
  if (factor->kind == ExpressionKind::call && factor->text == "to_f32(to_f16({0}))") return DType::f16;
  return DType::f32;
}

namespace {

// Neighbours along a loop that are at most this many elements apart share cache lines.
constexpr int64_t kNear = 4;

// Whether the element is a load, and neighbours along the loop are near each other in memory.
bool is_near(ExpressionPtr element, const Loop& loop) {
  if (element->kind != ExpressionKind::load || element->args[0]->kind != ExpressionKind::index) return false;
  bool near = false;
  const compiler::Status status = compiler::catch_failure([&] {
    const Sym step = step_of(element->args[0]->index, loop.variable);
    near = step.is_const() && step.value() >= 1 && step.value() <= kNear;
  });
  return status.ok() && near;
}

// Whether the factor's elements are loads of the tile's dtype, at offsets that read no memory themselves: past the
// factor's end such reads would be out of bounds.
bool is_plain(const TileFactor& factor) {
  bool reads = false;
  for_each(factor.element->args, [&](ExpressionPtr e) { reads = reads || e->kind == ExpressionKind::load; });
  return factor.element->kind == ExpressionKind::load && factor.element->dtype == factor.dtype && !reads;
}

}  // namespace

// Contiguous runs of steps that are shorter than a chunk, such as the taps of a window, cannot be copied by chunks.
// Neighbouring threads then take neighbouring lines, if there are enough of them.
bool lies_along_steps(const TileFactor& factor) {
  constexpr int64_t kWarp = 32;
  const Loop &step = factor.step_loops.back(), &line = factor.line_loops.back();
  if (!is_contiguous_along(factor.element, step)) return !is_contiguous_along(factor.element, line);
  const bool short_runs = max_extent({step}) < factor.chunk() && factor.step_loops.size() > 1;
  return !short_runs || max_extent({line}) < kWarp || !is_near(factor.element, line);
}

TileLoad choose_load(LoweredGraph& graph, const TileFactor& factor) {
  const std::vector<Loop>& along = factor.along_k ? factor.step_loops : factor.line_loops;
  const uint32_t count = factor.chunk();
  const TileLoad otherwise = is_plain(factor) && factor.dtype == DType::f32 ? TileLoad::words : TileLoad::elements;
  if (!groups_fit(along, count)) return otherwise;
  bool any = false, all = !factor.reads_norms || factor.along_k;
  for_each({factor.element}, [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::load) return;
    const Access access = access_of(graph, e, along.back(), count);
    any = any || access == Access::vector;
    all = all && access != Access::scattered && (access == Access::one || count * dtype_size_bytes(e->dtype) <= 16);
  });
  if (!any || !all) return otherwise;
  return is_plain(factor) ? TileLoad::copies : TileLoad::chunks;
}

// A scope that defines the loop variables of the factor's element at its line and step.
Scope TileWriter::at_element(const TileFactor& factor) {
  Scope scope;
  scope.indent = "      ";
  scope.outer = &block_;
  scope.has_results = factor.reads_norms;
  for (const std::vector<Loop>* list : {&factor.line_loops, &factor.step_loops}) {
    for (const Loop& loop : *list) scope.symbols.insert(std::string(loop.variable.symbol_name()));
  }
  write_split(scope, factor.line_loops, factor.line);
  write_split(scope, factor.step_loops, factor.step);
  return scope;
}

std::string TileWriter::inside(const TileFactor& factor) {
  const auto fills = [](const Sym& extent, uint32_t tile) { return extent.is_const() && extent.value() % tile == 0; };
  const Sym lines = extent_of(factor.line_loops);
  std::string out;
  if (!fills(lines, factor.lines)) out = fmt::format("{} < {}", factor.line, text(lines));
  if (!fills(extent_of(factor.step_loops), factor.depth))
    out += fmt::format("{}{} < {}", out.empty() ? "" : " && ", factor.step, factor.step_end);
  return out;
}

void TileWriter::begin_inside(const TileFactor& factor) {
  const std::string condition = inside(factor);
  block_.line(condition.empty() ? "    {" : fmt::format("    if ({}) {{", condition));
}

// The same, and the guard of the load itself.
std::string TileWriter::readable(Scope& scope, const TileFactor& factor) {
  std::string valid = inside(factor);
  if (factor.element->args.size() == 1) return valid;
  return (valid.empty() ? "" : valid + " && ") + value(scope, factor.element->args[1]);
}

// Begins function `head` with a loop over the `count` parts of a tile that a thread handles.
void TileWriter::begin_loader(const std::string& head, uint32_t count, const char* unroll) {
  block_.line(fmt::format("const auto {} {{", head));
  block_.line(fmt::format("  {}", unroll));
  block_.line(fmt::format("  for (u32 e = 0; e < {}; ++e) {{", count));
}

void TileWriter::write_place(const TileFactor& factor) {
  block_.line(fmt::format("    const idx {0} = line0 + static_cast<idx>({1}), {2} = step0 + static_cast<idx>({3});",
                          factor.line, factor.along_k ? "row" : "column", factor.step,
                          factor.along_k ? "column" : "row"));
}

void TileWriter::write_loader(const TileFactor& factor, uint32_t threads) {
  block_.open_inner();
  switch (factor.load) {
    case TileLoad::copies:
    case TileLoad::words: write_copies(factor, threads); break;
    case TileLoad::chunks: write_chunks(factor, threads); break;
    case TileLoad::elements: write_elements(factor, threads); break;
  }
  block_.close_inner();
}

// Writes the row and column of part `e` of a thread. A part is `unit` elements.
void TileWriter::write_number(const TileFactor& factor, uint32_t threads, uint32_t unit) {
  const uint32_t per_row = factor.width() / unit, parts = factor.rows() * per_row;
  if (threads % per_row == 0 && parts % threads == 0) {  // only the row depends on `e`: addresses are cheap
    block_.line(fmt::format("    const u32 row = e * {0} + thread_x() / {1}, column = thread_x() % {1}{2};",
                            threads / per_row, per_row, unit == 1 ? "" : fmt::format(" * {}", unit)));
    return;
  }
  block_.line(fmt::format("    const u32 number = e * {0} + thread_x(), row = number / {1}, column = number % {1}{2};",
                          threads, per_row, unit == 1 ? "" : fmt::format(" * {}", unit)));
  if (parts % threads != 0) block_.line(fmt::format("    if (number >= {}) break;", parts));
}

void TileWriter::write_chunks(const TileFactor& factor, uint32_t threads) {
  const uint32_t chunks = factor.rows() * factor.width() / factor.chunk(), count = (chunks + threads - 1) / threads;
  const char* type = storage_name(factor.dtype);
  const std::string vector = fmt::format("Vector<{}, {}>", type, factor.chunk());
  block_.line(fmt::format("{} held_{}[{}];", vector, factor.name, count));
  begin_loader(fmt::format("fetch_{} = [&](idx line0, idx step0)", factor.name), count);
  write_number(factor, threads, factor.chunk());
  write_place(factor);
  block_.line(fmt::format("    {} packed = {{}};", vector));
  Scope load = at_element(factor);
  const std::vector<Loop>& along = factor.along_k ? factor.step_loops : factor.line_loops;
  write_group(load, along.back(), factor.chunk(), {factor.element}, [&](Scope& inner) {
    inner.line(fmt::format("packed[static_cast<int>(e)] = {};", stored_as(factor.dtype, value(inner, factor.element))));
  });
  begin_inside(factor);
  block_.text += load.text;
  block_.line("    }");
  block_.line(fmt::format("    held_{}[e] = packed;", factor.name));
  block_.line("  }");
  block_.line("};");
  begin_loader(fmt::format("keep_{} = [&]({}* tile)", factor.name, type), count);
  write_number(factor, threads, factor.chunk());
  block_.line(fmt::format("    store_vector({}(tile, row, column), held_{}[e]);", factor.place(), factor.name));
  block_.line("  }");
  block_.line("};");
}

void TileWriter::write_copies(const TileFactor& factor, uint32_t threads) {
  const uint32_t unit = factor.load == TileLoad::words ? 1 : factor.chunk();
  const uint32_t copies = factor.rows() * factor.width() / unit;
  const char* type = storage_name(factor.dtype);
  begin_loader(fmt::format("load_{} = [&]({}* tile, idx line0, idx step0)", factor.name, type),
               (copies + threads - 1) / threads, unit == 1 ? "WICK_UNROLL_BY_4" : "WICK_UNROLL");
  write_number(factor, threads, unit);
  write_place(factor);
  Scope load = at_element(factor);
  load.indent = "    ";
  const ExpressionPtr e = factor.element;
  const std::string valid = readable(load, factor);
  const std::string offset = value(load, e->args[0]), from = parameter(e->buffer, false);
  const int bytes = unit == 1 ? 4 : 16;
  if (valid.empty()) {
    load.line(fmt::format("cp_async{}({}(tile, row, column), {} + {});", bytes, factor.place(), from, offset));
  } else {
    load.line(fmt::format("const bool valid = {};", valid));
    load.line(fmt::format("cp_async{0}({1}(tile, row, column), {2} + (valid ? {3} : 0), valid ? {0} : 0);", bytes,
                          factor.place(), from, offset));
  }
  block_.text += load.text;
  block_.line("  }");
  block_.line("};");
}

// Loads the bits of an element unchanged. The offset is computed before the branch.
void TileWriter::write_plain_element(const TileFactor& factor) {
  Scope load = at_element(factor);
  load.indent = "    ";
  const std::string valid = readable(load, factor), offset = value(load, factor.element->args[0]);
  if (!valid.empty()) load.line(fmt::format("const bool valid = {};", valid));
  load.line(fmt::format("{0} element = {0}();", storage_name(factor.dtype)));
  load.line(fmt::format("{}element = {}[{}];", valid.empty() ? "" : "if (valid) ",
                        parameter(factor.element->buffer, false), offset));
  load.line(fmt::format("held_{}[e] = element;", factor.name));
  block_.text += load.text;
}

void TileWriter::write_computed_element(const TileFactor& factor) {
  block_.line("    f32 element = 0.0f;");
  Scope load = at_element(factor);
  load.line(fmt::format("element = {};", value(load, factor.element)));
  begin_inside(factor);
  block_.text += load.text;
  block_.line("    }");
  block_.line(fmt::format("    held_{}[e] = {};", factor.name, stored_as(factor.dtype, "element")));
}

void TileWriter::write_elements(const TileFactor& factor, uint32_t threads) {
  const uint32_t elements = factor.rows() * factor.width(), count = (elements + threads - 1) / threads;
  const char* type = storage_name(factor.dtype);
  block_.line(fmt::format("{} held_{}[{}];", type, factor.name, count));
  begin_loader(fmt::format("fetch_{} = [&](idx line0, idx step0)", factor.name), count);
  write_number(factor, threads, 1);
  write_place(factor);
  if (is_plain(factor))
    write_plain_element(factor);
  else
    write_computed_element(factor);
  block_.line("  }");
  block_.line("};");
  begin_loader(fmt::format("keep_{} = [&]({}* tile)", factor.name, type), count);
  write_number(factor, threads, 1);
  block_.line(fmt::format("    *{}(tile, row, column) = held_{}[e];", factor.place(), factor.name));
  block_.line("  }");
  block_.line("};");
}

void TileWriter::start_load(const char* indent, const TileFactor& factor, const std::string& tile,
                            const std::string& line, const std::string& step) {
  if (factor.is_copied())
    block_.line(fmt::format("{}load_{}({}, {}, {});", indent, factor.name, tile, line, step));
  else
    block_.line(fmt::format("{}fetch_{}({}, {});", indent, factor.name, line, step));
}

void TileWriter::finish_load(const char* indent, const TileFactor& factor, const std::string& tile) {
  if (!factor.is_copied()) block_.line(fmt::format("{}keep_{}({});", indent, factor.name, tile));
}

std::string TileWriter::in_ring(const TileFactor& factor, const char* slot) {
  return fmt::format("{}_tiles + {} * ({})", factor.name, slot, factor.size());
}

}  // namespace wick::cuda
