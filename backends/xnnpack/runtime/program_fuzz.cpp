// Runs any payload in a program that has the arguments and the named data it asks for: loaded and executed on the
// library under a memory limit. A hash of the bytes decides the rest: data of a wrong size or badly aligned, arguments
// of another dtype, smaller sizes, two threads. The library has no sanitizers, so the bytes between the arguments must
// stay as they are.
#include <stdlib.h>
#include <string.h>

#include "backends/xnnpack/payload/payload_memory.h"
#include "backends/xnnpack/test/payload_edit.h"
#include "runtime/platform/thread_pool.h"
#include "schema/test_program_builder.h"
#include "wick/method.h"
#include "wick/xnnpack_backend.h"

namespace {

using namespace wick;
using namespace wick::xnnpack;

constexpr uint64_t kMaxMemory = uint64_t{32} << 20;
constexpr uint64_t kMaxArena = uint64_t{8} << 20;
constexpr uint64_t kGuardBytes = 64;
constexpr uint8_t kGuard = 0xa5;

uint64_t hash_of(const uint8_t* data, size_t size) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001b3u;
  return hash;
}

/// How data and arguments differ from what the payload asks for.
struct Mutation {
  uint64_t bits;
  bool one_in(uint64_t count) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    return (bits >> 33) % count == 0;
  }
};

DType dtype_of(DataType type) {
  switch (type) {
    case DataType::fp16: return DType::f16;
    case DataType::bf16: return DType::bf16;
    case DataType::qint8: return DType::i8;
    case DataType::quint8: return DType::u8;
    case DataType::int32: return DType::i64;
    default: return DType::f32;
  }
}

/// Small floats that read as numbers in most formats.
std::string data_of(uint64_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = i % 4 == 3 ? '\x3e' : static_cast<char>(i * 37 % 251);
  return bytes;
}

/// Bytes that each constant of the payload must have; 0: nothing uses it.
std::vector<uint64_t> constant_sizes(const Payload& payload) {
  std::vector<uint64_t> sizes(payload.constants.size());
  for (const PayloadValue& value : payload.values) {
    uint64_t size_bytes = 0;
    if (value.constant != 0 && size_of(value, &size_bytes)) sizes[value.constant] = size_bytes;
    const Quantization& q = value.quantization;
    if (q.scale_constant == 0 || q.channel_dim < 0 || static_cast<size_t>(q.channel_dim) >= value.dims.size()) continue;
    const uint64_t channels = value.dims[static_cast<size_t>(q.channel_dim)];
    const bool is_grouped = q.kind == Quantization::Kind::per_group && q.group_size != 0;
    sizes[q.scale_constant] = is_grouped ? channels * (value.dims.back() / q.group_size) * 2 : channels * 4;
  }
  return sizes;
}

/// A program of one delegate call, and where its arguments lie in the arena.
struct Subject {
  schema::AlignedBytes file;
  std::vector<std::pair<uint64_t, uint64_t>> places;  // offset, bytes
  uint64_t arena_bytes = 0;
};

