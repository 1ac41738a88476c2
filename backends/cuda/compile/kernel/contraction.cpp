// Recognizes contractions.
#include "backends/cuda/compile/kernel/contraction.h"

#include <algorithm>

#include "backends/cuda/compile/kernel/tile_loader.h"

namespace wick::cuda {
namespace {

// The smallest sizes for which tiles are profitable. With matrix instructions two lines of one factor are enough: what
// they waste costs less than reading the other factor again for each line.
constexpr int64_t kFewestLines = 16, kFewestLinesOfMatrices = 2, kFewestSteps = 8;

bool stores_along(const LoopKernel& kernel, const std::vector<Loop>& loops) {
  return std::any_of(kernel.row_stores.begin(), kernel.row_stores.end(),
                     [&](const Store& store) { return !loops.empty() && steps_by_one(store.offset, loops.back()); });
}

bool reads_reduction_below(ExpressionPtr expression, size_t end) {
  bool reads = false;
  for_each({expression},
           [&](ExpressionPtr e) { reads = reads || (e->kind == ExpressionKind::reduced && e->buffer < end); });
  return reads;
}

// Whether each reduction before the last one depends only on the lines of the normed factor, and no store reads it.
// `other_lines`: the lines of the other factor.
bool norms_fit(const LoopKernel& kernel, const std::vector<Loop>& other_lines) {
  const size_t last = kernel.reductions.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    const Reduction& norm = kernel.reductions[i];
    if (norm.guard || is_positioned(norm.kind) || norm.type != ScalarType::f32) return false;
    const auto symbols = symbols_of(norm.element);
    if (std::any_of(other_lines.begin(), other_lines.end(),
                    [&](const Loop& loop) { return symbols.count(loop.variable.symbol_name()) > 0; }))
      return false;
  }
  return std::none_of(kernel.row_stores.begin(), kernel.row_stores.end(),
                      [&](const Store& store) { return reads_reduction_below(store.value, last); });
}

}  // namespace

std::optional<Contraction> find_factors(const LoopKernel& kernel) {
  if (kernel.reductions.empty() || !kernel.column_stores.empty() || kernel.columns.empty()) return std::nullopt;
  const size_t last = kernel.reductions.size() - 1;
  const Reduction& reduction = kernel.reductions[last];
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
  const DType factors = bits_of_factor(out.left);
  if (factors == bits_of_factor(out.right)) out.factors = factors;
  out.left_is_normed = reads_reduction_below(out.left, last);
  out.right_is_normed = reads_reduction_below(out.right, last);
  if (last > 0 && (out.left_is_normed == out.right_is_normed || !norms_fit(kernel, out.left_is_normed ? out.n : out.m)))
    return std::nullopt;
  return out;
}

std::optional<Contraction> find_contraction(const LoopKernel& kernel) {
  std::optional<Contraction> found = find_factors(kernel);
  if (!found) return std::nullopt;
  Contraction& out = *found;
  const int64_t fewest = out.factors == DType::f32 ? kFewestLines : kFewestLinesOfMatrices;
  const auto [few, many] = std::minmax({max_extent(out.m), max_extent(out.n)});
  if (few < fewest || many < kFewestLines || max_extent(kernel.columns) < kFewestSteps) return std::nullopt;
  if (!stores_along(kernel, out.n) && stores_along(kernel, out.m)) {
    std::swap(out.left, out.right);
    std::swap(out.m, out.n);
    std::swap(out.left_is_normed, out.right_is_normed);
  }
  return found;
}

}  // namespace wick::cuda
