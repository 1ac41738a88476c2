// The delegate at run time: init checks the payload and hands it to the engine, execute binds arguments and runs it.
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "backends/delegate_table.h"
#include "backends/xnnpack/payload/bf16_elements.h"
#include "backends/xnnpack/payload/payload_empty.h"
#include "backends/xnnpack/payload/payload_memory.h"
#include "backends/xnnpack/runtime/engine.h"
#include "runtime/platform/cpu.h"
#include "wick/xnnpack_backend.h"

namespace wick::xnnpack {
namespace {

/// An argument of the delegate.
struct External {
  uint32_t value = 0;
  uint32_t index = 0;  // among the arguments
  DataType type = DataType::fp32;
  bool is_input = false;
  bool is_read = false;  // by a node: then the engine may read a little beyond its end
  size_t rank = 0;
  size_t dims[kMaxRank] = {};
  size_t numel = 0;
  void* bound = nullptr;       // what the engine has: the argument's memory, or `staging`
  const void* seen = nullptr;  // the argument's memory when `overlaps` was worked out
  bool overlaps = false;       // an output that shares memory with another argument
  std::vector<uint8_t> staging;
};

bool is_widened(const External& external) { return external.type == DataType::bf16; }

size_t engine_element_bytes(DataType type) {
  switch (type) {
    case DataType::fp16: return 2;
    case DataType::qint8:
    case DataType::quint8: return 1;
    default: return 4;
  }
}

bool accepts(const External& external, DType dtype) {
  switch (external.type) {
    case DataType::fp32: return dtype == DType::f32;
    case DataType::fp16: return dtype == DType::f16;
    case DataType::bf16: return dtype == DType::bf16;
    case DataType::qint8: return dtype == DType::i8 || dtype == DType::qi8;
    case DataType::quint8: return dtype == DType::u8 || dtype == DType::qu8;
    // The engine's indices have 32 bits, PyTorch's 64.
    case DataType::int32: return dtype == DType::i32 || (dtype == DType::i64 && !external.is_input);
    default: return false;
  }
}

class Delegate {
 public:
  Error load(BackendInit& context, Span<const uint8_t> blob);
  void execute(KernelContext& context, Span<EValue*> args);

 private:
  /// The computation that is left for one set of input dims with empty inputs.
  struct Rest {
    ValueDims inputs;
    NonEmptyPart part;                   // but for its payload, which the delegate has
    std::unique_ptr<Delegate> delegate;  // null: nothing has elements
    std::vector<EValue*> args;
  };
  Error prepare(BackendInit& context);
  Error load_part(const Delegate& whole, NonEmptyPart* part, ErrorText* text);
  Error take_memory(BackendInit& context, const ValueDims& dims);
  bool find_externals(const LiveNodes& nodes, ErrorText* text);
  bool read_shapes(KernelContext& context, Span<EValue*> args, bool* changed);
  bool reshape(KernelContext& context);
  bool make_rest(KernelContext& context);
  void execute_empty(KernelContext& context, Span<EValue*> args);
  ValueDims input_dims() const;
  void take_shapes(const ValueDims& dims);
  bool resize_outputs(KernelContext& context, Span<EValue*> args);
  void find_overlaps(Span<EValue*> args);
  bool bind(KernelContext& context, Span<EValue*> args);
  void finish_outputs(Span<EValue*> args);

