// NVRTC, opened when it is needed, and the declarations of its functions: no CUDA header is used. C++20.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "compiler/support/result.h"

namespace wick::cuda {

/// Functions of libnvrtc; their result 0 is success. The library is never unloaded.
struct Nvrtc {
  using Program = void*;
  std::string path;  // of the library
  int major = 0, minor = 0;
  int (*create)(Program* program, const char* text, const char* name, int num_headers, const char* const* headers,
                const char* const* header_names) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*compile)(Program program, int num_options, const char* const* options) = nullptr;
  int (*log_size)(Program program, size_t* size) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*cubin_size)(Program program, size_t* size) = nullptr;
  int (*cubin)(Program program, char* bytes) = nullptr;
  int (*ptx_size)(Program program, size_t* size) = nullptr;
  int (*ptx)(Program program, char* text) = nullptr;
  int (*num_architectures)(int* count) = nullptr;
  int (*architectures)(int* numbers) = nullptr;
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_name)(int result) = nullptr;
};

/// The places to look for NVRTC, best first: the file that WICK_NVRTC names (and then no other), CUDA_HOME and
/// CUDA_PATH, the loader's path, /usr/local/cuda*, the folder that scripts/get_nvrtc.sh fills.
std::vector<std::string> nvrtc_candidates();

/// The library, opened once per process. Errors: missing_tool, with the places that were tried and two ways to get it.
compiler::Result<const Nvrtc*> nvrtc();
/// The first candidate that can be used. Opens it again in each call.
compiler::Result<Nvrtc> open_nvrtc(const std::vector<std::string>& candidates);

}  // namespace wick::cuda
