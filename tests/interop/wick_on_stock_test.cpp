// Programs that Wick compiled, on the stock ExecuTorch runtime, against eager. Where stock's kernels for this processor
// compute otherwise, stock_verdict.h says whether the program is wrong. Skipped where the runtime cannot be had.
#include <string.h>

#include <cmath>
#include <functional>

#include "common/float16.h"
#include "compiler/support/file_map.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/interop/fixture_files.h"
#include "tests/interop/stock_peer.h"
#include "tests/interop/stock_verdict.h"
#include "tests/support/program_runner.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::interop {
namespace {

namespace fs = std::filesystem;
const fs::path kPrograms = "tests/fixtures/structure";
const fs::path kModels = "tests/fixtures/models";
const fs::path kQuantized = "tests/fixtures/quantized";  // outputs are stock's own

// Models small enough for stock's portable kernels.
const std::vector<std::string> kModelNames = {"autoencoder",
                                              "clip_vision",
                                              "ds_cnn",
                                              "espcn",
                                              "gemma3_hybrid_cache",
                                              "gru",
                                              "llama",
                                              "llama_cache",
                                              "llama_static_cache",
                                              "llama_static_cache_dynamic",
                                              "lstm",
                                              "minilm",
                                              "mixer",
                                              "qwen2",
                                              "tcn"};

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
    if (peer_ || !why_.empty()) return;
    peer_ = StockPeer::find(WICK_PEER_FOLDER, &why_);
    if (peer_) features_ = peer_->features();
  }
  void SetUp() override {
    if (!peer_) GTEST_SKIP() << why_;
  }

  // Says how the outputs of all calls differ from eager's with so many times the tolerance; "" if they do not.
  using Outputs = std::vector<std::vector<cli::NamedArray>>;
  using Compare = std::function<std::string(const Outputs&, double)>;

  // A program, in files too. The bytes of the inputs stay the caller's.
  struct Compiled {
    std::vector<compiler::CompileBytes> inputs;
    compiler::CompileOptions options;
    compiler::CompileResult result;
    std::string pte, ptd;
  };

  void compile(Compiled* program) {
    auto result = compiler::compile(program->inputs, program->options);
    ASSERT_TRUE(result.ok()) << compiler::render(result.diag());
    program->result = std::move(*result);
    for (const auto& method : program->result.methods) {
      if (!method.not_stock.empty())
        GTEST_SKIP() << "needs operators only Wick has: " << fmt::format("{}", fmt::join(method.not_stock, ", "));
      if (!method.unbounded.empty()) GTEST_SKIP() << "stock's runtime has no values without an upper bound";
    }
    program->pte = scratch_.file("program.pte");
    ASSERT_TRUE(compiler::write_pieces(program->pte, program->result.program.pte).ok());
    if (program->result.program.ptd.size_bytes == 0) return;
    program->ptd = scratch_.file("program.ptd");
    ASSERT_TRUE(compiler::write_pieces(program->ptd, program->result.program.ptd).ok());
  }

  // Outputs are named as in the fixtures.
  StockPeer::Run run(const Compiled& program, size_t method, const std::vector<StockCall>& calls,
                     CpuLevel level = CpuLevel::native) {
    const compiler::MethodPlan& plan = program.result.method_plans[method];
    StockPeer::Run run = peer_->run(program.pte, program.inputs[method].method, calls, scratch_.path(),
                                    string_inputs(plan), program.ptd, level);
    for (auto& arrays : run.outputs) rename_outputs(plan, arrays);
    return run;
  }

  Testimony ask_wick(const Compiled& program, size_t method, const std::vector<StockCall>& calls,
                     const Compare& compare) {
    using Kind = Testimony::Kind;
    if (!program.options.targets.empty() && !has_xnnpack_library()) return {Kind::unavailable, "no XNNPACK library"};
    std::string error;
    compiler::CompileOptions options = program.options;
    options.external_weights = false;
    const auto wick = testing::CompiledProgram::make(program.inputs, options, IsaLevel::avx512, &error);
    Outputs outputs(calls.size());
    bool ok = wick != nullptr;
    for (size_t i = 0; ok && i < calls.size(); ++i)
      ok = wick->run(program.inputs[method].method, calls[i], &outputs[i], &error);
    if (ok) error = compare(outputs, 1);
    return {error.empty() ? Kind::agrees : Kind::differs, error};
  }

  // Stock runs the program, and what it gives is what eager gives, or its kernels for this processor differ.
  void check_on_stock(const Compiled& program, size_t method, const std::vector<StockCall>& calls,
                      const Compare& compare) {
    using Kind = Testimony::Kind;
    const StockPeer::Run first = run(program, method, calls);
    ASSERT_TRUE(first.ok) << first.message;
    const std::string deviation = compare(first.outputs, 1);
    if (deviation.empty()) return;
    const auto ask_stock = [&](CpuLevel level) -> Testimony {
      if (features_.empty()) return {Kind::unavailable, "stock's kernels cannot be limited here"};
      const StockPeer::Run again = run(program, method, calls, level);
      const std::string what = again.ok ? compare(again.outputs, 1) : again.message;
      return {what.empty() ? Kind::agrees : Kind::differs, what};
    };
    const auto roughly = [&]() -> Testimony {
      const std::string what = compare(first.outputs, kGenerous);
      return {what.empty() ? Kind::agrees : Kind::differs, what};
    };
    const Verdict verdict = judge({[&] { return ask_wick(program, method, calls, compare); }, ask_stock, roughly});
    if (verdict.program_is_wrong)
      ADD_FAILURE() << deviation << "\n" << verdict.why;
    else
      fmt::print("stock deviates ({}): {}: {} ({})\n", features_, GetParam(), deviation, verdict.why);
  }

  static std::vector<std::string> string_inputs(const compiler::MethodPlan& plan) {
    std::vector<std::string> strings;
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const auto* text = std::get_if<std::string>(&plan.values[static_cast<size_t>(plan.inputs[i])]);
      if (text) strings.push_back(fmt::format("{}={}", i, *text));
    }
    return strings;
  }

  static void rename_outputs(const compiler::MethodPlan& plan, std::vector<cli::NamedArray>& arrays) {
    const size_t mutated = plan.mutated_inputs.size();
    for (cli::NamedArray& array : arrays) {
      const auto index = static_cast<size_t>(atoi(array.name.c_str() + 3));
      array.name = index < mutated ? fmt::format("mut_{}", plan.mutated_inputs[index])
                                   : fmt::format("out{}", plan.output_leaves[index - mutated]);
    }
  }

  // The outputs of the calls of a fixture.
  static Compare against(const std::vector<FixtureCall>& calls, const testing::ArrayTolerance& tolerance) {
    return [&calls, tolerance](const Outputs& outputs, double factor) {
      std::string text;
      const testing::ArrayTolerance allowed{tolerance.relative * factor, tolerance.absolute * factor};
      for (size_t i = 0; i < calls.size(); ++i) {
        const std::string differences = testing::differences(outputs[i], calls[i].outputs, allowed);
        if (!differences.empty()) text += calls[i].label + ": " + differences;
      }
      return text;
    };
  }

  static std::vector<StockCall> inputs_of(const std::vector<FixtureCall>& calls) {
    std::vector<StockCall> inputs;
    for (const FixtureCall& call : calls) inputs.push_back(call.inputs);
    return inputs;
  }

  void check_program(bool external_weights, const char* backend = "", const testing::ArrayTolerance& tolerance = {}) {
    auto map = compiler::FileMap::open((kPrograms / (GetParam() + ".pt2")).string());
    ASSERT_TRUE(map.ok());
    std::vector<FixtureCall> calls = fixture_calls(kPrograms, GetParam());
    // A delegate on stock leaves outputs of empty inputs as they were, or fails (docs/xnnpack.md, "Sizes that may be
    // 0").
    const auto is_empty = [](const cli::NamedArray& array) { return array.bytes.empty(); };
    const bool delegated = backend[0] != '\0';
    std::erase_if(calls, [&](const FixtureCall& call) {
      return delegated && std::any_of(call.inputs.begin(), call.inputs.end(), is_empty);
    });
    ASSERT_FALSE(calls.empty());
    Compiled program{{compiler::CompileBytes{"forward", GetParam() + ".pt2", map->bytes()}}, {}, {}, "", ""};
    program.options.external_weights = external_weights;
    program.options.targets = *compiler::find_targets(backend);
    compile(&program);
    if (HasFatalFailure() || IsSkipped()) return;
    check_on_stock(program, 0, inputs_of(calls), against(calls, tolerance));
  }

  static std::optional<StockPeer> peer_;
  static std::string why_, features_;
  testing::ScratchFolder scratch_;
};
std::optional<StockPeer> WickOnStock::peer_;
std::string WickOnStock::why_, WickOnStock::features_;

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

