#include "backends/cuda/compile/kernel/neighbours/load_runs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

using compiler::SymNode;
using compiler::SymOp;

// An offset as a sum: terms that depend on data, an expression of loop variables, and a constant.
struct Offset {
  std::vector<ExpressionPtr> from_data;
  Sym base = 0;
  int64_t constant = 0;
};

void add_terms(Offset& out, ExpressionPtr e) {
  if (e->kind == ExpressionKind::index) {
    out.base = out.base + e->index;
  } else if (index_arithmetic(e) == IndexArithmetic::sum) {
    for (const ExpressionPtr arg : e->args) add_terms(out, arg);
  } else {
    out.from_data.push_back(e);
  }
}

Offset offset_of(ExpressionPtr load) {
  Offset out;
  add_terms(out, load->args[0]);
  if (out.base.is_const()) {
    out.constant = out.base.value();
  } else if (const SymNode& node = *out.base.node(); node.op == SymOp::sum) {
    for (const Sym& arg : node.args) out.constant += arg.is_const() ? arg.value() : 0;
  }
  out.base = out.base - Sym(out.constant);
  return out;
}

// Loads whose offsets differ only by constants, keyed by the constant.
struct Neighbours {
  Offset offset;
  std::map<int64_t, ExpressionPtr> at;
};

bool begins_at_multiple(const Offset& offset, int64_t count) {
  return is_multiple(count, offset.base) && std::all_of(offset.from_data.begin(), offset.from_data.end(),
                                                        [&](ExpressionPtr e) { return is_multiple(count, e); });
}

// The longest run that begins with the load at `first`.
LoadRun run_from(const Neighbours& all, int64_t first) {
  const auto bytes = static_cast<int64_t>(dtype_size_bytes(all.at.at(first)->dtype));
  for (int64_t count = 16 / bytes; count > 1; count /= 2) {
    if (first % count != 0 || !begins_at_multiple(all.offset, count)) continue;
    LoadRun run;
    for (auto next = all.at.find(first); next != all.at.end() && static_cast<int64_t>(run.size()) < count; ++next) {
      if (next->first != first + static_cast<int64_t>(run.size())) break;
      run.push_back(next->second);
    }
    if (static_cast<int64_t>(run.size()) == count) return run;
  }
  return {all.at.at(first)};
}

}  // namespace

std::vector<LoadRun> load_runs(const std::vector<ExpressionPtr>& roots) {
  struct Less {
    bool operator()(const Sym& a, const Sym& b) const { return compare(a, b) < 0; }
  };
  using Known = std::tuple<uint32_t, DType, ExpressionPtr, std::vector<ExpressionPtr>>;
  std::map<Known, std::map<Sym, Neighbours, Less>> groups;
  std::vector<LoadRun> out;
  for_each(roots, [&](ExpressionPtr e) {
    if (e->kind != ExpressionKind::load) return;
    Offset offset;
    const compiler::Status status = compiler::catch_failure([&] { offset = offset_of(e); });
    if (!status.ok()) return out.push_back({e});  // an expression that becomes too large
    const ExpressionPtr guard = e->args.size() > 1 ? e->args[1] : nullptr;
    Neighbours& group = groups[{e->buffer, e->dtype, guard, offset.from_data}][offset.base];
    const int64_t constant = offset.constant;
    group.offset = std::move(offset);
    group.at[constant] = e;
  });
  for (const auto& [known, by_base] : groups) {
    for (const auto& [base, group] : by_base) {
      for (auto next = group.at.begin(); next != group.at.end();) {
        LoadRun run = run_from(group, next->first);
        std::advance(next, static_cast<std::ptrdiff_t>(run.size()));
        out.push_back(std::move(run));
      }
    }
  }
  // Expressions are created after their arguments, so this puts loads after those that they depend on.
  const auto oldest = [](const LoadRun& run) {
    return (*std::min_element(run.begin(), run.end(), [](auto a, auto b) { return a->id < b->id; }))->id;
  };
  std::sort(out.begin(), out.end(), [&](const LoadRun& a, const LoadRun& b) { return oldest(a) < oldest(b); });
  return out;
}

}  // namespace wick::cuda
