#include "wick/program.h"

#include <gtest/gtest.h>

#include <functional>

#include "schema/test_program_builder.h"

namespace wick {
namespace {

using schema::AlignedBytes;
using schema::TestProgram;
using schema::TestTensor;

struct Outcome {
  Error error;
  std::string text;
};

Outcome load(const AlignedBytes& file) {
  char buffer[512];
  ErrorText text(buffer);
  const Result<Program> program = Program::load(file.span(), {&text});
  return {program.error(), text.c_str()};
}

void expect_refused(Error error, const std::string& text, const std::function<void(TestProgram&)>& fill) {
  TestProgram program;
  fill(program);
  const Outcome outcome = load(program.build());
  EXPECT_EQ(error_name(outcome.error), std::string(error_name(error))) << outcome.text;
  EXPECT_EQ(outcome.text, text);
}

/// A changed copy of a good file.
Outcome load_changed(const std::function<void(std::vector<uint8_t>&)>& change) {
  TestProgram program;
  const float data[] = {1, 2, 3, 4};
  program.tensor({.sizes = {4}, .data_index = program.add_constant(data, sizeof data)});
  const AlignedBytes file = program.build();
  std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  change(bytes);
  return load(AlignedBytes(bytes));
}

TEST(Program, ReportsWhatTheFileSays) {
  TestProgram program;
  const float data[] = {1, 2, 3};
  const int32_t w =
      program.tensor({.sizes = {3}, .data_index = program.add_constant(data, sizeof data), .name = "fc.w"});
  const int32_t x = program.planned(DType::i8, {2, 4});
  const int32_t number = program.integer(-5);
  const int32_t ints = program.int_list({number, number});
  const int32_t tensors = program.optional_tensor_list({w, -1});
  const int32_t name = program.string("mean");
  program.inputs = {x};
  program.outputs = {w, number};
  program.call(program.op("aten::relu", "out"), {x, x, x});
  program.delegate_call(program.delegate("Some", {9, 8}), {x});
  program.jump_false(number, 3);
  program.add_named_data("blob", "xyz");
  const AlignedBytes file = program.build();
  Result<Program> loaded = Program::load(file.span());
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded->num_methods(), 1u);
  EXPECT_EQ(loaded->find_method("other").error(), Error::NotFound);
  const MethodMeta method = *loaded->find_method("forward");
  EXPECT_EQ(method.num_values(), 6u);
  EXPECT_EQ(method.input_value(0).tensor.dtype, DType::i8);
  EXPECT_EQ(method.input_value(0).tensor.nbytes, 8u);
  EXPECT_EQ(method.output_value(1).integer, -5);
  const TensorMeta weight = method.value(static_cast<size_t>(w)).tensor;
  EXPECT_EQ(weight.storage, Storage::constant);
  EXPECT_STREQ(weight.name, "fc.w");
  EXPECT_EQ(memcmp(weight.bytes.data(), data, sizeof data), 0);
  EXPECT_EQ(method.value(static_cast<size_t>(ints)).int_items[1], number);
  EXPECT_EQ(method.value(static_cast<size_t>(tensors)).tensor_items[1], -1);
  EXPECT_STREQ(method.value(static_cast<size_t>(name)).string.data(), "mean");
  EXPECT_EQ(method.num_arenas(), 1u);
  EXPECT_EQ(method.arena_bytes(0), 16u);
  EXPECT_TRUE(method.op(0).equals("aten::relu.out"));
  EXPECT_FALSE(method.op(0).equals("aten::relu"));
  EXPECT_FALSE(method.op(0).equals("aten::relu.out2"));
  EXPECT_STREQ(method.delegate(0).id, "Some");
  EXPECT_EQ(method.delegate(0).payload.size(), 2u);
  EXPECT_STREQ(method.compile_spec(0, 0).key, "k");
  EXPECT_EQ(method.num_instructions(0), 3u);
  EXPECT_EQ(method.instruction(0, 0).args.size(), 3u);
  EXPECT_EQ(method.instruction(0, 2).kind, InstructionKind::jump_false);
  EXPECT_EQ(method.instruction(0, 2).target, 3u);
  EXPECT_EQ(method.num_frames(0, 0), 0u);
  EXPECT_EQ(loaded->find_named_data("blob")->size(), 3u);
  EXPECT_EQ(loaded->find_named_data("none").error(), Error::NotFound);
}

TEST(Program, ReadsEachFormOfTheHeader) {
  for (const uint32_t length : {24u, 32u, 0u}) {
    TestProgram program;
    const float data[] = {1, 2, 3, 4};
    program.with_header = length != 0;
    program.inline_constants = length == 0;
    program.header_length = length;
    program.tensor({.sizes = {4}, .data_index = program.add_constant(data, sizeof data)});
    const Outcome outcome = load(program.build());
    EXPECT_EQ(outcome.error, Error::Ok) << length << " " << outcome.text;
  }
  // A longer header than known: its tail is ignored.
  EXPECT_EQ(load_changed([](auto& bytes) { bytes[12] = 40; }).error, Error::Ok);
}

TEST(Program, RefusesBadHeaders) {
  Outcome outcome = load_changed([](auto& bytes) { bytes[12] = 23; });
  EXPECT_EQ(outcome.text, "extended header: length 23");
  EXPECT_EQ(outcome.error, Error::InvalidProgram);
  outcome = load_changed([](auto& bytes) { bytes[18] = 1; });
  EXPECT_EQ(outcome.error, Error::InvalidProgram);
  EXPECT_NE(outcome.text.find("bytes, its header wants"), std::string::npos) << outcome.text;
  outcome = load_changed([](auto& bytes) { bytes.pop_back(); });
  EXPECT_EQ(outcome.error, Error::InvalidProgram);
  EXPECT_NE(outcome.text.find("bytes, its segments start at"), std::string::npos) << outcome.text;
  outcome = load_changed([](auto& bytes) { bytes[7] = '3'; });
  EXPECT_EQ(outcome.text, "no ExecuTorch program: identifier ET12 not found at byte 4");
  outcome = load_changed([](auto& bytes) { memcpy(bytes.data() + 4, "BP08", 4); });
  EXPECT_EQ(outcome.text, "this is a bundled program (BP08), which holds a program: load it as BundledProgram");
  outcome = load_changed([](auto& bytes) { bytes.resize(63); });
  EXPECT_EQ(outcome.text, "file has 63 bytes, a program has 64 or more");
  EXPECT_EQ(outcome.error, Error::InvalidArgument);
  outcome = load_changed([](auto& bytes) { bytes[0] = 0xff; });
  EXPECT_EQ(outcome.text, "the tables of the file are corrupt");
  // Bytes behind the last segment are fine.
  EXPECT_EQ(load_changed([](auto& bytes) { bytes.resize(bytes.size() + 100); }).error, Error::Ok);
}

TEST(Program, WantsAnAlignedFile) {
  TestProgram program;
  const AlignedBytes file = program.build();
  std::vector<uint8_t> shifted(1, 0);
  shifted.insert(shifted.end(), file.data(), file.data() + file.size());
  const AlignedBytes copy(shifted);
  EXPECT_EQ(Program::load({copy.data() + 1, file.size()}).error(), Error::InvalidArgument);
}

TEST(Program, RefusesBadTensors) {
  const float data[8] = {};
  const auto tensor = [](TestTensor t) { return [t](TestProgram& p) { p.tensor(t); }; };
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: unknown dtype",
                 tensor({.dtype = static_cast<DType>(99), .sizes = {1}}));
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: sizes or dim order are missing",
                 tensor({.omit_sizes = true}));
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: rank above 16",
                 tensor({.sizes = std::vector<int32_t>(17, 1)}));
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: dim order and sizes differ in length",
                 tensor({.sizes = {1}, .dim_order = {0, 1}}));
  const std::string shape = "method forward: tensor 0: bad size, 2^31 elements or more, or bad dim order";
  expect_refused(Error::InvalidProgram, shape, tensor({.sizes = {-1}}));
  expect_refused(Error::InvalidProgram, shape, tensor({.sizes = {65536, 65536}}));
  expect_refused(Error::InvalidProgram, shape, tensor({.sizes = {2, 2}, .dim_order = {1, 1}}));
  expect_refused(Error::NotSupported, "method forward: tensor 0: storage offset is not 0",
                 tensor({.sizes = {1}, .storage_offset = 1}));
  constexpr auto kUnbounded = pte::ShapeDynamism::DYNAMIC_UNBOUND;
  expect_refused(Error::NotSupported, "method forward: tensor 0: unbounded, but with elements at its stated sizes",
                 tensor({.sizes = {1}, .dynamism = kUnbounded}));
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: unbounded, but planned", [&](TestProgram& p) {
    p.arena_sizes = {0, 16};
    p.tensor({.sizes = {0}, .memory_id = 1, .dynamism = kUnbounded});
  });
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: unbounded, but with stored bytes",
                 [&](TestProgram& p) {
                   p.tensor({.sizes = {0}, .data_index = p.add_constant(data, sizeof data), .dynamism = kUnbounded});
                 });
  expect_refused(Error::InvalidExternalData, "method forward: tensor 0: external without a name",
                 tensor({.sizes = {1}, .external = true}));
  expect_refused(Error::InvalidArgument, "method forward: tensor 0: data index out of range",
                 tensor({.sizes = {1}, .data_index = 1}));
  expect_refused(Error::NotFound, "method forward: tensor 0: the program has no mutable data", [](TestProgram& p) {
    p.arena_sizes = {0, 16};
    p.tensor({.sizes = {1}, .memory_id = 1, .data_index = 1});
  });
  expect_refused(Error::InvalidArgument, "method forward: tensor 0: data beyond its segment",
                 [&](TestProgram& p) { p.tensor({.sizes = {9}, .data_index = p.add_constant(data, sizeof data)}); });
}

