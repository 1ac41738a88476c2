#include "compiler/import/program/exported_program.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "compiler/import/archive/archive_test_writer.h"
#include "compiler/import/program/exported_program_reader.h"

namespace wick::compiler::pt2::exported_program_test {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
constexpr bool kHasAddressSanitizer = false;
#endif

constexpr const char* kProgram = "m/models/model.json";
constexpr const char* kWeights = "m/data/weights/model_weights_config.json";
constexpr const char* kConstants = "m/data/constants/model_constants_config.json";

// An archive in memory and the program read from it.
struct Loaded {
  explicit Loaded(const TestZip& zip) : bytes(zip.bytes()), archive(Archive::open(bytes_of(bytes), "m.pt2")) {}
  Result<ExportedProgram> read() const {
    return archive.ok() ? read_exported_program(*archive, "model") : Diag(archive.diag());
  }
  std::string bytes;
  Result<Archive> archive;
};

// The test archive with the first `from` in `entry` replaced by `to`.
TestZip edited(const char* entry, const std::string& from, const std::string& to) {
  TestZip zip = test_archive();
  std::string& data = zip.at(entry).data;
  const size_t at = data.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) data.replace(at, from.size(), to);
  return zip;
}

std::string refusal(const TestZip& zip) {
  const Result<ExportedProgram> program = Loaded(zip).read();
  return program.ok() ? "" : render(program.diag());
}

#define EXPECT_REFUSED(zip, ...)                                                                             \
  do {                                                                                                       \
    const std::string text = refusal(zip);                                                                   \
    for (const char* part : {__VA_ARGS__}) EXPECT_NE(text.find(part), std::string::npos) << "got: " << text; \
  } while (false)

// Reads `json` as an Argument of the first add node; returns it, or None with a failure.
Argument argument(const std::string& json) {
  const Loaded loaded(edited(kProgram, R"({"name": "other", "arg": {"as_tensor": {"name": "b_b"}})",
                             R"({"name": "other", "arg": )" + json));
  Result<ExportedProgram> program = loaded.read();
  EXPECT_TRUE(program.ok()) << render(program.diag());
  return program.ok() ? program->graph.nodes[1].inputs[1].arg : Argument();
}

// Lets this process map at most `more_bytes` beyond what it has.
void limit_address_space(size_t more_bytes) {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t limit = pages * static_cast<size_t>(sysconf(_SC_PAGESIZE)) + more_bytes;
  const rlimit both = {limit, limit};
  setrlimit(RLIMIT_AS, &both);
}

TEST(ExportedProgram, ReadsGraphSignatureAndRanges) {
  const Loaded loaded(test_archive());
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_EQ(program->schema_major, 8);
  EXPECT_EQ(program->schema_minor, 20);
  EXPECT_EQ(program->torch_version, "2.15.0");
  EXPECT_EQ(program->verifiers, std::vector<std::string>{"TRAINING"});
  EXPECT_EQ(program->in_spec, "[1, I]");
  EXPECT_EQ(program->out_spec, "[1, O]");
  EXPECT_EQ(program->forward_arg_names, std::vector<std::string>{"x"});
  EXPECT_EQ(program->range_constraints.at("s7").min, 2);
  EXPECT_FALSE(program->range_constraints.at("s7").max.has_value());
  ASSERT_EQ(program->input_specs.size(), 4u);
  EXPECT_EQ(program->input_specs[0].kind, InputKind::parameter);
  EXPECT_EQ(program->input_specs[0].target, "w");
  EXPECT_EQ(program->input_specs[1].kind, InputKind::buffer);
  EXPECT_EQ(program->input_specs[2].kind, InputKind::tensor_constant);
  EXPECT_EQ(program->input_specs[3].kind, InputKind::user_input);
  EXPECT_EQ(std::get<TensorArg>(program->input_specs[3].arg).name, "x");
  ASSERT_EQ(program->graph.nodes.size(), 2u);
  EXPECT_EQ(program->graph.nodes[0].target, "torch.ops.aten.linear.default");
  EXPECT_EQ(program->graph.nodes[0].inputs[1].name, "weight");
  EXPECT_EQ(program->graph.nodes[0].inputs[1].kind, ArgumentKind::positional);
  const TensorMeta& x = program->graph.tensor_values.at("x");
  EXPECT_EQ(x.dtype, DType::f32);
  EXPECT_EQ(x.sizes[0].expr->text, "Symbol('s7', positive=True, integer=True)");
  EXPECT_EQ(std::get<int64_t>(x.sizes[0].expr->hint), 4);
  EXPECT_TRUE(x.sizes[1].is_literal());
  EXPECT_EQ(x.sizes[1].value, 2);
}

