// Program::load's checks that the FlatBuffers verifier does not make.
#include <string.h>

#include "common/checked.h"
#include "runtime/program/reader.h"

namespace wick {
namespace {

using flatbuffers::uoffset_t;

// The least number of bytes that each of these takes in a file, including its entry in a list. A file may name one
// table many times, but not more often than it could hold separate tables, so that work and memory stay linear in its
// size.
constexpr size_t kValueBytes = 20, kInstructionBytes = 24, kOperatorBytes = 12, kDelegateBytes = 24, kChainBytes = 16,
                 kMethodBytes = 48, kSpecBytes = 12;

// Programs have few of these, and code may walk the lists often.
constexpr size_t kMaxMethods = 1024, kMaxArenas = 1024;

class Checker {
 public:
  Checker(const FileView& view, uint64_t tables_bytes, uint64_t segment_limit, bool has_segments, ErrorText* text)
      : view_(view),
        segment_limit_(segment_limit),
        has_segments_(has_segments),
        text_(text),
        budget_(tables_bytes + tables_bytes / 4 + 4096) {}

  Error run() {
    Error error = segments();
    if (error == Error::Ok) error = data_lists();
    if (error == Error::Ok) error = named_data();
    if (error != Error::Ok) return error;
    const auto* plans = view_.root->execution_plan();
    if (!plans) return fail(Error::InvalidProgram, "the program has no methods");
    if (plans->size() > kMaxMethods) {
      return fail(Error::InvalidProgram, "the program has ", plans->size(), " methods, more than ",
                  static_cast<uint64_t>(kMaxMethods));
    }
    for (const pte::ExecutionPlan* plan : *plans) {
      plan_ = plan;
      error = method();
      if (error != Error::Ok) return error;
      for (const pte::ExecutionPlan* other : *plans) {
        if (other == plan) break;
        if (strcmp(other->name()->c_str(), plan->name()->c_str()) == 0)
          return fail(Error::InvalidProgram, "two methods have this name");
      }
    }
    return Error::Ok;
  }

 private:
  template <typename... Parts>
  Error fail(Error error, Parts... parts) {
    if (text_ && plan_ && plan_->name()) text_->append("method ", plan_->name()->c_str(), ": ");
    return explain(text_, error, parts...);
  }
  bool spend(size_t count, size_t each_bytes) {
    if (count > budget_ / each_bytes) return false;
    budget_ -= count * each_bytes;
    return true;
  }
  Error overspent() {
    return fail(Error::InvalidProgram, "tables refer to more items than a file of this size can hold");
  }
  Error misaligned() { return fail(Error::InvalidProgram, "a list of 8-byte numbers is misaligned"); }
  size_t num_values() const { return size_of(plan_->values()); }
  bool is_value(int64_t index) const { return index >= 0 && static_cast<uint64_t>(index) < num_values(); }

  Error segments();
  Error data_lists();
  Error named_data();
  Error method();
  Error arenas();
  Error initial_bytes(size_t index, uint64_t nbytes);
  Error value(size_t index, const pte::EValue& value);
  Error tensor(size_t index, const pte::Tensor& tensor);
  Error int_list(size_t index, const pte::IntList& list);
  Error tensor_list(size_t index, const flatbuffers::Vector<int32_t>* items, bool optional);
  Error value_indices(const char* what, const flatbuffers::Vector<int32_t>* indices);
  Error operators();
  Error delegates();
  Error delegate(size_t index, const pte::BackendDelegate& delegate);
  Error chain(size_t index, const pte::Chain& chain);
  Error instruction(size_t index, size_t count, const pte::Instruction& instruction);
  Error call(size_t index, const char* what, int32_t target, size_t num_targets,
             const flatbuffers::Vector<int32_t>* args);

