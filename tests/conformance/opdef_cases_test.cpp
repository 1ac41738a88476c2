// Tests that the fixture that tests/fixtures/export.py writes from the cases in the rows of compiler/ops is up to date.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/ir/op_case.h"
#include "tests/conformance/case_file.h"
#include "tests/conformance/case_values.h"
#include "tests/conformance/check_case.h"
#include "tests/conformance/compare.h"
#include "tests/conformance/exceptions.h"

namespace wick::conformance::opdef_cases_test {
namespace {

using compiler::CaseArgument;
using compiler::CaseValue;
using compiler::OpDef;

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr const char* kHowTo = "run tests/fixtures/export.py cases opdef";

void collect(const CaseValue& value, std::vector<const compiler::CaseTensor*>& out) {
  if (value.kind == CaseValue::Kind::tensor) out.push_back(&value.tensor);
  for (const CaseValue& item : value.items) collect(item, out);
}

std::string why_inputs_differ(const OpDef& def, const Case& stored) {
  const auto parsed = compiler::parse_case(def, stored.text);
  if (!parsed.ok()) return parsed.diag().message;
  std::vector<const compiler::CaseTensor*> tensors;
  for (const CaseArgument& argument : parsed->arguments) collect(argument.value, tensors);
  if (tensors.size() != stored.tensors.size()) return "a different number of tensors";
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string wrong = difference(filled(*tensors[i]), stored.tensors[i].second.value, Tolerance());
    if (!wrong.empty()) return fmt::format("tensor {}: {}", i, wrong);
  }
  return "";
}

TEST(OpDefCases, AreInTheFixtureWithTheSameInputs) {
  const auto cases = read_cases(kFolder, "opdef");
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::set<std::pair<std::string, std::string>> stored;
  for (const Case& test : *cases) {
    const OpDef* def = compiler::find_op(test.op);
    ASSERT_NE(def, nullptr) << test.op << ": " << kHowTo;
    const auto& texts = compiler::cases_of(*def);
    EXPECT_TRUE(std::find(texts.begin(), texts.end(), test.text) != texts.end())
        << test.op << " has no case \"" << test.text << "\": " << kHowTo;
    const std::string wrong = why_inputs_differ(*def, test);
    EXPECT_EQ(wrong, "") << "case \"" << test.text << "\" of " << test.op;
    stored.emplace(test.op, test.text);
  }
  for (const OpDef* def : compiler::all_ops()) {
    for (const char* text : def->cases) {
      EXPECT_TRUE(stored.count({std::string(def->name()), text}))
          << "case \"" << text << "\" of " << def->name() << ": " << kHowTo;
    }
  }
}

TEST(OpDefCases, ExistForEveryOperator) {
  std::set<std::string> tested;
  for (const char* family : kFamilies) {
    const auto cases = read_cases(kFolder, family);
    ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
    for (const Case& test : *cases) tested.insert(test.op);
  }
  for (const OpDef* def : compiler::all_ops()) {
    const bool has = tested.count(std::string(def->name())) != 0;
    EXPECT_NE(has, is_untested(def->name()))
        << def->name() << (has ? " is tested: take it off kUntested" : " has no case in its row");
  }
}

}  // namespace
}  // namespace wick::conformance::opdef_cases_test
