// Commands of a shell: exit code and text out.
#pragma once
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wick::cli {

struct Outcome {
  int exit_code = -1;  // -1: a signal ended it
  std::string out, err;
};

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Writes what the command prints to the files stdout and stderr of `folder`.
inline Outcome run_command(const std::string& command, const std::string& folder) {
  const std::string out = folder + "/stdout", err = folder + "/stderr";
  const int status = std::system((command + " >'" + out + "' 2>'" + err + "'").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp(out), slurp(err)};
}

}  // namespace wick::cli