TEST(Program, RefusesMisalignedConstants) {
  TestProgram program;
  const uint8_t data[16] = {};
  program.segment_alignment = 2;
  program.constant_alignment = 2;
  program.add_constant(data, 2);
  program.tensor({.dtype = DType::i64, .sizes = {1}, .data_index = program.add_constant(data, 8)});
  program.tensor({.dtype = DType::i64, .sizes = {1}, .data_index = program.add_constant(data, 10)});
  program.tensor({.dtype = DType::i64, .sizes = {1}, .data_index = program.add_constant(data, 8)});
  const Outcome outcome = load(program.build());
  EXPECT_EQ(outcome.error, Error::InvalidProgram);
  EXPECT_NE(outcome.text.find("constant not aligned to its element size"), std::string::npos) << outcome.text;
}

TEST(Program, RefusesTensorsOutsideTheirArena) {
  const auto planned = [](uint32_t memory_id, uint64_t offset, int32_t size) {
    return [=](TestProgram& p) {
      p.arena_sizes = {0, 32};
      p.tensor({.sizes = {size}, .memory_id = memory_id, .memory_offset = offset});
    };
  };
  expect_refused(Error::MemoryAllocationFailed, "method forward: tensor 0 exceeds arena 0", planned(1, 16, 5));
  expect_refused(Error::MemoryAllocationFailed, "method forward: tensor 0 exceeds arena 0",
                 planned(1, uint64_t{1} << 60, 1));
  expect_refused(Error::InvalidArgument, "method forward: tensor 0: arena 1 does not exist", planned(2, 0, 1));
  expect_refused(Error::InvalidProgram, "method forward: tensor 0: arena offset not aligned", planned(1, 2, 1));
  expect_refused(Error::InvalidProgram, "method forward: arena 1 has a negative size",
                 [](TestProgram& p) { p.arena_sizes = {0, -1}; });
  expect_refused(Error::InvalidProgram, "method forward: arena sizes are missing",
                 [](TestProgram& p) { p.arena_sizes = {}; });
}

