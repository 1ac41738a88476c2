#include <fmt/format.h>

#include "devices/device.h"
#include "devices/host/host_device.h"
#include "devices/qemu/qemu_device.h"

namespace wick::device {

using compiler::Code;
using compiler::Diag;
using compiler::Result;

const std::vector<DeviceRow>& device_table() {
  static const std::vector<DeviceRow> table = [] {
    std::vector<DeviceRow> rows{{kHost, "this machine"}};
    for (const Board& board : boards()) rows.push_back({board.device, board.description});
    return rows;
  }();
  return table;
}

Result<std::unique_ptr<Device>> open_device(const std::string& name, const DeviceProgram& program) {
  if (name == kHost) return std::unique_ptr<Device>(new HostDevice(program.module));
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
