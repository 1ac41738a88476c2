// The golden files of passes: each case is a graph in the text form of the IR and what its pass makes of it. The whole
// pipeline runs over every graph too: it ends, and the program still computes the same.
// WICK_UPDATE_GOLDENS=1 rewrites the expected graphs; review the diff.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compiler/ir/clone.h"
#include "compiler/ir/text/text.h"
#include "compiler/passes/compare_graphs.h"
#include "compiler/passes/golden_file.h"
#include "compiler/passes/pipeline.h"
#include "compiler/quantize/fold_quantization.h"

namespace wick::compiler::goldens_test {
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

// A diff: lines of the longest common subsequence are unmarked, the others have - (expected) or + (found).
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

void run_case(const std::string& pass, Case& c, bool update) {
  SCOPED_TRACE(c.title);
  Function function = parse(c.input);
  if (!function.graph) return;
  const std::string before = to_text(*function.graph, function.name);
  PipelineOptions options;
  options.own_passes = tested_passes().own;
  const Result<Changed> changed = run_pass(pass, *function.graph, options);
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
  const Result<Changed> again = run_pass(pass, *function.graph, options);
  ASSERT_TRUE(again.ok()) << render(again.diag());
  EXPECT_EQ(*again, Changed::no) << "a second run changes the graph again\n"
                                 << diff(found, to_text(*function.graph, function.name));
}

class PassGolden : public testing::TestWithParam<std::string> {};

TEST_P(PassGolden, MatchesItsFile) {
  const std::string path = golden_path(tested_passes().folder, GetParam());
  Golden golden = read_golden(path);
  EXPECT_EQ(golden.pass, GetParam()) << "the file has the name of its pass";
  EXPECT_FALSE(golden.cases.empty());
  const bool update = std::getenv("WICK_UPDATE_GOLDENS") != nullptr;
  for (Case& c : golden.cases) run_case(golden.pass, c, update);
  if (!update || HasFailure()) return;  // a file whose update failed stays as its author left it
  std::ofstream(path) << golden_text(golden);
}

TEST_P(PassGolden, HasTheFormThatAnUpdateWrites) {
  const std::string path = golden_path(tested_passes().folder, GetParam());
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(golden_text(read_golden(path)), text.str()) << "WICK_UPDATE_GOLDENS=1 writes it";
}

INSTANTIATE_TEST_SUITE_P(Passes, PassGolden, testing::ValuesIn(golden_files()),
                         [](const auto& test) { return test.param; });

TEST(PassTable, EachPassHasAGoldenFile) {
  const std::vector<std::string> files = golden_files();
  for (const Pass& pass : tested_passes().rows) {
    EXPECT_TRUE(std::find(files.begin(), files.end(), pass.name) != files.end())
        << pass.name << " lacks " << golden_path(tested_passes().folder, pass.name);
  }
}

// --- the pipeline over all graphs ---

// Each graph of each golden file that is meant to compile.
std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const std::string& name : golden_files()) {
    for (Case& c : read_golden(golden_path(tested_passes().folder, name)).cases) {
      c.title = name + ": " + c.title;
      if (c.expect != Expect::error) out.push_back(std::move(c));
    }
  }
  return out;
}

bool has_graphs(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return !node->graphs.empty(); });
}

void compare_all(const PipelineOptions& options, double tolerance) {
  size_t compared = 0, control_flow = 0;
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.title);
    const Function original = parse(c.input), optimized = parse(c.input);
    unfold_quantization(*original.graph);  // kernels compute with elements
    const Status status = run_pipeline(*optimized.graph, options);
    ASSERT_TRUE(status.ok()) << render(status.diag());
    const Outcome before = evaluate_outputs(*original.graph), after = evaluate_outputs(*optimized.graph);
    if (!before.status.ok()) {  // draws random numbers, has control flow, or is refused by a kernel on purpose
      control_flow += has_graphs(*original.graph) ? 1 : 0;
      continue;
    }
    ASSERT_TRUE(after.status.ok()) << render(after.status.diag());
    ASSERT_EQ(before.outputs.size(), after.outputs.size());
    for (size_t i = 0; i < before.outputs.size(); ++i) expect_same(before.outputs[i], after.outputs[i], tolerance);
    ++compared;
  }
  EXPECT_GT(compared * 4, (all_cases().size() - control_flow) * 3) << "too few graphs run";
}

TEST(Goldens, KeepsEveryBitOfEveryGoldenGraph) {
  PipelineOptions options;
  options.skip = {"fold_batch_norm"};
  options.verify_each_pass = true;
  compare_all(options, 0);
}

TEST(Goldens, FoldedBatchNormsAgreeUpToRounding) {
  PipelineOptions options;
  options.verify_each_pass = true;
  compare_all(options, 1e-5);
}

// Backends ask for shared passes too.
std::vector<Case> target_cases(std::string_view pass) {
  const TestedPasses tested = tested_passes();
  const bool is_own =
      std::any_of(tested.rows.begin(), tested.rows.end(), [&](const Pass& row) { return row.name == pass; });
  return read_golden(golden_path(is_own ? tested.folder : "compiler/passes/test", pass)).cases;
}

// Composites that stay whole for the passes have no kernel: they are decomposed before they run.
Outcome evaluate_decomposed(Graph& graph) {
  EXPECT_TRUE(run_pass("decompose", graph, {}).ok());
  return evaluate_outputs(graph, true);
}

