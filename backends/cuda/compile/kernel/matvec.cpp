#include "backends/cuda/compile/kernel/matvec.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/compile/kernel/contraction.h"
#include "backends/cuda/compile/kernel/kernel_writer.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

constexpr int64_t kMostRows = 8, kFewestColumns = 16;
// With more columns, a warp for each column keeps a device busy.
constexpr int64_t kMostSharedColumns = 32 * 1024;
constexpr uint32_t kMatvecThreads = 128, kMatvecWarps = kMatvecThreads / 32;

// Whether an offset is a multiple of 16 plus inner / per_byte, where `inner` counts the elements of 16 bytes.
bool is_packed(LoweredGraph& graph, const Sym& offset, const Loop& loop, int64_t per_byte) {
  bool packed = false;
  const compiler::Status status = compiler::catch_failure([&] {
    const Groups groups(graph, loop, 16 * per_byte, "packed");
    const Sym at = groups.of(graph, offset, loop);
    const Sym first = substitute(at, {{std::string(groups.inner.symbol_name()), Sym(0)}});
    packed = at - first == floor_div(groups.inner, Sym(per_byte)) && sym_mod(first, Sym(16)).is(0);
  });
  return status.ok() && packed;
}

class MatvecWriter : public KernelWriter {
 public:
  MatvecWriter(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec)
      : KernelWriter(graph, kernel),
        matvec_(matvec),
        k_(kernel.columns[0]),
        groups_(graph, k_, matvec.count, "group"),
        steps_(graph, k_, steps_at_once(), "step") {
    name_variable(groups_.group, "group");
    name_variable(groups_.inner, "inner");
    name_variable(steps_.group, "part");
    name_variable(steps_.inner, "step");
    for (const Loop& loop : matvec.m) rows_ *= loop.extent.value();
  }

  KernelSource run() {
    block_.indent = "  ";
    const Sym columns = extent_of(matvec_.n);
    write_prologues(block_, kMatvecThreads);
    const bool walks = begin_rows_of_warps(block_, columns, kMatvecThreads, "n");
    write_split(block_, matvec_.n, "n");
    for (size_t i = 0; i < sums(); ++i) block_.line(fmt::format("f32 acc{} = 0.0f;", i));
    write_sums();
    write_results();
    if (walks) block_.text += "  }\n";
    source_.schedule.kind = ScheduleKind::matvec;
    source_.schedule.threads = kMatvecThreads;
    source_.schedule.vector = matvec_.count;
    source_.has_barriers = true;
    return finish(block_.text, columns * Sym(int64_t{kMatvecWarps}));
  }

 private:
  // One for each matrix, or one for each row of the other factor.
  size_t sums() const { return matvec_.matrices.size() * static_cast<size_t>(rows_); }
  std::string result_text(ExpressionPtr reduced) const override {
    return fmt::format("acc{}", static_cast<int64_t>(reduced->buffer) * rows_ + row_);
  }

  // Elements of the left factor that are loaded at once: 16 bytes of floats, or of types of two bytes.
  int64_t steps_at_once() const {
    bool halves = false;
    for_each({matvec_.left}, [&](ExpressionPtr e) {
      halves = halves || (e->kind == ExpressionKind::load && dtype_size_bytes(e->dtype) == 2);
    });
    return halves ? 8 : 4;
  }

  static std::string element_text(DType dtype, const std::string& vector) {
    const std::string element = vector + "[{0}]";
    if (dtype == DType::f16 || dtype == DType::bf16) return "to_f32(" + element + ")";
    return dtype == DType::boolean ? "to_bool(" + element + ")" : element;
  }