  Payload payload_;
  std::unique_ptr<PayloadConstants> constants_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Rest> rest_;
  std::vector<External> externals_;
  std::vector<Binding> bindings_;
  struct Place {
    uintptr_t begin, end;
    External* external;
  };
  std::vector<Place> places_;  // scratch of find_overlaps
  bool has_shapes_ = false, is_set_up_ = false;
  bool is_empty_ = false;  // an input
  uint64_t max_bytes_ = 0;
  const void* instance_ = nullptr;
  char message_[256] = "";
};

bool Delegate::find_externals(const LiveNodes& nodes, ErrorText* text) {
  for (uint32_t v = 0; v < payload_.values.size(); ++v) {
    const PayloadValue& value = payload_.values[v];
    if (!value.is_input && !value.is_output) continue;
    External external;
    external.value = v;
    external.index = value.external_id;
    external.type = value.type;
    external.is_input = value.is_input;
    external.is_read = nodes.is_read(v);
    if (external.index >= payload_.num_externals || (value.is_input && value.is_output)) {
      if (text) text->append("value ", v, ": it is not a valid argument");
      return false;
    }
    externals_.push_back(std::move(external));
  }
  bindings_.resize(externals_.size());
  places_.reserve(externals_.size());
  return true;
}

/// Refuses a payload that would take more than is left to the method.
Error Delegate::take_memory(BackendInit& context, const ValueDims& dims) {
  const uint64_t needed = memory_of(payload_, dims);
  max_bytes_ = context.heap_budget();
  if (context.take_heap(needed)) return Error::Ok;
  if (context.text()) {
    context.text()->append("its values, weights and tables may take ", needed, " bytes, more than the ", max_bytes_,
                           " that are left of the limit");
  }
  return Error::DelegateMemoryAllocationFailed;
}

Error Delegate::load(BackendInit& context, Span<const uint8_t> blob) {
  const Error error = read_payload(blob, &payload_, context.text());
  if (error != Error::Ok) return error;
  constants_ = std::make_unique<PayloadConstants>(payload_, kReadBeyondBytes);
  return prepare(context);
}

/// Checks payload_ and hands it to the engine.
Error Delegate::prepare(BackendInit& context) {
  instance_ = context.instance();
  ValueDims dims;
  Error error = check_payload(payload_, nullptr, &dims, context.text());
  if (error != Error::Ok) return error;
  error = take_memory(context, dims);
  if (error != Error::Ok) return error;
  const LiveNodes nodes(payload_, dims);
  if (!find_externals(nodes, context.text())) return Error::DelegateInvalidCompatibility;
  engine_ = make_engine();
  if (!engine_) return Error::DelegateMemoryAllocationFailed;
  error = engine_->build(context, {payload_, nodes, *constants_}, dims);
  if (error != Error::Ok) return error;
  take_shapes(dims);
  return Error::Ok;
}

/// The engine has planned for these dims.
void Delegate::take_shapes(const ValueDims& dims) {
  for (External& external : externals_) {
    const std::vector<uint32_t>& sizes = dims[external.value];
    external.rank = sizes.size();
    external.numel = 1;
    for (size_t i = 0; i < external.rank; ++i) {
      external.dims[i] = sizes[i];
      external.numel *= sizes[i];
    }
    // Room for a copy with what the engine reads beyond it. Not touched unless needed.
    if (is_widened(external) || external.is_read) {
      external.staging.reserve(external.numel * engine_element_bytes(external.type) + kReadBeyondBytes);
    }
  }
  is_set_up_ = false;
  has_shapes_ = true;
}

/// Memory that the plan gives to a delegate behind its inputs and outputs. The library has a workspace of its own.
bool is_scratch(const EValue& value) {
  return value.tag == Tag::tensor && value.tensor->dtype == DType::u8 && value.tensor->rank == 1 &&
         !value.tensor->read_only;
}

/// Checks the arguments; takes the inputs' sizes, in the order in which their bytes lie.
bool Delegate::read_shapes(KernelContext& context, Span<EValue*> args, bool* changed) {
  is_empty_ = false;
  for (size_t i = payload_.num_externals; i < args.size(); ++i) {
    if (is_scratch(*args[i])) continue;
    context.fail(
        Error::InvalidArgument,
        "the delegate has more arguments than inputs and outputs, which are no scratch memory (bytes, rank 1)");
    return false;
  }
  if (args.size() < payload_.num_externals) {
    context.fail(Error::InvalidArgument, "the delegate has fewer arguments than inputs and outputs");
    return false;
  }
  for (External& external : externals_) {
    const EValue& arg = *args[external.index];
    if (arg.tag != Tag::tensor) {
      context.fail(Error::InvalidType, "an argument of the delegate is not a tensor");
      return false;
    }
    const Tensor& tensor = *arg.tensor;
    if (!accepts(external, tensor.dtype)) {
      context.fail(Error::InvalidType, "an argument of the delegate has a different dtype");
      return false;
    }
    if (!external.is_input && tensor.read_only) {
      context.fail(Error::InvalidArgument, "an output of the delegate is constant");
      return false;
    }
    const bool is_scalar = tensor.rank == 0 && external.numel == 1;
    if (tensor.rank != external.rank && !is_scalar) {
      context.fail(Error::InvalidArgument, "an argument of the delegate has a different rank");
      return false;
    }
    if (!external.is_input || is_scalar) continue;
    is_empty_ = is_empty_ || tensor.numel == 0;
    for (size_t i = 0; i < external.rank; ++i) {
      const size_t size = static_cast<size_t>(tensor.sizes[tensor.dim_order[i]]);
      *changed = *changed || size != external.dims[i];
      external.dims[i] = size;
    }
  }
  return true;
}

/// Engines have no empty tensors: the nodes whose results have elements become a delegate of their own.
bool Delegate::make_rest(KernelContext& context) {
  ValueDims inputs = input_dims();
  if (rest_ && rest_->inputs == inputs) return true;
  rest_ = std::make_unique<Rest>();
  ErrorText text(message_);
  text.append("an input of the delegate is empty: ");
  Error error = non_empty_part(payload_, inputs, &rest_->part, &text);
  if (error == Error::Ok && rest_->part.payload.num_externals != 0) {
    rest_->delegate = std::make_unique<Delegate>();
    error = rest_->delegate->load_part(*this, &rest_->part, &text);
  }
  if (error != Error::Ok) {
    rest_.reset();
    context.fail(Error::NotSupported, message_);
    return false;
  }
  rest_->inputs = std::move(inputs);
  return true;
}

Error Delegate::load_part(const Delegate& whole, NonEmptyPart* part, ErrorText* text) {
  payload_ = std::move(part->payload);
  constants_ = std::make_unique<PayloadConstants>(payload_, *whole.constants_);
  for (const auto& [constant, bytes] : part->fills) constants_->provide(constant, {bytes.data(), bytes.size()});
  const MethodMeta none(nullptr, nullptr);  // all constants are there
  uint64_t budget = whole.max_bytes_;
  BackendInit context(none, 0, {}, nullptr, nullptr, IsaLevel::baseline, text, whole.instance_, nullptr, &budget);
  return prepare(context);
}

void Delegate::execute_empty(KernelContext& context, Span<EValue*> args) {
  has_shapes_ = false;
  if (!make_rest(context)) return;
  for (External& external : externals_) {
    if (external.is_input) continue;
    const std::vector<uint32_t>& dims = rest_->part.dims[external.value];
    external.numel = 1;
    for (size_t i = 0; i < external.rank && i < dims.size(); ++i) {
      external.dims[i] = dims[i];
      external.numel *= dims[i];
    }
  }
  if (!resize_outputs(context, args) || !rest_->delegate) return;
  rest_->args.clear();
  for (const uint32_t argument : rest_->part.arguments) rest_->args.push_back(args[argument]);
  rest_->delegate->execute(context, {rest_->args.data(), rest_->args.size()});
}

/// The dims of the inputs that read_shapes found, in the payload's order.
ValueDims Delegate::input_dims() const {
  ValueDims inputs;
  for (const uint32_t id : payload_.input_ids) {
    inputs.push_back(payload_.values[id].dims);
    for (const External& external : externals_) {
      if (external.value == id) inputs.back().assign(external.dims, external.dims + external.rank);
    }
  }
  return inputs;
}

bool Delegate::reshape(KernelContext& context) {
  has_shapes_ = false;
  // The library does not check all limits: load checked the rest for the declared sizes, this checks it for these.
  const ValueDims inputs = input_dims();
  ErrorText text(message_);
  ValueDims dims;
  const Error error = check_payload(payload_, &inputs, &dims, &text);
  if (error != Error::Ok) {
    context.fail(error, message_);
    return false;
  }
  if (memory_of(payload_, dims) > max_bytes_) {
    context.fail(Error::OutOfResources, "these input sizes take more memory than the limit leaves to the delegate");
    return false;
  }
  const EngineFailure failure = engine_->reshape(dims);
  if (failure.failed()) {
    is_set_up_ = false;
    context.fail(failure.error, failure.text);
    return false;
  }
  take_shapes(dims);
  return true;
}

bool Delegate::resize_outputs(KernelContext& context, Span<EValue*> args) {
  for (const External& external : externals_) {
    if (external.is_input) continue;
    Tensor& tensor = *args[external.index]->tensor;
    int32_t sizes[kMaxRank] = {};
    if (tensor.rank != external.rank && external.numel != 1) {
      context.fail(Error::InvalidArgument, "an output of the delegate has a different rank");
      return false;
    }
    for (size_t i = 0; i < tensor.rank; ++i) sizes[tensor.dim_order[i]] = static_cast<int32_t>(external.dims[i]);
    const Error error = resize(tensor, {sizes, tensor.rank});
    if (error != Error::Ok) {
      context.fail(error, error == Error::OutOfResources ? "an output of the delegate exceeds its upper bound"
                                                         : "an output of the delegate has a different shape");
      return false;
    }
  }
  return true;
}

/// Finds outputs that share memory with inputs or other outputs: the engine may not write there while it runs.
void Delegate::find_overlaps(Span<EValue*> args) {
  bool changed = !is_set_up_;
  for (External& external : externals_) {
    const void* data = args[external.index]->tensor->data;
    changed = changed || data != external.seen;
    external.seen = data;
  }
  if (!changed) return;
  places_.clear();
  for (External& external : externals_) {
    const Tensor& tensor = *args[external.index]->tensor;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(tensor.data);
    places_.push_back({begin, begin + tensor.nbytes(), &external});
    external.overlaps = false;
  }
  std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.begin < b.begin; });
  // The earlier place that reaches farthest: a place that overlaps any earlier one overlaps this one.
  const Place* farthest = nullptr;
  for (const Place& place : places_) {
    if (farthest && place.begin < farthest->end) {
      place.external->overlaps = !place.external->is_input;
      farthest->external->overlaps = !farthest->external->is_input;
    }
    if (!farthest || place.end > farthest->end) farthest = &place;
  }
}

