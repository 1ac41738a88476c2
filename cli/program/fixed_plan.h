// Plans programs whose methods a package has as tables (runtime/firmware/fixed_method.h).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wick/program.h"

namespace wick::cli {

struct FixedTensorPlan {
  TensorMeta meta;
  std::vector<int32_t> strides;
  uint64_t offset = 0, initial = 0;  // offset in the file or in the arena; initial bytes in the file
};

struct FixedCallPlan {
  size_t op = 0;  // operator of the method
  std::vector<uint32_t> args;
};

/// A method as tables. Borrows the program.
struct FixedMethodPlan {
  std::vector<FixedTensorPlan> tensors;
  std::vector<ValueMeta> constants;             // without duplicates
  std::vector<std::vector<int64_t>> int_lists;  // by constant; empty if it is no int list
  std::vector<FixedCallPlan> calls;
  std::vector<std::optional<uint32_t>> inputs, outputs;  // tensor of each input and output; nullopt for other values
  /// Bytes of the tables on a processor of 32 bits.
  uint64_t table_bytes() const;
};

/// The methods as tables; nullopt unless all methods can be tables: they only call kernels that write to their out
/// tensors, shapes are fixed, and inputs and outputs lie in an arena that no other method uses.
std::optional<std::vector<FixedMethodPlan>> plan_fixed_methods(const Program& program);

/// The first byte of the file that the methods read, rounded down to a multiple of 16.
uint64_t first_constant_byte(const std::vector<FixedMethodPlan>& methods, uint64_t file_bytes);

}  // namespace wick::cli
