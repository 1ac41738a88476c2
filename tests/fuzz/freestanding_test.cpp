// The core that boards run, on this host: only the freestanding archives, and all memory from one static block. Every
// committed program and mutants of the small ones give an error or a result. Under AddressSanitizer nothing leaves its
// memory, and nothing asks for heap. Kernels are the references here: what variants for instruction sets do with the
// same arguments, the tests of the boards show (tests/devices/hostile_test.cpp).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "runtime/exec/prim_ops.h"
#include "runtime/program/tensor_layout.h"
#include "tests/fuzz/mutant.h"
#include "wick/cortex_m_backend.h"
#include "wick/method.h"
#include "wick/portable_kernels.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#include <sanitizer/asan_interface.h>
#define WICK_HAS_ASAN 1
#endif
#endif

namespace wick::fuzz {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr int kMutants = 10000;
constexpr size_t kMaxFileBytes = 64 << 10, kMaxSeedBytes = 10 << 10, kMaxInputBytes = 1 << 16;

bool g_counts_heap = false;
size_t g_num_allocations = 0;

#ifdef WICK_HAS_ASAN
void poison(const void* at, size_t size_bytes) { __asan_poison_memory_region(at, size_bytes); }
void unpoison(const void* at, size_t size_bytes) { __asan_unpoison_memory_region(at, size_bytes); }
void count_allocation(const volatile void*, size_t) { g_num_allocations += g_counts_heap; }
void ignore_free(const volatile void*) {}
#else
void poison(const void*, size_t) {}
void unpoison(const void*, size_t) {}
#endif

/// Blocks of one static block, each with a gap behind it that AddressSanitizer guards.
class Memory {
 public:
  Memory() { poison(all_, sizeof all_); }
  ~Memory() { unpoison(all_, sizeof all_); }
  Memory(const Memory&) = delete;
  /// Of zeros. Null if there is too little.
  uint8_t* take(uint64_t size_bytes) {
    if (size_bytes > sizeof all_ - used_ - kGap || used_ + kGap > sizeof all_) return nullptr;
    uint8_t* block = all_ + used_;
    unpoison(block, static_cast<size_t>(size_bytes));
    memset(block, 0, static_cast<size_t>(size_bytes));
    used_ += (static_cast<size_t>(size_bytes) + 2 * kGap - 1) / kGap * kGap;
    return block;
  }

 private:
  static constexpr size_t kGap = 64;
  alignas(64) static uint8_t all_[8 << 20];
  size_t used_ = 0;
};
alignas(64) uint8_t Memory::all_[];

/// One element after the other: NaN, infinities, numbers beyond any index; or zeros.
void fill(uint8_t* data, size_t size_bytes, bool zeros) {
  static constexpr uint64_t kWords[] = {0x7ff8000000000000, 0x7ff0000000000000, 0x7fc000007f800000, INT64_MAX,
                                        0x8000000000000000, UINT64_MAX,         0xff7fffff7f7fffff, 0x7e37e43c8800759c,
                                        0x0000000100000001, 0x3ff0000000000000, 0x0101010101010101, 0};
  for (size_t i = 0; i < size_bytes; ++i)
    data[i] = zeros ? 0 : static_cast<uint8_t>(kWords[i / 8 % std::size(kWords)] >> (i % 8 * 8));
}

/// Error::Ok if the input is set or the method can do without.
Error set_input(Method& method, size_t index, bool zeros, Memory& memory) {
  const ValueMeta value = method.meta().input_value(index);
  if (value.tag != Tag::tensor) return Error::Ok;
  if (const Tensor* place = method.input_in_place(index)) {
    fill(static_cast<uint8_t*>(place->data), place->nbytes(), zeros);
    return Error::Ok;
  }
  if (value.tensor.nbytes > kMaxInputBytes) return Error::MemoryAllocationFailed;
  int32_t sizes[kMaxRank], strides[kMaxRank];
  Tensor tensor;
  if (describe_tensor(value.tensor, sizes, strides, &tensor) != Error::Ok) return Error::Internal;
  tensor.data = memory.take(value.tensor.nbytes);
  if (tensor.data == nullptr) return Error::MemoryAllocationFailed;
  fill(static_cast<uint8_t*>(tensor.data), value.tensor.nbytes, zeros);
  return method.set_input(index, tensor);
}

Error run_method(const MethodMeta& meta, Memory& memory) {
  constexpr size_t kMaxArenas = 16, kTempBytes = 1 << 16;
  Span<uint8_t> arenas[kMaxArenas];
  if (meta.num_arenas() > kMaxArenas) return Error::MemoryAllocationFailed;
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    arenas[i] = {memory.take(meta.arena_bytes(i)), static_cast<size_t>(meta.arena_bytes(i))};
    if (arenas[i].data() == nullptr) return Error::MemoryAllocationFailed;
  }
  const size_t method_bytes = Method::required_bytes(meta);
  uint8_t *block = memory.take(method_bytes), *temp = memory.take(kTempBytes);
  if (block == nullptr || temp == nullptr) return Error::MemoryAllocationFailed;
  const KernelTable tables[] = {cortex_m_kernels(), portable_kernels(), prim_kernels()};
  char buffer[512];
  ErrorText text(buffer);
  MethodOptions options;
  options.kernels = {tables, std::size(tables)};
  options.max_instructions = 200;
  options.text = &text;
  Result<Method> method =
      Method::load(meta, {{block, method_bytes}, {arenas, meta.num_arenas()}, {temp, kTempBytes}}, options);
  if (!method.ok()) return method.error();
  Error error = Error::Ok;
  for (const bool zeros : {false, true}) {
    for (size_t i = 0; i < meta.num_inputs(); ++i) (void)set_input(*method, i, zeros, memory);
    error = method->execute();
    if (error != Error::Ok) method->last_error().append_to(text);
  }
  return error;
}

