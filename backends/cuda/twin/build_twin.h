// Kernels as a shared library for the host: tests run them without a device. C++20.
#pragma once
#include <string>
#include <vector>

#include "backends/cuda/compile/text/program.h"
#include "compiler/support/file_map.h"
#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::cuda {

struct TwinOptions {
  bool sanitize = false;  // AddressSanitizer and UndefinedBehaviorSanitizer; for processes that have them too
  bool optimize = true;   // if false, it compiles four times faster and runs slower: for many kernels on few elements
};

/// Writes a library with the kernels, their launcher and a stand-in for the CUDA driver (twin/twin_kernels.h and the
/// functions cu*). The compiler is WICK_CXX if set, else clang++-19, clang++, g++ or c++, whichever is found first.
/// Errors: missing_tool if there is no compiler; internal if it refuses the text, with its first message; file_io.
compiler::Result<compiler::FileWriter> begin_twin(Span<const KernelText> kernels, const std::string& path,
                                                  const TwinOptions& options = {});
/// The same, and puts the library in its place.
compiler::Status build_twin(Span<const KernelText> kernels, const std::string& path, const TwinOptions& options = {});

/// Whether a file with these bytes is such a library.
bool is_twin(Span<const uint8_t> bytes);

/// Writes each kernel as FOLDER/name.cu and the vocabulary of devices as FOLDER/vocabulary.h, for reading and for
/// other compilers, and adds these files to `files`. Creates the folder. Errors: file_io; usage, for a file of
/// these names that something else has written.
compiler::Status emit_source(Span<const KernelText> kernels, const std::string& folder,
                             std::vector<compiler::FileWriter>& files);

}  // namespace wick::cuda
