#include "backends/cuda/runtime/device.h"

#include <algorithm>

namespace wick::cuda {

ContextScope::ContextScope(const Device& device)
    : device_(device), was_pushed_(device.driver().context_push(device.context()) == kSuccess) {}
ContextScope::~ContextScope() {
  if (!was_pushed_) return;  // the thread keeps its own context
  DriverContext* context = nullptr;
  (void)device_.driver().context_pop(&context);
}

// After a fault these calls fail, and there is nothing to free.
Memory::~Memory() {
  if (!device_) return;
  const ContextScope scope(*device_);
  (void)device_->driver().memory_free(address_);
}

LoadedModule::~LoadedModule() {
  if (!device_) return;
  const ContextScope scope(*device_);
  (void)device_->driver().module_unload(module_);
}

std::shared_ptr<Device> Device::open(const DeviceName& name, Failure* failure) {
  const Driver* driver = Driver::open(name.library, failure);
  if (!driver) return nullptr;
  static std::mutex mutex;
  static auto* devices = new std::map<std::string, std::weak_ptr<Device>>;
  const std::lock_guard<std::mutex> lock(mutex);
  const std::string text = device_text(name);
  std::weak_ptr<Device>& known = (*devices)[text];
  if (std::shared_ptr<Device> device = known.lock()) {
    *failure = device->check_usable();
    return *failure ? nullptr : device;
  }
  if (name.ordinal >= driver->num_devices()) {
    *failure = {Error::NotFound,
                "there is no device " + text + "; the driver finds " + std::to_string(driver->num_devices())};
    return nullptr;
  }
  DeviceNumber device_number = 0;
  DriverContext* context = nullptr;
  DriverStatus status = driver->device_get(&device_number, name.ordinal);
  if (status == kSuccess) status = driver->context_retain(&context, device_number);
  if (status != kSuccess) {
    *failure = {Error::NotFound, text + " cannot be used: " + driver->text_of(status)};
    return nullptr;
  }
  auto device = std::make_shared<Device>(*driver, text, device_number, context);
  *failure = device->start();
  if (*failure) return nullptr;
  known = device;
  return device;
}

Failure Device::start() {
  const ContextScope scope(*this);
  char name[128] = "";
  int major = 0, minor = 0, shared = 0;
  DriverStatus status = driver_.device_name(name, sizeof name, number_);
  if (status == kSuccess) status = driver_.device_attribute(&major, kCapabilityMajor, number_);
  if (status == kSuccess) status = driver_.device_attribute(&minor, kCapabilityMinor, number_);
  if (status == kSuccess) status = driver_.device_attribute(&shared, kMaxSharedBytesOptIn, number_);
  if (status == kSuccess) status = driver_.stream_create(&stream_, kStreamNonBlocking);
  if (status != kSuccess) return failure(status, "asking " + text_ + " for its properties");
  text_ += std::string(" (") + name + ")";
  architecture_ = static_cast<uint32_t>(major * 10 + minor);
  max_shared_bytes_ = static_cast<uint32_t>(shared);
  return {};
}

Device::~Device() {
  {
    const ContextScope scope(*this);
    ring_.release(driver_);
    if (stream_) (void)driver_.stream_destroy(stream_);
  }
  (void)driver_.context_release(number_);
}

Failure Device::failure(DriverStatus status, const std::string& what) {
  if (!poisons_context(status)) return {Error::Internal, what + " failed on " + text_ + ": " + driver_.text_of(status)};
  const std::lock_guard<std::mutex> lock(mutex_);
  if (fault_.empty()) fault_ = what + ": " + driver_.text_of(status);
  return {Error::Internal,
          "a kernel failed on " + text_ + " during " + fault_ + "; this process cannot use the device any more"};
}

Failure Device::check_usable() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (fault_.empty()) return {};
  return {Error::Internal,
          text_ + " cannot be used any more by this process: a kernel failed earlier, during " + fault_};
}

Failure Device::allocate(uint64_t size_bytes, const std::string& what, Memory* memory) {
  DevicePtr address = 0;
  const DriverStatus status = driver_.memory_allocate(&address, size_bytes == 0 ? 1 : size_bytes);
  if (status == kSuccess) {
    *memory = Memory(this, address, size_bytes);
    return {};
  }
  if (status != kOutOfMemory) return failure(status, "allocating " + what);
  size_t free_bytes = 0, total_bytes = 0;
  (void)driver_.memory_info(&free_bytes, &total_bytes);
  return {Error::DelegateMemoryAllocationFailed, what + " takes " + std::to_string(size_bytes) + " bytes on " + text_ +
                                                     ", of whose " + std::to_string(total_bytes) + " bytes " +
                                                     std::to_string(free_bytes) + " are free"};
}

Failure Device::allocate_arena(uint64_t size_bytes, Memory* memory) {
  Failure failure = allocate(size_bytes, "the arena of values between delegates", memory);
  if (failure) return failure;
  const std::lock_guard<std::mutex> lock(mutex_);
  arenas_[memory->address()] = size_bytes;
  return {};
}

void Device::forget_arena(DevicePtr address) {
  const std::lock_guard<std::mutex> lock(mutex_);
  arenas_.erase(address);
}