// "" if the array is among `outputs` and agrees in what is kept of it.
std::string sampled_difference(const std::vector<cli::NamedArray>& outputs, const testing::SampledArray& want,
                               double error) {
  const cli::NamedArray* got = find_array(outputs, want.array.name);
  if (!got) return "is missing";
  if (got->sizes != want.array.sizes) return "has other sizes";
  cli::NamedArray wanted = want.array;
  const cli::NamedArray sampled = sample(*got, want.every);
  wanted.sizes = sampled.sizes;
  if (sampled.bytes.size() != wanted.bytes.size()) return "has other sizes";
  return testing::difference(sampled, wanted, {0, error * largest(wanted)});
}

// The program of a model, on the backends named.
void ModelOnStock::check_model(const char* backend, const fs::path& folder, double error) {
  auto fixture = testing::expand_fixture((folder / (GetParam() + ".wfix.gz")).string());
  ASSERT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
  if (folder == kQuantized) fixture->steps.resize(1);  // a second step is eager's
  std::vector<StockCall> inputs;
  for (const testing::FixtureStep& step : fixture->steps) inputs.push_back(step.inputs);
  Compiled program{{compiler::CompileBytes{"forward", GetParam() + ".pt2", {fixture->pt2.data(), fixture->pt2.size()}}},
                   {},
                   {},
                   "",
                   ""};
  program.options.targets = *compiler::find_targets(backend);
  compile(&program);
  if (HasFatalFailure() || IsSkipped()) return;
  check_on_stock(program, 0, inputs, [&](const Outputs& outputs, double factor) {
    std::string text;
    for (size_t i = 0; i < fixture->steps.size(); ++i) {
      for (const testing::SampledArray& want : fixture->steps[i].outputs) {
        const std::string what = sampled_difference(outputs[i], want, error * factor);
        if (!what.empty()) text += fmt::format("{} of step {}: {}\n", want.array.name, i + 1, what);
      }
    }
    return text;
  });
}

