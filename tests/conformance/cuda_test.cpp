// Runs every operator case with the CUDA backend and compares with eager PyTorch. The kernels run on the host: those of
// a family form twin libraries (backends/cuda/twin), which replace the driver for the delegate's runtime. Threads run
// in ascending, descending and random order and must give the same bits.
//   WICK_CUDA_DEVICE=cuda:0     on a device instead of the twin, compiled for WICK_CUDA_GPU (sm_90) or all targets
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_PART=3/16        only every 16th case, starting at number 3; parts are 0/16 to 15/16
//   WICK_CASES_VERBOSE=1        every failure, not the first few of each operator, and the nodes that no kernel takes
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "backends/cuda/compile/target.h"
#include "backends/cuda/compile/text/program.h"
#include "backends/cuda/twin/build_twin.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "tests/conformance/exceptions.h"
#include "tests/support/scratch_folder.h"
#include "wick/cuda_backend.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"

namespace wick::conformance {
namespace {

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr size_t kShownPerOperator = 3;
// A library with more kernels takes too long to compile in one piece.
constexpr size_t kKernelsPerTwin = 400;

struct Setting {
  const char* name;
  Operands operands;
};
constexpr Setting kSettings[] = {
    {"inputs", Operands::inputs}, {"weights", Operands::first_input}, {"symbolic sizes", Operands::dynamic_inputs}};

struct Built {
  const Case* test;
  const Setting* setting;
  CompiledCase compiled;
};

// NOLINTNEXTLINE(concurrency-mt-unsafe)
const char* const kDevice = std::getenv("WICK_CUDA_DEVICE");

// The CUDA target, which here takes partitions of views too.
const compiler::Target& target() {
  static const compiler::Target target = [] {
    compiler::Target out = cuda::kTarget;
    out.partition.profitable = cuda::knows_sizes;
    return out;
  }();
  return target;
}

compiler::CompileOptions options_of_run() {
  const char* const gpu = kDevice ? std::getenv("WICK_CUDA_GPU") : "none";  // NOLINT(concurrency-mt-unsafe)
  compiler::CompileOptions options;
  options.targets = {&target()};
  if (gpu) options.targets[0].settings.emplace_back("gpu", gpu);
  return options;
}

// Whether an index may differ from eager's: among equal integers these operators return the index of the first one,
// and eager on a processor that of another one. Then only the values are compared.
bool has_equal_elements(const Case& test) {
  return (test.op == "aten.topk.default" || test.op == "aten.kthvalue.default") &&
         !is_floating(test.tensors[0].second.value.dtype);
}

// Weights cannot be mutated. With symbolic sizes, data-dependent operators are left out: the size of their results
// comes from the exported file.
bool fits(const Case& test, const Setting& setting) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  if (setting.operands == Operands::dynamic_inputs) return def && !def->has(compiler::kDataDependent);
  return setting.operands == Operands::inputs || (test.tensors.size() > 1 && test.mutated.empty());
}

std::vector<HostValue> inputs_of(const Built& built) {
  std::vector<HostValue> inputs;
  for (const auto& [name, tensor] : built.test->tensors) {
    if (built.setting->operands != Operands::first_input || inputs.empty()) inputs.emplace_back(tensor.value);
  }
  return inputs;
}

// Adds the kernels of all delegates, including those in branches and loops.
void collect_kernels(const compiler::Graph& graph, std::map<std::string, cuda::KernelText>& kernels) {
  for (const auto& delegate : graph.delegates) {
    for (const auto& kernel : *static_cast<const std::vector<cuda::KernelText>*>(delegate->kept.get()))
      kernels.emplace(kernel.name, kernel);
  }
  for (const auto& node : graph.nodes()) {
    for (const auto& inner : node->graphs) collect_kernels(*inner, kernels);
  }
}

class CudaCases : public ::testing::TestWithParam<const char*> {
 protected:
  void run() {
    auto cases = read_cases(kFolder, GetParam());
    ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
    const char* filter = std::getenv("WICK_CASES");
    for (const Case& test : *cases) {
      if (filter && test.op.find(filter) == std::string::npos) continue;
      for (const Setting& setting : kSettings) {
        if (fits(test, setting) && !is_known(setting)) compile(test, setting);
      }
      if (kernels_.size() >= kKernelsPerTwin) {
        ASSERT_NO_FATAL_FAILURE(run_built());
      }
    }
    ASSERT_NO_FATAL_FAILURE(run_built());
    for (const auto& [why, count] : outside_) {
      if (verbose_) std::printf("  outside %4zu %s\n", count, why.c_str());
    }
    std::printf("%-15s %5zu runs with delegates %5zu fail\n", GetParam(), delegated_, failed_);
    EXPECT_EQ(failed_, 0u);
  }

 private:
  // Whether other families cover this setting. Family opdef holds short forms of the cases of other families, so
  // symbolic sizes add nothing. Families outside kFamilies are about values, for which one setting is enough.
  bool is_known(const Setting& setting) const {
    const std::string_view family = GetParam();
    const bool is_about_values = std::find(std::begin(kFamilies), std::end(kFamilies), family) == std::end(kFamilies);
    return (family == "opdef" && setting.operands == Operands::dynamic_inputs) ||
           (is_about_values && setting.operands != Operands::inputs);
  }

