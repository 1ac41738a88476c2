#include "compiler/partition/groups/light_nodes.h"

#include <gtest/gtest.h>

#include <string>

namespace wick::compiler::light_nodes_test {
namespace {

// Nodes in order: 'w' a light wanted one, 'H' a wanted one of cost 100, '.' one outside.
struct Graph {
  std::string kinds;
  std::vector<std::vector<uint32_t>> before;

  std::vector<uint32_t> light(uint64_t limit = 10) const {
    std::vector<bool> wanted;
    std::vector<uint64_t> cost;
    for (const char kind : kinds) {
      wanted.push_back(kind != '.');
      cost.push_back(kind == 'H' ? 100 : 1);
    }
    return light_nodes({before}, std::vector<uint32_t>(kinds.size(), kNoGroup), wanted, cost, limit);
  }
};

using Nodes = std::vector<uint32_t>;

TEST(LightNodes, WhatANodeBetweenTwoGroupsNeedsIsLeftOut) {
  // The mask 0 goes through 1 to 3, which also needs the heavy 2.
  EXPECT_EQ((Graph{"w.Hw", {{}, {0}, {}, {1, 2}}}.light()), (Nodes{0}));
  // With what it needs itself: 0 and 1.
  EXPECT_EQ((Graph{"ww.Hw", {{}, {0}, {1}, {}, {2, 3}}}.light()), (Nodes{0, 1}));
  // Through several nodes outside, to groups that follow each other.
  EXPECT_EQ((Graph{"w..Hww.Hw", {{}, {0}, {1}, {}, {2, 3}, {}, {5}, {4}, {6, 7}}}.light()), (Nodes{0, 5}));
}

TEST(LightNodes, WhatIsHeavyOrNeedsWhatIsHeavyStays) {
  EXPECT_EQ((Graph{"H.Hw", {{}, {0}, {}, {1, 2}}}.light()), Nodes());
  EXPECT_EQ((Graph{"Hw.w", {{}, {0}, {1}, {2}}}.light()), Nodes());
  // The sum of costs counts.
  EXPECT_EQ((Graph{"ww.Hw", {{}, {0}, {1}, {}, {2, 3}}}.light(1)), Nodes());
  EXPECT_EQ((Graph{"ww.Hw", {{}, {0}, {1}, {}, {2, 3}}}.light(2)), (Nodes{0, 1}));
}

TEST(LightNodes, NothingIsLeftOutIfAsManyGroupsAreNeeded) {
  // 0 goes to 2 through 1, but so does the heavy 3 through 4.
  EXPECT_EQ((Graph{"w.H.w", {{}, {0}, {}, {2}, {1, 3}}}.light()), Nodes());
  // No node outside is between groups.
  EXPECT_EQ((Graph{"wH.", {{}, {0}, {1}}}.light()), Nodes());
  EXPECT_EQ((Graph{"wHw", {{}, {0}, {1}}}.light()), Nodes());
}

}  // namespace
}  // namespace wick::compiler::light_nodes_test
