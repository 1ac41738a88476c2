// The numbers of changed weights. Large weights are read and written row by row, so that no second copy of them exists.
#include <string.h>

#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/passes/weights.h"

namespace wick::compiler {
namespace {

// So many rows at a time: a sum whose order is given waits for its last addition, and several need not wait together.
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

// Each block [channels, inner], less its means over the channels. At most kRows blocks.
void centre(double* values, size_t blocks, size_t channels, size_t inner) {
  Reals64 means(blocks * inner);
  if (inner == 1) {
    add_products(values, blocks, channels, Reals64(channels, 1).data(), means.data());
  } else {
    for (size_t b = 0; b < blocks; ++b) {
      for (size_t i = 0; i < channels * inner; ++i) means[b * inner + i % inner] += values[b * channels * inner + i];
    }
  }
  for (double& mean : means) mean /= static_cast<double>(channels);
  for (size_t b = 0; b < blocks; ++b) {
    double* at = values + b * channels * inner;
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < inner; ++i) *at++ -= means[b * inner + i];
    }
  }
}

// The weights of a product as they lie in memory: rows of `columns` channels with `kernel` places each.
class Rows {
 public:
  Rows(const Product& p, const ProductChange& change)
      : p_(p),
        change_(change),
        weight_(*p.weight()),
        columns_((p.input_first ? p.outputs : p.inputs) / p.groups),
        row_scale_(p.input_first ? change.input_scale : change.output_scale),
        column_scale_(p.input_first ? change.output_scale : change.input_scale) {}

  size_t count() const { return p_.input_first ? p_.inputs : p_.outputs; }
  size_t length() const { return columns_ * p_.kernel; }
  size_t row_bytes() const { return length() * dtype_size_bytes(weight_.dtype()); }

  // Scaled rows of one group, as many as there are, at most kRows; returns how many. What a shift of the inputs adds
  // goes to `bias`, if given.
  size_t read(size_t row, double* out, Reals64* bias) const {
    const size_t group_rows = count() / p_.groups, group = row / group_rows;
    const size_t rows = std::min(kRows, (group + 1) * group_rows - row);
    load_reals(weight_.dtype(), weight_.data.bytes.data() + row * row_bytes(), rows * length(), out);
    if (bias && !change_.input_shift.empty()) shift(row, rows, group * columns_, out, *bias);
    if (row_scale_.empty() && column_scale_.empty()) return rows;
    for (size_t r = 0; r < rows; ++r) scale(row + r, group * columns_, out + r * length());
    return rows;
  }

 private:
  // `first`: of the channels that the columns are.
  void scale(size_t row, size_t first, double* values) const {
    const double scale = row_scale_.empty() ? 1 : row_scale_[row];
    for (size_t c = 0; c < columns_; ++c) {
      const double both = column_scale_.empty() ? scale : scale * column_scale_[first + c];
      for (size_t k = 0; k < p_.kernel; ++k) values[c * p_.kernel + k] *= both;
    }
  }

