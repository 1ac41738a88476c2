#include "compiler/layout/constant_elements.h"

namespace wick::compiler::layout {
namespace {

struct Pair64 {
  uint64_t low, high;
};

void permute_bytes(const uint8_t* from, size_t element_bytes, const Sizes& dims, const std::vector<int64_t>& perm,
                   uint8_t* to) {
  const auto as = [&](auto element) {
    using T = decltype(element);
    permute_elements(reinterpret_cast<const T*>(from), dims, perm, reinterpret_cast<T*>(to));
  };
  switch (element_bytes) {
    case 1: return as(uint8_t{});
    case 2: return as(uint16_t{});
    case 4: return as(uint32_t{});
    case 8: return as(uint64_t{});
    default: return as(Pair64{});
  }
}

// Elements in a file may be unaligned, so they are read into aligned memory first.
std::vector<uint8_t> permuted(const ConstantData& data, size_t offset, size_t size_bytes, size_t element_bytes,
                              const Sizes& dims, const std::vector<int64_t>& perm) {
  std::vector<uint8_t> from(size_bytes), to(size_bytes);
  data.read(offset, size_bytes, from.data());
  permute_bytes(from.data(), element_bytes, dims, perm, to.data());
  return to;
}

// Rows of filters [outputs, ..] in which each output's elements are permuted among themselves.
class PermutedRows final : public ComputedRows {
 public:
  PermutedRows(ConstantData data, size_t element_bytes, const Sizes& dims, const std::vector<int64_t>& perm)
      : ComputedRows(static_cast<size_t>(dims[0].value()), data.size_bytes() / static_cast<size_t>(dims[0].value()),
                     data.depth() + 1),
        data_(std::move(data)),
        element_bytes_(element_bytes),
        dims_(dims),
        perm_(perm) {}

  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    Sizes dims = dims_;
    dims[0] = static_cast<int64_t>(num_rows);
    const std::vector<uint8_t> rows =
        permuted(data_, first * row_bytes(), num_rows * row_bytes(), element_bytes_, dims, perm_);
    if (!rows.empty()) memcpy(out, rows.data(), rows.size());
  }

 private:
  const ConstantData data_;
  const size_t element_bytes_;
  const Sizes dims_;
  const std::vector<int64_t> perm_;
};

class RowsFrom final : public ComputedRows {
 public:
  RowsFrom(ConstantData source, size_t count, size_t row_bytes, ComputeRows compute)
      : ComputedRows(count, row_bytes, source.depth() + 1), source_(std::move(source)), compute_(std::move(compute)) {}

  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    const size_t source_bytes = source_.size_bytes() / count();
    if (!source_.computed()) return compute_(source_.bytes().data() + first * source_bytes, first, num_rows, out);
    const auto space = std::make_unique_for_overwrite<uint8_t[]>(num_rows * source_bytes);
    source_.read(first * source_bytes, num_rows * source_bytes, space.get());
    compute_(space.get(), first, num_rows, out);
  }

 private:
  const ConstantData source_;
  const ComputeRows compute_;
};

}  // namespace

ConstantData rows_from(ConstantData source, size_t count, size_t row_bytes, ComputeRows compute) {
  if (source.empty()) return {};
  return {std::make_shared<const RowsFrom>(std::move(source), count, row_bytes, std::move(compute)), ConstantFacts()};
}

ConstantData permuted_elements(const ConstantData& data, size_t element_bytes, const Sizes& dims,
                               const std::vector<int64_t>& perm) {
  if (!data.empty() && !perm.empty() && perm[0] == 0)
    return {std::make_shared<const PermutedRows>(data, element_bytes, dims, perm), ConstantFacts()};
  return own(permuted(data, 0, data.size_bytes(), element_bytes, dims, perm));
}

}  // namespace wick::compiler::layout
