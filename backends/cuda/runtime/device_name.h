// Names of devices: "cuda", "cuda:1", "cuda-twin=FILE". C++17.
#pragma once
#include <string>

namespace wick::cuda {

struct DeviceName {
  std::string library;  // a library in place of the driver; "": the system's driver
  int ordinal = 0;
};

/// False if the name is not one of this backend. "" means "cuda".
bool parse_device(const char* text, DeviceName* name);
/// The same; the default device if the name is null or another backend's.
DeviceName device_or_default(const char* text);
/// "cuda:1".
std::string device_text(const DeviceName& name);

}  // namespace wick::cuda
