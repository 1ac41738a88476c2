// What the cost model predicts for programs is what the counting plugin finds on the boards, within a band.
#include <cmath>
#include <filesystem>
#include <set>

#include "backends/compile_table.h"
#include "cli/explain/call_costs.h"
#include "compiler/support/file_map.h"
#include "devices/instruction_place.h"
#include "tests/devices/board_test_support.h"
#include "tests/devices/cost_programs.h"
#include "tests/interop/fixture_files.h"
#include "tests/support/scratch_folder.h"

namespace wick::device::cost_test {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = "tests/fixtures/cortex_m";

// What takes fewer instructions is not held to a band.
constexpr uint64_t kLeastOfCall = 5000, kLeastOfProgram = 8000;
constexpr double kCallBand = 0.35, kProgramBand = 0.25, kNetworkBand = 0.1;
const std::set<std::string> kNetworks = {"autoencoder", "ds_cnn", "mobilenet_v1_025", "resnet8"};

// A program of cost_programs() for each of Wick's operators, and for those that many models spend their time in.
const std::set<std::string> kCostPrograms = {"add.Tensor_column_1",
                                             "attention16_2_16_16_8",
                                             "avg_pool2d_40_3",
                                             "cat_12",
                                             "cat_100",
                                             "channels_8_64_64",
                                             "channels_1_640_128",
                                             "gru_10_1_24_32",
                                             "lstm_10_1_24_32",
                                             "rnn_relu_10_1_24_32",
                                             "packed_32_40_8_3_1_1",
                                             "packed_16_16_24_3_2_16",
                                             "tight_packed_32_40_8_3_1_1",
                                             "graded16_1",
                                             "group_norm_1",
                                             "layer_norm_8_64_64",
                                             "log_softmax16_8_64_64",
                                             "matmul16_8_64_64",
                                             "matmul_8_64_64",
                                             "maximum_column_1",
                                             "max_pool2d_16_2",
                                             "mul.Tensor_column_1",
                                             "permute_1_0231",
                                             "permute_2_0312",
                                             "resize16_1",
                                             "softmax16_8_64_64",
                                             "softmax_8_64_64",
                                             "sum_pool2d_40_3",
                                             "table_1",
                                             "transposed_16_8_4_2",
                                             "window_16_16_12_3_1_1",
                                             "window_16_16_24_3_2_16",
                                             "window_24_144_10_1_1_1"};

const compiler::Target& cost_model() {
  for (const compiler::Target* target : compiler::known_targets()) {
    if (target->reporting.call_cost) return *target;
  }
  ADD_FAILURE() << "no backend predicts costs";
  abort();
}

std::vector<HostValue> inputs_of(const std::string& name) {
  std::vector<HostValue> inputs;
  for (const cli::NamedArray& array : interop::read_fixture(kFolder / (name + ".in.npz")))
    inputs.push_back(HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes});
  return inputs;
}

void expect_near(double predicted, uint64_t counted, double band, const std::string& what) {
  const double error = predicted / static_cast<double>(counted) - 1;
  EXPECT_LE(std::abs(error), band) << what << ": " << predicted << " predicted, " << counted << " counted";
}

class Costs : public BoardTest {
 protected:
  static std::string isa() {
    const std::string preset = GetParam().preset;
    return preset == "cortex-m55" ? "mve" : preset == "cortex-m4" ? "dsp" : "scalar";
  }

  void check(const std::string& name) {
    const std::string path = (kFolder / (name + ".pte")).string();
    const auto module = load_on_host(path);
    check(path, *module, inputs_of(name),
          kNetworks.count(name.substr(0, name.find('.'))) ? kNetworkBand : kProgramBand);
  }

  void check(const std::string& path, Module& module, const std::vector<HostValue>& inputs, double band) {
    const auto counted = call(path, &module, inputs, Watch::steps, [](const StepReport&) {});
    const auto whole = call(path, &module, inputs, Watch::counts);
    ASSERT_TRUE(counted.ok() && whole.ok());
    const MethodMeta method = *module.program().find_method("forward");
    const std::vector<std::string> facts = {"cortex_m.isa=" + isa()};
    const std::vector<compiler::CallCost> costs = cli::call_costs(method, cost_model(), facts);
    ASSERT_EQ(costs.size(), counted->footprint.steps.size());
    double sum = cli::executor_cost(method, cost_model(), facts).instructions();
    for (size_t i = 0; i < costs.size(); ++i) {
      const uint64_t instructions = counted->footprint.steps[i].counts.instructions;
      sum += costs[i].instructions();
      const std::string op = device::operator_text(method.op(method.instruction(0, i).target));
      EXPECT_TRUE(costs[i].is_known) << op;
      const bool is_left_out = leaves_out_conversions_ && op.find("quantize_per_tensor") != std::string::npos;
      if (instructions >= kLeastOfCall && !is_left_out)
        expect_near(costs[i].instructions(), instructions, kCallBand, op);
    }
    const uint64_t instructions = whole->footprint.execution.instructions;
    if (instructions >= kLeastOfProgram) expect_near(sum, instructions, band, "the program");
  }

  bool leaves_out_conversions_ = false;
};

TEST_P(Costs, ArePredictedWithinABand) {
  size_t checked = 0;
  for (const std::string& name : interop::program_names(kFolder, ".pte")) {
    if (!name.ends_with("." + isa())) continue;
    SCOPED_TRACE(name);
    check(name);
    ++checked;
  }
  EXPECT_GE(checked, 10u);
}

TEST_P(Costs, OfSingleOperatorsArePredictedWithinABand) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("program.pte");
  leaves_out_conversions_ = isa() == "scalar";  // without hardware for floats, what they take depends on the numbers
  size_t checked = 0;
  for (const cortex_m::CostProgram& program : cortex_m::cost_programs()) {
    if (!kCostPrograms.count(program.name)) continue;
    SCOPED_TRACE(program.name);
    std::string text = program.text, failures;
    text.replace(text.find("graph f("), 8, "graph forward(");
    const std::vector<uint8_t> bytes = cortex_m::compiled_for({program.name, text}, isa(), &failures);
    ASSERT_FALSE(bytes.empty()) << failures;
    ASSERT_TRUE(compiler::write_file(path, {bytes.data(), bytes.size()}).ok());
    const auto module = load_on_host(path);
    check(path, *module, seeded_inputs(*module), kProgramBand);
    ++checked;
  }
  EXPECT_EQ(checked, kCostPrograms.size());
}

// Whose positions nearly all meet the padding, each in its own way: what suits large images takes twice as much.
TEST_P(Costs, SmallConvolutionsTakeTheFormForThem) {
  if (isa() != "mve") GTEST_SKIP() << "one form";
  const std::string path = (kFolder / "conv_stride.mve.pte").string();
  const auto module = load_on_host(path);
  const auto whole = call(path, module.get(), inputs_of("conv_stride.mve"), Watch::counts);
  ASSERT_TRUE(whole.ok());
  EXPECT_LE(whole->footprint.execution.instructions, 26000u);
}

INSTANTIATE_TEST_SUITE_P(Devices, Costs, ::testing::ValuesIn(boards().begin(), boards().end()), board_name);

}  // namespace
}  // namespace wick::device::cost_test