/// Sets where the engine finds each argument. Copies inputs that it may not read in place.
bool Delegate::bind(KernelContext& context, Span<EValue*> args) {
  find_overlaps(args);
  for (size_t i = 0; i < externals_.size(); ++i) {
    External& external = externals_[i];
    const Tensor& tensor = *args[external.index]->tensor;
    if (!tensor.data) {
      context.fail(Error::InvalidState, "an argument of the delegate has no memory");
      return false;
    }
    const size_t bytes = external.numel * engine_element_bytes(external.type);
    const bool in_place = !is_widened(external) && !external.overlaps &&
                          (!external.is_read || tensor.capacity_bytes >= bytes + kReadBeyondBytes ||
                           can_read_beyond(tensor.data, bytes, kReadBeyondBytes));
    if (!in_place) external.staging.resize(bytes + kReadBeyondBytes);
    void* const bound = in_place ? tensor.data : external.staging.data();
    is_set_up_ = is_set_up_ && bound == external.bound;
    external.bound = bound;
    if (external.is_input && external.bound != tensor.data) {
      if (is_widened(external)) {
        widen_bf16(tensor.data, external.bound, external.numel);
      } else {
        memcpy(external.bound, tensor.data, bytes);
      }
    }
    bindings_[i] = {external.index, external.bound};
  }
  if (is_set_up_) return true;
  const EngineFailure failure = engine_->bind({bindings_.data(), bindings_.size()});
  is_set_up_ = !failure.failed();
  if (failure.failed()) context.fail(failure.error, failure.text);
  return is_set_up_;
}

