#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/op_def.h"

namespace wick::compiler {
namespace {

// Two flags with the same bit do not compile here, and -Wswitch names a flag that is missing.
constexpr bool is_flag(OpFlags flag) {
  switch (flag) {
    case kPure:
    case kView:
    case kRandom:
    case kEffect:
    case kInPlace:
    case kNoStock:
    case kIdentity:
    case kDataDependent:
    case kComputed:
    case kOverwrites:
    case kIterative:
    case kPointwise:
    case kCommutative:
    case kMutates:
    case kLlmLibrary:
    case kNoResult:
    case kScratch:
    case kMoves:
    case kSelectsElements:
    case kWhole:
    case kIdempotent:
    case kNonNegative:
    case kReduction:
    case kReinterprets:
    case kStorage:
    case kPermutes:
    case kQuantizes:
    case kDequantizes:
    case kFakeQuantizes:
    case kWeightedSum:
    case kScores:
    case kPassesNan:
    case kPassesInfinity:
    case kTestsForNan:
    case kDependsOnZeroSign:
    case kDependsOnZeroSignOf1:
    case kNoNegativeZero:
    case kElements:
    case kPartwise:
    case kBackendOnly:
    case kFills:
    case kAlsoInPlace:
    case kPassesBoth:
    case kMayUnderflow:
    case kKeepsZero:
    case kDependsOnSubnormals:
    case kExactKernel:
    case kNoComplexInStock:
    case kNoKernel: return true;
  }
  return false;
}

TEST(OpFlags, OfRowsAreNamed) {
  for (const OpDef* def : all_ops()) {
    for (int bit = 0; bit < 64; ++bit) {
      const auto flag = static_cast<OpFlags>(uint64_t{1} << bit);
      EXPECT_TRUE(!def->has(flag) || is_flag(flag)) << def->name() << ": bit " << bit;
    }
  }
}

// --- overloads ---

// Facts that depend on whether an operand is a number, on the kernel, or on the schema, not on the function.
constexpr uint64_t kOfTheForm = kNoStock | kAlsoInPlace | kNoComplexInStock | kOverwrites | kCommutative |
                                kTestsForNan | kPartwise | kDependsOnZeroSign | kDependsOnZeroSignOf1 |
                                kNoNegativeZero | kPure;

// One function of tensors and numbers, told by the overload's name: which operands are numbers.
bool is_number_form(std::string_view overload) {
  static const std::set<std::string_view> kForms = {"default",       "Tensor",      "Scalar",      "Scalar_Tensor",
                                                    "Tensor_Scalar", "Tensor_mode", "Scalar_mode", "Tensor_Tensor"};
  return kForms.count(overload) != 0;
}

// Tensor_mode and Scalar_mode are another function than Tensor and Scalar: they round.
std::string function_of(const OpDef& def) {
  const std::string_view name = def.name();
  const size_t dot = name.rfind('.');
  const std::string_view overload = name.substr(dot + 1);
  if (!is_number_form(overload)) return "";
  return std::string(name.substr(0, dot)) + (overload.ends_with("_mode") ? " with a mode" : "");
}

// Facts about the function that differ, and why they may.
const std::map<std::string, std::string> kDifferences = {
    {"aten.bitwise_and", "Binary is for masks: both operands are tensors"},
    {"aten.bitwise_or", "Binary is for masks: both operands are tensors"},
    {"aten.clamp", "bounds that are tensors have no known numbers"},
    {"aten.div", "passing::quotient asks which operand is infinite, and a number is none"},
    {"aten.pow", "rules about exponents need a number"},
    {"aten.remainder", "Scalar_Tensor is decomposed at once"},
    {"aten.where", "default gives indices"},
    {"aten.sub", "kScores is for terms that a mask may be: a tensor that is subtracted is none"},
};

// A row that lacks a fact which its twin has is wrong (a quotient by the number 0 is not finite), or slower.
TEST(OpFacts, OfOneFunctionAreTheSameForTensorsAndNumbers) {
  std::map<std::string, std::vector<const OpDef*>> functions;
  for (const OpDef* def : all_ops()) {
    const std::string function = function_of(*def);
    if (!function.empty() && def->infer && !def->has(kInPlace)) functions[function].push_back(def);
  }
  std::set<std::string> differing;
  size_t pairs = 0;
  for (const auto& [function, rows] : functions) {
    for (size_t i = 1; i < rows.size(); ++i, ++pairs) {
      const OpFacts &a = rows[0]->facts, &b = rows[i]->facts;
      const bool same = ((a.flags ^ b.flags) & ~kOfTheForm) == 0 && a.range == b.range && a.passing == b.passing &&
                        a.curve == b.curve && a.growth == b.growth && a.binary == b.binary && a.movement == b.movement;
      if (same) continue;
      differing.insert(function);
      EXPECT_EQ(kDifferences.count(function), 1u)
          << rows[0]->name() << " and " << rows[i]->name() << " state different facts";
    }
  }
  EXPECT_GE(pairs, 30u);
  for (const auto& [function, why] : kDifferences)
    EXPECT_EQ(differing.count(function), 1u) << function << " need not be among the exceptions";
}

}  // namespace
}  // namespace wick::compiler
