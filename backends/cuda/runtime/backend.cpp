// The table of functions by which the executor calls the delegate.
#include "backends/cuda/runtime/delegate.h"
#include "backends/delegate_table.h"

namespace wick::cuda {
namespace {

thread_local const CudaStreamScope* t_scope = nullptr;

struct ArenaOnDevice {
  std::shared_ptr<Device> device;
  Memory memory;
};

Error allocate_arena(const DelegateOptions& options, uint64_t size_bytes, ErrorText* text, DeviceMemory* memory) {
  Failure failure;
  auto arena = std::make_unique<ArenaOnDevice>();
  arena->device = Device::open(device_or_default(options.device), &failure);
  if (arena->device) {
    const ContextScope current(*arena->device);
    failure = arena->device->allocate_arena(size_bytes, &arena->memory);
  }
  if (failure) {
    if (text) text->append(failure.text.c_str());
    return failure.error;
  }
  *memory = {reinterpret_cast<void*>(static_cast<uintptr_t>(arena->memory.address())), static_cast<size_t>(size_bytes),
             arena.get()};
  (void)arena.release();
  return Error::Ok;
}

void free_arena(void* owner) {
  auto* arena = static_cast<ArenaOnDevice*>(owner);
  arena->device->forget_arena(arena->memory.address());
  delete arena;
}

constexpr Backend make_backend() {
  Backend backend = delegate_table<Delegate>(kBackendId);
  backend.device_type = 1;
  backend.allocate_arena = allocate_arena;
  backend.free_arena = free_arena;
  return backend;
}
constexpr Backend kBackend = make_backend();

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
