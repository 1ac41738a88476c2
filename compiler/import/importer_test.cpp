#include "compiler/import/importer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "compiler/import/archive/archive.h"
#include "compiler/import/archive/archive_test_writer.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

void replace(std::string& json, const std::string& old_text, const std::string& text) {
  json.replace(json.find(old_text), old_text.size(), text);
}

// The bytes of constants lie in `bytes`.
Result<Function> import_bytes(const ImportOptions& options, const std::string& bytes) {
  ASSIGN_OR_RETURN(pt2::Archive archive, pt2::Archive::open(pt2::bytes_of(bytes), "test.pt2"));
  ASSIGN_OR_RETURN(pt2::ExportedProgram program, pt2::read_exported_program(archive, "model"));
  return import_program(program, "forward", options);
}

Result<Function> import_json(const ImportOptions& options, const std::string& json) {
  pt2::TestZip zip = pt2::test_archive();
  zip.at("m/models/model.json").data = json;
  return import_bytes(options, zip.bytes());
}

// test_program_json(), whose size s7 has no upper bound, with these rules.
Result<Function> import_test_program(const ImportOptions& options, const std::string& rules = "") {
  std::string json = pt2::test_program_json();
  replace(json, R"("guards_code": [])", R"("guards_code": [)" + rules + "]");
  return import_json(options, json);
}

TEST(Importer, InputSizesWithoutBoundTakeTheCallers) {
  Result<Function> function = import_test_program({{{"", 64}}});
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("s7").max, 64);
  function = import_test_program({{{"", 64}, {"s7", 16}}});
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("s7").max, 16);
}

TEST(Importer, NamesWhatTheModelStores) {
  const Result<Function> function = import_test_program({});
  ASSERT_TRUE(function.ok()) << function.diag().message;
  ASSERT_EQ(function->stored.size(), 3u);
  for (const StoredTensor& tensor : function->stored) EXPECT_EQ(tensor.is_parameter, tensor.name == "w") << tensor.name;
  EXPECT_EQ(to_text(function->stored[0].value->type), "f32[2, 2]");
  EXPECT_EQ(function->stored[0].value->data.size_bytes(), 16u);
}

// w is stored column-major: the graph has a permuted constant, and its elements are read row-major.
TEST(Importer, ElementsOfStoredTensorsAreThoseOfTheModel) {
  std::string json = pt2::test_program_json();
  const Result<Function> rows = import_json({}, json);
  ASSERT_TRUE(rows.ok());
  EXPECT_FALSE(rows->stored[0].elements);
  pt2::TestZip zip = pt2::test_archive();
  std::string& config = zip.at("m/data/weights/model_weights_config.json").data;
  const size_t strides = config.find(R"("strides": [{"as_int": 2}, {"as_int": 1}])");
  ASSERT_NE(strides, std::string::npos) << config;
  config.replace(strides, strlen(R"("strides": [{"as_int": 2}, {"as_int": 1}])"),
                 R"("strides": [{"as_int": 1}, {"as_int": 2}])");
  std::string& data = zip.at("m/data/weights/weight_0").data;
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i);
  const std::string bytes = zip.bytes();
  const Result<pt2::Archive> archive = pt2::Archive::open(pt2::bytes_of(bytes), "test.pt2");
  ASSERT_TRUE(archive.ok());
  const Result<pt2::ExportedProgram> program = pt2::read_exported_program(*archive, "model");
  ASSERT_TRUE(program.ok()) << render(program.diag());
  const Result<Function> function = import_program(*program, "forward", {});
  ASSERT_TRUE(function.ok()) << render(function.diag());
  const StoredTensor& w = function->stored[0];
  ASSERT_TRUE(w.value->producer && w.elements);
  const Result<ConstantData> elements = w.elements();
  ASSERT_TRUE(elements.ok());
  const std::string found(reinterpret_cast<const char*>(elements->bytes().data()), elements->size_bytes());
  EXPECT_EQ(found, data.substr(0, 4) + data.substr(8, 4) + data.substr(4, 4) + data.substr(12, 4));
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

