#include "backends/cuda/compile/kernel/vector_access.h"

#include <algorithm>

#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

using compiler::SymNode;
using compiler::SymOp;
using compiler::SymScope;

class Runs {
 public:
  Runs(const Loop& loop, Sym group, int64_t count)
      : name_(loop.variable.symbol_name()), group_(std::move(group)), count_(count) {}

  std::optional<Run> of(const Sym& sym) const {
    if (sym.is_const()) return Run{sym, 0};
    const SymNode& node = *sym.node();
    switch (node.op) {
      case SymOp::symbol: return node.name == name_ ? Run{group_ * Sym(count_), 1} : Run{sym, 0};
      case SymOp::sum: return sum(node);
      case SymOp::product: return product(node);
      case SymOp::floor_div:
      case SymOp::mod: return division(node);
      default: return other(node);
    }
  }

 private:
  std::optional<Run> sum(const SymNode& node) const {
    Run out{0, 0};
    for (const Sym& arg : node.args) {
      const std::optional<Run> part = of(arg);
      if (!part) return std::nullopt;
      out = {out.first + part->first, out.step + part->step};
    }
    return out;
  }

  std::optional<Run> product(const SymNode& node) const {
    Run out{1, 0};
    for (const Sym& arg : node.args) {
      const std::optional<Run> part = of(arg);
      if (!part || (out.step != 0 && !part->first.is_const()) || (part->step != 0 && !out.first.is_const()))
        return std::nullopt;
      if (out.step != 0 && part->step != 0) return std::nullopt;
      const int64_t step = out.step != 0     ? out.step * part->first.value()
                           : part->step != 0 ? part->step * out.first.value()
                                             : 0;
      out = {out.first * part->first, step};
    }
    return out;
  }

  // A group stays between two multiples of the divisor if it begins at a multiple of its own length, and this length
  // divides the divisor.
  std::optional<Run> division(const SymNode& node) const {
    const std::optional<Run> a = of(node.args[0]), b = of(node.args[1]);
    if (!a || !b || b->step != 0) return std::nullopt;
    const bool quotient = node.op == SymOp::floor_div;
    if (a->step == 0) return Run{make_sym(node.op, {a->first, b->first}), 0};
    if (a->step < 0 || !b->first.is_const()) return std::nullopt;
    const int64_t length = a->step * count_, divisor = b->first.value();
    if (divisor % length != 0 || !is_multiple(length, a->first)) return std::nullopt;
    return Run{make_sym(node.op, {a->first, b->first}), quotient ? 0 : a->step};
  }

  // A comparison `less than` with a multiple of the group's length has the same result for the whole group.
  std::optional<Run> other(const SymNode& node) const {
    compiler::SymList args;
    bool even = true;
    std::vector<Run> parts;
    for (const Sym& arg : node.args) {
      const std::optional<Run> part = of(arg);
      if (!part) return std::nullopt;
      even = even && part->step == 0;
      args.push_back(part->first);
      parts.push_back(*part);
    }
    const bool below = node.op == SymOp::lt && parts[0].step == 1 && parts[1].step == 0;
    if (!even && !(below && is_multiple(count_, args[0]) && is_multiple(count_, args[1]))) return std::nullopt;
    return Run{make_sym(node.op, args), 0};
  }

  const std::string name_;
  const Sym group_;
  const int64_t count_;
};

// Whether an index is a multiple, because the indices that it is computed from are.
template <typename IsMultiple>
bool made_of_multiples(ExpressionPtr e, IsMultiple&& is_multiple_of) {
  if (e->kind == ExpressionKind::index) return is_multiple_of(e->index);
  switch (index_arithmetic(e)) {
    case IndexArithmetic::sum:
    case IndexArithmetic::difference:
      return made_of_multiples(e->args[0], is_multiple_of) && made_of_multiples(e->args[1], is_multiple_of);
    case IndexArithmetic::product:
      return made_of_multiples(e->args[0], is_multiple_of) || made_of_multiples(e->args[1], is_multiple_of);
    default: return false;
  }
}

// Whether an expression has the same value for the whole group.
bool is_even(LoweredGraph& graph, ExpressionPtr expression, const Loop& loop, uint32_t count) {
  bool even = true;
  for_each({expression}, [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::index) return;
    const std::optional<Run> run = run_of(graph, e->index, loop, count);
    even = even && run && run->step == 0;
  });
  return even;
}

