#include "compiler/ops/limits/autocast.h"

#include <algorithm>
#include <string_view>

#include "wick/span.h"

namespace wick::compiler {
namespace {

// Source: PyTorch's ATen/autocast_mode.h and autocast_mode.cpp, whose registrations are without overloads; and eager,
// for composites of registered operators.
constexpr std::string_view kLowered[] = {
    "_addmm_activation",
    "_native_multi_head_attention",
    "_transformer_encoder_layer_fwd",
    "addbmm",
    "addmm",
    "affine_grid_generator",
    "baddbmm",
    "bmm",
    "chain_matmul",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "inner",
    "linalg_matmul",
    "linalg_matrix_power",
    "linalg_multi_dot",
    "linalg_pinv",
    "linalg_vecdot",
    "linear",
    "lstm",
    "matmul",
    "matrix_power",
    "mm",
    "prelu",
    "rnn_relu",
    "rnn_relu_cell",
    "rnn_tanh",
    "rnn_tanh_cell",
    "scaled_dot_product_attention",
};
// Registered for other devices only.
constexpr std::string_view kLoweredElsewhere[] = {
    "_convolution", "_scaled_dot_product_flash_attention",
    "addmv",        "addr",
    "convolution",  "einsum",
    "gru_cell",     "lstm_cell",
    "mv",
};
constexpr std::string_view kLoweredOnCpu[] = {"corrcoef", "cov", "tensordot"};
constexpr std::string_view kMixed[] = {"gru"};
constexpr std::string_view kMixedOnCpu[] = {"_trilinear", "bilinear", "gru_cell", "lstm_cell"};

bool has(Span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Does an equation sum over a letter of two operands, by a product of matrices? Else einsum multiplies and adds.
bool contracts(std::string_view equation) {
  const size_t arrow = equation.find("->");
  const std::string_view left = equation.substr(0, arrow);
  const std::string_view result = arrow == std::string_view::npos ? "" : equation.substr(arrow + 2);
  for (size_t i = 0; i < left.size(); ++i) {
    const size_t end = left.find(',', i);
    if (left[i] == ',' || left[i] == ' ' || left[i] == '.' || end == std::string_view::npos) continue;
    if (left.find(left[i], end) != std::string_view::npos && result.find(left[i]) == std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

Autocast autocast_of(const OpDef& def, const Args& args, bool on_cpu) {
  std::string_view name = def.name();
  if (!name.starts_with("aten.")) return Autocast::keeps;
  name.remove_prefix(5);
  name = name.substr(0, name.find('.'));
  if (name == "einsum" && on_cpu)
    return args[0].is<std::string>() && contracts(args[0].as<std::string>()) ? Autocast::lowers : Autocast::keeps;
  if (has(kLowered, name) || (on_cpu ? has(kLoweredOnCpu, name) : has(kLoweredElsewhere, name)))
    return Autocast::lowers;
  return has(kMixed, name) || (on_cpu && has(kMixedOnCpu, name)) ? Autocast::mixes : Autocast::keeps;
}

}  // namespace wick::compiler
