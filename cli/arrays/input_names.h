// Which array of a file feeds which input, as their names have it.
#pragma once
#include <string>
#include <vector>

#include "cli/arrays/npz.h"
#include "compiler/support/result.h"

namespace wick::cli {

/// The arrays of one file, in the archive's order.
struct InputFile {
  std::string path;
  std::vector<NamedArray> arrays;
};

/// Decides whether the arrays of `file` go to the inputs by name (true) or in order (false), and puts them in order.
///   inputs  the names of the inputs that take an array; `known`: the program holds names
/// By name where every array has the name of an input. In order: a lone .npy; `in0`, `in1`, .. or `arr_0`, `arr_1`, ..
/// by their numbers; arrays for a method of one input, if no name is that of the input.
/// Errors: usage for every other file, as a wrong name must not let arrays change places.
compiler::Result<bool> order_by_names(const std::vector<std::string>& inputs, bool known, InputFile& file);

}  // namespace wick::cli