TEST(ExportedProgram, PayloadsPointIntoTheFile) {
  const Loaded loaded(test_archive());
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  const Payload& w = program->weights.at("w");
  EXPECT_EQ(w.bytes.data(), loaded.archive->find("data/weights/weight_0")->data.data());
  EXPECT_TRUE(w.is_param);
  EXPECT_EQ(w.sizes, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(program->weights.at("b").storage_offset, 1);
  EXPECT_EQ(program->constants.at("c").strides, (std::vector<int64_t>{0, 1}));
}

TEST(ExportedProgram, OriginIsTheUsersLineAndTheInnermostModule) {
  const Loaded loaded(test_archive());
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  const Origin& origin = program->graph.nodes[0].origin;
  EXPECT_EQ(origin.module_path, "fc");
  EXPECT_EQ(origin.module_class, "torch.nn.modules.linear.Linear");
  EXPECT_EQ(origin.file, "/home/u/m.py");
  EXPECT_EQ(origin.line, 12);
  EXPECT_EQ(origin.code, "return self.fc(x)");
  EXPECT_EQ(origin.source(), "m.py:12");
  EXPECT_EQ(program->graph.nodes[1].origin.source(), "");
}

TEST(Origin, CopesWithOddTracesAndStacks) {
  EXPECT_EQ(read_origin("k,a.b,x.F(int, [a, b])", "").module_class, "x.F(int, [a, b])");
  EXPECT_EQ(read_origin("only,two", "").module_path, "");
  EXPECT_EQ(read_origin("a,b,c,d", "").module_path, "");
  EXPECT_EQ(read_origin("", "  File \"a.py\", line 5, in f\n    x = (\n      ^^^\n").code, "x = (");
  EXPECT_EQ(read_origin("", "File \"a.py\", line 99999999999999999999, in f").source(), "");
  EXPECT_EQ(read_origin("", "File \"a.py").source(), "");
}

// Every trace of up to four frames, of users' files and of files that torch runs before, between and after them.
TEST(Origin, IsTheInnermostFrameThatIsNotTorchs) {
  const char* const kUsers[] = {"/home/u/net.py",
                                "/home/u/torch/net.py",
                                "/home/u/torch/nn/net.py",
                                "/home/u/torchao/export/net.py",
                                "/v/lib/python3.11/site-packages/torchvision/models/resnet.py",
                                "/v/site-packages/torch_models/nn/modules/net.py",
                                "site-packages/executorch/examples/models/net.py",
                                "C:\\torch\\net.py",
                                "net.py",
                                "<stdin>"};
  const char* const kTorchs[] = {"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py",
                                 "/usr/lib/python3/dist-packages/torch/_dynamo/functional_export.py",
                                 "site-packages/torch/nn/modules/conv.py",
                                 "torch/nn/functional.py",
                                 "/home/u/pytorch/torch/ao/quantization/fx/_decomposed.py",
                                 "/v/site-packages/torchao/quantization/pt2e/convert.py",
                                 "/v/site-packages/executorch/backends/arm/quantizer/arm_quantizer.py",
                                 "C:\\Python\\Lib\\site-packages\\torch\\nn\\modules\\linear.py",
                                 "<eval_with_key>.495"};
  const auto frame = [](const char* file, int line) {
    return "  File \"" + std::string(file) + "\", line " + std::to_string(line) +
           ", in forward\n    y = f(x)\n        ^^^^\n";
  };
  const auto name = [](const std::string& file) { return file.substr(file.find_last_of("/\\") + 1); };
  for (const char* torchs : kTorchs) {
    EXPECT_EQ(read_origin("", frame(torchs, 1)).source(), "") << torchs;
    for (const char* other : kTorchs) EXPECT_EQ(read_origin("", frame(torchs, 1) + frame(other, 2)).source(), "");
  }
  for (const char* users : kUsers) {
    EXPECT_EQ(read_origin("", frame(users, 7)).source(), name(users) + ":7");
    for (const char* torchs : kTorchs) {
      const std::string wanted = name(users) + ":7";
      EXPECT_EQ(read_origin("", frame(users, 7) + frame(torchs, 1)).source(), wanted) << users << " " << torchs;
      EXPECT_EQ(read_origin("", frame(torchs, 1) + frame(users, 7)).source(), wanted) << users << " " << torchs;
      EXPECT_EQ(read_origin("", frame(torchs, 1) + frame(users, 7) + frame(torchs, 2)).source(), wanted);
      for (const char* outer : kUsers)
        EXPECT_EQ(read_origin("", frame(outer, 5) + frame(torchs, 1) + frame(users, 7) + frame(torchs, 2)).source(),
                  wanted);
    }
  }
}

TEST(ExportedProgram, ListsModels) {
  const Loaded loaded(test_archive().add("m/models/decoder.json", "{}").add("m/models/.json", "{}"));
  ASSERT_TRUE(loaded.archive.ok());
  EXPECT_EQ(*model_names(*loaded.archive), (std::vector<std::string>{"decoder", "model"}));
  const Result<ExportedProgram> none = read_exported_program(*loaded.archive, "other");
  EXPECT_NE(render(none.diag()).find("error[usage]: the archive has no model named \"other\""), std::string::npos);
}

TEST(Argument, NumbersKeepAllTheirBits) {
  EXPECT_EQ(std::get<int64_t>(argument(R"({"as_int": 9223372036854775807})")), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(std::get<int64_t>(argument(R"({"as_int": -9223372036854775808})")), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(std::signbit(std::get<double>(argument(R"({"as_float": -0.0})"))));
  EXPECT_EQ(std::get<double>(argument(R"({"as_float": 5e-324})")), 5e-324);
  EXPECT_EQ(std::get<double>(argument(R"({"as_float": 1})")), 1.0);
  EXPECT_EQ(std::get<double>(argument(R"({"as_float": "-Infinity"})")), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(std::get<double>(argument(R"({"as_float": "NaN"})"))));
  EXPECT_EQ(std::get<std::vector<double>>(argument(R"({"as_floats": ["Infinity", 2.5]})"))[0],
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(std::get<ComplexArg>(argument(R"({"as_complex": {"real": 1.0, "imag": "Infinity"}})")).real, 1.0);
}

TEST(Argument, ReadsEveryAlternative) {
  EXPECT_TRUE(std::holds_alternative<NoneArg>(argument(R"({"as_none": true})")));
  EXPECT_EQ(std::get<TensorsArg>(argument(R"({"as_tensors": [{"name": "x"}, {"name": "linear"}]})")).names.size(), 2u);
  EXPECT_EQ(std::get<TensorArg>(argument(R"({"as_optional_tensor": {"as_tensor": {"name": "x"}}})")).name, "x");
  EXPECT_TRUE(std::holds_alternative<NoneArg>(argument(R"({"as_optional_tensor": {"as_none": true}})")));
  const Argument optionals = argument(R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})");
  EXPECT_FALSE(std::get<OptionalTensorsArg>(optionals).names[0].has_value());
  EXPECT_EQ(std::get<OptionalTensorsArg>(optionals).names[1], "x");
  EXPECT_EQ(std::get<NestedTensorsArg>(argument(R"({"as_nested_tensors": [[{"name": "x"}], []]})")).names.size(), 2u);
  EXPECT_EQ(std::get<std::vector<int64_t>>(argument(R"({"as_ints": [1, -1]})")), (std::vector<int64_t>{1, -1}));
  const ListsArg<int64_t> lists = std::get<ListsArg<int64_t>>(argument(R"({"as_int_lists": [[1], [], [2, 3]]})"));
  ASSERT_EQ(lists.size(), 3u);
  EXPECT_EQ(lists.list(0)[0], 1);
  EXPECT_TRUE(lists.list(1).empty());
  EXPECT_EQ(lists.list(2).size(), 2u);
  EXPECT_EQ(lists.list(2)[1], 3);
  EXPECT_EQ(std::get<ListsArg<double>>(argument(R"({"as_float_lists": [[1.5]]})")).list(0)[0], 1.5);
  EXPECT_TRUE(std::get<bool>(argument(R"({"as_bool": true})")));
  EXPECT_EQ(std::get<BoolsArg>(argument(R"({"as_bools": [true, false]})")).values, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(std::get<std::string>(argument(R"({"as_string": "t\u00e9"})")), "té");
  EXPECT_EQ(std::get<StringsArg>(argument(R"({"as_strings": ["a", ""]})")).values.size(), 2u);
  EXPECT_EQ(std::get<SymIntArg>(argument(R"({"as_sym_int": {"as_int": 3}})")).value, 3);
  EXPECT_EQ(std::get<SymIntArg>(argument(R"({"as_sym_int": {"as_name": "x"}})")).name, "x");
  EXPECT_EQ(std::get<SymIntsArg>(argument(R"({"as_sym_ints": [{"as_int": 3}, {"as_name": "x"}]})")).items.size(), 2u);
  EXPECT_EQ(std::get<SymFloatArg>(argument(R"({"as_sym_float": {"as_float": 0.5}})")).value, 0.5);
  EXPECT_EQ(std::get<SymFloatsArg>(argument(R"({"as_sym_floats": [{"as_name": "x"}]})")).items.size(), 1u);
  EXPECT_TRUE(std::get<SymBoolArg>(argument(R"({"as_sym_bool": {"as_bool": true}})")).value);
  EXPECT_EQ(std::get<SymBoolsArg>(argument(R"({"as_sym_bools": []})")).items.size(), 0u);
  EXPECT_EQ(std::get<DType>(argument(R"({"as_scalar_type": 13})")), DType::bf16);  // c10 would say 15
  EXPECT_EQ(std::get<DType>(argument(R"({"as_scalar_type": 12})")), DType::boolean);
  EXPECT_EQ(std::get<MemoryFormat>(argument(R"({"as_memory_format": 2})")), MemoryFormat::channels_last);
  EXPECT_EQ(std::get<Layout>(argument(R"({"as_layout": 7})")), Layout::strided);
  EXPECT_EQ(std::get<DeviceArg>(argument(R"({"as_device": {"type": "cuda", "index": 1}})")).device->index, 1);
  EXPECT_EQ(std::get<OperatorArg>(argument(R"({"as_operator": "my.op.default"})")).name, "my.op.default");
  const Argument dict = argument(R"({"as_string_to_argument": {"k": {"as_tensor": {"name": "x"}}}})");
  EXPECT_EQ(std::get<TensorArg>(std::get<std::shared_ptr<const DictArg>>(dict)->items.at("k")).name, "x");
}

constexpr const char* kInnerGraph =
    R"({"as_graph": {"name": "g", "graph": {"inputs": [], "outputs": [OUT], "nodes": [], "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}}}})";

