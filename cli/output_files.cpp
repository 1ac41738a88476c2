#include "cli/output_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "compiler/support/diag.h"
#include "compiler/support/file_map.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Status;
namespace fs = std::filesystem;

fs::path whole_path(const std::string& path) {
  std::error_code error;
  return fs::weakly_canonical(fs::absolute(path, error), error);
}

// Whether the output is written to, not replaced: a device or a pipe. (/dev/stdout may be a link to a pipe, which has
// no path.)
bool is_stream(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && fs::is_other(path, error);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  return !is_stream(a) && (whole_path(a) == whole_path(b) || fs::equivalent(a, b, error));
}

Status check_writable(const OutputFile& output) {
  std::error_code error;
  const bool stream = is_stream(output.path);
  const fs::path path = whole_path(output.path), folder = path.parent_path();
  const char* problem = fs::is_directory(path, error)                 ? "it is a folder"
                        : !stream && !fs::is_directory(folder, error) ? "there is no such folder"
                                                                      : nullptr;
  if (!problem && ::access(stream ? output.path.c_str() : folder.c_str(), W_OK) != 0) problem = "permission denied";
  if (!problem) return {};
  return Diag(Code::file_io, fmt::format("cannot write \"{}\": {}", compiler::printable(output.path), problem))
      .with_help(fmt::format("give {} another name", output.option));
}

// Protects files that something else has written from a wrong name on the command line.
Status check_replaceable(const OutputFile& output) {
  std::error_code error;
  if (!output.is_of_kind || !fs::is_regular_file(output.path, error)) return {};
  const compiler::Result<compiler::FileMap> map = compiler::FileMap::open(output.path);
  if (!map.ok() || map->bytes().empty() || output.is_of_kind(map->bytes())) return {};
  return Diag(Code::usage, fmt::format("{} would overwrite \"{}\", which is no {}", output.option,
                                       compiler::printable(output.path), output.kind))
      .with_help(fmt::format("remove the file, or give {} another name", output.option));
}

}  // namespace

Status check_outputs(const std::vector<OutputFile>& outputs, const std::vector<std::string>& inputs) {
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    if (output->path.empty()) continue;
    for (const std::string& input : inputs) {
      if (!same_file(input, output->path)) continue;
      return Diag(Code::usage, "the output would overwrite an input")
          .with_help(fmt::format("give {} another name", output->option));
    }
    for (auto other = outputs.begin(); other != output; ++other) {
      if (other->path.empty() || !same_file(other->path, output->path)) continue;
      return Diag(Code::usage, fmt::format("{} and {} name the same file", other->option, output->option))
          .expected(output->path, "a file for each");
    }
    RETURN_IF_ERROR(check_writable(*output));
    RETURN_IF_ERROR(check_replaceable(*output));
  }
  return {};
}

}  // namespace wick::cli
