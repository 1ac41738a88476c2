// The backend refuses with what the user can do about it what it does not take: every operator between quantized
// operands and results, of int8 and of int16, alone and with each border missing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "backends/cortex_m/compile/target.h"
#include "tests/cortex_m/quantized_call.h"

namespace wick::cortex_m {
namespace {

using conformance::Case;

constexpr size_t kCasesPerOperator = 1;

TEST(CortexMRefusals, OfEveryOperatorSayWhatTheUserCanDo) {
  auto cases = conformance::read_cases("tests/fixtures/cases", "opdef");
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::map<std::string, size_t> of_operator;
  compiler::add_ops(kTarget.kernels.ops);
  compiler::CompileOptions options;
  options.targets = {&kTarget};
  size_t programs = 0, integer = 0;
  std::set<std::string> helpless, reasons;
  constexpr Borders kForms[] = {
      {&kInt8, &kInt8, &kInt8}, {&kInt16, &kInt16, &kInt16}, {&kInt8, &kInt8, nullptr}, {nullptr, nullptr, &kInt8}};
  for (const Case& test : *cases) {
    if (test.error || ++of_operator[test.op] > kCasesPerOperator) continue;
    for (const Borders& borders : kForms) {
      auto function = quantized_call(test, borders);
      if (!function) continue;
      compiler::PartitionReport report;
      const compiler::Status status = compiler::optimize(*function, options, &report);
      ASSERT_TRUE(status.ok()) << test.op << ": " << compiler::render(status.diag());
      ++programs;
      integer += report.num_outside() == 0;
      for (const compiler::NodePlace& place : report.nodes) {
        if (!place.backend.empty()) continue;
        reasons.insert(place.reason);
        if (place.help.empty()) helpless.insert(fmt::format("{} in {}: {}", place.op, test.op, place.reason));
      }
    }
  }
  EXPECT_TRUE(helpless.empty()) << helpless.size() << ":\n" << fmt::format("{}", fmt::join(helpless, "\n"));
  EXPECT_GT(programs, 2000u);
  EXPECT_GT(integer, 500u);
  EXPECT_GT(reasons.size(), 20u);
}

}  // namespace
}  // namespace wick::cortex_m
