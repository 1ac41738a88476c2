#include "cli/trace/profile_summary.h"

#include <gtest/gtest.h>

namespace wick::cli {
namespace {

Step step(const std::string& op, const std::string& module, double ms, const std::string& library = "") {
  Step result;
  result.op = op;
  result.library = library;
  result.place.module = module;
  result.ms = result.shown_ms = ms;
  result.delegate = library.empty() ? -1 : 0;
  return result;
}

struct Row {
  std::string module, label;
  int depth;
  double ms, self_ms;
  bool operator==(const Row&) const = default;
};

std::vector<Row> rows(const std::vector<Step>& steps) {
  std::vector<Row> result;
  for (const ModuleTime& time : module_times(steps))
    result.push_back({time.module, time.label, time.depth, time.ms, time.self_ms});
  return result;
}

TEST(ProfileSummary, ParentsHoldWhatLiesBelowAndLoneChildrenAreJoined) {
  const std::vector<Step> steps = {step("a", "net.head", 1), step("b", "net.layers.1.fc", 2),
                                   step("c", "net.layers.0", 4), step("a", "net.layers.1.fc", 8), step("d", "", 16)};
  EXPECT_EQ(rows(steps), (std::vector<Row>{{"", "", 0, 31, 16},
                                           {"net", "net", 1, 15, 0},
                                           {"net.head", "head", 2, 1, 1},
                                           {"net.layers", "layers", 2, 14, 0},
                                           {"net.layers.1.fc", "1.fc", 3, 10, 10},
                                           {"net.layers.0", "0", 3, 4, 4}}));
  EXPECT_EQ(rows({}), (std::vector<Row>{{"", "", 0, 0, 0}}));
  // A module with time of its own keeps its row.
  EXPECT_EQ(rows({step("a", "net", 1), step("b", "net.fc", 2)}),
            (std::vector<Row>{{"", "", 0, 3, 0}, {"net", "net", 1, 3, 1}, {"net.fc", "fc", 2, 2, 2}}));
}

TEST(ProfileSummary, OperatorsAreToldApartByWhatExecutesThem) {
  const std::vector<OperatorTime> times =
      operator_times({step("linear", "x", 1), step("linear", "y", 2, "GEMM"), step("linear", "z", 3, "GEMM")});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].library, "GEMM");
  EXPECT_EQ(times[0].count, 2u);
  EXPECT_EQ(times[0].ms, 5);
  EXPECT_EQ(times[1].count, 1u);
}

TEST(ProfileSummary, TheTraceHoldsOperatorsInsideTheirDelegate) {
  std::vector<Step> steps = {step("fully_connected", "net", 0.25, "GEMM"),
                             step("(rest of the delegate)", "", 0.5, "XnnpackBackend")};
  steps[0].start_ms = 0.125;
  const std::string trace = chrome_trace("forward", steps);
  EXPECT_NE(trace.find(R"({"name":"fully_connected","cat":"delegate","ph":"X","pid":1,"tid":1,"ts":125,"dur":250,)"
                       R"("args":{"module":"net","source":"","library":"GEMM"}})"),
            std::string::npos)
      << trace;
  EXPECT_NE(trace.find(R"({"name":"delegate 0","cat":"delegate","ph":"X","pid":1,"tid":1,"ts":0,"dur":500)"),
            std::string::npos)
      << trace;
}

}  // namespace
}  // namespace wick::cli