// The exporter assumed that u0, the size of a tensor, is 2 or more.
TEST(Importer, ALowerBoundThatNoNodeChecksIsNotChecked) {
  std::string json = pt2::test_program_json();
  replace(json, R"("range_constraints": {)", R"("range_constraints": {"u0": {"min_val": 2, "max_val": 9}, )");
  const std::string u0 = R"json({"as_expr": {"expr_str": "Symbol('u0', integer=True)", "hint": null}})json";
  replace(json, R"("tensor_values": {)",
          R"("tensor_values": {"kept": {"dtype": 7, "sizes": [)" + u0 +
              R"(], "requires_grad": false, "device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], )"
              R"("storage_offset": {"as_int": 0}, "layout": 7}, )");
  Result<Function> function = import_json({}, json);
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("u0").min, 0);
  EXPECT_EQ(function->graph->ranges.at("u0").max, 9);
  EXPECT_TRUE(function->graph->ranges.at("u0").from_data) << "no input states it";
  EXPECT_FALSE(function->graph->ranges.at("s7").from_data);

  replace(json, R"("sym_int_values": {})", R"("sym_int_values": {"n": )" + u0 + "}");
  replace(
      json, R"("sym_bool_values": {})",
      R"json("sym_bool_values": {"ge": {"as_expr": {"expr_str": "GreaterThan(Symbol('u0'), Integer(2))", "hint": )json"
      R"json(null}}})json");
  replace(json, R"("nodes": [)",
          R"("nodes": [{"target": "torch.ops.aten.sym_size.int", "inputs": [{"name": "self", "arg": {"as_tensor": )"
          R"({"name": "x"}}, "kind": 1}, {"name": "dim", "arg": {"as_int": 0}, "kind": 1}], "outputs": )"
          R"([{"as_sym_int": {"as_name": "n"}}], "metadata": {}, "is_hop_single_tensor_return": null, "name": "n"}, )"
          R"({"target": "_operator.ge", "inputs": [{"name": "a", "arg": {"as_sym_int": {"as_name": "n"}}, "kind": 1}, )"
          R"({"name": "b", "arg": {"as_int": 2}, "kind": 1}], "outputs": [{"as_sym_bool": {"as_name": "ge"}}], )"
          R"("metadata": {}, "is_hop_single_tensor_return": null, "name": "ge"}, )");
  function = import_json({}, json);
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("u0").min, 2);
}

TEST(Importer, RangesOfExpressionsAreKeyedByTheirText) {
  std::string json = pt2::test_program_json();
  replace(
      json, R"("range_constraints": {)",
      R"json("range_constraints": {"s7**2": {"min_val": 4, "max_val": 40}, "f(s7)": {"min_val": 4, "max_val": 9}, )json");
  const Result<Function> function = import_json({}, json);
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("s7*s7").max, 40);
  for (const auto& [text, range] : function->graph->ranges) EXPECT_TRUE(parse_sym(text).ok()) << text;
}

// The rows of repeat_interleave, the elements of bincount.
TEST(Importer, SizesReadFromDataTakeOnlyTheBoundOfTheirName) {
  std::string json = pt2::test_program_json();
  replace(json, R"("range_constraints": {)", R"("range_constraints": {"u0": {"min_val": 0, "max_val": null}, )");
  replace(json, R"("tensor_values": {)",
          R"json("tensor_values": {"kept": {"dtype": 7, "sizes": [{"as_expr": {"expr_str": )json"
          R"json("Symbol('u0', integer=True)", "hint": null}}], "requires_grad": false, "device": {"type": "cpu", )json"
          R"json("index": null}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}, )json");
  Result<Function> function = import_json({{{"", 64}}}, json);
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("s7").max, 64);
  EXPECT_EQ(function->graph->ranges.at("u0").max, kUnbounded);
  function = import_json({{{"", 64}, {"u0", 12}}}, json);
  ASSERT_TRUE(function.ok()) << function.diag().message;
  EXPECT_EQ(function->graph->ranges.at("u0").max, 12);
}

// The wrapper that run_decompositions() puts around an operator that writes its argument and returns nothing (older
// versions of torchaudio::_lfilter_core_loop).
TEST(Importer, AWrappedOperatorInPlaceGivesTheNewContents) {
  std::string json = pt2::test_program_json();
  replace(json, R"("nodes": [)",
          R"("nodes": [{"target": "torch.ops.higher_order.auto_functionalized_v2", "inputs": [{"name": "", "arg": )"
          R"({"as_operator": "torch.ops.aten.relu_.default"}, "kind": 1}, {"name": "_self_base_index", "arg": )"
          R"({"as_int": 0}, "kind": 1}, {"name": "_all_bases", "arg": {"as_tensors": [{"name": "x"}]}, "kind": 1}], )"
          R"("outputs": [{"as_none": true}, {"as_tensor": {"name": "written"}}], "metadata": {}, )"
          R"("is_hop_single_tensor_return": null, "name": "wrapped"}, )");
  replace(json, R"({"name": "input", "arg": {"as_tensor": {"name": "x"}})",
          R"({"name": "input", "arg": {"as_tensor": {"name": "written"}})");
  const size_t type = json.find(R"("linear": {)"), end = json.find(R"("add": {)");
  json.insert(type, R"("written)" + json.substr(type + sizeof("\"linear") - 1, end - type - sizeof("\"linear") + 1));
  const Result<Function> function = import_json({}, json);
  ASSERT_TRUE(function.ok()) << function.diag().message;
  const auto is = [](std::string_view name) { return [name](const auto& node) { return node->is(name); }; };
  const auto& nodes = function->graph->nodes();
  const auto relu = std::find_if(nodes.begin(), nodes.end(), is("aten.relu.default"));
  const auto linear = std::find_if(nodes.begin(), nodes.end(), is("aten.linear.default"));
  ASSERT_TRUE(relu != nodes.end() && linear != nodes.end());
  EXPECT_EQ((*linear)->arg(0).template as<Value*>(), (*relu)->result(0));
}

