// Programs with delegates for another processor, through the built tool: compiled, run, compared and profiled on a
// twin.
#include "cli/cli_test_support.h"

namespace wick::cli {
namespace {

class DeviceCode : public Cli {
 protected:
  std::string twin() const { return "cuda-twin=" + path("twin.so"); }
  static std::string model(const std::string& name) { return fixture("structure/" + name); }
  // Makes model.pte and its twin.
  void compile(const std::string& name) const {
    const Outcome outcome = wick("compile " + model(name) + " -o " + path("model.pte") +
                                 " --backend cuda --gpu none --twin " + path("twin.so"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
};

TEST_F(DeviceCode, RunsComparesMeasuresAndProfilesOnATwin) {
  compile("two_inputs_three_outputs.pt2");
  const std::string program = path("model.pte"), on_twin = " --device " + twin();
  Outcome outcome =
      wick("run " + program + " -i " + model("two_inputs_three_outputs.in.npz") + " -o " + path("out.npz") + on_twin);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto found = read_arrays(path("out.npz")), wanted = read_arrays(model("two_inputs_three_outputs.out.npz"));
  ASSERT_TRUE(found.ok() && wanted.ok());
  ASSERT_EQ(found->size(), wanted->size());
  for (size_t i = 0; i < found->size(); ++i)
    EXPECT_TRUE(compare_arrays((*found)[i], (*wanted)[i], {}).ok()) << (*found)[i].name;
  outcome = wick("compare " + model("two_inputs_three_outputs.pt2") + " " + program + on_twin);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  outcome = wick("bench " + program + " --runs 2 --json" + on_twin);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"median_ms\""), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\"device_median_ms\""), std::string::npos) << outcome.out;
  outcome = wick("profile " + program + " --runs 2 --json" + on_twin);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"library\":\"CUDA kernel\""), std::string::npos) << outcome.out;
}

TEST_F(DeviceCode, TargetsAreAListWithoutEmptyNames) {
  const std::string compile =
      "compile " + model("two_inputs_three_outputs.pt2") + " -o " + path("model.pte") + " --backend cuda --gpu ";
  for (const char* list : {"sm_90,", ",sm_90", "sm_90,,ptx", ",", "sm_75", "none,sm_90"}) {
    const Outcome outcome = wick(compile + list);
    EXPECT_EQ(outcome.exit_code, 2) << list;
    EXPECT_NE(outcome.err.find("there is no architecture '"), std::string::npos) << list << outcome.err;
  }
}

