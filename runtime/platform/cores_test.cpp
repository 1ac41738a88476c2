#include "runtime/platform/cores.h"

#include <gtest/gtest.h>

#include <map>

namespace wick {
namespace {

using Files = std::map<std::string, std::string>;

ReadFile reader(const Files& files) {
  return [files](const std::string& path, std::string* text) {
    const auto file = files.find(path);
    if (file == files.end()) return false;
    *text = file->second;
    return true;
  };
}

std::string siblings(int cpu) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list";
}

TEST(Cores, CpuLists) {
  EXPECT_EQ(parse_cpu_list("0-2,8\n"), (std::vector<int>{0, 1, 2, 8}));
  EXPECT_EQ(parse_cpu_list("7"), std::vector<int>{7});
  for (const char* text : {"", "\n", "a", "3-", "3-1", "-1", "0-99999999", "99999999999999999999"})
    EXPECT_TRUE(parse_cpu_list(text).empty()) << text;
}

TEST(Cores, ThreadsOfOneCoreCountOnce) {
  const Files four_threads = {
      {siblings(0), "0,2\n"}, {siblings(1), "1,3\n"}, {siblings(2), "0,2\n"}, {siblings(3), "1,3\n"}};
  EXPECT_EQ(usable_cores({0, 1, 2, 3}, reader(four_threads)), 2);
  EXPECT_EQ(usable_cores({0, 2}, reader(four_threads)), 1);
  // A core counts even if its first thread is not ours.
  EXPECT_EQ(usable_cores({2, 3}, reader(four_threads)), 2);
  EXPECT_EQ(usable_cores({0, 1, 2}, reader({})), 3);
  EXPECT_EQ(usable_cores({}, reader({})), 1);
}

TEST(Cores, QuotaOfVersion2) {
  const auto cores = [](const std::string& own, const std::string& above) {
    return quota_cores(reader({{"/proc/self/cgroup", "0::/pod/app\n"},
                               {"/sys/fs/cgroup/pod/app/cpu.max", own},
                               {"/sys/fs/cgroup/pod/cpu.max", above}}));
  };
  EXPECT_EQ(cores("max 100000\n", "max 100000\n"), 0);
  EXPECT_EQ(cores("300000 100000\n", "max 100000\n"), 3);
  EXPECT_EQ(cores("300000 100000\n", "250000 100000\n"), 2);
  EXPECT_EQ(cores("50000 100000\n", "max 100000\n"), 1);
  EXPECT_EQ(cores("300000\n", "300000 0\n"), 0);
  // In a container with a name space of its own the group is the root.
  EXPECT_EQ(quota_cores(reader({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}})), 2);
}

TEST(Cores, QuotaOfVersion1) {
  Files files = {{"/proc/self/cgroup", "5:memory:/app\n4:cpu,cpuacct:/app\n3:cpuset:/\n"},
                 {"/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us", "-1\n"},
                 {"/sys/fs/cgroup/cpu/app/cpu.cfs_period_us", "100000\n"}};
  EXPECT_EQ(quota_cores(reader(files)), 0);
  files["/sys/fs/cgroup/cpu/app/cpu.cfs_quota_us"] = "400000\n";
  EXPECT_EQ(quota_cores(reader(files)), 4);
  // The path of the host does not exist in a container: its mount's root holds the group.
  files = {{"/proc/self/cgroup", "4:cpuacct,cpu:/docker/1f\n"},
           {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n"},
           {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n"}};
  EXPECT_EQ(quota_cores(reader(files)), 3);
}

TEST(Cores, TheTighterOfAffinityAndQuotaHolds) {
  const Files two = {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "200000 100000\n"}};
  EXPECT_EQ(usable_cores({0, 1, 2, 3}, reader(two)), 2);
  EXPECT_EQ(usable_cores({3}, reader(two)), 1);
  EXPECT_GE(usable_cores(), 1);
}

}  // namespace
}  // namespace wick
