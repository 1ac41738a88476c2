// Programs that Wick compiled, on the stock ExecuTorch runtime, against eager. Skipped where the runtime cannot be had.
#include <string.h>

#include <cmath>

#include "common/float16.h"
#include "compiler/support/file_map.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/interop/fixture_files.h"
#include "tests/interop/stock_peer.h"
#include "tests/support/program_runner.h"
#include "tests/support/scratch_folder.h"

namespace wick::interop {
namespace {

namespace fs = std::filesystem;
const fs::path kPrograms = "tests/fixtures/structure";
const fs::path kModels = "tests/fixtures/models";
const fs::path kQuantized = "tests/fixtures/quantized";  // outputs are stock's own

// Models small enough for stock's portable kernels.
const std::vector<std::string> kModelNames = {"autoencoder", "clip_vision", "ds_cnn", "espcn", "gru",   "llama",
                                              "llama_cache", "lstm",        "minilm", "mixer", "qwen2", "tcn"};

std::vector<std::string> model_names(const fs::path& folder) {
  std::vector<std::string> names;
  for (const std::string& stem : program_names(folder, ".gz")) names.push_back(stem.substr(0, stem.find('.')));
  return names;
}

// Largest error of a model's float output, relative to its largest magnitude.
constexpr double kModelError = 1e-4;

class WickOnStock : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() {
    if (!peer_ && why_.empty()) peer_ = StockPeer::find(WICK_PEER_FOLDER, &why_);
  }
  void SetUp() override {
    if (!peer_) GTEST_SKIP() << why_;
  }

  // Compiles and runs; outputs are named as in the fixtures. Skips programs that need operators of Wick's own.
  void run(Span<const uint8_t> pt2, const std::vector<StockCall>& calls, bool external_weights,
           std::vector<std::vector<cli::NamedArray>>* outputs, const char* backend = "") {
    compiler::CompileOptions options;
    options.external_weights = external_weights;
    options.targets = *compiler::find_targets(backend);
    auto compiled = compiler::compile({compiler::CompileBytes{"forward", GetParam() + ".pt2", pt2}}, options);
    ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
    if (!compiled->methods[0].not_stock.empty())
      GTEST_SKIP() << "needs operators only Wick has: "
                   << fmt::format("{}", fmt::join(compiled->methods[0].not_stock, ", "));
    const std::string pte = scratch_.file("program.pte");
    ASSERT_TRUE(compiler::write_pieces(pte, compiled->program.pte).ok());
    std::string ptd;
    if (compiled->program.ptd.size_bytes > 0) {
      ptd = scratch_.file("program.ptd");
      ASSERT_TRUE(compiler::write_pieces(ptd, compiled->program.ptd).ok());
    }
    const compiler::Statement& statement = compiled->statements[0];
    StockPeer::Run result = peer_->run(pte, "forward", calls, scratch_.path(), string_inputs(statement), ptd);
    ASSERT_TRUE(result.ok) << result.message;
    for (auto& arrays : result.outputs) rename_outputs(statement, arrays);
    *outputs = std::move(result.outputs);
  }

  static std::vector<std::string> string_inputs(const compiler::Statement& statement) {
    std::vector<std::string> strings;
    for (size_t i = 0; i < statement.inputs.size(); ++i) {
      const auto* text = std::get_if<std::string>(&statement.values[static_cast<size_t>(statement.inputs[i])]);
      if (text) strings.push_back(fmt::format("{}={}", i, *text));
    }
    return strings;
  }

  static void rename_outputs(const compiler::Statement& statement, std::vector<cli::NamedArray>& arrays) {
    const size_t mutated = statement.mutated_inputs.size();
    for (cli::NamedArray& array : arrays) {
      const auto index = static_cast<size_t>(atoi(array.name.c_str() + 3));
      array.name = index < mutated ? fmt::format("mut_{}", statement.mutated_inputs[index])
                                   : fmt::format("out{}", statement.output_leaves[index - mutated]);
    }
  }

  void check_program(bool external_weights, const char* backend = "", const testing::Tolerance& tolerance = {}) {
    auto map = compiler::FileMap::open((kPrograms / (GetParam() + ".pt2")).string());
    ASSERT_TRUE(map.ok());
    const std::vector<FixtureCall> calls = fixture_calls(kPrograms, GetParam());
    ASSERT_FALSE(calls.empty());
    std::vector<StockCall> inputs;
    for (const FixtureCall& call : calls) inputs.push_back(call.inputs);
    std::vector<std::vector<cli::NamedArray>> outputs;
    run(map->bytes(), inputs, external_weights, &outputs, backend);
    if (HasFatalFailure() || IsSkipped()) return;
    for (size_t i = 0; i < calls.size(); ++i)
      EXPECT_EQ(testing::differences(outputs[i], calls[i].outputs, tolerance), "") << calls[i].label;
  }

