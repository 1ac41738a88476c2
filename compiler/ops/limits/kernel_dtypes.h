// Which of the rarer dtypes our kernels take, and which kernels want all floating operands of a call in one dtype. A
// test compares the table, kernel_dtypes.inc, with the kernels.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// Sets of rarer dtypes, as bits. Kernels are not checked for the other dtypes: what a kernel refuses there eager
/// refuses too, so no file holds it.
enum RareDtypes : uint8_t {
  kUsual = 0,
  kC32 = 1u << 0,
  kC64 = 1u << 1,
  kC128 = 1u << 2,
  kU16 = 1u << 3,
  kU32 = 1u << 4,
  kU64 = 1u << 5,
  kF8 = 1u << 6,     // all five 8-bit floats
  kNoF32 = 1u << 7,  // does not take f32 (few kernels). A guess if f32 has another kernel
};
/// Used with RareDtypes: the floating operands of a call must have one dtype.
inline constexpr int kAlike = 1 << 8;
RareDtypes rare_dtype(DType dtype);

/// Does the kernel of this name take elements of `dtype`, in operands or results?
bool kernel_takes(std::string_view kernel, DType dtype);

/// Does it take floating operands of several dtypes in one call?
bool kernel_takes_mixes(std::string_view kernel);

/// The dtypes of the node's floating operands, each once.
std::vector<DType> floating_dtypes(const Node& node);

/// Fails, with the place in the user's model, if a kernel of ours would get a dtype, or a mix of dtypes, that it does
/// not take. Nodes that other backends took are not checked.
Status check_kernel_dtypes(const Graph& graph);

}  // namespace wick::compiler
