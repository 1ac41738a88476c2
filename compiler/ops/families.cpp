#include "compiler/ops/families.h"

namespace wick::compiler {

std::vector<Family> op_families() {
  return {
      {kActivationRows, kActivationCount},
      {kAliasRows, kAliasCount},
      {kAttentionRows, kAttentionCount},
      {kAudioRows, kAudioCount},
      {kBackwardRows, kBackwardCount},
      {kControlRows, kControlCount},
      {kConvolutionRows, kConvolutionCount},
      {kCreationRows, kCreationCount},
      {kDetectionRows, kDetectionCount},
      {kEinsumRows, kEinsumCount},
      {kFactorizationRows, kFactorizationCount},
      {kHigherOrderRows, kHigherOrderCount},
      {kIndexingRows, kIndexingCount},
      {kInPlaceRows, kInPlaceCount},
      {kLanguageModelRows, kLanguageModelCount},
      {kLinearAlgebraRows, kLinearAlgebraCount},
      {kLossRows, kLossCount},
      {kMovementRows, kMovementCount},
      {kNormalizationRows, kNormalizationCount},
      {kNumericRows, kNumericCount},
      {kPaddingRows, kPaddingCount},
      {kPointwiseBinaryRows, kPointwiseBinaryCount},
      {kPointwiseUnaryRows, kPointwiseUnaryCount},
      {kPoolingRows, kPoolingCount},
      {kQuantizedRows, kQuantizedCount},
      {kRandomRows, kRandomCount},
      {kRecurrentRows, kRecurrentCount},
      {kReductionRows, kReductionCount},
      {kResizeRows, kResizeCount},
      {kSpecialRows, kSpecialCount},
      {kSpectralRows, kSpectralCount},
      {kTransformerRows, kTransformerCount},
      {kViewRows, kViewCount},
      {kWindowRows, kWindowCount},
  };
}

}  // namespace wick::compiler