std::string inner_graph(const std::string& output) {
  std::string text = kInnerGraph;
  return text.replace(text.find("OUT"), 3, output);
}

TEST(Argument, ReadsNestedGraphsWithTheirOwnNames) {
  const Argument arg = argument(inner_graph(R"({"as_int": 1})"));
  EXPECT_EQ(std::get<GraphArg>(arg).graph->outputs.size(), 1u);
  EXPECT_REFUSED(
      edited(kProgram, R"({"as_tensor": {"name": "b_b"}}, "kind": 1}], "outputs": [{"as_tensor": {"name": "add"}}])",
             inner_graph(R"({"as_tensor": {"name": "x"}})") +
                 R"(, "kind": 1}], "outputs": [{"as_tensor": {"name": "add"}}])"),
      "value \"x\" is used before it is defined", "at     add in m.pt2");
}

TEST(ExportedProgram, OlderMinorsMayLeaveOutFields) {
  TestZip zip =
      edited(kProgram, R"(, "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {})", "");
  std::string& json = zip.at(kProgram).data;
  for (const std::string field :
       {R"(, "is_hop_single_tensor_return": null, "name": "linear")", R"(, "index": null)", R"(, "kind": 1)",
        R"(, "forward_arg_names": ["x"])", R"(, "torch_version": "2.15.0", "guards_code": [])"}) {
    for (size_t at; (at = json.find(field)) != std::string::npos;) json.erase(at, field.size());
  }
  const Loaded loaded(zip);
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_EQ(program->graph.nodes[0].name, "linear");  // from its output
  EXPECT_EQ(program->graph.nodes[0].inputs[0].kind, ArgumentKind::unknown);
}

