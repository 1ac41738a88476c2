// Runs the golden files of passes/test: each case is a graph in the text form of the IR and what its pass makes of it.
// WICK_UPDATE_GOLDENS=1 rewrites the expected graphs; review the diff.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/ir/text/text.h"
#include "compiler/passes/golden_file.h"
#include "compiler/passes/pipeline.h"

namespace wick::compiler::pass_test {
namespace {

std::string golden_text(const Golden& golden) {
  std::string text = "# pass: " + golden.pass + "\n";
  for (const Case& c : golden.cases) {
    text += "\n# case: " + c.title + "\n" + c.input + "\n";
    if (c.expect == Expect::error)
      text += "# expect-error: \"" + c.error + "\"\n";
    else if (c.expect == Expect::unchanged)
      text += "# expect: unchanged\n";
    else if (!c.expected.empty())
      text += "# expect\n" + c.expected + "\n";
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Lines of the longest common subsequence unmarked, the others with - (expected) and + (found).
std::string diff(const std::string& expected, const std::string& found) {
  const auto a = lines_of(expected), b = lines_of(found);
  std::vector<std::vector<size_t>> common(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  }
  std::string out;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j])
      out += "  " + a[i++] + "\n", ++j;
    else if (j == b.size() || (i < a.size() && common[i + 1][j] >= common[i][j + 1]))
      out += "- " + a[i++] + "\n";
    else
      out += "+ " + b[j++] + "\n";
  }
  return out;
}

Function parse(const std::string& text) {
  auto function = parse_graph(text);
  if (function.ok()) return std::move(*function);
  ADD_FAILURE() << render(function.diag()) << text;
  return {"", nullptr, "", "", {}};
}

void run_case(const std::string& pass, Case& c, bool update) {
  SCOPED_TRACE(c.title);
  Function function = parse(c.input);
  if (!function.graph) return;
  const std::string before = to_text(*function.graph, function.name);
  const Result<Changed> changed = run_pass(pass, *function.graph, {});
  if (c.expect == Expect::error) {
    ASSERT_FALSE(changed.ok()) << "the pass accepts the graph";
    EXPECT_NE(render(changed.diag()).find(c.error), std::string::npos) << render(changed.diag());
    return;
  }
  ASSERT_TRUE(changed.ok()) << render(changed.diag());
  const std::string found = to_text(*function.graph, function.name);
  EXPECT_EQ(*changed == Changed::yes, found != before) << "the pass reports a change wrongly\n" << found;
  if (c.expect == Expect::unchanged) {
    EXPECT_EQ(found, before) << diff(before, found);
    return;
  }
  EXPECT_EQ(*changed, Changed::yes) << "the graph stays as it is";
  if (update) c.expected = trim(found);
  EXPECT_EQ(trim(found), c.expected) << diff(c.expected, trim(found));
  const Result<Changed> again = run_pass(pass, *function.graph, {});
  ASSERT_TRUE(again.ok()) << render(again.diag());
  EXPECT_EQ(*again, Changed::no) << "a second run changes the graph again\n"
                                 << diff(found, to_text(*function.graph, function.name));
}

class PassGolden : public testing::TestWithParam<std::string> {};

TEST_P(PassGolden, MatchesItsFile) {
  const std::string path = golden_folder() + "/" + GetParam() + ".ir";
  Golden golden = read_golden(path);
  EXPECT_EQ(golden.pass, GetParam()) << "the file has the name of its pass";
  EXPECT_FALSE(golden.cases.empty());
  const bool update = std::getenv("WICK_UPDATE_GOLDENS") != nullptr;
  for (Case& c : golden.cases) run_case(golden.pass, c, update);
  if (!update || HasFailure()) return;  // a file whose update failed stays as its author left it
  std::ofstream(path) << golden_text(golden);
}

TEST_P(PassGolden, HasTheFormThatAnUpdateWrites) {
  const std::string path = golden_folder() + "/" + GetParam() + ".ir";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden_text(read_golden(path)), text.str()) << "WICK_UPDATE_GOLDENS=1 writes it";
}

INSTANTIATE_TEST_SUITE_P(Passes, PassGolden, testing::ValuesIn(golden_files()),
                         [](const auto& test) { return test.param; });

TEST(PassTable, EachPassHasAGoldenFile) {
  const std::vector<std::string> files = golden_files();
  for (const Pass& pass : pass_table()) {
    EXPECT_TRUE(std::find(files.begin(), files.end(), pass.name) != files.end())
        << pass.name << " lacks " << golden_folder() << "/" << pass.name << ".ir";
  }
}

}  // namespace
}  // namespace wick::compiler::pass_test
