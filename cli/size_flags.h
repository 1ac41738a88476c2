// The option --max-size: upper bounds of sizes.
#pragma once
#include <string>
#include <vector>

#include "cli/options.h"
#include "compiler/driver/compile.h"

namespace wick::cli {

/// The values of --max-size. Lives until the command line has been parsed.
class SizeFlags {
 public:
  void add_to(Command& command);
  /// Sets ImportOptions::max_sizes. Error: usage, a value that is neither N nor NAME=N, with N of at least 1.
  compiler::Status read(compiler::ImportOptions& options) const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace wick::cli
