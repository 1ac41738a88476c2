// Programs on boards in QEMU give the bytes that they give on the host, and the same refusals.
#include <filesystem>
#include <fstream>

#include "compiler/support/limits.h"
#include "tests/devices/board_test_support.h"
#include "tests/hostile/run_wick.h"
#include "tests/interop/fixture_files.h"
#include "tests/support/scratch_folder.h"

namespace wick::device::device_test {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = "tests/fixtures/cortex_m";

std::vector<HostValue> inputs_of(const std::string& name) {
  std::vector<HostValue> inputs;
  for (const cli::NamedArray& array : interop::read_fixture(kFolder / (name + ".in.npz")))
    inputs.push_back(HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes});
  return inputs;
}

std::string message_of(const compiler::Diag& diag) { return compiler::render(diag); }

using Boards = BoardTest;

TEST_P(Boards, GiveTheBytesOfTheHost) {
  const std::vector<std::string> names = interop::program_names(kFolder, ".pte");
  EXPECT_GE(names.size(), 60u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const std::string path = (kFolder / (name + ".pte")).string();
    const auto module = load_on_host(path);
    const std::vector<HostValue> inputs = inputs_of(name);
    const auto outcome = call(path, module.get(), inputs);
    ASSERT_TRUE(outcome.ok()) << message_of(outcome.diag());
    ASSERT_FALSE(outcome->refusal) << outcome->refusal->message;
    std::vector<HostValue> wanted;
    ModuleError error;
    ASSERT_TRUE(module->forward(inputs, &wanted, &error)) << error.message;
    ASSERT_EQ(outcome->outputs.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(outcome->outputs[i].tag, wanted[i].tag);
      EXPECT_EQ(outcome->outputs[i].tensor.sizes, wanted[i].tensor.sizes);
      EXPECT_EQ(bytes_of(outcome->outputs[i]), bytes_of(wanted[i]));
    }
  }
}

// The runner gets the program inside.
TEST_P(Boards, RunTheProgramOfABundle) {
  const std::string path = "tests/fixtures/stock/1.5/bundled_values.bpte";
  const auto module = load_on_host(path);
  ASSERT_TRUE(module->bundled());
  const BundledProgram& bundled = *module->bundled();
  std::vector<HostValue> inputs;
  for (size_t i = 0; i < bundled.num_inputs(0, 0); ++i) {
    const ValueMeta value = bundled.input(0, 0, i);
    if (value.tag == Tag::integer) {
      inputs.push_back(HostValue::of_int(value.integer));
    } else {
      const TensorMeta& tensor = value.tensor;
      inputs.emplace_back(HostTensor{
          tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, {tensor.bytes.begin(), tensor.bytes.end()}});
    }
  }
  for (int i = 0; i < 2; ++i) {
    const auto outcome = call(path, module.get(), inputs);
    ASSERT_TRUE(outcome.ok()) << message_of(outcome.diag());
    ASSERT_FALSE(outcome->refusal) << outcome->refusal->message;
    EXPECT_EQ(outcome->outputs.size(), bundled.num_outputs(0, 0));
  }
}

TEST_P(Boards, CountTheSameInstructionsEachTime) {
  const std::string path = (kFolder / "ds_cnn.mve.pte").string();
  const auto module = load_on_host(path);
  const std::vector<HostValue> inputs = inputs_of("ds_cnn.mve");
  Footprint first;
  for (int i = 0; i < 3; ++i) {
    const auto outcome = call(path, module.get(), inputs, Watch::counts);
    ASSERT_TRUE(outcome.ok()) << message_of(outcome.diag());
    ASSERT_FALSE(outcome->refusal) << outcome->refusal->message;
    const Footprint& footprint = outcome->footprint;
    if (i == 0) first = footprint;
    EXPECT_EQ(footprint.execution.instructions, first.execution.instructions);
    EXPECT_EQ(footprint.execution.weighted_cycles, first.execution.weighted_cycles);
    EXPECT_EQ(footprint.execution_stack_bytes, first.execution_stack_bytes);
  }
  constexpr uint64_t kMultiplications = 2'656'768;  // of the model, at most 16 of them in one instruction
  EXPECT_GT(first.execution.instructions, kMultiplications / 16);
  EXPECT_GE(first.execution.weighted_cycles, first.execution.instructions);
  EXPECT_GT(first.execution_stack_bytes, 64u);
}

