// Computes changed weights. They are described as changes of the old ones, so that no second copy is stored.
#include <string.h>

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/passes/constants/changed_rows.h"
#include "compiler/passes/constants/weights.h"

namespace wick::compiler {
namespace {

// The number of rows summed together. The order of additions in a sum is fixed, so each addition waits for the one
// before; sums of several rows need not wait for each other.
constexpr size_t kRows = 8;

// out[r] += the sum of values[r * length + i] * factors[i], added one after the other.
template <size_t kCount>
void add_products(const double* values, size_t length, const double* factors, double* out) {
  double sums[kCount];
  std::copy_n(out, kCount, sums);
  for (size_t i = 0; i < length; ++i) {
    for (size_t r = 0; r < kCount; ++r) sums[r] += values[r * length + i] * factors[i];
  }
  std::copy_n(sums, kCount, out);
}
void add_products(const double* values, size_t rows, size_t length, const double* factors, double* out) {
  if (rows == kRows) return add_products<kRows>(values, length, factors, out);
  for (size_t r = 0; r < rows; ++r) add_products<1>(values + r * length, length, factors, out + r);
}

// Appends, for each block [channels, inner], the `inner` means over its channels. At most kRows blocks.
void add_means(const double* values, size_t blocks, size_t channels, size_t inner, Reals64& out) {
  Reals64 means(blocks * inner);
  if (inner == 1) {
    add_products(values, blocks, channels, Reals64(channels, 1).data(), means.data());
  } else {
    for (size_t b = 0; b < blocks; ++b) {
      for (size_t i = 0; i < channels * inner; ++i) means[b * inner + i % inner] += values[b * channels * inner + i];
    }
  }
  for (const double mean : means) out.push_back(mean / static_cast<double>(channels));
}

// The weights of a layer as they lie in memory: rows of `columns` channels with `kernel` taps each.
class WeightRows {
 public:
  WeightRows(const LinearLayer& p, const LayerChange& change)
      : p_(p), change_(change), weight_(*p.weight()), columns_((p.input_first ? p.outputs : p.inputs) / p.groups) {
    row_change_.groups = p.groups;
    row_change_.row_scale = p.input_first ? change.input_scale : change.output_scale;
    for (const double scale : p.input_first ? change.output_scale : change.input_scale)
      row_change_.column_scale.insert(row_change_.column_scale.end(), p.kernel, scale);
  }

  size_t count() const { return p_.input_first ? p_.inputs : p_.outputs; }
  size_t length() const { return columns_ * p_.kernel; }

  // The change of the weights' rows. Adds to `bias` what a shift of the inputs contributes.
  RowChange change(Reals64& bias) {
    const bool by_rows = change_.centred && p_.input_first, by_columns = change_.centred && !p_.input_first;
    if (!change_.centred && change_.input_shift.empty()) return std::move(row_change_);
    const bool scales = !row_change_.changes_nothing();
    Reals64 values(kRows * length()), row_means, sums(by_columns ? length() : 0);
    for (size_t row = 0; row < count();) {
      const size_t rows = read(row, values.data());
      if (!change_.input_shift.empty()) add_shift(row, rows, values.data(), bias);
      if (change_.centred && scales) scale(row, rows, values.data());
      if (by_rows) add_means(values.data(), rows, columns_, p_.kernel, row_means);
      for (size_t i = 0; i < (by_columns ? rows * length() : 0); i += length()) {
        for (size_t at = 0; at < length(); ++at) sums[at] += values[i + at];
      }
      row += rows;
    }
    for (double& sum : sums) sum /= static_cast<double>(p_.outputs);
    row_change_.row_means = std::move(row_means);
    row_change_.column_means = std::move(sums);
    return std::move(row_change_);
  }

 private:
  // Reads rows of one group: as many as are left, at most kRows. Returns how many.
  size_t read(size_t row, double* out) {
    const size_t group_rows = count() / p_.groups, group_end = (row / group_rows + 1) * group_rows;
    const size_t rows = std::min(kRows, group_end - row);
    const size_t row_bytes = length() * dtype_size_bytes(weight_.dtype());
    load_reals(weight_.dtype(), read_rows(weight_.data, row_bytes, row, rows, space_), rows * length(), out);
    return rows;
  }

  // The channel of the first column of a row.
  size_t first_channel(size_t row) const { return row / (count() / p_.groups) * columns_; }

  void scale(size_t row, size_t rows, double* values) const {
    for (size_t r = row; r < row + rows; ++r, values += length()) {
      const double factor = row_change_.row_scale.empty() ? 1 : row_change_.row_scale[r];
      if (row_change_.column_scale.empty()) {
        for (size_t i = 0; i < length(); ++i) values[i] *= factor;
      } else {
        const double* columns = &row_change_.column_scale[first_channel(r) * p_.kernel];
        for (size_t i = 0; i < length(); ++i) values[i] *= factor * columns[i];
      }
    }
  }

