#include "tests/fuzz/run_program.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "runtime/exec/prim_ops.h"
#include "tests/fuzz/block.h"
#include "wick/method.h"
#include "wick/portable_kernels.h"

namespace wick::fuzz {
namespace {

constexpr uint64_t kMaxArenaBytes = 1 << 20;

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

void run_method(const MethodMeta& meta, Span<const DataMap> data) {
  std::deque<Block> blocks;
  std::vector<Span<uint8_t>> arenas;
  for (size_t i = 0; i < meta.num_arenas(); ++i) {
    if (meta.arena_bytes(i) > kMaxArenaBytes || i > 16) return;
    blocks.emplace_back(static_cast<size_t>(meta.arena_bytes(i)));
    arenas.push_back(blocks.back().bytes());
  }
  static const Block temp(1 << 16);
  const Block method_arena(Method::required_bytes(meta));
  const KernelTable tables[] = {portable_kernels(), prim_kernels()};
  char buffer[1024];
  ErrorText text(buffer);
  MethodOptions options;
  options.kernels = Span<const KernelTable>(tables);
  options.data = data;
  options.max_instructions = 200;
  options.text = &text;
  Result<Method> method =
      Method::load(meta, {method_arena.bytes(), {arenas.data(), arenas.size()}, temp.bytes()}, options);
  for (int i = 0; i < 2 && method.ok(); ++i) {
    set_inputs(*method, meta);
    if (method->execute() != Error::Ok) method->last_error().append_to(text);
  }
}

}  // namespace

void run_program(Span<const uint8_t> file, const DataMap* data) {
  const Block copy(file);
  char buffer[1024];
  ErrorText text(buffer);
  const Result<Program> program = Program::load(copy.bytes(), {&text});
  if (!program.ok()) return;
  for (size_t i = 0; i < program->num_methods() && i < 4; ++i)
    run_method(program->method(i), data ? Span<const DataMap>(data, 1) : Span<const DataMap>());
}

}  // namespace wick::fuzz
