#include "wick/method.h"

#include <string.h>

#include "runtime/exec/state.h"

namespace wick {
namespace {

Error fail(Method::State& state, Error error, const char* message) {
  state.last_error = MethodError();
  state.last_error.error = error;
  state.last_error.message = message;
  return error;
}

/// Whether the value equals the one that the exporter traced. Doubles may differ a little.
bool equals_traced(const ValueMeta& traced, const EValue& value) {
  if (traced.tag != value.tag) return false;
  switch (traced.tag) {
    case Tag::none: return true;
    case Tag::integer: return traced.integer == value.integer;
    case Tag::boolean: return traced.boolean == value.boolean;
    case Tag::string:
      return traced.string.size() == value.string.size &&
             memcmp(traced.string.data(), value.string.data, value.string.size) == 0;
    case Tag::real: {
      const double a = value.real;
      const double b = traced.real;
      if (a == b || (a != a && b != b)) return true;
      const double difference = a < b ? b - a : a - b;
      // With an infinite bound every value would pass.
      return difference <= 1e-4 + 1e-5 * (b < 0 ? -b : b) && b - b == 0;
    }
    default: return false;
  }
}

bool is_aligned(const void* data, DType dtype) {
  const size_t element_bytes = dtype_size_bytes(dtype);
  return reinterpret_cast<uintptr_t>(data) % (element_bytes < 8 ? element_bytes : 8) == 0;
}

bool is_unbounded(const Tensor& tensor) { return tensor.dynamism == ShapeDynamism::unbounded; }

/// Sets memory of the caller as that of a tensor. The next execution starts from it.
void set_memory(Method::State& state, Tensor& tensor, void* data, size_t capacity_bytes, bool read_only) {
  tensor.data = data;
  tensor.capacity_bytes = capacity_bytes;
  tensor.read_only = read_only;
  if (is_unbounded(tensor))
    static_cast<UnboundedTensor&>(tensor).is_given = true;
  else if (state.homes)
    state.homes[&tensor - state.tensors] = {data, capacity_bytes, read_only};
}

/// Undoes what a view instruction did. The data becomes null if the memory that the tensor had at load is too small for
/// its shape: then only a new view may give it memory.
void restore_memory(Method::State& state, Tensor& tensor) {
  const Home& home = state.homes[&tensor - state.tensors];
  tensor.data = tensor.nbytes() <= home.capacity_bytes ? home.data : nullptr;
  tensor.capacity_bytes = home.capacity_bytes;
  tensor.read_only = home.read_only;
}

Error set_tensor(Method::State& state, const TensorMeta& meta, Tensor& tensor, const Tensor& given) {
  if (given.dtype != tensor.dtype) return fail(state, Error::InvalidArgument, "input has a different dtype");
  if (given.rank != tensor.rank) return fail(state, Error::InvalidArgument, "input has a different rank");
  if (given.numel != 0 && !given.data) return fail(state, Error::InvalidArgument, "input has no data");
  if (meta.storage == Storage::constant) return fail(state, Error::NotSupported, "input is a constant");
  // An unbounded input stays in the caller's memory, whatever its size.
  if (state.homes && !is_unbounded(tensor)) tensor.data = state.homes[&tensor - state.tensors].data;
  tensor.capacity_bytes = is_unbounded(tensor) ? given.nbytes() : meta.nbytes;
  const Error error = resize(tensor, given.shape());
  if (error == Error::NotSupported) return fail(state, error, "input has a different shape than the fixed one");
  if (error != Error::Ok) return fail(state, error, "input exceeds its upper bound");
  if (!same_layout(tensor, given)) return fail(state, Error::InvalidArgument, "input has a different dim order");
  const size_t nbytes = given.nbytes();
  if (meta.storage == Storage::planned) {
    if (nbytes != 0) memmove(tensor.data, given.data, nbytes);
    return Error::Ok;
  }
  if (!is_aligned(given.data, given.dtype)) return fail(state, Error::InvalidArgument, "input data is misaligned");
  set_memory(state, tensor, given.data, nbytes, given.read_only);
  return Error::Ok;
}

class Executor {
 public:
  explicit Executor(Method::State& state) : state_(state) {}
  Error run();

 private:
  Error run_chain(uint32_t chain);
  void run_instruction(const Instruction& instruction, uint32_t* next);
  void run_kernel(const Instruction& instruction);
  void run_delegate(const Instruction& instruction);
  void run_move(const Instruction& instruction);
  void run_free(const Instruction& instruction);
  const char* message_of(uint32_t chain, uint32_t index) const;
  bool is_false(const EValue& condition);
  InstructionInfo info(uint32_t chain, uint32_t index) const;

