#include "compiler/passes/constants/changed_rows.h"

#include <string.h>

#include <algorithm>

#include "compiler/support/content_hash.h"

namespace wick::compiler {
namespace {

// Each read computes the whole chain of changes, so longer chains are cut: their bytes are kept in memory.
constexpr size_t kMaxDepthOfRowChange = 3;

class ChangedRows final : public ComputedRows {
 public:
  ChangedRows(const ConstantData& source, DType dtype, size_t count, RowChange change)
      : ComputedRows(count, source.size_bytes() / count, source.depth() + 1),
        source_(source.depth() == 0 ? source.part(0, source.size_bytes()) : source),
        dtype_(dtype),
        length_(row_bytes() / dtype_size_bytes(dtype)),
        change_(std::move(change)) {}

  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    std::vector<uint8_t> space;
    Reals64 scale(change_.row_scale.empty() ? 0 : length_), means(change_.row_means.empty() ? 0 : length_);
    const uint8_t* from = read_rows(source_, row_bytes(), first, num_rows, space);
    for (size_t row = first; row < first + num_rows; ++row, from += row_bytes(), out += row_bytes())
      change_reals(dtype_, from, length_, scale_of(row, scale), means_of(row, means), out);
  }

 private:
  // A factor for each element; null: no factors. They are in `space` if this row has its own.
  const double* scale_of(size_t row, Reals64& space) const {
    const size_t group = row / (count() / change_.groups);
    const double* columns = change_.column_scale.empty() ? nullptr : &change_.column_scale[group * length_];
    if (change_.row_scale.empty()) return columns;
    const double scale = change_.row_scale[row];
    if (!columns) {
      std::fill(space.begin(), space.end(), scale);
    } else {
      for (size_t i = 0; i < length_; ++i) space[i] = scale * columns[i];
    }
    return space.data();
  }

  const double* means_of(size_t row, Reals64& space) const {
    if (change_.row_means.empty()) return change_.column_means.empty() ? nullptr : change_.column_means.data();
    const size_t turns = change_.row_means.size() / count();
    const double* means = &change_.row_means[row * turns];
    if (turns == 1) {
      std::fill(space.begin(), space.end(), *means);
    } else {
      for (size_t at = 0; at < length_; at += turns) std::copy_n(means, turns, &space[at]);
    }
    return space.data();
  }

  const ConstantData source_;
  const DType dtype_;
  const size_t length_;
  const RowChange change_;
};

// Parts of rows of bytes that are kept in memory. If the source were computed, each of many parts would compute all of
// it.
class Columns final : public ComputedRows {
 public:
  Columns(const ConstantData& source, size_t source_row_bytes, size_t first, size_t size_bytes)
      : ComputedRows(source.size_bytes() / source_row_bytes, size_bytes, 1),
        source_(source.part(0, source.size_bytes())),
        source_row_bytes_(source_row_bytes),
        first_(first) {}

  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    const uint8_t* from = source_.bytes().data() + first * source_row_bytes_ + first_;
    for (size_t row = 0; row < num_rows; ++row)
      memcpy(out + row * row_bytes(), from + row * source_row_bytes_, row_bytes());
  }

 private:
  const ConstantData source_;
  const size_t source_row_bytes_, first_;
};

ConstantData in_memory(const ConstantData& data) {
  const FreshBytes bytes(data.size_bytes());
  data.read(0, bytes.size, bytes.bytes.get());
  return bytes.data();
}

// Hash and largest magnitude of all bytes; nothing if an element is not finite.
std::optional<ConstantFacts> facts_of(const ConstantData& data, DType dtype) {
  ContentHash hash;
  double largest = 0;
  const Status all_finite = data.for_each_part([&](Span<const uint8_t> part) {
    hash.add(part);
    const auto in_part = largest_magnitude(dtype, part);
    largest = std::max(largest, in_part.value_or(0));
    return in_part ? Status() : Status(Diag(Code::internal, "a number that is not finite"));
  });
  if (!all_finite.ok()) return std::nullopt;
  return ConstantFacts{hash.value(), largest};
}

}  // namespace

bool RowChange::changes_nothing() const {
  return row_scale.empty() && column_scale.empty() && column_means.empty() && row_means.empty();
}

std::optional<ConstantData> changed_rows(const ConstantData& source, DType dtype, size_t count, RowChange change) {
  if (source.empty()) return source;
  if (change.changes_nothing()) {
    return largest_magnitude(dtype, source) ? std::optional(source) : std::nullopt;
  }
  const auto rows = std::make_shared<const ChangedRows>(source, dtype, count, std::move(change));
  const auto facts = facts_of(ConstantData(rows, {}), dtype);
  if (!facts) return std::nullopt;
  const ConstantData out(rows, *facts);
  return out.depth() > kMaxDepthOfRowChange ? in_memory(out) : out;
}

ConstantData columns_of_rows(const ConstantData& source, size_t row_bytes, size_t first, size_t size_bytes) {
  if (source.empty() || size_bytes == 0) return {};
  return {std::make_shared<const Columns>(source, row_bytes, first, size_bytes), ConstantFacts()};
}

const uint8_t* read_rows(const ConstantData& source, size_t row_bytes, size_t first, size_t count,
                         std::vector<uint8_t>& space) {
  if (!source.computed()) return source.bytes().data() + first * row_bytes;
  space.resize(count * row_bytes);
  source.read(first * row_bytes, space.size(), space.data());
  return space.data();
}

}  // namespace wick::compiler
