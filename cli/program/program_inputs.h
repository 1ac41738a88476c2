// Binds arrays to the inputs of a method: order, names, dtypes, ranks, and the rules of symbolic sizes.
#pragma once
#include <string>
#include <vector>

#include "cli/arrays/input_names.h"
#include "cli/arrays/npz.h"
#include "cli/program/program_metadata.h"
#include "compiler/support/result.h"
#include "wick/module.h"

namespace wick::cli {

/// Reads .npy and .npz files in the order given. Errors: those of read_arrays.
compiler::Result<std::vector<InputFile>> read_input_files(const std::vector<std::string>& paths);

/// One value per input of `method`. Arrays go to inputs by name or in order (order_by_names). None and string inputs
/// take no array. Dtype, rank, sizes, the values of symbols, their ranges and relations, and burnt-in values are
/// checked. Errors: usage, naming the input, its dimension, the value found and the rule; those of order_by_names.
compiler::Result<std::vector<HostValue>> bind_inputs(const MethodMeta& method, const MethodFacts& facts,
                                                     std::vector<InputFile> files);

/// Seeded values that obey the declared types and ranges: floats in [-1, 1), 32- and 64-bit integers 0 or 1 (valid as
/// index into any table), smaller ones 0 to 127, bools either; burnt-in inputs have their value. Equal seeds give equal
/// values. Errors: usage if no sizes can be found that obey the ranges.
compiler::Result<std::vector<HostValue>> random_inputs(const MethodMeta& method, const MethodFacts& facts,
                                                       uint64_t seed);

/// Checks the sizes of all tensors in `values` against the types in `facts`. Errors: usage. (In symbol_check.cpp.)
compiler::Status check_sizes(const MethodMeta& method, const MethodFacts& facts, const std::vector<HostValue>& values);

}  // namespace wick::cli
