#include "backends/runtime_table.h"
#include "wick/cuda_backend.h"

namespace wick::cuda {
namespace {

constexpr DeviceKind kDevices[] = {
    {"cuda[:N]", "an NVIDIA device", is_cuda_device},
    {"cuda-twin=FILE", "a library of the program's kernels for this machine's processor", is_cuda_device},
};

}  // namespace

extern const BackendRuntime kRuntime;
const BackendRuntime kRuntime = {cuda_backend, nullptr, kDevices};

}  // namespace wick::cuda
