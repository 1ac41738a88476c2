#include "runtime/platform/cores.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <thread>

namespace wick {
namespace {

constexpr int kMostCpus = 1 << 16;

bool read_system_file(const std::string& path, std::string* text) {
  std::ifstream file(path);
  if (!file) return false;
  text->assign(std::istreambuf_iterator<char>(file), {});
  return true;
}

/// Reads the number at `*at` and moves `*at` past it. False if there is no number or it is too large.
bool take_number(const std::string& text, size_t* at, int64_t* number) {
  const char* begin = text.c_str() + *at;
  if (*begin < '0' || *begin > '9') return false;
  char* end = nullptr;
  errno = 0;
  *number = strtoll(begin, &end, 10);
  *at += static_cast<size_t>(end - begin);
  return errno == 0;
}

/// Reads a file that holds just a number, such as "50000". False for negative numbers, which mean no limit.
bool read_number(const ReadFile& read, const std::string& path, int64_t* number) {
  std::string text;
  size_t at = 0;
  return read(path, &text) && take_number(text, &at, number);
}

/// The smaller of `limit` and the cores that the quota pays for; 0 is no limit.
int tighter(int limit, int64_t quota_us, int64_t period_us) {
  if (quota_us <= 0 || period_us <= 0) return limit;
  const int cores = static_cast<int>(std::clamp<int64_t>(quota_us / period_us, 1, kMostCpus));
  return limit == 0 ? cores : std::min(limit, cores);
}

int quota_of_version_2(const std::string& folder, int limit, const ReadFile& read) {
  std::string text;
  if (!read(folder + "/cpu.max", &text)) return limit;
  size_t at = 0;
  int64_t quota = 0, period = 0;
  if (!take_number(text, &at, &quota)) return limit;  // "max"
  while (at < text.size() && text[at] == ' ') ++at;
  return take_number(text, &at, &period) ? tighter(limit, quota, period) : limit;
}

int quota_of_version_1(const std::string& folder, int limit, const ReadFile& read) {
  int64_t quota = 0, period = 0;
  if (!read_number(read, folder + "/cpu.cfs_quota_us", &quota)) return limit;
  if (!read_number(read, folder + "/cpu.cfs_period_us", &period)) return limit;
  return tighter(limit, quota, period);
}

/// Calls limit(folder) for `mount` + `path` and every folder above it down to `mount`.
template <typename Limit>
void up_to_mount(const std::string& mount, std::string path, Limit&& limit) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  for (;;) {
    limit(mount + path);
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

/// "cpu" in "cpu,cpuacct".
bool names_cpu(const std::string& controllers) { return ("," + controllers + ",").find(",cpu,") != std::string::npos; }

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  for (size_t at = 0; at < text.size() && text[at] != '\n';) {
    int64_t first = 0, last = 0;
    if (!take_number(text, &at, &first)) return {};
    last = first;
    if (at < text.size() && text[at] == '-') {
      ++at;
      if (!take_number(text, &at, &last)) return {};
    }
    if (last < first || last >= kMostCpus) return {};
    for (int64_t cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    if (at < text.size() && text[at] == ',') ++at;
  }
  return cpus;
}

int quota_cores(const ReadFile& read) {
  std::string groups;
  if (!read("/proc/self/cgroup", &groups)) return 0;
  int limit = 0;
  // Lines of "number:controllers:path"; version 2 has the number 0 and no controllers.
  for (size_t begin = 0; begin < groups.size();) {
    const size_t end = std::min(groups.find('\n', begin), groups.size());
    const std::string line = groups.substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      up_to_mount("/sys/fs/cgroup", path,
                  [&](const std::string& folder) { limit = quota_of_version_2(folder, limit, read); });
    } else if (names_cpu(controllers)) {
      for (const std::string mount : {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
        up_to_mount(mount, path, [&](const std::string& folder) { limit = quota_of_version_1(folder, limit, read); });
      }
    }
  }
  return limit;
}

int usable_cores(const std::vector<int>& allowed, const ReadFile& read) {
  std::set<int> cores;  // by their first thread
  for (const int cpu : allowed) {
    std::string text;
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    const bool known = read(folder + "thread_siblings_list", &text) || read(folder + "core_cpus_list", &text);
    const std::vector<int> siblings = known ? parse_cpu_list(text) : std::vector<int>();
    cores.insert(siblings.empty() ? cpu : *std::min_element(siblings.begin(), siblings.end()));
  }
  const int count = std::max(static_cast<int>(cores.size()), 1);
  const int quota = quota_cores(read);
  return quota == 0 ? count : std::min(count, quota);
}

int usable_cores() {
  std::vector<int> allowed;
  // If the machine has more processors than a fixed set holds, the call needs a larger set.
  for (int size = CPU_SETSIZE; size <= kMostCpus; size *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(size));
    if (!set) break;
    const size_t size_bytes = CPU_ALLOC_SIZE(static_cast<size_t>(size));
    const bool known = sched_getaffinity(0, size_bytes, set) == 0;
    for (int cpu = 0; known && cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size_bytes, set)) allowed.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) break;
  }
  if (allowed.empty()) {
    for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu) allowed.push_back(static_cast<int>(cpu));
  }
  return usable_cores(allowed, read_system_file);
}

}  // namespace wick