  Method::State& state_;
  uint64_t executed_ = 0;
};

InstructionInfo Executor::info(uint32_t chain, uint32_t index) const {
  const Instruction& instruction = state_.chains[chain].data[index];
  InstructionInfo result;
  result.chain = chain;
  result.index = index;
  result.kind = instruction.kind;
  if (instruction.kind == InstructionKind::kernel) result.op = state_.meta.op(instruction.target);
  if (instruction.kind == InstructionKind::delegate) result.op.name = state_.delegates[instruction.target].backend->id;
  if (instruction.num_args != 0) result.args = Span<EValue* const>(instruction.args, instruction.num_args);
  return result;
}

void Executor::run_kernel(const Instruction& instruction) {
  const Kernel& kernel = *state_.kernels[instruction.target];
  const Span<EValue*> args(instruction.args, instruction.num_args);
  if (instruction.fits || check_arguments(state_.context, kernel.signature, args)) kernel.fn(state_.context, args);
}

void Executor::run_delegate(const Instruction& instruction) {
  const BoundDelegate& delegate = state_.delegates[instruction.target];
  delegate.backend->execute(state_.context, delegate.handle, Span<EValue*>(instruction.args, instruction.num_args));
}

void Executor::run_move(const Instruction& instruction) {
  *instruction.move.to = *instruction.move.from;
  if (!instruction.refreshes_lists) return;
  for (uint32_t i = 0; i < state_.num_lists; ++i) refresh_list(state_.lists[i]);
}

/// Gives back the memory of an unbounded tensor; others keep their memory.
void Executor::run_free(const Instruction& instruction) {
  const EValue& value = *instruction.move.from;
  if (value.tag == Tag::tensor && is_unbounded(*value.tensor))
    state_.unbounded()->release(static_cast<UnboundedTensor&>(*value.tensor));
}

/// Why the instruction failed.
const char* Executor::message_of(uint32_t chain, uint32_t index) const {
  if (const char* check = state_.meta.check_message(chain, index)) return check;
  const char* memory = state_.unbounded() ? state_.unbounded()->failure() : nullptr;
  return memory ? memory : state_.context.message();
}

bool Executor::is_false(const EValue& condition) {
  if (condition.tag == Tag::boolean) return !condition.boolean;
  if (condition.tag != Tag::tensor || condition.tensor->dtype != DType::boolean) {
    state_.context.fail(Error::InvalidProgram, "a condition is neither a bool nor a bool tensor");
    return false;
  }
  const Tensor& tensor = *condition.tensor;
  if (!tensor.data && tensor.numel != 0) {
    state_.context.fail(Error::InvalidState, "a condition has no memory");
    return false;
  }
  for (size_t i = 0; i < tensor.numel; ++i) {
    if (tensor.as<const uint8_t>()[i] == 0) return true;
  }
  return false;
}

void Executor::run_instruction(const Instruction& instruction, uint32_t* next) {
  switch (instruction.kind) {
    case InstructionKind::kernel: run_kernel(instruction); break;
    case InstructionKind::delegate: run_delegate(instruction); break;
    case InstructionKind::move: run_move(instruction); break;
    case InstructionKind::jump_false:
      if (is_false(*instruction.move.from)) *next = instruction.target;
      break;
    case InstructionKind::free: run_free(instruction); break;
  }
}

Error Executor::run_chain(uint32_t chain) {
  const InstructionList& list = state_.chains[chain];
  for (uint32_t index = 0; index < list.size;) {
    uint32_t next = index + 1;
    state_.context.reset();
    if (++executed_ > state_.max_instructions) {
      state_.context.fail(Error::InvalidProgram, "more instructions than max_instructions: an endless loop?");
    } else if (state_.tracer) {
      const InstructionInfo trace = info(chain, index);
      state_.tracer->begin(state_.tracer->state, trace);
      run_instruction(list.data[index], &next);
      state_.tracer->end(state_.tracer->state, trace, state_.context.error());
    } else {
      run_instruction(list.data[index], &next);
    }
    if (!state_.context.ok()) {
      fail(state_, state_.context.error(), message_of(chain, index));
      state_.last_error.in_instruction = true;
      state_.last_error.instruction = info(chain, index);
      return state_.context.error();
    }
    index = next;
  }
  return Error::Ok;
}

Error Executor::run() {
  const MethodMeta& meta = state_.meta;
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const InputSlot& input = state_.inputs[i];
    if (!input.tensor) continue;
    if (!input.is_set) return fail(state_, Error::InvalidState, "an input was not set since the last execution");
    state_.values[meta.input(i)] = EValue::of_tensor(input.tensor);
  }
  for (uint32_t i = 0; state_.homes && i < state_.num_tensors; ++i) restore_memory(state_, state_.tensors[i]);
  if (state_.unbounded()) state_.unbounded()->begin_execution();
  Error error = Error::Ok;
  for (uint32_t chain = 0; error == Error::Ok && chain < meta.num_chains(); ++chain) error = run_chain(chain);
  for (size_t i = 0; i < meta.num_inputs(); ++i) state_.inputs[i].is_set = false;
  if (state_.unbounded()) state_.unbounded()->end_execution();
  return error;
}

}  // namespace

