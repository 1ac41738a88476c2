#include "backends/cuda/compile/target.h"

#include "backends/cuda/compile/device_code.h"
#include "backends/cuda/compile/keep_integer_weights.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/report.h"
#include "backends/cuda/compile/state/positions.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

using compiler::Node;
using compiler::TargetContext;
using compiler::Verdict;

namespace {

Verdict keep(const Node& node, const TargetContext& context) {
  const OpRule* rule = find_rule(node);
  return rule && rule->keeps_whole ? supports(node, context) : Verdict::no("");
}

constexpr compiler::TargetOption kOptions[] = {
    kGpuOption, kTwinOption, kEmitSourceOption, kChipOption, kMaterializeViewsOption, kAllowTf32Option};

constexpr compiler::Pass kPasses[] = {
    {"keep_integer_weights", compiler::run_simple<keep_integer_weights>, compiler::Phase::recognize,
     "after recognize_quantization, which finds the scales of some of them; before the folds"},
    {"positions_as_tensors", compiler::run_simple<positions_as_tensors>, compiler::Phase::recognize,
     "before decompose, which keeps the attention that it makes"},
};

}  // namespace

const compiler::Target kTarget = {
    .name = "cuda",
    .partition =
        {.keep = keep, .supports = supports, .profitable = profitable, .draws_random = true, .takes_graphs = true},
    .passes = {.names = {"recognize_quantization", "keep_integer_weights", "positions_as_tensors",
                         "recognize_attention", "recognize_linears", "complex_as_pairs", "recognize_norms"},
               .own = kPasses,
               .facts = {.max_rank = kMaxRank,
                         .max_unknown_view_sizes = kMaxRank,
                         .max_transform_points = 1 << 16,
                         .takes_parts_of_complex = true}},
    .delegate = {.id = kBackendId,
                 .lower = lower,
                 .device = {1, "cuda:0"},
                 .names_model = true,
                 .holds = holds,
                 .reads_sizes_of = reads_sizes_of,
                 .write_files = write_files},
    .reporting = {.delegate = report},
    .options = {.list = kOptions, .check = check_settings},
};

}  // namespace wick::cuda