  void shift(size_t row, size_t rows, size_t first, const double* values, Reals64& bias) const {
    const Reals64& amounts = change_.input_shift;
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

  const Product& p_;
  const ProductChange& change_;
  const Value& weight_;
  const size_t columns_;
  const Reals64 &row_scale_, &column_scale_;
};

// Writes the changed weights; false if one of them is not finite.
bool write_weights(const Product& p, const ProductChange& change, Reals64& bias, uint8_t* out) {
  const Rows rows(p, change);
  const size_t length = rows.length();
  Reals64 values(kRows * length), means;
  Reals64* shifted = &bias;
  if (change.centred && !p.input_first) {  // a row is an output
    means.resize(length);
    for (size_t row = 0; row < rows.count();) {
      const size_t count = rows.read(row, values.data(), shifted);
      for (size_t i = 0; i < count * length; i += length) {
        for (size_t at = 0; at < length; ++at) means[at] += values[i + at];
      }
      row += count;
    }
    for (double& mean : means) mean /= static_cast<double>(p.outputs);
    shifted = nullptr;
  }
  bool finite = true;
  for (size_t row = 0; row < rows.count();) {
    const size_t count = rows.read(row, values.data(), shifted);
    for (size_t i = 0; i < (means.empty() ? 0 : count * length); i += length) {
      for (size_t at = 0; at < length; ++at) values[i + at] -= means[at];
    }
    if (change.centred && p.input_first) centre(values.data(), count, p.outputs, p.kernel);
    finite &= store_reals(p.weight()->dtype(), values.data(), count * length, out + row * rows.row_bytes());
    row += count;
  }
  return finite;
}

void finish_bias(const Product& p, const ProductChange& change, Reals64& bias) {
  const auto at_or = [](const Reals64& values, size_t o, double other) { return values.empty() ? other : values[o]; };
  for (size_t o = 0; o < p.outputs; ++o)
    bias[o] = bias[o] * at_or(change.output_scale, o, 1) + at_or(change.output_shift, o, 0);
  if (!change.centred) return;
  double mean = 0;
  for (double value : bias) mean += value;
  for (double& value : bias) value -= mean / static_cast<double>(p.outputs);
}

// Types and which of the two there are; no bytes.
NewWeights described(const Product& p, bool adds_bias) {
  const Value &weight = *p.weight(), *bias = p.bias();
  NewWeights out;
  out.weight_type = weight.tensor();
  out.has_bias = bias || adds_bias;
  out.bias_type = bias ? bias->tensor() : TensorType{weight.dtype(), {Sym(static_cast<int64_t>(p.outputs))}, {}};
  return out;
}

ConstantData part(const ConstantData& data, size_t offset, size_t size) {
  return {{data.bytes.data() + offset, size}, data.owner};
}

}  // namespace

std::optional<NewWeights> changed_weights(const Product& p, const ProductChange& change) {
  if (change.centred && p.groups != 1) return std::nullopt;
  if (!change.input_shift.empty() && p.padded) return std::nullopt;
  NewWeights out = described(p, !change.input_shift.empty() || !change.output_shift.empty());
  const Value& weight = *p.weight();
  const FreshBytes weight_bytes(weight.data.bytes.size()), bias_bytes(p.outputs * dtype_size_bytes(weight.dtype()));
  Reals64 bias = p.bias() ? reals_of(*p.bias()) : Reals64(p.outputs, 0);
  if (!write_weights(p, change, bias, weight_bytes.bytes.get())) return std::nullopt;
  finish_bias(p, change, bias);
  if (!store_reals(weight.dtype(), bias.data(), bias.size(), bias_bytes.bytes.get())) return std::nullopt;
  out.weight = weight_bytes.data();
  if (out.has_bias) out.bias = bias_bytes.data();
  return out;
}

NewWeights weights_of_outputs(const Product& p, size_t first, size_t count) {
  NewWeights out = described(p, false);
  const ConstantData& weight = p.weight()->data;
  const size_t item = dtype_size_bytes(p.weight()->dtype());
  out.weight_type.sizes[p.input_first ? 1 : 0] = Sym(static_cast<int64_t>(count));
  if (p.input_first) {
    const FreshBytes columns(p.inputs * count * item);
    for (size_t row = 0; row < p.inputs; ++row)
      memcpy(columns.bytes.get() + row * count * item, weight.bytes.data() + (row * p.outputs + first) * item,
             count * item);
    out.weight = columns.data();
  } else {
    out.weight = part(weight, first * p.inputs * item, count * p.inputs * item);
  }
  if (!out.has_bias) return out;
  out.bias = part(p.bias()->data, first * item, count * item);
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
  if (channels == 0 || constant.data.bytes.size() != outer * block_bytes) return nullptr;
  const FreshBytes bytes(constant.data.bytes.size());
  Reals64 values(kRows * block);
  for (size_t at = 0; at < outer; at += kRows) {
    const size_t count = std::min(kRows, outer - at);
    load_reals(constant.dtype(), constant.data.bytes.data() + at * block_bytes, count * block, values.data());
    centre(values.data(), count, channels, inner);
    if (!store_reals(constant.dtype(), values.data(), count * block, bytes.bytes.get() + at * block_bytes))
      return nullptr;
  }
  return Builder(graph, before).constant(constant.tensor(), bytes.data(), constant.name);
}

}  // namespace wick::compiler