TEST(ExportedProgram, IgnoresUnknownFieldsAndAcceptsNewerMinors) {
  EXPECT_EQ(refusal(edited(kProgram, R"("minor": 20)", R"("minor": 99, "patch": [1])")), "");
}

TEST(ExportedProgram, RefusesOtherSchemaVersions) {
  EXPECT_REFUSED(edited(kProgram, R"("major": 8)", R"("major": 7)"), "incompatible-file",
                 "found  7.20, written by torch 2.15.0", "wanted  8.x",
                 "export the model again with torch 2.9 to 2.15");
  EXPECT_REFUSED(edited(kProgram, R"("major": 8)", R"("major": 9)"), "or update Wick");
}

TEST(ExportedProgram, RefusesUnknownAlternativesByName) {
  EXPECT_REFUSED(
      edited(kProgram, R"({"as_tensor": {"name": "linear"}}, "kind")", R"({"as_quantum": {"name": "linear"}}, "kind")"),
      "incompatible-file", "models/model.json: graph_module.graph.nodes[1].inputs[0].arg: \"as_quantum\" is not known");
  EXPECT_REFUSED(edited(kProgram, R"("dtype": 7)", R"("dtype": 99)"),
                 "tensor_values.p_w.dtype: \"scalar type 99\" is not known");
  EXPECT_REFUSED(edited(kProgram, R"("layout": 7)", R"("layout": 8)"), "\"layout 8\" is not known");
  EXPECT_REFUSED(edited(kProgram, R"({"user_input": )", R"({"psychic_input": )"),
                 "input_specs[3]: \"psychic_input\" is not known");
}

