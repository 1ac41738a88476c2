// The compile half of the CUDA backend. C++20.
#pragma once
#include "compiler/partition/target.h"

namespace wick::cuda {

extern const compiler::Target kTarget;

constexpr compiler::TargetOption kMaterializeViewsOption = {
    "materialize-views", "off|on",
    "copies each view of a buffer before it is read, to find out whether views are to blame"};
constexpr compiler::TargetOption kAllowTf32Option = {
    "allow-tf32", "off|on", "matmuls and convolutions of f32 round their factors to TF32 (10 bits); sums stay f32",
    true};

compiler::Verdict supports(const compiler::Node& node, const compiler::TargetContext& context);
compiler::Verdict holds(const compiler::Value& state, const compiler::TargetContext& context);
/// Whether the sizes that the partition's kernels need follow from sizes of its inputs or of the graph's inputs. A node
/// that needs another size stays outside.
compiler::Verdict knows_sizes(const std::vector<const compiler::Node*>& nodes, const compiler::TargetContext& context);
compiler::Verdict profitable(const std::vector<const compiler::Node*>& nodes, const compiler::TargetContext& context);
std::vector<compiler::Value*> reads_sizes_of(const std::vector<const compiler::Node*>& nodes,
                                             const compiler::TargetContext& context);
compiler::Result<compiler::Delegate> lower(const compiler::Graph& graph, const compiler::TargetContext& context);

}  // namespace wick::cuda
