// Lowers a partition to a delegate: kernels, their plan, device code and weights.
#include "backends/cuda/compile/device_code.h"
#include "backends/cuda/compile/fusion/fuse_kernels.h"
#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/compile/plan/verify_plan.h"
#include "backends/cuda/compile/state/guard_writes.h"
#include "backends/cuda/compile/target.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

namespace {

void add_constants(const BuiltPlan& built, compiler::Delegate& delegate) {
  size_t next = 0;
  for (const Buffer& buffer : built.plan.buffers) {
    if (!buffer.data.empty()) delegate.constants.push_back({buffer.data, built.constants[next++]});
  }
}

// Includes the sizes of graphs inside nodes.
void add_ranges(const compiler::Graph& graph, compiler::SymRanges& ranges) {
  ranges.insert(graph.ranges.begin(), graph.ranges.end());
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) add_ranges(*inner, ranges);
  }
}

void require_sound(const std::string& flaw) {
  if (!flaw.empty()) compiler::fail(compiler::Code::internal, "cuda: the plan of a partition is not valid: " + flaw);
}

void verify(const BuiltPlan& built, const LoweredGraph& lowered, const compiler::Graph& graph) {
  require_sound(find_memory_flaw(built.plan, built.in_parts));
  if (const std::string node = find_missing_node(lowered, graph); !node.empty())
    compiler::fail(compiler::Code::internal, "cuda: the plan of a partition lacks " + node);
}

}  // namespace

compiler::Result<compiler::Delegate> lower(const compiler::Graph& graph, const compiler::TargetContext& context) {
  compiler::Delegate delegate;
  delegate.id = kBackendId;
  RETURN_IF_ERROR(compiler::catch_failure([&] {
    LoweredGraph lowered;
    lowered.allows_tf32 = context.options.setting(kAllowTf32Option) == "on";
    lowered.has_warpgroups = compiles_for_warpgroups(context.options);
    add_ranges(graph, lowered.ranges);
    const compiler::SymScope scope(lowered.ranges);
    Lowering(graph, lowered, {context.options.setting(kMaterializeViewsOption) == "on"}).run();
    fuse_kernels(lowered);
    require_sound(find_missing_part(lowered));
    guard_writes(lowered);
    BuiltPlan built = build_plan(lowered, graph);
    verify(built, lowered, graph);
    built.plan.method = context.method;
    built.plan.model = context.model;
    built.plan.partition = static_cast<uint32_t>(context.partition);
    throw_if_error(add_device_code(built, context, built.plan, delegate));
    add_constants(built, delegate);
    for (const compiler::Node* node : built.node_of_handle) delegate.origins.push_back(node->origin);
    char buffer[512];
    ErrorText text(buffer);
    if (check_plan(built.plan, &text) != Error::Ok)
      compiler::fail(compiler::Code::internal,
                     std::string("cuda: the plan of a partition is not valid: ") + text.c_str());
    delegate.payload = write_plan(built.plan);
    delegate.num_nodes = built.plan.nodes.size();
  }));
  return delegate;
}

}  // namespace wick::cuda
