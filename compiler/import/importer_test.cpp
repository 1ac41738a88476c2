#include "compiler/import/importer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/import/archive.h"
#include "compiler/import/archive_test_writer.h"

namespace wick::compiler {
namespace {

// test_program_json(), whose size s7 has no upper bound, with these rules.
Result<Function> import_test_program(const ImportOptions& options, const std::string& rules = "") {
  std::string json = pt2::test_program_json();
  const std::string none = R"("guards_code": [])";
  json.replace(json.find(none), none.size(), R"("guards_code": [)" + rules + "]");
  pt2::TestZip zip = pt2::test_archive();
  zip.at("m/models/model.json").data = json;
  const std::string bytes = zip.bytes();
  ASSIGN_OR_RETURN(pt2::Archive archive, pt2::Archive::open(pt2::bytes_of(bytes), "test.pt2"));
  ASSIGN_OR_RETURN(pt2::ExportedProgram program, pt2::read_exported_program(archive, "model"));
  return import_program(program, "forward", options);
}

TEST(Importer, InputSizesWithoutBoundTakeTheCallers) {
  Result<Function> function = import_test_program({{{"", 64}}});
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("s7").max, 64);
  function = import_test_program({{{"", 64}, {"s7", 16}}});
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("s7").max, 16);
}

TEST(Importer, ABoundOfAnUnknownSizeIsRefused) {
  Result<Function> function = import_test_program({{{"s8", 64}}});
  ASSERT_FALSE(function.ok());
  EXPECT_EQ(function.diag().code, Code::usage);
  EXPECT_EQ(function.diag().message, "no size of the model is called 's8'");
}

TEST(Importer, RulesOfSizesBecomeAssertions) {
  const auto assertions = [](const std::string& rules) -> int64_t {
    Result<Function> function = import_test_program({}, rules);
    if (!function.ok()) return -1;
    return std::count_if(function->graph->nodes().begin(), function->graph->nodes().end(),
                         [](const auto& node) { return node->is("aten._assert_scalar.default"); });
  };
  EXPECT_EQ(assertions(""), 0);
  EXPECT_EQ(assertions(R"("(L['x'].size()[0] % 3) == 1", "L['y'].size()[0] == 1", "L['x'].size()[0] != 1")"), 1);
  EXPECT_EQ(assertions(R"("L['x'].size()[1] == 2")"), 0);
}

}  // namespace
}  // namespace wick::compiler
