// The flash that a firmware takes.
#pragma once
#include <string>
#include <vector>

#include "compiler/support/result.h"
#include "devices/device.h"

namespace wick::device {

/// `object_path`: everything that firmwares may link, in one relocatable object with a section for each function, as
/// devices/runner builds it. Follows its relocations like a linker that drops unused sections. Errors: file_io,
/// corrupt_file (no such object).
compiler::Result<FirmwareSize> firmware_size(const std::string& object_path, const FirmwareParts& parts);

}  // namespace wick::device
