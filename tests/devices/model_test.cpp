// Whole quantized models that Wick compiles: the boards give the bytes of the host. The stack is that of portable
// kernels for movement; tests/package/budget_test.cpp holds models of MLPerf Tiny to less.
#include "backends/cortex_m/test/graph_test_support.h"
#include "compiler/support/file_map.h"
#include "tests/cortex_m/quantized_fixtures.h"
#include "tests/devices/board_test_support.h"
#include "tests/support/scratch_folder.h"

namespace wick::device {
namespace {

constexpr const char* kModels[] = {"autoencoder",
                                   "ds_cnn",
                                   "efficientnet_lite",
                                   "gru_layers",
                                   "log_softmax_int16",
                                   "lstm_layers",
                                   "mobilenet_v1_025",
                                   "mobilenet_v2",
                                   "mobilenet_v3_small",
                                   "resnet8",
                                   "segmenter",
                                   "tcn",
                                   "transformer",
                                   "transformer_int16",
                                   "unet",
                                   "upsample_int16",
                                   "vit",
                                   "vit_int16"};
constexpr uint64_t kMostStackBytes = 2560;

class ModelsOnBoards : public BoardTest {};

TEST_P(ModelsOnBoards, GiveTheBytesOfTheHost) {
  const testing::ScratchFolder folder;
  const std::string path = folder.file("model.pte");
  for (const char* name : kModels) {
    SCOPED_TRACE(name);
    const auto model = cortex_m::quantized_program(name);
    ASSERT_TRUE(model);
    testing::Pipeline pipeline = testing::Pipeline::from_bytes({model->pt2.data(), model->pt2.size()}, name);
    pipeline.backend(cortex_m::backend_for(GetParam().preset));
    const compiler::CompileResult* result = pipeline.compiled();
    ASSERT_NE(result, nullptr) << pipeline.failures();
    const std::vector<uint8_t> bytes = result->program.pte.join();
    ASSERT_TRUE(compiler::write_file(path, {bytes.data(), bytes.size()}).ok());
    const auto module = load_on_host(path);
    ASSERT_NE(module, nullptr);
    ModuleError error;
    std::vector<HostValue> wanted;
    ASSERT_TRUE(module->forward(model->inputs, &wanted, &error)) << error.message;
    const auto outcome = call(path, module.get(), model->inputs, Watch::counts);
    ASSERT_TRUE(outcome.ok()) << compiler::render(outcome.diag());
    ASSERT_FALSE(outcome->refusal) << outcome->refusal->message;
    ASSERT_EQ(outcome->outputs.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(bytes_of(outcome->outputs[i]), bytes_of(wanted[i])) << i;
    EXPECT_LE(outcome->footprint.execution_stack_bytes, kMostStackBytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ModelsOnBoards, ::testing::ValuesIn(boards().begin(), boards().end()), board_name);

}  // namespace
}  // namespace wick::device
