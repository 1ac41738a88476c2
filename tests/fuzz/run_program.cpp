#include "tests/fuzz/run_program.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "runtime/exec/prim_ops.h"
#include "runtime/module/device_arenas.h"
#include "runtime/program/tensor_layout.h"
#include "tests/fuzz/block.h"
#include "tests/fuzz/random.h"
#include "wick/backends.h"
#include "wick/method.h"
#include "wick/unbounded_memory.h"

namespace wick::fuzz {
namespace {

constexpr uint64_t kMaxArenaBytes = 1 << 20;
constexpr uint64_t kMaxDelegateBytes = 32 << 20;
constexpr size_t kMaxInputBytes = 1 << 16;
constexpr uint64_t kMaxUnboundedBytes = 1 << 20;
constexpr int32_t kUnboundedSize = 3;

constexpr Allocator kHeap = {[](void*, size_t size_bytes, size_t alignment) {
                               return std::aligned_alloc(alignment,
                                                         (size_bytes + alignment - 1) / alignment * alignment);
                             },
                             [](void*, void* block, size_t, size_t) { std::free(block); }, nullptr};

enum class Pass { given, awkward, zeros };

// NaN, infinities, numbers beyond any index, in the order that a generator gives.
void fill_awkward(Span<uint8_t> bytes) {
  static constexpr uint64_t kWords[] = {0x7ff8000000000000, 0x7ff0000000000000, 0x7fc000007f800000, INT64_MAX,
                                        0x8000000000000000, UINT64_MAX,         0xff7fffff7f7fffff, 0x7e37e43c8800759c,
                                        0x0000000100000001, 0x3ff0000000000000, 0x0101010101010101, 0};
  Random random(1);
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint64_t)) {
    const uint64_t word = kWords[random.below(std::size(kWords))];
    memcpy(bytes.data() + at, &word, std::min(sizeof word, bytes.size() - at));
  }
}

void fill_input(Span<uint8_t> bytes, Pass pass, Span<const uint8_t> given) {
  if (bytes.empty()) return;
  if (pass == Pass::awkward) return fill_awkward(bytes);
  memset(bytes.data(), 0, bytes.size());
  if (pass == Pass::given && given.size() == bytes.size()) memcpy(bytes.data(), given.data(), bytes.size());
}

// `memory` is where inputs lie that the method has no memory for, until it has run.
void set_inputs(Method& method, const MethodMeta& meta, Pass pass, Span<const Span<const uint8_t>> given,
                std::deque<Block>& memory) {
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const ValueMeta value = meta.input_value(i);
    if (value.tag != Tag::tensor || value.tensor.nbytes > kMaxInputBytes) continue;
    const Span<const uint8_t> own = i < given.size() ? given[i] : Span<const uint8_t>();
    if (const Tensor* place = method.input_in_place(i)) {
      fill_input({static_cast<uint8_t*>(place->data), place->nbytes()}, pass, own);
      continue;
    }
    int32_t sizes[kMaxRank];
    int32_t strides[kMaxRank];
    Tensor tensor;
    if (describe_tensor(value.tensor, sizes, strides, &tensor) != Error::Ok) abort();
    if (value.tensor.dynamism == ShapeDynamism::unbounded) {
      for (size_t d = 0; d < tensor.rank; ++d) sizes[d] = sizes[d] == 0 ? kUnboundedSize : sizes[d];
      if (compute_layout(tensor) != Error::Ok || tensor.nbytes() > kMaxInputBytes) continue;
    }
    memory.emplace_back(tensor.nbytes());
    fill_input(memory.back().bytes(), pass, own);
    tensor.data = memory.back().bytes().data();
    (void)method.set_input(i, tensor);
  }
}

// An arena on a device: nobody on this host may touch it.
class Unreachable {
 public:
  explicit Unreachable(size_t size_bytes)
      : size_(size_bytes), data_(mmap(nullptr, mapped(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) abort();
  }
  ~Unreachable() { munmap(data_, mapped()); }
  Unreachable(const Unreachable&) = delete;
  Span<uint8_t> bytes() const { return {static_cast<uint8_t*>(data_), size_}; }

 private:
  size_t mapped() const { return std::max<size_t>(size_, 1); }
  const size_t size_;
  void* const data_;
};

bool run_method(const MethodMeta& meta, Span<const DataMap> data, Span<const Span<const uint8_t>> inputs,
                const char* device) {
  char buffer[1024];
  ErrorText text(buffer);
  if (check_device_arenas(meta, all_backends(), &text) != Error::Ok) return false;
  std::deque<Block> blocks;
  std::deque<Unreachable> on_devices;
  std::vector<Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    if (meta.arena_bytes(i) > kMaxArenaBytes || i > 16) return false;
    const auto size_bytes = static_cast<size_t>(meta.arena_bytes(i));
    arenas.push_back(backend_of_arena(meta, i, all_backends()) ? on_devices.emplace_back(size_bytes).bytes()
                                                               : blocks.emplace_back(size_bytes).bytes());
  }
  static const Block temp(1 << 16);
  const Block method_arena(Method::required_bytes(meta));
  std::vector<KernelTable> tables(all_kernels().begin(), all_kernels().end());
  tables.push_back(prim_kernels());
  UnboundedMemory unbounded(kHeap, kMaxUnboundedBytes);
  MethodOptions options;
  options.unbounded = &unbounded;
  options.kernels = Span<const KernelTable>(tables.data(), tables.size());
  options.data = data;
  options.backends = all_backends();
  options.max_delegate_bytes = kMaxDelegateBytes;
  options.delegates.device = device;
  options.max_instructions = 200;
  options.text = &text;
  Result<Method> method =
      Method::load(meta, {method_arena.bytes(), {arenas.data(), arenas.size()}, temp.bytes()}, options);
  if (!method.ok()) return false;
  bool any_succeeded = false;
  for (const Pass pass : {Pass::given, Pass::awkward, Pass::zeros}) {
    std::deque<Block> memory;
    set_inputs(*method, meta, pass, inputs, memory);
    const Error error = method->execute();
    if (error != Error::Ok) method->last_error().append_to(text);
    any_succeeded = any_succeeded || error == Error::Ok;
  }
  return any_succeeded;
}

}  // namespace

bool run_program(Span<const uint8_t> file, const DataMap* data, Span<const Span<const uint8_t>> inputs,
                 const char* device) {
  const Block copy(file);
  char buffer[1024];
  ErrorText text(buffer);
  const Result<Program> program = Program::load(copy.bytes(), {&text});
  if (!program.ok()) return false;
  bool any_succeeded = false;
  for (size_t i = 0; i < program->num_methods() && i < 4; ++i) {
    const bool succeeded =
        run_method(program->method(i), data ? Span<const DataMap>(data, 1) : Span<const DataMap>(), inputs, device);
    any_succeeded = any_succeeded || succeeded;
  }
  return any_succeeded;
}

}  // namespace wick::fuzz
