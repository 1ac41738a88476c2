// Runs the tool on files that mean harm, and measures it.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace wick::testing {

struct Outcome {
  int exit_code = -1;  // -1: killed by `signal`
  int signal = 0;
  double seconds = 0;       // of processor time
  uint64_t peak_bytes = 0;  // resident
  std::string output;       // stdout and stderr
};

/// Runs the tool with `args`. It is killed after 30 s of processor time or beyond 24 GB of address space.
Outcome run_wick(const std::vector<std::string>& args);

/// Writes what `make` returns to a file of this name in a folder of the process, and returns its path. `make` runs in a
/// process of its own: memory it takes is not counted as the tool's, which starts as a copy of this one.
std::string made_file(const std::string& name, const std::function<std::string()>& make);

/// A path in that folder.
std::string scratch_path(const std::string& name);
uint64_t file_bytes(const std::string& path);

}  // namespace wick::testing