  // Loads 16 bytes of matrix `number` and returns its element in terms of them.
  ExpressionPtr write_right(Scope& group, size_t number) {
    const Matvec::Matrix& matrix = matvec_.matrices[number];
    const auto change = [&](const Sym& sym) { return groups_.of(graph_, sym, k_); };
    const int64_t per_byte = matvec_.count / 16;
    const Sym first =
        substitute(change(matrix.packed->args[0]->index), {{std::string(groups_.inner.symbol_name()), Sym(0)}});
    const std::string name = matvec_.matrices.size() == 1 ? "packed" : fmt::format("packed{}", number);
    group.line(fmt::format("const Vector<{0}, 16> {3} = load_vector<{0}, 16>({1} + {2});",
                           storage_name(matrix.packed->dtype), parameter(matrix.packed->buffer, false),
                           value(group, graph_.pool.index(first)), name));
    std::map<ExpressionPtr, ExpressionPtr> known;
    known[matrix.packed] = graph_.pool.call(matrix.packed->type, name + "[{0}]",
                                            {graph_.pool.index(floor_div(groups_.inner, Sym(per_byte)))});
    return graph_.pool.rewrite(matrix.element, change, known);
  }

  // Loads row m of the other factor, adjacent elements at once, and returns its element.
  ExpressionPtr write_left(Scope& part, int64_t m) {
    std::map<ExpressionPtr, ExpressionPtr> of_row;
    const ExpressionPtr row =
        graph_.pool.rewrite(matvec_.left, [&](const Sym& sym) { return matvec_.in_row(sym, m); }, of_row);
    const auto change = [&](const Sym& sym) { return steps_.of(graph_, sym, k_); };
    const auto count = static_cast<uint32_t>(steps_.count);
    std::map<ExpressionPtr, ExpressionPtr> known;
    for_each({row}, [&](ExpressionPtr e) {
      if (e->kind != ExpressionKind::load || e->args.size() > 1 || dtype_size_bytes(e->dtype) * count > 16) return;
      if (access_of(graph_, e, k_, count) != Access::vector) return;
      const std::string name = fmt::format("left{}", vectors_++);
      std::map<ExpressionPtr, ExpressionPtr> of_first;
      const std::map<std::string, Sym, std::less<>> at_first = {{std::string(steps_.inner.symbol_name()), Sym(0)}};
      const ExpressionPtr first =
          graph_.pool.rewrite(e->args[0], [&](const Sym& sym) { return substitute(change(sym), at_first); }, of_first);
      part.line(fmt::format("const Vector<{0}, {1}> {2} = load_vector<{0}, {1}>({3} + {4});", storage_name(e->dtype),
                            count, name, parameter(e->buffer, false), value(part, first)));
      known[e] = graph_.pool.call(e->type, element_text(e->dtype, name), {graph_.pool.index(steps_.inner)});
    });
    return graph_.pool.rewrite(row, change, known);
  }

  Scope inside(Scope& outer, const std::vector<Sym>& symbols) {
    Scope scope;
    scope.outer = &outer;
    scope.indent = outer.indent + "  ";
    for (const Sym& symbol : symbols) scope.symbols.insert(std::string(symbol.symbol_name()));
    return scope;
  }

  void write_sums() {
    Scope group = inside(block_, {groups_.group});
    std::vector<ExpressionPtr> rights;
    for (size_t i = 0; i < matvec_.matrices.size(); ++i) rights.push_back(write_right(group, i));
    Scope part = inside(group, {steps_.group});
    const int64_t parts = matvec_.count / steps_.count;
    part.line(fmt::format("const idx part = group * {} + static_cast<idx>(c);", parts));
    std::vector<ExpressionPtr> lefts;
    for (int64_t m = 0; m < rows_; ++m) lefts.push_back(write_left(part, m));
    Scope step = inside(part, {groups_.inner, steps_.inner});
    step.line(fmt::format("const idx step = static_cast<idx>(e), inner = static_cast<idx>(c * {} + e);", steps_.count));
    for (size_t i = 0; i < rights.size(); ++i) {
      const std::string factor = value(step, rights[i]);
      for (size_t m = 0; m < lefts.size(); ++m) {
        const std::string other = value(step, lefts[m]);
        step.line(fmt::format("acc{0} = fused_multiply_add({1}, {2}, acc{0});", i * lefts.size() + m, other, factor));
      }
    }
    block_.line(fmt::format("for (idx group = static_cast<idx>(lane()); group < {}; group += 32) {{",
                            text(floor_div(k_.extent, Sym(int64_t{matvec_.count})))));
    block_.text += group.text;
    block_.line("  WICK_UNROLL");
    block_.line(fmt::format("  for (u32 c = 0; c < {}; ++c) {{", parts));
    block_.text += part.text;
    block_.line("    WICK_UNROLL");
    block_.line(fmt::format("    for (u32 e = 0; e < {}; ++e) {{", steps_.count));
    block_.text += step.text;
    block_.line("    }");
    block_.line("  }");
    block_.line("}");
  }

