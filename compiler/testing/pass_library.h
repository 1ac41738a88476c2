// Passes in a shared library of their own, which `wick test-lower --load` runs. The library is C++20, from this source
// tree and compiled like the tool. It defines
//
//   std::vector<ExtraPass> my_passes();
//   WICK_PASS_LIBRARY(my_passes)
#pragma once
#include <string>
#include <vector>

#include "compiler/passes/pipeline.h"

/// Defines the two symbols that the tool looks for in the library: how it was built, and its passes.
#define WICK_PASS_LIBRARY(passes)                                                                                  \
  extern "C" __attribute__((visibility("default"))) const wick::testing::LibraryBuild* wick_pass_library_build() { \
    return &wick::testing::kLibraryBuild;                                                                          \
  }                                                                                                                \
  extern "C" __attribute__((visibility("default"))) void wick_pass_library_passes(                                 \
      std::vector<wick::compiler::ExtraPass>* out) {                                                               \
    *out = passes();                                                                                               \
  }

namespace wick::testing {

/// A library and the tool must have these in common.
struct LibraryBuild {
  const char* compiler;
  size_t sizes[6];  // sizes of classes
};
constexpr LibraryBuild kLibraryBuild = {
    __VERSION__,
    {sizeof(compiler::Value), sizeof(compiler::Node), sizeof(compiler::Graph), sizeof(compiler::OpDef),
     sizeof(compiler::TensorType), sizeof(compiler::ExtraPass)}};

/// The passes of a library, which stays loaded. Errors: usage (it cannot be opened, is no pass library, or is one of
/// another build).
compiler::Result<std::vector<compiler::ExtraPass>> load_pass_library(const std::string& path);

}  // namespace wick::testing