TEST(ExportedProgram, RefusesBrokenJson) {
  EXPECT_REFUSED(edited(kProgram, R"("minor": 20)", R"("minor": )"), "corrupt-file",
                 "models/model.json is not valid JSON");
  EXPECT_REFUSED(edited(kProgram, R"("minor": 20)", R"("minor": 20, "minor": 20)"),
                 "schema_version: the key \"minor\" occurs twice");
  EXPECT_REFUSED(edited(kProgram, R"("guards_code": [])", R"("guards_code": [{"a": {"b": 1, "b": 2}}])"),
                 "guards_code[0].a: the key \"b\" occurs twice");
  EXPECT_REFUSED(
      edited(kProgram, R"("guards_code": [])", R"("guards_code": )" + std::string(200, '[') + std::string(200, ']')),
      "unsupported-model", "nested deeper than 100 levels");
  EXPECT_REFUSED(edited(kProgram, "torch_version", "torch_\xff"), "models/model.json is not valid JSON");
  EXPECT_REFUSED(edited(kProgram, R"("minor": 20)", R"("minor": 20.5)"),
                 "schema_version.minor: the value has the wrong type", "found  a float", "wanted  an integer");
  EXPECT_REFUSED(edited(kProgram, R"("minor": 20)", R"("minor": 9223372036854775808)"),
                 "the integer does not fit 64 bits");
  EXPECT_REFUSED(edited(kProgram, R"("minor": 20)", R"("minor": null)"), "found  null");
  EXPECT_REFUSED(
      edited(kProgram, R"({"as_tensor": {"name": "linear"}}, "kind")", R"({"as_int": 1, "as_bool": true}, "kind")"),
      "a union has two keys, \"as_int\" and \"as_bool\"");
  EXPECT_REFUSED(edited(kProgram, R"({"as_tensor": {"name": "linear"}}, "kind")", R"({}, "kind")"),
                 "a union has no key");
  EXPECT_REFUSED(edited(kProgram, R"("target": "torch.ops.aten.add.Tensor", )", ""),
                 "nodes[1]: the field \"target\" is missing");
}

TEST(ExportedProgram, ManyKeysAreCheckedToo) {
  std::string keys;
  for (int i = 0; i < 100; ++i) keys += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_EQ(refusal(edited(kProgram, R"("minor": 20)", keys + R"("minor": 20)")), "");
  EXPECT_REFUSED(edited(kProgram, R"("minor": 20)", keys + R"("k57": 1, "minor": 20)"), "the key \"k57\" occurs twice");
}

