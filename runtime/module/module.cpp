#include "wick/module.h"

#include <string.h>

#include <cstdlib>
#include <deque>
#include <map>

#include "runtime/exec/prim_ops.h"
#include "runtime/exec/shared_arena.h"
#include "runtime/module/device_arenas.h"
#include "runtime/module/host_tensor.h"
#include "runtime/platform/cores.h"
#include "runtime/platform/cpu.h"
#include "runtime/platform/memory.h"
#include "runtime/platform/thread_pool.h"
#include "runtime/program/newer_format.h"
#include "wick/unbounded_memory.h"

namespace wick {
namespace {

constexpr size_t kTextBytes = 16384;
constexpr uint64_t kTempBytes = uint64_t{64} << 20;  // plus twice the largest tensor

bool fail(ModuleError* error, ErrorKind kind, Error code, std::string message) {
  error->code = code;
  error->message = std::move(message);
  error->kind = kind;
  return false;
}
bool no_memory(ModuleError* error, std::string message) {
  return fail(error, ErrorKind::out_of_memory, Error::MemoryAllocationFailed, std::move(message));
}
bool bad_argument(ModuleError* error, Error code, std::string message) {
  return fail(error, ErrorKind::invalid_argument, code, std::move(message));
}
// The kind of an error of reading a program or a .ptd: damaged bytes, or a feature that this runtime does not have.
ErrorKind kind_of_file(Error error) {
  return error == Error::NotSupported ? ErrorKind::not_supported : ErrorKind::corrupt_file;
}

/// A method, its memory, and the memory of outputs that the plan leaves to the caller.
struct LoadedMethod {
  Mapping method_arena;
  std::deque<Mapping> arenas;
  std::deque<DeviceArena> device_arenas;
  std::deque<Mapping> outputs;
  Mapping temp;
  std::unique_ptr<UnboundedMemory> unbounded;
  std::unique_ptr<Method> method;
};

void* allocate_on_heap(void*, size_t size_bytes, size_t alignment) {
  return std::aligned_alloc(alignment, (size_bytes + alignment - 1) / alignment * alignment);
}
void free_on_heap(void*, void* block, size_t, size_t) { std::free(block); }

uint64_t largest_tensor(const MethodMeta& meta) {
  uint64_t largest = 0;
  for (size_t i = 0; i < meta.num_values(); ++i) {
    if (meta.tag(i) != Tag::tensor) continue;
    const uint64_t bytes = meta.value(i).tensor.nbytes;
    if (bytes > largest) largest = bytes;
  }
  return largest;
}

}  // namespace

uint64_t memory_bytes(const MethodMeta& method, Span<const Backend* const> backends) {
  uint64_t total = 0;
  const auto add = [&total](uint64_t bytes) { total = bytes > UINT64_MAX - total ? UINT64_MAX : total + bytes; };
  const uint64_t largest = largest_tensor(method);
  add(largest);
  add(largest);
  for (size_t i = 0; i < method.num_arenas(); ++i) {
    if (!backend_of_arena(method, i, backends)) add(method.arena_bytes(i));
  }
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    const ValueMeta output = method.output_value(i);
    if (output.tag == Tag::tensor && output.tensor.storage == Storage::unbound) add(output.tensor.nbytes);
  }
  return total;
}

struct Module::State {
  explicit State(const ModuleOptions& o) : options(o) {
    if (options.num_threads == 0) options.num_threads = usable_cores();
    if (options.num_threads > 1) pool.reset(new ThreadPool(options.num_threads));
    options.kernels.push_back(prim_kernels());
    const IsaLevel machine = detect_isa_level();
    isa = machine < options.max_isa ? machine : options.max_isa;
  }

