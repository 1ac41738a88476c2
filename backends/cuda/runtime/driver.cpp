#include "backends/cuda/runtime/driver.h"

#include <dlfcn.h>

#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

namespace wick::cuda {
namespace {

constexpr char kLibrary[] = "libcuda.so.1";

Failure unavailable(const std::string& why) { return {Error::NotFound, "no usable NVIDIA driver: " + why}; }

}  // namespace

bool poisons_context(DriverStatus status) {
  switch (status) {
    case 214:  // uncorrectable memory error
    case 220:  // error of a link between devices
    case 226:  // a fault that the device has contained
    case 700:  // illegal address
    case 702:  // a kernel that took too long
    case 710:  // an assertion of a kernel
    case 714:  // stack
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // address space
    case 718:  // program counter
    case 719:  // another fault of a kernel
    case 721:  // memory of tensors that a kernel has not given back
    case 810:  // the server of the device has ended this process's use
    case 911:  // a fault of another device
      return true;
    default: return false;
  }
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string Driver::text_of(DriverStatus status) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(status, &name) != kSuccess || !name) name = "an error without a name";
  if (error_string(status, &text) != kSuccess || !text) text = "no description";
  return std::string(name) + " (" + text + ")";
}

Failure Driver::resolve(void* library, const std::string& name) {
  const auto find = [&](const char* symbol, auto* function) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(dlsym(library, symbol));
    return *function != nullptr;
  };
#define WICK_CUDA_FUNCTION(member, symbol, parameters) \
  if (!find(#symbol, &member)) return unavailable(name + " lacks the function " #symbol "; it is too old");
#include "backends/cuda/runtime/driver_functions.inc"
#undef WICK_CUDA_FUNCTION
  find("cuFuncGetParamInfo", &parameter_info);
  return {};
}

Failure Driver::start(const std::string& name) {
  const DriverStatus status = init(0);
  if (status == kStubLibrary) return unavailable(name + " is the stub of the toolkit, for linking only");
  if (status == kNoDevice) return unavailable(name + " finds no device");
  if (status != kSuccess) return unavailable(name + " does not start: " + text_of(status));
  if (device_count(&num_devices_) != kSuccess || num_devices_ <= 0) return unavailable(name + " finds no device");
  if (driver_version(&version_) != kSuccess) return unavailable(name + " has no version");
  return {};
}

const Driver* Driver::open(const std::string& path, Failure* failure) {
  static std::mutex mutex;
  // Delegates may be destroyed after static objects.
  static auto* drivers = new std::map<std::string, std::unique_ptr<Driver>>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto known = drivers->find(path);
  if (known != drivers->end()) return known->second.get();
  const std::string name = path.empty() ? kLibrary : path;
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = dlerror();
    *failure = unavailable(name + " cannot be opened: " + (why ? why : "no reason given"));
    return nullptr;
  }
  auto driver = std::make_unique<Driver>();
  *failure = driver->resolve(library, name);
  if (!*failure) *failure = driver->start(name);
  if (*failure) return nullptr;  // the library stays open, because not all drivers can be closed
  return drivers->emplace(path, std::move(driver)).first->second.get();
}

}  // namespace wick::cuda
