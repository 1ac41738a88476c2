#include "runtime/program/newer_format.h"

#include "runtime/program/reader.h"

namespace wick {
namespace {

using flatbuffers::voffset_t;

// The last known field of the table of each value or instruction, by its number in the union.
constexpr voffset_t kNoField = 2, kOnlyField = 4;
constexpr voffset_t kValueFields[] = {
    kNoField,   kNoField,   kOnlyField, kOnlyField, kOnlyField, pte::Tensor::VT_EXTRA_TENSOR_INFO,
    kOnlyField, kOnlyField, kOnlyField, kOnlyField, kOnlyField, kOnlyField};
constexpr voffset_t kInstructionFields[] = {kNoField,
                                            pte::KernelCall::VT_ARGS,
                                            pte::DelegateCall::VT_ARGS,
                                            pte::MoveCall::VT_MOVE_TO,
                                            pte::JumpFalseCall::VT_DESTINATION_INSTRUCTION,
                                            pte::FreeCall::VT_VALUE_INDEX};
static_assert(sizeof kValueFields / sizeof *kValueFields == static_cast<size_t>(pte::KernelTypes::MAX) + 1,
              "all kinds");
static_assert(sizeof kInstructionFields / sizeof *kInstructionFields ==
                  static_cast<size_t>(pte::InstructionArguments::MAX) + 1,
              "all kinds");

/// Walks the tables of a checked program.
class Search {
 public:
  const char* run(const pte::Program& program) {
    know("Program", &program, pte::Program::VT_NAMED_DATA);
    know_all("DataSegment", program.segments(), pte::DataSegment::VT_SIZE);
    know("SubsegmentOffsets", program.constant_segment(), pte::SubsegmentOffsets::VT_OFFSETS);
    know_all("SubsegmentOffsets", program.mutable_data_segments(), pte::SubsegmentOffsets::VT_OFFSETS);
    know_all("NamedData", program.named_data(), pte::NamedData::VT_SEGMENT_INDEX);
    know_all("Buffer", program.constant_buffer(), pte::Buffer::VT_STORAGE);
    know_all("BackendDelegateInlineData", program.backend_delegate_data(), pte::BackendDelegateInlineData::VT_DATA);
    for (const pte::ExecutionPlan* plan : *program.execution_plan()) method(*plan);
    return found_;
  }

 private:
  void know(const char* name, const void* table, voffset_t last) {
    if (table && has_unknown_field(table, last)) found_ = name;
  }
  template <typename T>
  void know_all(const char* name, const flatbuffers::Vector<flatbuffers::Offset<T>>* tables, voffset_t last) {
    if (!tables) return;
    for (const T* table : *tables) know(name, table, last);
  }
  void method(const pte::ExecutionPlan& plan) {
    know("ExecutionPlan", &plan, pte::ExecutionPlan::VT_NON_CONST_BUFFER_DEVICE);
    know_all("NonConstBufferDevice", plan.non_const_buffer_device(), pte::NonConstBufferDevice::VT_DEVICE_INDEX);
    know_all("Operator", plan.operators(), pte::Operator::VT_OVERLOAD);
    for (const pte::EValue* each : *plan.values()) value(*each);
    for (const pte::BackendDelegate* delegate : *plan.delegates()) {
      know("BackendDelegate", delegate, pte::BackendDelegate::VT_COMPILE_SPECS);
      know("BackendDelegateDataReference", delegate->processed(), pte::BackendDelegateDataReference::VT_INDEX);
      know_all("CompileSpec", delegate->compile_specs(), pte::CompileSpec::VT_VALUE);
    }
    for (const pte::Chain* chain : *plan.chains()) {
      know("Chain", chain, pte::Chain::VT_STACKTRACE);
      for (const pte::Instruction* each : *chain->instructions()) {
        const pte::InstructionArguments kind = each->instr_args_type();
        know("Instruction", each, pte::Instruction::VT_INSTR_ARGS);
        know(pte::EnumNameInstructionArguments(kind), each->instr_args(),
             kInstructionFields[static_cast<size_t>(kind)]);
      }
    }
  }
  void value(const pte::EValue& value) {
    know("EValue", &value, pte::EValue::VT_VAL);
    know(pte::EnumNameKernelTypes(value.val_type()), value.val(), kValueFields[static_cast<size_t>(value.val_type())]);
    const pte::Tensor* tensor = value.val_as_Tensor();
    if (!tensor) return;
    know("AllocationDetails", tensor->allocation_info(), pte::AllocationDetails::VT_MEMORY_OFFSET_HIGH);
    know("ExtraTensorInfo", tensor->extra_tensor_info(), pte::ExtraTensorInfo::VT_DEVICE_INDEX);
  }

  const char* found_ = nullptr;
};

}  // namespace

uint32_t program_version(const Program& program) { return program.root()->version(); }

const char* table_with_unknown_fields(const Program& program) { return Search().run(*program.root()); }

}  // namespace wick