  bool load_data(ModuleError* error);
  bool load_program(Span<const uint8_t> bytes, const std::string& name, ModuleError* error);
  bool check_memory(const MethodMeta& meta, ModuleError* error) const;
  Span<const Backend* const> all_backends() const { return {options.backends.data(), options.backends.size()}; }
  bool reserve_on_device(const MethodMeta& meta, size_t arena, LoadedMethod* loaded, ModuleError* error);
  bool reserve(const MethodMeta& meta, LoadedMethod* loaded, std::vector<Span<uint8_t>>* arenas, ModuleError* error);
  bool bind_outputs(const MethodMeta& meta, LoadedMethod* loaded, ModuleError* error);
  Method* load_method(const std::string& name, ModuleError* error);
  Method* load_with_sharers(const std::string& name, ModuleError* error);

  ModuleOptions options;
  IsaLevel isa;
  std::unique_ptr<ThreadPool> pool;
  Mapping file;
  std::deque<Mapping> data_files;
  std::vector<DataMap> data;
  std::unique_ptr<BundledProgram> bundled;
  std::unique_ptr<Program> program;
  std::map<std::string, LoadedMethod> methods;
  Mapping shared_arena;
};

Method* Module::State::load_with_sharers(const std::string& name, ModuleError* error) {
  if (methods.empty() && shares_arena(*program)) {
    for (size_t i = 0; i < program->num_methods(); ++i) {
      if (!load_method(program->method(i).name(), error)) return nullptr;
    }
  }
  return load_method(name, error);
}

bool Module::State::load_data(ModuleError* error) {
  for (const std::string& path : options.data_paths) {
    Mapping mapping;
    std::string message;
    if (!Mapping::map_file(path, &mapping, &message))
      return fail(error, ErrorKind::unreadable_file, Error::AccessFailed, message);
    char buffer[1024];
    ErrorText text(buffer);
    Result<DataMap> map = DataMap::load(mapping.bytes(), {&text});
    if (!map.ok()) return fail(error, kind_of_file(map.error()), map.error(), path + ": " + text.c_str());
    for (size_t i = 0; i < map->size(); ++i) {
      const char* key = map->entry(i).key;
      for (const DataMap& other : data) {
        if (other.find(key).ok())
          return bad_argument(error, Error::InvalidArgument, path + ": key " + key + " is in two .ptd files");
      }
    }
    data.push_back(*map);
    data_files.push_back(std::move(mapping));
  }
  return true;
}

bool Module::State::load_program(Span<const uint8_t> bytes, const std::string& name, ModuleError* error) {
  char buffer[1024];
  ErrorText text(buffer);
  if (BundledProgram::is_bundled(bytes)) {
    const Result<BundledProgram> whole = BundledProgram::load(bytes, {&text});
    if (!whole.ok()) return fail(error, kind_of_file(whole.error()), whole.error(), name + text.c_str());
    bundled.reset(new BundledProgram(*whole));
    bytes = bundled->program();
  }
  Result<Program> loaded = Program::load(bytes, {&text});
  if (!loaded.ok()) return fail(error, kind_of_file(loaded.error()), loaded.error(), name + text.c_str());
  program.reset(new Program(*loaded));
  if (const char* table = table_with_unknown_fields(*program)) {
    return fail(error, ErrorKind::not_supported, Error::NotSupported,
                name + "a table " + table + " of the program has fields of a newer version of the format (it states " +
                    std::to_string(program_version(*program)) + ", known is " + std::to_string(kKnownProgramVersion) +
                    "), which could change what it computes");
  }
  return load_data(error);
}

bool Module::State::check_memory(const MethodMeta& meta, ModuleError* error) const {
  const uint64_t total = memory_bytes(meta, all_backends());
  if (total <= options.max_memory_bytes) return true;
  return no_memory(error, std::string("method ") + meta.name() + " asks for " + std::to_string(total) +
                              " bytes, more than max_memory_bytes = " + std::to_string(options.max_memory_bytes));
}