  void add_shift(size_t row, size_t rows, const double* values, Reals64& bias) const {
    const Reals64& amounts = change_.input_shift;
    const size_t first = first_channel(row);
    if (!p_.input_first) {
      Reals64 factors(length());
      for (size_t i = 0; i < factors.size(); ++i) factors[i] = amounts[first + i / p_.kernel];
      return add_products(values, rows, length(), factors.data(), bias.data() + row);
    }
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns_; ++c) {
        for (size_t k = 0; k < p_.kernel; ++k) bias[first + c] += *values++ * amounts[row + r];
      }
    }
  }

  const LinearLayer& p_;
  const LayerChange& change_;
  const Value& weight_;
  const size_t columns_;
  RowChange row_change_;
  std::vector<uint8_t> space_;
};

void finish_bias(const LinearLayer& p, const LayerChange& change, Reals64& bias) {
  const auto at_or = [](const Reals64& values, size_t o, double other) { return values.empty() ? other : values[o]; };
  for (size_t o = 0; o < p.outputs; ++o)
    bias[o] = bias[o] * at_or(change.output_scale, o, 1) + at_or(change.output_shift, o, 0);
  if (!change.centred) return;
  double mean = 0;
  for (double value : bias) mean += value;
  for (double& value : bias) value -= mean / static_cast<double>(p.outputs);
}

// The types of the new weights, and whether there is a bias; without bytes.
NewWeights described(const LinearLayer& p, bool adds_bias) {
  const Value &weight = *p.weight(), *bias = p.bias();
  NewWeights out;
  out.weight_type = weight.tensor();
  out.has_bias = bias || adds_bias;
  out.bias_type = bias ? bias->tensor() : TensorType{weight.dtype(), {Sym(static_cast<int64_t>(p.outputs))}, {}};
  return out;
}

}  // namespace

std::optional<NewWeights> changed_weights(const LinearLayer& p, const LayerChange& change) {
  if (change.centred && p.groups != 1) return std::nullopt;
  if (!change.input_shift.empty() && p.padded) return std::nullopt;
  NewWeights out = described(p, !change.input_shift.empty() || !change.output_shift.empty());
  out.changes_result = change.centred || !change.output_scale.empty() || !change.output_shift.empty();
  const Value& weight = *p.weight();
  Reals64 bias = p.bias() ? reals_of(*p.bias()) : Reals64(p.outputs, 0);
  WeightRows rows(p, change);
  const size_t count = rows.count();
  auto changed = changed_rows(weight.data, weight.dtype(), count, rows.change(bias));
  if (!changed) return std::nullopt;
  finish_bias(p, change, bias);
  const FreshBytes bias_bytes(p.outputs * dtype_size_bytes(weight.dtype()));
  if (!store_reals(weight.dtype(), bias.data(), bias.size(), bias_bytes.bytes.get())) return std::nullopt;
  out.weight = std::move(*changed);
  if (out.has_bias) out.bias = bias_bytes.data();
  return out;
}

NewWeights weights_of_outputs(const LinearLayer& p, size_t first, size_t count) {
  NewWeights out = described(p, false);
  const ConstantData& weight = p.weight()->data;
  const size_t item = dtype_size_bytes(p.weight()->dtype());
  out.weight_type.sizes[p.input_first ? 1 : 0] = Sym(static_cast<int64_t>(count));
  out.weight = p.input_first ? columns_of_rows(weight, p.outputs * item, first * item, count * item)
                             : weight.part(first * p.inputs * item, count * p.inputs * item);
  if (!out.has_bias) return out;
  out.bias = p.bias()->data.part(first * item, count * item);
  out.bias_type.sizes = {Sym(static_cast<int64_t>(count))};
  return out;
}

Value* centred_constant(Graph& graph, Node* before, const Value& constant, size_t dim) {
  const auto sizes = static_sizes(constant.sizes());
  if (!sizes || !has_reals(&constant)) return nullptr;
  size_t inner = 1, outer = 1;
  const auto channels = static_cast<size_t>((*sizes)[dim]);
  for (size_t i = 0; i < sizes->size(); ++i)
    (i < dim ? outer : i > dim ? inner : outer) *= i == dim ? 1 : static_cast<size_t>((*sizes)[i]);
  const size_t block = channels * inner, block_bytes = block * dtype_size_bytes(constant.dtype());
  if (channels == 0 || constant.data.size_bytes() != outer * block_bytes) return nullptr;
  RowChange change;
  Reals64 values(kRows * block);
  std::vector<uint8_t> space;
  for (size_t at = 0; at < outer; at += kRows) {
    const size_t count = std::min(kRows, outer - at);
    load_reals(constant.dtype(), read_rows(constant.data, block_bytes, at, count, space), count * block, values.data());
    add_means(values.data(), count, channels, inner, change.row_means);
  }
  auto centred = changed_rows(constant.data, constant.dtype(), outer, std::move(change));
  return centred ? Builder(graph, before).constant(constant.tensor(), std::move(*centred), constant.name) : nullptr;
}

}  // namespace wick::compiler
