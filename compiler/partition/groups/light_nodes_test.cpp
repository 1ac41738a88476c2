#include "compiler/partition/groups/light_nodes.h"

#include <gtest/gtest.h>

#include <string>

namespace wick::compiler::light_nodes_test {
namespace {

// Nodes in order: 'w' a light wanted one, 'H' a wanted one of cost 100, '.' one outside.
struct Graph {
  std::string kinds;
  std::vector<std::vector<uint32_t>> before;

  LightNodes light(uint64_t limit = 10) const {
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
  // Node 0, a mask, reaches 3 through 1, which is outside. 3 also needs the heavy 2.
  EXPECT_EQ((Graph{"w.Hw", {{}, {0}, {}, {1, 2}}}.light().before), (Nodes{0}));
  // 1 is left out, and 0, which 1 needs.
  EXPECT_EQ((Graph{"ww.Hw", {{}, {0}, {1}, {}, {2, 3}}}.light().before), (Nodes{0, 1}));
  // Nodes 0 and 5 reach later groups through several nodes outside.
  EXPECT_EQ((Graph{"w..Hww.Hw", {{}, {0}, {1}, {}, {2, 3}, {}, {5}, {4}, {6, 7}}}.light().before), (Nodes{0, 5}));
}

TEST(LightNodes, WhatNeedsANodeBetweenTwoGroupsIsLeftOut) {
  EXPECT_EQ((Graph{"H.w", {{}, {0}, {1}}}.light().behind), (Nodes{2}));
  // 2 is left out, and 3, which needs it. 4 needs only the first group and joins it.
  EXPECT_EQ((Graph{"H.www", {{}, {0}, {1}, {2}, {0}}}.light().behind), (Nodes{2, 3}));
  // The light node 2, which 4 needs through 3, is left out first.
  const LightNodes both = Graph{"H.w.w", {{}, {0}, {1}, {2}, {3}}}.light();
  EXPECT_EQ(both.before, (Nodes{2}));
  EXPECT_EQ(both.behind, (Nodes{4}));
}

TEST(LightNodes, WhatIsHeavyOrNeedsWhatIsHeavyStays) {
  for (const Graph& graph : {Graph{"H.H", {{}, {0}, {1}}}, Graph{"H.wH", {{}, {0}, {1}, {2}}},
                             Graph{"Hw.H", {{}, {0}, {1}, {2}}}, Graph{"H.HH", {{}, {0}, {}, {1, 2}}}}) {
    EXPECT_EQ(graph.light().before, Nodes()) << graph.kinds;
    EXPECT_EQ(graph.light().behind, Nodes()) << graph.kinds;
  }
  // The sum of costs counts.
  EXPECT_EQ((Graph{"ww.HH", {{}, {0}, {1}, {}, {2, 3}}}.light(1).before), Nodes());
  EXPECT_EQ((Graph{"ww.HH", {{}, {0}, {1}, {}, {2, 3}}}.light(2).before), (Nodes{0, 1}));
  EXPECT_EQ((Graph{"H.ww", {{}, {0}, {1}, {2}}}.light(1).behind), Nodes());
  EXPECT_EQ((Graph{"H.ww", {{}, {0}, {1}, {2}}}.light(2).behind), (Nodes{2, 3}));
}

TEST(LightNodes, NothingIsLeftOutIfAsManyGroupsAreNeeded) {
  // 0 goes to 4 through 1, but so does the heavy 2 through 3.
  EXPECT_EQ((Graph{"w.H.H", {{}, {0}, {}, {2}, {1, 3}}}.light().before), Nodes());
  // The light 2 needs 1, and so does the heavy 3.
  EXPECT_EQ((Graph{"H.wH", {{}, {0}, {1}, {1}}}.light().behind), Nodes());
  // No node outside is between groups.
  for (const Graph& graph : {Graph{"wH.", {{}, {0}, {1}}}, Graph{"wHw", {{}, {0}, {1}}}, Graph{".w", {{}, {0}}}}) {
    EXPECT_EQ(graph.light().before, Nodes()) << graph.kinds;
    EXPECT_EQ(graph.light().behind, Nodes()) << graph.kinds;
  }
}

}  // namespace
}  // namespace wick::compiler::light_nodes_test
