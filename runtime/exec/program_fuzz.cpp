// Any bytes as a .pte: an error, or methods that load and run without leaving their memory.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/exec/prim_ops.h"
#include "runtime/kernels/portable_table.h"
#include "wick/method.h"

namespace {

using namespace wick;

constexpr uint64_t kMaxArenaBytes = 1 << 20;

/// A block of exactly the size asked for, so that the sanitizer sees each step outside.
struct Block {
  explicit Block(size_t size_bytes)
      : bytes(static_cast<uint8_t*>(aligned_alloc(64, (size_bytes + 63) / 64 * 64)), size_bytes) {
    if (size_bytes != 0) memset(bytes.data(), 0, size_bytes);
  }
  ~Block() { free(bytes.data()); }
  Block(const Block&) = delete;
  Span<uint8_t> bytes;
};

void set_inputs(Method& method, const MethodMeta& meta) {
  static uint8_t memory[1 << 16];
  for (size_t i = 0; i < meta.num_inputs(); ++i) {
    const ValueMeta value = meta.input_value(i);
    if (value.tag != Tag::tensor) continue;
    if (method.input_in_place(i)) continue;
    if (value.tensor.nbytes > sizeof memory) continue;
    int32_t sizes[kMaxRank];
    int32_t strides[kMaxRank];
    Tensor tensor;
    tensor.dtype = value.tensor.dtype;
    tensor.rank = static_cast<uint8_t>(value.tensor.sizes.size());
    tensor.sizes = sizes;
    tensor.strides = strides;
    tensor.dim_order = value.tensor.dim_order.data();
    for (size_t d = 0; d < tensor.rank; ++d) sizes[d] = value.tensor.sizes[d];
    if (compute_layout(tensor) != Error::Ok) abort();
    tensor.data = memory;
    (void)method.set_input(i, tensor);
  }
}

void run(const MethodMeta& meta) {
  std::vector<Block*> blocks;
  std::vector<Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    if (meta.arena_bytes(i) > kMaxArenaBytes || i > 16) break;
    blocks.push_back(new Block(static_cast<size_t>(meta.arena_bytes(i))));
    arenas.push_back(blocks.back()->bytes);
  }
  {
    static Block temp(1 << 16);
    const Block method_arena(Method::required_bytes(meta));
    const KernelTable tables[] = {portable_kernels(), prim_kernels()};
    char buffer[1024];
    ErrorText text(buffer);
    MethodOptions options;
    options.kernels = Span<const KernelTable>(tables);
    options.max_instructions = 200;
    options.text = &text;
    Result<Method> method =
        Method::load(meta, {method_arena.bytes, {arenas.data(), arenas.size()}, temp.bytes}, options);
    for (int i = 0; i < 2 && method.ok(); ++i) {
      set_inputs(*method, meta);
      if (method->execute() != Error::Ok) method->last_error().append_to(text);
    }
  }
  for (Block* block : blocks) delete block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Block file(size);
  if (size != 0) memcpy(file.bytes.data(), data, size);
  char buffer[1024];
  ErrorText text(buffer);
  const Result<Program> program = Program::load(file.bytes, {&text});
  if (!program.ok()) return 0;
  for (size_t i = 0; i < program->num_methods() && i < 4; ++i) run(program->method(i));
  return 0;
}