// torch.export of a model on a GPU, and move_to_device_pass, write other devices and nothing else.
TEST(Importer, AProgramOfAnotherDeviceIsTheSameGraph) {
  pt2::TestZip zip = pt2::test_archive();
  zip.at("m/models/model.json").data = pt2::test_program_json();
  const std::string here_bytes = zip.bytes();
  const Result<Function> here = import_bytes({}, here_bytes);
  ASSERT_TRUE(here.ok()) << compiler::render(here.diag());
  size_t moved = 0;
  for (pt2::TestEntry& entry : zip.entries) {
    if (!entry.name.ends_with(".json")) continue;
    const std::string cpu = R"({"type": "cpu", "index": null})";
    for (size_t at = 0; (at = entry.data.find(cpu)) != std::string::npos; ++moved)
      entry.data.replace(at, cpu.size(), R"({"type": "cuda", "index": 0})");
  }
  ASSERT_GT(moved, 0u);
  const std::string there_bytes = zip.bytes();
  const Result<Function> there = import_bytes({}, there_bytes);
  ASSERT_TRUE(there.ok()) << compiler::render(there.diag());
  EXPECT_EQ(to_text(*here->graph, "f"), to_text(*there->graph, "f"));
}

// A program may name any devices; all of it runs on one. A tensor that stays on its device may be returned as it is, so
// that a write reaches it; one that is moved to another device is a copy.
TEST(Importer, ATensorOfAnotherDeviceHasMemoryOfItsOwn) {
  const auto reads_written = [&](const std::string& from, const std::string& to) {
    std::string json = pt2::test_program_json();
    replace(json, R"("nodes": [)",
            R"("nodes": [{"target": "torch.ops.aten.to.device", "inputs": [{"name": "self", "arg": {"as_tensor": )"
            R"({"name": "x"}}, "kind": 1}, {"name": "device", "arg": {"as_device": )" +
                to +
                R"(}, "kind": 1}, {"name": "dtype", "arg": {"as_scalar_type": 7}, "kind": 1}], "outputs": )"
                R"([{"as_tensor": {"name": "moved"}}], "metadata": {}, "is_hop_single_tensor_return": null, "name": )"
                R"("moved"}, {"target": "torch.ops.aten.relu_.default", "inputs": [{"name": "self", "arg": )"
                R"({"as_tensor": {"name": "moved"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "written"}}], )"
                R"("metadata": {}, "is_hop_single_tensor_return": null, "name": "written"}, )");
    const std::string cpu = R"({"type": "cpu", "index": null})";
    for (size_t at = json.find(cpu); at != std::string::npos; at = json.find(cpu, at + from.size()))
      json.replace(at, cpu.size(), from);
    const size_t type = json.find(R"("linear": {)"), end = json.find(R"("add": {)");
    std::string meta = json.substr(type + sizeof("\"linear\"") - 1, end - type - sizeof("\"linear\"") + 1);
    replace(meta, from, to);
    json.insert(type, "\"moved\"" + meta + "\"written\"" + meta);
    const Result<Function> function = import_json({}, json);
    EXPECT_TRUE(function.ok()) << compiler::render(function.diag());
    if (!function.ok()) return false;
    for (const auto& node : function->graph->nodes()) {
      const Node* read = node->is("aten.linear.default") ? node->tensor("input")->producer : nullptr;
      if (read) return read->is("aten.relu.default");
    }
    return false;
  };
  const std::string cpu = R"({"type": "cpu", "index": null})", cuda = R"({"type": "cuda", "index": null})",
                    first = R"({"type": "cuda", "index": 0})", second = R"({"type": "cuda", "index": 1})";
  for (const auto& same : {std::pair(cpu, cpu), std::pair(cuda, cuda), std::pair(cuda, first), std::pair(first, first)})
    EXPECT_TRUE(reads_written(same.first, same.second)) << same.first << same.second;
  for (const auto& other : {std::pair(cpu, cuda), std::pair(first, cpu), std::pair(first, second)})
    EXPECT_FALSE(reads_written(other.first, other.second)) << other.first << other.second;
}