bool make(Payload& payload, Mutation& whim, Subject* subject) {
  schema::TestProgram program;
  if (whim.one_in(4)) program.segment_alignment = 1;
  const std::vector<uint64_t> sizes = constant_sizes(payload);
  for (size_t i = 1; i < sizes.size(); ++i) {
    payload.constants[i] = {};
    payload.constants[i].key = "c" + std::to_string(i);
    if (sizes[i] > kMaxArena || whim.one_in(200)) continue;
    program.add_named_data(payload.constants[i].key.c_str(), data_of(sizes[i] + (whim.one_in(200) ? 1 : 0)));
  }
  const bool is_dynamic = whim.one_in(2);
  program.arena_sizes = {0, 0};
  std::vector<int32_t> arguments(payload.num_externals, -1);
  uint64_t at = kGuardBytes;
  for (const PayloadValue& value : payload.values) {
    if (!value.is_input && !value.is_output) continue;
    if (value.external_id >= arguments.size()) return false;
    schema::TestTensor tensor{.dtype = dtype_of(value.type), .memory_id = 1, .memory_offset = at};
    if (whim.one_in(200)) tensor.dtype = DType::f64;
    if (is_dynamic) tensor.dynamism = pte::ShapeDynamism::DYNAMIC_BOUND;
    uint64_t bytes = dtype_size_bytes(tensor.dtype);
    for (const uint32_t dim : value.dims) {
      if (dim > kMaxArena || __builtin_mul_overflow(bytes, dim, &bytes)) return false;
      tensor.sizes.push_back(static_cast<int32_t>(dim));
    }
    if (bytes > kMaxArena) return false;
    subject->places.emplace_back(at, bytes);
    at += (bytes + kGuardBytes + 63) / 64 * 64;
    if (at > kMaxArena) return false;
    arguments[value.external_id] = program.tensor(tensor);
    (value.is_input ? program.inputs : program.outputs).push_back(arguments[value.external_id]);
  }
  for (const int32_t argument : arguments) {
    if (argument < 0) return false;
  }
  subject->arena_bytes = at;
  program.arena_sizes[1] = static_cast<int64_t>(at);
  program.delegate_call(program.delegate(kBackendId, write_payload(payload)), arguments);
  subject->file = program.build();
  return true;
}

/// All arguments' sizes, halved or not.
void set_inputs(Method& method, bool halved) {
  const MethodMeta& meta = method.meta();
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    Tensor* tensor = method.input_in_place(i);
    if (!tensor) continue;
    int32_t sizes[wick::kMaxRank];
    const Span<const int32_t> whole = meta.input_value(i).tensor.sizes;
    for (size_t d = 0; d < whole.size(); ++d) sizes[d] = halved ? (whole[d] + 1) / 2 : whole[d];
    (void)resize(*tensor, {sizes, whole.size()});
    const std::string data = data_of(tensor->nbytes());
    if (!data.empty()) memcpy(tensor->data, data.data(), data.size());
  }
}

void check_guards(const Subject& subject, const schema::AlignedBytes& arena) {
  uint64_t at = 0;
  for (const auto& [offset, bytes] : subject.places) {
    for (; at < offset; ++at) {
      if (arena.data()[at] != kGuard) abort();
    }
    at = offset + bytes;
  }
  for (; at < arena.size(); ++at) {
    if (arena.data()[at] != kGuard) abort();
  }
}

void run(const Subject& subject, Mutation& whim) {
  static ThreadPool* pool = new ThreadPool(2);
  char buffer[512];
  ErrorText text(buffer);
  const Result<Program> program = Program::load(subject.file.span(), {&text});
  if (!program.ok()) return;
  const MethodMeta meta = program->method(0);
  const schema::AlignedBytes arena(std::vector<uint8_t>(subject.arena_bytes, kGuard));
  const schema::AlignedBytes method_arena(std::vector<uint8_t>(Method::required_bytes(meta)));
  const Span<uint8_t> arenas[] = {arena.mutable_span()};
  const Backend* const backends[] = {&xnnpack_backend()};
  MethodOptions options;
  options.backends = Span<const Backend* const>(backends);
  options.parallelism = whim.one_in(4) ? pool : nullptr;
  options.max_delegate_bytes = kMaxMemory;
  options.text = &text;
  Result<Method> method =
      Method::load(meta, {method_arena.mutable_span(), Span<const Span<uint8_t>>(arenas), {}}, options);
  if (!method.ok()) return;
  for (const bool halved : {false, true, false, false}) {
    set_inputs(*method, halved);
    (void)method->execute();
    check_guards(subject, arena);
  }
}

}  // namespace

#ifdef WICK_FUZZ
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  const std::vector<uint8_t> blob = seed % 16 == 0 ? std::vector<uint8_t>() : edit_payload({data, size}, seed);
  if (blob.empty() || blob.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(data, blob.data(), blob.size());
  return blob.size();
}
#endif

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Payload payload;
  if (read_payload({data, size}, &payload, nullptr) != Error::Ok) return 0;
  Mutation whim{hash_of(data, size)};
  Subject subject;
  if (!make(payload, whim, &subject)) return 0;
  run(subject, whim);
  return 0;
}