  const FileView& view_;
  uint64_t segment_limit_;
  bool has_segments_;
  ErrorText* text_;
  uint64_t budget_;
  uint64_t arena_bytes_ = 0;  // of this method, all together
  uint64_t initial_bytes_ = 0;
  const pte::ExecutionPlan* plan_ = nullptr;
};

Error Checker::segments() {
  const auto* segments = view_.root->segments();
  for (uoffset_t i = 0; i < size_of(segments); ++i) {
    const uint64_t offset = segments->Get(i)->offset();
    const uint64_t size = segments->Get(i)->size();
    if (size == 0) continue;
    if (!has_segments_) return fail(Error::NotFound, "segment ", i, " has bytes but the file has no segment area");
    const uint64_t room = segment_limit_ - view_.segment_base;
    if (offset > room || size > room - offset)
      return fail(Error::InvalidProgram, "segment ", i, " lies beyond the file");
  }
  return Error::Ok;
}

Error Checker::data_lists() {
  const pte::SubsegmentOffsets* constants = view_.root->constant_segment();
  if (constants && !is_aligned(constants->offsets())) return misaligned();
  const auto* mutables = view_.root->mutable_data_segments();
  for (uoffset_t i = 0; i < size_of(mutables); ++i) {
    if (!is_aligned(mutables->Get(i)->offsets())) return misaligned();
  }
  const size_t num_offsets = constants ? size_of(constants->offsets()) : 0;
  if (num_offsets > 1 && size_of(view_.root->constant_buffer()) > 0) {
    return fail(Error::InvalidProgram, "constants are stated twice: inline and as a segment");
  }
  // A program without constants may name a segment that it does not have.
  if (num_offsets > 1 && constants->segment_index() >= size_of(view_.root->segments())) {
    return fail(Error::InvalidProgram, "constant segment ", constants->segment_index(), " does not exist");
  }
  return Error::Ok;
}

Error Checker::named_data() {
  const auto* entries = view_.root->named_data();
  for (uoffset_t i = 0; i < size_of(entries); ++i) {
    const pte::NamedData* entry = entries->Get(i);
    if (!entry->key()) return fail(Error::InvalidProgram, "named data ", i, " has no key");
    if (entry->segment_index() >= size_of(view_.root->segments())) {
      return fail(Error::InvalidArgument, "named data ", entry->key()->c_str(), ": segment ", entry->segment_index(),
                  " does not exist");
    }
  }
  return Error::Ok;
}

Error Checker::method() {
  if (!plan_->name()) return fail(Error::InvalidProgram, "a method has no name");
  if (!plan_->values()) return fail(Error::InvalidProgram, "values are missing");
  if (!plan_->inputs() || !plan_->outputs()) return fail(Error::InvalidProgram, "inputs or outputs are missing");
  if (!plan_->chains() || plan_->chains()->size() == 0) return fail(Error::InvalidProgram, "chains are missing");
  if (!plan_->operators()) return fail(Error::InvalidProgram, "operators are missing");
  if (!plan_->delegates()) return fail(Error::InvalidProgram, "delegates are missing");
  Error error = arenas();
  if (!spend(1, kMethodBytes) || !spend(num_values(), kValueBytes)) return overspent();
  for (uoffset_t i = 0; error == Error::Ok && i < num_values(); ++i) error = value(i, *plan_->values()->Get(i));
  if (error == Error::Ok) error = value_indices("input", plan_->inputs());
  if (error == Error::Ok) error = value_indices("output", plan_->outputs());
  if (error == Error::Ok) error = operators();
  if (error == Error::Ok) error = delegates();
  for (uoffset_t i = 0; error == Error::Ok && i < plan_->chains()->size(); ++i)
    error = chain(i, *plan_->chains()->Get(i));
  return error;
}

Error Checker::arenas() {
  const auto* sizes = plan_->non_const_buffer_sizes();
  if (!sizes || sizes->size() == 0) return fail(Error::InvalidProgram, "arena sizes are missing");
  if (!is_aligned(sizes)) return misaligned();
  const auto* devices = plan_->non_const_buffer_device();
  if (sizes->size() > kMaxArenas + 1 || size_of(devices) > kMaxArenas) {
    return fail(Error::InvalidProgram, "the method has ", sizes->size() - 1, " arenas on ",
                static_cast<uint64_t>(size_of(devices)), " devices, more than ", static_cast<uint64_t>(kMaxArenas));
  }
  arena_bytes_ = initial_bytes_ = 0;
  for (uoffset_t i = 1; i < sizes->size(); ++i) {
    if (sizes->Get(i) < 0) return fail(Error::InvalidProgram, "arena ", i, " has a negative size");
    if (!checked_add<uint64_t>(arena_bytes_, static_cast<uint64_t>(sizes->Get(i)), &arena_bytes_))
      arena_bytes_ = UINT64_MAX;
  }
  for (uoffset_t i = 0; i < size_of(devices); ++i) {
    const int64_t index = devices->Get(i)->buffer_idx();
    if (index < 1 || index >= static_cast<int64_t>(sizes->size())) {
      return fail(Error::InvalidProgram, "a device is stated for arena ", index, ", which does not exist");
    }
  }
  return Error::Ok;
}

Error Checker::value(size_t index, const pte::EValue& value) {
  if (value.val_type() == pte::KernelTypes::Null) return Error::Ok;
  if (!value.val()) return fail(Error::InvalidProgram, "value ", static_cast<uint64_t>(index), " is empty");
  switch (value.val_type()) {
    case pte::KernelTypes::Int:
    case pte::KernelTypes::Bool:
    case pte::KernelTypes::Double: return Error::Ok;
    case pte::KernelTypes::Tensor: return tensor(index, *value.val_as_Tensor());
    case pte::KernelTypes::String:
      if (value.val_as_String()->string_val()) return Error::Ok;
      break;
    case pte::KernelTypes::IntList: return int_list(index, *value.val_as_IntList());
    case pte::KernelTypes::DoubleList:
      if (!is_aligned(value.val_as_DoubleList()->items())) return misaligned();
      if (value.val_as_DoubleList()->items()) return Error::Ok;
      break;
    case pte::KernelTypes::BoolList: {
      const auto* items = value.val_as_BoolList()->items();
      if (!items) break;
      if (!spend(items->size(), 1)) return overspent();
      for (uint8_t item : *items) {
        // They are read in place as bool, which has two valid bytes.
        if (item > 1) return fail(Error::InvalidProgram, "value ", static_cast<uint64_t>(index), " holds no bool");
      }
      return Error::Ok;
    }
    case pte::KernelTypes::TensorList: return tensor_list(index, value.val_as_TensorList()->items(), false);
    case pte::KernelTypes::OptionalTensorList:
      return tensor_list(index, value.val_as_OptionalTensorList()->items(), true);
    default: return fail(Error::InvalidProgram, "value ", static_cast<uint64_t>(index), " has an unknown type");
  }
  return fail(Error::InvalidProgram, "value ", static_cast<uint64_t>(index), " has no payload");
}

Error Checker::tensor(size_t index, const pte::Tensor& tensor) {
  TensorMeta meta;
  const char* why;
  const Error error = read_tensor(view_, tensor, &meta, &why);
  if (error != Error::Ok) return fail(error, "tensor ", static_cast<uint64_t>(index), ": ", why);
  if (!spend(meta.sizes.size(), sizeof(int32_t))) return overspent();
  if (meta.storage != Storage::planned) return Error::Ok;
  const auto* sizes = plan_->non_const_buffer_sizes();
  if (uint64_t{meta.arena} + 1 >= sizes->size()) {
    return fail(Error::InvalidArgument, "tensor ", static_cast<uint64_t>(index), ": arena ", meta.arena,
                " does not exist");
  }
  const uint64_t room = static_cast<uint64_t>(sizes->Get(meta.arena + 1));
  if (meta.arena_offset > room || meta.nbytes > room - meta.arena_offset) {
    return fail(Error::MemoryAllocationFailed, "tensor ", static_cast<uint64_t>(index), " exceeds arena ", meta.arena);
  }
  return meta.initialized ? initial_bytes(index, meta.nbytes) : Error::Ok;
}

// Loading copies initial values. Tensors over the same memory may not make that much more than the arenas hold.
Error Checker::initial_bytes(size_t index, uint64_t nbytes) {
  initial_bytes_ += nbytes;  // each is below 2^31 times 16
  if (initial_bytes_ / 2 <= arena_bytes_) return Error::Ok;
  return fail(Error::InvalidProgram, "tensor ", static_cast<uint64_t>(index),
              ": the initial values are larger than all arenas");
}

Error Checker::int_list(size_t index, const pte::IntList& list) {
  if (!list.items()) return fail(Error::InvalidProgram, "value ", static_cast<uint64_t>(index), " has no payload");
  if (!is_aligned(list.items())) return misaligned();
  if (!spend(list.items()->size(), sizeof(int64_t))) return overspent();
  for (int64_t item : *list.items()) {
    if (!is_value(item)) {
      return fail(Error::InvalidProgram, "int list ", static_cast<uint64_t>(index), ": no value has index ", item);
    }
  }
  return Error::Ok;
}

Error Checker::tensor_list(size_t index, const flatbuffers::Vector<int32_t>* items, bool optional) {
  if (!items) return fail(Error::InvalidProgram, "value ", static_cast<uint64_t>(index), " has no payload");
  if (!spend(items->size(), sizeof(int32_t))) return overspent();
  for (int32_t item : *items) {
    if (optional && item == -1) continue;
    // Values are built in order, so a list may only name earlier ones.
    if (item < 0 || static_cast<size_t>(item) >= index) {
      return fail(Error::InvalidProgram, "tensor list ", static_cast<uint64_t>(index), ": item ", item,
                  " is not an earlier value");
    }
    const pte::KernelTypes type = plan_->values()->Get(static_cast<uoffset_t>(item))->val_type();
    if (type != pte::KernelTypes::Tensor && !(optional && type == pte::KernelTypes::Null)) {
      return fail(Error::InvalidProgram, "tensor list ", static_cast<uint64_t>(index), ": item ", item,
                  " is not a tensor");
    }
  }
  return Error::Ok;
}

Error Checker::value_indices(const char* what, const flatbuffers::Vector<int32_t>* indices) {
  if (!spend(indices->size(), sizeof(int32_t))) return overspent();
  for (int32_t index : *indices) {
    if (!is_value(index)) return fail(Error::InvalidProgram, what, " ", index, " is not a value");
  }
  return Error::Ok;
}

Error Checker::operators() {
  if (!spend(plan_->operators()->size(), kOperatorBytes)) return overspent();
  for (uoffset_t i = 0; i < plan_->operators()->size(); ++i) {
    const pte::Operator* op = plan_->operators()->Get(i);
    if (!op->name() || !op->overload()) return fail(Error::InvalidProgram, "operator ", i, " has no name or overload");
    if (op->name()->size() + op->overload()->size() > 98) {
      return fail(Error::Internal, "operator ", i, " has a name of 100 characters or more");
    }
  }
  return Error::Ok;
}

Error Checker::delegates() {
  for (uoffset_t i = 0; i < plan_->delegates()->size(); ++i) {
    if (!spend(1, kDelegateBytes)) return overspent();
    const Error error = delegate(i, *plan_->delegates()->Get(i));
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

Error Checker::delegate(size_t index, const pte::BackendDelegate& delegate) {
  const uint64_t i = index;
  if (!delegate.id()) return fail(Error::InvalidProgram, "delegate ", i, " has no id");
  const pte::BackendDelegateDataReference* where = delegate.processed();
  if (!where) return fail(Error::InvalidProgram, "delegate ", i, " has no payload");
  if (where->location() == pte::DataLocation::SEGMENT) {
    if (where->index() >= size_of(view_.root->segments())) {
      return fail(Error::NotFound, "delegate ", i, ": segment ", where->index(), " does not exist");
    }
  } else if (where->location() != pte::DataLocation::INLINE) {
    return fail(Error::InvalidProgram, "delegate ", i, ": unknown payload location");
  } else if (where->index() >= size_of(view_.root->backend_delegate_data())) {
    return fail(Error::NotFound, "delegate ", i, ": inline payload ", where->index(), " does not exist");
  }
  if (!spend(size_of(delegate.compile_specs()), kSpecBytes)) return overspent();
  for (uoffset_t k = 0; k < size_of(delegate.compile_specs()); ++k) {
    const pte::CompileSpec* spec = delegate.compile_specs()->Get(k);
    if (!spec->key() || !spec->value()) return fail(Error::InvalidProgram, "delegate ", i, ": bad compile spec ", k);
  }
  return Error::Ok;
}

Error Checker::chain(size_t index, const pte::Chain& chain) {
  const auto* instructions = chain.instructions();
  if (!instructions) return fail(Error::InvalidProgram, "chain ", static_cast<uint64_t>(index), " has no instructions");
  if (!spend(1, kChainBytes) || !spend(instructions->size(), kInstructionBytes)) return overspent();
  for (uoffset_t i = 0; i < instructions->size(); ++i) {
    const Error error = instruction(i, instructions->size(), *instructions->Get(i));
    if (error != Error::Ok) return error;
  }
  return Error::Ok;
}

Error Checker::call(size_t index, const char* what, int32_t target, size_t num_targets,
                    const flatbuffers::Vector<int32_t>* args) {
  const uint64_t i = index;
  if (target < 0 || static_cast<size_t>(target) >= num_targets) {
    return fail(Error::InvalidProgram, "instruction ", i, ": ", what, " ", target, " does not exist");
  }
  if (!args) return fail(Error::InvalidProgram, "instruction ", i, " has no arguments");
  if (!spend(args->size(), sizeof(int32_t))) return overspent();
  for (int32_t arg : *args) {
    if (!is_value(arg)) return fail(Error::InvalidProgram, "instruction ", i, ": argument ", arg, " is not a value");
  }
  return Error::Ok;
}

Error Checker::instruction(size_t index, size_t count, const pte::Instruction& instruction) {
  const uint64_t i = index;
  if (!instruction.instr_args()) return fail(Error::InvalidProgram, "instruction ", i, " is empty");
  switch (instruction.instr_args_type()) {
    case pte::InstructionArguments::KernelCall: {
      const auto& kernel = *instruction.instr_args_as_KernelCall();
      return call(index, "operator", kernel.op_index(), plan_->operators()->size(), kernel.args());
    }
    case pte::InstructionArguments::DelegateCall: {
      const auto& delegate = *instruction.instr_args_as_DelegateCall();
      return call(index, "delegate", delegate.delegate_index(), plan_->delegates()->size(), delegate.args());
    }
    case pte::InstructionArguments::MoveCall: {
      const auto& move = *instruction.instr_args_as_MoveCall();
      if (is_value(move.move_from()) && is_value(move.move_to())) return Error::Ok;
      break;
    }
    case pte::InstructionArguments::JumpFalseCall: {
      const auto& jump = *instruction.instr_args_as_JumpFalseCall();
      if (!is_value(jump.cond_value_index())) break;
      if (jump.destination_instruction() >= 0 && static_cast<size_t>(jump.destination_instruction()) <= count) {
        return Error::Ok;
      }
      return fail(Error::InvalidProgram, "instruction ", i, " jumps to ", jump.destination_instruction(), " of ",
                  static_cast<uint64_t>(count));
    }
    case pte::InstructionArguments::FreeCall:
      if (is_value(instruction.instr_args_as_FreeCall()->value_index())) return Error::Ok;
      break;
    default: return fail(Error::InvalidProgram, "instruction ", i, " is of an unknown kind");
  }
  return fail(Error::InvalidProgram, "instruction ", i, " names a value that does not exist");
}

}  // namespace

Error check_program(const FileView& view, uint64_t tables_bytes, uint64_t segment_limit, bool has_segments,
                    ErrorText* text) {
  return Checker(view, tables_bytes, segment_limit, has_segments, text).run();
}

}  // namespace wick
