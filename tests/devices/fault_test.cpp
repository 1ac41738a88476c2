// A fault on a board, or code that never ends, comes back as text, and the board runs the next program.
#include <filesystem>

#include "compiler/support/limits.h"
#include "tests/devices/board_test_support.h"
#include "tests/devices/faults.h"

namespace wick::device {
namespace {

constexpr char kProgram[] = "tests/fixtures/cortex_m/linear.mve.pte";

class Faults : public BoardTest {
 protected:
  void SetUp() override {
    BoardTest::SetUp();
    if (!device_) return;
    auto files = find_files(GetParam());
    files->runner = std::filesystem::path(files->runner).replace_filename("wick_faulty_runner").string();
    if (!std::filesystem::exists(files->runner)) GTEST_SKIP() << files->runner << " is not built";
    device_ = std::make_unique<QemuDevice>(GetParam(), *files, DeviceProgram{});
    module_ = load_on_host(kProgram);
  }

  /// The rendered diagnostic.
  std::string run(Wrong wrong) {
    const TensorMeta meta = module_->program().find_method("forward")->input_value(0).tensor;
    HostTensor input{meta.dtype, {meta.sizes.begin(), meta.sizes.end()}, std::vector<uint8_t>(meta.nbytes)};
    const float selector = static_cast<float>(wrong);
    memcpy(input.bytes.data(), &selector, sizeof selector);
    const auto outcome = call(kProgram, module_.get(), {input});
    if (!outcome.ok()) return compiler::render(outcome.diag());
    return outcome->refusal ? outcome->refusal->message : "no error";
  }

  std::unique_ptr<Module> module_;
};

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST_P(Faults, ComeBackAsText) {
  const std::vector<std::string> place = {"error[internal]", "took a fault while the method ran", kProgram,
                                          "method 'forward', instruction 0, cortex_m::quantize_per_tensor.out", "cfsr"};
  const std::pair<Wrong, std::vector<std::string>> cases[] = {
      {Wrong::undefined_instruction, {"undefined instruction", "pc 0x", "r0 0x"}},
      {Wrong::read_no_memory, {"bus error in a data access at address 0xf0000000", "pc 0x"}},
      {Wrong::unaligned, {"unaligned access", "pc 0x"}},
      {Wrong::divide_by_zero, {"division by zero", "pc 0x"}},
      {Wrong::exhaust_stack, {"the stack is exhausted"}},
  };
  for (const auto& [wrong, parts] : cases) {
    const std::string text = run(wrong);
    expect_parts(text, place);
    expect_parts(text, parts);
  }
}

TEST_P(Faults, CodeThatNeverEndsIsStopped) {
  compiler::Limits limits;
  limits.device_instructions = 10'000'000;
  const compiler::LimitScope scope(limits);
  expect_parts(run(Wrong::never_end), {"error[limit]", "takes too long on", "device-instructions"});
}

INSTANTIATE_TEST_SUITE_P(Devices, Faults, ::testing::ValuesIn(boards().begin(), boards().end()), board_name);

}  // namespace
}  // namespace wick::device
