// The toy backend as the compiler and the executor see it.
#pragma once
#include "backends/runtime_table.h"
#include "compiler/partition/target.h"

namespace wick::toy {

inline constexpr char kBackendId[] = "ToyBackend";
/// "strict" lets the delegate fail on values that are not finite; the delegate is told by a compile spec of that name.
inline constexpr compiler::TargetOption kMode = {"mode", "plain|strict",
                                                 "whether values that are not finite fail a run"};

extern const compiler::Target kTarget;      // form delegate
extern const compiler::Target kNhwcTarget;  // form kernels, channels last
extern const BackendRuntime kRuntime;

// support.cpp
compiler::Verdict supports(const compiler::Node& node, const compiler::TargetContext& context);
compiler::Verdict profitable(const std::vector<const compiler::Node*>& nodes, const compiler::TargetContext& context);
// lower.cpp
compiler::Result<compiler::Delegate> lower(const compiler::Graph& graph, const compiler::TargetContext& context);
// operators.cpp
Span<const compiler::OpDef> operators();
std::vector<compiler::Value*> rewrite(compiler::Builder& builder, compiler::Node& node,
                                      const compiler::TargetContext& context);
// runtime.cpp, kernels.cpp
const Backend& delegates();
KernelTable kernels();
// nhwc.cpp
void conv2d_out(KernelContext& context, Span<EValue*> args);

}  // namespace wick::toy

namespace wick::toy_kernels {

extern const compiler::Target kTarget;  // form kernels
extern const BackendRuntime kRuntime;

}  // namespace wick::toy_kernels