TEST(ExportedProgram, RefusesBrokenNames) {
  EXPECT_REFUSED(edited(kProgram, R"({"name": "self", "arg": {"as_tensor": {"name": "linear"}})",
                        R"({"name": "self", "arg": {"as_tensor": {"name": "add"}})"),
                 "corrupt-file", "value \"add\" is used before it is defined");
  EXPECT_REFUSED(edited(kProgram, R"("outputs": [{"as_tensor": {"name": "linear"}}])",
                        R"("outputs": [{"as_tensor": {"name": "x"}}])"),
                 "value \"x\" is defined twice", "at     fc.linear (m.py:12) in m.pt2");
  EXPECT_REFUSED(edited(kProgram, R"("outputs": [{"as_tensor": {"name": "linear"}}])",
                        R"("outputs": [{"as_tensor": {"name": "lin"}}])"),
                 "value \"lin\" has no type in the graph's tables");
  EXPECT_REFUSED(edited(kProgram, R"("outputs": [{"as_tensor": {"name": "linear"}}])",
                        R"("outputs": [{"as_tensor": {"name": ""}}])"),
                 "a value has an empty name");
  EXPECT_REFUSED(
      edited(kProgram, R"("outputs": [{"as_tensor": {"name": "linear"}}])", "\"outputs\": [" + inner_graph("") + "]"),
      "a graph stands where a value is defined");
}

TEST(ExportedProgram, RefusesSignaturesThatDoNotFit) {
  EXPECT_REFUSED(edited(kProgram, R"(, {"user_input": {"arg": {"as_tensor": {"name": "x"}}}})", ""),
                 "the signature has 3 inputs, the graph 4");
  EXPECT_REFUSED(edited(kProgram, R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})",
                        R"({"user_input": {"arg": {"as_tensor": {"name": "y"}}}})"),
                 "input 3 is \"y\" in the signature and \"x\" in the graph");
  EXPECT_REFUSED(edited(kProgram, R"("output_specs": [)", R"("output_specs": [{"token": {"arg": {"name": "x"}}}, )"),
                 "the signature has 2 outputs, the graph 1");
  EXPECT_REFUSED(edited(kProgram, R"({"user_output": {"arg": {"as_tensor": {"name": "add"}}}})",
                        R"({"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "nope"}})"),
                 "output 0 writes to \"nope\", which the program does not have");
  EXPECT_REFUSED(edited(kProgram, R"("parameter_name": "w")", R"("parameter_name": "v")"),
                 "parameter \"v\" has no entry in the weights config");
  EXPECT_REFUSED(edited(kProgram, R"("persistent": true)", R"("persistent": false)"),
                 "buffer \"b\" has no entry in the constants config");
  EXPECT_REFUSED(edited(kProgram, R"("min_val": 2, "max_val": null)", R"("min_val": 2, "max_val": 1)"),
                 "the range of \"s7\" is empty: 2 to 1");
}

TEST(ExportedProgram, ReadsMutationsConstantInputsAndTokens) {
  TestZip zip = edited(kProgram, R"({"user_output": {"arg": {"as_tensor": {"name": "add"}}}})",
                       R"({"buffer_mutation": {"arg": {"name": "add"}, "buffer_name": "b"}})");
  std::string& json = zip.at(kProgram).data;
  const std::string graph_x = R"({"as_tensor": {"name": "x"}}],
"outputs")",
                    spec_x = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])";
  json.replace(json.find(graph_x), graph_x.size(),
               R"({"as_tensor": {"name": "x"}}, {"as_int": 3}, {"as_tensor": {"name": "token"}}],
"outputs")");
  json.replace(
      json.find(spec_x), spec_x.size(),
      spec_x.substr(0, spec_x.size() - 1) +
          R"(, {"constant_input": {"name": "n", "value": {"as_int": 3}}}, {"token": {"arg": {"name": "token"}}}])");
  const std::string tables = R"("tensor_values": {)", x_meta = json.substr(json.find(R"("b_b": {"dtype")") + 7);
  json.replace(json.find(tables), tables.size(),
               tables + R"("token": )" + x_meta.substr(0, x_meta.find(R"("layout": 7})") + 12) + ", ");
  const Loaded loaded(zip);
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_EQ(program->output_specs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(program->output_specs[0].target, "b");
  EXPECT_EQ(program->input_specs[4].kind, InputKind::constant_input);
  EXPECT_EQ(program->input_specs[4].target, "n");
  EXPECT_EQ(std::get<int64_t>(program->input_specs[4].arg), 3);
  EXPECT_EQ(program->input_specs[5].kind, InputKind::token);
}

