#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "backends/cuda/payload/plan_generated.h"
#include "backends/cuda/payload/plan_test_support.h"

namespace wick::cuda {
namespace {

using Bytes = std::vector<uint8_t>;

Error read(const Bytes& bytes, Plan* plan, std::string* said = nullptr) {
  char buffer[300];
  ErrorText text(buffer);
  const Error error = read_plan({bytes.data(), bytes.size()}, plan, &text);
  if (said) *said = text.c_str();
  EXPECT_EQ(error == Error::Ok, text.size() == 0);
  return error;
}

// some_plan with a condition without nodes, whose second part has a requirement.
Plan plan_with_requirements_of_parts() {
  Plan plan = plan_with_requirements();
  PlanNode choose;
  choose.kind = NodeKind::choose;
  choose.arguments = {reads(4)};
  choose.first_end = choose.second_end = static_cast<uint32_t>(plan.nodes.size() + 1);
  plan.requirements[1].node = static_cast<uint32_t>(plan.nodes.size());
  plan.requirements[1].is_second = true;
  plan.nodes.push_back(choose);
  return plan;
}

TEST(CudaPlan, IsReadAsItWasWritten) {
  for (const Plan& written : {some_plan(), plan_with_requirements(), plan_with_requirements_of_parts(), Plan()}) {
    const Bytes bytes = write_plan(written);
    EXPECT_EQ(bytes, write_plan(written));
    Plan plan;
    ASSERT_EQ(read(bytes, &plan), Error::Ok);
    EXPECT_EQ(plan_text(plan), plan_text(written));
    EXPECT_EQ(write_plan(plan), bytes);
  }
}

Plan plan_for_one_capability() {
  Plan plan = some_plan();
  plan.modules.push_back({90, false, "code.90a", true});
  return plan;
}

TEST(CudaPlan, CodeForOneCapabilityIsNamedSo) {
  Plan plan;
  ASSERT_EQ(read(write_plan(plan_for_one_capability()), &plan), Error::Ok);
  EXPECT_TRUE(plan.modules[2].is_exact);
  EXPECT_NE(plan_text(plan).find("module sm_90a \"code.90a\"\n"), std::string::npos) << plan_text(plan);
}

TEST(CudaPlan, TextShowsEverything) {
  EXPECT_EQ(plan_text(some_plan()),
            "plan \"forward\" partition 2 of model 0123456789abcdef, by \"wick 0.1.0\", driver 13000, arena 4352 "
            "bytes, state 512 bytes\n"
            "s0: 1..64, size 0 of input 0\n"
            "f2 = (s0 * 32)\n"
            "f3 = ((s0 + 3) // 4)\n"
            "input 0: f32[s0, 8]\n"
            "output 0: f32[s0, 8]\n"
            "b0: input 0, 2048 bytes\n"
            "b1: output 0, 2048 bytes\n"
            "b2: constant \"weight\", 256 bytes\n"
            "b3: state \"cache\", \"cache.start\", 512 bytes\n"
            "b4: arena + 0, 4096 bytes\n"
            "b5: arena + 4096, 4 bytes, status words\n"
            "module sm_90 \"code.90\"\n"
            "module ptx 80 \"code.ptx\"\n"
            "k0: scale(pointer, pointer, pointer, i32, i64), block 32 x 1 x 1, 1024 bytes shared, barriers, "
            "warp per row in f64\n"
            "n0: copy(out b4[1024], b0, f2 bytes)  # 7\n"
            "n1: fill(out b5, 4 bytes, value 0)\n"
            "n2: scale<f3, 1, 1>(b2, b4[1024], out b1, i32 s0, i64 f2) after n0, n1  # 9\n"
            "n3: copy(out b3, b2, 256 bytes) after n2\n"
            "check 0: \"an index is out of bounds in embedding (model.py:3)\"\n");
}

TEST(CudaPlan, TextShowsWhatSizesMustBe) {
  const std::string text = plan_text(plan_with_requirements_of_parts());
  EXPECT_EQ(text.substr(text.find("requires")),
            "requires 0 <= f9 <= 0, else \"the rest in view (model.py:4)\"\n"
            "n4, second part, requires 8 <= s0, else \"the kernel in conv (model.py:5)\"\n"
            "requires s0 <= 63, else \"the pad in pad (model.py:6)\"\n");
}

TEST(CudaPlan, TextOfFormulasHasAllOperations) {
  Plan plan;
  const auto shown = [&](Formula formula) {
    plan.formulas = {std::move(formula)};
    const std::string text = plan_text(plan);
    return text.substr(text.find("f0 = ") + 5);
  };
  const FormulaStep one = constant(1), two = constant(2);
  const char* signs[] = {"(1 + 2)",  "(1 * 2)",  "(1 // 2)", "(1 % 2)",  "min(1, 2)", "max(1, 2)",
                         "(1 == 2)", "(1 != 2)", "(1 < 2)",  "(1 <= 2)", "(1 and 2)", "(1 or 2)"};
  for (size_t i = 0; i < std::size(signs); ++i) {
    EXPECT_EQ(shown({one, two, op(static_cast<FormulaOp>(2 + i))}), signs[i] + std::string("\n"));
  }
  EXPECT_EQ(shown({one, op(FormulaOp::logical_not)}), "not 1\n");
  EXPECT_EQ(shown({one, two, constant(-3), op(FormulaOp::select)}), "(1 ? 2 : -3)\n");
}

TEST(CudaPlan, NamesInTextArePrintable) {
  Plan plan;
  plan.method = "a\x1b[2J\n\"";
  EXPECT_EQ(plan_text(plan).substr(0, 16), "plan \"a?[2J?\"\" p");
}

TEST(CudaPlan, OtherBytesAreRefusedAsIncompatible) {
  Plan plan;
  std::string text;
  EXPECT_EQ(read({}, &plan, &text), Error::DelegateInvalidCompatibility);
  Bytes bytes = write_plan(some_plan());
  bytes[7] = '2';
  EXPECT_EQ(read(bytes, &plan, &text), Error::DelegateInvalidCompatibility);
  EXPECT_NE(text.find("no plan of version 1"), std::string::npos) << text;
}

TEST(CudaPlan, EveryTruncationIsRefused) {
  const Bytes bytes = write_plan(some_plan());
  Plan plan;
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(read(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size)), &plan), Error::Ok) << size;
  }
}