TEST(Program, RefusesBadLists) {
  expect_refused(Error::InvalidProgram, "method forward: int list 0: no value has index 1",
                 [](TestProgram& p) { p.int_list({1}); });
  expect_refused(Error::InvalidProgram, "method forward: int list 0: no value has index -1",
                 [](TestProgram& p) { p.int_list({-1}); });
  expect_refused(Error::InvalidProgram, "method forward: tensor list 0: item 1 is not an earlier value",
                 [](TestProgram& p) {
                   p.tensor_list({1});
                   p.tensor({.sizes = {1}});
                 });
  expect_refused(Error::InvalidProgram, "method forward: tensor list 1: item 0 is not a tensor", [](TestProgram& p) {
    p.integer(1);
    p.tensor_list({0});
  });
  expect_refused(Error::InvalidProgram, "method forward: tensor list 0: item -1 is not an earlier value",
                 [](TestProgram& p) { p.tensor_list({-1}); });
  expect_refused(Error::InvalidProgram, "method forward: tensor list 0: item -2 is not an earlier value",
                 [](TestProgram& p) { p.optional_tensor_list({-2}); });
  expect_refused(Error::InvalidProgram, "method forward: value 0 holds no bool",
                 [](TestProgram& p) { p.bool_list({1, 2}); });
  expect_refused(Error::InvalidProgram, "method forward: value 0 has an unknown type", [](TestProgram& p) {
    p.add_value(static_cast<pte::KernelTypes>(12), pte::CreateNull(p.builder()).Union());
  });
  expect_refused(Error::InvalidProgram, "method forward: value 0 is empty",
                 [](TestProgram& p) { p.add_value(pte::KernelTypes::Int, 0); });
  expect_refused(Error::InvalidProgram, "method forward: value 0 has no payload",
                 [](TestProgram& p) { p.add_value(pte::KernelTypes::String, pte::CreateString(p.builder()).Union()); });
}