TEST_P(Boards, CountEachStep) {
  const std::string path = (kFolder / "linear_chain.mve.pte").string();
  const auto module = load_on_host(path);
  const std::vector<HostValue> inputs = inputs_of("linear_chain.mve");
  std::vector<uint32_t> steps;
  const auto outcome = call(path, module.get(), inputs, Watch::steps,
                            [&](const StepReport& step) { steps.push_back(step.instruction); });
  ASSERT_TRUE(outcome.ok()) << message_of(outcome.diag());
  const MethodMeta meta = *module->program().find_method("forward");
  ASSERT_EQ(steps.size(), meta.num_instructions(0));
  ASSERT_EQ(outcome->footprint.steps.size(), steps.size());
  uint64_t sum = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i], i);
    EXPECT_GE(outcome->footprint.steps[i].begin, sum);
    sum += outcome->footprint.steps[i].counts.instructions;
  }
  EXPECT_GT(sum, 0u);
  EXPECT_LT(sum, outcome->footprint.execution.instructions);
}

TEST_P(Boards, RefuseInputsAsTheHostDoes) {
  const std::string path = (kFolder / "linear.mve.pte").string();
  const auto module = load_on_host(path);
  std::vector<HostValue> inputs = inputs_of("linear.mve");
  inputs[0].tensor.sizes[0] += 1;
  inputs[0].tensor.bytes.resize(inputs[0].tensor.bytes.size() / 3 * 4);
  const auto outcome = call(path, module.get(), inputs);
  ASSERT_TRUE(outcome.ok()) << message_of(outcome.diag());
  ASSERT_TRUE(outcome->refusal);
  EXPECT_EQ(outcome->refusal->kind, ErrorKind::invalid_argument);
  EXPECT_NE(outcome->refusal->message.find("input 0: input has a different shape"), std::string::npos)
      << outcome->refusal->message;
}

TEST_P(Boards, StopAProgramThatTakesTooLong) {
  compiler::Limits limits;
  limits.device_instructions = 100'000;
  const compiler::LimitScope scope(limits);
  const std::string path = (kFolder / "ds_cnn.mve.pte").string();
  const auto module = load_on_host(path);
  const auto outcome = call(path, module.get(), inputs_of("ds_cnn.mve"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.diag().code, compiler::Code::limit);
  EXPECT_NE(message_of(outcome.diag()).find("device-instructions"), std::string::npos) << message_of(outcome.diag());
}

INSTANTIATE_TEST_SUITE_P(Devices, Boards, ::testing::ValuesIn(boards().begin(), boards().end()), board_name);

TEST(Devices, AnUnknownOneIsRefusedWithTheList) {
  const auto device = open_device("qemu-z80", {});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.diag().code, compiler::Code::usage);
  EXPECT_EQ(device.diag().help,
            "the devices are host, qemu-cortex-m55, qemu-cortex-m4, qemu-cortex-m3, cuda[:N], cuda-twin=FILE");
}

/// PATH has only this folder.
class OnlyPath {
 public:
  explicit OnlyPath(const std::string& folder) : before_(getenv("PATH")) { setenv("PATH", folder.c_str(), 1); }
  ~OnlyPath() { setenv("PATH", before_.c_str(), 1); }
  OnlyPath(const OnlyPath&) = delete;
  OnlyPath& operator=(const OnlyPath&) = delete;

 private:
  std::string before_;
};

TEST(Devices, WithoutQemuOneSentenceSaysWhatToInstall) {
  const testing::ScratchFolder empty;
  const OnlyPath path(empty.path());
  const testing::Outcome outcome =
      testing::run_wick({"run", (kFolder / "linear.mve.pte").string(), "--device", "qemu-cortex-m4"});
  EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
  EXPECT_EQ(outcome.output,
            "error[usage]: qemu-cortex-m4 needs qemu-system-arm, which is not installed\n"
            "  help   install the Debian package qemu-system-arm, or QEMU from https://www.qemu.org\n");
}

TEST(Devices, WithoutItsRunnerOneSentenceSaysHowToBuildIt) {
  const testing::ScratchFolder folder;
  const std::string qemu = folder.file("qemu-system-arm");
  std::ofstream(qemu) << "#!/bin/sh\n";
  fs::permissions(qemu, fs::perms::owner_all);
  const OnlyPath path(folder.path());
  const auto files = find_files({"qemu-cortex-m4", "", "", "no-such-preset"});
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.diag().code, compiler::Code::usage);
  EXPECT_EQ(files.diag().message, "the runner for qemu-cortex-m4 is not built");
  EXPECT_NE(files.diag().help.find("make devices"), std::string::npos) << files.diag().help;
}

}  // namespace
}  // namespace wick::device::device_test
