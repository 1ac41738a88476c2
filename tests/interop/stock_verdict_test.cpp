#include "tests/interop/stock_verdict.h"

#include <gtest/gtest.h>

namespace wick::interop::stock_verdict_test {
namespace {

using Kind = Testimony::Kind;

Testimony agrees() { return {}; }
Testimony differs() { return {Kind::differs, "3 elements differ"}; }

// Stock whose kernels agree up to a level.
std::function<Testimony(CpuLevel)> up_to(CpuLevel best) {
  return [best](CpuLevel level) { return level <= best ? agrees() : differs(); };
}

TEST(StockVerdict, KernelsOfTheProcessorAreNotTheProgramsFault) {
  const Verdict verdict = judge({agrees, up_to(CpuLevel::avx2), differs});
  EXPECT_FALSE(verdict.program_is_wrong);
  EXPECT_EQ(verdict.why, "agrees up to avx2");
  EXPECT_FALSE(judge({agrees, up_to(CpuLevel::baseline), differs}).program_is_wrong);
}

TEST(StockVerdict, AProgramThatIsWrongOnWickTooIsWrong) {
  const Verdict verdict = judge({differs, up_to(CpuLevel::avx512), agrees});
  EXPECT_TRUE(verdict.program_is_wrong);
  EXPECT_EQ(verdict.why, "so does Wick's runtime: 3 elements differ");
}

TEST(StockVerdict, AProgramThatStockReadsOtherwiseOnEveryProcessorIsWrong) {
  const Verdict verdict = judge({agrees, [](CpuLevel) { return differs(); }, agrees});
  EXPECT_TRUE(verdict.program_is_wrong);
  EXPECT_EQ(verdict.why, "at no level does stock agree; at baseline: 3 elements differ");
}

// Without Wick's runtime (a build without the library) stock alone decides.
TEST(StockVerdict, AWitnessThatIsNotThereSaysNothing) {
  const auto nobody = [] { return Testimony{Kind::unavailable, "no library"}; };
  EXPECT_FALSE(judge({nobody, up_to(CpuLevel::sse4_1), differs}).program_is_wrong);
  EXPECT_TRUE(judge({nobody, [](CpuLevel) { return differs(); }, agrees}).program_is_wrong);
}

TEST(StockVerdict, WhereStockCannotBeLimitedGarbageIsTold) {
  const auto unlimited = [](CpuLevel) { return Testimony{Kind::unavailable, "another table"}; };
  EXPECT_FALSE(judge({agrees, unlimited, agrees}).program_is_wrong);
  EXPECT_TRUE(judge({agrees, unlimited, differs}).program_is_wrong);
}

TEST(StockVerdict, AKnownDifferenceIsOfOneOperatorDtypeAndFeature) {
  const std::vector<KnownDifference> table = {{"aten.sin.default", "f16", "avx512fp16", ""},
                                              {"aten.sign.default", "", "", ""}};
  const char* features = "ExecuTorch 1.5.1: avx2 avx512f avx512fp16";
  EXPECT_TRUE(find_known(table, "aten.sin.default", "f16", features));
  EXPECT_FALSE(find_known(table, "aten.sin.default", "f32", features));
  EXPECT_FALSE(find_known(table, "aten.cos.default", "f16", features));
  EXPECT_FALSE(find_known(table, "aten.sin.default", "f16", "ExecuTorch 1.5.1: avx2 avx512f"));
  EXPECT_FALSE(find_known({{"aten.sin.default", "f16", "avx512", ""}}, "aten.sin.default", "f16", features));
  EXPECT_TRUE(find_known(table, "aten.sign.default", "f32", "ExecuTorch 1.5.1: baseline"));
}

}  // namespace
}  // namespace wick::interop::stock_verdict_test
