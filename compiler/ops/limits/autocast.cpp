#include "compiler/ops/limits/autocast.h"

#include <algorithm>
#include <array>
#include <string>
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
// Registered for devices other than the CPU only.
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

// Whether the operand has size 1 in the dimension of the letter at index `at` of its `term`.
bool is_one(std::string_view term, size_t at, const Value* operand) {
  if (!operand || !operand->type.is_tensor()) return false;
  const size_t rank = operand->type.tensor.rank(), behind = term.size() - at;
  const size_t dim = at < term.find('.') ? at : rank - behind;
  return dim < rank && operand->sizes()[dim].is(1);
}

// Whether einsum computes the equation by a matmul: it sums over a letter of two operands. Otherwise, and for letters
// whose size is 1 in an operand, einsum multiplies elements and adds.
bool contracts(std::string_view equation, const Values& operands) {
  const size_t arrow = equation.find("->");
  const std::string_view result = arrow == std::string_view::npos ? "" : equation.substr(arrow + 2);
  std::string left(equation.substr(0, arrow));
  std::erase(left, ' ');
  // By letter: how many operands have it, and the number of the last of them, from 1.
  std::array<size_t, 256> found = {}, last = {};
  for (const char c : result) last[static_cast<uint8_t>(c)] = SIZE_MAX;
  size_t number = 1;
  for (size_t start = 0; start <= left.size(); ++number) {
    const std::string_view term = std::string_view(left).substr(start, left.find(',', start) - start);
    start += term.size() + 1;
    for (size_t at = 0; at < term.size(); ++at) {
      const auto letter = static_cast<uint8_t>(term[at]);
      if (letter == '.' || last[letter] >= number) continue;
      if (number <= operands.size() && is_one(term, at, operands[number - 1])) continue;
      last[letter] = number;
      if (++found[letter] == 2) return true;
    }
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
    return args[0].is<std::string>() && args[1].is<Values>() &&
                   contracts(args[0].as<std::string>(), args[1].as<Values>())
               ? Autocast::lowers
               : Autocast::keeps;
  if (has(kLowered, name) || (on_cpu ? has(kLoweredOnCpu, name) : has(kLoweredElsewhere, name)))
    return Autocast::lowers;
  return has(kMixed, name) || (on_cpu && has(kMixedOnCpu, name)) ? Autocast::mixes : Autocast::keeps;
}

}  // namespace wick::compiler
