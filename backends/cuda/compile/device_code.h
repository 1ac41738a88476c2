// The output of the target's options: device code, a twin library, sources. C++20.
#pragma once
#include <vector>

#include "backends/cuda/compile/plan/plan_builder.h"
#include "backends/cuda/twin/build_twin.h"
#include "compiler/partition/target.h"

namespace wick::cuda {

constexpr compiler::TargetOption kGpuOption = {"gpu", "",
                                               "architectures of device code: sm_80,sm_90,sm_100,sm_120,ptx (the "
                                               "default) or some of them; sm_90a: for H100 and H200 "
                                               "alone; none: only for a twin",
                                               true, "LIST"};
constexpr compiler::TargetOption kTwinOption = {
    "twin", "", "also write the kernels as a library for this host", true, "FILE", "twin library", is_twin};
constexpr compiler::TargetOption kEmitSourceOption = {"emit-source", "",
                                                      "also write the kernels as text to this folder", true, "DIR"};

/// Whether all device code is for sm_90a, so that kernels may use instructions that other targets lack.
bool compiles_for_warpgroups(const compiler::TargetOptions& options);
compiler::Status check_settings(const compiler::TargetOptions& options);
/// Adds device code for the wanted architectures to the plan and the delegate, and keeps what write_files() needs.
compiler::Status add_device_code(const BuiltPlan& built, const compiler::TargetContext& context, Plan& plan,
                                 compiler::Delegate& delegate);
/// The twin library and the sources of all delegates of a program.
compiler::Status write_files(const std::vector<const compiler::Delegate*>& delegates,
                             const compiler::TargetContext& context, std::vector<compiler::FileWriter>& files);

}  // namespace wick::cuda
