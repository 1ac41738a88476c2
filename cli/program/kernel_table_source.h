// C++ source of a kernel table that holds only what some programs call.
#pragma once
#include <set>
#include <string>

#include "compiler/support/result.h"

namespace wick::cli {

/// Source of a file that defines wick::portable_kernels() with the rows of `names` (registry keys) and no others; the
/// operators on plain numbers are rows as well. Kernels of backends are named in a comment: their backend's library has
/// a table of its own. Errors: incompatible_file, naming all keys that Wick has no kernel for.
compiler::Result<std::string> kernel_table_source(const std::set<std::string>& names);

}  // namespace wick::cli