// Their contracts say where inf and NaN differ, so the inputs are finite.
TEST(Goldens, TargetPassesKeepFiniteValuesUpToRounding) {
  PipelineOptions options;
  options.keep = [](const Node& node) { return node.is("aten.linear.default") || node.is("aten.rms_norm.default"); };
  options.verify_each_pass = true;
  options.target_passes = tested_passes().target_passes;
  options.own_passes = tested_passes().own;
  size_t compared = 0, cases = 0;
  for (const std::string_view pass : options.target_passes) {
    for (const Case& c : target_cases(pass)) {
      SCOPED_TRACE(std::string(pass) + ": " + c.title);
      const Function original = parse(c.input), alone = parse(c.input), together = parse(c.input);
      ++cases;
      ASSERT_TRUE(run_pass(pass, *alone.graph, options).ok());
      const Status status = run_pipeline(*together.graph, options);
      ASSERT_TRUE(status.ok()) << render(status.diag());
      const Outcome before = evaluate_decomposed(*original.graph);
      if (!before.status.ok()) continue;  // the random integers may be invalid indices
      // Where quantization is chosen at run time, a pass may choose it for each row: steps of the grid differ.
      const double tolerance = c.input.find("choose_qparams") != std::string::npos ? 2e-2 : 1e-4;
      for (const Function* function : {&alone, &together}) {
        const Outcome after = evaluate_decomposed(*function->graph);
        ASSERT_TRUE(after.status.ok()) << render(after.status.diag());
        ASSERT_EQ(before.outputs.size(), after.outputs.size());
        for (size_t i = 0; i < before.outputs.size(); ++i) expect_same(before.outputs[i], after.outputs[i], tolerance);
      }
      ++compared;
    }
  }
  EXPECT_GT(compared * 10, cases * 8) << "too few graphs run";
}

// Adds outputs to both graphs: values of the copy, and those that they stand for.
void output_what_stands_for(Graph& graph, Graph& copy) {
  std::vector<std::pair<Value*, Value*>> pairs;
  for (const auto& value : copy.values()) {
    if (value->kind == ValueKind::result && !value->producer) continue;
    for (Value* original : value->stands_for) {
      if (value->type.is_tensor() && original->kind == ValueKind::result) pairs.emplace_back(original, value.get());
    }
  }
  for (const auto& [original, value] : pairs) {
    GraphOutput output;
    output.value = original;
    graph.add_output(output);
    output.value = value;
    copy.add_output(output);
  }
}

// Nodes that a target leaves get their operands by Value::stands_for.
TEST(Goldens, ValuesOfACloneHaveTheElementsOfWhatTheyStandFor) {
  PipelineOptions options;
  options.keep = [](const Node& node) { return node.is("aten.linear.default") || node.is("aten.rms_norm.default"); };
  options.target_passes = tested_passes().target_passes;
  options.own_passes = tested_passes().own;
  size_t compared = 0, tried = 0, pairs = 0;
  for (const std::string_view pass : options.target_passes) {
    for (const Case& c : target_cases(pass)) {
      SCOPED_TRACE(std::string(pass) + ": " + c.title);
      for (const bool together : {false, true}) {
        ++tried;
        const Function original = parse(c.input);
        OriginMap sources;
        const auto copy = clone(*original.graph, sources);
        if (together)
          ASSERT_TRUE(run_pipeline(*copy, options).ok());
        else
          ASSERT_TRUE(run_pass(pass, *copy, options).ok());
        const size_t outputs = original.graph->outputs.size();
        output_what_stands_for(*original.graph, *copy);
        const Outcome wanted = evaluate_decomposed(*original.graph), found = evaluate_decomposed(*copy);
        if (!wanted.status.ok() || !found.status.ok()) continue;  // the random integers may be invalid indices
        const double tolerance = c.input.find("choose_qparams") != std::string::npos ? 2e-2 : 1e-4;
        ASSERT_EQ(wanted.outputs.size(), found.outputs.size());
        for (size_t i = 0; i < wanted.outputs.size(); ++i) expect_same(wanted.outputs[i], found.outputs[i], tolerance);
        ++compared;
        pairs += wanted.outputs.size() - outputs;
      }
    }
  }
  EXPECT_GT(compared * 10, tried * 7) << "too few graphs run";
  EXPECT_GT(pairs, compared) << "too few values stand for others";
}

TEST(Goldens, SecondRunChangesNothing) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.title);
    const Function function = parse(c.input);
    ASSERT_TRUE(run_pipeline(*function.graph, {}).ok());
    const std::string once = to_text(*function.graph, "g");
    std::vector<std::string> changed;
    PipelineOptions options;
    options.on_changed = [&](std::string_view pass, const Graph&) { changed.emplace_back(pass); };
    ASSERT_TRUE(run_pipeline(*function.graph, options).ok());
    EXPECT_EQ(changed, std::vector<std::string>()) << once << to_text(*function.graph, "g");
  }
}

TEST(Goldens, SameTextGivesSameText) {
  for (const Case& c : all_cases()) {
    const Function a = parse(c.input), b = parse(c.input);
    ASSERT_TRUE(run_pipeline(*a.graph, {}).ok());
    ASSERT_TRUE(run_pipeline(*b.graph, {}).ok());
    EXPECT_EQ(to_text(*a.graph, "g"), to_text(*b.graph, "g"));
  }
}

}  // namespace
}  // namespace wick::compiler::goldens_test
