#include <string.h>

#include "runtime/program/reader.h"
#include "schema/header.h"

namespace wick {
namespace {

using flatbuffers::uoffset_t;

Tag tag_of(pte::KernelTypes type) {
  switch (type) {
    case pte::KernelTypes::Int: return Tag::integer;
    case pte::KernelTypes::Bool: return Tag::boolean;
    case pte::KernelTypes::Double: return Tag::real;
    case pte::KernelTypes::Tensor: return Tag::tensor;
    case pte::KernelTypes::String: return Tag::string;
    case pte::KernelTypes::IntList: return Tag::int_list;
    case pte::KernelTypes::DoubleList: return Tag::real_list;
    case pte::KernelTypes::BoolList: return Tag::bool_list;
    case pte::KernelTypes::TensorList: return Tag::tensor_list;
    case pte::KernelTypes::OptionalTensorList: return Tag::optional_tensor_list;
    default: return Tag::none;
  }
}

const pte::Instruction& instruction_of(const pte::ExecutionPlan& plan, size_t chain, size_t index) {
  return *plan.chains()->Get(static_cast<uoffset_t>(chain))->instructions()->Get(static_cast<uoffset_t>(index));
}

const pte::FrameList* frames_of(const pte::ExecutionPlan& plan, size_t chain, size_t instruction) {
  const auto* traces = plan.chains()->Get(static_cast<uoffset_t>(chain))->stacktrace();
  return instruction < size_of(traces) ? traces->Get(static_cast<uoffset_t>(instruction)) : nullptr;
}

}  // namespace

const char* MethodMeta::name() const { return plan_->name()->c_str(); }
const char* MethodMeta::input_spec() const {
  const auto* meta = plan_->container_meta_type();
  return meta ? text_of(meta->encoded_inp_str()) : "";
}
const char* MethodMeta::output_spec() const {
  const auto* meta = plan_->container_meta_type();
  return meta ? text_of(meta->encoded_out_str()) : "";
}

size_t MethodMeta::num_values() const { return plan_->values()->size(); }
size_t MethodMeta::num_inputs() const { return plan_->inputs()->size(); }
size_t MethodMeta::num_outputs() const { return plan_->outputs()->size(); }
uint32_t MethodMeta::input(size_t index) const {
  return static_cast<uint32_t>(plan_->inputs()->Get(static_cast<uoffset_t>(index)));
}
uint32_t MethodMeta::output(size_t index) const {
  return static_cast<uint32_t>(plan_->outputs()->Get(static_cast<uoffset_t>(index)));
}

Tag MethodMeta::tag(size_t index) const {
  return tag_of(plan_->values()->Get(static_cast<uoffset_t>(index))->val_type());
}

ValueMeta MethodMeta::value(size_t index) const {
  const pte::EValue& value = *plan_->values()->Get(static_cast<uoffset_t>(index));
  ValueMeta meta;
  meta.tag = tag_of(value.val_type());
  switch (meta.tag) {
    case Tag::integer: meta.integer = value.val_as_Int()->int_val(); break;
    case Tag::boolean: meta.boolean = value.val_as_Bool()->bool_val(); break;
    case Tag::real: meta.real = value.val_as_Double()->double_val(); break;
    case Tag::string: {
      const flatbuffers::String* string = value.val_as_String()->string_val();
      meta.string = Span<const char>(string->c_str(), string->size());
      break;
    }
    case Tag::int_list: meta.int_items = span_of(value.val_as_IntList()->items()); break;
    case Tag::real_list: meta.reals = span_of(value.val_as_DoubleList()->items()); break;
    case Tag::bool_list: {
      const auto* items = value.val_as_BoolList()->items();
      meta.bools = Span<const bool>(reinterpret_cast<const bool*>(items->Data()), items->size());
      break;
    }
    case Tag::tensor_list: meta.tensor_items = span_of(value.val_as_TensorList()->items()); break;
    case Tag::optional_tensor_list: meta.tensor_items = span_of(value.val_as_OptionalTensorList()->items()); break;
    case Tag::tensor: {
      const char* why;
      const FileView view = {program_->file(), program_->root(), program_->segment_base()};
      // Cannot fail: Program::load made the same call.
      (void)read_tensor(view, *value.val_as_Tensor(), &meta.tensor, &why);
      break;
    }
    case Tag::none: break;
  }
  return meta;
}

size_t MethodMeta::num_unbounded() const {
  size_t count = 0;
  for (const pte::EValue* value : *plan_->values()) {
    count += value->val_type() == pte::KernelTypes::Tensor &&
             value->val_as_Tensor()->shape_dynamism() == pte::ShapeDynamism::DYNAMIC_UNBOUND;
  }
  return count;
}

size_t MethodMeta::num_arenas() const { return plan_->non_const_buffer_sizes()->size() - 1; }
uint64_t MethodMeta::arena_bytes(size_t index) const {
  return static_cast<uint64_t>(plan_->non_const_buffer_sizes()->Get(static_cast<uoffset_t>(index + 1)));
}
uint8_t MethodMeta::arena_device(size_t index) const {
  const auto* devices = plan_->non_const_buffer_device();
  for (uoffset_t i = 0; i < size_of(devices); ++i) {
    if (devices->Get(i)->buffer_idx() == static_cast<int32_t>(index + 1)) {
      return static_cast<uint8_t>(devices->Get(i)->device_type());
    }
  }
  return 0;
}

size_t MethodMeta::num_operators() const { return plan_->operators()->size(); }
OperatorName MethodMeta::op(size_t index) const {
  const pte::Operator* op = plan_->operators()->Get(static_cast<uoffset_t>(index));
  return {op->name()->c_str(), op->overload()->c_str()};
}

size_t MethodMeta::num_delegates() const { return plan_->delegates()->size(); }
DelegateMeta MethodMeta::delegate(size_t index) const {
  const pte::BackendDelegate* delegate = plan_->delegates()->Get(static_cast<uoffset_t>(index));
  DelegateMeta meta;
  meta.id = delegate->id()->c_str();
  meta.num_specs = size_of(delegate->compile_specs());
  const uint32_t where = delegate->processed()->index();
  if (delegate->processed()->location() == pte::DataLocation::SEGMENT) {
    meta.payload = program_->segment(where);
  } else {
    meta.payload = span_of(program_->root()->backend_delegate_data()->Get(where)->data());
  }
  return meta;
}
CompileSpec MethodMeta::compile_spec(size_t delegate, size_t index) const {
  const auto* specs = plan_->delegates()->Get(static_cast<uoffset_t>(delegate))->compile_specs();
  const pte::CompileSpec* spec = specs->Get(static_cast<uoffset_t>(index));
  return {spec->key()->c_str(), span_of(spec->value())};
}

size_t MethodMeta::num_chains() const { return plan_->chains()->size(); }
size_t MethodMeta::num_instructions(size_t chain) const {
  return plan_->chains()->Get(static_cast<uoffset_t>(chain))->instructions()->size();
}

InstructionMeta MethodMeta::instruction(size_t chain, size_t index) const {
  const pte::Instruction& instruction = instruction_of(*plan_, chain, index);
  InstructionMeta meta;
  meta.kind = static_cast<InstructionKind>(instruction.instr_args_type());
  switch (meta.kind) {
    case InstructionKind::kernel: {
      const pte::KernelCall* call = instruction.instr_args_as_KernelCall();
      meta.target = static_cast<uint32_t>(call->op_index());
      meta.args = span_of(call->args());
      break;
    }
    case InstructionKind::delegate: {
      const pte::DelegateCall* call = instruction.instr_args_as_DelegateCall();
      meta.target = static_cast<uint32_t>(call->delegate_index());
      meta.args = span_of(call->args());
      break;
    }
    case InstructionKind::move: {
      const pte::MoveCall* move = instruction.instr_args_as_MoveCall();
      meta.value = static_cast<uint32_t>(move->move_from());
      meta.target = static_cast<uint32_t>(move->move_to());
      break;
    }
    case InstructionKind::jump_false: {
      const pte::JumpFalseCall* jump = instruction.instr_args_as_JumpFalseCall();
      meta.value = static_cast<uint32_t>(jump->cond_value_index());
      meta.target = static_cast<uint32_t>(jump->destination_instruction());
      break;
    }
    case InstructionKind::free:
      meta.value = static_cast<uint32_t>(instruction.instr_args_as_FreeCall()->value_index());
      break;
  }
  return meta;
}

size_t MethodMeta::num_frames(size_t chain, size_t instruction) const {
  const pte::FrameList* frames = frames_of(*plan_, chain, instruction);
  return frames ? size_of(frames->items()) : 0;
}

FrameMeta MethodMeta::frame(size_t chain, size_t instruction, size_t index) const {
  const pte::Frame* frame = frames_of(*plan_, chain, instruction)->items()->Get(static_cast<uoffset_t>(index));
  return {text_of(frame->filename()), frame->lineno(), text_of(frame->name()), text_of(frame->context())};
}

const char* MethodMeta::check_message(size_t chain, size_t instruction) const {
  for (size_t i = 0; i < num_frames(chain, instruction); ++i) {
    const FrameMeta found = frame(chain, instruction, i);
    if (strcmp(found.name, schema::kCheckFrame) == 0) return found.context;
  }
  return nullptr;
}

}  // namespace wick
