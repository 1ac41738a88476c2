// Decides by names which array of a file feeds which input.
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

/// The inputs of a method that take an array.
struct WantedInputs {
  std::vector<std::string> names;
  std::vector<size_t> places;  // among all inputs, None and strings too
  bool known = true;           // the program stores names
};

/// Decides whether the arrays of `file` feed the inputs by name (true) or in order (false), and puts them in order.
///   before  the arrays that files before this one feed in order
/// By name: if every array has the name of an input. In order: a single .npy; arrays named `in0`, `in1`, .. or `arr_0`,
/// `arr_1`, .., by their numbers, which must be contiguous from 0 or `before`, or be those of all inputs; arrays for a
/// method with one input, if none has the name of that input. Errors: usage for every other file, so that a wrong name
/// cannot swap arrays.
compiler::Result<bool> order_by_names(const WantedInputs& inputs, size_t before, InputFile& file);

}  // namespace wick::cli
