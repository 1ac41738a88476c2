// Values without an upper bound: where their memory comes from, what limits it and who gives it back.
#include "wick/unbounded_memory.h"

#include <stdlib.h>

#include <map>

#include "runtime/exec/method_harness.h"

namespace wick {
namespace {

using pte::ShapeDynamism;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

/// An allocator that counts, fails and misplaces on request.
struct CountingAllocator {
  size_t allocations = 0;
  size_t fail_from = SIZE_MAX;  // this allocation and all further ones fail
  size_t misplaced_by = 0;
  std::map<void*, size_t> live;  // size of each block
  std::map<void*, void*> real;

  Allocator table() { return {allocate, free, this}; }
  size_t live_bytes() const {
    size_t total = 0;
    for (const auto& [block, size] : live) total += size;
    return total;
  }

 private:
  static void* allocate(void* state, size_t size_bytes, size_t alignment) {
    auto& self = *static_cast<CountingAllocator*>(state);
    if (++self.allocations > self.fail_from) return nullptr;
    void* memory = ::aligned_alloc(alignment, (size_bytes + 2 * alignment - 1) / alignment * alignment);
    void* block = static_cast<uint8_t*>(memory) + self.misplaced_by;
    self.live[block] = size_bytes;
    self.real[block] = memory;
    return block;
  }
  static void free(void* state, void* block, size_t size_bytes, size_t) {
    auto& self = *static_cast<CountingAllocator*>(state);
    EXPECT_EQ(self.live.at(block), size_bytes);
    memset(block, 0xDD, size_bytes);
    ::free(self.real.at(block));
    self.live.erase(block);
    self.real.erase(block);
  }
};

int32_t unbounded(TestProgram& program, std::vector<int32_t> sizes = {0}) {
  return program.tensor({.sizes = std::move(sizes), .dynamism = ShapeDynamism::DYNAMIC_UNBOUND});
}

/// t = x + x; out = t + t; t is freed. All f32[?].
void fill_chain(TestProgram& program) {
  const int32_t x = unbounded(program), t = unbounded(program), out = unbounded(program);
  const int32_t alpha = program.integer(1), add = program.op("aten::add", "out");
  program.call(add, {x, x, alpha, t, t});
  program.call(add, {t, t, alpha, out, out});
  program.free(t);
  program.inputs = {x};
  program.outputs = {out};
}

std::vector<float> counted(size_t size, float factor = 1) {
  std::vector<float> numbers(size);
  for (size_t i = 0; i < size; ++i) numbers[i] = factor * static_cast<float>(i % 1000);
  return numbers;
}

Error run_with(MethodHarness& harness, size_t size) {
  HostTensor32 input({static_cast<int32_t>(size)}, counted(size));
  const Error error = harness.method().set_input(0, input.tensor);
  return error == Error::Ok ? harness.method().execute() : error;
}

TEST(Unbounded, AValueTakesTheMemoryThatItsSizeNeedsInEachExecution) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), kPlenty);
  {
    TestProgram program;
    fill_chain(program);
    MethodHarness harness(program);
    harness.options.unbounded = &memory;
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    EXPECT_EQ(allocator.allocations, 0u);
    for (const size_t size : {4u, 1u, 1000u, 100000u, 0u, 3u, 70000u, 5u}) {
      ASSERT_EQ(run_with(harness, size), Error::Ok) << harness.last_error();
      EXPECT_EQ(harness.output(0), counted(size, 4)) << size;
      EXPECT_EQ(memory.held_bytes(), allocator.live_bytes());
    }
    EXPECT_GT(allocator.live.size(), 0u);
  }
  EXPECT_EQ(allocator.live.size(), 0u);
}

TEST(Unbounded, TheSameSizesAgainTakeNoMoreMemory) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), kPlenty);
  TestProgram program;
  fill_chain(program);
  MethodHarness harness(program);
  harness.options.unbounded = &memory;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  ASSERT_EQ(run_with(harness, 50000), Error::Ok);
  ASSERT_EQ(run_with(harness, 50000), Error::Ok);
  const size_t before = allocator.allocations;
  for (int i = 0; i < 10; ++i) ASSERT_EQ(run_with(harness, 50000), Error::Ok);
  EXPECT_EQ(allocator.allocations, before);
  ASSERT_EQ(run_with(harness, 1), Error::Ok);
  ASSERT_EQ(run_with(harness, 1), Error::Ok);
  EXPECT_LT(allocator.live_bytes(), 2000u) << "what an execution did not use goes back";
}

TEST(Unbounded, AFreedValueGivesItsMemoryToAnother) {
  for (const bool frees : {true, false}) {
    CountingAllocator allocator;
    UnboundedMemory memory(allocator.table(), kPlenty);
    TestProgram program;
    const int32_t x = unbounded(program), a = unbounded(program), b = unbounded(program), out = unbounded(program);
    const int32_t alpha = program.integer(1), add = program.op("aten::add", "out");
    program.call(add, {x, x, alpha, a, a});
    program.call(add, {a, a, alpha, b, b});
    if (frees) program.free(a);
    program.call(add, {b, b, alpha, out, out});
    program.inputs = {x};
    program.outputs = {out};
    MethodHarness harness(program);
    harness.options.unbounded = &memory;
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    ASSERT_EQ(run_with(harness, 4096), Error::Ok);
    EXPECT_EQ(harness.output(0), counted(4096, 8));
    EXPECT_EQ(allocator.live.size(), frees ? 2u : 3u);
  }
}

