#include "backends/cortex_m/compile/passes/passes.h"

namespace wick::cortex_m {

using compiler::Phase;
using compiler::run_simple;

namespace {

constexpr compiler::Pass kPasses[] = {
    {"recognize_cells", run_simple<recognize_cells>, Phase::recognize,
     "before decompose and the folds, which would compute the first step in part"},
    {"linear_layers", run_simple<linear_layers>, Phase::last,
     "before fold_quantization: a layer's weights may have a scale for each output"},
    {"tensor_bounds", run_simple<tensor_bounds>, Phase::last,
     "before fold_quantization: leaves operators that the backend takes"},
    {"normalize_rows", run_simple<normalize_rows>, Phase::last,
     "before quantize_between, which would round squares and their sum"},
    {"recognize_softmax", run_simple<recognize_softmax>, Phase::last,
     "before quantize_between, which would round exponentials and their sum"},
    {"join_cells", run_simple<join_cells>, Phase::last, "before spread_quantization: leaves views of elements"},
    {"spread_quantization", run_simple<spread_quantization>, Phase::last,
     "after fold_quantization: views between operators hold elements"},
    {"fold_elements", run_simple<fold_elements>, Phase::last,
     "after spread_quantization: views of constants hold elements"},
    {"absorb_padding", run_simple<absorb_padding>, Phase::last,
     "after spread_quantization: kernels pad elements with the zero point"},
    {"fold_hardsigmoid", run_simple<fold_hardsigmoid>, Phase::last, "before fuse_activations: leaves a clamp"},
    {"fuse_activations", run_simple<fuse_activations>, Phase::last,
     "after fold_quantization: bounds become ranges of elements"},
    {"merge_tables", merge_tables, Phase::last,
     "after fuse_activations, which costs nothing: what is left becomes tables"},
    {"split_weights", split_weights, Phase::last, "after fuse_activations: the parts of a layer take no activation in"},
    {"quantize_between", quantize_between, Phase::last,
     "after merge_tables: takes what no quantizer annotated and no table holds"}};

}  // namespace

Span<const compiler::Pass> own_passes() { return kPasses; }

}  // namespace wick::cortex_m
