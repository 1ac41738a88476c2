#include "compiler/import/weights/tensor_pickle.h"

#include <gtest/gtest.h>

#include "compiler/import/importer.h"
#include "compiler/import/weights/pickle.h"
#include "compiler/import/weights/pickle_test_writer.h"

namespace wick::compiler::pt2::tensor_pickle_test {
namespace {

using namespace pickled;

// Reads the program whose parameter w is the torch.save archive given.
struct Loaded {
  explicit Loaded(const std::string& file)
      : bytes(program_around(file).bytes()), archive(Archive::open(bytes_of(bytes), "m.pt2")) {}
  Result<ExportedProgram> read() const {
    return archive.ok() ? read_exported_program(*archive, "model") : Diag(archive.diag());
  }
  std::string bytes;
  Result<Archive> archive;
};

std::string refusal(const std::string& file) {
  const Result<ExportedProgram> program = Loaded(file).read();
  return program.ok() ? "" : render(program.diag());
}
// The refusal of a tensor subclass whose only attribute is `qdata`.
std::string refusal_of(const std::string& qdata, const std::vector<std::string>& data = int8_data()) {
  return refusal(archive(pickle(subclass(int8_tensor(), {2, 2}, dict({text("qdata"), qdata}))), data).bytes());
}

#define EXPECT_SAYS(refusal, ...)                                                                            \
  do {                                                                                                       \
    const std::string said = refusal;                                                                        \
    for (const char* part : {__VA_ARGS__}) EXPECT_NE(said.find(part), std::string::npos) << "got: " << said; \
  } while (false)

TEST(TensorPickle, ASubclassIsItsInnerTensorsWhereTheyLie) {
  const Loaded loaded(archive(int8_weight(), int8_data()).bytes());
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  const Payload& weight = program->weights.at("w");
  ASSERT_EQ(weight.kind, Payload::Kind::subclass);
  EXPECT_EQ(weight.dtype, DType::f32);
  EXPECT_EQ(weight.sizes, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(weight.subclass->class_name, "Int8Tensor");
  ASSERT_EQ(weight.subclass->tensors.size(), 2u);
  const Payload& qdata = weight.subclass->tensors.at("qdata");
  EXPECT_EQ(qdata.dtype, DType::i8);
  EXPECT_EQ(std::string(qdata.bytes.begin(), qdata.bytes.end()), "\1\2\3\4");
  EXPECT_GE(qdata.bytes.data(), bytes_of(loaded.bytes).begin());
  EXPECT_LE(qdata.bytes.end(), bytes_of(loaded.bytes).end());
  EXPECT_EQ(weight.subclass->tensors.at("scale").sizes, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(std::get<std::vector<int64_t>>(weight.subclass->attributes.at("block_size")), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::get<std::string>(weight.subclass->attributes.at("dtype")), "float32");
  EXPECT_EQ(weight.subclass->attributes.count("zero_point"), 0u);
}

TEST(TensorPickle, RecordsAndEnumeratorsAreDataToo) {
  const std::string row =
      global("torchao.quantization.granularity", "PerRow") + ")\x81" + dict({text("dim"), integer(-1)}) + "b";
  const std::string mapping = call(global("torchao.quantization.quant_primitives", "MappingType"), {integer(2)});
  const std::string record =
      global("torchao.quantization.quantize_.workflows.int8.int8_tensor", "QuantizeTensorToInt8Kwargs") + ")\x81" +
      dict({text("granularity"), row, text("mapping_type"), mapping}) + "b";
  const Loaded loaded(
      archive(pickle(subclass(int8_tensor(), {2, 2}, dict({text("act_quant_kwargs"), record}))), {}).bytes());
  const Result<ExportedProgram> program = loaded.read();
  ASSERT_TRUE(program.ok()) << render(program.diag());
  const auto& attributes = program->weights.at("w").subclass->attributes;
  EXPECT_EQ(std::get<std::string>(attributes.at("act_quant_kwargs")), "QuantizeTensorToInt8Kwargs");
  EXPECT_EQ(std::get<std::string>(attributes.at("act_quant_kwargs.granularity")), "PerRow");
  EXPECT_EQ(std::get<int64_t>(attributes.at("act_quant_kwargs.granularity.dim")), -1);
  EXPECT_EQ(std::get<int64_t>(attributes.at("act_quant_kwargs.mapping_type")), 2);
}

TEST(TensorPickle, PlainTensorsInAPickleAreTensors) {
  const std::string plain = tensor(storage("FloatStorage", "0", 4), {2, 2}, {2, 1});
  const std::string parameter = call(global("torch._utils", "_rebuild_parameter"),
                                     {plain, truth(true), call(global("collections", "OrderedDict"), {})});
  EXPECT_EQ(refusal(archive(pickle(parameter), {std::string(16, '\1')}).bytes()), "");
}

TEST(TensorPickle, WhatIsNotInTheTableIsRefusedByName) {
  const auto of_class = [](const std::string& type) {
    return refusal(archive(pickle(subclass(type, {2, 2}, dict({}))), {}).bytes());
  };
  EXPECT_SAYS(of_class(global("my.model", "TwoTensor")), "unsupported-model", "parameter \"w\" is a tensor subclass",
              "its pickle names my.model.TwoTensor, which Wick does not know", "run_decompositions({})");
  EXPECT_SAYS(of_class(global("posix", "system")), "names posix.system");
  EXPECT_SAYS(of_class(global("torchao.quantization", "system")), "names torchao.quantization.system");
  EXPECT_SAYS(of_class(global("torchaox.quantization", "Int8Tensor")), "names torchaox.quantization.Int8Tensor");
  EXPECT_SAYS(of_class(global("torchao.quantization.granularity", "PerRow")), "rebuilds", "PerRow");
  // An unreadable pickle is no error where it is not used.
  TestZip unused = program_around(archive(pickle(call(global("posix", "system"), {})), {}).bytes());
  std::string& config = unused.at("m/data/weights/model_weights_config.json").data;
  config.replace(config.find("\"w\""), 3, "\"x\"");
  const std::string bytes = unused.bytes();
  const Result<Archive> opened = Archive::open(bytes_of(bytes), "m.pt2");
  EXPECT_SAYS(render(read_exported_program(*opened, "model").diag()), "has no entry in the weights config");
}

TEST(TensorPickle, TensorsStayInsideTheirStorages) {
  const std::string bytes = storage("CharStorage", "0", 4);
  EXPECT_EQ(refusal_of(tensor(bytes, {2, 2}, {2, 1})), "");
  EXPECT_SAYS(refusal_of(tensor(bytes, {2, 2}, {3, 1})), "corrupt-file", "config.w: the tensor reaches past the end");
  EXPECT_SAYS(refusal_of(tensor(bytes, {2, 2}, {2, 1}, 1)), "reaches past the end");
  EXPECT_SAYS(refusal_of(tensor(bytes, {2147483647, 2147483647, 2147483647}, {2147483647, 2147483647, 1})),
              "larger than 64 bits");
  EXPECT_SAYS(refusal_of(tensor(bytes, {2147483647}, {0})), "limit", "stand for too many bytes");
  EXPECT_SAYS(refusal_of(tensor(bytes, {-1}, {1})), "something else for a size");
  EXPECT_SAYS(refusal_of(tensor(bytes, {2, 2}, {1})), "a different number of strides");
  EXPECT_SAYS(refusal_of(tensor(bytes, std::vector<int64_t>(17, 1), std::vector<int64_t>(17, 1))), "17 dimensions");
  EXPECT_SAYS(refusal_of(tensor(storage("CharStorage", "7", 4), {2}, {1})), "storage \"data/7\" is not there");
  EXPECT_SAYS(refusal_of(tensor(storage("CharStorage", "../w", 4), {2}, {1})), "is not there");
  EXPECT_SAYS(refusal_of(tensor(storage("CharStorage", "0", 5), {2}, {1})), "4 bytes instead of 5 elements");
  EXPECT_SAYS(refusal_of(tensor(storage("FloatStorage", "0", 4), {2}, {1})), "4 bytes instead of 4 elements of 4");
  EXPECT_SAYS(refusal_of(tensor(integer(3), {2}, {1})), "has no storage");
  EXPECT_SAYS(refusal_of(call(global("torch._utils", "_rebuild_tensor_v2"), {bytes})), "lacks an argument");
}

TEST(TensorPickle, TheShapeInTheGraphIsThatOfTheSubclass) {
  EXPECT_SAYS(refusal(archive(pickle(subclass(int8_tensor(), {2, 3}, dict({}))), {}).bytes()),
              "a different shape or dtype in the graph");
}

TEST(TensorPickle, ASubclassIsReadPartByPartOnly) {
  const Loaded loaded(archive(int8_weight(), int8_data()).bytes());
  const Result<Function> function = import_program(*loaded.read(), "forward");
  ASSERT_FALSE(function.ok());
  EXPECT_SAYS(render(function.diag()), "unsupported-model",
              "'w', a tensor subclass Int8Tensor, is used as a plain tensor", "run_decompositions({})");
}

TEST(TensorPickle, NestedArchivesAreChecked) {
  EXPECT_SAYS(refusal("not a zip"), "corrupt-file", "config.w", "no end record");
  TestZip twice = archive(int8_weight(), int8_data());
  twice.add("archive/data/0", "abcd");
  EXPECT_SAYS(refusal(twice.bytes()), "two entries named");
  TestZip packed = archive(int8_weight(), int8_data());
  packed.at("archive/data/0").method = 8;
  EXPECT_SAYS(refusal(packed.bytes()), "compressed");
  TestZip big = archive(int8_weight(), int8_data());
  big.at("archive/byteorder").data = "big";
  EXPECT_SAYS(refusal(big.bytes()), "big-endian");
  EXPECT_SAYS(refusal(archive(int8_weight(), int8_data()).remove("archive/data.pkl").bytes()), "no data.pkl");
  EXPECT_SAYS(refusal(archive(int8_weight(), int8_data()).bytes().substr(0, 300)), "corrupt-file");
}

TEST(TensorPickle, SharedObjectsDoNotBecomeTrees) {
  // Each record has two fields that are the record before it.
  std::string record = global("torchao.quantization.granularity", "PerRow") + ")\x81" + "q" + std::string(1, '\0');
  for (char i = 1; i < 40; ++i) {
    const std::string before = "h" + std::string(1, static_cast<char>(i - 1));
    record = record + global("torchao.quantization.granularity", "PerRow") + ")\x81q" + std::string(1, i) +
             dict({text("a"), before, text("b"), before}) + "b";
  }
  std::string state = dict({text("r"), "h" + std::string(1, '\x27')});
  const std::string all = tuple({record, subclass(int8_tensor(), {2, 2}, state)});
  EXPECT_SAYS(refusal(archive(pickle(all), {}).bytes()), "holds no tensor");
  // The same, reached from a tensor.
  const std::string from_tensor =
      subclass(int8_tensor(), {2, 2}, dict({text("all"), tuple({record}), text("r"), "h\x27"}));
  EXPECT_SAYS(refusal(archive(pickle(from_tensor), {}).bytes()), "more than eight deep");
}

TEST(TensorPickle, ATensorInsideItselfIsRefused) {
  // state = {}; t = subclass(state); state["t"] = t
  const std::string state = "}q" + std::string(1, '\0');
  const std::string object = subclass(int8_tensor(), {2, 2}, state) + "q\x01";
  const std::string cyclic = tuple({object, "h" + std::string(1, '\0') + "(" + text("t") + "h\x01u"});
  EXPECT_SAYS(refusal(archive("\x80\x02" + cyclic + ".", {}).bytes()), "holds no tensor");
  const std::string hooks = call(global("torch._utils", "_rebuild_parameter"),
                                 {object, "h" + std::string(1, '\0') + "(" + text("t") + "h\x01u"});
  EXPECT_SAYS(refusal(archive(pickle(hooks), {}).bytes()), "eight deep");
}

// --- the interpreter alone ---

bool anything(std::string_view, std::string_view) { return true; }
std::string pickle_refusal(const std::string& bytes) {
  const Result<Pickle> read = read_pickle(bytes_of(bytes), anything);
  return read.ok() ? "" : render(read.diag());
}

TEST(Pickle, ReadsValuesOfEveryProtocolFromTwo) {
  const std::string values = "(NK\x05M\x01\x02J\xff\xff\xff\xff\x8a\x02\xff\xffG\x3f\xf8" + std::string(6, '\0') +
                             "\x8c\x02hi\x94]K\x01" + "a}\x8c\x01kK\x02st";
  const std::string bytes = "\x80\x04\x95" + std::string(8, '\0') + values + ".";
  const Result<Pickle> read = read_pickle(bytes_of(bytes), anything);
  ASSERT_TRUE(read.ok()) << render(read.diag());
  const Pickle& pickle = *read;
  const std::vector<uint32_t>& items = pickle[pickle.root].items;
  ASSERT_EQ(items.size(), 9u);
  EXPECT_EQ(pickle[items[1]].integer, 5);
  EXPECT_EQ(pickle[items[2]].integer, 513);
  EXPECT_EQ(pickle[items[3]].integer, -1);
  EXPECT_EQ(pickle[items[4]].integer, -1);
  EXPECT_EQ(pickle[items[5]].real, 1.5);
  EXPECT_EQ(pickle[items[6]].text, "hi");
  EXPECT_EQ(pickle[items[7]].items.size(), 1u);
  EXPECT_EQ(pickle[items[8]].items.size(), 2u);
}

TEST(Pickle, RefusesWhatBreaksItsRules) {
  const auto body = [](const std::string& opcodes) { return pickle_refusal("\x80\x02" + opcodes + "."); };
  EXPECT_EQ(body("N"), "");
  EXPECT_SAYS(pickle_refusal(""), "cut short");
  EXPECT_SAYS(pickle_refusal("N."), "without its protocol");
  EXPECT_SAYS(pickle_refusal("\x80\x01N."), "protocol 1; 2 to 5");
  EXPECT_SAYS(pickle_refusal("\x80\x02N"), "cut short");
  EXPECT_SAYS(pickle_refusal("\x80\x02N.N"), "after its end");
  EXPECT_SAYS(body(""), "does not end with one object");
  EXPECT_SAYS(body("NN"), "does not end with one object");
  EXPECT_SAYS(body("(N"), "does not end with one object");
  EXPECT_SAYS(body("t"), "a mark that it has not set");
  EXPECT_SAYS(body("\x86"), "more objects than it has made");
  EXPECT_SAYS(body("N(\x85"), "more objects than it has made");
  EXPECT_SAYS(body("h\x01"), "memo entry 1 of 0");
  EXPECT_SAYS(body("Nq\x01"), "stores memo entry 1 before 0");
  EXPECT_SAYS(body("q" + std::string(1, '\0')), "that it has not made");
  EXPECT_SAYS(body("N(NNu"), "a different kind");
  EXPECT_SAYS(body("}(Nu"), "key without a value");
  EXPECT_SAYS(body("N)R"), "unsuitable parts");
  EXPECT_SAYS(body("cos\nsystem\nNR"), "unsuitable parts");
  EXPECT_SAYS(body("cos\nsystem\n)\x81}b}b"), "second state");
  EXPECT_SAYS(body("X\xff\xff\xff\xff"), "cut short");
  EXPECT_SAYS(body("\x8a\x09" + std::string(9, '\1')), "more than 64 bits");
  for (const char* opcode : {"i", "o", "0", "1", "2", "l", "d", "P", "I", "S", "U", "\x82", "\x92", "\x90", "\x8e"})
    EXPECT_SAYS(body("NN" + std::string(opcode)), "torch.save does not write");
  EXPECT_SAYS(pickle_refusal("\x80\x02" + std::string(1 << 19, 'N') + "."), "limit", "at most 262144");
}

}  // namespace
}  // namespace wick::compiler::pt2::tensor_pickle_test
