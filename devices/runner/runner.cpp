#include "devices/runner/runner.h"

#include <string.h>

#include <new>

#include "devices/protocol.h"
#include "devices/runner/programs.h"
#include "devices/runner/stack_use.h"

extern "C" {
extern uint8_t bulk_begin, bulk_end;
}

namespace wick::device {
namespace {

constexpr int kUsage = 64;

int fault_file = board::kNoFile;
FaultReport where;  // phase and instruction that run now

void report_fault(const board::Fault& fault) {
  where.fault = fault;
  board::write_all(fault_file, &where, sizeof where);
  board::exit(kUsage + 1);
}

inline void mark_budget() { asm volatile(".short %c0" ::"i"(WICK_DEVICE_BUDGET) : "memory"); }
inline void mark_snapshot() { asm volatile(".short %c0" ::"i"(WICK_DEVICE_SNAPSHOT) : "memory"); }

/// Hooks around each instruction: they mark snapshots and write results.
struct Hooks {
  Writer* reply;
  Watch watch = Watch::nothing;

  static void begin(void* state, const InstructionInfo& instruction);
  static void end(void* state, const InstructionInfo& instruction, Error error);
};

void write_sizes(Writer& reply, const Tensor& tensor) {
  reply.u32(static_cast<uint32_t>(tensor.dtype));
  reply.u32(tensor.rank);
  reply.bytes(tensor.sizes, tensor.rank * sizeof(int32_t));
}

void write_tensor(Writer& reply, const Tensor& tensor) {
  write_sizes(reply, tensor);
  reply.bytes(tensor.dim_order, tensor.rank);
  reply.u32(static_cast<uint32_t>(tensor.nbytes()));
  reply.bytes(tensor.data, tensor.nbytes());
}

bool has_elements(const Tensor* tensor) { return tensor && (tensor->data || tensor->numel == 0); }

/// The tensors in the last argument, which is the return slot.
void write_results(Writer& reply, const InstructionInfo& instruction) {
  reply.u32(static_cast<uint32_t>(Reply::results));
  const EValue* slot = instruction.kind != InstructionKind::kernel || instruction.args.empty()
                           ? nullptr
                           : instruction.args[instruction.args.size() - 1];
  Tensor* one = slot && slot->tag == Tag::tensor ? slot->tensor : nullptr;
  Span<Tensor*> tensors(&one, one ? 1 : 0);
  if (slot && slot->tag == Tag::tensor_list) tensors = slot->tensors();
  uint32_t count = 0;
  for (const Tensor* tensor : tensors) count += has_elements(tensor) ? 1 : 0;
  reply.u32(count);
  for (const Tensor* tensor : tensors) {
    if (has_elements(tensor)) write_tensor(reply, *tensor);
  }
}

void Hooks::begin(void* state, const InstructionInfo& instruction) {
  where.chain = instruction.chain;
  where.instruction = instruction.index;
  where.in_instruction = 1;
  if (static_cast<Hooks*>(state)->watch == Watch::steps) mark_snapshot();
}

void Hooks::end(void* state, const InstructionInfo& instruction, Error error) {
  const Hooks& hooks = *static_cast<Hooks*>(state);
  if (hooks.watch == Watch::steps) mark_snapshot();
  where.in_instruction = 0;
  if (error != Error::Ok || hooks.watch < Watch::steps) return;
  hooks.reply->u32(static_cast<uint32_t>(Reply::step));
  hooks.reply->u32(instruction.chain);
  hooks.reply->u32(instruction.index);
  if (hooks.watch == Watch::results) write_results(*hooks.reply, instruction);
}

/// A value of a request. If it is a tensor, the members hold it.
struct Input {
  EValue value;
  Tensor tensor;
  int32_t sizes[kMaxRank], strides[kMaxRank];
  uint8_t dim_order[kMaxRank];

  Problem read(Reader& request, Memory& memory, ErrorText& text);