TEST(Importer, AnUndecomposedVmapIsRefusedWithTheWayOut) {
  std::string json = pt2::test_program_json();
  replace(json, "torch.ops.aten.add.Tensor", "torch._functorch.predispatch._add_batch_dim");
  const Result<Function> function = import_json({}, json);
  ASSERT_FALSE(function.ok());
  EXPECT_EQ(function.diag().code, Code::unsupported_op);
  EXPECT_NE(function.diag().help.find("run_decompositions()"), std::string::npos) << function.diag().help;
  EXPECT_NE(function.diag().help.find("torch.vmap"), std::string::npos) << function.diag().help;
}

// An export with strict=True: eager returns bf16, but the graph records f32 throughout.
TEST(Importer, AnAutocastRegionWithoutItsCastsIsRefused) {
  const std::string tensor = R"("arg": {"as_tensor": {"name": "p_w"}}, "kind": 1})";
  const std::string type =
      R"({"dtype": DTYPE, "sizes": [{"as_int": 2}, {"as_int": 2}], "requires_grad": false, "device": {"type": "cpu", )"
      R"("index": null}, "strides": [{"as_int": 2}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7})";
  const auto import_region = [&](const std::string& device, const std::string& dtype, bool list = false) {
    std::string recorded = type, input = type;
    replace(recorded, "DTYPE", dtype);
    replace(input, "DTYPE", "7");
    const std::string body =
        R"({"inputs": [{"as_tensor": {"name": "p_w"}}], "outputs": [{"as_tensor": {"name": "y"}}], "nodes": [{"target": )"
        R"("torch.ops.aten.mm.default", "inputs": [{"name": "self", )" +
        tensor + R"(, {"name": "mat2", )" + tensor +
        R"(], "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}, "is_hop_single_tensor_return": null, "name": )"
        R"("y"}], "tensor_values": {"p_w": )" +
        input + R"(, "y": )" + recorded +
        R"(}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": true, "custom_obj_values": {}, )"
        R"("sym_float_values": {}})";
    const std::string node =
        R"({"target": "torch.ops.higher_order.wrap_with_autocast", "inputs": [{"name": "", "arg": {"as_string": ")" +
        device +
        R"("}, "kind": 1}, {"name": "", "arg": {"as_scalar_type": 13}, "kind": 1}, {"name": "", "arg": )"
        R"({"as_bool": true}, "kind": 1}, {"name": "", "arg": {"as_none": true}, "kind": 1}, {"name": "", "arg": )"
        R"({"as_graph": {"name": "body", "graph": )" +
        body + R"(}}, "kind": 1}, {"name": "", )" + tensor +
        R"(], "outputs": [{"as_tensor": {"name": "region"}}], "metadata": {}, "is_hop_single_tensor_return": true, )"
        R"("name": "region"})";
    std::string json = pt2::test_program_json();
    replace(json, R"("tensor_values": {)", R"("tensor_values": {"region": )" + recorded + ", ");
    replace(json, R"("nodes": [)", R"("nodes": [)" + node + ", ");
    if (list) {
      replace(json, "torch.ops.aten.mm.default", "torch.ops.aten.chain_matmul.default");
      replace(json, R"({"name": "self", )" + tensor + R"(, {"name": "mat2", )" + tensor,
              R"({"name": "matrices", "arg": {"as_tensors": [{"name": "p_w"}, {"name": "p_w"}]}, "kind": 1})");
    }
    return import_json({}, json);
  };
  const Result<Function> lost = import_region("cpu", "7");
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.diag().code, Code::unsupported_model);
  EXPECT_EQ(lost.diag().message, "the file does not say what torch.autocast casts here");
  EXPECT_NE(lost.diag().help.find("strict=False"), std::string::npos) << lost.diag().help;
  const Result<Function> kept = import_region("cpu", "13");
  EXPECT_TRUE(kept.ok()) << kept.diag().message;
  EXPECT_FALSE(import_region("cpu", "7", true).ok());
  EXPECT_FALSE(import_region("cpu", "6").ok()) << "f16 is cast, too";
  EXPECT_TRUE(import_region("cpu", "8").ok()) << "f64 is not";
  const Result<Function> kept_list = import_region("cpu", "13", true);
  EXPECT_TRUE(kept_list.ok()) << kept_list.diag().message;
  const Result<Function> elsewhere = import_region("cuda", "7");
  EXPECT_TRUE(elsewhere.ok()) << elsewhere.diag().message;
}

}  // namespace
}  // namespace wick::compiler
