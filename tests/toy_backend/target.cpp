#include "tests/toy_backend/target.h"

#include "compiler/passes/rewrite.h"

namespace wick::toy {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Pass;
using compiler::Result;
using compiler::Value;

namespace {

Value* doubled(Builder& b, Node& node) {
  if (!node.is("aten.mul.Scalar") || !node.arg("other").is<double>() || node.real("other") != 2) return nullptr;
  return b.call("aten.add.Tensor", {node.arg("self"), node.arg("self")});
}

// Twice a tensor is a sum, which the backend has.
//   before: y = mul(x, 2.0)        after: y = add(x, x)
// Keeps: every value.
Result<Changed> toy_double(Graph& graph) {
  static constexpr compiler::Rule kRules[] = {doubled};
  return compiler::for_each_graph(
      graph, [](Graph& g) { return compiler::rewrite_nodes(g, Span<const compiler::Rule>(kRules)); });
}

constexpr Pass kPasses[] = {
    {"toy_double", compiler::run_simple<toy_double>, compiler::Phase::target, "it is the only one"}};
constexpr compiler::TargetOption kOptions[] = {kMode};

}  // namespace

const compiler::Target kTarget = {
    .name = "toy",
    .partition = {.supports = supports, .profitable = profitable},
    .passes = {.names = {"toy_double"}, .own = kPasses},
    .delegate = {.id = kBackendId, .lower = lower},
    .options = {.list = kOptions},
};

const BackendRuntime kRuntime = {delegates, nullptr};

}  // namespace wick::toy

namespace wick::toy_kernels {

const compiler::Target kTarget = {
    .name = "toy-kernels",
    .partition = {.supports = toy::supports},
    .passes = {.names = {"toy_double", "fold_quantization"}, .own = toy::kPasses},
    .kernels = {.rewrite = toy::rewrite, .ops = toy::operators()},
};

const BackendRuntime kRuntime = {nullptr, toy::kernels};

}  // namespace wick::toy_kernels
