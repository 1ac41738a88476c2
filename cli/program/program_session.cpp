#include "cli/program/program_session.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "cli/command.h"
#include "cli/program/fixed_plan.h"
#include "cli/program/operator_facts.h"
#include "compiler/import/archive/archive.h"
#include "compiler/support/file_map.h"
#include "compiler/support/limits.h"
#include "devices/host/host_device.h"
#include "runtime/platform/cores.h"
#include "runtime/platform/cpu.h"
#include "runtime/program/newer_format.h"
#include "wick/backends.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;
using compiler::Status;

Result<int> default_threads() {
  constexpr int kMost = 256;
  const char* text = std::getenv("WICK_NUM_THREADS");
  if (!text || *text == 0) return std::min(usable_cores(), kMost);
  int count = 0;
  const char* end = text + strlen(text);
  const auto [stop, error] = std::from_chars(text, end, count);
  if (error == std::errc() && stop == end && count >= 1 && count <= kMost) return count;
  return Diag(Code::usage, "WICK_NUM_THREADS is no number of threads")
      .expected(text, fmt::format("a number from 1 to {}", kMost));
}

struct KindRow {
  Code code;
  const char* message;
};

// The error code and message for a program that cannot be loaded.
KindRow kind_row(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::none:
    case ErrorKind::execution_failed: break;
    case ErrorKind::unreadable_file: return {Code::file_io, "the file cannot be read"};
    case ErrorKind::corrupt_file: return {Code::corrupt_file, "the program is corrupt"};
    case ErrorKind::not_supported: return {Code::incompatible_file, "the program needs what Wick's runtime lacks"};
    case ErrorKind::missing_operator: return {Code::incompatible_file, "the program calls operators that Wick lacks"};
    case ErrorKind::missing_backend: return {Code::incompatible_file, "the program needs backends that Wick lacks"};
    case ErrorKind::missing_data: return {Code::incompatible_file, "the .ptd files do not fit the program"};
    case ErrorKind::delegate_failed: return {Code::incompatible_file, "a backend refuses its part of the program"};
    case ErrorKind::out_of_memory: return {Code::limit, "the program needs more memory than there is"};
    case ErrorKind::invalid_argument: return {Code::usage, "the program cannot be loaded with these options"};
  }
  return {Code::internal, "the program cannot be loaded"};
}

Diag load_diag(const std::string& path, const device::Refusal& error) {
  const KindRow row = kind_row(error.kind);
  Diag diag(row.code, fmt::format("{} [{}]", row.message, error_name(error.code)));
  if (error.kind == ErrorKind::missing_operator) diag.help = way_around(error.message);
  return std::move(diag).at_file(path).note(error.message);
}

bool needs_data(const MethodMeta& method) {
  for (size_t i = 0; i < method.num_values(); ++i) {
    if (method.tag(i) == Tag::tensor && method.value(i).tensor.external) return true;
  }
  return false;
}

// Checks the memory of all methods together, because any of them may be loaded.
Status check_memory(const std::string& path, const Program& program) {
  uint64_t total = 0;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const uint64_t bytes = memory_bytes(program.method(i), all_backends());
    total = bytes > UINT64_MAX - total ? UINT64_MAX : total + bytes;
  }
  if (total <= compiler::limits().arena_bytes) return {};
  return compiler::over_limit(&compiler::Limits::arena_bytes, "the program asks for too much memory",
                              fmt::format("{} bytes", total))
      .at_file(path);
}

NamedArray number_array(std::string name, DType dtype, const void* value) {
  NamedArray array;
  array.name = std::move(name);
  array.dtype = dtype;
  array.bytes.resize(dtype_size_bytes(dtype));
  memcpy(array.bytes.data(), value, array.bytes.size());
  return array;
}

}  // namespace

