#include "backends/cortex_m/compile/target.h"

#include <fmt/format.h>

#include "backends/cortex_m/compile/cost/call_cost.h"
#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/operators.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/passes/absorb_padding.h"
#include "backends/cortex_m/compile/passes/cells/join_cells.h"
#include "backends/cortex_m/compile/passes/cells/recognize_cells.h"
#include "backends/cortex_m/compile/passes/fold_elements.h"
#include "backends/cortex_m/compile/passes/fold_hardsigmoid.h"
#include "backends/cortex_m/compile/passes/fuse_activations.h"
#include "backends/cortex_m/compile/passes/layers/linear_layers.h"
#include "backends/cortex_m/compile/passes/merge_tables.h"
#include "backends/cortex_m/compile/passes/normalize_rows.h"
#include "backends/cortex_m/compile/passes/quantize_between.h"
#include "backends/cortex_m/compile/passes/recognize_softmax.h"
#include "backends/cortex_m/compile/passes/split_weights.h"
#include "backends/cortex_m/compile/passes/spread_quantization.h"
#include "backends/cortex_m/compile/passes/tensor_bounds.h"

namespace wick::cortex_m {

namespace {

compiler::Status check_settings(const compiler::TargetOptions& options) {
  const compiler::Result<Configuration> read = read_configuration(options);
  return read.ok() ? compiler::Status() : compiler::Status(read.diag());
}

std::vector<std::string> prepared_for(const compiler::TargetOptions& options) {
  const Configuration found = configuration(options);
  return {fmt::format("cortex_m.cpu={}", found.cpu), fmt::format("cortex_m.isa={}", name_of(found.isa))};
}

constexpr compiler::TargetOption kOptions[] = {kCpu, kIsa, kMemory};
constexpr compiler::Pass kPasses[] = {
    {"recognize_cells", compiler::run_simple<recognize_cells>, compiler::Phase::recognize,
     "before decompose and the folds, which would compute the first step in part"},
    {"linear_layers", compiler::run_simple<linear_layers>, compiler::Phase::last,
     "before fold_quantization: a layer's weights may have a scale for each output"},
    {"tensor_bounds", compiler::run_simple<tensor_bounds>, compiler::Phase::last,
     "before fold_quantization: leaves operators that the backend takes"},
    {"normalize_rows", compiler::run_simple<normalize_rows>, compiler::Phase::last,
     "before quantize_between, which would round squares and their sum"},
    {"recognize_softmax", compiler::run_simple<recognize_softmax>, compiler::Phase::last,
     "before quantize_between, which would round exponentials and their sum"},
    {"join_cells", compiler::run_simple<join_cells>, compiler::Phase::last,
     "before spread_quantization: leaves views of elements"},
    {"spread_quantization", compiler::run_simple<spread_quantization>, compiler::Phase::last,
     "after fold_quantization: views between operators hold elements"},
    {"fold_elements", compiler::run_simple<fold_elements>, compiler::Phase::last,
     "after spread_quantization: views of constants hold elements"},
    {"absorb_padding", compiler::run_simple<absorb_padding>, compiler::Phase::last,
     "after spread_quantization: kernels pad elements with the zero point"},
    {"fold_hardsigmoid", compiler::run_simple<fold_hardsigmoid>, compiler::Phase::last,
     "before fuse_activations: leaves a clamp"},
    {"fuse_activations", compiler::run_simple<fuse_activations>, compiler::Phase::last,
     "after fold_quantization: bounds become ranges of elements"},
    {"merge_tables", merge_tables, compiler::Phase::last,
     "after fuse_activations, which costs nothing: what is left becomes tables"},
    {"split_weights", split_weights, compiler::Phase::last,
     "after fuse_activations: the parts of a layer take no activation in"},
    {"quantize_between", quantize_between, compiler::Phase::last,
     "after merge_tables: takes what no quantizer annotated and no table holds"}};

}  // namespace

const compiler::Target kTarget = {
    .name = "cortex-m",
    .keep = keep,
    .supports = supports,
    .passes = {"recognize_quantization", "respell_dequantized", "recognize_cells",   "recognize_norms",
               "additive_masks",         "linear_layers",       "tensor_bounds",     "signed_elements",
               "fold_quantization",      "normalize_rows",      "recognize_softmax", "join_cells",
               "spread_quantization",    "fold_elements",       "absorb_padding",    "fold_hardsigmoid",
               "fuse_activations",       "merge_tables",        "split_weights",     "quantize_between"},
    .own_passes = kPasses,
    .options = kOptions,
    .rewrite = rewrite,
    .ops = operators(),
    .layout = layout,
    .check_settings = check_settings,
    .prepared_for = prepared_for,
    .macs = macs,
    .firmware = firmware,
    .call_cost = call_cost,
    .copy_to_dim_order = copy_to_dim_order,
};

}  // namespace wick::cortex_m
