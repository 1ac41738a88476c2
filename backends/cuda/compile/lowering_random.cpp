// Where in the stream of random numbers each node draws.
#include "backends/cuda/compile/lowering.h"
#include "backends/cuda/compile/ops/arithmetic.h"

namespace wick::cuda {

Lowering::Draw Lowering::draw_blocks(const Sym& blocks) {
  if (out_.random == UINT32_MAX) {
    KernelBuffer buffer;
    buffer.kind = KernelBuffer::Kind::random;
    buffer.dtype = DType::i64;
    buffer.elements = 2;
    out_.random = static_cast<uint32_t>(out_.buffers.size());
    out_.buffers.push_back(std::move(buffer));
  }
  const auto wide = [this](const Sym& sym) { return pool().cast(pool().index(sym), ScalarType::i64); };
  ExpressionPtr first = pool().load(out_.random, DType::i64, pool().index(1));
  // Each number fits the type of indices, their sum may not.
  int64_t known = 0;
  for (const Sym& before : out_.random_blocks) {
    if (before.is_const())
      known += before.value();
    else
      first = add(pool(), first, wide(before));
  }
  constexpr int64_t kStep = int64_t{1} << 30;
  if (known >= kStep) first = add(pool(), first, mul(pool(), wide(known / kStep), wide(kStep)));
  if (known % kStep != 0) first = add(pool(), first, wide(known % kStep));
  out_.random_blocks.push_back(blocks);
  return {pool().load(out_.random, DType::i64, pool().index(0)), first};
}

}  // namespace wick::cuda
