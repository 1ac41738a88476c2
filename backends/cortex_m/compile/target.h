// The Cortex-M backend as the compiler sees it. C++20.
#pragma once
#include "compiler/partition/target.h"

namespace wick::cortex_m {

extern const compiler::Target kTarget;

inline constexpr size_t kMaxRank = 16;  // the runtime's tensors have no more

// support.cpp
compiler::Verdict keep(const compiler::Node& node, const compiler::TargetContext& context);
compiler::Verdict supports(const compiler::Node& node, const compiler::TargetContext& context);
std::vector<compiler::Value*> rewrite(compiler::Builder& builder, compiler::Node& node,
                                      const compiler::TargetContext& context);

uint64_t macs(const compiler::Node& node);

// firmware.cpp
compiler::Result<compiler::FirmwareTarget> firmware(const compiler::TargetSettings& settings, std::string_view facts);

}  // namespace wick::cortex_m