// Step and alignment of any index over a group, also of one that depends on data, such as the row of a table that
// another tensor names.
class Steps {
 public:
  Steps(LoweredGraph& graph, const Loop& loop, uint32_t count) : graph_(graph), loop_(loop), count_(count) {}

  bool is_vector(ExpressionPtr offset) const { return step_of(offset) == 1 && begins_at_multiple(offset); }

 private:
  // The difference between neighbours of a group; nothing if it is not constant.
  std::optional<int64_t> step_of(ExpressionPtr e) const {
    if (e->kind == ExpressionKind::index) {
      const std::optional<Run> run = run_of(graph_, e->index, loop_, count_);
      return run ? std::optional(run->step) : std::nullopt;
    }
    if (is_even(graph_, e, loop_, count_)) return 0;
    switch (index_arithmetic(e)) {
      case IndexArithmetic::sum: return combined(step_of(e->args[0]), step_of(e->args[1]), 1);
      case IndexArithmetic::difference: return combined(step_of(e->args[0]), step_of(e->args[1]), -1);
      default: return std::nullopt;
    }
  }
  static std::optional<int64_t> combined(std::optional<int64_t> a, std::optional<int64_t> b, int64_t sign) {
    return a && b ? std::optional(*a + sign * *b) : std::nullopt;
  }

  // Whether the first index of a group is a multiple of the group's length. May return false for one that is.
  bool begins_at_multiple(ExpressionPtr e) const {
    return made_of_multiples(e, [&](const Sym& sym) {
      const std::optional<Run> run = run_of(graph_, sym, loop_, count_);
      return run && is_multiple(count_, run->first);
    });
  }

  LoweredGraph& graph_;
  const Loop& loop_;
  const uint32_t count_;
};

// Whether an access depends on results of reductions, which differ between the rows of a group.
bool reads_results(ExpressionPtr offset, ExpressionPtr guard) {
  bool reads = false;
  for_each({offset, guard}, [&](ExpressionPtr e) { reads = reads || e->kind == ExpressionKind::reduced; });
  return reads;
}

bool is_vector(LoweredGraph& graph, ExpressionPtr offset, ExpressionPtr guard, const Loop& loop, uint32_t count) {
  if (reads_results(offset, guard) || (guard && !is_even(graph, guard, loop, count))) return false;
  return Steps(graph, loop, count).is_vector(offset);
}

}  // namespace

bool is_multiple(int64_t divisor, const Sym& sym) {
  if (sym.is_const()) return sym.value() % divisor == 0;
  const SymNode& node = *sym.node();
  const auto is_one = [divisor](const Sym& arg) { return is_multiple(divisor, arg); };
  switch (node.op) {
    case SymOp::sum:
    case SymOp::mod: return std::all_of(node.args.begin(), node.args.end(), is_one);
    case SymOp::product: return std::any_of(node.args.begin(), node.args.end(), is_one);
    default: return false;
  }
}

bool is_multiple(int64_t divisor, ExpressionPtr index) {
  return made_of_multiples(index, [divisor](const Sym& sym) { return is_multiple(divisor, sym); });
}

std::optional<Run> run_of(LoweredGraph& graph, const Sym& sym, const Loop& loop, uint32_t count) {
  const std::string name = "group_of_" + std::string(loop.variable.symbol_name());
  const compiler::SymRange range = SymScope::range(loop.extent);
  graph.ranges[name] = {0,
                        range.max == compiler::kUnbounded ? range.max : std::max<int64_t>((range.max - 1) / count, 0)};
  std::optional<Run> out;
  const compiler::Status status = compiler::catch_failure([&] { out = Runs(loop, Sym::symbol(name), count).of(sym); });
  // An expression that becomes too large has no run.
  return status.ok() ? out : std::nullopt;
}

bool groups_fit(const std::vector<Loop>& loops, uint32_t count) {
  return !loops.empty() && is_multiple(count, loops.back().extent);
}

Access access_of(LoweredGraph& graph, ExpressionPtr load, const Loop& loop, uint32_t count) {
  const ExpressionPtr guard = load->args.size() > 1 ? load->args[1] : nullptr;
  if (is_even(graph, load, loop, count)) return Access::one;
  return is_vector(graph, load->args[0], guard, loop, count) ? Access::vector : Access::scattered;
}