  void write_results() {
    for (size_t i = 0; i < sums(); ++i) block_.line(fmt::format("acc{0} = warp_reduce<Sum>(acc{0});", i));
    if (!kernel_.row_parts.empty() || matvec_.matrices.size() > 1) return write_row_of_results();
    for (row_ = 0; row_ < rows_; ++row_) {
      Scope result = inside(block_, {});
      result.has_results = true;
      std::map<ExpressionPtr, ExpressionPtr> known;
      const auto rewrite = [&](ExpressionPtr e) {
        return e ? graph_.pool.rewrite(e, [&](const Sym& sym) { return matvec_.in_row(sym, row_); }, known) : nullptr;
      };
      for (Store store : kernel_.row_stores) {
        store.offset = rewrite(store.offset);
        store.value = rewrite(store.value);
        store.guard = rewrite(store.guard);
        write_store(result, store, "");
      }
      block_.line(fmt::format("if (lane() == {}) {{", row_));
      block_.text += result.text;
      block_.line("}");
    }
  }

  void write_row_of_results() {
    for (const Store& store : kernel_.row_stores) write_store(block_, store, "lane() == 0");
    for (const RowPart& part : kernel_.row_parts) write_part(block_, part, "n", "lane() == 0");
  }

  const Matvec& matvec_;
  const Loop k_;
  const Groups groups_, steps_;
  int64_t rows_ = 1, row_ = 0;
  size_t vectors_ = 0;
  Scope block_;
};

// The load within an element that reads packed integers, 16 bytes at once; null if there is none. Sets `count` to the
// integers in 16 bytes.
ExpressionPtr find_packed(LoweredGraph& graph, const Loop& k, ExpressionPtr element, uint32_t& count) {
  ExpressionPtr packed = nullptr;
  for_each({element}, [&](ExpressionPtr e) {
    const bool bytes = e->kind == ExpressionKind::load && (e->dtype == DType::i8 || e->dtype == DType::u8);
    if (!bytes || packed || e->args.size() > 1 || e->args[0]->kind != ExpressionKind::index) return;
    for (const int64_t per_byte : {1, 2}) {
      if (packed || !sym_mod(k.extent, Sym(16 * per_byte)).is(0)) continue;
      if (!is_packed(graph, e->args[0]->index, k, per_byte)) continue;
      packed = e;
      count = static_cast<uint32_t>(16 * per_byte);
    }
  });
  return packed;
}

// The same for an element that is a 16-bit float.
ExpressionPtr find_floats(LoweredGraph& graph, const Loop& k, ExpressionPtr element, uint32_t& count) {
  const bool floats = element->kind == ExpressionKind::load && dtype_size_bytes(element->dtype) == 2;
  if (!floats || element->args.size() > 1 || !sym_mod(k.extent, Sym(8)).is(0)) return nullptr;
  count = 8;
  return access_of(graph, element, k, count) == Access::vector ? element : nullptr;
}

using FindPacked = ExpressionPtr (*)(LoweredGraph&, const Loop&, ExpressionPtr, uint32_t&);