/// What the first method says that fails, of those with inputs of zeros. Fails the test if anything takes heap.
Error run(const Bytes& file) {
  Memory memory;
  g_num_allocations = 0;
  g_counts_heap = true;
  Error error = Error::MemoryAllocationFailed;
  if (uint8_t* copy = memory.take(file.size())) {
    if (!file.empty()) memcpy(copy, file.data(), file.size());
    char buffer[512];
    ErrorText text(buffer);
    const Result<Program> program = Program::load({copy, file.size()}, {&text});
    error = program.error();
    for (size_t i = 0; program.ok() && error == Error::Ok && i < program->num_methods(); ++i)
      error = run_method(program->method(i), memory);
  }
  g_counts_heap = false;
  EXPECT_EQ(g_num_allocations, 0u);
  return error;
}

Bytes read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
}

std::set<fs::path> programs(std::initializer_list<const char*> folders, size_t max_bytes) {
  std::set<fs::path> paths;
  for (const char* folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".pte" && entry.file_size() <= max_bytes) paths.insert(entry.path());
  }
  return paths;
}

class Freestanding : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
#ifdef WICK_HAS_ASAN
    static const int installed = __sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free);
    ASSERT_NE(installed, 0);
#endif
  }
};

#ifdef WICK_HAS_ASAN
TEST_F(Freestanding, GapsAreGuardedAndHeapIsCounted) {
  Memory memory;
  for (const size_t size_bytes : {1, 63, 64, 65}) {
    const uint8_t* block = memory.take(size_bytes);
    EXPECT_FALSE(__asan_address_is_poisoned(block + size_bytes - 1));
    EXPECT_TRUE(__asan_address_is_poisoned(block + size_bytes));
  }
  g_num_allocations = 0;
  g_counts_heap = true;
  const std::unique_ptr<int> number(new int(1));
  g_counts_heap = false;
  EXPECT_EQ(g_num_allocations, 1u);
}
#endif

TEST_F(Freestanding, ProgramsForCortexMRun) {
  const std::set<fs::path> paths = programs({"tests/fuzz/cortex_m", "tests/fixtures/cortex_m"}, kMaxFileBytes);
  EXPECT_GE(paths.size(), 80u);
  for (const fs::path& path : paths) EXPECT_STREQ(error_name(run(read(path))), error_name(Error::Ok)) << path;
}

TEST_F(Freestanding, OtherProgramsGiveAnErrorOrAResult) {
  int num_run = 0;
  const std::set<fs::path> paths = programs({"tests/fixtures/stock", "tests/fixtures/xnnpack"}, kMaxFileBytes);
  for (const fs::path& path : paths) num_run += run(read(path)) == Error::Ok;
  EXPECT_GT(num_run, 20);
}

TEST_F(Freestanding, MutantsGiveAnErrorOrAResult) {
  std::vector<Bytes> seeds;
  for (const fs::path& path : programs({"tests/fuzz/cortex_m", "tests/fixtures/cortex_m"}, kMaxSeedBytes))
    seeds.push_back(read(path));
  Random random(20261126);
  int num_run = 0;
  for (int i = 0; i < kMutants && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    num_run += run(mutant(seeds[random.below(seeds.size())], random)) == Error::Ok;
  }
  EXPECT_GT(num_run, kMutants / 50);
  EXPECT_LT(num_run, kMutants - kMutants / 10);
}

}  // namespace
}  // namespace wick::fuzz