TEST(Payload, RefusesDataThatDoesNotHoldTheTensor) {
  EXPECT_REFUSED(edited(kWeights, R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": 1})"),
                 "corrupt-file",
                 "data/weights/model_weights_config.json: config.w: the tensor reaches past the end of its data",
                 "found  16 bytes in weight_0        wanted  at least 20 bytes");
  EXPECT_REFUSED(edited(kWeights, R"("strides": [{"as_int": 2})", R"("strides": [{"as_int": 1000})"),
                 "found  16 bytes in weight_0        wanted  at least 4008 bytes");
  EXPECT_REFUSED(edited(kWeights, R"("strides": [{"as_int": 2})", R"("strides": [{"as_int": 9223372036854775807})"),
                 "larger than 64 bits can count");
  EXPECT_REFUSED(edited(kWeights, R"("sizes": [{"as_int": 2}, {"as_int": 2}])",
                        R"("sizes": [{"as_int": 9223372036854775807}, {"as_int": 9223372036854775807}])"),
                 "larger than 64 bits can count");
  EXPECT_REFUSED(edited(kWeights, R"("sizes": [{"as_int": 2})", R"("sizes": [{"as_int": -2})"),
                 "negative size or stride, -2");
  EXPECT_REFUSED(edited(kWeights, R"("sizes": [{"as_int": 2}, )", R"("sizes": [)"),
                 "a different number of strides than of sizes");
  EXPECT_REFUSED(
      edited(kWeights, R"("sizes": [{"as_int": 2})", R"("sizes": [{"as_expr": {"expr_str": "s0", "hint": null}})"),
      "symbolic shape");
  EXPECT_REFUSED(edited(kWeights, R"("storage_offset": {"as_int": 0})", R"("storage_offset": {"as_int": -1})"),
                 "offset is symbolic or negative");
  EXPECT_REFUSED(edited(kWeights, R"("layout": 7)", R"("layout": 1)"), "unsupported-model",
                 "sparse or in a private layout");
  TestZip odd = test_archive();
  odd.at("m/data/weights/weight_0").data += "x";
  EXPECT_REFUSED(odd, "weight_0 has 17 bytes, which is not a whole number of f32 elements");
  TestZip none = test_archive();
  none.at("m/data/weights/weight_0").data = "";
  EXPECT_REFUSED(none, "unsupported-model", "config.w: the tensor has no data",
                 "give the model real weights before export");
}

TEST(Payload, ManyDimensionsAreALimit) {
  std::string ones = R"({"as_int": 1})";
  for (int i = 0; i < 16; ++i) ones += R"(, {"as_int": 1})";
  TestZip zip = edited(kWeights, R"("sizes": [{"as_int": 2}, {"as_int": 2}])", "\"sizes\": [" + ones + "]");
  std::string& json = zip.at(kWeights).data;
  const std::string strides = R"("strides": [{"as_int": 2}, {"as_int": 1}])";
  json.replace(json.find(strides), strides.size(), "\"strides\": [" + ones + "]");
  EXPECT_REFUSED(zip, "error[limit]", "the tensor has 17 dimensions; at most 16 are read");
}

TEST(Payload, ExpandedTensorsAreBounded) {
  EXPECT_REFUSED(edited(kConstants, R"("sizes": [{"as_int": 3})", R"("sizes": [{"as_int": 1000000000})"),
                 "error[limit]", "config.c: the stored tensors stand for too many bytes", "--limit expanded-bytes=N");
}

TEST(Payload, EmptyTensorsNeedNoData) {
  TestZip zip = edited(
      kWeights, R"({"config": {)",
      R"({"config": {"e": )" +
          test_payload_json("weight_2", false, R"({"as_int": 0}, {"as_int": 3})", R"({"as_int": 3}, {"as_int": 1})") +
          ", ");
  zip.add("m/data/weights/weight_2", "");
  const Loaded loaded(zip);
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  EXPECT_TRUE(program->weights.at("e").bytes.empty());
}

TEST(Payload, RefusesObjectsWhereTensorsAreNeeded) {
  TestZip object = edited(kConstants, "tensor_0", "custom_obj_0");
  object.add("m/data/constants/custom_obj_0", "PK");
  EXPECT_REFUSED(object, "tensor constant \"c\" has data of a different kind");
}

TEST(Payload, RefusesConfigsThatDisagreeWithTheProgram) {
  EXPECT_REFUSED(edited(kWeights, R"("is_param": true)", R"("is_param": false)"),
                 "parameter \"w\" is not a parameter in its config");
  EXPECT_REFUSED(
      edited(kWeights, R"("path_name": "weight_1", "is_param": false)", R"("path_name": "weight_1", "is_param": true)"),
      "buffer \"b\" is a parameter in its config");
  EXPECT_REFUSED(edited(kWeights, R"("dtype": 7)", R"("dtype": 4)"),
                 "parameter \"w\" has a different shape or dtype in the graph than in its data");
  EXPECT_REFUSED(
      edited(kWeights, R"("sizes": [{"as_int": 2}, {"as_int": 2}])", R"("sizes": [{"as_int": 1}, {"as_int": 2}])"),
      "a different shape or dtype");
}