TEST(Unbounded, AMethodIsNotLoadedWithoutAnAllocator) {
  TestProgram program;
  fill_chain(program);
  MethodHarness harness(program);
  ErrorKind kind = ErrorKind::none;
  harness.options.kind = &kind;
  EXPECT_EQ(harness.load(), Error::NotSupported);
  EXPECT_EQ(harness.text,
            "the method has 3 values without an upper bound, and no allocator is given: give one, or compile with "
            "--max-size N");
  EXPECT_EQ(kind, ErrorKind::not_supported);
}

TEST(Unbounded, OtherMethodsLeaveTheAllocatorAlone) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), kPlenty);
  TestProgram program;
  fill_add_program(program);
  MethodHarness harness(program);
  harness.options.unbounded = &memory;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  HostTensor32 input({2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
  ASSERT_EQ(harness.method().set_input(1, input.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok);
  EXPECT_EQ(allocator.allocations, 0u);
}

TEST(Unbounded, TheLimitHoldsAndTheMethodRunsAgainWithLess) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), 10000);
  TestProgram program;
  fill_chain(program);
  MethodHarness harness(program);
  harness.options.unbounded = &memory;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  for (const size_t too_many : {1250u, 5000u, 100000u}) {
    EXPECT_NE(run_with(harness, too_many), Error::Ok);
    EXPECT_NE(harness.last_error().find("values without an upper bound need more memory than the limit allows"),
              std::string::npos)
        << harness.last_error();
    EXPECT_LE(allocator.live_bytes(), 10000u);
    ASSERT_EQ(run_with(harness, 1100), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), counted(1100, 4));
  }
  EXPECT_LE(memory.peak_bytes(), 10000u);
}

TEST(Unbounded, AnAllocatorThatFailsOrMisplacesIsAnError) {
  for (const bool misplaced : {false, true}) {
    CountingAllocator allocator;
    UnboundedMemory memory(allocator.table(), kPlenty);
    TestProgram program;
    fill_chain(program);
    MethodHarness harness(program);
    harness.options.unbounded = &memory;
    ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
    if (misplaced)
      allocator.misplaced_by = 8;
    else
      allocator.fail_from = 1;
    EXPECT_NE(run_with(harness, 100), Error::Ok);
    EXPECT_NE(harness.last_error().find(misplaced ? "the allocator gave misaligned memory"
                                                  : "the allocator has no memory for a value without an upper bound"),
              std::string::npos)
        << harness.last_error();
    allocator.misplaced_by = 0;
    allocator.fail_from = SIZE_MAX;
    ASSERT_EQ(run_with(harness, 100), Error::Ok) << harness.last_error();
    EXPECT_EQ(harness.output(0), counted(100, 4));
  }
}

TEST(Unbounded, InputsLieWhereTheCallerHasThem) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), kPlenty);
  TestProgram program;
  const int32_t x = unbounded(program, {0, 3});
  program.inputs = program.outputs = {x};
  MethodHarness harness(program);
  harness.options.unbounded = &memory;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  EXPECT_EQ(harness.method().input_in_place(0), nullptr);
  EXPECT_EQ(harness.method().set_output_memory(0, nullptr, 0), Error::InvalidArgument);
  HostTensor32 input({2, 3}, {1, 2, 3, 4, 5, 6}), flat({6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(harness.method().set_input(0, flat.tensor), Error::InvalidArgument);
  EXPECT_EQ(harness.method().execute(), Error::InvalidState);
  ASSERT_EQ(harness.method().set_input(0, input.tensor), Error::Ok);
  ASSERT_EQ(harness.method().execute(), Error::Ok);
  EXPECT_EQ(harness.method().output(0).tensor->data, input.data.data());
  EXPECT_EQ(harness.method().execute(), Error::InvalidState);
  EXPECT_EQ(allocator.allocations, 0u);
}

TEST(Unbounded, AnOutputMayBeAnInputOfTheNextExecution) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), kPlenty);
  TestProgram program;
  fill_chain(program);
  MethodHarness harness(program);
  harness.options.unbounded = &memory;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  ASSERT_EQ(run_with(harness, 100), Error::Ok);
  float factor = 4;
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(harness.method().set_input(0, *harness.method().output(0).tensor), Error::Ok);
    ASSERT_EQ(harness.method().execute(), Error::Ok) << harness.last_error();
    factor *= 4;
    EXPECT_EQ(harness.output(0), counted(100, factor));
  }
  EXPECT_LE(allocator.live.size(), 4u);
}

