// The predicted cost of an operator call on a backend's processor. C++20.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "wick/dtype.h"

namespace wick::compiler {

/// An argument of a call in a program.
struct CallArgument {
  bool is_tensor = false, is_constant = false;
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;       // of a tensor: upper bounds where dynamic
  std::vector<uint8_t> dim_order;   // of a tensor
  std::vector<int64_t> numbers;     // an int, a list of ints, or the elements of a constant row of int32
  std::vector<CallArgument> items;  // of a list of tensors

  int64_t numel() const {
    int64_t count = 1;
    for (const int64_t size : sizes) count *= size;
    return count;
  }
  uint64_t bytes() const { return static_cast<uint64_t>(numel()) * dtype_size_bytes(dtype); }
};

/// Stands for the executor's own work in one execution. Its argument holds the number of instructions and the number of
/// their arguments.
inline constexpr char kExecutorCall[] = "(executor)";

struct OperatorCall {
  std::string name;                     // registry key, "aten::add.out"
  std::vector<CallArgument> arguments;  // in the order of the schema; the last one is the result
};

/// How often a call does something, and the instructions of the processor that this takes each time.
struct CostTerm {
  std::string name;
  double count = 0, instructions = 0;
};

struct CallCost {
  std::string variant;  // of the kernel: the instruction set that it is written for, or "reference", "portable"
  uint64_t macs = 0;    // multiply-accumulates
  uint64_t constant_bytes = 0, scratch_bytes = 0;
  std::vector<CostTerm> terms;
  bool is_known = false;  // the instructions of all terms are known

  double instructions() const {
    double sum = 0;
    for (const CostTerm& term : terms) sum += term.count * term.instructions;
    return sum;
  }
};

}  // namespace wick::compiler