TEST(Payload, RefusesPathsOutsideItsFolder) {
  EXPECT_REFUSED(edited(kWeights, "weight_0", "weight_0/../weight_1"), "the path_name leaves its folder");
  EXPECT_REFUSED(edited(kWeights, "weight_0", "weight_9"), "the archive has no entry \"data/weights/weight_9\"");
  EXPECT_REFUSED(edited(kWeights, "weight_0", "model_weights_config.json"),
                 "\"model_weights_config.json\" is not known");
  EXPECT_REFUSED(test_archive().remove(kConstants), "no entry \"data/constants/model_constants_config.json\"");
}

TEST(Payload, DamagedDataIsFoundUnlessChecksAreOff) {
  Loaded loaded(test_archive());
  loaded.bytes[loaded.bytes.find(std::string(16, '\1'))] ^= 1;
  EXPECT_NE(render(loaded.read().diag()).find("entry \"data/weights/weight_0\" is damaged"), std::string::npos);
  ReadOptions options;
  options.check_payload_crc = false;
  EXPECT_TRUE(read_exported_program(*loaded.archive, "model", options).ok());
}

TEST(Payload, MissingChecksumsAreListed) {
  TestZip zip = test_archive();
  zip.at("m/data/weights/weight_0").has_crc = false;
  const Loaded loaded(zip);
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->unchecked_payloads, std::vector<std::string>{"data/weights/weight_0"});
}

// Reads the smallest JSON that asks for the largest structures, with the address space capped at the documented bound.
TEST(ExportedProgram, MemoryIsBoundedByTheJson) {
  if (kHasAddressSanitizer) GTEST_SKIP() << "the sanitizer itself needs address space";
  constexpr size_t kItems = 2'000'000;
  const auto repeat = [](const std::string& item, const std::string& open, const std::string& close) {
    std::string text = open + item;
    for (size_t i = 1; i < kItems; ++i) text += "," + item;
    return text + close;
  };
  for (const std::string& json : {repeat("\"\"", "{\"as_strings\": [", "]}"),
                                  repeat("[1]", "{\"as_int_lists\": [", "]}"), repeat("0", "{\"as_ints\": [", "]}")}) {
    const Loaded loaded(edited(kProgram, R"({"name": "other", "arg": {"as_tensor": {"name": "b_b"}})",
                               R"({"name": "other", "arg": )" + json));
    ASSERT_TRUE(loaded.archive.ok());
    const size_t allowed = 16 * loaded.archive->find("models/model.json")->data.size() + (size_t{64} << 20);
    EXPECT_EXIT(
        {
          limit_address_space(allowed);
          std::exit(loaded.read().ok() ? 0 : 1);
        },
        testing::ExitedWithCode(0), "");
  }
}

// One byte of the file changed at a time, checksums off so that the damage reaches the parsers: an error or a program.
TEST(ExportedProgram, NoFlippedByteDoesHarm) {
  TestZip zip = test_archive();
  for (TestEntry& entry : zip.entries) entry.has_crc = false;
  const std::string bytes = zip.bytes();
  size_t refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const uint8_t flip : {0x01, 0x20, 0xff}) {
      std::vector<uint8_t> damaged(bytes.begin(), bytes.end());
      damaged[at] ^= flip;
      const Result<Archive> archive = Archive::open({damaged.data(), damaged.size()}, "m.pt2");
      refused += !archive.ok() || !read_exported_program(*archive, "model").ok();
    }
  }
  EXPECT_GT(refused, bytes.size());
}

// The JSON cut after any byte is refused.
TEST(ExportedProgram, EveryTruncatedJsonIsRefused) {
  for (const char* name : {kProgram, kWeights, kConstants}) {
    TestZip zip = test_archive();
    const std::string whole = zip.at(name).data;
    for (size_t size = 0; size < whole.size(); ++size) {
      zip.at(name).data = whole.substr(0, size);
      ASSERT_NE(refusal(zip), "") << name << " " << size;
    }
  }
}

}  // namespace
}  // namespace wick::compiler::pt2::exported_program_test