// A kernel reads where its out tensor was, takes scratch memory at the limit, and reads on.
TEST(Unbounded, NoBlockGoesBackWhileAKernelMayReadIt) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), 9000);
  int32_t sizes[2] = {0, 0}, strides[2] = {1, 1};
  const uint8_t dim_order[1] = {0};
  UnboundedTensor tensors[2];
  for (int i = 0; i < 2; ++i) {
    tensors[i].dynamism = wick::ShapeDynamism::unbounded;
    tensors[i].rank = 1;
    tensors[i].sizes = sizes + i;
    tensors[i].strides = strides + i;
    tensors[i].dim_order = dim_order;
    tensors[i].memory = &memory;
  }
  memory.set_tensors({}, tensors);
  memory.begin_execution();
  const int32_t small[1] = {500}, large[1] = {1000};
  ASSERT_EQ(resize(tensors[0], Span<const int32_t>(small)), Error::Ok);
  ASSERT_EQ(allocator.live.size(), 1u);
  const size_t first_size = allocator.live.begin()->second;
  tensors[1].data = tensors[0].data;  // a view of what is freed next
  memory.free_scratch();
  memory.release(tensors[0]);
  ASSERT_EQ(resize(tensors[1], Span<const int32_t>(large)), Error::Ok);
  EXPECT_EQ(memory.take_scratch(8000), nullptr);
  const auto is_live = [&] {
    for (const auto& [block, live_size] : allocator.live) {
      if (live_size == first_size) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_live());
  memory.free_scratch();
  EXPECT_NE(memory.take_scratch(4000), nullptr);
  EXPECT_FALSE(is_live()) << "the next instruction has it no more";
  memory.free_all();
  EXPECT_EQ(allocator.live.size(), 0u);
}

// A plan never does this, but a file can. The view keeps reading the block, which may therefore not be given back.
TEST(Unbounded, AViewOfAFreedValueReadsMemoryOfTheMethod) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), 40000);
  TestProgram program;
  const int32_t x = unbounded(program), a = unbounded(program), view = unbounded(program), out = unbounded(program);
  const int32_t big = unbounded(program), sizes = program.int_list({program.integer(-1)});
  const int32_t alpha = program.integer(1), add = program.op("aten::add", "out");
  program.call(add, {x, x, alpha, a, a});
  program.call(program.op("executorch_prim::et_view", "default"), {a, sizes, view});
  program.free(a);
  program.call(add, {view, view, alpha, big, big});
  program.free(big);
  program.call(add, {view, view, alpha, out, out});
  program.inputs = {x};
  program.outputs = {out, view};
  MethodHarness harness(program);
  harness.options.unbounded = &memory;
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  for (const size_t size : {1000u, 2000u, 4000u, 3u, 3000u, 9000u, 10u}) {
    const Error error = run_with(harness, size);
    if (error == Error::Ok) EXPECT_EQ(harness.output(0).size(), size);
  }
}

TEST(Unbounded, AResultThatGrowsStepByStepKeepsWhatItHas) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), kPlenty);
  int32_t sizes[1] = {0}, strides[1] = {1};
  const uint8_t dim_order[1] = {0};
  UnboundedTensor tensor;
  tensor.dtype = DType::f32;
  tensor.dynamism = wick::ShapeDynamism::unbounded;
  tensor.rank = 1;
  tensor.sizes = sizes;
  tensor.strides = strides;
  tensor.dim_order = dim_order;
  tensor.memory = &memory;
  memory.set_tensors({}, {&tensor, 1});
  for (int32_t size = 1; size <= 5000; ++size) {
    ASSERT_EQ(resize(tensor, Span<const int32_t>(&size, 1)), Error::Ok);
    tensor.as<float>()[size - 1] = static_cast<float>(size % 1000);
  }
  for (int32_t i = 0; i < 5000; ++i) ASSERT_EQ(tensor.as<float>()[i], static_cast<float>((i + 1) % 1000));
  EXPECT_LT(allocator.allocations, 40u);
  const int32_t too_many[1] = {INT32_MAX};
  EXPECT_EQ(resize(tensor, Span<const int32_t>(too_many)), Error::MemoryAllocationFailed);
  EXPECT_EQ(sizes[0], 5000) << "unchanged";
  memory.free_all();
  EXPECT_EQ(allocator.live.size(), 0u);
}

TEST(Unbounded, ScratchBeyondTheTempMemoryComesFromTheAllocator) {
  CountingAllocator allocator;
  UnboundedMemory memory(allocator.table(), 1 << 20);
  uint8_t temp[256];
  KernelContext context(Span<uint8_t>(temp, sizeof temp), nullptr, nullptr, IsaLevel::baseline, &memory);
  for (int call = 0; call < 3; ++call) {
    EXPECT_NE(context.allocate_temp(64), nullptr);
    void* large = context.allocate_temp(100000);
    ASSERT_NE(large, nullptr);
    memset(large, 1, 100000);
    context.reset();
  }
  EXPECT_EQ(allocator.allocations, 1u);
  EXPECT_EQ(context.allocate_temp(2 << 20), nullptr);
  EXPECT_EQ(context.error(), Error::OutOfResources);
  EXPECT_NE(memory.failure(), nullptr);
  context.reset();
  memory.free_all();
  EXPECT_EQ(allocator.live.size(), 0u);
}

}  // namespace
}  // namespace wick
