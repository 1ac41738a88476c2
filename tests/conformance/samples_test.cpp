// Runs the calls recorded from PyTorch's own operator samples (tests/op_samples) on portable kernels and with XNNPACK
// and compares with eager.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_VERBOSE=1        every failure, not the first few of each operator
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "backends/xnnpack/compile/target.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::conformance::samples_test {
namespace {

constexpr size_t kShownPerOperator = 3;

bool is_noted(const compiler::PartitionReport& report) {
  return std::any_of(report.nodes.begin(), report.nodes.end(),
                     [](const compiler::NodePlace& place) { return !place.backend.empty() && !place.reason.empty(); });
}

// "" if the program agrees with eager, else why not. `target` null: portable kernels only.
std::string run(const Case& test, const compiler::Target* target) {
  compiler::CompileOptions options;
  if (target) options.targets = {target};
  const auto compiled = compile_case(test, options, Operands::inputs);
  if (!compiled.ok()) return "does not compile: " + compiler::render(compiled.diag());
  ModuleOptions module_options;
  module_options.kernels = {portable_kernels()};
  module_options.backends = {&xnnpack_backend()};
  ModuleError error;
  const auto module = Module::load({compiled->pte.data(), compiled->pte.size()}, module_options, &error);
  if (!module || !module->method("forward", &error)) return "does not load: " + error.message;
  std::vector<HostValue> inputs, outputs;
  for (const auto& [name, tensor] : test.tensors) inputs.emplace_back(tensor.value);
  if (!module->forward(inputs, &outputs, &error)) return "does not run: " + error.message;
  const bool noted = target && is_noted(compiled->partition);
  for (HostValue& output : outputs) {
    for (const Expected& expected : test.expect) {
      if (target && output.tag == Tag::tensor && expected.kind == Expected::Kind::tensor)
        overlook_extremes(test, noted, output.tensor, expected.tensors[0].value);
    }
  }
  return check_outputs(test, *compiled, outputs, noted ? Elements::finite : Elements::all);
}

TEST(Samples, GiveWhatEagerGives) {
  const char* filter = std::getenv("WICK_CASES");
  const bool verbose = std::getenv("WICK_CASES_VERBOSE") != nullptr;
  const auto cases = read_cases("tests/fixtures/cases", "samples");
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::map<std::string, size_t> failed;
  std::set<const DtypeException*> excepted;
  size_t run_cases = 0;
  for (const Case& test : *cases) {
    if (filter && test.op.find(filter) == std::string::npos) continue;
    ++run_cases;
    for (const compiler::Target* target : {static_cast<const compiler::Target*>(nullptr), &xnnpack::kTarget}) {
      const std::string wrong = run(test, target);
      const DtypeException* known = dtype_exception(test);
      if (!wrong.empty() && known && explains(*known, wrong)) {
        excepted.insert(known);
        continue;
      }
      if (wrong.empty() || (++failed[test.op] > kShownPerOperator && !verbose)) continue;
      ADD_FAILURE() << test.op << " line " << test.line << (target ? " xnnpack" : " portable") << shapes(test) << "\n  "
                    << test.arguments << "\n  " << wrong;
    }
  }
  for (const auto& [op, count] : failed) ADD_FAILURE() << op << ": " << count << " failures";
  std::printf("%zu samples on portable kernels and with XNNPACK\n", run_cases);
  if (!filter && !is_part_wanted()) {
    EXPECT_GE(run_cases, 2000u);
    for (const DtypeException& known : dtype_exceptions("samples"))
      EXPECT_TRUE(excepted.count(&known)) << known.op << " needs no exception";
  }
}

}  // namespace
}  // namespace wick::conformance::samples_test