  static std::optional<StockPeer> peer_;
  static std::string why_;
  testing::ScratchFolder scratch_;
};
std::optional<StockPeer> WickOnStock::peer_;
std::string WickOnStock::why_;

class StructureOnStock : public WickOnStock {};
class ModelOnStock : public WickOnStock {
 protected:
  void check_model(const char* backend, const fs::path& folder = kModels, double error = kModelError);
};

TEST_P(StructureOnStock, AgreesWithEager) { check_program(false); }
TEST_P(StructureOnStock, AgreesWithEagerWithWeightsInTheirOwnFile) { check_program(true); }

// What a sampled output keeps of a whole one.
cli::NamedArray sample(const cli::NamedArray& array, int64_t every) {
  cli::NamedArray out{array.name, array.dtype, {}, {}};
  const size_t item = dtype_size_bytes(array.dtype);
  for (size_t at = 0; at < array.bytes.size(); at += static_cast<size_t>(every) * item) {
    out.bytes.insert(out.bytes.end(), array.bytes.begin() + static_cast<ptrdiff_t>(at),
                     array.bytes.begin() + static_cast<ptrdiff_t>(at + item));
  }
  out.sizes = {static_cast<int64_t>(out.bytes.size() / item)};
  return out;
}

double largest(const cli::NamedArray& array) {
  double scale = 0;
  const auto add = [&](float value) {
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(static_cast<double>(value)));
  };
  const bool half = array.dtype == DType::f16;
  if (!half && array.dtype != DType::f32) return 0;
  for (size_t at = 0; at < array.bytes.size(); at += half ? sizeof(uint16_t) : sizeof(float)) {
    float value;
    uint16_t bits;
    memcpy(half ? static_cast<void*>(&bits) : &value, array.bytes.data() + at, half ? sizeof bits : sizeof value);
    add(half ? Half::to_float(bits) : value);
  }
  return scale;
}

// The program of a model, on the backends named.
void ModelOnStock::check_model(const char* backend, const fs::path& folder, double error) {
  auto fixture = testing::expand_fixture((folder / (GetParam() + ".wfix.gz")).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  std::vector<StockCall> inputs;
  for (const testing::FixtureStep& step : fixture->steps) inputs.push_back(step.inputs);
  std::vector<std::vector<cli::NamedArray>> outputs;
  run({fixture->pt2.data(), fixture->pt2.size()}, inputs, false, &outputs, backend);
  if (HasFatalFailure() || IsSkipped()) return;
  for (size_t i = 0; i < fixture->steps.size(); ++i) {
    for (const testing::SampledArray& want : fixture->steps[i].outputs) {
      const cli::NamedArray* got = find_array(outputs[i], want.array.name);
      ASSERT_TRUE(got) << want.array.name << " is missing";
      EXPECT_EQ(got->sizes, want.array.sizes);
      cli::NamedArray wanted = want.array;
      const cli::NamedArray sampled = sample(*got, want.every);
      wanted.sizes = sampled.sizes;
      ASSERT_EQ(sampled.bytes.size(), wanted.bytes.size());
      EXPECT_EQ(testing::difference(sampled, wanted, {0, error * largest(wanted)}), "")
          << want.array.name << " of step " << i + 1;
    }
  }
}

TEST_P(ModelOnStock, AgreesWithEager) { check_model(""); }

// Every program, with XNNPACK delegates.
class XnnpackOnStock : public WickOnStock {};
class XnnpackModelOnStock : public ModelOnStock {};

// Where quantization is chosen at run time, the library does so row by row.
TEST_P(XnnpackOnStock, AgreesWithEager) {
  const bool by_rows = GetParam() == "quantized_dynamic";
  check_program(false, "xnnpack", by_rows ? testing::Tolerance{1e-5, 0.03} : testing::Tolerance());
}
TEST_P(XnnpackModelOnStock, AgreesWithEager) { check_model("xnnpack"); }

class QuantizedOnStock : public ModelOnStock {};

// The delegates that stock makes give the same, but for sums in another order, which turn a rounding now and then where
// one layer's output is quantized for the next at run time. `static_mixed` and `dynamic_half` are judged by eager.
TEST_P(QuantizedOnStock, AgreesWithTheDelegatesOfStock) {
  const bool turns = GetParam() == "dynamic_deit" || GetParam() == "static_mixed" || GetParam() == "dynamic_half";
  check_model("xnnpack", kQuantized, turns ? 0.03 : 1e-5);
}

class MethodsOnStock : public WickOnStock {};

// The parameter names two programs, which become the methods of one.
TEST_P(MethodsOnStock, AgreeWithEager) {
  const std::string both = GetParam();
  const std::vector<std::string> names = {both.substr(0, both.find("_and_")), both.substr(both.find("_and_") + 5)};
  std::vector<compiler::CompileInput> inputs;
  for (const std::string& name : names) inputs.push_back({name, (kPrograms / (name + ".pt2")).string()});
  auto compiled = compiler::compile(inputs, compiler::CompileOptions{});
  ASSERT_TRUE(compiled.ok()) << compiler::render(compiled.diag());
  const std::string pte = scratch_.file("program.pte");
  ASSERT_TRUE(compiler::write_pieces(pte, compiled->program.pte).ok());
  for (size_t m = 0; m < names.size(); ++m) {
    const std::vector<FixtureCall> calls = fixture_calls(kPrograms, names[m]);
    ASSERT_FALSE(calls.empty());
    std::vector<StockCall> arrays;
    for (const FixtureCall& call : calls) arrays.push_back(call.inputs);
    StockPeer::Run result = peer_->run(pte, names[m], arrays, scratch_.path());
    ASSERT_TRUE(result.ok) << result.message;
    for (size_t i = 0; i < calls.size(); ++i) {
      rename_outputs(compiled->statements[m], result.outputs[i]);
      EXPECT_EQ(testing::differences(result.outputs[i], calls[i].outputs, {}), "") << calls[i].label;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, MethodsOnStock,
                         ::testing::Values("counter_and_cond_nested", "cache_slice_and_dynamic_batch"),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Programs, StructureOnStock, ::testing::ValuesIn(program_names(kPrograms, ".pt2")),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Programs, XnnpackOnStock, ::testing::ValuesIn(program_names(kPrograms, ".pt2")),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Models, XnnpackModelOnStock, ::testing::ValuesIn(model_names(kModels)),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Programs, QuantizedOnStock, ::testing::ValuesIn(model_names(kQuantized)),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(Models, ModelOnStock, ::testing::ValuesIn(kModelNames),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::interop
