#include "tests/interop/stock_peer.h"

#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

namespace wick::interop {
namespace {

// For a machine that is busy: far more than an idle one takes.
constexpr int kSetupSeconds = 1200, kRunSeconds = 600;

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

// Runs a shell command; its output and errors go to `text`. The exit code, or -1.
int run_command(const std::string& command, std::string* text) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return -1;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text->append(buffer, n);
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

std::optional<StockPeer> StockPeer::find(const std::string& folder, std::string* why) {
  if (const char* path = getenv("WICK_STOCK_RUNNER")) return StockPeer(path);
  std::string text;
  const int code = run_command(fmt::format("timeout {} tests/peer/setup.sh {}", kSetupSeconds, quoted(folder)), &text);
  const std::string line = last_line(text);
  if (code != 0 || line.empty() || line.starts_with("skipped")) {
    *why = code == 0 ? line : fmt::format("tests/peer/setup.sh ended with {}: {}", code, line);
    return std::nullopt;
  }
  return StockPeer(line);
}

StockPeer::Run StockPeer::run(const std::string& pte, const std::string& method, const std::vector<StockCall>& calls,
                              const std::string& scratch, const std::vector<std::string>& strings,
                              const std::string& data, CpuLevel level) const {
  Run out;
  std::string command = fmt::format("{} --method {}", quoted(pte), quoted(method));
  if (level != CpuLevel::native) command += fmt::format(" --cpu {}", kCpuLevelNames[static_cast<size_t>(level)]);
  if (!data.empty()) command += " --data " + quoted(data);
  for (const std::string& item : strings) command += " --string " + quoted(item);
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::string in = fmt::format("{}/{}.in.npz", scratch, i);
    if (auto status = cli::write_arrays(in, calls[i]); !status.ok()) {
      out.message = compiler::render(status.diag());
      return out;
    }
    command += fmt::format(" -i {} -o {}", quoted(in), quoted(fmt::format("{}/{}.out.npz", scratch, i)));
  }
  out = run_words(command);
  if (!out.ok) return out;
  out.ok = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    auto arrays = cli::read_arrays(fmt::format("{}/{}.out.npz", scratch, i));
    if (!arrays.ok()) {
      out.message = compiler::render(arrays.diag());
      return out;
    }
    out.outputs.push_back(std::move(*arrays));
  }
  out.ok = true;
  return out;
}

StockPeer::Run StockPeer::run_words(const std::string& words) const {
  Run out;
  const int code = run_command(fmt::format("timeout {} {} {}", kRunSeconds, quoted(path_), words), &out.message);
  out.ok = code == 0;
  if (!out.ok) out.message = fmt::format("exit code {}: {}", code, out.message);
  return out;
}

std::string StockPeer::features() const {
  // A runner that cannot limit stock's kernels refuses a level.
  const Run limited = run_words("--features --cpu baseline");
  const Run all = run_words("--features");
  return limited.ok && all.ok ? last_line(all.message) : "";
}

}  // namespace wick::interop
