// Executes a delegate: arguments, sizes, one call of the plan.
#include <string.h>

#include "backends/cuda/runtime/delegate.h"

namespace wick::cuda {
namespace {

// Whether the elements are laid out in this dim order. Dimensions of size 1 do not matter.
bool has_layout(const Tensor& tensor, const std::vector<uint8_t>& dim_order) {
  if (tensor.numel == 0) return true;
  int64_t stride = 1;
  for (size_t k = dim_order.size(); k-- > 0;) {
    const size_t dim = dim_order[k];
    if (tensor.sizes[dim] != 1 && tensor.strides[dim] != stride) return false;
    stride *= tensor.sizes[dim];
  }
  return true;
}

}  // namespace

void Delegate::fail(KernelContext& context, const Failure& failure) {
  ErrorText text(message_);
  text.append(failure.text.c_str());
  context.fail(failure.error, message_);
}

bool Delegate::check_arguments(KernelContext& context, Span<EValue*> args) {
  if (args.size() != plan_.inputs.size() + plan_.outputs.size()) {
    context.fail(Error::InvalidArgument, "the delegate has a different number of arguments");
    return false;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_input = i < plan_.inputs.size();
    const Interface& wanted = is_input ? plan_.inputs[i] : plan_.outputs[i - plan_.inputs.size()];
    if (args[i]->tag != Tag::tensor) {
      context.fail(Error::InvalidType, "an argument of the delegate is not a tensor");
      return false;
    }
    const Tensor& tensor = *args[i]->tensor;
    if (tensor.dtype != wanted.dtype) {
      context.fail(Error::InvalidType, "an argument of the delegate has a different dtype");
      return false;
    }
    if (tensor.rank != wanted.sizes.size()) {
      context.fail(Error::InvalidArgument, "an argument of the delegate has a different rank");
      return false;
    }
    if (!is_input && tensor.read_only) {
      context.fail(Error::InvalidArgument, "an output of the delegate is constant");
      return false;
    }
  }
  return true;
}

bool Delegate::read_symbols(KernelContext& context, Span<EValue*> args, bool* changed) {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const Symbol& symbol = plan_.symbols[i];
    const int64_t size = args[symbol.input]->tensor->sizes[symbol.dim];
    if (size < symbol.min || size > symbol.max) {
      ErrorText text(message_);
      text.append("size ", symbol.dim, " of input ", symbol.input, " of the delegate is ", size, ", wanted ",
                  symbol.min, " to ", symbol.max);
      context.fail(Error::InvalidArgument, message_);
      return false;
    }
    *changed = *changed || symbols_[i] != size;
    symbols_[i] = size;
  }
  return true;
}

bool Delegate::check_sizes(KernelContext& context, Span<EValue*> args) {
  for (size_t i = 0; i < plan_.inputs.size(); ++i) {
    const Tensor& tensor = *args[i]->tensor;
    for (size_t d = 0; d < tensor.rank; ++d) {
      const int64_t wanted = values_[plan_.inputs[i].sizes[d]];
      if (tensor.sizes[d] == wanted) continue;
      ErrorText text(message_);
      text.append("size ", static_cast<uint64_t>(d), " of input ", static_cast<uint64_t>(i), " of the delegate is ",
                  tensor.sizes[d], ", wanted ", wanted);
      context.fail(Error::InvalidArgument, message_);
      return false;
    }
  }
  return true;
}

Failure Delegate::check_requirements(uint32_t node, bool is_second) const {
  for (const Requirement& each : plan_.requirements) {
    if (each.node != node || each.is_second != is_second) continue;
    const int64_t found = values_[each.found];
    const bool has_low = each.low != kNone, has_high = each.high != kNone;
    const int64_t low = has_low ? values_[each.low] : INT64_MIN, high = has_high ? values_[each.high] : INT64_MAX;
    if (found >= low && found <= high) continue;
    std::string wanted = std::to_string(has_low ? low : high);
    if (!has_low) wanted = "at most " + wanted;
    if (!has_high) wanted = "at least " + wanted;
    if (has_low && has_high && low != high) wanted += " to " + std::to_string(high);
    return {Error::InvalidArgument, each.message + ": " + std::to_string(found) + ", wanted " + wanted};
  }
  return {};
}

