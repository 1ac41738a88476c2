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
  /// Errors: those of the backend.
  Error allocate(const Backend& backend, const DelegateOptions& options, uint64_t size_bytes, ErrorText* text);
  /// The addresses are valid on the device only.
  Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(memory_.data), memory_.size_bytes}; }

 private:
  DeviceMemory memory_;
  const Backend* backend_ = nullptr;
};

/// The backend on whose device the arena lies. Null if it may lie on the host.
const Backend* backend_of_arena(const MethodMeta& method, size_t arena, Span<const Backend* const> backends);

/// Checks that only delegates of one backend use the values on its device: no kernel, list, input or output does, and
/// none of them has an initial value. Errors: InvalidProgram.
Error check_device_arenas(const MethodMeta& method, Span<const Backend* const> backends, ErrorText* text);

}  // namespace wick
