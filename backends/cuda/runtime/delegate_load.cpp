// Loads a delegate: device, code, memory.
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "backends/cuda/runtime/delegate.h"
#include "backends/cuda/runtime/image.h"
#include "common/version.h"

namespace wick::cuda {
namespace {

// An upper bound of the host memory for each byte of a payload: the plan, and what is made for its nodes.
constexpr uint64_t kHostBytesPerByte = 24;

std::string capability(uint32_t architecture) {
  return std::to_string(architecture / 10) + "." + std::to_string(architecture % 10);
}

std::string code_text(const Module& module) {
  return module.is_ptx ? "PTX for " + capability(module.architecture)
                       : "sm_" + std::to_string(module.architecture) + (module.is_exact ? "a" : "");
}

// A cubin runs on devices of the same generation that are not older; an exact one only on devices of its capability.
// PTX runs on all devices that are not older.
bool runs_on(const Module& module, uint32_t architecture) {
  if (module.is_exact) return module.architecture == architecture;
  return module.architecture <= architecture && (module.is_ptx || module.architecture / 10 == architecture / 10);
}

// Compares modules that run: the largest is the best.
std::array<uint32_t, 3> fit_of(const Module& module) { return {module.is_exact, !module.is_ptx, module.architecture}; }

const Module* choose(const std::vector<Module>& modules, uint32_t architecture) {
  const Module* best = nullptr;
  for (const Module& module : modules) {
    if (!runs_on(module, architecture)) continue;
    if (!best || fit_of(module) > fit_of(*best)) best = &module;
  }
  return best;
}

size_t size_of(ParameterKind kind) { return kind == ParameterKind::int32 ? 4 : 8; }

uint64_t round_up(uint64_t bytes) { return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment; }

Failure find_data(const BackendInit& context, const std::string& key, Span<const uint8_t>* bytes) {
  const Result<Span<const uint8_t>> found = context.named_data(key.c_str());
  if (!found.ok()) return {found.error(), "the program has no data '" + key + "', which the delegate asks for"};
  *bytes = *found;
  return {};
}

}  // namespace

std::string Delegate::what() const {
  return "method '" + plan_.method + "', partition " + std::to_string(plan_.partition);
}

Delegate::~Delegate() {
  if (!device_) return;
  const ContextScope scope(*device_);
  const Driver& driver = device_->driver();
  if (order_ && order_->is_pending) (void)driver.event_wait(order_->done);
  order_.reset();
  graphs_.clear();
  for (DriverEvent* event : events_) (void)driver.event_destroy(event);
  for (DriverEvent* event : {begin_, end_}) {
    if (event) (void)driver.event_destroy(event);
  }
  if (stream_) (void)driver.stream_destroy(stream_);
}

Failure Delegate::open_device(const BackendInit& context) {
  Failure failure;
  device_ = Device::open(device_or_default(context.device()), &failure);
  if (!device_) return failure;
  const int version = device_->driver().version();
  if (plan_.driver_version > static_cast<uint32_t>(version)) {
    return {Error::DelegateInvalidCompatibility,
            "the driver is for CUDA " + version_text(version) + ", the program needs one for " +
                version_text(static_cast<int>(std::min<uint32_t>(plan_.driver_version, INT32_MAX))) + " or newer"};
  }
  return {};
}

Failure Delegate::load_image(const BackendInit& context, const Module& module) {
  Span<const uint8_t> bytes;
  Failure failure = find_data(context, module.data, &bytes);
  if (failure) return failure;
  const char* wrong = module.is_ptx ? check_ptx(bytes) : check_cubin(bytes, module.architecture);
  if (wrong) return {Error::InvalidProgram, "the device code '" + module.data + "' is damaged: " + wrong};
  // The driver needs text that ends with NUL, and tables that are aligned.
  std::vector<uint64_t> copy;
  const void* image = bytes.data();
  if (module.is_ptx || reinterpret_cast<uintptr_t>(image) % alignof(uint64_t) != 0) {
    copy.resize(bytes.size() / sizeof(uint64_t) + 1);
    memcpy(copy.data(), bytes.data(), bytes.size());
    image = copy.data();
  }
  return device_->share_module(bytes, image, &module_);
}

Failure Delegate::load_code(const BackendInit& context) {
  if (plan_.kernels.empty()) return {};
  const Module* module = choose(plan_.modules, device_->architecture());
  if (!module) {
    std::string found;
    for (const Module& each : plan_.modules) found += (found.empty() ? "" : ", ") + code_text(each);
    return {Error::DelegateInvalidCompatibility, device_->text() + " has compute capability " +
                                                     capability(device_->architecture()) + "; the file has code for " +
                                                     found + "; compile the model again with code for sm_" +
                                                     std::to_string(device_->architecture())};
  }
  Failure failure = load_image(context, *module);
  functions_.resize(plan_.kernels.size());
  for (size_t i = 0; !failure && i < functions_.size(); ++i) failure = find_function(plan_.kernels[i], &functions_[i]);
  return failure;
}

// The parameters that the code reads must be those that a launch passes: the driver reads as many as the code has.
Failure Delegate::check_parameters(const Kernel& kernel, DriverFunction* function) {
  const auto info = device_->driver().parameter_info;
  if (!info) return {};
  size_t expected = 0, offset = 0, size = 0;
  bool same = true;
  for (size_t i = 0; same && i < kernel.parameters.size(); ++i) {
    const size_t bytes = size_of(kernel.parameters[i]);
    expected = (expected + bytes - 1) / bytes * bytes;
    same = info(function, i, &offset, &size) == kSuccess && offset == expected && size == bytes;
    expected += bytes;
  }
  if (same && info(function, kernel.parameters.size(), &offset, &size) != kSuccess) return {};
  return {Error::InvalidProgram,
          "kernel '" + kernel.name + "' has other parameters in the device code than in the plan"};
}

Failure Delegate::find_function(const Kernel& kernel, DriverFunction** function) {
  const Driver& driver = device_->driver();
  const DriverStatus status = driver.module_function(function, module_->get(), kernel.name.c_str());
  if (status == kNotFound) return {Error::InvalidProgram, "the device code has no kernel '" + kernel.name + "'"};
  if (status != kSuccess) return device_->failure(status, "finding kernel '" + kernel.name + "'");
  Failure failure = check_parameters(kernel, *function);
  if (failure) return failure;
  int max_threads = 0;
  failure = device_->check(driver.function_attribute(&max_threads, kFunctionMaxThreads, *function), "asking a kernel");
  if (failure) return failure;
  const uint32_t threads = kernel.block[0] * kernel.block[1] * kernel.block[2];
  if (threads > static_cast<uint32_t>(max_threads)) {
    return {Error::DelegateInvalidCompatibility, "kernel '" + kernel.name + "' can run with " +
                                                     std::to_string(max_threads) + " threads in a block on " +
                                                     device_->text() + ", the plan has " + std::to_string(threads)};
  }
  if (kernel.dynamic_shared_bytes == 0) return {};
  if (kernel.dynamic_shared_bytes > device_->max_shared_bytes()) {
    return {Error::DelegateInvalidCompatibility,
            "kernel '" + kernel.name + "' takes " + std::to_string(kernel.dynamic_shared_bytes) +
                " bytes of shared memory; " + device_->text() + " has " + std::to_string(device_->max_shared_bytes())};
  }
  return device_->allow_shared_bytes(*function, kernel.dynamic_shared_bytes);
}

Failure Delegate::place_buffer(const BackendInit& context, size_t index) {
  const Buffer& buffer = plan_.buffers[index];
  Span<const uint8_t> bytes;
  if (!buffer.data.empty()) {
    Failure failure = find_data(context, buffer.data, &bytes);
    if (failure) return failure;
    if (bytes.size() != buffer.size_bytes) {
      return {Error::InvalidProgram, "data '" + buffer.data + "' has " + std::to_string(bytes.size()) +
                                         " bytes, wanted " + std::to_string(buffer.size_bytes)};
    }
  }
  switch (buffer.space) {
    case Space::constant: {
      ContentCache<Memory>::Use use;
      Failure failure = device_->share_constant(bytes, "constant '" + buffer.data + "'", &use);
      if (failure) return failure;
      work_->set_address(index, use->address());
      constants_.push_back(std::move(use));
      return {};
    }
    case Space::state: {
      std::shared_ptr<StateMemory> state;
      Failure failure = device_->share_state(context.session(), buffer, bytes, &state);
      if (failure) return failure;
      work_->set_address(index, state->memory.address());
      states_.push_back(std::move(state));
      return {};
    }
    case Space::arena: work_->set_address(index, arena_.address() + buffer.offset); return {};
    default: return {};
  }
}

Failure Delegate::place_buffers(const BackendInit& context) {
  Failure failure = device_->allocate(plan_.arena_bytes, "the arena of " + what(), &arena_);
  for (size_t i = 0; !failure && i < plan_.buffers.size(); ++i) failure = place_buffer(context, i);
  return failure ? failure : clear_words();
}

// Sets the status words and counters to 0, as each call must find them.
Failure Delegate::clear_words() {
  if (plan_.status_buffer == kNone && plan_.counters_buffer == kNone) return {};
  Failure failure = clear(plan_.status_buffer);
  if (!failure) failure = clear(plan_.counters_buffer);
  return failure ? failure : device_->check(device_->driver().stream_wait(stream_), "clearing words of the arena");
}

Failure Delegate::clear(uint32_t buffer) {
  if (buffer == kNone) return {};
  const DriverStatus status =
      device_->driver().fill(work_->address(buffer), 0, plan_.buffers[buffer].size_bytes, stream_);
  return device_->check(status, "clearing words of the arena");
}

Failure Delegate::make_events(const BackendInit& context) {
  const Driver& driver = device_->driver();
  Failure failure = device_->share_order(states_.empty() ? nullptr : context.session(), &order_);
  if (!tracer_) return failure;
  for (size_t i = 0; !failure && i <= plan_.nodes.size(); ++i) {
    DriverEvent* event = nullptr;
    failure = device_->check(driver.event_create(&event, kEventDefault), "making an event");
    if (!failure) events_.push_back(event);
  }
  return failure;
}

void Delegate::number_segments() {
  const size_t count = plan_.nodes.size();
  std::vector<bool> begins(count + 1);  // where a part or the node after a condition or loop begins
  for (size_t i = 0; i < count; ++i) {
    const PlanNode& node = plan_.nodes[i];
    if (is_control(node.kind)) begins[i + 1] = begins[node.first_end] = begins[node.second_end] = true;
  }
  uint32_t segments = 0;
  bool goes_on = false;
  for (size_t i = 0; i < count; ++i) {
    const bool is_member = !is_control(plan_.nodes[i].kind);
    if (is_member && (!goes_on || begins[i])) ++segments;
    segments_.push_back(is_member ? segments - 1 : kNone);
    goes_on = is_member;
  }
}

Error Delegate::load(BackendInit& context, Span<const uint8_t> payload) {
  const auto fail = [&](const Failure& failure) {
    if (context.text()) context.text()->append(failure.text.c_str());
    return failure.error;
  };
  if (!context.allows_device_code()) {
    return fail({Error::DelegateInvalidCompatibility, "it holds device code, which is switched off"});
  }
  if (!context.take_heap(payload.size() * kHostBytesPerByte)) {
    return fail({Error::DelegateMemoryAllocationFailed, "its plan may take more memory than is left of the limit"});
  }
  const Error error = read_plan(payload, &plan_, context.text());
  if (error != Error::Ok) {
    const std::string own = std::string("wick ") + kVersion;
    if (context.text() && !plan_.producer.empty() && plan_.producer != own)
      context.text()->append("; '", plan_.producer.c_str(), "' made the plan, this is ", own.c_str());
    return error;
  }
  Failure failure = open_device(context);
  if (failure) return fail(failure);
  const ContextScope scope(*device_);
  failure = device_->check(device_->driver().stream_create(&stream_, kStreamNonBlocking), "making a stream");
  if (!failure) failure = load_code(context);
  if (failure) return fail(failure);
  tracer_ = context.tracer() && context.tracer()->delegate_event ? context.tracer() : nullptr;
  const char* debug = getenv("WICK_CUDA_DEBUG");
  waits_for_each_ = debug && strcmp(debug, "1") == 0;
  work_ = std::make_unique<WorkList>(plan_, functions_);
  number_segments();
  status_.resize((plan_.checks.size() + 31) / 32);
  symbols_.resize(plan_.symbols.size());
  values_.resize(plan_.formulas.size());
  argument_bytes_.resize(plan_.buffers.size());
  staged_.assign(plan_.buffers.size(), kNotStaged);
  is_on_device_.resize(plan_.buffers.size());
  failure = place_buffers(context);
  if (!failure) failure = make_events(context);
  return failure ? fail(failure) : Error::Ok;
}

// Reserves memory for arguments on the host, of this call or an earlier one.
Failure Delegate::reserve_staging() {
  uint64_t bytes = 0;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (!is_argument(plan_.buffers[i]) || (is_on_device_[i] && staged_[i] == kNotStaged)) continue;
    staged_[i] = bytes;
    bytes += round_up(plan_.buffers[i].size_bytes);
    if (bytes > kMaxBytes) break;
  }
  staging_ = Memory();
  Failure failure = device_->allocate(bytes, "inputs and outputs of " + what(), &staging_);
  if (failure) staged_.assign(staged_.size(), kNotStaged);
  return failure;
}

Failure Delegate::place_in_staging(Span<EValue*> args) {
  bool is_complete = true;
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (!is_argument(plan_.buffers[i])) continue;
    const Tensor& tensor = tensor_of(args, plan_.buffers[i]);
    const DevicePtr address = reinterpret_cast<uintptr_t>(tensor.data);
    is_on_device_[i] = tensor.numel != 0 && device_->is_in_arena(address, tensor.nbytes());
    if (is_on_device_[i]) work_->set_address(i, address);
    is_complete = is_complete && (is_on_device_[i] || staged_[i] != kNotStaged);
  }
  if (!is_complete) {
    Failure failure = reserve_staging();
    if (failure) return failure;
  }
  for (size_t i = 0; i < plan_.buffers.size(); ++i) {
    if (is_argument(plan_.buffers[i]) && !is_on_device_[i]) work_->set_address(i, staging_.address() + staged_[i]);
  }
  return {};
}

}  // namespace wick::cuda