TEST_F(DeviceCode, FailsToCompileWithoutLeavingATwinOrSources) {
  fs::create_directory(path("d"));
  const std::string compile = "compile " + model("two_inputs_three_outputs.pt2") +
                              " --backend cuda --gpu none --twin " + path("d/twin.so") + " --emit-source " + path("d") +
                              " -o ";
  EXPECT_EQ(wick(compile + "/dev/full").exit_code, 2);
  EXPECT_EQ(wick(compile + path("model.pte") + " --max-file 10").exit_code, 6);
  EXPECT_TRUE(fs::is_empty(path("d")));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(wick(compile + path("model.pte")).exit_code, 0);
  EXPECT_TRUE(fs::exists(path("d/twin.so")) && fs::exists(path("d/vocabulary.h")));
  // Neither file is of the kind that the option would write.
  fs::copy_file(path("d/vocabulary.h"), path("d/twin.so"), fs::copy_options::overwrite_existing);
  EXPECT_EQ(wick(compile + path("model.pte")).exit_code, 2);
  fs::remove(path("d/twin.so"));
  std::ofstream(path("d/vocabulary.h")) << "int words;\n";
  const Outcome outcome = wick(compile + path("model.pte"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("vocabulary.h\", which it has not written"), std::string::npos) << outcome.err;
  EXPECT_EQ(slurp(path("d/vocabulary.h")), "int words;\n");
  EXPECT_FALSE(fs::exists(path("d/twin.so")));
}

// Explaining a .pt2 does not need NVRTC. Of a .pte its plan is explained.
TEST_F(DeviceCode, IsExplainedKernelByKernel) {
  const auto expect_parts = [](const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  const std::string no_nvrtc = "WICK_NVRTC=/nowhere ", file = model("two_inputs_three_outputs.pt2");
  Outcome outcome = wick("explain " + file + " --backend cuda", no_nvrtc);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"delegate 0: 1 launch of 1 kernel, predicted 4.3 us on H200 SXM\n", "why it ends here",
                             "bytes of weights", "an output", "latency"});
  outcome = wick("explain " + file + " --backend cuda:chip=a100 --json", no_nvrtc);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {R"("delegate_reports":[{"delegate":0,"method":"forward","partition":0,"model":")",
                             R"(","producer":"wick )", R"("device":"A100 SXM 80 GB","launches":1,"kernels":1,)",
                             R"("time_us":4.3,"gap_us":1.3,"weight_bytes":)", R"("schedule":"map")",
                             R"("why":"an output","grid":["1","1","1"],"block":["256","1","1"],"flops":)"});
  compile("two_inputs_three_outputs.pt2");
  outcome = wick("explain " + path("model.pte"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  expect_parts(outcome.out, {"delegate 0: 1 launch of 1 kernel, predicted 4.3 us on H200 SXM\n", " map "});
  outcome = wick("explain " + file + " --backend cuda:chip=tesla");
  EXPECT_EQ(outcome.exit_code, 2);
  expect_parts(outcome.err, {"h200", "rtx5090"});
}

// inspect prints 16 digits after "model ".
TEST_F(DeviceCode, SaysOfWhichModelItIs) {
  const auto model_of = [&] {
    const std::string text = wick("inspect " + path("model.pte")).out;
    const size_t at = text.find("delegate 0 is of model ");
    EXPECT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.substr(at + 39, 10), ", by wick ") << text;
    return text.substr(at + 23, 16);
  };
  compile("two_inputs_three_outputs.pt2");
  const std::string first = model_of();
  compile("dynamic_batch.pt2");
  const std::string other = model_of();
  compile("two_inputs_three_outputs.pt2");
  EXPECT_EQ(model_of(), first);
  EXPECT_NE(other, first);
  EXPECT_EQ(first.find_first_not_of("0123456789abcdef"), std::string::npos) << first;
}

TEST_F(DeviceCode, SizesMayDifferFromCallToCall) {
  compile("dynamic_batch.pt2");
  const Outcome outcome = wick("run " + path("model.pte") + " -i " + model("dynamic_batch.step2.in.npz") + " -o " +
                               path("out.npz") + " --device " + twin());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto found = read_arrays(path("out.npz")), wanted = read_arrays(model("dynamic_batch.step2.out.npz"));
  ASSERT_TRUE(found.ok() && wanted.ok());
  ASSERT_EQ(found->size(), 1u);
  EXPECT_TRUE(compare_arrays((*found)[0], (*wanted)[0], {}).ok());
}

TEST_F(DeviceCode, IsRefusedWithAReasonWhereItCannotRun) {
  compile("two_inputs_three_outputs.pt2");
  const std::string run = "run " + path("model.pte");
  Outcome outcome = wick(run + " --no-device-code --device " + twin());
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("it holds device code, which is switched off"), std::string::npos) << outcome.err;
  outcome = wick(run + " --device cuda-twin=" + path("missing.so"));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("no usable NVIDIA driver: "), std::string::npos) << outcome.err;
  outcome = wick(run + " --device " + twin(), "WICK_TWIN=no_device=1 ");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("twin.so finds no device"), std::string::npos) << outcome.err;
  outcome = wick(run + " --device " + twin(), "WICK_TWIN=architecture=75 ");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("has compute capability 7.5; the file has code for sm_90"), std::string::npos)
      << outcome.err;
  outcome = wick(run + " --device " + twin(), "WICK_TWIN=illegal_address_at=1 ");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("a kernel failed on cuda-twin="), std::string::npos) << outcome.err;
  outcome = wick(run + " --device cuda:x");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("there is no device 'cuda:x'"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("cuda[:N], cuda-twin=FILE"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace wick::cli