TEST_P(ModelOnStock, AgreesWithEager) { check_model(""); }

// Every program, with XNNPACK delegates.
class XnnpackOnStock : public WickOnStock {};
class XnnpackModelOnStock : public ModelOnStock {};

// Where quantization is chosen at run time, the library does so row by row.
TEST_P(XnnpackOnStock, AgreesWithEager) {
  const bool by_rows = GetParam() == "quantized_dynamic";
  check_program(false, "xnnpack", by_rows ? testing::ArrayTolerance{1e-5, 0.03} : testing::ArrayTolerance());
}
TEST_P(XnnpackModelOnStock, AgreesWithEager) { check_model("xnnpack"); }

class QuantizedOnStock : public ModelOnStock {};

// The delegates that stock makes give the same, but for sums in another order, which turn a rounding now and then where
// one layer's output is quantized for the next at run time. `static_mixed`, `static_uint8_translator` and
// `dynamic_half` are judged by eager, and so are `subclass_int8_products`, whose rows get zero points here, which
// eager's have not, and `subclass_int8_rows`: stock's library multiplies by the inverse of a scale, where eager
// divides.
TEST_P(QuantizedOnStock, AgreesWithTheDelegatesOfStock) {
  const std::string& name = GetParam();
  const bool turns = name == "dynamic_deit" || name == "static_mixed" || name == "static_uint8_translator" ||
                     name == "dynamic_half" || name == "subclass_int8_products" || name == "subclass_int8_rows";
  check_model("xnnpack", kQuantized, turns ? 0.03 : 1e-5);
}

class MethodsOnStock : public WickOnStock {};

// The parameter names two programs, which become the methods of one.
TEST_P(MethodsOnStock, AgreeWithEager) {
  const std::string both = GetParam();
  const std::vector<std::string> names = {both.substr(0, both.find("_and_")), both.substr(both.find("_and_") + 5)};
  std::vector<compiler::FileMap> maps;
  Compiled program;
  for (const std::string& name : names) {
    auto map = compiler::FileMap::open((kPrograms / (name + ".pt2")).string());
    ASSERT_TRUE(map.ok());
    maps.push_back(std::move(*map));
    program.inputs.push_back({name, name + ".pt2", maps.back().bytes()});
  }
  compile(&program);
  if (HasFatalFailure() || IsSkipped()) return;
  for (size_t m = 0; m < names.size(); ++m) {
    const std::vector<FixtureCall> calls = fixture_calls(kPrograms, names[m]);
    ASSERT_FALSE(calls.empty());
    check_on_stock(program, m, inputs_of(calls), against(calls, {}));
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
