#include "devices/runner/programs.h"

#include <string.h>

#include <new>
#include <utility>

#include "runtime/exec/shared_arena.h"

namespace wick::device {
namespace {

constexpr size_t kAlignment = 64;
constexpr uint64_t kTempBytes = uint64_t{64}
                                << 20;  // plus twice the largest tensor, as on the host; less if memory is short

ErrorKind kind_of_file(Error error) {
  return error == Error::NotSupported ? ErrorKind::not_supported : ErrorKind::corrupt_file;
}

uint64_t add(uint64_t a, uint64_t b) { return b > UINT64_MAX - a ? UINT64_MAX : a + b; }

/// Bytes of a block of memory, with padding for its alignment.
uint64_t block(uint64_t size_bytes) { return add(size_bytes, kAlignment); }

uint64_t largest_tensor(const MethodMeta& meta) {
  uint64_t largest = 0;
  for (size_t i = 0; i < meta.num_values(); ++i) {
    if (meta.tag(i) != Tag::tensor) continue;
    const uint64_t bytes = meta.value(i).tensor.nbytes;
    if (bytes > largest) largest = bytes;
  }
  return largest;
}

bool needs_memory(const ValueMeta& output) {
  return output.tag == Tag::tensor && output.tensor.storage == Storage::unbound;
}

/// Memory of a method and its inputs, without temp memory.
uint64_t bytes_of(const MethodMeta& meta) {
  uint64_t total = add(block(Method::required_bytes(meta)), block(sizeof(Method)));
  for (size_t i = 0; i < meta.num_arenas(); ++i) total = add(total, block(meta.arena_bytes(i)));
  total = add(total, block(meta.num_arenas() * sizeof(Span<uint8_t>)));
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const ValueMeta output = meta.output_value(i);
    if (needs_memory(output)) total = add(total, block(output.tensor.nbytes));
  }
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const ValueMeta input = meta.input_value(i);
    total = add(total, block(input.tag == Tag::tensor ? input.tensor.nbytes : kMaxTextBytes));
    total = add(total, block(ProgramOnDevice::kInputBytes));
  }
  return total;
}

}  // namespace

uint8_t* Memory::take(uint64_t size_bytes) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(all_.data()) + used_;
  const size_t padding = (kAlignment - at % kAlignment) % kAlignment;
  if (padding > left() || size_bytes > left() - padding) return nullptr;
  uint8_t* result = all_.data() + used_ + padding;
  used_ += padding + static_cast<size_t>(size_bytes);
  return result;
}

Problem ProgramOnDevice::no_memory(const char* what, uint64_t size_bytes, ErrorText& text) const {
  text.append("the device has no memory for ", what);
  text.append(" of ", size_bytes, " bytes; ", static_cast<uint64_t>(memory_.left()), " are left");
  return {ErrorKind::out_of_memory, Error::MemoryAllocationFailed};
}

Problem ProgramOnDevice::read_file(const char* path, Span<const uint8_t>* file, ErrorText& text) {
  const int handle = board::open_file(path, board::FileMode::read);
  const long size_bytes = handle == board::kNoFile ? -1 : board::file_size_bytes(handle);
  if (size_bytes < 0) {
    text.append("the device cannot open ", path);
    return {ErrorKind::unreadable_file, Error::AccessFailed};
  }
  uint8_t* bytes = memory_.take(static_cast<uint64_t>(size_bytes));
  Problem problem;
  if (!bytes) {
    problem = no_memory("a file", static_cast<uint64_t>(size_bytes), text);
  } else if (!board::read_all(handle, bytes, static_cast<size_t>(size_bytes))) {
    text.append("the device cannot read ", path);
    problem = {ErrorKind::unreadable_file, Error::AccessFailed};
  } else {
    *file = {bytes, static_cast<size_t>(size_bytes)};
  }
  board::close_file(handle);
  return problem;
}

Problem ProgramOnDevice::load_files(const LoadSettings& settings, Reader& request, ErrorText& text) {
  uint8_t* objects = memory_.take(sizeof(Program) + settings.num_files * sizeof(DataMap));
  if (!objects) return no_memory("a program", sizeof(Program), text);
  data_ = reinterpret_cast<DataMap*>(objects +
                                     (sizeof(Program) + alignof(DataMap) - 1) / alignof(DataMap) * alignof(DataMap));
  for (uint32_t i = 0; i < settings.num_files; ++i) {
    char* path = path_;
    request.string(path, sizeof path_);
    Span<const uint8_t> file;
    Problem problem =
        request.ok() ? read_file(path, &file, text) : Problem{ErrorKind::invalid_argument, Error::Internal};
    if (problem.error != Error::Ok) return problem;
    if (i == 0) {
      Result<Program> program = Program::load(file, {&text});
      if (!program.ok()) return {kind_of_file(program.error()), program.error()};
      program_ = new (objects) Program(*program);
    } else {
      Result<DataMap> map = DataMap::load(file, {&text});
      if (!map.ok()) return {kind_of_file(map.error()), map.error()};
      new (data_ + num_data_++) DataMap(*map);
    }
  }
  return {};
}