bool Delegate::resize_outputs(KernelContext& context, Span<EValue*> args) {
  for (size_t i = 0; i < plan_.outputs.size(); ++i) {
    Tensor& tensor = *args[plan_.inputs.size() + i]->tensor;
    int32_t sizes[kMaxRank] = {};
    for (size_t d = 0; d < tensor.rank; ++d) sizes[d] = static_cast<int32_t>(values_[plan_.outputs[i].sizes[d]]);
    const Error error = resize(tensor, {sizes, tensor.rank});
    if (error == Error::Ok) continue;
    context.fail(error, error == Error::OutOfResources ? "an output of the delegate exceeds its upper bound"
                                                       : "an output of the delegate has a different shape");
    return false;
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const size_t num_inputs = plan_.inputs.size();
    const Interface& wanted = i < num_inputs ? plan_.inputs[i] : plan_.outputs[i - num_inputs];
    if (!has_layout(*args[i]->tensor, wanted.dim_order)) {
      context.fail(Error::InvalidArgument, "an argument of the delegate has a different dim order");
      return false;
    }
    if (args[i]->tensor->numel != 0 && !args[i]->tensor->data) {
      context.fail(Error::InvalidState, "an argument of the delegate has no memory");
      return false;
    }
  }
  return true;
}

Failure Delegate::check_pointer(const Tensor& tensor, const std::string& what) {
  unsigned type = 0;
  const Driver& driver = device_->driver();
  const DevicePtr address = reinterpret_cast<uintptr_t>(tensor.data);
  // For memory that the driver does not know, it reports an invalid value.
  if (driver.pointer_attribute(&type, kPointerMemoryType, address) == kSuccess && type == kMemoryDevice) return {};
  unsigned managed = 0;
  if (driver.pointer_attribute(&managed, kPointerIsManaged, address) == kSuccess && managed) return {};
  return {Error::InvalidArgument,
          what + " of the delegate is host memory; a CudaStreamScope says that it is memory of the device"};
}

Failure Delegate::place_arguments(Span<EValue*> args, const CudaStreamScope* scope) {
  if (!scope) return place_in_staging(args);
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Buffer& buffer = plan_.buffers[i];
    if (buffer.space != Space::input && buffer.space != Space::output) continue;
    const Tensor& tensor = tensor_of(args, buffer);
    const DevicePtr address = reinterpret_cast<uintptr_t>(tensor.data);
    if (tensor.numel != 0 && (address % kArgumentAlignment != 0 || scope->pointers() == CudaPointers::checked)) {
      const char* which = buffer.space == Space::input ? "input " : "output ";
      if (address % kArgumentAlignment != 0) {
        return {Error::InvalidArgument,
                which + std::to_string(buffer.index) + " of the delegate does not begin at a multiple of 16 bytes"};
      }
      Failure failure = check_pointer(tensor, which + std::to_string(buffer.index));
      if (failure) return failure;
    }
    work_->set_address(i, address);
  }
  return {};
}

// Until the last call is done, it uses the arena and writes the state. Waits even on the stream of the last call: that
// stream may have been destroyed, and its handle reused.
Failure Delegate::wait_for_last_call(DriverStream* stream) {
  if (!order_->is_pending) return {};
  return device_->check(device_->driver().stream_wait_event(stream, order_->done, 0), "waiting for the last call");
}

// Writes the state of the method's random numbers to the device, and takes the blocks that the call draws. Changed
// words are written in the order of the stream, because a call that reads the old ones may still be running.
Failure Delegate::place_random(RandomState& random, DriverStream* stream) {
  if (plan_.random_buffer == kNone) return {};
  const uint64_t numbers[2] = {random.seed, random.offset};
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t word = static_cast<uint32_t>(numbers[i / 2] >> (i % 2 * 32));
    if (has_random_words_ && random_words_[i] == word) continue;
    const DevicePtr address = work_->address(plan_.random_buffer) + i * sizeof word;
    Failure failure =
        device_->check(device_->driver().fill_words(address, word, 1, stream), "placing random numbers' state");
    if (failure) return failure;
    random_words_[i] = word;
  }
  has_random_words_ = true;
  random.offset += static_cast<uint64_t>(values_[plan_.random_blocks]);
  return {};
}

Failure Delegate::copy_inputs(Span<EValue*> args) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].space != Space::input || is_on_device_[i]) continue;
    const Tensor& tensor = tensor_of(args, plan_.buffers[i]);
    if (tensor.numel == 0) continue;
    const DriverStatus status =
        device_->ring().copy_to_device(device_->driver(), work_->address(i), tensor.data, tensor.nbytes(), stream_);
    if (status != kSuccess) return device_->failure(status, "copying inputs to the device");
  }
  return {};
}

Failure Delegate::copy_outputs(Span<EValue*> args) {
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].space != Space::output || is_on_device_[i]) continue;
    const Tensor& tensor = tensor_of(args, plan_.buffers[i]);
    if (tensor.numel == 0) continue;
    const DriverStatus status =
        device_->ring().copy_to_host(device_->driver(), tensor.data, work_->address(i), tensor.nbytes(), stream_);
    if (status != kSuccess) return device_->failure(status, what());
  }
  return {};
}

