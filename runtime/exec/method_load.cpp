// Method::load: lays out the method arena, then fills it from the program in file order.
#include <string.h>

#include <new>

#include "common/checked.h"
#include "runtime/core/check_argument.h"
#include "runtime/exec/method_layout.h"
#include "runtime/exec/prepared_for.h"
#include "runtime/exec/prim_ops.h"
#include "runtime/program/tensor_layout.h"

namespace wick {
namespace {

template <typename... Parts>
Error explain(ErrorText* text, Error error, Parts... parts) {
  if (text) text->append(parts..., "");
  return error;
}

Error tell(ErrorKind* kind, ErrorKind means, Error error) {
  if (kind && error != Error::Ok) *kind = means;
  return error;
}

/// The kind of an error about the caller's memory.
ErrorKind kind_of_memory(Error error) {
  switch (error) {
    case Error::MemoryAllocationFailed: return ErrorKind::out_of_memory;
    case Error::NotSupported: return ErrorKind::not_supported;
    default: return ErrorKind::invalid_argument;
  }
}

ErrorKind kind_of_delegate(Error error) {
  switch (error) {
    case Error::MemoryAllocationFailed:
    case Error::DelegateMemoryAllocationFailed:
    case Error::OutOfResources: return ErrorKind::out_of_memory;
    case Error::InvalidProgram: return ErrorKind::corrupt_file;
    default: return ErrorKind::delegate_failed;
  }
}

class Loader {
 public:
  Loader(const MethodMeta& method, const MemoryPlan& memory, const MethodOptions& options)
      : method_(method), memory_(memory), options_(options), text_(options.text) {}

  Result<Method::State*> run();

 private:
  Error check_memory();
  Error check_unbounded(size_t count);
  Error resolve_kernels();
  Error check_backends();
  const Kernel* find_kernel(const OperatorName& op) const;
  const Backend* find_backend(const char* id) const;
  Error make_values();
  Error make_tensor(size_t index, const TensorMeta& meta, Tensor* tensor);
  Error place_external(size_t index, const TensorMeta& meta, Tensor* tensor);
  void make_int_list(const ValueMeta& meta, EValue* value);
  void make_tensor_list(const ValueMeta& meta, EValue* value);
  void make_homes();
  void make_ports();
  void find_changes();
  bool may_change(size_t value) const;
  Error make_instructions();
  void make_instruction(const InstructionMeta& meta, Instruction* out);
  Error check_call(size_t chain, uint32_t index, const InstructionMeta& meta, Instruction* out);
  Error init_delegates();

