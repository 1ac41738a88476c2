#include "backends/runtime_table.h"

#include "wick/backends.h"
#include "wick/portable_kernels.h"

#define WICK_BACKEND(name)              \
  namespace wick::name {                \
  extern const BackendRuntime kRuntime; \
  }
#include "backends/backends.inc"

namespace wick {
namespace {

#define WICK_BACKEND(name) &name::kRuntime,
constexpr const BackendRuntime* kRuntimes[] = {
#include "backends/backends.inc"
};
constexpr size_t kNumRuntimes = sizeof kRuntimes / sizeof kRuntimes[0];

constexpr size_t kMaxDevices = 8;

struct Tables {
  const Backend* backends[kNumRuntimes];
  KernelTable kernels[kNumRuntimes + 1];
  DeviceKind devices[kMaxDevices];
  size_t num_backends = 0, num_kernels = 0, num_devices = 0;

  Tables() {
    for (const BackendRuntime* runtime : kRuntimes) {
      if (runtime->delegates) backends[num_backends++] = &runtime->delegates();
      if (runtime->kernels) kernels[num_kernels++] = runtime->kernels();
      for (const DeviceKind& device : runtime->devices) {
        if (num_devices < kMaxDevices) devices[num_devices++] = device;
      }
    }
    kernels[num_kernels++] = portable_kernels();
  }
};

const Tables& tables() {
  static const Tables instance;
  return instance;
}

}  // namespace

Span<const Backend* const> all_backends() { return {tables().backends, tables().num_backends}; }
Span<const DeviceKind> all_devices() { return {tables().devices, tables().num_devices}; }
Span<const KernelTable> all_kernels() { return {tables().kernels, tables().num_kernels}; }

}  // namespace wick
