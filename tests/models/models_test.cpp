// Every architecture of tests/fixtures/models: compiled twice, run, compared with eager.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "tests/fixtures/expand_fixture.h"
#include "tests/models/xnnpack_table.h"
#include "tests/support/program_runner.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

namespace fs = std::filesystem;
const fs::path kFolder = "tests/fixtures/models";
constexpr const char* kSuffix = ".wfix.gz";

// What takes longest to run with portable kernels; their test has the label "large".
const std::vector<std::string> kLarge = {"convnext_tiny", "inception_v3", "resnet50",
                                         "swin_t",        "swin_t_core",  "vit_b_16"};

// Largest error of a float output, relative to the largest magnitude that eager put out.
constexpr double kMaxError = 1e-4;

// Where the planner does not reach the largest sum of bytes alive at one time; everywhere else it must.
const std::vector<std::string> kLooseArena = {};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> models(bool large) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(kSuffix)) continue;
    name.resize(name.size() - strlen(kSuffix));
    if (contains(kLarge, name) == large) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The elements of `array` that a sampled array holds, and its shape.
cli::NamedArray sample(const cli::NamedArray& array, int64_t every) {
  cli::NamedArray out{array.name, array.dtype, array.sizes, {}};
  const size_t item = dtype_size_bytes(array.dtype);
  for (size_t at = 0; at < array.bytes.size(); at += static_cast<size_t>(every) * item) {
    out.bytes.insert(out.bytes.end(), array.bytes.begin() + static_cast<ptrdiff_t>(at),
                     array.bytes.begin() + static_cast<ptrdiff_t>(at + item));
  }
  return out;
}

float element(const cli::NamedArray& array, size_t index) {
  float value;
  memcpy(&value, array.bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// Largest |got - want| over the largest |want|; infinite where one is NaN or infinite and the other is not the same.
double relative_error(const cli::NamedArray& got, const cli::NamedArray& want) {
  double scale = 0, worst = 0;
  for (size_t i = 0; i < want.bytes.size() / sizeof(float); ++i) {
    const double a = static_cast<double>(element(got, i)), b = static_cast<double>(element(want, i));
    if (std::isfinite(b)) scale = std::max(scale, std::fabs(b));
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    worst = std::isfinite(a - b) ? std::max(worst, std::fabs(a - b)) : INFINITY;
    if (std::isinf(worst)) break;
  }
  return worst == 0 ? 0 : worst / scale;
}

// "" or what is wrong; `error` grows to the relative error of float outputs.
std::string compare(const cli::NamedArray& got, const SampledArray& want, double* error) {
  if (got.dtype != want.array.dtype)
    return fmt::format("dtype {} instead of {}", dtype_name(got.dtype), dtype_name(want.array.dtype));
  if (got.sizes != want.array.sizes)
    return fmt::format("sizes [{}] instead of [{}]", fmt::join(got.sizes, ", "), fmt::join(want.array.sizes, ", "));
  const cli::NamedArray sampled = sample(got, want.every);
  if (sampled.bytes.size() != want.array.bytes.size()) return "a different number of samples";
  if (got.dtype != DType::f32) return sampled.bytes == want.array.bytes ? "" : "elements differ";
  const double relative = relative_error(sampled, want.array);
  *error = std::max(*error, relative);
  return relative <= kMaxError ? "" : fmt::format("error {:.3g} of the output's scale", relative);
}

void check_outputs(const std::vector<cli::NamedArray>& outputs, const FixtureStep& step, double* relative) {
  for (const SampledArray& want : step.outputs) {
    const auto got = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const cli::NamedArray& a) { return a.name == want.array.name; });
    ASSERT_NE(got, outputs.end()) << want.array.name << " is missing";
    EXPECT_EQ(compare(*got, want, relative), "") << want.array.name;
  }
}

void check_step(CompiledProgram& program, const FixtureStep& step, double* relative) {
  std::vector<cli::NamedArray> outputs;
  std::string error;
  ASSERT_TRUE(program.run("forward", step.inputs, &outputs, &error)) << error;
  check_outputs(outputs, step, relative);
}

class Model : public ::testing::TestWithParam<std::string> {};

