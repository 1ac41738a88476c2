#include "backends/xnnpack/compile/constant_elements.h"

namespace wick::xnnpack {
namespace {

// Of filters [outputs, ..]: each output's own are permuted among themselves.
class PermutedRows final : public compiler::ComputedRows {
 public:
  PermutedRows(compiler::ConstantData data, const Dims& dims, const std::vector<int64_t>& perm)
      : ComputedRows(static_cast<size_t>(dims[0].value()), data.size_bytes() / static_cast<size_t>(dims[0].value()),
                     data.depth() + 1),
        data_(std::move(data)),
        dims_(dims),
        perm_(perm) {}

  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    const size_t size = num_rows * row_bytes();
    std::vector<float> from(size / sizeof(float)), to(from.size());  // `out` and the file may lie anywhere
    data_.read(first * row_bytes(), size, reinterpret_cast<uint8_t*>(from.data()));
    Dims dims = dims_;
    dims[0] = static_cast<int64_t>(num_rows);
    permute_elements(from.data(), dims, perm_, to.data());
    memcpy(out, to.data(), size);
  }

 private:
  const compiler::ConstantData data_;
  const Dims dims_;
  const std::vector<int64_t> perm_;
};

}  // namespace

compiler::ConstantData permuted_floats(const compiler::ConstantData& data, const Dims& dims,
                                       const std::vector<int64_t>& perm) {
  if (!data.empty() && perm[0] == 0)
    return {std::make_shared<const PermutedRows>(data, dims, perm), compiler::ConstantFacts()};
  std::vector<float> from(data.size_bytes() / sizeof(float));
  data.read(0, data.size_bytes(), reinterpret_cast<uint8_t*>(from.data()));
  return own(permute_elements(from.data(), dims, perm));
}

}  // namespace wick::xnnpack
