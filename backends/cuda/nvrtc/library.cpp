#include "backends/cuda/nvrtc/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>

namespace wick::cuda {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;

constexpr int kOldestMajor = 13;  // has sm_100 and sm_120, and fits the driver version in plans
// 13 first: code from newer libraries needs newer drivers.
constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value ? value : "";
}

void add_folder(const std::string& folder, std::vector<std::string>* candidates) {
  for (const char* below : {"lib64", "lib"}) {
    for (const char* name : kNames) candidates->push_back(folder + "/" + below + "/" + name);
  }
}

std::vector<std::string> toolkits() {
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/local", error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("cuda", 0) == 0) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());  // "cuda" comes before "cuda-13.0"
  return folders;
}

/// The folder of this user that scripts/get_nvrtc.sh fills.
std::string fetched_folder() {
  std::string cache = variable("XDG_CACHE_HOME");
  if (cache.empty() && !variable("HOME").empty()) cache = variable("HOME") + "/.cache";
  return cache.empty() ? "" : cache + "/wick/nvrtc";
}

template <typename F>
bool find(void* library, const char* name, F** function) {
  *function = reinterpret_cast<F*>(dlsym(library, name));
  return *function != nullptr;
}

bool find_functions(void* library, Nvrtc* nvrtc) {
  return find(library, "nvrtcCreateProgram", &nvrtc->create) && find(library, "nvrtcDestroyProgram", &nvrtc->destroy) &&
         find(library, "nvrtcCompileProgram", &nvrtc->compile) &&
         find(library, "nvrtcGetProgramLogSize", &nvrtc->log_size) &&
         find(library, "nvrtcGetProgramLog", &nvrtc->log) && find(library, "nvrtcGetCUBINSize", &nvrtc->cubin_size) &&
         find(library, "nvrtcGetCUBIN", &nvrtc->cubin) && find(library, "nvrtcGetPTXSize", &nvrtc->ptx_size) &&
         find(library, "nvrtcGetPTX", &nvrtc->ptx) &&
         find(library, "nvrtcGetNumSupportedArchs", &nvrtc->num_architectures) &&
         find(library, "nvrtcGetSupportedArchs", &nvrtc->architectures) &&
         find(library, "nvrtcVersion", &nvrtc->version) && find(library, "nvrtcGetErrorString", &nvrtc->error_name);
}

/// Returns false if the library cannot be used. `note`: the reason if the file exists, else unchanged.
bool open(const std::string& path, Nvrtc* nvrtc, std::string* note) {
  note->clear();
  std::error_code error;
  if (path.find('/') != std::string::npos && !std::filesystem::exists(path, error)) return false;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    if (path.find('/') != std::string::npos) *note = fmt::format("{}: {}", path, dlerror());
    return false;
  }
  nvrtc->path = path;
  if (!find_functions(library, nvrtc)) {
    *note = fmt::format("{}: no functions of NVRTC", path);
  } else if (nvrtc->version(&nvrtc->major, &nvrtc->minor) != 0 || nvrtc->major < kOldestMajor) {
    *note = fmt::format("{}: version {}.{}, wanted {} or later", path, nvrtc->major, nvrtc->minor, kOldestMajor);
  } else {
    return true;
  }
  dlclose(library);
  return false;
}

}  // namespace

std::vector<std::string> nvrtc_candidates() {
  const std::string chosen = variable("WICK_NVRTC");
  if (!chosen.empty()) return {chosen};
  std::vector<std::string> candidates;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const std::string home = variable(name); !home.empty()) add_folder(home, &candidates);
  }
  for (const char* name : kNames) candidates.emplace_back(name);
  for (const std::string& folder : toolkits()) add_folder(folder, &candidates);
  if (const std::string folder = fetched_folder(); !folder.empty()) candidates.push_back(folder + "/libnvrtc.so.13");
  return candidates;
}

Result<Nvrtc> open_nvrtc(const std::vector<std::string>& candidates) {
  Diag diag(Code::missing_tool, "the compiler of CUDA kernels, NVRTC, cannot be found");
  std::string note, tried;
  for (const std::string& path : candidates) {
    Nvrtc found;
    if (open(path, &found, &note)) return found;
    if (!note.empty()) diag.notes.push_back(note);
    tried += (tried.empty() ? "" : ", ") + path;
  }
  diag.wanted = fmt::format("libnvrtc of CUDA {} or later, for example in: {}", kOldestMajor, tried);
  diag.help =
      "run `make setup-cuda`, which fetches NVRTC into your cache folder, or install NVIDIA's CUDA toolkit; "
      "WICK_NVRTC=/path/libnvrtc.so.13 names one elsewhere";
  return diag;
}

Result<const Nvrtc*> nvrtc() {
  static std::mutex mutex;
  static std::optional<Nvrtc> library;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!library) {
    ASSIGN_OR_RETURN(library, open_nvrtc(nvrtc_candidates()));
  }
  return &*library;
}

}  // namespace wick::cuda
