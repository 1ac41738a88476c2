#include "compiler/support/limits.h"

#include <gtest/gtest.h>

namespace wick::compiler {
namespace {

TEST(Limits, AreReadWithUnits) {
  Limits limits;
  ASSERT_TRUE(set_limit("arena-bytes=2G", limits).ok());
  ASSERT_TRUE(set_limit("nodes=7", limits).ok());
  EXPECT_EQ(limits.arena_bytes, uint64_t{2} << 30);
  EXPECT_EQ(limits.nodes, 7u);
}

TEST(Limits, RefuseWhatIsNoLimit) {
  for (const char* text : {"", "nodes", "nodes=", "nodes=x", "nodes=-1", "nodes=1T", "size=1", "nodes=99999999999G"}) {
    Limits limits;
    const Status status = set_limit(text, limits);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_EQ(status.diag().code, Code::usage);
    EXPECT_NE(status.diag().help.find("archive-entries"), std::string::npos);
  }
}

TEST(Limits, HoldWhileTheirScopeLives) {
  Limits small;
  small.nodes = 3;
  {
    const LimitScope scope(small);
    EXPECT_EQ(limits().nodes, 3u);
  }
  EXPECT_EQ(limits().nodes, Limits().nodes);
}

TEST(Limits, EachErrorNamesTheOptionThatRaisesIt) {
  for (const LimitRow& row : limit_table()) {
    const std::string text = render(over_limit(row.field, "too much", "9"));
    EXPECT_NE(text.find(std::string("--limit ") + row.name + "=N"), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(Limits().*row.field)), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace wick::compiler