bool Module::State::reserve_on_device(const MethodMeta& meta, size_t arena, LoadedMethod* loaded, ModuleError* error) {
  char buffer[1024];
  ErrorText text(buffer);
  Error code = check_device_arenas(meta, all_backends(), &text);
  const bool is_sound = code == Error::Ok;
  if (is_sound) {
    code = loaded->device_arenas.emplace_back().allocate(*backend_of_arena(meta, arena, all_backends()),
                                                         {options.device.c_str(), this, options.allow_device_code},
                                                         meta.arena_bytes(arena), &text);
  }
  if (code == Error::Ok) return true;
  const ErrorKind kind = !is_sound                                       ? ErrorKind::corrupt_file
                         : code == Error::DelegateMemoryAllocationFailed ? ErrorKind::out_of_memory
                                                                         : ErrorKind::delegate_failed;
  return fail(error, kind, code, std::string("method ") + meta.name() + ": " + text.c_str());
}

bool Module::State::reserve(const MethodMeta& meta, LoadedMethod* loaded, std::vector<Span<uint8_t>>* arenas,
                            ModuleError* error) {
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    const uint64_t size = meta.arena_bytes(i);
    if (backend_of_arena(meta, i, all_backends())) {
      if (!reserve_on_device(meta, i, loaded, error)) return false;
      arenas->push_back(loaded->device_arenas.back().bytes());
      continue;
    }
    if (i == kSharedArena && shares_arena(*program)) {
      if (shared_arena.bytes().size() < size && !Mapping::reserve(static_cast<size_t>(size), &shared_arena)) {
        return no_memory(error, "no memory for the shared arena of " + std::to_string(size) + " bytes");
      }
      arenas->push_back(shared_arena.bytes());
      continue;
    }
    Mapping arena;
    if (size > SIZE_MAX / 2 || !Mapping::reserve(static_cast<size_t>(size), &arena)) {
      return no_memory(error, "no memory for arena " + std::to_string(i) + " of " + std::to_string(size) + " bytes");
    }
    arenas->push_back(arena.bytes());
    loaded->arenas.push_back(std::move(arena));
  }
  // Delegates take their memory from the method arena too. Memory that is not touched costs nothing.
  const uint64_t method_bytes = uint64_t{Method::required_bytes(meta)} + (meta.num_delegates() != 0 ? kTempBytes : 0);
  if (!Mapping::reserve(static_cast<size_t>(method_bytes), &loaded->method_arena)) {
    return no_memory(error, "no memory for the method of " + std::to_string(method_bytes) + " bytes");
  }
  const uint64_t temp_bytes = 2 * largest_tensor(meta) + kTempBytes;
  if (temp_bytes > SIZE_MAX / 2 || !Mapping::reserve(static_cast<size_t>(temp_bytes), &loaded->temp)) {
    return no_memory(error, "no temp memory of " + std::to_string(temp_bytes) + " bytes");
  }
  return true;
}

bool Module::State::bind_outputs(const MethodMeta& meta, LoadedMethod* loaded, ModuleError* error) {
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const ValueMeta value = meta.output_value(i);
    if (value.tag != Tag::tensor || value.tensor.storage != Storage::unbound ||
        value.tensor.dynamism == ShapeDynamism::unbounded)
      continue;
    Mapping memory;
    if (!Mapping::reserve(value.tensor.nbytes, &memory)) {
      return no_memory(error, "no memory for output " + std::to_string(i));
    }
    const Error code = loaded->method->set_output_memory(i, memory.bytes().data(), memory.bytes().size());
    if (code != Error::Ok) return bad_argument(error, code, loaded->method->last_error().message);
    loaded->outputs.push_back(std::move(memory));
  }
  return true;
}

