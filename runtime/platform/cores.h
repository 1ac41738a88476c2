// Counts the threads worth having: the cores that affinity, control groups and the processor leave to this process.
// Hosted.
#pragma once
#include <stdint.h>

#include <functional>
#include <string>
#include <vector>

namespace wick {

/// Physical cores that this process may use, at least 1: those of its affinity mask, threads of one core counted once,
/// and no more than its control group's CPU quota pays for (rounded down).
int usable_cores();

/// Reads a whole small file; false if there is none.
using ReadFile = std::function<bool(const std::string& path, std::string* text)>;

/// usable_cores() of a machine whose files `read` yields. `allowed`: the processors of the affinity mask.
int usable_cores(const std::vector<int>& allowed, const ReadFile& read);

/// "0-2,8" -> 0 1 2 8. Empty if it is no such list.
std::vector<int> parse_cpu_list(const std::string& text);
/// Cores that the quotas of the process's control group (version 1 or 2) and of those above it pay for; 0: no limit.
int quota_cores(const ReadFile& read);

}  // namespace wick
