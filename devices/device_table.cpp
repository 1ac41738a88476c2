#include <fmt/format.h>

#include "devices/device.h"
#include "devices/host/host_device.h"
#include "devices/qemu/qemu_device.h"
#include "wick/backends.h"

namespace wick::device {

using compiler::Code;
using compiler::Diag;
using compiler::Result;

const std::vector<DeviceRow>& device_table() {
  static const std::vector<DeviceRow> table = [] {
    std::vector<DeviceRow> rows{{kHost, "this machine"}};
    for (const Board& board : boards()) rows.push_back({board.device, board.description});
    for (const DeviceKind& kind : all_devices()) rows.push_back({kind.name, kind.description});
    return rows;
  }();
  return table;
}

bool runs_in_process(const std::string& name) {
  if (name == kHost) return true;
  for (const DeviceKind& kind : all_devices()) {
    if (kind.has_name(name.c_str())) return true;
  }
  return false;
}

Result<std::unique_ptr<Device>> open_device(const std::string& name, const DeviceProgram& program) {
  // The module was loaded for this device.
  if (runs_in_process(name)) return std::unique_ptr<Device>(new HostDevice(program.module));
  for (const Board& board : boards()) {
    if (name != board.device) continue;
    ASSIGN_OR_RETURN(BoardFiles files, find_files(board));
    return std::unique_ptr<Device>(new QemuDevice(board, std::move(files), program));
  }
  std::string names;
  for (const DeviceRow& row : device_table()) names += (names.empty() ? "" : ", ") + row.name;
  return Diag(Code::usage, fmt::format("there is no device '{}'", compiler::printable(name)))
      .with_help("the devices are " + names);
}

}  // namespace wick::device
