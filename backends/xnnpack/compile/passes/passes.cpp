#include "backends/xnnpack/compile/passes/passes.h"

namespace wick::xnnpack {

using compiler::NonFinite;
using compiler::Phase;
using compiler::run_for_target;
using compiler::run_simple;

namespace {

constexpr compiler::Pass kPasses[] = {
    {"captured_constants", run_simple<captured_constants>, Phase::recognize,
     "first: all later passes look for constants among the operands of a node"},
    {"mask_groups", run_simple<mask_groups>, Phase::recognize,
     "before decompose, which splits up the operators that it replaces", NonFinite::may_change},
    {"captured_constants", run_simple<captured_constants>, Phase::target,
     "once more, first of its phase: what a body captures has become a constant by folding"},
    {"respell", run_simple<respell>, Phase::target,
     "early in its phase: all later passes see operators that the backends have"},
    {"gather_by_slices", run_simple<gather_by_slices>, Phase::target,
     "early in its phase: the later passes know slices, but neither flips nor indices"},
    {"cancel_permutations", run_simple<cancel_permutations>, Phase::target,
     "before gather_by_products, which replaces the gathers that it matches"},
    {"merge_dims", run_for_target<merge_dims>, Phase::target, "after gather_by_slices, whose slices keep the rank"},
    {"invert_exponentials", run_simple<invert_exponentials>, Phase::target,
     "after additive_masks, which knows masks of softmax only; before arithmetic_selects, which needs more steps where "
     "a logarithm may be infinite",
     NonFinite::may_change},
    {"defer_row_writes", run_simple<defer_row_writes>, Phase::target,
     "after additive_masks, which turns masks into sums; before the passes that look at an attention's matmuls",
     NonFinite::may_change},
    {"scatter_by_slices", run_simple<scatter_by_slices>, Phase::target,
     "after defer_row_writes, which handles writes into caches as a whole, and gather_by_slices, which makes slices of "
     "rows"},
    {"split_linears", run_simple<split_linears>, Phase::target,
     "before fold_scale: afterwards query, key and value have separate weights to fold into"},
    {"fold_scale", run_simple<fold_scale>, Phase::target,
     "before the norm passes: a scale between a norm and a linear hides one from the other"},
    {"fold_norm_affine", run_simple<fold_norm_affine>, Phase::target,
     "before center_residual, which would leave shifts of norms as additions", NonFinite::may_change},
    {"center_residual", run_simple<center_residual>, Phase::target,
     "after the folds, which change the weights of the same linears and remove the shifts", NonFinite::may_change},
    {"gather_by_products", run_simple<gather_by_products>, Phase::target,
     "before arithmetic_selects, which handles selects between gathered values and a number", NonFinite::may_change},
    {"scatter_by_products", run_simple<scatter_by_products>, Phase::target,
     "after gather_by_products, which reads rows of the same matmuls", NonFinite::may_change},
    {"arithmetic_selects", run_simple<arithmetic_selects>, Phase::target,
     "after additive_masks, which handles masks better, and fold_scale, which would fold the factor of a step function "
     "into weights",
     NonFinite::may_change},
    {"band_by_slices", run_simple<band_by_slices>, Phase::target,
     "after arithmetic_selects, which needs fewer steps where no NaN is possible"},
    {"quantize_by_rows", run_simple<quantize_by_rows>, Phase::target,
     "before narrow_early, which can narrow row-wise quantization to the rows that are read"},
    {"interleave_by_products", run_for_target<interleave_by_products>, Phase::target,
     "before avoid_views, which knows linears, but no slices with a step", NonFinite::may_change},
    {"split_rows_early", run_for_target<split_rows_early>, Phase::target,
     "before avoid_views, which would keep rows merged that come from outside"},
    {"avoid_views", run_for_target<avoid_views>, Phase::target,
     "after the folds and quantize_by_rows, which match an attention as a whole", NonFinite::may_change},
    {"narrow_early", run_simple<narrow_early>, Phase::target,
     "after the folds: slices between a linear and a norm would block them"},
    {"merge_parts", run_simple<merge_parts>, Phase::target,
     "after narrow_early, which knows which parts are read at all"},
    {"block_attention", run_simple<block_attention>, Phase::target,
     "last: after narrow_early the scores are as small as possible, and after additive_masks the masks are sums"},
};

}  // namespace

Span<const compiler::Pass> own_passes() { return kPasses; }

}  // namespace wick::xnnpack
