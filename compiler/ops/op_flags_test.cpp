#include <gtest/gtest.h>

#include "compiler/ir/op_def.h"

namespace wick::compiler {
namespace {

// Two flags of one bit do not compile, and -Wswitch names a flag that is missing here.
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

}  // namespace
}  // namespace wick::compiler
