// Programs that stock ExecuTorch compiled (tests/fixtures/stock/RELEASE), on Wick's runtime, against eager; those for
// XNNPACK (RELEASE_xnnpack) against stock's own runtime.
#include <string.h>

#include <algorithm>
#include <cctype>

#include "tests/interop/fixture_files.h"
#include "tests/support/program_runner.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::interop {
namespace {

const std::filesystem::path kFolder = "tests/fixtures/stock";

template <typename T>
T first_element(const cli::NamedArray& array) {
  T value{};
  memcpy(&value, array.bytes.data(), std::min(sizeof value, array.bytes.size()));
  return value;
}

HostValue to_host(const cli::NamedArray& array, Tag tag) {
  switch (tag) {
    case Tag::integer: return HostValue::of_int(first_element<int64_t>(array));
    case Tag::real: return HostValue::of_real(first_element<double>(array));
    case Tag::boolean: return HostValue::of_bool(first_element<uint8_t>(array) != 0);
    default: return HostTensor{array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes};
  }
}

template <typename T>
cli::NamedArray scalar_array(DType dtype, T value) {
  cli::NamedArray array{"", dtype, {}, std::vector<uint8_t>(sizeof value)};
  memcpy(array.bytes.data(), &value, sizeof value);
  return array;
}

cli::NamedArray to_array(const HostValue& value) {
  switch (value.tag) {
    case Tag::integer: return scalar_array(DType::i64, value.integer);
    case Tag::real: return scalar_array(DType::f64, value.real);
    case Tag::boolean: return scalar_array(DType::boolean, static_cast<uint8_t>(value.boolean));
    default:
      return {"", value.tensor.dtype, {value.tensor.sizes.begin(), value.tensor.sizes.end()}, value.tensor.bytes};
  }
}

void check_call(Module& module, const std::string& method, const FixtureCall& call) {
  const MethodMeta meta = *module.program().find_method(method.c_str());
  std::vector<HostValue> inputs, outputs;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const cli::NamedArray* array = find_array(call.inputs, fmt::format("in{}", i));
    inputs.push_back(array ? to_host(*array, meta.tag(meta.input(i))) : HostValue());
  }
  ModuleError error;
  ASSERT_TRUE(module.execute(method, inputs, &outputs, &error)) << call.label << ": " << error.message;
  std::vector<cli::NamedArray> arrays;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].tag == Tag::none) continue;
    arrays.push_back(to_array(outputs[i]));
    arrays.back().name = fmt::format("out{}", i);
  }
  EXPECT_FALSE(call.outputs.empty());
  EXPECT_EQ(testing::differences(arrays, call.outputs, {}), "") << call.label;
}

// A method without inputs and instructions that returns a number of the model: "width" is 4, "scale" 0.5.
void check_constant(Module& module, const std::string& method) {
  ASSERT_TRUE(method == "width" || method == "scale") << method << " has no calls among the fixtures";
  std::vector<HostValue> outputs;
  ModuleError error;
  ASSERT_TRUE(module.execute(method, {}, &outputs, &error)) << method << ": " << error.message;
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].tag, method == "width" ? Tag::integer : Tag::real);
  EXPECT_EQ(method == "width" ? static_cast<double>(outputs[0].integer) : outputs[0].real, method == "width" ? 4 : 0.5);
}

// "1.5/add": each program of each release.
std::vector<std::string> all_programs() {
  std::vector<std::string> names;
  for (const char* release : {"1.3", "1.4", "1.5", "1.5_xnnpack"}) {
    for (const std::string& name : program_names(kFolder / release, ".pte"))
      names.push_back(std::string(release) + "/" + name);
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

class StockOnWick : public ::testing::TestWithParam<std::string> {};

TEST_P(StockOnWick, AgreesWithItsAuthor) {
  const std::filesystem::path folder = (kFolder / GetParam()).parent_path();
  const std::string name = std::filesystem::path(GetParam()).filename().string();
  if (!has_xnnpack_library() && folder.string().ends_with("xnnpack")) GTEST_SKIP() << "a build without XNNPACK";
  for (const IsaLevel isa : {IsaLevel::baseline, IsaLevel::avx512}) {
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&xnnpack_backend()};
    options.max_isa = isa;
    const std::filesystem::path data = folder / (name + ".ptd");
    if (std::filesystem::exists(data)) options.data_paths = {data.string()};
    ModuleError error;
    const auto module = Module::load((folder / (name + ".pte")).string(), options, &error);
    ASSERT_TRUE(module) << error.message;
    const bool several = module->program().num_methods() > 1;
    for (size_t i = 0; i < module->program().num_methods(); ++i) {
      const std::string method = module->program().method(i).name();
      const std::vector<FixtureCall> calls = fixture_calls(folder, several ? name + "." + method : name);
      if (calls.empty()) check_constant(*module, method);
      for (const FixtureCall& call : calls) check_call(*module, method, call);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, StockOnWick, ::testing::ValuesIn(all_programs()), test_name);

TEST(StockOnWick, ProgramWithoutItsWeightsFileIsRefused) {
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  ModuleError error;
  const auto module = Module::load((kFolder / "1.5" / "external_weights.pte").string(), options, &error);
  ASSERT_TRUE(module) << error.message;
  EXPECT_EQ(module->method("forward", &error), nullptr);
  EXPECT_NE(error.message.find("weight"), std::string::npos) << error.message;
}

}  // namespace
}  // namespace wick::interop
