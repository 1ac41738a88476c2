// Operators that torchaudio registers.
#include "compiler/ops/families.h"
#include "compiler/ops/rules.h"

namespace wick::compiler {
namespace {

// y_i = x_i - sum over k < order of y_{i - order + 1 + k} * a_k. The first order - 1 samples are those of `start`.
void infer_recursive_filter(Node& node) {
  const Value *x = node.tensor("input_signal_windows"), *a = node.tensor("a_coeff_flipped"),
              *start = node.tensor("padded_output_waveform");
  require_rank(x, 3, "a filtered signal");
  require_rank(a, 2, "the coefficients of a filter");
  require_rank(start, 3, "the output of a filter");
  require(x->dtype() == DType::f32 || x->dtype() == DType::f64, "a filter takes float32 and float64");
  require(a->dtype() == x->dtype() && start->dtype() == x->dtype(), "a filter and its signal differ in dtype");
  require_equal(a->sizes()[0], x->sizes()[1], "channels of a filter");
  require_equal(start->sizes()[0], x->sizes()[0], "batch of a filter");
  require_equal(start->sizes()[1], x->sizes()[1], "channels of a filter's output");
  require_equal(start->sizes()[2], x->sizes()[2] + a->sizes()[1] - 1, "samples of a filter's output");
  set_result(node, start->dtype(), start->sizes());
}

}  // namespace

const OpDef kAudioRows[] = {
    {"wick::recursive_filter(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor padded_output_waveform) -> "
     "Tensor",
     infer_recursive_filter, nullptr, "wick::recursive_filter.out", kNoStock, Cases(), &kManyTerms},
    {"torchaudio::_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) "
     "padded_output_waveform) -> Tensor(a!)",
     nullptr, nullptr, nullptr, kInPlace, Cases(), &kManyTerms, "wick.recursive_filter.default"},
};
const size_t kAudioCount = std::size(kAudioRows);

}  // namespace wick::compiler