void Delegate::finish_outputs(Span<EValue*> args) {
  for (const External& external : externals_) {
    if (external.is_input) continue;
    const Tensor& tensor = *args[external.index]->tensor;
    if (is_widened(external)) {
      narrow_to_bf16(external.bound, tensor.data, external.numel);
    } else if (external.bound != tensor.data) {
      memcpy(tensor.data, external.bound, external.numel * engine_element_bytes(external.type));
    }
    if (tensor.dtype == DType::i64) {
      // From the end: each element is read before it is overwritten.
      for (size_t i = external.numel; i-- > 0;) {
        int32_t narrow;
        memcpy(&narrow, tensor.as<uint8_t>() + i * sizeof narrow, sizeof narrow);
        tensor.as<int64_t>()[i] = narrow;
      }
    }
  }
}

void Delegate::execute(KernelContext& context, Span<EValue*> args) {
  bool changed = !has_shapes_;
  if (!read_shapes(context, args, &changed)) {
    has_shapes_ = has_shapes_ && !changed;
    return;
  }
  if (is_empty_) return execute_empty(context, args);
  if (changed && !reshape(context)) return;
  if (!resize_outputs(context, args) || !bind(context, args)) return;
  const EngineFailure failure = engine_->run();
  if (failure.failed()) return context.fail(failure.error, failure.text);
  finish_outputs(args);
  engine_->report_times();
}

constexpr Backend kBackend = delegate_table<Delegate>(kBackendId);

}  // namespace
}  // namespace wick::xnnpack

namespace wick {
const Backend& xnnpack_backend() { return xnnpack::kBackend; }
bool has_xnnpack_library() { return true; }
bool xnnpack_has_all_kernels() {
#if defined(__x86_64__)
  return detect_isa_level() >= IsaLevel::avx2;
#else
  return true;
#endif
}
}  // namespace wick