Method* Module::State::load_method(const std::string& name, ModuleError* error) {
  const auto known = methods.find(name);
  if (known != methods.end()) return known->second.method.get();
  const Result<MethodMeta> meta = program->find_method(name.c_str());
  if (!meta.ok()) {
    bad_argument(error, Error::InvalidArgument, "the program has no method " + name);
    return nullptr;
  }
  LoadedMethod loaded;
  std::vector<Span<uint8_t>> arenas;
  if (!check_memory(*meta, error) || !reserve(*meta, &loaded, &arenas, error)) return nullptr;
  std::vector<char> buffer(kTextBytes);
  ErrorText text(buffer.data(), buffer.size());
  MethodOptions method_options;
  method_options.kernels = {options.kernels.data(), options.kernels.size()};
  method_options.backends = all_backends();
  method_options.data = {data.data(), data.size()};
  method_options.parallelism = pool.get();
  method_options.isa = isa;
  method_options.seed = options.seed;
  method_options.max_instructions = options.max_instructions;
  method_options.max_delegate_bytes = options.max_memory_bytes - memory_bytes(*meta, all_backends());
  if (meta->num_unbounded() != 0) {
    const uint64_t half = method_options.max_delegate_bytes / 2;
    const uint64_t unbounded_bytes = half < options.max_unbounded_bytes ? half : options.max_unbounded_bytes;
    method_options.max_delegate_bytes -= unbounded_bytes;
    loaded.unbounded.reset(new UnboundedMemory({allocate_on_heap, free_on_heap, nullptr}, unbounded_bytes));
    method_options.unbounded = loaded.unbounded.get();
  }
  method_options.delegates = {options.device.c_str(), this, options.allow_device_code};
  method_options.tracer = options.tracer;
  method_options.text = &text;
  ErrorKind kind = ErrorKind::none;
  method_options.kind = &kind;
  const MemoryPlan memory = {loaded.method_arena.bytes(), {arenas.data(), arenas.size()}, loaded.temp.bytes()};
  Result<Method> method = Method::load(*meta, memory, method_options);
  if (!method.ok()) {
    fail(error, kind, method.error(), "method " + name + ": " + text.c_str());
    return nullptr;
  }
  loaded.method.reset(new Method(std::move(*method)));
  if (!bind_outputs(*meta, &loaded, error)) return nullptr;
  return methods.emplace(name, std::move(loaded)).first->second.method.get();
}

Module::Module(std::unique_ptr<State> state) : state_(std::move(state)) {}
Module::~Module() = default;
const Program& Module::program() const { return *state_->program; }
const BundledProgram* Module::bundled() const { return state_->bundled.get(); }
IsaLevel Module::isa() const { return state_->isa; }
Method* Module::method(const std::string& name, ModuleError* error) { return state_->load_with_sharers(name, error); }

namespace {

// A misspelt level would be no limit, so it is an error.
bool check_environment(ModuleError* error) {
  const char* unknown = nullptr;
  cpu_limit(&unknown);
  return !unknown || bad_argument(error, Error::InvalidArgument,
                                  std::string("WICK_CPU is '") + unknown + "', which is none of " + kCpuLevelList);
}

}  // namespace

std::unique_ptr<Module> Module::load(const std::string& path, const ModuleOptions& options, ModuleError* error) {
  if (!check_environment(error)) return nullptr;
  std::unique_ptr<State> state(new State(options));
  std::string message;
  if (!Mapping::map_file(path, &state->file, &message)) {
    fail(error, ErrorKind::unreadable_file, Error::AccessFailed, message);
    return nullptr;
  }
  if (!state->load_program(state->file.bytes(), path + ": ", error)) return nullptr;
  return std::unique_ptr<Module>(new Module(std::move(state)));
}

std::unique_ptr<Module> Module::load(Span<const uint8_t> bytes, const ModuleOptions& options, ModuleError* error) {
  if (!check_environment(error)) return nullptr;
  std::unique_ptr<State> state(new State(options));
  if (!Mapping::reserve(bytes.size(), &state->file)) {
    no_memory(error, "no memory for the program");
    return nullptr;
  }
  if (!bytes.empty()) memcpy(state->file.bytes().data(), bytes.data(), bytes.size());
  if (!state->load_program(state->file.bytes().subspan(0, bytes.size()), "", error)) return nullptr;
  return std::unique_ptr<Module>(new Module(std::move(state)));
}

