// Scratch sizes are those that CMSIS-NN asks for. cmsis_nn_scratch.inc holds hashes of them for seeded shapes.
#include <gtest/gtest.h>

#include "tests/cortex_m/scratch_cases.h"

namespace wick::vectors {
namespace {

using cortex_m::ConvolutionShape;
using cortex_m::ScratchBytes;

struct Block {
  ScratchKind kind;
  uint64_t first, hash;
};

constexpr Block kBlocks[] = {
#define SCRATCH(kind, first, hash) {ScratchKind::kind, first, hash},
#include "tests/cortex_m/cmsis_nn_scratch.inc"
#undef SCRATCH
};

uint64_t add(uint64_t hash, const ScratchBytes& bytes) {
  return hash_size(hash_size(hash_size(hash, bytes.mve), bytes.dsp), bytes.scalar);
}

uint64_t add(uint64_t hash, ScratchKind kind, const ConvolutionShape& shape) {
  switch (kind) {
    case ScratchKind::convolution: return add(hash, cortex_m::conv2d_scratch(shape));
    case ScratchKind::depthwise: return add(hash, cortex_m::depthwise_conv2d_scratch(shape));
    case ScratchKind::transposed: {
      const cortex_m::TransposedScratch scratch = cortex_m::transpose_conv2d_scratch(shape);
      return add(add(hash, scratch.rows), scratch.filter);
    }
    case ScratchKind::matmul: return add(hash, cortex_m::batch_matmul_scratch(shape.outputs));
    default: return add(hash, cortex_m::avg_pool2d_scratch(shape.channels));
  }
}

TEST(CortexMScratch, SizesAreThoseThatCmsisNnAsksFor) {
  EXPECT_EQ(std::size(kBlocks), 5 * kScratchSeeds / kScratchBlock);
  for (const Block& block : kBlocks) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint64_t seed = block.first; seed < block.first + kScratchBlock; ++seed)
      hash = add(hash, block.kind, make_scratch_shape(block.kind, seed));
    EXPECT_EQ(hash, block.hash) << "kind " << static_cast<int>(block.kind) << ", seeds from " << block.first;
  }
}

// A table whose shapes never reach a rule would prove nothing about it.
TEST(CortexMScratch, ShapesReachEveryRule) {
  int rows = 0, pointwise = 0, blocks = 0, one_channel = 0, small = 0, turned = 0;
  for (uint64_t seed = 0; seed < kScratchSeeds; ++seed) {
    const ConvolutionShape c = make_scratch_shape(ScratchKind::convolution, seed);
    const ScratchBytes bytes = cortex_m::conv2d_scratch(c);
    pointwise += bytes == ScratchBytes{};
    const int64_t columns = 4 * ((c.channels * c.kernel[0] * c.kernel[1] + 15) / 16 * 16);
    rows += bytes.mve != 0 && bytes.mve != columns;
    const ConvolutionShape d = make_scratch_shape(ScratchKind::depthwise, seed);
    const ScratchBytes depthwise = cortex_m::depthwise_conv2d_scratch(d);
    one_channel += d.channels == 1 && depthwise.mve != 0;
    blocks += depthwise.mve != 0 && depthwise.dsp != 0;
    small += depthwise.mve != 0 && depthwise.dsp == 0 && d.channels > 1;
    turned += cortex_m::transpose_conv2d_scratch(make_scratch_shape(ScratchKind::transposed, seed)).filter.mve != 0;
  }
  for (const int count : {rows, pointwise, blocks, one_channel, small, turned}) EXPECT_GT(count, 20);
}

TEST(CortexMScratch, SizesBeyondInt64AreTheLargest) {
  ConvolutionShape shape{};
  shape.channels = shape.outputs = INT64_MAX / 3;
  for (int axis = 0; axis < 2; ++axis) shape.kernel[axis] = 5, shape.input[axis] = shape.output[axis] = INT32_MAX;
  EXPECT_EQ(cortex_m::conv2d_scratch(shape).mve, INT64_MAX);
  EXPECT_EQ(cortex_m::depthwise_conv2d_scratch(shape).dsp, INT64_MAX);
  EXPECT_EQ(cortex_m::transpose_conv2d_scratch(shape).filter.scalar, INT64_MAX);
  EXPECT_EQ(cortex_m::batch_matmul_scratch(INT64_MAX).mve, INT64_MAX);
}

}  // namespace
}  // namespace wick::vectors