// The matvec that a kernel with one reduction is.
std::optional<Matvec> find_product(LoweredGraph& graph, const LoopKernel& kernel, FindPacked find) {
  const std::optional<Contraction> product = find_factors(kernel);
  if (!product || !product->batch.empty() || kernel.columns.size() != 1) return std::nullopt;
  Matvec out;
  out.left = product->left;
  out.m = product->m;
  out.n = product->n;
  Matvec::Matrix matrix;
  matrix.element = product->right;
  if (max_extent(out.n) < max_extent(out.m)) {
    std::swap(out.left, matrix.element);
    std::swap(out.m, out.n);
  }
  const bool few = std::all_of(out.m.begin(), out.m.end(), [](const Loop& loop) { return loop.extent.is_const(); });
  if (!few || max_extent(out.m) > kMostRows || max_extent(out.n) < kFewestColumns) return std::nullopt;
  matrix.packed = find(graph, kernel.columns[0], matrix.element, out.count);
  out.matrices = {matrix};
  return matrix.packed ? std::optional(out) : std::nullopt;
}

// The matvec that a kernel with one or more reductions is. All of them must read the same row.
std::optional<Matvec> find_products(LoweredGraph& graph, const LoopKernel& kernel, FindPacked find) {
  std::optional<Matvec> out;
  for (const Reduction& reduction : kernel.reductions) {
    LoopKernel alone;
    alone.rows = kernel.rows;
    alone.columns = kernel.columns;
    alone.reductions = {reduction};
    alone.column_stores = kernel.column_stores;
    const std::optional<Matvec> product = find_product(graph, alone, find);
    if (!product) return std::nullopt;
    if (!out) {
      out = product;
      continue;
    }
    if (!out->m.empty() || !product->m.empty() || product->left != out->left || product->count != out->count)
      return std::nullopt;
    out->matrices.push_back(product->matrices[0]);
  }
  if (out) find_chunks(graph, kernel.columns[0], *out);
  return out;
}

}  // namespace

Groups::Groups(LoweredGraph& graph, const Loop& loop, int64_t size, const std::string& name)
    : group(Sym::symbol(name + "_" + std::string(loop.variable.symbol_name()))),
      inner(Sym::symbol(name + "_inner_" + std::string(loop.variable.symbol_name()))),
      count(size) {
  graph.ranges[std::string(group.symbol_name())] = {0, SymScope::range(loop.extent).max / size};
  graph.ranges[std::string(inner.symbol_name())] = {0, size - 1};
}

Sym Groups::of(LoweredGraph& graph, const Sym& sym, const Loop& loop) const {
  const std::string variable(loop.variable.symbol_name());
  if (const std::optional<Run> run = run_of(graph, sym, loop, static_cast<uint32_t>(count)))
    return substitute(run->first, {{"group_of_" + variable, group}}) + inner * Sym(run->step);
  return substitute(sym, {{variable, group * Sym(count) + inner}});
}

Sym Matvec::in_row(const Sym& sym, int64_t number) const {
  std::map<std::string, Sym, std::less<>> values;
  for (size_t i = m.size(); i-- > 0;) {
    const int64_t extent = m[i].extent.value();
    values[std::string(m[i].variable.symbol_name())] = number % extent;
    number /= extent;
  }
  return substitute(sym, values);
}

std::optional<Matvec> find_matvec(LoweredGraph& graph, const LoopKernel& kernel) {
  return find_products(graph, kernel, find_packed);
}

std::optional<Matvec> find_matvec_of_floats(LoweredGraph& graph, const LoopKernel& kernel) {
  std::optional<Matvec> out = find_products(graph, kernel, find_floats);
  // A row that is in memory already costs kernels with a warp or a block per column nothing extra.
  const bool shares = out && out->m.empty() && out->factors != DType::f32 && !kernel.prologues.empty() &&
                      max_extent(out->n) <= kMostSharedColumns;
  return shares ? out : std::nullopt;
}

KernelSource write_matvec(LoweredGraph& graph, const LoopKernel& kernel, const Matvec& matvec) {
  return matvec.factors == DType::f32 ? MatvecWriter(graph, kernel, matvec).run()
                                      : write_matvec_by_matrices(graph, kernel, matvec);
}

}  // namespace wick::cuda