TEST(Program, RefusesBadInstructions) {
  expect_refused(Error::InvalidProgram, "method forward: input 3 is not a value",
                 [](TestProgram& p) { p.inputs = {3}; });
  expect_refused(Error::InvalidProgram, "method forward: output -1 is not a value",
                 [](TestProgram& p) { p.outputs = {-1}; });
  expect_refused(Error::InvalidProgram, "method forward: instruction 0: operator 0 does not exist",
                 [](TestProgram& p) { p.call(0, {}); });
  expect_refused(Error::InvalidProgram, "method forward: instruction 0: delegate -1 does not exist",
                 [](TestProgram& p) { p.delegate_call(-1, {}); });
  expect_refused(Error::InvalidProgram, "method forward: instruction 0: argument 1 is not a value", [](TestProgram& p) {
    p.integer(1);
    p.call(p.op("aten::add", "out"), {0, 1});
  });
  expect_refused(Error::InvalidProgram, "method forward: instruction 0 jumps to 2 of 1", [](TestProgram& p) {
    p.boolean(true);
    p.jump_false(0, 2);
  });
  expect_refused(Error::InvalidProgram, "method forward: instruction 0 names a value that does not exist",
                 [](TestProgram& p) { p.move(0, 0); });
  expect_refused(Error::InvalidProgram, "method forward: instruction 0 is of an unknown kind", [](TestProgram& p) {
    p.add_instruction(static_cast<pte::InstructionArguments>(6), pte::CreateFreeCall(p.builder()).Union());
  });
  expect_refused(Error::InvalidProgram, "method forward: operator 0 has no name or overload",
                 [](TestProgram& p) { p.op("aten::add", nullptr); });
  expect_refused(Error::Internal, "method forward: operator 0 has a name of 100 characters or more",
                 [](TestProgram& p) { p.op(std::string(99, 'x').c_str(), ""); });
  expect_refused(Error::InvalidProgram, "method forward: delegate 0 has no id",
                 [](TestProgram& p) { p.delegate(nullptr, {}); });
}

// The FlatBuffers verifier lets lists of 8-byte numbers start at any multiple of four.
TEST(Program, RefusesMisalignedLists) {
  int refused = 0;
  for (const bool shifted : {false, true}) {
    TestProgram program;
    program.integer(1);
    flatbuffers::FlatBufferBuilder& builder = program.builder();
    builder.Align(8);
    builder.StartVector(shifted ? 3 : 2, 4);
    for (int i = 0; i < (shifted ? 3 : 2); ++i) builder.PushElement(uint32_t{0});
    const flatbuffers::Offset<flatbuffers::Vector<int64_t>> items(builder.EndVector(1));
    program.add_value(pte::KernelTypes::IntList, pte::CreateIntList(builder, items).Union());
    const Outcome outcome = load(program.build());
    if (outcome.error == Error::Ok) continue;
    EXPECT_EQ(outcome.text, "method forward: a list of 8-byte numbers is misaligned");
    ++refused;
  }
  EXPECT_EQ(refused, 1);
}

// 2000 values name one list of 2000 items: 8 KB of offsets would become 4 million pointers.
TEST(Program, RefusesTablesThatAreSharedTooOften) {
  TestProgram program;
  program.integer(1);
  const std::vector<int64_t> items(2000, 0);
  const auto list = pte::CreateIntListDirect(program.builder(), &items).Union();
  for (int i = 0; i < 2000; ++i) program.add_value(pte::KernelTypes::IntList, list);
  const Outcome outcome = load(program.build());
  EXPECT_EQ(outcome.error, Error::InvalidProgram);
  EXPECT_EQ(outcome.text, "method forward: tables refer to more items than a file of this size can hold");
}

}  // namespace
}  // namespace wick
