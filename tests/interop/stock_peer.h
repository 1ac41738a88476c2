// The stock ExecuTorch runtime as a process of its own (tests/peer/stock_runner): it may abort or hang.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/arrays/npz.h"
#include "runtime/platform/cpu.h"

namespace wick::interop {

/// Arrays in0, in1, .. of one call.
using StockCall = std::vector<cli::NamedArray>;

class StockPeer {
 public:
  /// The runner that WICK_STOCK_RUNNER names, else what tests/peer/setup.sh makes in `folder`. Nothing, with the reason
  /// in `why`, where it cannot be had.
  static std::optional<StockPeer> find(const std::string& folder, std::string* why);

  const std::string& path() const { return path_; }

  struct Run {
    bool ok = false;
    std::string message;                                // what the runner said
    std::vector<std::vector<cli::NamedArray>> outputs;  // out0, out1, .. of each call
  };
  /// Loads the program with full verification and calls the method once per element of `calls`, state kept. `scratch`
  /// is a folder for files, `data` a .ptd or "", `strings` are the string inputs as "INDEX=TEXT".
  Run run(const std::string& pte, const std::string& method, const std::vector<StockCall>& calls,
          const std::string& scratch, const std::vector<std::string>& strings = {}, const std::string& data = "",
          CpuLevel level = CpuLevel::native) const;
  /// Runs with these words of the command line. `outputs` stay empty.
  Run run_words(const std::string& words) const;
  /// Version and instruction sets of stock's kernels on this processor; "" if the runner cannot say or limit them.
  std::string features() const;

 private:
  explicit StockPeer(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace wick::interop
