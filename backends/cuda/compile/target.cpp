#include "backends/cuda/compile/target.h"

#include "backends/cuda/compile/device_code.h"
#include "backends/cuda/compile/keep_integer_weights.h"
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/report.h"
#include "backends/cuda/compile/state/positions.h"
#include "backends/cuda/payload/plan.h"

namespace wick::cuda {

using compiler::Node;
using compiler::TargetOptions;
using compiler::Verdict;

namespace {

Verdict keep(const Node& node, const TargetOptions& options) {
  const OpRule* rule = find_rule(node);
  return rule && rule->keeps_whole ? supports(node, options) : Verdict::no("");
}

constexpr compiler::TargetOption kOptions[] = {
    kGpuOption, kTwinOption, kEmitSourceOption, kChipOption, kMaterializeViewsOption, kAllowTf32Option};

constexpr compiler::Pass kPasses[] = {
    {"keep_integer_weights", compiler::run_simple<keep_integer_weights>, compiler::Phase::recognize,
     "after recognize_quantization, which finds the scales of some of them; before the folds"},
    {"positions_as_tensors", compiler::run_simple<positions_as_tensors>, compiler::Phase::recognize,
     "before decompose, which keeps the attention that it makes"},
};

compiler::Target make_target() {
  compiler::Target target;
  target.name = "cuda";
  target.id = kBackendId;
  target.keep = keep;
  target.supports = supports;
  target.profitable = profitable;
  target.reads_sizes_of = reads_sizes_of;
  target.lower = lower;
  target.holds = holds;
  target.passes = {"recognize_quantization", "keep_integer_weights", "positions_as_tensors", "recognize_attention",
                   "recognize_linears",      "complex_as_pairs",     "recognize_norms"};
  target.own_passes = kPasses;
  target.options = kOptions;
  target.draws_random = true;
  target.takes_graphs = true;
  target.names_model = true;
  target.device = {1, "cuda:0"};
  target.facts = {.max_rank = kMaxRank,
                  .max_unknown_view_sizes = kMaxRank,
                  .max_transform_points = 1 << 16,
                  .takes_parts_of_complex = true};
  target.check_settings = check_settings;
  target.write_files = write_files;
  target.report = report;
  return target;
}

}  // namespace

const compiler::Target kTarget = make_target();

}  // namespace wick::cuda
