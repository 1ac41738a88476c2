// Tests that kernels take every call that the compiler takes: calls of each operator in each dtype that a file can
// hold, and with one floating operand of another dtype than the others.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_UPDATE_TABLE=1         writes compiler/ops/limits/kernel_dtypes.inc
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "compiler/ops/limits/kernel_dtypes.h"
#include "compiler/passes/pipeline.h"
#include "runtime/kernels/movement/convert.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "wick/portable_kernels.h"

namespace wick::conformance::every_dtype_test {
namespace {

constexpr const char* kTable = "compiler/ops/limits/kernel_dtypes.inc";

// The dtypes to try. f32 and f64 are among them because they change the dtypes of results. For the dtypes that are
// missing here, tests/fixtures/cases/dtypes.cases.gz holds what eager computes.
constexpr DType kDtypes[] = {DType::f32, DType::f64, DType::c32, DType::c64,      DType::c128,
                             DType::u16, DType::u32, DType::u64, DType::f8e4m3fn, DType::f8e8m0fnu};

// The case with its tensors of dtype `replaced` converted to `dtype`; if `only` is not null, only that tensor.
Case in_dtype(const Case& test, DType replaced, DType dtype, const std::string* only = nullptr) {
  Case out = test;
  for (auto& [name, tensor] : out.tensors) {
    if (tensor.value.dtype != replaced || (only && name != *only)) continue;
    const size_t count = tensor.value.bytes.size() / dtype_size_bytes(replaced);
    std::vector<uint8_t> bytes(count * dtype_size_bytes(dtype));
    const bool unsigned_ones = is_integral(dtype);  // so that no integer is 0, by which a kernel may divide
    const auto ones = [&](size_t i) { bytes[i * dtype_size_bytes(dtype)] |= 1; };
    if (count != 0)
      kernels::convert_elements(bytes.data(), dtype, 1, tensor.value.bytes.data(), replaced, 1,
                                static_cast<int64_t>(count));
    for (size_t i = 0; unsigned_ones && !is_integral(replaced) && i < count; ++i) ones(i);
    tensor.value.dtype = dtype;
    tensor.value.bytes = std::move(bytes);
  }
  return out;
}

// "" if the program runs.
std::string run(const Case& test, const CompiledCase& compiled) {
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  ModuleError error;
  const auto module = Module::load({compiled.pte.data(), compiled.pte.size()}, options, &error);
  if (!module || !module->method("forward", &error)) return "does not load: " + error.message;
  std::vector<HostValue> inputs, outputs;
  for (const auto& [name, tensor] : test.tensors) inputs.emplace_back(tensor.value);
  return module->forward(inputs, &outputs, &error) ? "" : error.message;
}

// For each kernel, the dtypes of results and first operands in calls that it takes and in calls that it refuses.
using Dtypes = std::map<std::string, std::set<DType>, std::less<>>;
struct Evidence {
  Dtypes taken, refused;
  std::set<std::string, std::less<>> mixes_taken, mixes_refused;  // kernels that got several floating dtypes
};

std::set<DType> dtypes_of(const compiler::Node& node) {
  const auto is_tensor = [](const compiler::Value* value) { return value->type.is_tensor(); };
  std::set<DType> dtypes;
  const auto operands = node.operands();
  const auto first = std::find_if(operands.begin(), operands.end(), is_tensor);
  if (first != operands.end()) dtypes.insert((*first)->dtype());
  for (const compiler::Value* value : node.results()) {
    if (is_tensor(value)) dtypes.insert(value->dtype());
  }
  return dtypes;
}

void note_dtypes(const compiler::Graph& graph, const std::string& failure, Evidence& evidence) {
  for (const auto& node : graph.nodes()) {
    if (!node->op->kernel || node->op->has(compiler::kBackendOnly)) continue;
    const bool refuses = failure.find(fmt::format("({})", node->op->kernel)) != std::string::npos &&
                         failure.find("InvalidType") != std::string::npos;
    if (!refuses && !failure.empty()) continue;
    const std::set<DType> dtypes = dtypes_of(*node);
    (refuses ? evidence.refused : evidence.taken)[node->op->kernel].insert(dtypes.begin(), dtypes.end());
  }
}

// Whether the case runs if the compiler ignores the table of kernel dtypes.
bool runs_anyhow(const Case& test, Evidence& evidence) {
  auto function = import_case(test, Operands::untyped_results);
  if (!function.ok()) return false;
  compiler::PipelineOptions options;
  options.skip = {"widen_numbers"};
  options.keep = [](const compiler::Node& each) { return each.op->has(compiler::kExactKernel); };
  if (!compiler::run_pipeline(*function->graph, options).ok()) return false;
  const auto compiled = write_case(*function, compiler::Profile::automatic);
  if (!compiled.ok()) return false;
  const std::string failure = run(test, *compiled);
  note_dtypes(*function->graph, failure, evidence);
  return failure.empty();
}

// Records whether kernels take one f16 operand among f32 ones. Here no pass converts the operands to one dtype.
void note_mixes(const Case& test, Evidence& evidence) {
  auto function = import_case(test, Operands::untyped_results);
  if (!function.ok()) return;
  compiler::PipelineOptions options;
  options.skip = {"widen_numbers", "round_numbers"};
  options.keep = [](const compiler::Node& each) { return each.op->kernel != nullptr; };
  if (!compiler::run_pipeline(*function->graph, options).ok()) return;
  const auto compiled = write_case(*function, compiler::Profile::automatic);
  if (!compiled.ok()) return;
  const std::string failure = run(test, *compiled);
  for (const auto& node : function->graph->nodes()) {
    if (!node->op->kernel || node->op->has(compiler::kBackendOnly) || compiler::floating_dtypes(*node).size() < 2)
      continue;
    if (failure.empty()) evidence.mixes_taken.insert(node->op->kernel);
    if (failure.find(fmt::format("({})", node->op->kernel)) != std::string::npos)
      evidence.mixes_refused.insert(node->op->kernel);
  }
}

void note_mixes_of(const Case& test, Evidence& evidence) {
  const auto is_f32 = [](const auto& entry) { return entry.second.value.dtype == DType::f32; };
  if (std::count_if(test.tensors.begin(), test.tensors.end(), is_f32) < 2) return;
  for (const auto& entry : test.tensors) {
    if (is_f32(entry)) note_mixes(in_dtype(test, DType::f32, DType::f16, &entry.first), evidence);
  }
}

// "" if the compiler refuses the call or the program runs, else the error.
std::string refused_at_run_time(const Case& test) {
  const auto compiled = compile_case(test, compiler::Profile::automatic, Operands::untyped_results);
  if (compiled.ok()) {
    const std::string failure = run(test, *compiled);
    return failure.find("negative integer powers") == std::string::npos ? failure : "";  // depends on values
  }
  return compiled.diag().code == compiler::Code::internal ? compiler::render(compiled.diag()) : "";
}

// Whether a dtype counts as taken only if the kernel takes it in every call. For these rare dtypes it is not
// worth telling calls apart.
bool is_taken_always(DType dtype) {
  const auto set = compiler::rare_dtype(dtype);
  return set == compiler::kC32 || set == compiler::kU64 || set == compiler::kF8;
}

std::string table_of(const Evidence& evidence) {
  constexpr std::pair<compiler::RareDtypes, const char*> kNames[] = {
      {compiler::kC32, "kC32"}, {compiler::kC64, "kC64"}, {compiler::kC128, "kC128"}, {compiler::kU16, "kU16"},
      {compiler::kU32, "kU32"}, {compiler::kU64, "kU64"}, {compiler::kF8, "kF8"},     {compiler::kNoF32, "kNoF32"}};
  std::string text = "// Rows of kernel_dtypes.cpp, written by tests/conformance/every_dtype_test.cpp.\n";
  for (const auto& [kernel, dtypes] : evidence.taken) {
    const auto refused = evidence.refused.find(kernel);
    std::string row;
    for (const auto& [set, name] : kNames) {
      const auto is_taken = [&, wanted = set](DType dtype) {
        if (compiler::rare_dtype(dtype) != wanted) return true;
        const bool refuses = refused != evidence.refused.end() && refused->second.count(dtype) != 0;
        return dtypes.count(dtype) != 0 && !(refuses && is_taken_always(dtype));
      };
      const bool all = std::all_of(std::begin(kDtypes), std::end(kDtypes), is_taken);
      if (all != (set == compiler::kNoF32)) row += (row.empty() ? "" : " | ") + std::string(name);
    }
    if (evidence.mixes_refused.count(kernel) != 0 && evidence.mixes_taken.count(kernel) == 0)
      row += row.empty() ? "kAlike" : " | kAlike";
    text += fmt::format("TAKES(\"{}\", {})\n", kernel, row.empty() ? "kUsual" : row);
  }
  return text;
}

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(EveryDtype, CompilesOnlyIfTheKernelTakesIt) {
  const char* filter = std::getenv("WICK_CASES");
  const auto cases = first_cases("tests/fixtures/cases", 3);
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  Evidence evidence;
  for (const auto& [op, list] : *cases) {
    const compiler::OpDef* def = compiler::find_op(op);
    if ((filter && op.find(filter) == std::string::npos) || !def || !def->infer) continue;
    for (const Case& each : list) {
      if (runs_anyhow(each, evidence)) note_mixes_of(each, evidence);
      std::set<DType> replaced;
      for (const auto& [name, tensor] : each.tensors) replaced.insert(tensor.value.dtype);
      for (const DType from : replaced) {
        for (const DType to : kDtypes) {
          const Case test = in_dtype(each, from, to);
          if (!runs_anyhow(test, evidence) && compiler::rare_dtype(to) != compiler::kUsual && to != DType::f32)
            EXPECT_EQ(refused_at_run_time(test), "") << op << shapes(test);
        }
      }
    }
  }
  if (filter || is_part_wanted()) return;
  if (std::getenv("WICK_UPDATE_TABLE")) std::ofstream(kTable) << table_of(evidence);
  EXPECT_TRUE(contents(kTable) == table_of(evidence)) << "the kernels take other dtypes now: WICK_UPDATE_TABLE=1";
}

}  // namespace
}  // namespace wick::conformance::every_dtype_test
