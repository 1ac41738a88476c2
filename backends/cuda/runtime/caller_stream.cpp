// Streams and memory for callers that have no CUDA code of their own.
#include <memory>
#include <vector>

#include "backends/cuda/runtime/device.h"
#include "wick/cuda_backend.h"

namespace wick {

struct CudaStream::State {
  std::shared_ptr<cuda::Device> device;  // outlives the memory
  cuda::DriverStream* stream = nullptr;
  std::vector<cuda::Memory> memory;

  Error after(cuda::DriverStatus status, const char* what) { return device->check(status, what).error; }
};

bool CudaStream::open(const char* device, ErrorText* text) {
  const auto refuse = [&](const char* subject, const char* why) {
    if (text) text->append(subject, why);
    return false;
  };
  cuda::DeviceName name;
  if (!cuda::parse_device(device, &name)) return refuse(device, " is no device of the CUDA backend");
  auto state = std::make_unique<State>();
  cuda::Failure failure;
  state->device = cuda::Device::open(name, &failure);
  if (!state->device) return refuse("", failure.text.c_str());
  const cuda::ContextScope scope(*state->device);
  failure = state->device->check(state->device->driver().stream_create(&state->stream, cuda::kStreamNonBlocking),
                                 "making a stream");
  if (failure) return refuse("", failure.text.c_str());
  state_ = state.release();
  return true;
}

CudaStream::~CudaStream() {
  if (!state_) return;
  {
    const cuda::ContextScope scope(*state_->device);
    (void)state_->device->driver().stream_wait(state_->stream);
    state_->memory.clear();
    (void)state_->device->driver().stream_destroy(state_->stream);
  }
  delete state_;
}

void* CudaStream::handle() const { return state_->stream; }

void* CudaStream::allocate(size_t size_bytes) {
  const cuda::ContextScope scope(*state_->device);
  cuda::Memory memory;
  if (state_->device->allocate(size_bytes, "a tensor", &memory)) return nullptr;
  state_->memory.push_back(std::move(memory));
  return reinterpret_cast<void*>(state_->memory.back().address());
}

Error CudaStream::copy_to_device(void* to, const void* from, size_t size_bytes) {
  if (size_bytes == 0) return Error::Ok;
  const cuda::ContextScope scope(*state_->device);
  cuda::Device& device = *state_->device;
  return state_->after(
      device.ring().copy_to_device(device.driver(), reinterpret_cast<uintptr_t>(to), from, size_bytes, state_->stream),
      "copying to the device");
}

Error CudaStream::copy_to_host(void* to, const void* from, size_t size_bytes) {
  if (size_bytes == 0) return Error::Ok;
  {
    const cuda::ContextScope scope(*state_->device);
    cuda::Device& device = *state_->device;
    const Error error = state_->after(
        device.ring().copy_to_host(device.driver(), to, reinterpret_cast<uintptr_t>(from), size_bytes, state_->stream),
        "copying from the device");
    if (error != Error::Ok) return error;
  }
  return wait();
}

Error CudaStream::wait() {
  const cuda::ContextScope scope(*state_->device);
  return state_->after(state_->device->driver().stream_wait(state_->stream), "waiting for a stream");
}

}  // namespace wick