bool Device::is_in_arena(DevicePtr address, uint64_t size_bytes) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto after = arenas_.upper_bound(address);
  if (after == arenas_.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return address - begin <= size && size_bytes <= size - (address - begin);
}

Failure Device::allow_shared_bytes(DriverFunction* function, uint32_t size_bytes) {
  DriverStatus status = kSuccess;
  {
    // Delegates with equal code share its functions, so the limit must not shrink.
    const std::lock_guard<std::mutex> lock(mutex_);
    int allowed = 0;
    status = driver_.function_attribute(&allowed, kFunctionMaxDynamicSharedBytes, function);
    // Set even if it is large enough: until it is set, a driver may include the kernel's static shared memory in the
    // limit.
    if (status == kSuccess) {
      const int wanted = std::max(allowed, static_cast<int>(size_bytes));
      status = driver_.set_function_attribute(function, kFunctionMaxDynamicSharedBytes, wanted);
    }
  }
  return check(status, "giving a kernel its shared memory");
}

Failure Device::upload(DevicePtr to, Span<const uint8_t> bytes, const std::string& what) {
  if (bytes.empty()) return {};
  DriverStatus status = ring_.copy_to_device(driver_, to, bytes.data(), bytes.size(), stream_);
  if (status == kSuccess) status = driver_.stream_wait(stream_);
  return status == kSuccess ? Failure() : failure(status, "copying " + what + " to the device");
}

Failure Device::share_constant(Span<const uint8_t> bytes, const std::string& what, ContentCache<Memory>::Use* use) {
  Failure failure;
  (void)constants_.find(bytes, use, [&](Memory* memory) {
    failure = allocate(bytes.size(), what, memory);
    if (!failure) failure = upload(memory->address(), bytes, what);
    return !failure;
  });
  return failure;
}

Failure Device::share_module(Span<const uint8_t> bytes, const void* image, ContentCache<LoadedModule>::Use* use) {
  Failure failure;
  (void)modules_.find(bytes, use, [&](LoadedModule* loaded) {
    DriverModule* module = nullptr;
    const DriverStatus status = driver_.module_load(&module, image);
    if (status == kSuccess) {
      *loaded = LoadedModule(this, module);
      return true;
    }
    if (status == kUnsupportedPtxVersion || status == kInvalidPtx) {
      failure = {Error::DelegateInvalidCompatibility,
                 "the driver (" + version_text(driver_.version()) +
                     ") does not take the PTX of this file, which a newer toolkit made: " + driver_.text_of(status) +
                     "; install a newer driver, or compile the model with code for this device"};
    } else if (status == kInvalidImage || status == kNoBinaryForDevice || status == kNoJitCompiler ||
               status == kJitDisabled) {
      failure = {Error::DelegateInvalidCompatibility,
                 text_ + " does not take the device code of this file: " + driver_.text_of(status)};
    } else {
      failure = this->failure(status, "loading device code");
    }
    return false;
  });
  return failure;
}

Failure Device::share_state(const void* session, const Buffer& buffer, Span<const uint8_t> initial,
                            std::shared_ptr<StateMemory>* state) {
  const std::string& name = buffer.state;
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto it = states_.begin(); it != states_.end();) it = it->second.expired() ? states_.erase(it) : std::next(it);
  std::weak_ptr<StateMemory>* known = session ? &states_[{session, name}] : nullptr;
  if (known) *state = known->lock();
  if (*state) {
    if ((*state)->memory.size_bytes() == buffer.size_bytes && (*state)->initial == buffer.data) return {};
    state->reset();
    return {Error::InvalidProgram, "state '" + name + "' has another size or another initial value in another method"};
  }
  lock.unlock();  // methods of one session are not loaded at the same time
  auto made = std::make_shared<StateMemory>();
  made->initial = buffer.data;
  Failure failure = allocate(buffer.size_bytes, "state '" + name + "'", &made->memory);
  if (!failure && buffer.data.empty() && buffer.size_bytes != 0) {
    failure = check(driver_.fill(made->memory.address(), 0, buffer.size_bytes, stream_), "clearing state");
    if (!failure) failure = check(driver_.stream_wait(stream_), "clearing state");
  }
  if (!failure && !buffer.data.empty()) failure = upload(made->memory.address(), initial, "state '" + name + "'");
  if (failure) return failure;
  lock.lock();
  if (session) states_[{session, name}] = made;
  *state = std::move(made);
  return {};
}

Failure Device::share_order(const void* session, std::shared_ptr<CallOrder>* order) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto it = orders_.begin(); it != orders_.end();) it = it->second.expired() ? orders_.erase(it) : std::next(it);
  if (session) *order = orders_[session].lock();
  if (*order) return {};
  auto made = std::make_shared<CallOrder>(driver_);
  const DriverStatus status = driver_.event_create(&made->done, kEventNoTiming);
  if (status != kSuccess)
    return {Error::Internal, "making an event failed on " + text_ + ": " + driver_.text_of(status)};
  if (session) orders_[session] = made;
  *order = std::move(made);
  return {};
}

}  // namespace wick::cuda
