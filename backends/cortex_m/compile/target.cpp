#include "backends/cortex_m/compile/target.h"

#include <fmt/format.h>

#include "backends/cortex_m/compile/cost/call_cost.h"
#include "backends/cortex_m/compile/isa.h"
#include "backends/cortex_m/compile/operators.h"
#include "backends/cortex_m/compile/ops/movement.h"
#include "backends/cortex_m/compile/passes/passes.h"

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
}  // namespace

const compiler::Target kTarget = {
    .name = "cortex-m",
    .partition = {.keep = keep, .supports = supports},
    .passes = {.names = {"recognize_quantization", "respell_dequantized", "recognize_cells",   "recognize_norms",
                         "additive_masks",         "linear_layers",       "tensor_bounds",     "signed_elements",
                         "fold_quantization",      "normalize_rows",      "recognize_softmax", "join_cells",
                         "spread_quantization",    "fold_elements",       "absorb_padding",    "fold_hardsigmoid",
                         "fuse_activations",       "merge_tables",        "split_weights",     "quantize_between"},
               .own = own_passes()},
    .kernels = {.rewrite = rewrite,
                .ops = operators(),
                .layout = layout,
                .copy_to_dim_order = copy_to_dim_order,
                .prepared_for = prepared_for,
                .firmware = firmware},
    .reporting = {.macs = macs, .call_cost = call_cost},
    .options = {.list = kOptions, .check = check_settings},
};

}  // namespace wick::cortex_m
