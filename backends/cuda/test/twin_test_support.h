// Opens twin libraries. Tests only.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "backends/cuda/twin/build_twin.h"

#if defined(__SANITIZE_ADDRESS__)
#define WICK_TEST_SANITIZES true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WICK_TEST_SANITIZES true
#endif
#endif
#ifndef WICK_TEST_SANITIZES
#define WICK_TEST_SANITIZES false
#endif

namespace wick::cuda {

/// The twin of some kernels. Unloaded and deleted with its owner.
class TwinLibrary {
 public:
  using Three = std::array<uint32_t, 3>;
  /// Twins are built with the sanitizers of the tests, which end the process if they find something.
  static constexpr bool kSanitized = WICK_TEST_SANITIZES;

  explicit TwinLibrary(const std::vector<KernelText>& kernels) {
    static int number = 0;
    path_ = ::testing::TempDir() + "wick_twin_" + std::to_string(getpid()) + "_" + std::to_string(number++) + ".so";
    TwinOptions options;
    options.sanitize = kSanitized;
    const compiler::Status status = build_twin({kernels.data(), kernels.size()}, path_, options);
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : compiler::render(const_cast<compiler::Status&>(status).diag()));
    library_ = status.ok() ? dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
    EXPECT_NE(library_, nullptr) << (status.ok() ? dlerror() : "");
  }
  TwinLibrary(const TwinLibrary&) = delete;
  TwinLibrary& operator=(const TwinLibrary&) = delete;
  ~TwinLibrary() {
    if (library_) dlclose(library_);
    unlink(path_.c_str());
  }

  void* find(const char* name) const { return dlsym(library_, name); }
  void set_order(uint32_t order, uint64_t seed = 0) const {
    reinterpret_cast<void (*)(uint32_t, uint64_t)>(find("wick_twin_set_order"))(order, seed);
  }
  void check_writes(bool on) const { reinterpret_cast<void (*)(bool)>(find("wick_twin_check_writes"))(on); }

  /// Launches a kernel with parameters of exactly its types. Returns what is wrong; "": nothing.
  template <typename... P>
  std::string launch(const char* kernel, Three grid, Three block, uint32_t dynamic_shared_bytes,
                     P... parameters) const {
    using Function = const char* (*)(const char*, const uint32_t*, const uint32_t*, uint32_t, void* const*);
    void* pointers[] = {static_cast<void*>(&parameters)..., nullptr};
    const char* const error = reinterpret_cast<Function>(find("wick_twin_launch"))(kernel, grid.data(), block.data(),
                                                                                   dynamic_shared_bytes, pointers);
    return error ? error : "";
  }

 private:
  std::string path_;
  void* library_ = nullptr;
};

}  // namespace wick::cuda
