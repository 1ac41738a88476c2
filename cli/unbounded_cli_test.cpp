// Sizes without an upper bound on the command line: what each command reports about them, and what limits them.
#include "cli/cli_test_support.h"

namespace wick::cli {
namespace {

using UnboundedCli = Cli;

NamedArray integers(const std::string& name, const std::vector<int64_t>& numbers) {
  NamedArray array{name, DType::i64, {static_cast<int64_t>(numbers.size())}, {}};
  array.bytes.resize(numbers.size() * sizeof(int64_t));
  memcpy(array.bytes.data(), numbers.data(), array.bytes.size());
  return array;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(UnboundedCli, CompileAndInspectSayWhatTakesMemoryAndWhoFreesIt) {
  const std::string model = fixture("structure/unbounded_mlp.pt2"), program = path("mlp.pte");
  Outcome outcome = wick("compile " + model + " --backend portable -o " + program + " --report " + path("report.json"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(says(outcome.err, "values without an upper bound (")) << outcome.err;
  std::ifstream report(path("report.json"));
  const std::string json((std::istreambuf_iterator<char>(report)), {});
  EXPECT_TRUE(says(json, "\"unbounded\":[{\"name\":\"") && says(json, "\"memory\":\"the caller's\"") &&
              says(json, "freed after instruction") && says(json, "kept until the next execution"))
      << json;
  outcome = wick("inspect " + program);
  EXPECT_TRUE(says(outcome.out, "f32[?, 4]") && says(outcome.out, "freed by instruction")) << outcome.out;
  outcome = wick("inspect " + program + " --json");
  EXPECT_TRUE(says(outcome.out, "\"type\":\"f32[?, 8]\",\"memory\":\"freed by instruction")) << outcome.out;
  outcome = wick("explain " + model + " --backend xnnpack");
  EXPECT_TRUE(says(outcome.out, "a size without upper bound")) << outcome.out;
  outcome = wick("compile " + model + " --max-size 8 -o " + path("bounded.pte"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_FALSE(says(outcome.err, "without an upper bound")) << outcome.err;
}

TEST_F(UnboundedCli, WhoHasNoAllocatorRefuses) {
  const std::string model = fixture("structure/unbounded_mlp.pt2");
  Outcome outcome = wick("compile " + model + " --backend portable --profile stock -o " + path("x.pte"));
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(says(outcome.err, "stock's runtime has no memory for such a value") && says(outcome.err, "--max-size"))
      << outcome.err;
  outcome = wick("compile " + model + " --backend portable --max-arena 1MB -o " + path("x.pte"));
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_TRUE(says(outcome.err, "so --max-arena does not limit its memory")) << outcome.err;
  outcome = wick("compile " + model + " --backend portable -o " + path("x.pte"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = wick("package " + path("x.pte") + " -o " + path("package"));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_TRUE(says(outcome.err, "no upper bound, and a firmware has no allocator")) << outcome.err;
}

TEST_F(UnboundedCli, TheLimitOfMemoryEndsTheExecutionInWords) {
  compile("structure/unbounded_bincount.pt2", "count.pte");
  const std::string run = "run " + path("count.pte") + " -i " + path("in.npz");
  save("in.npz", {integers("in0", {1, 0, int64_t{1} << 30, 1}), integers("in1", {3, 4})});
  Outcome outcome = wick(run);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_TRUE(says(outcome.err, "values without an upper bound need more memory than the limit allows") &&
              says(outcome.err, "--max-memory BYTES"))
      << outcome.err;
  save("in.npz", {integers("in0", {1, 0, 100000, 1}), integers("in1", {3, 4})});
  EXPECT_EQ(wick(run).exit_code, 0);
  EXPECT_EQ(wick(run + " --max-memory 100KB").exit_code, 4);
  EXPECT_EQ(wick(run + " --max-memory 100MB").exit_code, 0);
}

TEST_F(UnboundedCli, BenchProfileCompareAndRandomInputsTakeSuchPrograms) {
  for (const std::string name : {"unbounded_selections", "unbounded_control_flow", "unbounded_repeat_interleave"}) {
    const std::string model = fixture("structure/" + name + ".pt2");
    compile("structure/" + name + ".pt2", "x.pte");
    const std::string inputs = " -i " + fixture("structure/" + name + ".step1.in.npz");
    Outcome outcome = wick("run " + path("x.pte"));
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    outcome = wick("bench " + path("x.pte") + " --runs 2 --warmup 1" + inputs);
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    outcome = wick("profile " + path("x.pte") + " --runs 2" + inputs);
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
    outcome = wick("compare " + model + " " + path("x.pte") + inputs);
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.out << outcome.err;
    outcome = wick("verify " + path("x.pte"));
    EXPECT_EQ(outcome.exit_code, 0) << name << outcome.err;
  }
}

}  // namespace
}  // namespace wick::cli
