// Tests of the commands through the built tool. Tests about files: cli_files_test.cpp.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cli/arrays/array_summary.h"
#include "cli/cli_test_support.h"
#include "common/float16.h"

namespace wick::cli {
namespace {

TEST_F(Cli, ProcessorCanBeLimitedAndTheResultsAgree) {
  compile("digits/digits.pt2", "digits.pte");
  for (const char* level : {"baseline", "sse4.1", "avx", "avx2", "avx512", "native"}) {
    const Outcome run = wick("run " + path("digits.pte") + " --seed 1 -o " + path(std::string(level) + ".npz"),
                             std::string("WICK_CPU=") + level + " ");
    ASSERT_EQ(run.exit_code, 0) << run.err;
    expect_same(path(std::string(level) + ".npz"), path("baseline.npz"));
  }
  const Outcome unknown = wick("run " + path("digits.pte") + " --seed 1", "WICK_CPU=avx3 ");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("WICK_CPU names no level"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("found  avx3"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("baseline, sse4.1, avx, avx2, avx512 or native"), std::string::npos) << unknown.err;
}

TEST_F(Cli, ThreadsOfTheEnvironmentAreANumber) {
  compile("digits/digits.pt2", "digits.pte");
  for (const char* wrong : {"all", "0", "-3", "2x", "257"}) {
    const Outcome outcome = wick("run " + path("digits.pte"), std::string("WICK_NUM_THREADS=") + wrong + " ");
    EXPECT_EQ(outcome.exit_code, 2) << wrong;
    EXPECT_NE(outcome.err.find("WICK_NUM_THREADS"), std::string::npos) << outcome.err;
  }
  for (const char* right : {"", "1"})
    EXPECT_EQ(wick("run " + path("digits.pte"), std::string("WICK_NUM_THREADS=") + right + " ").exit_code, 0) << right;
}

TEST_F(Cli, HelpNamesEveryCommandAndEndsWithZero) {
  const Outcome outcome = wick("--help");
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* name :
       {"compile", "run", "bench", "profile", "inspect", "explain", "verify", "ops", "compare", "opt"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
    const Outcome help = wick(std::string(name) + " --help");
    EXPECT_EQ(help.exit_code, 0) << name;
    EXPECT_NE(help.out.find("Examples:"), std::string::npos) << name;
  }
}

TEST_F(Cli, SizesThatTheModelWasNotExportedForAreRefused) {
  compile("structure/even_sizes_only.pt2", "even.pte");
  save("even.npz", {floats("in0", {4, 2})});
  save("odd.npz", {floats("in0", {5, 2})});
  EXPECT_EQ(wick("run " + path("even.pte") + " -i " + path("even.npz")).exit_code, 0);
  const Outcome outcome = wick("run " + path("even.pte") + " -i " + path("odd.npz"));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("the model was exported for sizes with (inputs[0].size()[0] % 2) == 0"), std::string::npos)
      << outcome.err;
}

TEST_F(Cli, AnIntegerInputThatBreaksItsRangeIsNamed) {
  compile("structure/int_in_range.pt2", "n.pte");
  const auto run = [&](int64_t n, int64_t k) {
    NamedArray first{"in1", DType::i64, {}, std::vector<uint8_t>(8)},
        second{"in2", DType::i64, {}, std::vector<uint8_t>(8)};
    memcpy(first.bytes.data(), &n, 8);
    memcpy(second.bytes.data(), &k, 8);
    save("n.npz", {floats("in0", {10, 2}), first, second});
    return wick("run " + path("n.pte") + " -i " + path("n.npz"));
  };
  EXPECT_EQ(run(9, 5).exit_code, 0);
  const Outcome outcome = run(10, 5);
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("input 1 ('inputs_1') must be in [3, 9]"), std::string::npos) << outcome.err;
  const Outcome random = wick("run " + path("n.pte"));
  EXPECT_EQ(random.exit_code, 0) << random.err;
  const Outcome fixed = run(9, 6);
  EXPECT_EQ(fixed.exit_code, 2);
  EXPECT_NE(fixed.err.find("input 2 ("), std::string::npos) << fixed.err;
}

// Elements of vectors, numbers of few bits, indices.
TEST_F(Cli, RandomIntegersAreWhatTheProgramReadsThemAs) {
  compile("structure/numbers_of_a_vector.pt2", "v.pte");
  for (const char* seed : {"0", "1", "2"}) {
    const Outcome outcome = wick("run " + path("v.pte") + " --seed " + seed);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

// Sizes of 2 break its guards.
TEST_F(Cli, RandomInputsObeyTheGuardsOfTheExport) {
  compile("structure/arange_of_fractions.pt2", "m.pte");
  const Outcome outcome = wick("run " + path("m.pte"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(Cli, NumbersThatAreNeverNegativeAreRefusedSo) {
  const Outcome outcome = wick("run model.pte --seed -1");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("'-1' is not a number of 0 or more"), std::string::npos) << outcome.err;
}

TEST_F(Cli, MaxSizeIsANumberOrANameWithOne) {
  const std::string command = "compile " + fixture("structure/even_sizes_only.pt2") + " -o " + path("m.pte");
  for (const char* wrong : {"=4", "x=", "0", "4k", "-3"})
    EXPECT_EQ(wick(command + " --max-size=" + wrong).exit_code, 2) << wrong;
  EXPECT_EQ(wick(command + " --max-size 8").exit_code, 0);
  const Outcome outcome = wick(command + " --max-size nothing=8");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("no size of the model is called 'nothing'"), std::string::npos) << outcome.err;
  EXPECT_EQ(wick("explain " + fixture("structure/even_sizes_only.pt2") + " --max-size 8").exit_code, 0);
  EXPECT_EQ(wick("explain " + fixture("structure/even_sizes_only.pt2") + " --max-size nothing=8").exit_code, 2);
}

TEST_F(Cli, NumbersOutsideTheirRangeAreUsage) {
  for (const char* wrong : {"bench m.pte --runs 0", "bench m.pte --runs 1000001", "bench m.pte --runs many",
                            "compare m.pt2 m.pte --rtol=-1", "compare m.pt2 m.pte --atol nan"}) {
    const Outcome outcome = wick(wrong);
    EXPECT_EQ(outcome.exit_code, 2) << wrong;
    EXPECT_NE(outcome.err.find("' is not a number"), std::string::npos) << outcome.err;
  }
}

TEST_F(Cli, WrongFlagIsUsage) {
  EXPECT_EQ(wick("run model.pte --no-such-flag").exit_code, 2);
  EXPECT_EQ(wick("no-such-command").exit_code, 2);
  EXPECT_EQ(wick("").exit_code, 2);
}

TEST_F(Cli, DigitsGiveEagersLogits) {
  compile("digits/digits.pt2", "digits.pte");
  const Outcome outcome =
      wick("run " + path("digits.pte") + " -i " + fixture("digits/digits.in.npz") + " -o " + path("out.npz"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_same(path("out.npz"), fixture("digits/digits.out.npz"));
}

TEST_F(Cli, RunDescribesOutputsAsJson) {
  compile("digits/digits.pt2", "digits.pte");
  const Outcome outcome = wick("run " + path("digits.pte") + " -i " + fixture("digits/digits.in.npz") + " --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("{\"schema\":\"wick.run.1\",\"method\":\"forward\",\"outputs\":[{\"name\":\"out0\","
                             "\"dtype\":\"f32\",\"sizes\":[1,10],\"min\":"),
            0u)
      << outcome.out;
}

TEST_F(Cli, EqualSeedsGiveEqualBytes) {
  compile("digits/digits.pt2", "digits.pte");
  for (const char* name : {"a.npz", "b.npz"})
    ASSERT_EQ(wick("run " + path("digits.pte") + " --seed 7 -o " + path(name)).exit_code, 0);
  ASSERT_EQ(wick("run " + path("digits.pte") + " --seed 8 -o " + path("c.npz")).exit_code, 0);
  EXPECT_EQ(slurp(path("a.npz")), slurp(path("b.npz")));
  EXPECT_NE(slurp(path("a.npz")), slurp(path("c.npz")));
}

TEST_F(Cli, WrongInputsAreExplained) {
  compile("digits/digits.pt2", "digits.pte");
  const std::string run = "run " + path("digits.pte") + " -i " + path("in.npz");
  save("in.npz", {floats("a", {1, 1, 8, 8}), floats("b", {1})});
  Outcome outcome = wick(run);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("a different number of inputs"), std::string::npos) << outcome.err;
  NamedArray wrong = floats("a", {1, 1, 8, 8});
  wrong.dtype = DType::i32;
  save("in.npz", {wrong});
  outcome = wick(run);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("a different dtype"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("i32[1, 1, 8, 8]"), std::string::npos) << outcome.err;
  save("in.npz", {floats("a", {8, 8})});
  outcome = wick(run);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("a different rank"), std::string::npos) << outcome.err;
  save("in.npz", {floats("a", {1, 1, 8, 9})});
  outcome = wick(run);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("dimension 3 of input 0"), std::string::npos) << outcome.err;
}

TEST_F(Cli, RangeViolationNamesDimensionValueAndRule) {
  compile("digits/digits_dynamic.pt2", "digits.pte");
  save("in.npz", {floats("a", {513, 1, 8, 8})});
  const Outcome outcome = wick("run " + path("digits.pte") + " -i " + path("in.npz"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("dimension 0 of input 0"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("513"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("<= 512"), std::string::npos) << outcome.err;
}

TEST_F(Cli, RelationViolationNamesTheOtherDimension) {
  compile("structure/dynamic_plus_one.pt2", "plus.pte");
  auto arrays = read_arrays(fixture("structure/dynamic_plus_one.step1.in.npz"));
  ASSERT_TRUE(arrays.ok());
  ASSERT_EQ(arrays->size(), 2u);
  std::vector<NamedArray> wrong = {(*arrays)[0], floats("in1", (*arrays)[1].sizes)};
  wrong[1].sizes[0] += 1;
  wrong[1] = floats("in1", wrong[1].sizes);
  save("in.npz", wrong);
  const Outcome outcome = wick("run " + path("plus.pte") + " -i " + path("in.npz"));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_NE(outcome.err.find("where s"), std::string::npos) << outcome.err;
}

TEST_F(Cli, BurntInValuesMustBeRepeated) {
  compile("structure/burnt_in_inputs.pt2", "burnt.pte");
  const std::string in = fixture("structure/burnt_in_inputs.in.npz");
  ASSERT_EQ(wick("run " + path("burnt.pte") + " -i " + in + " -o " + path("out.npz")).exit_code, 0);
  expect_same(path("out.npz"), fixture("structure/burnt_in_inputs.out.npz"));
  auto arrays = read_arrays(in);
  ASSERT_TRUE(arrays.ok());
  (*arrays)[1].bytes[0] ^= 1;
  save("in.npz", *arrays);
  const Outcome outcome = wick("run " + path("burnt.pte") + " -i " + path("in.npz"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("fixed when the model was exported"), std::string::npos) << outcome.err;
}

TEST_F(Cli, InputsGoByNameWhenAllNamesAreInputs) {
  compile("digits/digits.pt2", "digits.pte");
  const Outcome inspected = wick("inspect " + path("digits.pte") + " --json");
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_NE(inspected.out.find("\"name\":\"image\""), std::string::npos) << inspected.out;
  auto arrays = read_arrays(fixture("digits/digits.in.npz"));
  ASSERT_TRUE(arrays.ok());
  (*arrays)[0].name = "image";
  save("in.npz", *arrays);
  ASSERT_EQ(wick("run " + path("digits.pte") + " -i " + path("in.npz") + " -o " + path("out.npz")).exit_code, 0);
  expect_same(path("out.npz"), fixture("digits/digits.out.npz"));
}

TEST_F(Cli, AMisspeltNameIsRefusedByEveryCommandThatTakesInputs) {
  compile("structure/dynamic_plus_one.pt2", "m.pte");
  auto arrays = read_arrays(fixture("structure/dynamic_plus_one.step1.in.npz"));
  ASSERT_TRUE(arrays.ok());
  ASSERT_EQ(arrays->size(), 2u);
  (*arrays)[0].name = "inputs_0";
  (*arrays)[1].name = "input_1";
  save("in.npz", *arrays);
  const std::string model = fixture("structure/dynamic_plus_one.pt2") + " ", program = path("m.pte");
  for (const std::string& command : {"run " + program, "bench " + program, "profile " + program,
                                     "compare " + model + program, "test-lower --backend portable " + model}) {
    const Outcome outcome = wick(command + " -i " + path("in.npz"));
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("did you mean 'inputs_1' instead of 'input_1'?"), std::string::npos)
        << command << outcome.err;
  }
}

/// A program with its arrays: one call, or several steps on one loaded program.
class Fixtures : public Cli, public ::testing::WithParamInterface<const char*> {
 protected:
  void expect_eager(const std::string& program, const std::string& stem) const {
    std::string command = "run " + program;
    std::vector<std::pair<std::string, std::string>> results;
    if (fs::exists(stem + ".out.npz")) {
      if (fs::exists(stem + ".in.npz")) command += " -i " + stem + ".in.npz";
      command += " -o " + path("out.npz");
      results.emplace_back(path("out.npz"), stem + ".out.npz");
    }
    for (int step = 1; fs::exists(stem + ".step" + std::to_string(step) + ".in.npz"); ++step) {
      const std::string name = ".step" + std::to_string(step), out = path("out" + std::to_string(step) + ".npz");
      command += " --step " + stem + name + ".in.npz=" + out;
      results.emplace_back(out, stem + name + ".out.npz");
    }
    ASSERT_FALSE(results.empty());
    const Outcome outcome = wick(command);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    for (const auto& [found, wanted] : results) expect_same(found, wanted);
  }
};

class Structure : public Fixtures {};

TEST_P(Structure, GivesEagersOutputs) {
  const std::string name = std::string("structure/") + GetParam();
  compile(name + ".pt2", "m.pte");
  expect_eager(path("m.pte"), fixture(name));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Structure,
                         ::testing::Values("counter", "cache_index_put", "input_add", "none_output", "literal_outputs",
                                           "nested_pytrees", "constant_output", "dynamic_batch", "dynamic_plus_one",
                                           "dynamic_times_four", "dynamic_sizes_out", "dynamic_int_input",
                                           "same_tensor_twice", "input_returned", "tied_weights", "no_inputs",
                                           "unused_inputs", "cond", "nonzero"),
                         [](const auto& param) { return std::string(param.param); });

class Stock : public Fixtures {};

TEST_P(Stock, ProgramGivesEagersOutputs) {
  const std::string stem = fixture(std::string("stock/1.5/") + GetParam());
  expect_eager(stem + ".pte", stem);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Stock,
                         ::testing::Values("add", "channels_last", "counter", "dynamic_batch", "half",
                                           "initialized_counter", "int_input", "kv_cache", "nested_outputs",
                                           "same_output_twice", "scan", "unplanned_io"),
                         [](const auto& param) { return std::string(param.param); });

TEST_F(Cli, SeveralMethodsAskForAName) {
  const Outcome compiled = wick("compile encode=" + fixture("structure/methods_encoder.pt2") +
                                " decode=" + fixture("structure/methods_decoder.pt2") + " -o " + path("m.pte"));
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Outcome unnamed = wick("run " + path("m.pte"));
  EXPECT_EQ(unnamed.exit_code, 2);
  EXPECT_NE(unnamed.err.find("decode, encode"), std::string::npos) << unnamed.err;
  EXPECT_EQ(wick("run " + path("m.pte") + " --method absent").exit_code, 2);
  const Outcome steps =
      wick("run " + path("m.pte") + " --step encode:" + fixture("structure/methods_encoder.in.npz") + "=" +
           path("e.npz") + " --step decode:" + fixture("structure/methods_decoder.in.npz") + "=" + path("d.npz"));
  ASSERT_EQ(steps.exit_code, 0) << steps.err;
  expect_same(path("e.npz"), fixture("structure/methods_encoder.out.npz"));
  expect_same(path("d.npz"), fixture("structure/methods_decoder.out.npz"));
}

TEST_F(Cli, ExternalWeightsAreAskedFor) {
  const std::string program = fixture("stock/1.5/external_weights.pte");
  const Outcome without = wick("run " + program + " -i " + fixture("stock/1.5/external_weights.in.npz"));
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_NE(without.err.find("--data"), std::string::npos) << without.err;
  const Outcome with = wick("run " + program + " --data " + fixture("stock/1.5/external_weights.ptd") + " -i " +
                            fixture("stock/1.5/external_weights.in.npz") + " -o " + path("o.npz"));
  ASSERT_EQ(with.exit_code, 0) << with.err;
  expect_same(path("o.npz"), fixture("stock/1.5/external_weights.out.npz"));
}

// Both models call their only weight "w".
TEST_F(Cli, EqualNamesOfDifferentWeightsStayApartInTheWeightsFile) {
  const std::string weights = path("w.ptd");
  ASSERT_EQ(wick("compile a=" + fixture("structure/cond.pt2") + " b=" + fixture("structure/dynamic_batch.pt2") +
                 " -o " + path("m.pte") + " --external-weights " + weights)
                .exit_code,
            0);
  const std::string run = "run " + path("m.pte") + " --data " + weights + " -o " + path("o.npz");
  ASSERT_EQ(wick(run + " --method a -i " + fixture("structure/cond.step1.in.npz")).exit_code, 0);
  expect_same(path("o.npz"), fixture("structure/cond.step1.out.npz"));
  ASSERT_EQ(wick(run + " --method b -i " + fixture("structure/dynamic_batch.step1.in.npz")).exit_code, 0);
  expect_same(path("o.npz"), fixture("structure/dynamic_batch.step1.out.npz"));
}

TEST_F(Cli, StructureInTheFileIsShown) {
  compile("digits/digits.pt2", "digits.pte");
  const Outcome text = wick("inspect " + path("digits.pte") + " --instructions");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* wanted : {"method forward", "f32[1, 1, 8, 8]", "aten::", "constants, largest first", "digits.py:"}) {
    EXPECT_NE(text.out.find(wanted), std::string::npos) << wanted << "\n" << text.out;
  }
  const Outcome model = wick("inspect " + fixture("digits/digits.pt2"));
  ASSERT_EQ(model.exit_code, 0) << model.err;
  EXPECT_NE(model.out.find("torch 2."), std::string::npos) << model.out;
  EXPECT_EQ(wick("inspect " + fixture("digits/digits.pt2") + " --json").out.find("{\"schema\":\"wick.inspect.1\""), 0u);
}

TEST_F(Cli, ExplainNamesPlacesAndDrawsTheArena) {
  const Outcome outcome =
      wick("explain " + fixture("digits/digits.pt2") + " --backend portable --svg " + path("arena.svg"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("portable"), std::string::npos);
  EXPECT_NE(outcome.out.find("peak at instruction"), std::string::npos);
  EXPECT_EQ(slurp(path("arena.svg")).find("<svg "), 0u);
  EXPECT_EQ(wick("explain " + fixture("digits/digits.pt2") + " --backend no_such").exit_code, 2);
}

TEST_F(Cli, DelegatesAreCompiledExplainedAndInspected) {
  const std::string model = fixture("structure/tied_weights.pt2");
  const Outcome compiled = wick("compile " + model + " -o " + path("m.pte") + " --backend xnnpack --json");
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_NE(compiled.out.find(R"("delegates":1)"), std::string::npos) << compiled.out;
  EXPECT_NE(compiled.out.find(R"("outside":[{"op":"aten.embedding.default")"), std::string::npos) << compiled.out;
  const Outcome explained = wick("explain " + model + " --backend xnnpack --json");
  ASSERT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_NE(explained.out.find(R"({"op":"aten.linear.default","runs_on":"xnnpack")"), std::string::npos)
      << explained.out;
  const Outcome inspected = wick("inspect " + path("m.pte") + " --json");
  ASSERT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_NE(inspected.out.find(R"("inputs":1,"outputs":1,"named_data":[{"key":)"), std::string::npos) << inspected.out;
  // The table of the embedding, the linear's weight too, is stored once: f32[5, 4].
  EXPECT_NE(compiled.out.find(R"("constant_bytes":80)"), std::string::npos) << compiled.out;
}

TEST_F(Cli, ExplainTellsWhatCutsAModelAndWhatThatCosts) {
  const std::string model = "explain " + fixture("structure/in_place_masks.pt2") + " --backend xnnpack";
  const Outcome text = wick(model), json = wick(model + " --json");
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const size_t at = text.out.find("method forward: graph break between delegates 0 and 1\n");
  ASSERT_NE(at, std::string::npos) << text.out;
  EXPECT_NE(text.out.find("  each run: 48 bytes leave delegate 0, 96 bytes enter delegate 1\n", at), std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("1 delegate in place of 2\n", at), std::string::npos) << text.out;
  EXPECT_NE(json.out.find(R"("graph_breaks":[{"before":0,"after":1,"body_of":"","nodes":[{"op":")"), std::string::npos)
      << json.out;
  EXPECT_NE(json.out.find(R"("bytes_out":48,"bytes_in":96,)"), std::string::npos) << json.out;
  const Outcome whole = wick("explain " + fixture("digits/digits.pt2") + " --backend xnnpack --json");
  EXPECT_NE(whole.out.find(R"("graph_breaks":[])"), std::string::npos) << whole.out;
}

// Methods of one model share its buffers; a call of one is seen by the next call of another.
TEST_F(Cli, MethodsShareTheBuffersOfTheirModel) {
  const auto compile = [&](const std::string& model, const std::string& flags) {
    const std::string file = fixture("structure/" + model + ".pt2");
    return wick("compile a=" + file + " b=" + file + " -o " + path("two.pte") + " --backend portable " + flags);
  };
  const std::string says = "method 'b' uses the state 'count' of method 'a'";
  const Outcome counters = compile("counter", "");
  ASSERT_EQ(counters.exit_code, 0) << counters.err;
  EXPECT_NE(counters.err.find("method 'b' has its own buffer 'count': method 'a' has no parameter of the same name "
                              "(--share-state shares it)"),
            std::string::npos)
      << counters.err;
  for (const char* flags : {"--share-state", "--share-state=count"}) {
    ASSERT_EQ(compile("counter", flags).exit_code, 0);
    EXPECT_NE(wick("inspect " + path("two.pte")).out.find(says), std::string::npos) << flags;
    EXPECT_NE(wick("explain " + path("two.pte")).out.find(says), std::string::npos) << flags;
    EXPECT_NE(wick("inspect --json " + path("two.pte")).out.find(R"("shared_states":[{"name":"count","owner":"a"}])"),
              std::string::npos);
  }
  const Outcome wrong = compile("counter", "--share-state=coun");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_NE(wrong.err.find("no two methods have a mutable buffer 'coun'"), std::string::npos) << wrong.err;
  EXPECT_NE(wrong.err.find("mutable buffers: count"), std::string::npos) << wrong.err;
  EXPECT_EQ(compile("counter", "--share-state --no-share-state").exit_code, 2);
  EXPECT_EQ(compile("counter", "--share-state=,").exit_code, 2);
  EXPECT_EQ(compile("counter", "--share-state=none --share-state=count").exit_code, 2);

  ASSERT_EQ(compile("batch_norm_training", "").exit_code, 0);  // it has parameters
  EXPECT_NE(wick("inspect " + path("two.pte"))
                .out.find("method 'b' uses the states '1.num_batches_tracked', '1.running_mean', '1.running_var' of "
                          "method 'a'"),
            std::string::npos);
  ASSERT_EQ(compile("batch_norm_training", "--no-share-state").exit_code, 0);
  EXPECT_EQ(wick("inspect " + path("two.pte")).out.find("of method 'a'"), std::string::npos);

  const std::string input = fixture("structure/counter.step1.in.npz");
  const auto second_output = [&](const std::string& flags, const std::string& second) {
    EXPECT_EQ(compile("counter", flags).exit_code, 0);
    const Outcome steps = wick("run " + path("two.pte") + " --step a:" + input + "=" + path("1.npz") + " --step " +
                               second + ":" + input + "=" + path("2.npz"));
    EXPECT_EQ(steps.exit_code, 0) << steps.err;
    return slurp(path("2.npz"));
  };
  const std::string want = second_output("", "a");
  EXPECT_NE(want, slurp(path("1.npz")));
  EXPECT_EQ(second_output("--share-state", "b"), want);
  EXPECT_EQ(second_output("", "b"), slurp(path("1.npz")));
}

TEST_F(Cli, DelegatesOfSeveralMethodsShareTheirWeights) {
  const std::string model = fixture("digits/digits.pt2"), batches = fixture("digits/digits_dynamic.pt2");
  const Outcome one = wick("compile " + model + " -o " + path("one.pte") + " --json");
  const Outcome both = wick("compile one=" + model + " many=" + batches + " -o " + path("two.pte") + " --json");
  ASSERT_EQ(both.exit_code, 0) << both.err;
  const auto constant_bytes = [](const Outcome& outcome) {
    const size_t at = outcome.out.find("\"constant_bytes\":");
    return outcome.out.substr(at, outcome.out.find(',', at) - at);
  };
  EXPECT_EQ(constant_bytes(both), constant_bytes(one));
  const std::string input = fixture("digits/digits.in.npz");
  const Outcome steps = wick("run " + path("two.pte") + " --step one:" + input + "=" + path("a.npz") +
                             " --step many:" + input + "=" + path("b.npz"));
  if (steps.err.find("no XNNPACK library") != std::string::npos) GTEST_SKIP() << "no XNNPACK library";
  ASSERT_EQ(steps.exit_code, 0) << steps.err;
  expect_same(path("a.npz"), path("b.npz"));
}

TEST_F(Cli, FullDelegationIsRefusedWithTheNodesOutside) {
  const std::string model = fixture("structure/tied_weights.pt2");
  const Outcome whole =
      wick("compile " + model + " -o " + path("m.pte") + " --backend xnnpack --require-full-delegation");
  EXPECT_EQ(whole.exit_code, 6);
  EXPECT_NE(whole.err.find("aten.embedding.default: "), std::string::npos) << whole.err;
  EXPECT_FALSE(fs::exists(path("m.pte")));
  EXPECT_EQ(
      wick("compile " + model + " -o " + path("m.pte") + " --backend portable --require-full-delegation").exit_code, 2);
  const Outcome unknown = wick("compile " + model + " -o " + path("m.pte") + " --backend portable,nothing");
  EXPECT_EQ(unknown.exit_code, 2);
  for (const char* name : {"xnnpack,", ",portable"})
    EXPECT_NE(unknown.err.find(name), std::string::npos) << unknown.err;
}

TEST_F(Cli, OptionsOfBackendsAreChecked) {
  const std::string compile = "compile " + fixture("digits/digits.pt2") + " -o " + path("m.pte") + " --backend ";
  EXPECT_EQ(wick(compile + "xnnpack:group-scales=bf16").exit_code, 0);
  EXPECT_EQ(wick(compile + "xnnpack:group-scales=exact,group-scales=bf16,portable").exit_code, 0);
  const Outcome value = wick(compile + "xnnpack:group-scales=f16");
  EXPECT_EQ(value.exit_code, 2);
  EXPECT_NE(value.err.find("exact|bf16"), std::string::npos) << value.err;
  const Outcome name = wick(compile + "xnnpack:scales=bf16");
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_NE(name.err.find("group-scales"), std::string::npos) << name.err;
  EXPECT_EQ(wick(compile + "portable:a=b").exit_code, 2);
  EXPECT_NE(wick("compile --help").out.find("xnnpack:group-scales=exact|bf16"), std::string::npos);
}

TEST_F(Cli, HelpNamesTheBackendsAndWhoseOptionsTheirFlagsAre) {
  for (const char* command : {"compile", "explain"}) {
    const std::string help = wick(std::string(command) + " --help").out;
    for (const char* name : {"names: ", "xnnpack", "cortex-m", "cuda", "; portable is always last"})
      EXPECT_NE(help.find(name), std::string::npos) << name << help;
    EXPECT_NE(help.find("(cortex-m) processor: cortex-m55 (default), m52"), std::string::npos) << help;
    for (const char* option : {"--cpu NAME ", "--twin FILE ", "--emit-source DIR "})
      EXPECT_NE(help.find(option), std::string::npos) << option << help;
    EXPECT_NE(help.find("--allow-tf32 "), std::string::npos) << help;
    EXPECT_NE(help.find("(cuda) matmuls and convolutions of f32"), std::string::npos) << help;
  }
}

TEST_F(Cli, FlagsOfBackendsGoToTheBackendsAskedFor) {
  const std::string compile = "compile " + fixture("digits/digits.pt2") + " -o " + path("m.pte");
  EXPECT_EQ(wick(compile + " --backend cortex-m --cpu cortex-m4 --isa scalar").exit_code, 0);
  const Outcome pair = wick(compile + " --backend cortex-m --cpu cortex-m3 --isa dsp");
  EXPECT_EQ(pair.exit_code, 2);
  EXPECT_NE(pair.err.find("cortex-m3 does not have the instruction set dsp"), std::string::npos) << pair.err;
  const Outcome nobody = wick(compile + " --backend portable --cpu cortex-m3");
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_NE(nobody.err.find("add --backend cortex-m"), std::string::npos) << nobody.err;
  const Outcome rounded = wick(compile + " --backend xnnpack --allow-tf32");
  EXPECT_EQ(rounded.exit_code, 2);
  EXPECT_NE(rounded.err.find("add --backend cuda"), std::string::npos) << rounded.err;
  EXPECT_EQ(wick("explain " + fixture("digits/digits.pt2") + " --backend cortex-m --isa vectors").exit_code, 2);
}

TEST_F(Cli, OperatorsAreListedAndTheirTableEmitted) {
  compile("digits/digits.pt2", "digits.pte");
  const Outcome listed = wick("ops " + path("digits.pte"));
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find("aten::convolution.out"), std::string::npos) << listed.out;
  ASSERT_EQ(wick("ops " + path("digits.pte") + " --emit-table " + path("table.cpp")).exit_code, 0);
  const std::string source = slurp(path("table.cpp"));
  EXPECT_NE(source.find("KernelTable portable_kernels()"), std::string::npos);
  EXPECT_NE(source.find("{\"aten::convolution.out\", \""), std::string::npos) << source;
  EXPECT_EQ(source.find("aten::sort"), std::string::npos);
  EXPECT_EQ(wick("ops --cases --json").out.find("{\"schema\":\"wick.ops.cases.1\""), 0u);
}

TEST_F(Cli, BenchReportsTheContractedFields) {
  compile("digits/digits.pt2", "digits.pte");
  const Outcome outcome = wick("bench " + path("digits.pte") + " --warmup 1 --runs 3 --threads 1 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* field : {"median_ms", "min_ms", "p90_ms", "load_ms", "first_ms", "peak_bytes", "\"threads\":1"}) {
    EXPECT_NE(outcome.out.find(field), std::string::npos) << field;
  }
}

TEST_F(Cli, ProfileNamesModulesOperatorsAndPlaces) {
  compile("digits/digits.pt2", "digits.pte");
  const std::string arguments = "profile " + path("digits.pte") + " --warmup 0 --runs 3 --threads 1";
  const Outcome table = wick(arguments + " --trace " + path("trace.json"));
  ASSERT_EQ(table.exit_code, 0) << table.err;
  for (const char* text : {"modules\n", "operators\n", "slowest ", "100.0 %  forward\n", "aten::linear.out", "kernel"})
    EXPECT_NE(table.out.find(text), std::string::npos) << text << " in " << table.out;
  const std::string trace = slurp(path("trace.json"));
  EXPECT_EQ(trace.find("{\"displayTimeUnit\":\"ms\",\"traceEvents\":["), 0u) << trace;
  EXPECT_NE(trace.find("{\"name\":\"aten::linear.out\",\"cat\":\"kernel\",\"ph\":\"X\""), std::string::npos) << trace;
  const Outcome json = wick(arguments + " --json");
  ASSERT_EQ(json.exit_code, 0) << json.err;
  for (const char* field :
       {"{\"schema\":\"wick.profile.1\"", "\"threads\":1", "\"runs\":3", "\"self_ms\"", "\"steps\":["})
    EXPECT_NE(json.out.find(field), std::string::npos) << field;
}

TEST_F(Cli, ProfileLooksIntoDelegates) {
  const Outcome compiled = wick("compile " + fixture("digits/digits.pt2") + " --backend xnnpack -o " + path("x.pte"));
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  const Outcome outcome = wick("profile " + path("x.pte") + " --runs 2 --threads 1 --json");
  if (outcome.err.find("no XNNPACK library") != std::string::npos) GTEST_SKIP() << "no XNNPACK library";
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("{\"operator\":\"fully_connected\",\"library\":\"Fully Connected (NC, F32)"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\"module\":\""), std::string::npos);
  EXPECT_NE(outcome.out.find(".py:"), std::string::npos) << outcome.out;
}

// `wanted` and what is found instead, as f16 or bf16.
Difference compare_halves(DType dtype, const std::vector<float>& wanted, const std::vector<float>& found) {
  const auto array = [&](const std::vector<float>& values) {
    NamedArray result{"out0", dtype, {static_cast<int64_t>(values.size())}, {}};
    for (float value : values) {
      const uint16_t bits = dtype == DType::f16 ? Half(value).bits : BFloat16(value).bits;
      result.bytes.push_back(static_cast<uint8_t>(bits));
      result.bytes.push_back(static_cast<uint8_t>(bits >> 8));
    }
    return result;
  };
  return compare_arrays(array(found), array(wanted), {});
}

TEST_F(Cli, TestLowerChecksStagesAndRuns) {
  const std::string model = fixture("structure/windows.pt2");
  Outcome outcome = wick("test-lower " + model + " --no-run --dump import");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("graph forward("), std::string::npos) << outcome.out;
  outcome = wick("test-lower " + model + " --backend portable --delegates 0 --check-not wick.call_delegate");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(Cli, TestLowerRunsPassesOfALibraryAndOfTheTool) {
  const std::string command = "test-lower " + fixture("digits/digits.pt2") + " --backend portable --at passes ";
  const std::string load = "--load " WICK_TEST_PASSES " ";
  EXPECT_EQ(wick(command + "--no-run --check aten.relu --check-not aten.abs").exit_code, 0);
  Outcome outcome = wick(command + load + "--no-run --check aten.neg --check-not aten.relu --check-not aten.abs");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = wick(command + load + "--pass relu_to_abs --no-run --check aten.abs --check-not aten.relu");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(wick(command + load).exit_code, 5);  // another function
  outcome = wick(command + "--pass canonicalize");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = wick(command + load + "--pass relu_to_neg");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("there is no pass 'relu_to_neg'"), std::string::npos) << outcome.err;
  outcome = wick(command + "--load " + path("none.so"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("the library of passes does not exist"), std::string::npos) << outcome.err;
  outcome = wick(command + "--load " + fixture("digits/digits.pt2"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("cannot be loaded"), std::string::npos) << outcome.err;
}

TEST_F(Cli, TestLowerRunsOnOtherDevices) {
  const std::string command = "test-lower " + fixture("digits/digits.pt2") + " --backend ";
  const std::string twin = path("twin.so");
  Outcome outcome = wick(command + "cuda:gpu=none,twin=" + twin + " --delegates 1 --device cuda-twin=" + twin);
  if (outcome.err.find("NVRTC") == std::string::npos) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  outcome = wick(command + "portable --device no_such");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("no_such"), std::string::npos) << outcome.err;
}

TEST_F(Cli, TestLowerSaysWhichCheckFailed) {
  const std::string model = fixture("structure/windows.pt2");
  const Outcome outcome = wick("test-lower " + model + " --no-run --at import --check aten.no_such --delegates 77");
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_NE(outcome.err.find("after import: there is no aten.no_such"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("77 are wanted"), std::string::npos) << outcome.err;
  EXPECT_EQ(wick("test-lower " + model + " --no-run --check-count aten.add").exit_code, 2);
}

TEST(CompareArrays, HalvesMayDifferByRoundingsOfTheLargestElement) {
  const std::vector<float> wanted = {8, -4, 0.03F, 0};
  EXPECT_TRUE(compare_halves(DType::f16, wanted, {8.0625F, -4.0625F, 0.07F, 0.05F}).ok());
  EXPECT_TRUE(compare_halves(DType::bf16, wanted, {8.25F, -4.25F, 0.2F, -0.2F}).ok());
}

TEST(CompareArrays, ComplexHalvesHaveTwoParts) {
  const NamedArray wanted{"out0", DType::c32, {2}, {0x00, 0x3c, 0x00, 0xc0, 0x00, 0x00, 0x00, 0x38}};  // 1 - 2j, 0.5j
  EXPECT_EQ(summary(wanted), "out0  c32[2]  [1-2j, 0+0.5j]");
  NamedArray found = wanted;
  found.bytes[3] = 0xc1;  // 1 - 2.5j
  const Difference difference = compare_arrays(found, wanted, {});
  EXPECT_EQ(difference.count, 4u);
  EXPECT_EQ(difference.mismatches, 1u);
}

TEST(CompareArrays, HalvesOfAWrongModelAreFound) {
  const std::vector<float> wanted = {8, -4, 0.03F, 0};
  EXPECT_EQ(compare_halves(DType::f16, wanted, {8, -4, 0.03F, 0.2F}).mismatches, 1u);
  EXPECT_EQ(compare_halves(DType::f16, wanted, {-4, 8, 0.03F, 0}).mismatches, 2u);
  EXPECT_EQ(compare_halves(DType::bf16, wanted, {8, -4, 1, 0}).mismatches, 1u);
  // Small outputs are held to their own scale.
  EXPECT_EQ(compare_halves(DType::f16, {1e-3F, 5e-4F}, {1e-3F, 6e-4F}).mismatches, 1u);
  EXPECT_EQ(compare_halves(DType::bf16, {1e-2F, 5e-3F}, {1e-2F, 7e-3F}).mismatches, 1u);
}

TEST_F(Cli, CompareFindsTheProgramOfAnotherModel) {
  compile("digits/digits.pt2", "digits.pte");
  const std::string model = fixture("digits/digits.pt2");
  const Outcome same = wick("compare " + model + " " + path("digits.pte") + " -i " + fixture("digits/digits.in.npz"));
  EXPECT_EQ(same.exit_code, 0) << same.err << same.out;
  // One byte of the largest weight changes one number.
  std::string bytes = slurp(path("digits.pte"));
  const Outcome inspected = wick("inspect " + path("digits.pte") + " --json");
  const size_t base = inspected.out.find("\"segment_base\":");
  ASSERT_NE(base, std::string::npos);
  const size_t at = std::stoul(inspected.out.substr(base + 15)) + 3;
  ASSERT_LT(at, bytes.size());
  bytes[at] ^= 0x40;
  std::ofstream(path("other.pte"), std::ios::binary) << bytes;
  const Outcome other = wick("compare " + model + " " + path("other.pte") + " -i " + fixture("digits/digits.in.npz"));
  EXPECT_EQ(other.exit_code, 5) << other.err << other.out;
  EXPECT_NE(other.err.find("first node that deviates"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("digits.py:"), std::string::npos) << other.err;
  const std::string inputs = " -i " + fixture("digits/digits.in.npz") + " --json";
  const Outcome equal_json = wick("compare " + model + " " + path("digits.pte") + inputs);
  EXPECT_NE(equal_json.out.find("\"schema\":\"wick.compare.2\""), std::string::npos) << equal_json.out;
  EXPECT_NE(equal_json.out.find("\"first_deviation\":null"), std::string::npos) << equal_json.out;
  const Outcome other_json = wick("compare " + model + " " + path("other.pte") + inputs);
  EXPECT_NE(other_json.out.find("\"first_deviation\":{\"op\":"), std::string::npos) << other_json.out;
}

// update_cache returns one element that it never writes.
TEST_F(Cli, CompareDoesNotReadWhatAnOperatorLeavesUnwritten) {
  compile("structure/llm_cache.pt2", "cache.pte");
  const Outcome same = wick("compare " + fixture("structure/llm_cache.pt2") + " " + path("cache.pte") + " -i " +
                            fixture("structure/llm_cache.step1.in.npz") + " --json");
  EXPECT_EQ(same.exit_code, 0) << same.err << same.out;
  EXPECT_NE(same.out.find("\"first_deviation\":null"), std::string::npos) << same.out;
}

TEST_F(Cli, FailureWhileRunningNamesInstructionOperatorAndSource) {
  compile("structure/cache_index_copy.pt2", "cache.pte");
  auto arrays = read_arrays(fixture("structure/cache_index_copy.step1.in.npz"));
  ASSERT_TRUE(arrays.ok());
  size_t indices = 0;
  for (NamedArray& array : *arrays) {
    if (array.dtype != DType::i64) continue;
    ++indices;
    std::fill(array.bytes.begin(), array.bytes.end(), 0x3f);
  }
  ASSERT_GT(indices, 0u);
  save("in.npz", *arrays);
  const Outcome outcome = wick("run " + path("cache.pte") + " -i " + path("in.npz"));
  EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("instruction "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("aten::index_put.out"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(".py:"), std::string::npos) << outcome.err;
}

TEST_F(Cli, PassesRunOverText) {
  ASSERT_EQ(
      wick("compile " + fixture("digits/digits.pt2") + " -o " + path("d.pte") + " --dump-ir " + path("ir")).exit_code,
      0);
  const std::string ir = path("ir") + "/forward.00.import.ir";
  EXPECT_EQ(wick("verify " + ir).exit_code, 0);
  const Outcome outcome = wick("opt " + ir + " --pass dead_code");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("graph forward("), 0u) << outcome.out;
  EXPECT_EQ(wick("opt " + ir + " --pass no_such_pass").exit_code, 2);
  const std::string list = wick("opt --list").out;
  EXPECT_NE(list.find("canonicalize"), std::string::npos);
  EXPECT_NE(list.find("fold_quantization       last "), std::string::npos) << list;
}

TEST_F(Cli, AnUnknownDeviceIsRefusedWithTheList) {
  const Outcome outcome = wick("run " + fixture("cortex_m/linear.mve.pte") + " --device qemu-z80");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("there is no device 'qemu-z80'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("the devices are host, "), std::string::npos) << outcome.err;
}

TEST_F(Cli, CompareTakesTwoFilesOrOneWithADevice) {
  const std::string program = fixture("cortex_m/linear.mve.pte");
  const Outcome one = wick("compare " + program);
  EXPECT_EQ(one.exit_code, 2);
  EXPECT_NE(one.err.find("there is only one file"), std::string::npos) << one.err;
  const Outcome two = wick("compare model.pt2 " + program + " --device qemu-cortex-m55");
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_NE(two.err.find("compare takes the .pte alone"), std::string::npos) << two.err;
}

}  // namespace
}  // namespace wick::cli