 private:
  Problem read_tensor(Reader& request, Memory& memory, ErrorText& text);
  Problem read_string(Reader& request, Memory& memory, ErrorText& text);
};

static_assert(sizeof(Input) <= ProgramOnDevice::kInputBytes, "an input takes more than is reserved for it");

Problem no_memory(ErrorText& text) {
  text.append("the device has no memory for an input");
  return {ErrorKind::out_of_memory, Error::MemoryAllocationFailed};
}

Problem Input::read_tensor(Reader& request, Memory& memory, ErrorText& text) {
  tensor.dtype = static_cast<DType>(request.u32());
  const uint32_t rank = request.u32();
  if (rank > kMaxRank) {
    text.append("an input of rank ", rank);
    return {ErrorKind::invalid_argument, Error::InvalidArgument};
  }
  tensor.rank = static_cast<uint8_t>(rank);
  tensor.sizes = sizes;
  tensor.strides = strides;
  tensor.dim_order = dim_order;
  request.bytes(sizes, rank * sizeof sizes[0]);
  request.bytes(dim_order, rank);
  const uint32_t size_bytes = request.u32();
  const Error error = compute_layout(tensor);
  if (error != Error::Ok || tensor.nbytes() != size_bytes) {
    text.append("the sizes of an input do not fit its bytes");
    return {ErrorKind::invalid_argument, Error::InvalidArgument};
  }
  tensor.capacity_bytes = size_bytes;
  tensor.data = memory.take(size_bytes);
  if (!tensor.data) return no_memory(text);
  request.bytes(tensor.data, size_bytes);
  value = EValue::of_tensor(&tensor);
  return {};
}

Problem Input::read_string(Reader& request, Memory& memory, ErrorText& text) {
  char* string = reinterpret_cast<char*>(memory.take(kMaxTextBytes));
  if (!string) return no_memory(text);
  request.string(string, kMaxTextBytes);
  value.tag = Tag::string;
  value.string.data = string;
  value.string.size = strlen(string);
  return {};
}

Problem Input::read(Reader& request, Memory& memory, ErrorText& text) {
  const Tag tag = static_cast<Tag>(request.u32());
  switch (tag) {
    case Tag::none: value = EValue(); return {};
    case Tag::tensor: return read_tensor(request, memory, text);
    case Tag::string: return read_string(request, memory, text);
    case Tag::real: value = EValue::of_real(request.f64()); return {};
    case Tag::boolean: value = EValue::of_bool(request.u64() != 0); return {};
    default: value = EValue::of_int(static_cast<int64_t>(request.u64())); return {};
  }
}

class Runner {
 public:
  Runner(int requests, int replies)
      : request_(requests),
        reply_(replies),
        tracer_{Hooks::begin, Hooks::end, &hooks_},
        program_({&bulk_begin, static_cast<size_t>(&bulk_end - &bulk_begin)}, runner_kernels()) {
    hooks_.reply = &reply_;
  }
  /// Serves requests until they end. Returns the exit status.
  int serve();

 private:
  void load();
  void call();
  Problem set_inputs(Method& method, uint32_t count);
  void write_value(const EValue& value);
  void write_problem(const Problem& problem, const MethodError* error);
  Error execute(Method& method, Watch watch);

