#include "runtime/firmware/packaged_method.h"

#include "common/digest.h"
#include "runtime/exec/method_harness.h"
#include "runtime/exec/method_layout.h"
#include "runtime/exec/shared_arena.h"

namespace wick {
namespace {

constexpr KernelTable kTables[] = {KernelTable(Span<const Kernel>(kTestKernels))};

/// A packaged method with as much memory as it asks for.
class Packaged {
 public:
  explicit Packaged(TestProgram& program) : file_(program.build()) {}

  Error load(size_t arena_less = 0) {
    EXPECT_TRUE(Program::load(file_.span()).ok());
    EXPECT_EQ(program_.load(file_.span(), digest(file_.span()), nullptr), Error::Ok);
    const MethodMeta meta = program_.get().method(0);
    arena_ = AlignedBytes(std::vector<uint8_t>(packaged_arena_bytes(meta, false) - arena_less));
    state_ = AlignedBytes(std::vector<uint8_t>(Method::required_bytes(meta)));
    return method.load(meta, {arena_.mutable_span(), {}, state_.mutable_span(), {}}, kTables);
  }
  float* input(size_t index) { return static_cast<float*>(method.input(index)); }
  std::vector<float> output(size_t count) {
    const float* data = static_cast<const float*>(method.output(0));
    return {data, data + count};
  }
  const Program& program() const { return program_.get(); }
  PackagedMethod method;

