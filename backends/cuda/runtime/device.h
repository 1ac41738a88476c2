// A device of the process, and the objects that its delegates share: context, constants, code, states of sessions.
// C++17.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/payload/plan.h"
#include "backends/cuda/runtime/content_cache.h"
#include "backends/cuda/runtime/device_name.h"
#include "backends/cuda/runtime/driver.h"
#include "backends/cuda/runtime/pinned_ring.h"
#include "wick/span.h"

namespace wick::cuda {

class Device;

/// Memory of a device, freed with its owner.
class Memory {
 public:
  Memory() = default;
  Memory(Device* device, DevicePtr address, uint64_t size_bytes)
      : device_(device), address_(address), size_bytes_(size_bytes) {}
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
  }
  ~Memory();
  DevicePtr address() const { return address_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  Device* device_ = nullptr;
  DevicePtr address_ = 0;
  uint64_t size_bytes_ = 0;
};

/// Loaded code, unloaded with its owner.
class LoadedModule {
 public:
  LoadedModule() = default;
  LoadedModule(Device* device, DriverModule* module) : device_(device), module_(module) {}
  LoadedModule(LoadedModule&& other) noexcept { *this = std::move(other); }
  LoadedModule& operator=(LoadedModule&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(module_, other.module_);
    return *this;
  }
  ~LoadedModule();
  DriverModule* get() const { return module_; }

 private:
  Device* device_ = nullptr;
  DriverModule* module_ = nullptr;
};

/// The memory of one state of a session.
struct StateMemory {
  Memory memory;
  std::string initial;  // key of its initial value
};

/// The end of the last call that nobody has waited for: a call of one delegate, or of all delegates that share state in
/// a session. These are never called at the same time.
struct CallOrder {
  explicit CallOrder(const Driver& calls) : driver(calls) {}
  CallOrder(const CallOrder&) = delete;
  /// Requires: the context is current.
  ~CallOrder() {
    if (done) (void)driver.event_destroy(done);
  }
  const Driver& driver;
  DriverEvent* done = nullptr;
  bool is_pending = false;
};

/// Makes the device's context current for the thread while it lives.
class ContextScope {
 public:
  explicit ContextScope(const Device& device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;

 private:
  const Device& device_;
  bool was_pushed_;
};

class Device {
 public:
  /// The device of this name, shared by all holders. Null, with the reason, if the driver or the device is missing or
  /// unusable. Thread-safe.
  static std::shared_ptr<Device> open(const DeviceName& name, Failure* failure);
  Device(const Driver& driver, std::string text, DeviceNumber number, DriverContext* context)
      : driver_(driver), text_(std::move(text)), number_(number), context_(context) {}
  ~Device();
  Device(const Device&) = delete;

  const Driver& driver() const { return driver_; }
  /// "cuda:0 (NVIDIA H200)".
  const std::string& text() const { return text_; }
  /// The compute capability: 90 is 9.0.
  uint32_t architecture() const { return architecture_; }
  uint32_t max_shared_bytes() const { return max_shared_bytes_; }
  DriverContext* context() const { return context_; }

  /// Explains a failed call of the driver: `what` could not be done. If a kernel has caused a fault, the process cannot
  /// use the device any more, and all later calls fail at once.
  Failure failure(DriverStatus status, const std::string& what);
  /// The same; no failure if the status is success.
  Failure check(DriverStatus status, const char* what) {
    return status == kSuccess ? Failure() : failure(status, what);
  }
  /// Fails if a kernel has failed before.
  Failure check_usable() const;

  // Requires for the following: the context is current.
  /// Allocates at least one byte. The memory is not initialized. `what`: for messages, what it is for, such as "the
  /// arena".
  Failure allocate(uint64_t size_bytes, const std::string& what, Memory* memory);
  /// The same for arguments of delegates. is_in_arena() finds this memory until forget_arena().
  Failure allocate_arena(uint64_t size_bytes, Memory* memory);
  void forget_arena(DevicePtr address);
  /// Whether the bytes are in memory of allocate_arena(). Needs no context.
  bool is_in_arena(DevicePtr address, uint64_t size_bytes) const;
  /// Memory that holds `bytes`. Users of equal bytes share it.
  Failure share_constant(Span<const uint8_t> bytes, const std::string& what, ContentCache<Memory>::Use* use);
  /// Loaded code. `image`: the bytes as the driver takes them if the code is not loaded yet, aligned or with NUL at the
  /// end.
  Failure share_module(Span<const uint8_t> bytes, const void* image, ContentCache<LoadedModule>::Use* use);
  /// The state that `buffer` names in a session. At first it is zeros, or `initial` if the buffer has data. Fails if
  /// the session has this name with another size or initial value. If the session is null, the state is not shared.
  Failure share_state(const void* session, const Buffer& buffer, Span<const uint8_t> initial,
                      std::shared_ptr<StateMemory>* state);
  /// The order of a session's calls; if the session is null, an order that is not shared.
  Failure share_order(const void* session, std::shared_ptr<CallOrder>* order);
  /// Allows launches of a function to have this much dynamic shared memory. Never lowers the limit.
  Failure allow_shared_bytes(DriverFunction* function, uint32_t size_bytes);
  /// For copies between host and device.
  PinnedRing& ring() { return ring_; }
  /// Copies to the device, and waits until it is done.
  Failure upload(DevicePtr to, Span<const uint8_t> bytes, const std::string& what);

 private:
  Failure start();

  const Driver& driver_;
  std::string text_;
  DeviceNumber number_;
  DriverContext* context_;
  DriverStream* stream_ = nullptr;  // for uploads
  PinnedRing ring_;
  uint32_t architecture_ = 0, max_shared_bytes_ = 0;
  mutable std::mutex mutex_;  // for the members below
  std::string fault_;         // why the device is unusable; "": it is not
  std::map<std::pair<const void*, std::string>, std::weak_ptr<StateMemory>> states_;
  std::map<const void*, std::weak_ptr<CallOrder>> orders_;
  std::map<DevicePtr, uint64_t> arenas_;  // address -> size in bytes
  ContentCache<Memory> constants_;
  ContentCache<LoadedModule> modules_;
};

}  // namespace wick::cuda
