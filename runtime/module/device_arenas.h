// Arenas on a device, for values that pass from one delegate to another. C++17.
#pragma once
#include "wick/backend.h"
#include "wick/program.h"

namespace wick {

/// Memory of a device, freed with its owner.
class DeviceArena {
 public:
  DeviceArena() = default;
  DeviceArena(DeviceArena&& other) noexcept : memory_(other.memory_), backend_(other.backend_) {
    other.backend_ = nullptr;
  }
  DeviceArena& operator=(DeviceArena&&) = delete;
  ~DeviceArena() {
    if (backend_) backend_->free_arena(memory_.owner);
  }
  /// Errors: what the backend says.
  Error allocate(const Backend& backend, const DelegateOptions& options, uint64_t size_bytes, ErrorText* text);
  /// Its addresses mean something on the device only.
  Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(memory_.data), memory_.size_bytes}; }

 private:
  DeviceMemory memory_;
  const Backend* backend_ = nullptr;
};

/// The backend whose device has the arena, or null: the arena may lie on the host.
const Backend* backend_of_arena(const MethodMeta& method, size_t arena, Span<const Backend* const> backends);

/// Whether nobody but the delegates of its backend touches what lies on a device: no kernel, no list, no input, no
/// output; and nothing there has an initial value. Errors: InvalidProgram.
Error check_device_arenas(const MethodMeta& method, Span<const Backend* const> backends, ErrorText* text);

}  // namespace wick
