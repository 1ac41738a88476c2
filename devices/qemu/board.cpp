#include "devices/qemu/board.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace wick::device {
namespace {

using compiler::Code;
using compiler::Diag;
namespace fs = std::filesystem;

constexpr char kQemu[] = "qemu-system-arm";
constexpr char kRunner[] = "wick_runner", kParts[] = "wick_runner_parts.o", kGccParts[] = "wick_runner_parts_gcc.o";
constexpr char kCounter[] = "wick_instruction_counter.so";

constexpr Board kBoards[] = {
    {"qemu-cortex-m55", "Arm Cortex-M55 (MPS3 AN547) in QEMU", "mps3-an547", "cortex-m55"},
    {"qemu-cortex-m4", "Arm Cortex-M4 (MPS2 AN386) in QEMU", "mps2-an386", "cortex-m4"},
    {"qemu-cortex-m3", "Arm Cortex-M3 (MPS2 AN385) in QEMU", "mps2-an385", "cortex-m3"},
};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

fs::path tool_folder() {
  std::error_code error;
  const fs::path tool = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path(".") : tool.parent_path();
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string list = path ? path : "/usr/bin";
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    const fs::path candidate = fs::path(list.substr(begin, end - begin)) / name;
    if (is_file(candidate)) return candidate.string();
    begin = end + 1;
  }
  return "";
}

std::string first_file(const std::vector<fs::path>& candidates) {
  for (const fs::path& each : candidates) {
    if (is_file(each)) return each.string();
  }
  return "";
}

}  // namespace

Span<const Board> boards() { return kBoards; }

compiler::Result<BoardFiles> find_files(const Board& board) {
  BoardFiles files;
  files.qemu = find_program(kQemu);
  if (files.qemu.empty()) {
    return Diag(Code::usage, fmt::format("{} needs {}, which is not installed", board.device, kQemu))
        .with_help("install the Debian package qemu-system-arm, or QEMU from https://www.qemu.org");
  }
  const fs::path tool = tool_folder();
  std::vector<fs::path> runners;
  if (const char* folder = std::getenv("WICK_DEVICES")) runners.push_back(fs::path(folder) / board.preset / kRunner);
  runners.push_back(tool / "../lib/wick/devices" / board.preset / kRunner);
  runners.push_back(tool / "../.." / board.preset / "bin" / kRunner);
  files.runner = first_file(runners);
  if (files.runner.empty()) {
    return Diag(Code::usage, fmt::format("the runner for {} is not built", board.device))
        .with_help(
            "run 'make devices' in Wick's repository; it needs the Arm compiler, which 'make setup-all' installs");
  }
  files.parts = fs::path(files.runner).replace_filename(kParts).string();
  files.gcc_parts = first_file({fs::path(files.runner).replace_filename(kGccParts)});
  files.counter = first_file({tool / "../lib/wick" / kCounter});
  return files;
}

}  // namespace wick::device