Result<Session> Session::make(const std::string& path, const SessionOptions& options,
                              const std::function<std::unique_ptr<Module>(const ModuleOptions&, ModuleError*)>& load) {
  ModuleOptions module_options;
  module_options.kernels.assign(all_kernels().begin(), all_kernels().end());
  module_options.backends.assign(all_backends().begin(), all_backends().end());
  module_options.data_paths = options.data_paths;
  module_options.num_threads = options.num_threads;
  if (options.num_threads <= 0) {
    ASSIGN_OR_RETURN(module_options.num_threads, default_threads());
  }
  module_options.max_isa = options.max_isa;
  module_options.seed = options.seed;
  module_options.max_instructions = compiler::limits().instructions;
  module_options.max_memory_bytes = compiler::limits().arena_bytes;
  module_options.max_unbounded_bytes = options.max_unbounded_bytes;
  module_options.device = options.device;
  module_options.allow_device_code = options.allow_device_code;
  module_options.tracer = options.tracer;
  // Opening checks that it is a regular file, with the system's own words if it is not.
  for (const std::string& data : options.data_paths) RETURN_IF_ERROR(compiler::FileMap::open(data));
  const char* unknown = nullptr;
  if (cpu_limit(&unknown); unknown) {
    return Diag(Code::usage, "WICK_CPU names no level of instruction sets")
        .expected(compiler::printable(unknown), kCpuLevelList);
  }
  Session session;
  session.path_ = path;
  session.has_data_ = !options.data_paths.empty();
  session.num_threads_ = module_options.num_threads;
  ModuleError error;
  session.module_ = load(module_options, &error);
  if (!session.module_) return load_diag(path, device::refusal_of(error, nullptr));
  if (const uint32_t version = program_version(session.program()); version > kKnownProgramVersion) {
    fmt::print(stderr,
               "note: the program states version {} of the format, known is {}; it has only fields that are known\n",
               version, kKnownProgramVersion);
  }
  RETURN_IF_ERROR(check_memory(path, session.program()));
  ASSIGN_OR_RETURN(session.device_, device::open_device(options.device, {path, options.data_paths, options.seed,
                                                                         session.module_.get()}));
  return session;
}

Result<Session> Session::open(const std::string& path, const SessionOptions& options) {
  ASSIGN_OR_RETURN(compiler::FileMap map, compiler::FileMap::open(path));
  if (kind_of(map.bytes()) == FileKind::other && compiler::pt2::is_native_graph(map.bytes()))
    return compiler::pt2::native_graph().at_file(path);
  if (kind_of(map.bytes()) == FileKind::pt2) {
    RETURN_IF_ERROR(compiler::pt2::Archive::open(map.bytes(), path));  // refuses other archives by name
    return Diag(Code::incompatible_file, "this is a model of torch.export.save, not a program")
        .at_file(path)
        .with_help("compile it first:  wick compile MODEL.pt2 -o MODEL.pte");
  }
  return make(path, options, [&](const ModuleOptions& module_options, ModuleError* error) {
    return Module::load(path, module_options, error);
  });
}

Result<Session> Session::open_bytes(const std::vector<uint8_t>& bytes, const std::string& path,
                                    const SessionOptions& options) {
  return make(path, options, [&](const ModuleOptions& module_options, ModuleError* error) {
    return Module::load(Span<const uint8_t>(bytes.data(), bytes.size()), module_options, error);
  });
}

Result<std::string> Session::choose(const std::string& name) const {
  const Program& program = module_->program();
  std::string names;
  bool has_forward = false;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const std::string each = program.method(i).name();
    if (!name.empty() && each == name) return each;
    has_forward = has_forward || each == "forward";
    names += (i ? ", " : "") + compiler::printable(each);
  }
  if (!name.empty()) {
    return Diag(Code::usage, fmt::format("the program has no method '{}'", compiler::printable(name)))
        .at_file(path_)
        .expected(compiler::printable(name), "one of " + names);
  }
  if (has_forward) return std::string("forward");
  if (program.num_methods() == 1) return std::string(program.method(0).name());
  return Diag(Code::usage, "the program has several methods and none is called 'forward'")
      .at_file(path_)
      .with_help("select one with --method:  " + names);
}

Status Session::check_data(const std::string& method) const {
  if (has_data_ || !needs_data(meta(method))) return {};
  return Diag(Code::usage, fmt::format("method '{}' keeps tensors in a .ptd file", method))
      .at_file(path_)
      .with_help("give it with --data FILE.ptd");
}