 private:
  AlignedBytes file_, arena_, state_;
  PackagedProgram program_;
};

TEST(PackagedMethod, RunsAgainAndAgainWithInputsWrittenInPlace) {
  TestProgram program;
  fill_add_program(program);
  Packaged packaged(program);
  ASSERT_EQ(packaged.load(), Error::Ok) << packaged.method.error_text();
  for (float run = 0; run < 3; ++run) {
    for (size_t i = 0; i < 6; ++i) {
      packaged.input(0)[i] = run;
      packaged.input(1)[i] = static_cast<float>(i);
    }
    ASSERT_EQ(packaged.method.run(), Error::Ok) << packaged.method.error_text();
    EXPECT_EQ(packaged.output(6), (std::vector<float>{run, run + 1, run + 2, run + 3, run + 4, run + 5}));
  }
  EXPECT_EQ(packaged.method.output_sizes(0)[1], 3);
  EXPECT_EQ(packaged.method.input(2), nullptr);
  EXPECT_EQ(packaged.method.output(1), nullptr);
}

TEST(PackagedMethod, GivesMemoryToInputsAndOutputsThatThePlanLeavesOut) {
  TestProgram program;
  const int32_t x = program.tensor({.sizes = {3}});
  const int32_t y = program.tensor({.sizes = {3}});
  const int32_t alpha = program.integer(2);
  const int32_t out = program.tensor({.sizes = {3}});
  program.call(program.op("aten::add", "out"), {x, y, alpha, out, out});
  program.inputs = {x, y};
  program.outputs = {out};
  Packaged packaged(program);
  ASSERT_EQ(packaged.load(), Error::Ok) << packaged.method.error_text();
  for (float run = 1; run < 3; ++run) {
    for (size_t i = 0; i < 3; ++i) {
      packaged.input(0)[i] = run;
      packaged.input(1)[i] = static_cast<float>(i);
    }
    ASSERT_EQ(packaged.method.run(), Error::Ok) << packaged.method.error_text();
    EXPECT_EQ(packaged.output(3), (std::vector<float>{run, run + 2, run + 4}));
  }
}

TEST(PackagedMethod, TakesOtherSizesWithinTheBounds) {
  TestProgram program;
  program.arena_sizes.push_back(32);
  const auto dynamic = [&](uint64_t offset) {
    return program.tensor({.sizes = {4},
                           .memory_id = static_cast<uint32_t>(program.arena_sizes.size() - 1),
                           .memory_offset = offset,
                           .dynamism = pte::ShapeDynamism::DYNAMIC_BOUND});
  };
  const int32_t x = dynamic(0);
  const int32_t alpha = program.integer(1);
  const int32_t out = dynamic(16);
  program.call(program.op("aten::add", "out"), {x, x, alpha, out, out});
  program.inputs = {x};
  program.outputs = {out};
  Packaged packaged(program);
  ASSERT_EQ(packaged.load(), Error::Ok) << packaged.method.error_text();
  const int32_t two = 2, five = 5;
  ASSERT_EQ(packaged.method.set_input_sizes(0, &two), Error::Ok);
  packaged.input(0)[0] = 1;
  packaged.input(0)[1] = 2;
  ASSERT_EQ(packaged.method.run(), Error::Ok) << packaged.method.error_text();
  EXPECT_EQ(packaged.method.output_sizes(0)[0], 2);
  EXPECT_EQ(packaged.output(2), (std::vector<float>{2, 4}));
  EXPECT_NE(packaged.method.set_input_sizes(0, &five), Error::Ok);
  EXPECT_NE(std::string(packaged.method.error_text()), "");
}

TEST(PackagedMethod, RefusesTooLittleMemoryAndCallsBeforeALoad) {
  TestProgram program;
  fill_add_program(program);
  Packaged packaged(program);
  EXPECT_EQ(packaged.method.run(), Error::InvalidState);
  EXPECT_EQ(packaged.method.input(0), nullptr);
  EXPECT_EQ(packaged.load(16), Error::OutOfResources);
  EXPECT_EQ(std::string(packaged.method.error_text()), "the arena is too small [OutOfResources]");
  EXPECT_EQ(packaged.method.run(), Error::InvalidState);
}

// Each memory null, misaligned by one byte and one byte too small; then every other entry.
TEST(PackagedMethod, RefusesMemoryThatItCannotUse) {
  TestProgram program;
  fill_add_program(program);
  AlignedBytes file(program.build());
  ASSERT_TRUE(Program::load(file.span()).ok());
  PackagedProgram loaded;
  ASSERT_EQ(loaded.load(file.span(), digest(file.span()), nullptr), Error::Ok);
  const MethodMeta meta = loaded.get().method(0);
  AlignedBytes arena(std::vector<uint8_t>(packaged_arena_bytes(meta, false) + 16));
  AlignedBytes state(std::vector<uint8_t>(Method::required_bytes(meta) + 16));
  alignas(64) uint8_t scratch[128];
  const PackagedMemory good = {{arena.mutable_span().data(), arena.span().size() - 16},
                               {},
                               {state.mutable_span().data(), state.span().size() - 16},
                               {scratch, 64}};
  PackagedMethod method;
  constexpr std::pair<Span<uint8_t> PackagedMemory::*, const char*> kParts[] = {
      {&PackagedMemory::arena, "the arena"},
      {&PackagedMemory::state, "the method arena"},
      {&PackagedMemory::scratch, "the scratch memory"}};
  for (const auto& [part, name] : kParts) {
    const Span<uint8_t> whole = good.*part;
    for (const auto& [span, wanted] : {std::pair(Span<uint8_t>(nullptr, whole.size()), " is null or "),
                                       std::pair(Span<uint8_t>(whole.data() + 1, whole.size()), "aligned"),
                                       std::pair(Span<uint8_t>(whole.data(), whole.size() - 1), " is too small")}) {
      if (part == &PackagedMemory::scratch && span.size() != whole.size()) continue;  // kernels report this themselves
      ASSERT_EQ(method.load(meta, good, kTables), Error::Ok) << method.error_text();
      PackagedMemory bad = good;
      bad.*part = span;
      EXPECT_NE(method.load(meta, bad, kTables), Error::Ok);
      EXPECT_NE(std::string(method.error_text()).find(std::string(name)), std::string::npos) << method.error_text();
      if (part != &PackagedMemory::state || span.size() == whole.size())  // Method says "needs"
        EXPECT_NE(std::string(method.error_text()).find(wanted), std::string::npos) << method.error_text();
      const int32_t sizes[] = {2, 3};
      EXPECT_EQ(method.run(), Error::InvalidState);
      EXPECT_EQ(method.input(0), nullptr);
      EXPECT_EQ(method.output(0), nullptr);
      EXPECT_EQ(method.output_sizes(0), nullptr);
      EXPECT_EQ(method.set_input_sizes(0, sizes), Error::InvalidState);
    }
  }
  ASSERT_EQ(method.load(meta, good, kTables), Error::Ok) << method.error_text();
  alignas(4) uint8_t sizes[12] = {};
  EXPECT_EQ(method.set_input_sizes(0, nullptr), Error::InvalidArgument);
  EXPECT_STREQ(method.error_text(), "the sizes are null or misaligned [InvalidArgument]");
  EXPECT_EQ(method.set_input_sizes(0, reinterpret_cast<const int32_t*>(sizes + 1)), Error::InvalidArgument);
  EXPECT_EQ(method.set_input_sizes(9, reinterpret_cast<const int32_t*>(sizes)), Error::InvalidArgument);
  EXPECT_EQ(method.run(), Error::Ok) << method.error_text();
}

TEST(PackagedProgram, TakesOnlyTheBytesThatWereChecked) {
  TestProgram program;
  fill_add_program(program);
  AlignedBytes file(program.build());
  const uint64_t checked = digest(file.span());
  PackagedProgram packaged;
  char buffer[64];
  ErrorText text(buffer);
  for (size_t at = 0; at < file.span().size(); ++at) {
    file.mutable_span()[at] ^= 4;
    ASSERT_EQ(packaged.load(file.span(), checked, nullptr), Error::InvalidProgram) << at;
    file.mutable_span()[at] ^= 4;
  }
  EXPECT_EQ(packaged.load(file.span().subspan(0, file.span().size() - 1), checked, &text), Error::InvalidProgram);
  EXPECT_STREQ(text.c_str(), "the program's bytes are not those of the package");
  EXPECT_EQ(packaged.load(file.span().subspan(4, file.span().size() - 4), checked, nullptr), Error::InvalidArgument);
  EXPECT_EQ(packaged.load(file.span(), checked, nullptr), Error::Ok);
  EXPECT_EQ(packaged.get().num_methods(), 1u);
}

TEST(MethodBytes, AreThoseThatLoadingWants) {
  TestProgram program;
  fill_add_program(program);
  MethodHarness harness(program);
  ASSERT_EQ(harness.load(), Error::Ok) << harness.text;
  const MethodMeta& meta = harness.method().meta();
  EXPECT_EQ(method_bytes(count_objects(meta), kObjectSizes), Method::required_bytes(meta));
  EXPECT_LT(method_bytes(count_objects(meta), k32BitObjectSizes), Method::required_bytes(meta));
}

}  // namespace
}  // namespace wick
