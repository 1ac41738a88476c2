#include <gtest/gtest.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "runtime/platform/cpu.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/thread_pool.h"
#include "tests/support/scratch_folder.h"

namespace wick {
namespace {

struct Visits {
  std::vector<int> count;
  int64_t shortest = INT64_MAX;
  std::mutex mutex;
};

void visit(void* state, int64_t begin, int64_t end) {
  Visits& visits = *static_cast<Visits*>(state);
  const std::lock_guard<std::mutex> lock(visits.mutex);
  if (end != static_cast<int64_t>(visits.count.size()) && end - begin < visits.shortest) visits.shortest = end - begin;
  for (int64_t i = begin; i < end; ++i) ++visits.count[static_cast<size_t>(i)];
}

TEST(ThreadPool, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.num_threads(), threads);
    for (const int64_t count : {0, 1, 7, 64, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        Visits visits;
        visits.count.resize(static_cast<size_t>(count));
        pool.parallel_for(count, 5, visit, &visits);
        EXPECT_EQ(visits.count, std::vector<int>(static_cast<size_t>(count), 1));
        EXPECT_GE(visits.shortest, 5);
      }
    }
  }
}

TEST(ThreadPool, RunsNestedWorkOnTheCallingThread) {
  ThreadPool pool(2);
  struct Nested {
    ThreadPool* pool;
    std::atomic<int64_t> total{0};
  } nested{&pool};
  pool.parallel_for(
      8, 1,
      [](void* state, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          static_cast<Nested*>(state)->pool->parallel_for(
              10, 1, [](void* s, int64_t b, int64_t e) { static_cast<Nested*>(s)->total += e - b; }, state);
        }
      },
      &nested);
  EXPECT_EQ(nested.total, 80);
}

TEST(Cpu, ReportsALevelTheCompilerAgreesWith) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = cpu_limit() >= CpuLevel::avx2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c");
  const bool avx512 = cpu_limit() >= CpuLevel::avx512 && avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  EXPECT_EQ(detect_isa_level(), avx512 ? IsaLevel::avx512 : avx2 ? IsaLevel::avx2 : IsaLevel::baseline);
#else
  EXPECT_EQ(detect_isa_level(), IsaLevel::baseline);
#endif
}

TEST(Mapping, NamesTheFileItCannotRead) {
  Mapping mapping;
  std::string message;
  EXPECT_FALSE(Mapping::map_file("/nonexistent/x.pte", &mapping, &message));
  EXPECT_EQ(message, "/nonexistent/x.pte: No such file or directory");
  EXPECT_FALSE(Mapping::map_file("/", &mapping, &message));
  EXPECT_EQ(message, "/: not a regular file");
  const testing::ScratchFolder scratch;
  const std::string path = scratch.file("mapped");
  std::ofstream(path, std::ios::binary) << "abc";
  ASSERT_TRUE(Mapping::map_file(path, &mapping, &message)) << message;
  EXPECT_EQ(std::string(mapping.bytes().begin(), mapping.bytes().end()), "abc");
}

/// Pages of the mapping that are in this process's memory.
size_t resident_pages(const void* mapping) {
  std::ifstream maps("/proc/self/smaps");
  char start[32];
  snprintf(start, sizeof start, "%zx-", reinterpret_cast<size_t>(mapping));
  size_t kib = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.rfind(start, 0) != 0) continue;
    while (std::getline(maps, line) && sscanf(line.c_str(), "Rss: %zu kB", &kib) != 1) {
    }
    break;
  }
  return kib * 1024 / static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

TEST(Mapping, ReleasedPagesOfAFileComeBackWhenRead) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::string content(8 * page, 'x');
  for (size_t i = 0; i < content.size(); i += page / 4) content[i] = static_cast<char>('a' + i / page);
  if (!std::ifstream("/proc/self/smaps")) GTEST_SKIP() << "this system does not tell which pages are present";
  const testing::ScratchFolder scratch;
  const std::string path = scratch.file("mapped");
  std::ofstream(path, std::ios::binary) << content;
  Mapping mapping;
  std::string message;
  ASSERT_TRUE(Mapping::map_file(path, &mapping, &message)) << message;
  unlink(path.c_str());
  const Span<uint8_t> bytes = mapping.bytes();
  const auto is_whole = [&] { return std::string(bytes.begin(), bytes.end()) == content; };
  EXPECT_TRUE(is_whole());
  EXPECT_EQ(resident_pages(bytes.data()), 8u);
  release_file_pages(bytes.subspan(100, 5 * page));
  EXPECT_EQ(resident_pages(bytes.data()), 4u);
  EXPECT_TRUE(is_whole());
  release_file_pages(bytes);
  EXPECT_EQ(resident_pages(bytes.data()), 0u);
  EXPECT_TRUE(is_whole());
}

TEST(Mapping, MemoryThatIsNoFileIsNotReleased) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Mapping mapping;
  ASSERT_TRUE(Mapping::reserve(4 * page, &mapping));
  memset(mapping.bytes().data(), 7, 4 * page);
  release_file_pages(mapping.bytes());
  EXPECT_EQ(mapping.bytes()[page], 7);
}

TEST(Mapping, MemoryForHugePagesIsAlignedToThem) {
  Mapping mapping;
  ASSERT_TRUE(Mapping::reserve_huge(5000, &mapping));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(mapping.bytes().data()) % kHugePageBytes, 0u);
  ASSERT_GE(mapping.bytes().size(), 5000u);
  mapping.bytes()[4999] = 1;
  EXPECT_EQ(mapping.bytes()[0], 0);
  EXPECT_FALSE(Mapping::reserve_huge(SIZE_MAX - 100, &mapping));
}

TEST(Mapping, DiscardedPagesAreZeroAndTheirNeighboursStay) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Mapping mapping;
  ASSERT_TRUE(Mapping::reserve(4 * page, &mapping));
  uint8_t* data = mapping.bytes().data();
  memset(data, 7, 4 * page);
  discard_pages(data + 1, 3 * page);
  EXPECT_EQ(data[page - 1], 7);
  EXPECT_EQ(data[page], 0);
  EXPECT_EQ(data[3 * page - 1], 0);
  EXPECT_EQ(data[3 * page], 7);
}

}  // namespace
}  // namespace wick
