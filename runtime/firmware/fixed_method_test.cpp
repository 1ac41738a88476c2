#include "runtime/firmware/fixed_method.h"

#include <gtest/gtest.h>

namespace wick {
namespace {

/// out[i] = a[i] * factor + terms[0], factor an int; fails if that is 0.
void scale(KernelContext& context, Span<EValue*> args) {
  if (args[1]->integer == 0) return context.fail(Error::InvalidArgument, "the factor is 0");
  const Tensor &a = *args[0]->tensor, &out = *args[3]->tensor;
  for (size_t i = 0; i < a.numel; ++i)
    out.as<int32_t>()[i] =
        a.as<int32_t>()[i] * static_cast<int32_t>(args[1]->integer) + static_cast<int32_t>(args[2]->ints()[0]);
}
void unused(KernelContext&, Span<EValue*>) { abort(); }

constexpr Kernel kFirst[] = {{"unused", "", unused}}, kSecond[] = {{"unused", "", unused}, {"scale", "TiIo", scale}};
constexpr KernelTable kKernels[] = {KernelTable(kFirst), KernelTable(kSecond)};

constexpr int32_t kSizes[] = {2}, kStrides[] = {1};
constexpr uint8_t kOrder[] = {0};
alignas(16) constexpr uint8_t kBytes[] = {5, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0};
constexpr FixedTensor kTensors[] = {
    {DType::i32, 1, false, false, 2, 0, 0, kSizes, kStrides, kOrder},   // the input
    {DType::i32, 1, true, false, 2, 0, 0, kSizes, kStrides, kOrder},    // 5, 7
    {DType::i32, 1, false, true, 2, 16, 8, kSizes, kStrides, kOrder},   // begins as 1, 2
    {DType::i32, 1, false, false, 2, 32, 0, kSizes, kStrides, kOrder},  // the output
};
constexpr int64_t kTerms[] = {100};
constexpr IntListValue kList = {nullptr, const_cast<int64_t*>(kTerms), 1};
constexpr FixedConstant kConstants[] = {{INT64_C(3)}, {Tag::int_list, &kList, 0}, {INT64_C(0)}};
constexpr uint16_t kInputs[] = {0, FixedTables::kNoTensor}, kOutputs[] = {3};

class FixedMethodTest : public ::testing::Test {
 protected:
  void load(Span<const FixedCall> calls, const uint16_t* args) {
    tables_ = {kTensors, kConstants, calls, args, kInputs, kOutputs, kBytes};
    ASSERT_LE(FixedMethod::state_bytes(4, 3), sizeof state_);
    ASSERT_EQ(method_.load(tables_, {arena_, state_, {}}, kKernels), Error::Ok) << method_.error_text();
  }
  const int32_t* output() { return static_cast<const int32_t*>(method_.output(0)); }

  alignas(16) uint8_t arena_[48], state_[512];
  FixedTables tables_ = {};
  FixedMethod method_;
};

TEST_F(FixedMethodTest, CallsKernelsOfAllTablesWithTensorsAndConstants) {
  // The state becomes 3 times itself plus 100; the output is the same function of the input.
  constexpr FixedCall calls[] = {{2, 0, 5}, {2, 5, 5}};
  constexpr uint16_t args[] = {2, 4, 5, 2, 2, 0, 4, 5, 3, 3};
  load(calls, args);
  EXPECT_EQ(method_.input(1), nullptr);
  EXPECT_EQ(method_.input(2), nullptr);
  for (int run = 0; run < 2; ++run) {
    static_cast<int32_t*>(method_.input(0))[1] = 4;
    ASSERT_EQ(method_.run(), Error::Ok) << method_.error_text();
    EXPECT_EQ(output()[0], 100);
    EXPECT_EQ(output()[1], 112);
  }
  const int32_t* state = reinterpret_cast<const int32_t*>(arena_ + 16);
  EXPECT_EQ(state[0], (1 * 3 + 100) * 3 + 100);
  load(calls, args);
  EXPECT_EQ(state[0], 1);
}

TEST_F(FixedMethodTest, SaysWhichCallFails) {
  constexpr FixedCall calls[] = {{2, 0, 5}, {2, 5, 5}};
  constexpr uint16_t args[] = {1, 4, 5, 3, 3, 1, 6, 5, 3, 3};
  EXPECT_EQ(method_.run(), Error::InvalidState);
  load(calls, args);
  EXPECT_EQ(method_.run(), Error::InvalidArgument);
  EXPECT_STREQ(method_.error_text(), "instruction 1: the factor is 0 [InvalidArgument]");
}

// Each memory null, misaligned by one byte and one byte too small; then every other entry.
TEST_F(FixedMethodTest, RefusesMemoryThatItCannotUse) {
  constexpr FixedCall calls[] = {{2, 0, 5}};
  constexpr uint16_t args[] = {0, 4, 5, 3, 3};
  const FixedTables tables = {kTensors, kConstants, calls, args, kInputs, kOutputs, kBytes};
  constexpr size_t kArena = 40, kState = FixedMethod::state_bytes(4, 3), kScratch = 64;
  alignas(64) uint8_t arena[kArena + 1], state[kState + 1], scratch[kScratch + 1];
  const FixedMemory good = {{arena, kArena}, {state, kState}, {scratch, kScratch}};
  constexpr std::pair<Span<uint8_t> FixedMemory::*, const char*> kParts[] = {
      {&FixedMemory::arena, "the arena"},
      {&FixedMemory::state, "the state memory"},
      {&FixedMemory::scratch, "the scratch memory"}};
  for (const auto& [part, name] : kParts) {
    const Span<uint8_t> whole = good.*part;
    for (const auto& [span, wanted] : {std::pair(Span<uint8_t>(nullptr, whole.size()), " is null or "),
                                       std::pair(Span<uint8_t>(whole.data() + 1, whole.size()), "misaligned"),
                                       std::pair(Span<uint8_t>(whole.data(), whole.size() - 1), " is too small")}) {
      if (part == &FixedMemory::scratch && span.size() != whole.size()) continue;  // kernels report this themselves
      ASSERT_EQ(method_.load(tables, good, kKernels), Error::Ok) << method_.error_text();
      FixedMemory bad = good;
      bad.*part = span;
      EXPECT_NE(method_.load(tables, bad, kKernels), Error::Ok);
      EXPECT_NE(std::string(method_.error_text()).find(std::string(name)), std::string::npos) << method_.error_text();
      EXPECT_NE(std::string(method_.error_text()).find(wanted), std::string::npos) << method_.error_text();
      EXPECT_EQ(method_.run(), Error::InvalidState);
      EXPECT_STREQ(method_.error_text(), "the method is not loaded [InvalidState]");
      EXPECT_EQ(method_.input(0), nullptr);
      EXPECT_EQ(method_.output(0), nullptr);
    }
  }
  ASSERT_EQ(method_.load(tables, good, kKernels), Error::Ok) << method_.error_text();
  EXPECT_EQ(method_.run(), Error::Ok) << method_.error_text();
  EXPECT_EQ(method_.output(1), nullptr);
  // If nothing uses the memory, any is accepted.
  const FixedTables none = {{}, {}, {}, nullptr, {}, {}, nullptr};
  EXPECT_EQ(method_.load(none, {{}, {state, kState}, {}}, kKernels), Error::Ok) << method_.error_text();
}

}  // namespace
}  // namespace wick
