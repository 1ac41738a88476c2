#include "compiler/ops/families.h"

namespace wick::compiler {

std::vector<Family> op_families() {
  return {
      {kActivationRows, kActivationCount},
      {kAliasRows, kAliasCount},
      {kAttentionRows, kAttentionCount},
      {kControlRows, kControlCount},
      {kConvolutionRows, kConvolutionCount},
      {kCreationRows, kCreationCount},
      {kDetectionRows, kDetectionCount},
      {kEinsumRows, kEinsumCount},
      {kHigherOrderRows, kHigherOrderCount},
      {kIndexingRows, kIndexingCount},
      {kInPlaceRows, kInPlaceCount},
      {kLinearAlgebraRows, kLinearAlgebraCount},
      {kLossRows, kLossCount},
      {kMovementRows, kMovementCount},
      {kNormalizationRows, kNormalizationCount},
      {kPaddingRows, kPaddingCount},
      {kPointwiseBinaryRows, kPointwiseBinaryCount},
      {kPointwiseUnaryRows, kPointwiseUnaryCount},
      {kPoolingRows, kPoolingCount},
      {kQuantizedRows, kQuantizedCount},
      {kRandomRows, kRandomCount},
      {kRecurrentRows, kRecurrentCount},
      {kReductionRows, kReductionCount},
      {kResizeRows, kResizeCount},
      {kSpectralRows, kSpectralCount},
      {kViewRows, kViewCount},
      {kWindowRows, kWindowCount},
  };
}

}  // namespace wick::compiler
