// All backends and kernels of this build, for programs that need not be small. C++17.
#pragma once
#include "wick/backend.h"

namespace wick {

/// For MethodOptions::backends and ModuleOptions::backends: runs the delegates of every backend of this build. A
/// backend whose hardware or library is missing refuses its delegates at load.
Span<const Backend* const> all_backends();
/// For MethodOptions::kernels and ModuleOptions::kernels: the kernels of every backend, then the portable ones.
Span<const KernelTable> all_kernels();

/// Devices that delegates of one backend run on, in this process.
struct DeviceKind {
  const char* name;  // for people: "NAME[:N]"
  const char* description;
  bool (*has_name)(const char* name);  // whether this is a name of such a device, present or not
};
/// For DelegateOptions::device and ModuleOptions::device: the devices of every backend, whether or not this machine has
/// them.
Span<const DeviceKind> all_devices();

}  // namespace wick
