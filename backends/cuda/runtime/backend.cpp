// The table of functions by which the executor knows the delegate.
#include "backends/cuda/runtime/delegate.h"
#include "backends/delegate_table.h"

namespace wick::cuda {
namespace {

thread_local const CudaStreamScope* t_scope = nullptr;

constexpr Backend kBackend = delegate_table<Delegate>(kBackendId);

}  // namespace
}  // namespace wick::cuda

namespace wick {

const Backend& cuda_backend() { return cuda::kBackend; }

bool is_cuda_device(const char* name) {
  cuda::DeviceName parsed;
  return *name != 0 && cuda::parse_device(name, &parsed);
}

bool is_cuda_available(const char* device, ErrorText* text) {
  cuda::DeviceName name;
  if (!cuda::parse_device(device, &name)) {
    if (text) text->append(device, " is no device of the CUDA backend");
    return false;
  }
  cuda::Failure failure;
  if (cuda::Device::open(name, &failure)) return true;
  if (text) text->append(failure.text.c_str());
  return false;
}

CudaStreamScope::CudaStreamScope(void* stream, CudaPointers pointers)
    : stream_(stream), pointers_(pointers), outer_(cuda::t_scope) {
  cuda::t_scope = this;
}
CudaStreamScope::~CudaStreamScope() { cuda::t_scope = outer_; }
const CudaStreamScope* CudaStreamScope::current() { return cuda::t_scope; }

}  // namespace wick