TEST_P(Model, CompilesToTheSameBytesTwiceAndAgreesWithEager) {
  auto fixture = expand_fixture((kFolder / (GetParam() + kSuffix)).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  const std::vector<compiler::CompileBytes> inputs = {{"forward", GetParam() + ".pt2", bytes}};
  std::string error;
  auto program = CompiledProgram::make(inputs, {}, IsaLevel::avx512, &error);
  ASSERT_TRUE(program) << error;
  {
    auto again = compiler::compile(inputs, compiler::CompileOptions{});
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(again->program.pte.join() == program->pte()) << "a second compilation gives other bytes";
  }
  const compiler::MethodReport& report = program->compiled().methods[0];
  EXPECT_EQ(report.arena_bytes == report.arena_lower_bound_bytes, !contains(kLooseArena, GetParam()))
      << report.arena_bytes << " bytes, lower bound " << report.arena_lower_bound_bytes;
  double relative = 0;
  ASSERT_FALSE(fixture->steps.empty());
  for (const FixtureStep& step : fixture->steps) check_step(*program, step, &relative);
  RecordProperty("relative_error", fmt::format("{:.3g}", relative));
  fmt::print("{}: error {:.2g}, arena {} bytes, {:.2f} % above the lower bound, {} instructions\n", GetParam(),
             relative, report.arena_bytes,
             100.0 * static_cast<double>(report.arena_bytes - report.arena_lower_bound_bytes) /
                 static_cast<double>(std::max<uint64_t>(1, report.arena_lower_bound_bytes)),
             program->compiled().method_plans[0].instructions.size());
}

// What the table says of a model.
ModelRow row_of(const std::string& name, const compiler::CompileResult& compiled) {
  const compiler::MethodReport& method = compiled.methods[0];
  ModelRow row;
  row.model = name;
  row.delegates = method.delegates;
  for (const auto& delegate : compiled.method_plans[0].delegates) row.payload_nodes += delegate->num_nodes;
  row.outside_nodes = method.outside.size();
  row.arena_bytes = method.arena_bytes;
  row.file_bytes = compiled.file_bytes;
  std::map<std::string, size_t> counts;
  for (const compiler::NodeVerdict& verdict : method.outside) ++counts[verdict.op + ": " + verdict.reason];
  for (const auto& [what, count] : counts) row.outside.push_back(fmt::format("{} x {}", count, what));
  return row;
}

constexpr uint64_t kCounterBytes = 16;  // of a buffer that counts, as it is stored

// The bytes of the largest tensor that an instruction copies into a buffer.
uint64_t largest_buffer_copy(const compiler::MethodPlan& plan) {
  uint64_t largest = 0;
  for (const compiler::CopyReason& copy : plan.copies) {
    const auto target = static_cast<size_t>(plan.instructions[copy.instruction].args.back());
    const auto& tensor = std::get<compiler::PlannedTensor>(plan.values[target]);
    const compiler::Storage& storage = plan.storages[tensor.storage];
    if (storage.kind == compiler::Storage::Kind::state) largest = std::max(largest, storage.size_bytes);
  }
  return largest;
}

TEST_P(Model, WithXnnpackAgreesWithEagerAndIsInTheTable) {
  auto fixture = expand_fixture((kFolder / (GetParam() + kSuffix)).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  const std::vector<compiler::CompileBytes> inputs = {{"forward", GetParam() + ".pt2", bytes}};
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("xnnpack");
  {
    const auto compiled = compiler::compile(inputs, options);
    ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    check_row(row_of(GetParam(), *compiled));
    EXPECT_LE(largest_buffer_copy(compiled->method_plans[0]), kCounterBytes) << "a cache is written as a whole";
  }
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library: the program is not run";
  std::string error;
  auto program = CompiledProgram::make(inputs, options, IsaLevel::avx512, &error);
  ASSERT_TRUE(program) << error;
  double relative = 0;
  for (const FixtureStep& step : fixture->steps) check_step(*program, step, &relative);
  RecordProperty("relative_error", fmt::format("{:.3g}", relative));
  fmt::print("{} with XNNPACK: error {:.2g}\n", GetParam(), relative);
}

// The threads of a twin's kernels run in random order from now on.
void shuffle_threads(const std::string& twin) {
  void* const library = dlopen(twin.c_str(), RTLD_NOW);  // the one that runs
  ASSERT_NE(library, nullptr);
  reinterpret_cast<void (*)(uint32_t, uint64_t)>(dlsym(library, "wick_twin_set_order"))(2, 7);
  dlclose(library);
}

// Device code takes no part: the kernels are compiled for the host (docs/cuda.md, "The twin"). Views that are read
// where they lie, and copies of them, give the same bits, whatever the order of threads.
TEST_P(Model, OnTheCudaTwinAgreesWithEager) {
  auto fixture = expand_fixture((kFolder / (GetParam() + kSuffix)).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  const std::vector<compiler::CompileBytes> inputs = {
      {"forward", GetParam() + ".pt2", {fixture->pt2.data(), fixture->pt2.size()}}};
  const ScratchFolder folder;
  std::vector<std::vector<cli::NamedArray>> outputs[2];  // of each step
  std::vector<uint8_t> programs[2];
  std::string error;
  double relative = 0;
  for (const bool copies : {false, true}) {
    const std::string backend = copies ? "cuda:materialize-views=on" : "cuda", twin = folder.file(backend + ".so");
    compiler::CompileOptions options;
    options.targets = *compiler::find_targets(backend, {{"gpu", "none"}});
    auto compiled = compiler::compile(inputs, options);
    ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    programs[copies] = compiled->program.pte.join();
    if (copies && programs[0] == programs[1]) return;  // it copies no view
    options.targets = *compiler::find_targets(backend, {{"gpu", "none"}, {"twin", twin}});
    auto program = CompiledProgram::make(inputs, options, IsaLevel::avx512, &error, "cuda-twin=" + twin);
    ASSERT_TRUE(program) << error;
    EXPECT_EQ(program->compiled().methods[0].delegates, 1u);
    if (copies) shuffle_threads(twin);
    for (const FixtureStep& step : fixture->steps) {
      ASSERT_TRUE(program->run("forward", step.inputs, &outputs[copies].emplace_back(), &error)) << error;
      if (!copies) check_outputs(outputs[copies].back(), step, &relative);
    }
    fmt::print("{} on the CUDA twin: error {:.2g}, {} launches\n", GetParam(), relative,
               program->compiled().method_plans[0].delegates[0]->num_nodes);
  }
  RecordProperty("relative_error", fmt::format("{:.3g}", relative));
  for (size_t step = 0; step < outputs[0].size(); ++step) {
    ASSERT_EQ(outputs[0][step].size(), outputs[1][step].size());
    for (size_t i = 0; i < outputs[0][step].size(); ++i)
      EXPECT_TRUE(outputs[0][step][i].bytes == outputs[1][step][i].bytes) << outputs[0][step][i].name;
  }
}

// WICK_CUDA_DEVICE=cuda:0 names the device, WICK_CUDA_GPU=sm_90 what to compile for (default: all targets).
// scripts/check_cuda_device.py runs this.
TEST_P(Model, OnACudaDeviceAgreesWithEager) {
  const char* const device = std::getenv("WICK_CUDA_DEVICE");  // NOLINT(concurrency-mt-unsafe)
  if (!device) GTEST_SKIP() << "no device: WICK_CUDA_DEVICE names none";
  auto fixture = expand_fixture((kFolder / (GetParam() + kSuffix)).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  const char* const gpu = std::getenv("WICK_CUDA_GPU");  // NOLINT(concurrency-mt-unsafe)
  compiler::TargetSettings target;
  if (gpu) target.emplace_back("gpu", gpu);
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets("cuda", target);
  std::string error;
  auto program =
      CompiledProgram::make({{"forward", GetParam() + ".pt2", bytes}}, options, IsaLevel::avx512, &error, device);
  ASSERT_TRUE(program) << error;
  double relative = 0;
  for (const FixtureStep& step : fixture->steps) check_step(*program, step, &relative);
  fmt::print("{} on a CUDA device: error {:.2g}\n", GetParam(), relative);
}

const auto kName = [](const ::testing::TestParamInfo<std::string>& info) { return info.param; };
INSTANTIATE_TEST_SUITE_P(Small, Model, ::testing::ValuesIn(models(false)), kName);
INSTANTIATE_TEST_SUITE_P(Large, Model, ::testing::ValuesIn(models(true)), kName);

}  // namespace
}  // namespace wick::testing
