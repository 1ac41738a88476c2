// The files that a command writes, checked before it works for them.
#pragma once
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace wick::cli {

struct OutputFile {
  std::string option;  // "-o", "--report": what the command line calls it
  std::string path;    // empty: not asked for
};

/// Each output is a file of its own in a folder that can be written, and none of `inputs`. Devices and pipes
/// (/dev/null) may repeat. Errors: usage, file_io.
compiler::Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs);

}  // namespace wick::cli