TEST(CudaPlan, EveryFlippedBitIsRefusedOrReadAsASoundPlan) {
  const Bytes bytes = write_plan(some_plan());
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    Bytes changed = bytes;
    changed[i / 8] = static_cast<uint8_t>(changed[i / 8] ^ (1u << i % 8));
    Plan plan;
    if (read(changed, &plan) != Error::Ok) continue;
    EXPECT_EQ(check_plan(plan, nullptr), Error::Ok);
    EXPECT_FALSE(plan_text(plan).empty());
  }
}

TEST(CudaPlan, MisalignedBytesAreRead) {
  const Bytes bytes = write_plan(some_plan());
  for (size_t shift = 1; shift < 8; ++shift) {
    std::vector<uint64_t> memory(bytes.size() / 8 + 2);
    uint8_t* at = reinterpret_cast<uint8_t*>(memory.data()) + shift;
    memcpy(at, bytes.data(), bytes.size());
    Plan plan;
    EXPECT_EQ(read_plan({at, bytes.size()}, &plan, nullptr), Error::Ok);
    EXPECT_EQ(plan_text(plan), plan_text(some_plan()));
  }
}

// 50,000 items of a list that all refer to one table.
TEST(CudaPlan, TablesThatAreNamedManyTimesAreRefused) {
  flatbuffers::FlatBufferBuilder fbb;
  const std::string name(1000, 'x');
  const auto check = fbb.CreateString(name);
  const auto checks = fbb.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::String>>(50000, check));
  fb::PlanBuilder builder(fbb);
  builder.add_checks(checks);
  fbb.Finish(builder.Finish(), fb::PlanIdentifier());
  Plan plan;
  std::string text;
  EXPECT_EQ(read(Bytes(fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()), &plan, &text),
            Error::InvalidProgram);
  EXPECT_EQ(text, "the payload's tables refer to more items than a payload of this size can hold");
}

TEST(CudaPlan, LargePlansAreReadAsTheyWereWritten) {
  Plan written = some_plan();
  for (uint32_t i = 4; i < 2000; ++i) {
    written.nodes.push_back(written.nodes[2]);
    written.nodes.back().after = {i - 1};
    written.formulas.push_back({constant(i)});
    written.buffers.push_back(written.buffers[2]);
    written.buffers.back().data = std::to_string(i);
    written.kernels.push_back(written.kernels[0]);
    written.checks.push_back({"c"});
  }
  written.buffers[5].size_bytes = (written.checks.size() + 31) / 32 * 4;
  Plan plan;
  std::string text;
  const Bytes bytes = write_plan(written);
  ASSERT_EQ(read(bytes, &plan, &text), Error::Ok) << text;
  EXPECT_EQ(write_plan(plan), bytes);
}

// The fuzz target's corpus holds the plan of these tests, so a change of the format fails this test.
TEST(CudaPlan, OlderFilesAreStillRead) {
  std::ifstream file("tests/fuzz/cuda/some_plan", std::ios::binary);
  const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  Plan plan;
  ASSERT_EQ(read(bytes, &plan), Error::Ok);
  EXPECT_EQ(plan_text(plan), plan_text(some_plan()));
  EXPECT_EQ(write_plan(some_plan()), bytes);
}

}  // namespace
}  // namespace wick::cuda
