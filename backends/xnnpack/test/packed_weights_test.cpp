#include "backends/xnnpack/runtime/xnn/packed_weights.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "backends/xnnpack/runtime/engine.h"
#include "backends/xnnpack/test/runtime_test_support.h"
#include "runtime/platform/memory.h"
#include "tests/support/scratch_folder.h"

namespace wick::xnnpack {
namespace {

WeightsSource source_of(const std::vector<uint8_t>& filter, const char* parameters = "p") {
  WeightsSource source;
  source.parameters = parameters;
  source.filter = {filter.data(), filter.size()};
  return source;
}

/// Does as the library does for one operator: returns the packed bytes, made with `fill` unless they are there.
uint8_t* pack(PackedWeights& weights, const std::vector<uint8_t>& filter, uint32_t seed, uint8_t fill) {
  xnn_weights_cache_provider* cache = weights.provider();
  const xnn_weights_cache_look_up_key key = {seed, filter.data(), nullptr};
  size_t offset = cache->look_up(cache->context, &key);
  if (offset == SIZE_MAX) {
    void* packed = cache->reserve_space(cache->context, 64);
    memset(packed, fill, 64);
    offset = cache->look_up_or_insert(cache->context, &key, packed, 64);
  }
  return static_cast<uint8_t*>(cache->offset_to_addr(cache->context, offset));
}

TEST(PackedWeights, EqualWeightsArePackedOnceWhereverTheyLie) {
  const std::vector<uint8_t> filter = {1, 2, 3}, copy = {1, 2, 3}, other = {1, 2, 4};
  PackedWeights a, b;
  a.describe(source_of(filter));
  b.describe(source_of(copy));
  b.describe(source_of(other));
  uint8_t* first = pack(a, filter, 7, 1);
  EXPECT_EQ(pack(b, copy, 7, 2), first);
  EXPECT_NE(pack(b, other, 7, 3), first);
  EXPECT_NE(pack(b, copy, 8, 4), first);
  EXPECT_EQ(*first, 1);
}

TEST(PackedWeights, RoomForThemIsZero) {
  const auto fill = [](PackedWeights& weights, size_t size_bytes) {
    xnn_weights_cache_provider* cache = weights.provider();
    uint8_t* room = static_cast<uint8_t*>(cache->reserve_space(cache->context, size_bytes));
    for (size_t i = 0; i < size_bytes; ++i) {
      ASSERT_EQ(room[i], 0);
      room[i] = 1;
    }
  };
  for (int i = 0; i < 3; ++i) {
    PackedWeights weights;
    weights.expect(10000);
    for (const size_t size_bytes : {size_t{100}, size_t{5000}, size_t{300000}}) fill(weights, size_bytes);
  }
}

TEST(PackedWeights, OtherParametersAreOtherWeights) {
  const std::vector<uint8_t> filter = {1, 2, 3};
  PackedWeights a, b, twice;
  a.describe(source_of(filter, "scale 1"));
  b.describe(source_of(filter, "scale 2"));
  EXPECT_NE(pack(a, filter, 7, 1), pack(b, filter, 7, 2));
  // One filter in two roles: which one is asked for cannot be told.
  twice.describe(source_of(filter, "scale 1"));
  twice.describe(source_of(filter, "scale 2"));
  EXPECT_NE(pack(twice, filter, 7, 3), pack(twice, filter, 7, 4));
}

TEST(PackedWeights, OutliveTheirFirstUser) {
  const std::vector<uint8_t> copy = {1, 2, 3};
  PackedWeights second;
  second.describe(source_of(copy));
  uint8_t* packed = nullptr;
  {
    const std::vector<uint8_t> filter = {1, 2, 3};
    PackedWeights first;
    first.describe(source_of(filter));
    packed = pack(first, filter, 7, 1);
    EXPECT_EQ(pack(second, copy, 7, 2), packed);
  }
  PackedWeights third;
  third.describe(source_of(copy));
  EXPECT_EQ(pack(third, copy, 7, 3), packed);
  EXPECT_EQ(*packed, 1);
}

TEST(PackedWeights, AreFoundByWhoInsertsNothingOrPacksFirst) {
  const std::vector<uint8_t> filter = {1, 2, 3}, copy = {1, 2, 3};
  PackedWeights first, second, third;
  first.describe(source_of(filter));
  second.describe(source_of(copy));
  third.describe(source_of(copy));
  uint8_t* packed = pack(first, filter, 7, 1);
  // A convolution of the library looks up, then inserts nothing.
  const xnn_weights_cache_look_up_key key = {7, copy.data(), nullptr};
  xnn_weights_cache_t cache = second.provider();
  const size_t found = cache->look_up(cache->context, &key);
  EXPECT_EQ(cache->look_up_or_insert(cache->context, &key, nullptr, 64), found);
  EXPECT_EQ(cache->offset_to_addr(cache->context, found), packed);
  // A depthwise one packs without looking up.
  cache = third.provider();
  void* again = cache->reserve_space(cache->context, 64);
  memset(again, 1, 64);
  EXPECT_EQ(cache->offset_to_addr(cache->context, cache->look_up_or_insert(cache->context, &key, again, 64)), packed);
}

/// Is the page in this process's memory?
bool is_present(const void* page) {
  uint64_t entry = 0;
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  const uintptr_t number = reinterpret_cast<uintptr_t>(page) / static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(pread(fd, &entry, sizeof entry, static_cast<off_t>(number * sizeof entry)), ssize_t{sizeof entry});
  close(fd);
  return entry >> 63 != 0;
}

TEST(PackedWeights, PagesOfTheFileLeaveMemory) {
  if (access("/proc/self/pagemap", R_OK) != 0) GTEST_SKIP() << "this system does not tell which pages are present";
  const testing::ScratchFolder scratch;
  const std::string path = scratch.file("weights");
  std::ofstream(path, std::ios::binary) << std::string(1 << 16, 'w');
  Mapping file;
  std::string message;
  ASSERT_TRUE(Mapping::map_file(path, &file, &message)) << message;
  unlink(path.c_str());
  const std::vector<uint8_t> copy(file.bytes().begin(), file.bytes().end());
  EXPECT_TRUE(is_present(file.bytes().data()));
  PackedWeights first, second;
  for (PackedWeights* weights : {&first, &second}) {  // one packs, the other compares and finds
    WeightsSource source = source_of(copy);
    source.filter = file.bytes();
    weights->describe(source);
    const xnn_weights_cache_look_up_key key = {7, file.bytes().data(), nullptr};
    xnn_weights_cache_provider* cache = weights->provider();
    if (cache->look_up(cache->context, &key) == SIZE_MAX) {
      void* packed = cache->reserve_space(cache->context, 64);
      cache->look_up_or_insert(cache->context, &key, packed, 64);
    }
    EXPECT_FALSE(is_present(file.bytes().data()));
    EXPECT_EQ(file.bytes()[0], 'w');
  }
}

// A name in the file stands for bytes; the same bytes with other scales are other weights.
TEST(XnnpackRuntime, EqualFiltersWithOtherScalesDoNotShareTheirPackedForm) {
  const std::vector<int8_t> filter(2 * 32, 10);
  Floats sums;
  std::vector<std::unique_ptr<TestRun>> tests;
  for (const float scale : {0.5f, 2.f}) {
    TestDelegate delegate;
    Quantization per_token, per_channel;
    per_token.kind = Quantization::Kind::per_token;
    per_token.num_nonbatch_dims = 1;
    per_channel.kind = Quantization::Kind::per_channel;
    per_channel.scale_constant = delegate.named_constant(bytes_of<float>({scale, scale}));
    const uint32_t in = delegate.input({1, 32}), rows = delegate.value(DataType::qdint8, {1, 32}, per_token);
    const uint32_t weights = delegate.constant({2, 32}, filter, DataType::qcint8, per_channel);
    const uint32_t out = delegate.output({1, 2});
    delegate.node(NodeType::convert, {in}, rows);
    delegate.node(NodeType::fully_connected, {rows, weights, kNoValue}, out);
    tests.push_back(std::make_unique<TestRun>(delegate));
    ASSERT_EQ(tests.back()->load(), Error::Ok) << tests.back()->harness().text;
    ASSERT_EQ(tests.back()->execute({bytes_of(Floats(32, 1.f))}), Error::Ok);
    sums.push_back(tests.back()->output<float>()[1]);
  }
  EXPECT_NEAR(sums[0], 160, 1);
  EXPECT_NEAR(sums[1], 640, 4);
}

TEST(CanReadBeyond, NotBeyondTheLastPage) {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(munmap(static_cast<uint8_t*>(memory) + page, page), 0);
  // A container may forbid the question; then nothing counts as readable.
  if (!can_read_beyond(memory, 0, kReadBeyondBytes)) GTEST_SKIP() << "this system does not tell what can be read";
  EXPECT_TRUE(can_read_beyond(memory, page - kReadBeyondBytes, kReadBeyondBytes));
  EXPECT_FALSE(can_read_beyond(memory, page - kReadBeyondBytes + 1, kReadBeyondBytes));
  EXPECT_FALSE(can_read_beyond(memory, page, kReadBeyondBytes));
  munmap(memory, page);
}

}  // namespace
}  // namespace wick::xnnpack