Result<Method*> Session::prepare(const std::string& name) {
  RETURN_IF_ERROR(check_data(name));
  ModuleError error;
  Method* method = module_->method(name, &error);
  if (!method) return load_diag(path_, device::refusal_of(error, nullptr));
  return method;
}

Result<device::Outcome> Session::call(const device::Call& call) {
  RETURN_IF_ERROR(check_data(call.method));
  return device_->call(call);
}

Result<device::FirmwareSize> Session::firmware_size(const std::string& method) const {
  device::FirmwareParts parts;
  parts.has_tables = plan_fixed_methods(program()).has_value();
  parts.loads = !parts.has_tables;
  for (size_t i = 0; i < meta(method).num_operators(); ++i)
    parts.operators.push_back(operator_text(meta(method).op(i)));
  return firmware_size(parts);
}

Result<device::FirmwareSize> Session::firmware_size(const device::FirmwareParts& parts) const {
  return device_->firmware_size(parts);
}

Diag Session::diag_of(const device::Refusal& refusal, const std::string& method) const {
  if (refusal.in_instruction) return execution_diag(path_, meta(method), refusal);
  if (refusal.kind != ErrorKind::invalid_argument) return load_diag(path_, refusal);
  return Diag(Code::usage, fmt::format("method '{}' does not take these inputs", method))
      .at_file(path_)
      .note(refusal.message);
}

Status Session::execute(const std::string& name, const std::vector<HostValue>& inputs,
                        std::vector<HostValue>* outputs) {
  device::Call request;
  request.method = name;
  request.inputs = &inputs;
  ASSIGN_OR_RETURN(device::Outcome outcome, call(request));
  if (outcome.refusal) return diag_of(*outcome.refusal, name);
  *outputs = std::move(outcome.outputs);
  return {};
}

Diag execution_diag(const std::string& path, const Method& method) {
  return execution_diag(path, method.meta(), device::refusal_of(method.last_error()));
}

Diag execution_diag(const std::string& path, const MethodMeta& method, const device::Refusal& refusal) {
  Diag diag(Code::execution,
            fmt::format("a check failed at run time: {} [{}]", refusal.message, error_name(refusal.code)));
  if (refusal.message.find("max_instructions") != std::string::npos)
    diag.help = "if the program needs that many, raise the limit: --limit instructions=N";
  if (refusal.message.find("more memory than the limit allows") != std::string::npos)
    diag.help = "raise the limit with --max-memory BYTES";
  if (refusal.in_instruction) {
    diag.where = instruction_source(method, refusal.chain, refusal.instruction);
    diag.where.file = path;
    if (method.check_message(refusal.chain, refusal.instruction)) {
      return std::move(diag).with_help(
          "the inputs break a rule of the model; give others, or export it for these (wick inspect lists the sizes)");
    }
    diag.notes.push_back(device::instruction_text(method, refusal.chain, refusal.instruction));
    if (!refusal.tensors.empty())
      diag.notes.push_back(fmt::format("its tensors: {}", fmt::join(refusal.tensors, ", ")));
  }
  diag.where.file = path;
  return diag;
}

NamedArray to_array(std::string name, HostValue value) {
  const uint8_t flag = value.boolean ? 1 : 0;
  switch (value.tag) {
    case Tag::integer: return number_array(std::move(name), DType::i64, &value.integer);
    case Tag::real: return number_array(std::move(name), DType::f64, &value.real);
    case Tag::boolean: return number_array(std::move(name), DType::boolean, &flag);
    default: break;
  }
  NamedArray array;
  array.name = std::move(name);
  array.dtype = value.tensor.dtype;
  array.sizes.assign(value.tensor.sizes.begin(), value.tensor.sizes.end());
  array.bytes = std::move(value.tensor.bytes);
  return array;
}

std::vector<NamedArray> output_arrays(const MethodFacts& facts, std::vector<HostValue> outputs) {
  std::vector<NamedArray> arrays;
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string name = output_name(facts, i);
    if (outputs[i].tag == Tag::string) fmt::print(stderr, "note: {} is a string and has no array\n", name);
    if (outputs[i].tag == Tag::none || outputs[i].tag == Tag::string) continue;
    arrays.push_back(to_array(std::move(name), std::move(outputs[i])));
  }
  return arrays;
}

}  // namespace wick::cli
