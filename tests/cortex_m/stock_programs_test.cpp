// Programs that stock's Cortex-M flow wrote for MVE, DSP and scalar code, on Wick's runtime, against stock's reference
// of its operators (out0) and the quantized graph in eager (eager0).
#include <string.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tests/interop/fixture_files.h"
#include "wick/backends.h"
#include "wick/module.h"

namespace wick {
namespace {

const std::filesystem::path kFolder = "tests/fixtures/cortex_m";

// Programs whose operators stock's reference computes otherwise than its kernels, at most by one step.
const std::map<std::string, const char*> kOneStepOfReference = {
    {"avg_pool", "it averages in float and rounds halves to even, kernels away from zero"},
    {"avg_pool_ceil", "as above"},
};

std::vector<float> floats(const std::vector<uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(a[i]) - b[i]);
    largest = difference <= largest ? largest : std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

std::vector<float> run(const std::string& name, const interop::FixtureCall& call) {
  ModuleOptions options;
  for (const KernelTable& table : all_kernels()) options.kernels.push_back(table);
  ModuleError error;
  const auto module = Module::load((kFolder / (name + ".pte")).string(), options, &error);
  if (!module) ADD_FAILURE() << error.message;
  if (!module) return {};
  std::vector<HostValue> inputs, outputs;
  for (const cli::NamedArray& array : call.inputs)
    inputs.push_back(HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes});
  if (!module->forward(inputs, &outputs, &error)) ADD_FAILURE() << error.message;
  if (outputs.size() != 1 || outputs[0].tensor.dtype != DType::f32) ADD_FAILURE() << "wanted one output of f32";
  return outputs.empty() ? std::vector<float>{} : floats(outputs[0].tensor.bytes);
}

std::string test_name(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

class CortexMStock : public ::testing::TestWithParam<std::string> {};

TEST_P(CortexMStock, AgreesWithItsReference) {
  const std::string& name = GetParam();
  const std::vector<interop::FixtureCall> calls = interop::fixture_calls(kFolder, name);
  ASSERT_EQ(calls.size(), 1u);
  const cli::NamedArray *reference = interop::find_array(calls[0].outputs, "out0"),
                        *eager = interop::find_array(calls[0].outputs, "eager0"),
                        *step_array = interop::find_array(calls[0].outputs, "step0");
  ASSERT_TRUE(reference && eager && step_array);
  float step = 0;
  ASSERT_EQ(step_array->bytes.size(), sizeof step);
  memcpy(&step, step_array->bytes.data(), sizeof step);
  const std::vector<float> found = run(name, calls[0]);
  ASSERT_FALSE(found.empty());
  const auto known = kOneStepOfReference.find(name.substr(0, name.find('.')));
  const double allowed = known == kOneStepOfReference.end() ? 0 : 1;
  EXPECT_LE(largest_difference(found, floats(reference->bytes)) / step, allowed * 1.0001);
  EXPECT_LE(largest_difference(found, floats(eager->bytes)) / step, 1.0001);
}

INSTANTIATE_TEST_SUITE_P(Programs, CortexMStock, ::testing::ValuesIn(interop::program_names(kFolder, ".pte")),
                         test_name);

}  // namespace
}  // namespace wick
