// Running reductions (scans) along a dimension: sums, products, extremes.
#include "backends/cuda/compile/ops/lines/scan.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

// Sums and products are computed in the type of the result: elements are converted to its dtype first, and 16-bit
// floats are added in f32.
template <ReductionKind kind>
void lower_running(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value* x = node.tensor("self");
  const DType dtype = node.result()->dtype();
  LineScan scan;
  scan.sizes = x->sizes();
  scan.dim = dim_argument(node, "dim", x->rank());
  scan.kind = kind;
  scan.type = scalar_type(dtype);
  const Element element = [&l, &pool, x, dtype](const Indices& at) {
    const ExpressionPtr given = pool.cast(l.element(x, at), scalar_type(dtype));
    return x->dtype() == dtype ? given : pool.rounded(given, dtype);
  };
  scan.element = element;
  if (x->rank() == 0) {  // a scalar is a line of one element
    l.define(node.result(0), [element, &pool, dtype](const Indices& at) { return pool.rounded(element(at), dtype); });
    if (node.results().size() > 1)
      l.define(node.result(1), [&pool](const Indices&) { return pool.constant(0, 0, ScalarType::i64); });
    return;
  }
  ScanDraft last = draft_scan(l, scan);
  std::vector<Lowering::DraftResult> results = {{node.result(0), last.at, pool.rounded(last.reduced, dtype)}};
  if (node.results().size() > 1) {
    if (node.result(0)->num_uses() == 0) results.clear();
    if (node.result(1)->num_uses() > 0)
      results.push_back({node.result(1), last.at, l.position(last.draft, last.reduced)});
  }
  if (!last.inside) return l.finish(std::move(last.draft), std::move(results));
  for (const Lowering::DraftResult& each : results)
    l.store_at(last.draft, l.place(each.result), each.result, each.at, each.element, last.inside);
  l.finish_stores(std::move(last.draft));
}

constexpr OpRule kScanRows[] = {
    {"aten.cumsum.default", lower_running<ReductionKind::sum>},
    {"aten.cumprod.default", lower_running<ReductionKind::product>},
    {"aten.cummax.default", lower_running<ReductionKind::last_maximum>},
    {"aten.cummin.default", lower_running<ReductionKind::last_minimum>},
    {"aten.logcumsumexp.default", lower_running<ReductionKind::log_sum_exp>},
};

}  // namespace

const Span<const OpRule> kScanRules{kScanRows};

}  // namespace wick::cuda
