// The files that a command writes, checked before it works for them.
#pragma once
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cli {

struct OutputFile {
  std::string option;  // name on the command line: "-o", "--report"
  std::string path;    // empty: not asked for
  /// The kind of file that may be replaced, in words, and a test of a file's bytes. Null: any file.
  const char* kind = "";
  bool (*is_of_kind)(Span<const uint8_t> bytes) = nullptr;
};

/// Each output is a file of its own in a folder that can be written, and none of `inputs`. A file that is there must be
/// empty or of its kind. Devices and pipes (/dev/null) may repeat. Errors: usage, file_io.
compiler::Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs);

}  // namespace wick::cli
