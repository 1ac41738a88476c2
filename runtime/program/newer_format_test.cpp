#include "runtime/program/newer_format.h"

#include <gtest/gtest.h>

#include "schema/test_program_builder.h"

namespace wick {
namespace newer_format_test {
namespace {

using schema::AlignedBytes;
using schema::TestProgram;

AlignedBytes make_file() {
  TestProgram program;
  program.with_header = false;
  program.inline_constants = true;
  program.device_arenas = {1};
  const float data[] = {1, 2};
  program.tensor({.sizes = {2}, .data_index = program.add_constant(data, sizeof data), .name = "w"});
  const int32_t x = program.planned(DType::f32, {2}), number = program.integer(3);
  program.none();
  program.real(1);
  program.boolean(true);
  program.string("s");
  program.int_list({number});
  program.real_list({1});
  program.bool_list({1});
  program.tensor_list({x});
  program.optional_tensor_list({x});
  program.call(program.op("aten::relu", "out"), {x, x, x});
  program.delegate_call(program.delegate("Some", {9}), {x});
  program.move(number, number);
  program.jump_false(number, 5);
  program.free(x);
  return program.build();
}

/// A copy in which a table has one more field than `last`, as a newer writer would add it.
AlignedBytes with_field_behind(const AlignedBytes& file, const void* table, flatbuffers::voffset_t last) {
  std::vector<uint8_t> bytes(file.data(), file.data() + file.size());
  const size_t at = static_cast<size_t>(static_cast<const uint8_t*>(table) - file.data());
  const auto* fields = static_cast<const flatbuffers::Table*>(table);
  std::vector<uint8_t> vtable(fields->GetVTable(), fields->GetVTable() + schema::read_u32(fields->GetVTable()) % 65536);
  vtable.resize(last + 4, 0);
  vtable[0] = static_cast<uint8_t>(vtable.size());
  vtable[last + 2] = 4;  // where the field lies in the table
  bytes.resize((bytes.size() + 15) / 16 * 16);
  const auto offset = static_cast<int32_t>(at) - static_cast<int32_t>(bytes.size());
  memcpy(bytes.data() + at, &offset, sizeof offset);
  bytes.insert(bytes.end(), vtable.begin(), vtable.end());
  return AlignedBytes(bytes);
}

struct Place {
  const char* name;
  const void* table;
  flatbuffers::voffset_t last;
};

std::vector<Place> places_of(const AlignedBytes& file) {
  const pte::Program& root = *pte::GetProgram(file.data());
  const pte::ExecutionPlan& plan = *root.execution_plan()->Get(0);
  const pte::Chain& chain = *plan.chains()->Get(0);
  const pte::BackendDelegate& delegate = *plan.delegates()->Get(0);
  const pte::Tensor &w = *plan.values()->Get(0)->val_as_Tensor(), &x = *plan.values()->Get(1)->val_as_Tensor();
  std::vector<Place> places = {
      {"Program", &root, pte::Program::VT_NAMED_DATA},
      {"Buffer", root.constant_buffer()->Get(1), pte::Buffer::VT_STORAGE},
      {"BackendDelegateInlineData", root.backend_delegate_data()->Get(0), pte::BackendDelegateInlineData::VT_DATA},
      {"ExecutionPlan", &plan, pte::ExecutionPlan::VT_NON_CONST_BUFFER_DEVICE},
      {"NonConstBufferDevice", plan.non_const_buffer_device()->Get(0), pte::NonConstBufferDevice::VT_DEVICE_INDEX},
      {"Operator", plan.operators()->Get(0), pte::Operator::VT_OVERLOAD},
      {"EValue", plan.values()->Get(0), pte::EValue::VT_VAL},
      {"ExtraTensorInfo", w.extra_tensor_info(), pte::ExtraTensorInfo::VT_DEVICE_INDEX},
      {"AllocationDetails", x.allocation_info(), pte::AllocationDetails::VT_MEMORY_OFFSET_HIGH},
      {"BackendDelegate", &delegate, pte::BackendDelegate::VT_COMPILE_SPECS},
      {"BackendDelegateDataReference", delegate.processed(), pte::BackendDelegateDataReference::VT_INDEX},
      {"CompileSpec", delegate.compile_specs()->Get(0), pte::CompileSpec::VT_VALUE},
      {"Chain", &chain, pte::Chain::VT_STACKTRACE},
      {"Instruction", chain.instructions()->Get(0), pte::Instruction::VT_INSTR_ARGS},
  };
  for (const pte::EValue* value : *plan.values()) {
    const bool is_tensor = value->val_type() == pte::KernelTypes::Tensor;
    const bool has_field = value->val_type() != pte::KernelTypes::Null;
    const flatbuffers::voffset_t last = is_tensor ? flatbuffers::voffset_t{pte::Tensor::VT_EXTRA_TENSOR_INFO}
                                                  : flatbuffers::voffset_t(has_field ? 4 : 2);
    places.push_back({pte::EnumNameKernelTypes(value->val_type()), value->val(), last});
  }
  for (const pte::Instruction* each : *chain.instructions()) {
    const flatbuffers::voffset_t last = each->instr_args_type() == pte::InstructionArguments::FreeCall ? 4 : 6;
    places.push_back({pte::EnumNameInstructionArguments(each->instr_args_type()), each->instr_args(), last});
  }
  return places;
}

TEST(NewerFormat, FieldsOfEveryTableAreNoticed) {
  const AlignedBytes file = make_file();
  const Result<Program> program = Program::load(file.span());
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(table_with_unknown_fields(*program), nullptr);
  const std::vector<Place> places = places_of(file);
  EXPECT_EQ(places.size(), 14u + 12 + 5);
  for (const Place& place : places) {
    const AlignedBytes newer = with_field_behind(file, place.table, place.last);
    const Result<Program> loaded = Program::load(newer.span());
    ASSERT_TRUE(loaded.ok()) << place.name;
    EXPECT_STREQ(table_with_unknown_fields(*loaded), place.name);
  }
}

// Writers put the segments' tables into files with a header.
TEST(NewerFormat, KnowsAllFieldsOfAFileWithSegments) {
  TestProgram program;
  const uint8_t data[16] = {};
  program.tensor({.dtype = DType::u8, .sizes = {16}, .data_index = program.add_constant(data, sizeof data)});
  program.add_named_data("blob", "xyz");
  const AlignedBytes file = program.build();
  const Result<Program> loaded = Program::load(file.span());
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(table_with_unknown_fields(*loaded), nullptr);
  EXPECT_EQ(program_version(*loaded), kKnownProgramVersion);
}

}  // namespace
}  // namespace newer_format_test
}  // namespace wick