bool stores_vector(LoweredGraph& graph, const Store& store, const Loop& loop, uint32_t count) {
  return is_vector(graph, store.offset, store.guard, loop, count);
}

namespace {

std::vector<ExpressionPtr> loads_in(std::vector<ExpressionPtr> roots) {
  std::vector<ExpressionPtr> loads;
  for_each(std::move(roots), [&](ExpressionPtr e) {
    if (e->kind == ExpressionKind::load) loads.push_back(e);
  });
  return loads;
}

uint32_t vector_for(LoweredGraph& graph, const std::vector<ExpressionPtr>& loads, const std::vector<Loop>& loops,
                    const std::vector<Store>& stores, uint32_t most) {
  constexpr size_t kMostBytes = 16;
  size_t widest = 1;
  for (const Store& store : stores) widest = std::max(widest, dtype_size_bytes(store.dtype));
  for (uint32_t count = 16; count > 1; count /= 2) {
    if (count > most || !groups_fit(loops, count)) continue;
    bool any = !stores.empty(), all = true;
    size_t bytes = widest;
    for (const Store& store : stores) all = all && stores_vector(graph, store, loops.back(), count);
    for (const ExpressionPtr load : loads) {
      const Access access = access_of(graph, load, loops.back(), count);
      all = all && access != Access::scattered;
      any = any || access == Access::vector;
      if (access == Access::vector) bytes = std::max(bytes, dtype_size_bytes(load->dtype));
    }
    if (all && any && bytes * count <= kMostBytes) return count;
  }
  return 1;
}

// The most elements that a thread may compute at once: the unrolled text contains the operations of each of them.
uint32_t most_for(const std::vector<ExpressionPtr>& roots, uint32_t most) {
  constexpr uint32_t kMostOperations = 640;
  uint32_t operations = 1;
  for_each(roots, [&](ExpressionPtr e) {
    operations += e->kind == ExpressionKind::call && e->type != ScalarType::index ? 1 : 0;
  });
  return std::min(most, std::max(kMostOperations / operations, 1u));
}

}  // namespace

bool reads_what_it_writes(const LoopKernel& kernel) {
  const std::vector<ExpressionPtr> loads = loads_in(expressions_of(kernel));
  const auto is_read = [&](const Store& store) {
    return std::any_of(loads.begin(), loads.end(), [&](ExpressionPtr e) { return e->buffer == store.buffer; });
  };
  return std::any_of(kernel.row_stores.begin(), kernel.row_stores.end(), is_read) ||
         std::any_of(kernel.column_stores.begin(), kernel.column_stores.end(), is_read);
}

uint32_t vector_of(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                   const std::vector<Store>& stores, uint32_t most) {
  if (kernel.in_order || loops.empty() || reads_what_it_writes(kernel)) return 1;
  const std::vector<ExpressionPtr> roots = expressions_of(kernel);
  return vector_for(graph, loads_in(roots), loops, stores, most_for(roots, most));
}

uint32_t vector_of_others(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                          const std::vector<Store>& stores, const std::vector<ExpressionPtr>& apart) {
  const std::vector<ExpressionPtr> roots = expressions_of(kernel);
  std::vector<ExpressionPtr> loads = loads_in(roots);
  const auto is_apart = [&](ExpressionPtr load) { return std::find(apart.begin(), apart.end(), load) != apart.end(); };
  loads.erase(std::remove_if(loads.begin(), loads.end(), is_apart), loads.end());
  return vector_for(graph, loads, loops, stores, most_for(roots, 16));
}

uint32_t vector_of_stores(LoweredGraph& graph, const LoopKernel& kernel, const std::vector<Loop>& loops,
                          const std::vector<Store>& stores, uint32_t most) {
  if (kernel.in_order || loops.empty() || reads_what_it_writes(kernel)) return 1;
  std::vector<ExpressionPtr> roots;
  for (const Store& store : stores) roots.insert(roots.end(), {store.offset, store.value, store.guard});
  return vector_for(graph, loads_in(std::move(roots)), loops, stores, most);
}

uint32_t vector_of_loads(LoweredGraph& graph, std::vector<ExpressionPtr> roots, const std::vector<Loop>& loops,
                         uint32_t most) {
  return loops.empty() ? 1 : vector_for(graph, loads_in(std::move(roots)), loops, {}, most);
}

}  // namespace wick::cuda