  const MethodMeta& method_;
  const MemoryPlan& memory_;
  const MethodOptions& options_;
  ErrorText* text_;
  Layout pool_;
  Method::State* state_ = nullptr;
};

Error Loader::check_memory() {
  if (memory_.planned.size() < method_.num_arenas()) {
    return explain(text_, Error::MemoryAllocationFailed, "the method has ", static_cast<uint64_t>(method_.num_arenas()),
                   " arenas, ", static_cast<uint64_t>(memory_.planned.size()), " are given");
  }
  for (size_t i = 0; i < method_.num_arenas(); ++i) {
    const Span<uint8_t> arena = memory_.planned[i];
    if (method_.arena_device(i) != 0 && arena.empty()) {
      return explain(text_, Error::NotSupported, "arena ", static_cast<uint64_t>(i), " lies on a device");
    }
    if (arena.size() < method_.arena_bytes(i)) {
      return explain(text_, Error::MemoryAllocationFailed, "arena ", static_cast<uint64_t>(i), " needs ",
                     method_.arena_bytes(i), " bytes, ", static_cast<uint64_t>(arena.size()), " are given");
    }
    if (reinterpret_cast<uintptr_t>(arena.data()) % 16 != 0) {
      return explain(text_, Error::InvalidArgument, "arena ", static_cast<uint64_t>(i), " is not 16-byte aligned");
    }
  }
  const Span<uint8_t> own = memory_.method;
  if ((!own.data() && !own.empty()) || reinterpret_cast<uintptr_t>(own.data()) % 16 != 0) {
    return explain(text_, Error::InvalidArgument, "the method arena is null or not 16-byte aligned");
  }
  return Error::Ok;
}

Error Loader::check_unbounded(size_t count) {
  if (count == 0 || options_.unbounded) return Error::Ok;
  return explain(text_, Error::NotSupported, "the method has ", static_cast<uint64_t>(count),
                 " values without an upper bound, and no allocator is given: give one, or compile with --max-size N");
}

const Kernel* Loader::find_kernel(const OperatorName& op) const {
  for (const KernelTable& table : options_.kernels) {
    for (const Kernel& kernel : table) {
      if (op.equals(kernel.name)) return &kernel;
    }
  }
  return nullptr;
}

Error Loader::resolve_kernels() {
  bool missing = false;
  for (size_t i = 0; i < method_.num_operators(); ++i) {
    pool_.kernels[i] = find_kernel(method_.op(i));
    if (pool_.kernels[i]) continue;
    if (text_) {
      text_->append(missing ? ", " : "no kernel for ");
      method_.op(i).append_to(*text_);
    }
    missing = true;
  }
  return missing ? Error::OperatorMissing : Error::Ok;
}

const Backend* Loader::find_backend(const char* id) const {
  for (const Backend* backend : options_.backends) {
    if (strcmp(backend->id, id) == 0) return backend;
  }
  return nullptr;
}

Error Loader::check_backends() {
  bool missing = false;
  for (size_t i = 0; i < method_.num_delegates(); ++i) {
    pool_.delegates[i] = {find_backend(method_.delegate(i).id), nullptr};
    if (pool_.delegates[i].backend) continue;
    // One backend often has many delegates: each id once.
    bool named = false;
    for (size_t k = 0; k < i && k < 64 && !named; ++k)
      named = strcmp(method_.delegate(k).id, method_.delegate(i).id) == 0;
    if (!named && text_)
      explain(text_, Error::NotFound,
              missing         ? ", "
              : text_->size() ? "; no backend "
                              : "no backend ",
              method_.delegate(i).id);
    missing = true;
  }
  return missing ? Error::NotFound : Error::Ok;
}

Error Loader::place_external(size_t index, const TensorMeta& meta, Tensor* tensor) {
  const uint64_t i = index;
  if (options_.data.empty()) {
    return explain(text_, Error::InvalidState, "tensor ", i, " (", meta.name,
                   ") lies in a .ptd file, and none is given");
  }
  for (const DataMap& map : options_.data) {
    const Result<DataMap::Entry> entry = map.find(meta.name);
    if (!entry.ok()) continue;
    const bool same = entry->is_tensor && entry->dtype == meta.dtype && entry->sizes.size() == meta.sizes.size() &&
                      memcmp(entry->sizes.data(), meta.sizes.data(), meta.sizes.size() * sizeof(int32_t)) == 0 &&
                      memcmp(entry->dim_order.data(), meta.dim_order.data(), meta.sizes.size()) == 0;
    if (!same || entry->bytes.size() < meta.nbytes) {
      return explain(text_, Error::InvalidExternalData, "tensor ", i, " (", meta.name,
                     ") has a different dtype or shape in the .ptd file");
    }
    if (meta.storage == Storage::planned) {
      if (meta.nbytes != 0) memcpy(tensor->data, entry->bytes.data(), meta.nbytes);
      return Error::Ok;
    }
    const size_t element_bytes = dtype_size_bytes(meta.dtype);
    if (reinterpret_cast<uintptr_t>(entry->bytes.data()) % (element_bytes < 8 ? element_bytes : 8) != 0) {
      return explain(text_, Error::InvalidExternalData, "tensor ", i, " (", meta.name,
                     ") is misaligned in the .ptd file");
    }
    tensor->data = const_cast<uint8_t*>(entry->bytes.data());
    return Error::Ok;
  }
  return explain(text_, Error::NotFound, "tensor ", i, " (", meta.name, ") is in none of the .ptd files");
}

Error Loader::make_tensor(size_t index, const TensorMeta& meta, Tensor* tensor) {
  tensor->dynamism = meta.dynamism;
  tensor->read_only = meta.storage == Storage::constant;
  const Error error = describe_tensor(meta, pool_.dims, pool_.dims + meta.sizes.size(), tensor);
  pool_.dims += 2 * meta.sizes.size();
  if (error != Error::Ok) return tell(options_.kind, ErrorKind::corrupt_file, error);
  tensor->capacity_bytes = meta.nbytes;
  if (meta.storage == Storage::planned) {
    // Program::load checked the range against arena_bytes.
    tensor->data = memory_.planned[meta.arena].data() + meta.arena_offset;
    if (!meta.external && meta.initialized && meta.nbytes != 0) memcpy(tensor->data, meta.bytes.data(), meta.nbytes);
  } else if (meta.storage == Storage::constant && !meta.external) {
    tensor->data = const_cast<uint8_t*>(meta.bytes.data());
  }
  return meta.external ? tell(options_.kind, ErrorKind::missing_data, place_external(index, meta, tensor)) : Error::Ok;
}

void Loader::make_int_list(const ValueMeta& meta, EValue* value) {
  IntListValue* list = pool_.int_lists++;
  *list = {pool_.int_items, pool_.unboxed, meta.int_items.size()};
  for (size_t k = 0; k < list->size; ++k) {
    list->items[k] = state_->values + meta.int_items[k];
    list->unboxed[k] = 0;
  }
  pool_.int_items += list->size;
  pool_.unboxed += list->size;
  value->int_list = list;
}

void Loader::make_tensor_list(const ValueMeta& meta, EValue* value) {
  const size_t size = meta.tensor_items.size();
  value->tensor_list.data = pool_.tensor_pointers;
  value->tensor_list.size = size;
  ListBinding* binding = pool_.tensor_lists++;
  *binding = {pool_.tensor_pointers, pool_.tensor_items, size};
  for (size_t k = 0; k < size; ++k) {
    const int32_t item = meta.tensor_items[k];
    binding->items[k] = item < 0 ? nullptr : state_->values + item;
    if (item >= 0) pool_.in_list[item] = true;
  }
  pool_.tensor_pointers += size;
  pool_.tensor_items += size;
  ++state_->num_lists;
  refresh_list(*binding);
}

Error Loader::make_values() {
  state_->values = pool_.values;
  state_->tensors = pool_.tensors;
  state_->lists = pool_.tensor_lists;
  size_t num_unbounded = 0;
  for (size_t i = 0; i < method_.num_values(); ++i) {
    const ValueMeta meta = method_.value(i);
    EValue* value = new (state_->values + i) EValue();
    value->tag = meta.tag;
    pool_.in_list[i] = false;
    switch (meta.tag) {
      case Tag::none: break;
      case Tag::integer: value->integer = meta.integer; break;
      case Tag::real: value->real = meta.real; break;
      case Tag::boolean: value->boolean = meta.boolean; break;
      case Tag::string:
        value->string.data = meta.string.data();
        value->string.size = meta.string.size();
        break;
      case Tag::real_list:
        value->real_list.data = meta.reals.data();
        value->real_list.size = meta.reals.size();
        break;
      case Tag::bool_list:
        value->bool_list.data = meta.bools.data();
        value->bool_list.size = meta.bools.size();
        break;
      case Tag::int_list: make_int_list(meta, value); break;
      case Tag::tensor_list:
      case Tag::optional_tensor_list: make_tensor_list(meta, value); break;
      case Tag::tensor: {
        if (meta.tensor.dynamism == ShapeDynamism::unbounded) {
          UnboundedTensor* tensor = new (num_unbounded++ + pool_.unbounded) UnboundedTensor();
          tensor->memory = state_->unbounded();
          value->tensor = tensor;
        } else {
          value->tensor = new (state_->num_tensors++ + state_->tensors) Tensor();
        }
        const Error error = make_tensor(i, meta.tensor, value->tensor);
        if (error != Error::Ok) return error;
        break;
      }
    }
  }
  if (state_->unbounded())
    state_->unbounded()->set_tensors({state_->tensors, state_->num_tensors}, {pool_.unbounded, num_unbounded});
  return Error::Ok;
}

void Loader::make_homes() {
  state_->homes = pool_.homes;
  for (uint32_t i = 0; i < state_->num_tensors; ++i) {
    const Tensor& tensor = state_->tensors[i];
    state_->homes[i] = {tensor.data, tensor.capacity_bytes, tensor.read_only};
  }
}

void Loader::make_ports() {
  state_->inputs = pool_.inputs;
  state_->outputs = pool_.outputs;
  for (size_t i = 0; i < method_.num_inputs(); ++i) {
    const EValue& value = state_->values[method_.input(i)];
    state_->inputs[i] = {value.tag == Tag::tensor ? value.tensor : nullptr, false};
  }
  for (size_t i = 0; i < method_.num_outputs(); ++i) {
    const EValue& value = state_->values[method_.output(i)];
    state_->outputs[i] = value.tag == Tag::tensor ? value.tensor : nullptr;
  }
}

void Loader::make_instruction(const InstructionMeta& meta, Instruction* out) {
  out->kind = meta.kind;
  out->fits = false;
  out->refreshes_lists = false;
  out->num_args = static_cast<uint32_t>(meta.args.size());
  out->target = meta.target;
  if (meta.kind == InstructionKind::kernel || meta.kind == InstructionKind::delegate) {
    out->args = pool_.args;
    for (int32_t arg : meta.args) *pool_.args++ = state_->values + arg;
    return;
  }
  out->move.from = state_->values + meta.value;
  out->move.to = nullptr;
  if (meta.kind == InstructionKind::move) {
    out->move.to = state_->values + meta.target;
    out->refreshes_lists = pool_.in_list[meta.target];
  }
}

// Marks values that may change: targets of moves, results of kernels that return a number or a view, and results of
// delegates that are no tensors. Also tensors without memory: they get it from the caller later.
void Loader::find_changes() {
  for (size_t i = 0; i < method_.num_values(); ++i) {
    const EValue& value = state_->values[i];
    pool_.changes[i] = value.tag == Tag::tensor && !value.tensor->data;
  }
  for (size_t chain = 0; chain < method_.num_chains(); ++chain) {
    for (size_t i = 0; i < method_.num_instructions(chain); ++i) {
      const InstructionMeta meta = method_.instruction(chain, i);
      if (meta.kind == InstructionKind::move) pool_.changes[meta.target] = true;
      if (meta.kind == InstructionKind::delegate) {
        for (const int32_t arg : meta.args) pool_.changes[arg] |= state_->values[arg].tag != Tag::tensor;
      }
      if (meta.kind != InstructionKind::kernel || meta.args.empty()) continue;
      const int32_t slot = meta.args[meta.args.size() - 1];
      // An out tensor that is also the return value keeps its kind.
      const char* form = form_of(state_->kernels[meta.target]->signature, meta.args.size() - 1);
      bool is_own_out = false;
      for (size_t k = 0; form && k + 1 < meta.args.size(); ++k)
        is_own_out |= meta.args[k] == slot && (form[k] | 0x20) == 'o';
      pool_.changes[slot] |= !is_own_out;
    }
  }
}

bool Loader::may_change(size_t index) const {
  if (pool_.changes[index]) return true;
  const Tag tag = state_->values[index].tag;
  if (tag != Tag::int_list && tag != Tag::tensor_list && tag != Tag::optional_tensor_list) return false;
  const ValueMeta meta = method_.value(index);
  for (const int64_t item : meta.int_items) {
    if (pool_.changes[item]) return true;
  }
  for (const int32_t item : meta.tensor_items) {
    if (item >= 0 && pool_.changes[item]) return true;
  }
  return false;
}

// Checks arguments that cannot change against the signature now. A call with no others needs no check while running.
Error Loader::check_call(size_t chain, uint32_t index, const InstructionMeta& meta, Instruction* out) {
  KernelContext context({}, nullptr, nullptr);
  const size_t count = meta.args.empty() ? 0 : meta.args.size() - 1;
  const char* form = meta.args.empty() ? nullptr : form_of(state_->kernels[meta.target]->signature, count);
  if (!form) context.fail(Error::InvalidProgram, "the number of arguments is not the operator's");
  out->fits = true;
  for (size_t i = 0; i < count && context.ok(); ++i) {
    if (may_change(static_cast<size_t>(meta.args[i])))
      out->fits = false;
    else
      (void)check_argument(context, form, Span<EValue*>(out->args, count), i);
  }
  if (context.ok()) return Error::Ok;
  if (text_) {
    MethodError error;
    error.error = context.error();
    error.in_instruction = true;
    error.instruction.chain = static_cast<uint32_t>(chain);
    error.instruction.index = index;
    error.instruction.op = method_.op(meta.target);
    error.message = context.message();
    error.append_to(*text_);
  }
  return context.error();
}

Error Loader::make_instructions() {
  state_->chains = pool_.chains;
  for (size_t chain = 0; chain < method_.num_chains(); ++chain) {
    InstructionList& list = state_->chains[chain];
    list = {pool_.instructions, static_cast<uint32_t>(method_.num_instructions(chain))};
    pool_.instructions += list.size;
    for (uint32_t i = 0; i < list.size; ++i) {
      const InstructionMeta meta = method_.instruction(chain, i);
      make_instruction(meta, list.data + i);
      if (meta.kind != InstructionKind::kernel) continue;
      const Error error = check_call(chain, i, meta, list.data + i);
      if (error != Error::Ok) return tell(options_.kind, ErrorKind::corrupt_file, error);
    }
  }
  return Error::Ok;
}

Error Loader::init_delegates() {
  state_->delegates = pool_.delegates;
  Span<uint8_t> rest = memory_.method.subspan(pool_.size_bytes, memory_.method.size() - pool_.size_bytes);
  uint64_t heap_budget = options_.max_delegate_bytes;
  for (size_t i = 0; i < method_.num_delegates(); ++i) {
    BoundDelegate& delegate = state_->delegates[i];
    BackendInit context(method_, i, options_.data, &rest, options_.parallelism, options_.isa, text_, state_,
                        options_.tracer, &heap_budget, options_.delegates);
    if (text_) text_->append("delegate ", static_cast<uint64_t>(i), " (", delegate.backend->id, "): ");
    const Error error = delegate.backend->init(context, method_.delegate(i).payload, &delegate.handle);
    if (error != Error::Ok) {
      if (text_) text_->append(" [", error_name(error), "]");
      return error;
    }
    if (text_) text_->clear();
    ++state_->num_delegates;
  }
  return Error::Ok;
}

void destroy_delegates(Method::State* state) {
  for (uint32_t i = state->num_delegates; i-- > 0;) {
    const BoundDelegate& delegate = state->delegates[i];
    if (delegate.backend->destroy) delegate.backend->destroy(delegate.handle);
  }
  state->num_delegates = 0;
}

Result<Method::State*> Loader::run() {
  const Counts counts = count_objects(method_);
  const size_t needed = lay_out(counts, nullptr).size_bytes;
  Error error = check_memory();
  if (error != Error::Ok) return tell(options_.kind, kind_of_memory(error), error);
  if (memory_.method.size() < needed) {
    tell(options_.kind, ErrorKind::out_of_memory, Error::MemoryAllocationFailed);
    return explain(text_, Error::MemoryAllocationFailed, "the method arena needs ", static_cast<uint64_t>(needed),
                   " bytes, ", static_cast<uint64_t>(memory_.method.size()), " are given");
  }
  error = check_unbounded(counts.unbounded);
  if (error != Error::Ok) return tell(options_.kind, ErrorKind::not_supported, error);
  pool_ = lay_out(counts, memory_.method.data());
  // Both errors are reported at once.
  error = tell(options_.kind, ErrorKind::missing_operator, resolve_kernels());
  const Error backend_error = check_backends();
  if (error == Error::Ok) error = tell(options_.kind, ErrorKind::missing_backend, backend_error);
  if (error != Error::Ok) return error;
  error = check_prepared_for(method_.program(), options_.kernels, text_);
  if (error != Error::Ok) return tell(options_.kind, ErrorKind::not_supported, error);

  Method::State* state = state_ = new (pool_.state) Method::State(method_, memory_, options_);
  state->kernels = pool_.kernels;
  error = make_values();
  if (error != Error::Ok) return error;
  if (counts.has_views) make_homes();
  make_ports();
  find_changes();
  error = make_instructions();
  if (error != Error::Ok) return error;
  error = init_delegates();
  if (error != Error::Ok) {
    destroy_delegates(state);
    return tell(options_.kind, kind_of_delegate(error), error);
  }
  return state;
}

}  // namespace

void refresh_list(const ListBinding& binding) {
  for (size_t i = 0; i < binding.size; ++i) {
    const EValue* item = binding.items[i];
    binding.tensors[i] = item && item->tag == Tag::tensor ? item->tensor : nullptr;
  }
}

size_t Method::required_bytes(const MethodMeta& method) { return lay_out(count_objects(method), nullptr).size_bytes; }

Result<Method> Method::load(const MethodMeta& method, const MemoryPlan& memory, const MethodOptions& options) {
  Result<State*> state = Loader(method, memory, options).run();
  if (!state.ok()) return state.error();
  return Method(*state);
}

Method::~Method() {
  if (!state_) return;
  destroy_delegates(state_);
  if (state_->unbounded()) state_->unbounded()->free_all();
}

}  // namespace wick
