// Names of devices: "cuda", "cuda:1", "cuda-twin=FILE". C++17.
#pragma once
#include <string>

namespace wick::cuda {

struct DeviceName {
  std::string library;  // that takes the driver's place; "": the system's driver
  int ordinal = 0;
};

/// False if the name is not of this backend. "" is "cuda".
bool parse_device(const char* text, DeviceName* name);
/// As parse_device; the default device where the name is another backend's, or null.
DeviceName device_or_default(const char* text);
/// "cuda:1".
std::string device_text(const DeviceName& name);

}  // namespace wick::cuda