ErrorKind MethodError::kind() const {
  if (error == Error::Ok) return ErrorKind::none;
  if (!in_instruction) return ErrorKind::invalid_argument;
  return instruction.kind == InstructionKind::delegate ? ErrorKind::delegate_failed : ErrorKind::execution_failed;
}

void MethodError::append_to(ErrorText& text) const {
  if (in_instruction) {
    text.append("instruction ", instruction.index);
    if (instruction.chain != 0) text.append(" of chain ", instruction.chain);
    if (instruction.op.name[0] != '\0') {
      text.append(" (");
      instruction.op.append_to(text);
      text.append(")");
    }
    text.append(": ");
  }
  text.append(message, " [", error_name(error), "]");
}

const MethodMeta& Method::meta() const { return state_->meta; }
const MethodError& Method::last_error() const { return state_->last_error; }
size_t Method::temp_peak_bytes() const { return state_->context.temp_peak_bytes(); }
const EValue& Method::value(size_t index) const { return state_->values[index]; }
const EValue& Method::output(size_t index) const { return state_->values[state_->meta.output(index)]; }

Error Method::set_input(size_t index, const EValue& value) {
  State& state = *state_;
  if (index >= state.meta.num_inputs()) return fail(state, Error::InvalidArgument, "no such input");
  const ValueMeta traced = state.meta.input_value(index);
  // A symbolic int has no value in the file, and nothing in the program reads the given one.
  if (traced.tag == Tag::none && (value.is_none() || value.tag == Tag::integer)) return Error::Ok;
  if (traced.tag != value.tag) return fail(state, Error::InvalidArgument, "input has a different type");
  if (traced.tag != Tag::tensor) {
    if (equals_traced(traced, value)) return Error::Ok;
    return fail(state, Error::InvalidArgument, "input differs from the value the method was exported with");
  }
  InputSlot& input = state.inputs[index];
  input.is_set = false;
  const Error error = set_tensor(state, traced.tensor, *input.tensor, *value.tensor);
  input.is_set = error == Error::Ok;
  return error;
}

Error Method::set_input(size_t index, const Tensor& tensor) {
  // Only read: a tensor value holds a plain pointer.
  return set_input(index, EValue::of_tensor(const_cast<Tensor*>(&tensor)));
}

Tensor* Method::input_in_place(size_t index) {
  State& state = *state_;
  if (index >= state.meta.num_inputs() || !state.inputs[index].tensor) return nullptr;
  if (state.meta.input_value(index).tensor.storage != Storage::planned) return nullptr;
  InputSlot& input = state.inputs[index];
  if (state.homes) restore_memory(state, *input.tensor);
  if (!input.tensor->data) return nullptr;
  input.is_set = true;
  return input.tensor;
}

Error Method::set_output_memory(size_t index, void* data, size_t size_bytes) {
  State& state = *state_;
  if (index >= state.meta.num_outputs()) return fail(state, Error::InvalidArgument, "no such output");
  const ValueMeta meta = state.meta.output_value(index);
  if (meta.tag != Tag::tensor || meta.tensor.storage != Storage::unbound ||
      meta.tensor.dynamism == ShapeDynamism::unbounded) {
    return fail(state, Error::InvalidArgument, "output has memory of its own");
  }
  if (size_bytes < meta.tensor.nbytes) return fail(state, Error::InvalidArgument, "output memory is too small");
  if ((!data && meta.tensor.nbytes != 0) || !is_aligned(data, meta.tensor.dtype))
    return fail(state, Error::InvalidArgument, "output memory is null or misaligned");
  Tensor& tensor = *state.outputs[index];
  // If a view made its last shape, that may exceed these bytes.
  if (tensor.nbytes() > meta.tensor.nbytes) (void)resize(tensor, meta.tensor.sizes);
  set_memory(state, tensor, data, meta.tensor.nbytes, false);
  return Error::Ok;
}

Error Method::execute() { return Executor(*state_).run(); }

}  // namespace wick