namespace {

std::string explain_last(const Method& method) {
  std::vector<char> buffer(kTextBytes);
  ErrorText text(buffer.data(), buffer.size());
  method.last_error().append_to(text);
  return text.c_str();
}

std::string shape_text(DType dtype, Span<const int32_t> sizes) {
  std::string text = std::string(dtype_name(dtype)) + "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i ? "," : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::string limits_text(const TensorMeta& wanted) {
  if (wanted.dynamism == ShapeDynamism::unbounded)
    return std::string(dtype_name(wanted.dtype)) + " of " + std::to_string(wanted.sizes.size()) + " dimensions";
  return shape_text(wanted.dtype, wanted.sizes) + (wanted.dynamism == ShapeDynamism::fixed ? "" : " at most");
}

bool set_tensor(Method& method, size_t index, const HostTensor& host, std::deque<InputView>* shared,
                ModuleError* error) {
  const ValueMeta wanted = method.meta().input_value(index);
  const std::string found = shape_text(host.dtype, {host.sizes.data(), host.sizes.size()});
  const std::string name = "input " + std::to_string(index);
  if (wanted.tag != Tag::tensor)
    return bad_argument(error, Error::InvalidArgument, name + ": found a tensor, wanted none");
  const std::string limits = limits_text(wanted.tensor);
  const InputView& view = shared->emplace_back(host, wanted.tensor.dim_order);
  if (!view.ok()) {
    return bad_argument(
        error, Error::InvalidArgument,
        name + ": found " + found + " of " + std::to_string(host.bytes.size()) + " bytes, wanted " + limits);
  }
  const Error code = method.set_input(index, view.tensor());
  if (code == Error::Ok) return true;
  return bad_argument(error, code, name + ": " + explain_last(method) + ": found " + found + ", wanted " + limits);
}

bool set_value(Method& method, size_t index, const HostValue& host, ModuleError* error) {
  EValue value;
  if (!to_value(host, &value))
    return bad_argument(error, Error::InvalidArgument, "input " + std::to_string(index) + ": lists are not inputs");
  const Error code = method.set_input(index, value);
  if (code == Error::Ok) return true;
  return bad_argument(error, code, "input " + std::to_string(index) + ": " + explain_last(method));
}

bool get_output(const Method& method, size_t index, HostValue* host, ModuleError* error) {
  const EValue& value = method.output(index);
  host->tag = value.tag;
  switch (value.tag) {
    case Tag::none: return true;
    case Tag::integer: host->integer = value.integer; return true;
    case Tag::real: host->real = value.real; return true;
    case Tag::boolean: host->boolean = value.boolean; return true;
    case Tag::string: host->string.assign(value.string.data, value.string.size); return true;
    case Tag::tensor:
      if (!value.tensor->data && value.tensor->numel != 0) break;
      host->tensor = to_host(*value.tensor);
      return true;
    default: break;
  }
  return fail(error, ErrorKind::not_supported, Error::Internal,
              "output " + std::to_string(index) + " is a list or has no memory");
}

}  // namespace

bool Module::execute(const std::string& name, const std::vector<HostValue>& inputs, std::vector<HostValue>* outputs,
                     ModuleError* error) {
  Method* method = state_->load_with_sharers(name, error);
  if (!method) return false;
  const MethodMeta& meta = method->meta();
  if (inputs.size() != meta.num_inputs()) {
    return bad_argument(error, Error::InvalidArgument,
                        "method " + name + " takes " + std::to_string(meta.num_inputs()) + " inputs, " +
                            std::to_string(inputs.size()) + " are given");
  }
  // Tensors that a method shares instead of copying must live until it has run.
  std::deque<InputView> shared;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostValue& input = inputs[i];
    if (input.tag != Tag::tensor) {
      if (!set_value(*method, i, input, error)) return false;
    } else if (!set_tensor(*method, i, input.tensor, &shared, error)) {
      return false;
    }
  }
  const Error code = method->execute();
  if (code != Error::Ok)
    return fail(error, method->last_error().kind(), code, "method " + name + ": " + explain_last(*method));
  outputs->clear();
  outputs->resize(meta.num_outputs());
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    if (!get_output(*method, i, &(*outputs)[i], error)) return false;
  }
  return true;
}

}  // namespace wick