// One temp memory serves all methods, because only one runs at a time. It gets the memory that files, methods and
// inputs leave.
Problem ProgramOnDevice::reserve_temp(ErrorText& text) {
  uint64_t methods = 0, largest = 0;
  for (size_t i = 0; i < program_->num_methods(); ++i) {
    methods = add(methods, bytes_of(program_->method(i)));
    const uint64_t bytes = largest_tensor(program_->method(i));
    largest = bytes > largest ? bytes : largest;
  }
  methods = add(methods, block(0));
  if (methods > memory_.left()) return no_memory("methods and inputs", methods, text);
  const uint64_t rest = memory_.left() - methods, wanted = add(2 * largest, kTempBytes);
  const size_t size_bytes = static_cast<size_t>(rest < wanted ? rest : wanted);
  temp_ = {memory_.take(size_bytes), size_bytes};
  return {};
}

Problem ProgramOnDevice::load(const LoadSettings& settings, Reader& request, ErrorText& text) {
  memory_.clear();
  settings_ = settings;
  program_ = nullptr;
  num_data_ = 0;
  shared_ = {};
  for (Method*& method : methods_) method = nullptr;
  const Problem problem = load_files(settings, request, text);
  if (problem.error != Error::Ok) {
    program_ = nullptr;
    return problem;
  }
  if (program_->num_methods() > kMaxMethods) {
    text.append("the device takes programs of at most ", static_cast<uint64_t>(kMaxMethods), " methods");
    return {ErrorKind::not_supported, Error::NotSupported};
  }
  return reserve_temp(text);
}

Problem ProgramOnDevice::reserve(const MethodMeta& meta, MemoryPlan* plan, ErrorText& text) {
  const size_t method_bytes = Method::required_bytes(meta);
  uint8_t* method = memory_.take(method_bytes);
  if (!method) return no_memory("a method", method_bytes, text);
  auto* arenas = reinterpret_cast<Span<uint8_t>*>(memory_.take(meta.num_arenas() * sizeof(Span<uint8_t>)));
  if (!arenas) return no_memory("arenas", meta.num_arenas() * sizeof(Span<uint8_t>), text);
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    const bool is_shared = i == kSharedArena && shares_arena(*program_);
    if (is_shared && shared_.data() != nullptr) {
      arenas[i] = shared_;
      continue;
    }
    uint8_t* arena = memory_.take(meta.arena_bytes(i));
    if (!arena) return no_memory("an arena", meta.arena_bytes(i), text);
    arenas[i] = {arena, static_cast<size_t>(meta.arena_bytes(i))};
    memset(arena, 0, arenas[i].size());
    if (is_shared) shared_ = arenas[i];
  }
  *plan = {{method, method_bytes}, {arenas, meta.num_arenas()}, temp_};
  return {};
}

Problem ProgramOnDevice::bind_outputs(Method& method, ErrorText& text) {
  const MethodMeta& meta = method.meta();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const ValueMeta output = meta.output_value(i);
    if (!needs_memory(output)) continue;
    uint8_t* memory = memory_.take(output.tensor.nbytes);
    if (!memory) return no_memory("an output", output.tensor.nbytes, text);
    memset(memory, 0, output.tensor.nbytes);
    const Error error = method.set_output_memory(i, memory, output.tensor.nbytes);
    if (error == Error::Ok) continue;
    text.append(method.last_error().message);
    return {ErrorKind::invalid_argument, error};
  }
  return {};
}

Problem ProgramOnDevice::load_method(size_t index, ErrorText& text) {
  const MethodMeta meta = program_->method(index);
  text.append("method ", meta.name());
  text.append(": ");
  MemoryPlan plan;
  Problem problem = reserve(meta, &plan, text);
  uint8_t* place = memory_.take(sizeof(Method));
  if (problem.error != Error::Ok) return problem;
  if (!place) return no_memory("a method", sizeof(Method), text);
  MethodOptions options;
  options.kernels = kernels_;
  options.data = {data_, num_data_};
  options.seed = settings_.seed;
  options.max_instructions = settings_.max_instructions;
  options.tracer = settings_.tracer;
  options.text = &text;
  options.kind = &problem.kind;
  Result<Method> method = Method::load(meta, plan, options);
  if (!method.ok()) return {problem.kind, method.error()};
  methods_[index] = new (place) Method(std::move(*method));
  text.clear();
  return bind_outputs(*methods_[index], text);
}

Method* ProgramOnDevice::method(const char* name, Problem* problem, ErrorText& text) {
  const size_t count = program_ ? program_->num_methods() : 0;
  size_t wanted = count;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(program_->method(i).name(), name) == 0) wanted = i;
  }
  if (wanted == count) {
    text.append("the program has no method ", name);
    *problem = {ErrorKind::invalid_argument, Error::InvalidArgument};
    return nullptr;
  }
  for (size_t i = 0; i < count; ++i) {
    if (methods_[i] || (i != wanted && !shares_arena(*program_))) continue;
    *problem = load_method(i, text);
    if (problem->error != Error::Ok) return nullptr;
  }
  return methods_[wanted];
}

}  // namespace wick::device