Failure Delegate::run_measured(DriverStream* stream) {
  const Driver& driver = device_->driver();
  for (DriverEvent** event : {&begin_, &end_}) {
    if (*event) continue;
    Failure failure = device_->check(driver.event_create(event, kEventDefault), "making an event");
    if (failure) return failure;
  }
  Failure failure = device_->check(driver.event_record(begin_, stream), "measuring time");
  if (!failure) failure = run(stream);
  return failure ? failure : device_->check(driver.event_record(end_, stream), "measuring time");
}

Failure Delegate::add_time(DeviceTimer& timer) {
  const Driver& driver = device_->driver();
  float duration = 0;
  DriverStatus status = driver.event_wait(end_);
  if (status == kSuccess) status = driver.event_elapsed(&duration, begin_, end_);
  if (status != kSuccess) return device_->failure(status, "measuring time");
  timer.add(static_cast<uint64_t>(static_cast<double>(duration) * 1e6));
  return {};
}

Failure Delegate::read_checks(DriverStream* stream) {
  const Driver& driver = device_->driver();
  const DevicePtr words = work_->address(plan_.status_buffer);
  Failure failure = device_->check(
      driver.copy_to_host(status_.data(), words, status_.size() * sizeof(uint32_t), stream), "reading status words");
  if (!failure) {
    const DriverStatus status = driver.stream_wait(stream);
    if (status != kSuccess) failure = device_->failure(status, what());
  }
  if (failure) return failure;
  for (size_t i = 0; i < plan_.checks.size(); ++i) {
    if ((status_[i / 32] >> (i % 32) & 1) != 0) return Failure(Error::InvalidArgument, plan_.checks[i].message);
  }
  return {};
}

Failure Delegate::finish(Span<EValue*> args, const CudaStreamScope* scope, DriverStream* stream) {
  Failure failure;
  if (!scope) failure = copy_outputs(args);
  const bool has_checks = plan_.status_buffer != kNone;
  if (!failure && has_checks) failure = read_checks(stream);
  if (failure) return failure;
  if (scope && !has_checks && !tracer_) {
    failure = device_->check(device_->driver().event_record(order_->done, stream), "marking the end of a call");
    order_->is_pending = !failure;
    return failure;
  }
  if (!has_checks) {
    const DriverStatus status = device_->driver().stream_wait(stream);
    if (status != kSuccess) return device_->failure(status, what());
  }
  order_->is_pending = false;
  return {};
}

// Waits and clears status words and counters, because the next call may be on another stream.
void Delegate::give_up(KernelContext& context, const Failure& failure, DriverStream* stream) {
  (void)device_->driver().stream_wait(stream);
  (void)clear_words();
  fail(context, failure);
}

void Delegate::execute(KernelContext& context, Span<EValue*> args) {
  Failure failure = device_->check_usable();
  if (failure) return fail(context, failure);
  bool changed = !has_sizes_;
  if (!check_arguments(context, args) || !read_symbols(context, args, &changed)) {
    has_sizes_ = false;  // some symbols are new, but their formulas are not computed
    return;
  }
  has_sizes_ = true;
  if (changed) {
    const Span<const int64_t> symbols(symbols_.data(), symbols_.size());
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = evaluate(plan_.formulas[i], symbols);
  }
  if (!check_sizes(context, args)) {
    has_sizes_ = false;
    return;
  }
  if (changed) failure = check_requirements(kNone, false);
  if (failure) {
    has_sizes_ = false;
    return fail(context, failure);
  }
  if (!resize_outputs(context, args)) {
    has_sizes_ = false;
    return;
  }
  const CudaStreamScope* scope = CudaStreamScope::current();
  DriverStream* stream = scope ? static_cast<DriverStream*>(scope->stream()) : stream_;
  const ContextScope current(*device_);
  failure = place_arguments(args, scope);
  if (failure) {
    has_sizes_ = false;
    return fail(context, failure);
  }
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    const Space space = plan_.buffers[i].space;
    if (space == Space::input || space == Space::output)
      argument_bytes_[i] = tensor_of(args, plan_.buffers[i]).nbytes();
  }
  const Span<const int64_t> values(values_.data(), values_.size());
  if (!work_->arguments_fit({argument_bytes_.data(), argument_bytes_.size()}, values)) {
    has_sizes_ = false;
    return context.fail(Error::InvalidProgram, "the plan reads or writes beyond an argument of these sizes");
  }
  if (changed) {
    work_->update(values);
  } else {
    work_->update_arguments(values);
  }
  failure = wait_for_last_call(stream);
  if (!failure) failure = place_random(context.random(), stream);
  if (!failure && !scope) failure = copy_inputs(args);
  DeviceTimer* const timer = DeviceTimer::current();
  if (!failure) failure = timer ? run_measured(stream) : run(stream);
  if (!failure) failure = finish(args, scope, stream);
  if (!failure && timer) failure = add_time(*timer);
  if (failure) give_up(context, failure, stream);
}

}  // namespace wick::cuda
