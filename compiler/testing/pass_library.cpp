#include "compiler/testing/pass_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

namespace wick::testing {

using compiler::Code;
using compiler::Diag;
using compiler::ExtraPass;
using compiler::Result;

Result<std::vector<ExtraPass>> load_pass_library(const std::string& path) {
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;  // no search of folders
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return Diag(Code::usage, "the library of passes does not exist").at_file(path).with_help("--load takes a .so");
  }
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return Diag(Code::usage, fmt::format("the library of passes cannot be loaded: {}",
                                         compiler::printable(reason ? reason : "no reason is given")))
        .at_file(path)
        .with_help("compile it from the same sources as this tool");
  }
  const auto build = reinterpret_cast<const LibraryBuild* (*)()>(dlsym(library, "wick_pass_library_build"));
  const auto passes = reinterpret_cast<void (*)(std::vector<ExtraPass>*)>(dlsym(library, "wick_pass_library_passes"));
  if (!build || !passes) {
    return Diag(Code::usage, "the file is not a library of passes")
        .at_file(path)
        .with_help("WICK_PASS_LIBRARY in compiler/testing/pass_library.h makes one");
  }
  const LibraryBuild& found = *build();
  if (std::strcmp(found.compiler, kLibraryBuild.compiler) != 0) {
    return Diag(Code::usage, "another compiler made the library of passes")
        .at_file(path)
        .expected(found.compiler, kLibraryBuild.compiler)
        .with_help("compile it like this tool");
  }
  if (!std::equal(std::begin(found.sizes), std::end(found.sizes), std::begin(kLibraryBuild.sizes))) {
    return Diag(Code::usage, "the library of passes was compiled from other sources")
        .at_file(path)
        .with_help("compile it from the same sources as this tool");
  }
  std::vector<ExtraPass> out;
  passes(&out);
  return out;
}

}  // namespace wick::testing
