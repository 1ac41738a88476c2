#include "backends/cuda/runtime/device_name.h"

#include <string.h>

namespace wick::cuda {
namespace {

constexpr char kDevice[] = "cuda", kTwin[] = "cuda-twin=";

}  // namespace

bool parse_device(const char* text, DeviceName* name) {
  *name = {};
  if (*text == 0 || strcmp(text, kDevice) == 0) return true;
  if (strncmp(text, kTwin, sizeof kTwin - 1) == 0) {
    name->library = text + sizeof kTwin - 1;
    // The loader would search the system's folders for a name without a slash.
    if (name->library.find('/') == std::string::npos) name->library = "./" + name->library;
    return text[sizeof kTwin - 1] != 0;
  }
  if (strncmp(text, kDevice, sizeof kDevice - 1) != 0 || text[sizeof kDevice - 1] != ':') return false;
  const char* digits = text + sizeof kDevice;
  if (*digits == 0 || strlen(digits) > 3) return false;
  for (; *digits; ++digits) {
    if (*digits < '0' || *digits > '9') return false;
    name->ordinal = name->ordinal * 10 + (*digits - '0');
  }
  return true;
}

DeviceName device_or_default(const char* text) {
  DeviceName name;
  return text && parse_device(text, &name) ? name : DeviceName();
}

std::string device_text(const DeviceName& name) {
  return name.library.empty() ? std::string(kDevice) + ":" + std::to_string(name.ordinal) : kTwin + name.library;
}

}  // namespace wick::cuda