  Reader request_;
  Writer reply_;
  Hooks hooks_;
  Tracer tracer_;
  ProgramOnDevice program_;
  char buffer_[16384];
  ErrorText text_{buffer_};
  char name_[kMaxTextBytes];
  size_t load_stack_bytes_ = 0, execute_stack_bytes_ = 0;
};

void Runner::write_problem(const Problem& problem, const MethodError* error) {
  reply_.u32(static_cast<uint32_t>(Reply::failed));
  reply_.u32(static_cast<uint32_t>(problem.kind));
  reply_.u32(static_cast<uint32_t>(problem.error));
  const bool in_instruction = error && error->in_instruction;
  reply_.string(text_.c_str());
  reply_.u32(in_instruction ? 1 : 0);
  reply_.u32(in_instruction ? error->instruction.chain : 0);
  reply_.u32(in_instruction ? error->instruction.index : 0);
  uint32_t count = 0;
  const Span<EValue* const> args = in_instruction ? error->instruction.args : Span<EValue* const>();
  for (const EValue* arg : args) count += arg->tag == Tag::tensor ? 1 : 0;
  reply_.u32(count);
  for (const EValue* arg : args) {
    if (arg->tag == Tag::tensor) write_sizes(reply_, *arg->tensor);
  }
}

void Runner::load() {
  LoadSettings settings;
  const uint32_t version = request_.u32();
  settings.seed = request_.u64();
  settings.max_instructions = request_.u64();
  settings.tracer = request_.u32() != 0 ? &tracer_ : nullptr;
  settings.num_files = request_.u32();
  where.phase = Phase::loading_program;
  Problem problem = {ErrorKind::not_supported, Error::NotSupported};
  if (version != kProtocolVersion) {
    text_.append("the runner on the device is of another version of Wick");
  } else if (settings.num_files == 0 || settings.num_files > 1 + ProgramOnDevice::kMaxDataFiles) {
    text_.append("the device takes at most ", static_cast<uint64_t>(ProgramOnDevice::kMaxDataFiles), " .ptd files");
  } else {
    const StackUse stack;
    problem = program_.load(settings, request_, text_);
    load_stack_bytes_ = stack.bytes();
  }
  if (problem.error != Error::Ok) return write_problem(problem, nullptr);
  reply_.u32(static_cast<uint32_t>(Reply::loaded));
  reply_.u32(static_cast<uint32_t>(&bulk_end - &bulk_begin));
}

Problem Runner::set_inputs(Method& method, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    Memory& memory = program_.memory();
    Input* input = reinterpret_cast<Input*>(memory.take(sizeof(Input)));
    Problem problem = input ? (new (input) Input)->read(request_, memory, text_) : no_memory(text_);
    if (problem.error != Error::Ok) return problem;
    const Error error = method.set_input(i, input->value);
    if (error == Error::Ok) continue;
    text_.append("input ", i);
    text_.append(": ", method.last_error().message);
    return {ErrorKind::invalid_argument, error};
  }
  return {};
}

Error Runner::execute(Method& method, Watch watch) {
  hooks_.watch = watch;
  where.phase = Phase::executing;
  const StackUse stack;
  if (watch != Watch::counts && watch != Watch::steps) return method.execute();
  mark_snapshot();
  const Error error = method.execute();
  mark_snapshot();
  execute_stack_bytes_ = stack.bytes();
  return error;
}

void Runner::write_value(const EValue& value) {
  reply_.u32(static_cast<uint32_t>(value.tag));
  switch (value.tag) {
    case Tag::tensor: return write_tensor(reply_, *value.tensor);
    case Tag::integer: return reply_.i64(value.integer);
    case Tag::boolean: return reply_.i64(value.boolean ? 1 : 0);
    case Tag::real: return reply_.f64(value.real);
    case Tag::string: return reply_.string(value.string.data, value.string.size);
    default: return;
  }
}

void Runner::call() {
  request_.string(name_, sizeof name_);
  const Watch watch = static_cast<Watch>(request_.u32());
  const uint32_t count = request_.u32();
  where.phase = Phase::loading_method;
  Problem problem;
  Method* method = program_.method(name_, &problem, text_);
  if (!method) return write_problem(problem, nullptr);
  where.phase = Phase::setting_inputs;
  const size_t mark = program_.memory().mark();
  problem = set_inputs(*method, count);
  if (problem.error == Error::Ok) problem.error = execute(*method, watch);
  program_.memory().back_to(mark);
  if (problem.error != Error::Ok) {
    if (text_.size() == 0) {
      problem.kind = method->last_error().kind();
      text_.append(method->last_error().message);
      return write_problem(problem, &method->last_error());
    }
    return write_problem(problem, nullptr);
  }
  const MethodMeta& meta = method->meta();
  reply_.u32(static_cast<uint32_t>(Reply::done));
  reply_.u32(static_cast<uint32_t>(load_stack_bytes_));
  reply_.u32(static_cast<uint32_t>(execute_stack_bytes_));
  reply_.u32(static_cast<uint32_t>(method->temp_peak_bytes()));
  reply_.u32(static_cast<uint32_t>(Method::required_bytes(meta)));
  reply_.u32(static_cast<uint32_t>(meta.num_outputs()));
  for (size_t i = 0; i < meta.num_outputs(); ++i) write_value(method->output(i));
}

int Runner::serve() {
  for (;;) {
    const uint32_t request = request_.u32();
    const uint64_t size_bytes = request_.u64();
    if (!request_.ok()) return 0;
    const uint64_t end = request_.position() + size_bytes;
    mark_budget();
    text_.clear();
    where = FaultReport();
    switch (static_cast<Request>(request)) {
      case Request::load: load(); break;
      case Request::call: call(); break;
      default: return kUsage;
    }
    where = FaultReport();
    request_.skip_to(end);  // the fields that a failed request did not read
    reply_.flush();
  }
}

/// Opens the file that the next word names.
int open_word(char** words, board::FileMode mode) {
  char* begin = *words;
  while (*begin == ' ') ++begin;
  char* end = begin;
  while (*end != ' ' && *end != '\0') ++end;
  *words = *end == '\0' ? end : end + 1;
  *end = '\0';
  return board::open_file(begin, mode);
}

alignas(Runner) uint8_t runner_bytes[sizeof(Runner)];

}  // namespace

// Arguments: the runner's name, requests, replies, fault report.
extern "C" int main() {
  char line[1024];
  if (!board::command_line(line, sizeof line)) return kUsage;
  char* words = strchr(line, ' ');
  if (!words) return kUsage;
  const int requests = open_word(&words, board::FileMode::read);
  const int replies = open_word(&words, board::FileMode::write);
  fault_file = open_word(&words, board::FileMode::write);
  if (requests == board::kNoFile || replies == board::kNoFile || fault_file == board::kNoFile) return kUsage;
  board::set_fault_handler(report_fault);
  return (new (runner_bytes) Runner(requests, replies))->serve();
}

}  // namespace wick::device