  void compile(const Case& test, const Setting& setting) {
    std::map<std::string, cuda::KernelText> kernels;
    auto compiled = compile_case(test, options_of_run(), setting.operands,
                                 [&](compiler::Graph& graph) { collect_kernels(graph, kernels); });
    if (!compiled.ok()) {
      const bool refused = compiled.diag().code == compiler::Code::unsupported_model;
      if (test.error ? compiled.diag().code != compiler::Code::internal
                     : refused && setting.operands == Operands::dynamic_inputs)
        return;
      return fail(test, setting, "does not compile: " + compiler::render(compiled.diag()));
    }
    for (const auto& place : compiled->partition.nodes) {
      if (place.backend.empty()) ++outside_[place.op + ": " + place.reason];
    }
    if (compiled->partition.num_delegates == 0) return;
    kernels_.merge(kernels);
    built_.push_back({&test, &setting, std::move(*compiled)});
  }

  void run_built() {
    if (built_.empty()) return;
    std::string twin;
    if (!kDevice) {
      ASSERT_NO_FATAL_FAILURE(twin = build_twin());
    }
    for (const Built& built : built_) {
      ++delegated_;
      if (const std::string wrong = run_case(built, twin); !wrong.empty()) fail(*built.test, *built.setting, wrong);
    }
    last_.reset();
    built_.clear();
    kernels_.clear();
  }

  std::string build_twin() {
    std::vector<cuda::KernelText> list;
    for (auto& [name, kernel] : kernels_) list.push_back(kernel);
    std::string path = fmt::format("{}/{}.so", folder_.path(), twins_++);
    cuda::TwinOptions options;
    options.optimize = false;
    const compiler::Status status = cuda::build_twin({list.data(), list.size()}, path, options);
    EXPECT_TRUE(status.ok()) << compiler::render(status.diag());
    return path;
  }

  // Runs the program. "" with its outputs, or why there are none.
  std::string run_module(const Built& built, const std::string& twin, bool* loads, std::vector<HostValue>* outputs) {
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.backends = {&cuda_backend()};
    options.max_isa = IsaLevel::avx512;
    options.device = kDevice ? kDevice : "cuda-twin=" + twin;
    ModuleError error;
    auto module = Module::load({built.compiled.pte.data(), built.compiled.pte.size()}, options, &error);
    *loads = module && module->method("forward", &error);
    if (!*loads) return "does not load: " + error.message;
    const bool ran = module->forward(inputs_of(built), outputs, &error);
    last_ = std::move(module);
    return ran ? "" : "does not run: " + error.message;
  }

  std::string run_case(const Built& built, const std::string& twin) {
    std::vector<HostValue> outputs;
    bool loads = false;
    Case test = *built.test;
    const std::string wrong = run_module(built, twin, &loads, &outputs);
    if (!wrong.empty()) return test.error && loads ? "" : wrong;
    if (test.error) return "runs, but eager says: " + *test.error;
    if (has_equal_elements(test)) test.expect[1].tensors[0].value.bytes = outputs[1].tensor.bytes;
    const std::string difference = check_outputs(test, built.compiled, outputs, Elements::all, 0);
    return difference.empty() && !kDevice ? run_in_other_orders(built, twin, outputs) : difference;
  }

  // Runs the threads in descending and random order. A kernel that lacks a barrier then gives other bits.
  std::string run_in_other_orders(const Built& built, const std::string& twin, const std::vector<HostValue>& first) {
    void* const library = dlopen(twin.c_str(), RTLD_NOW);  // the library that the runtime has loaded
    if (!library) return "the twin has gone";
    const auto set_order = reinterpret_cast<void (*)(uint32_t, uint64_t)>(dlsym(library, "wick_twin_set_order"));
    std::string wrong;
    for (const uint32_t order : {1u, 2u}) {
      std::vector<HostValue> outputs;
      bool loads = false;
      set_order(order, 7);
      if (wrong.empty()) wrong = run_module(built, twin, &loads, &outputs);
      for (size_t i = 0; wrong.empty() && i < first.size(); ++i) {
        if (outputs[i].tensor.bytes != first[i].tensor.bytes) wrong = fmt::format("other bits in order {}", order);
      }
    }
    set_order(0, 0);
    dlclose(library);
    return wrong;
  }

  void fail(const Case& test, const Setting& setting, const std::string& wrong) {
    const DtypeException* exception = dtype_exception(test);
    if ((exception && explains(*exception, wrong)) || mix_exception(test, wrong)) return;
    ++failed_;
    if (!verbose_ && ++failures_[test.op] > kShownPerOperator) return;
    std::printf("FAIL %s line %zu %s%s\n  %s\n  [%s] %s\n", test.family.c_str(), test.line, test.op.c_str(),
                shapes(test).c_str(), test.arguments.c_str(), setting.name, wrong.c_str());
  }

  const bool verbose_ = std::getenv("WICK_CASES_VERBOSE") != nullptr;
  wick::testing::ScratchFolder folder_;
  std::map<std::string, cuda::KernelText> kernels_;
  std::vector<Built> built_;
  std::unique_ptr<Module> last_;  // keeps the device open
  std::map<std::string, size_t> outside_, failures_;
  size_t twins_ = 0, delegated_ = 0, failed_ = 0;
};

TEST_P(CudaCases, GiveWhatEagerGives) { run(); }

INSTANTIATE_TEST_SUITE_P(Families, CudaCases, ::testing::ValuesIn(std::begin(kFamilies), std::end(kFamilies)),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Values, CudaCases, ::testing::Values("numbers", "mixes", "samples"),
                         [](const ::testing::TestParamInfo<const char*>& test) { return std::string(test.param); });

}  // namespace
}  // namespace wick::conformance
