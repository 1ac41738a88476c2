#include "runtime/kernels/movement/convert.h"

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

constexpr DType kDtypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                             DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

/// Whole numbers and halves around the ends of every integer type, infinities, NaN.
std::vector<double> difficult_numbers() {
  std::vector<double> out = {0, -0.0, 0.5, -0.5, 1e300, -1e300, INFINITY, -INFINITY, NAN, 1e-320, 65519, 65520};
  for (int bits : {7, 8, 15, 16, 31, 32, 63, 64})
    for (double step : {-1.0, -0.5, 0.0, 0.5, 1.0})
      for (double sign : {-1.0, 1.0}) out.push_back(sign * ldexp(1.0, bits) + step);
  return out;
}

TEST(ConvertElements, PackedRowsGiveWhatSingleElementsGive) {
  const std::vector<double> numbers = difficult_numbers();
  const int64_t count = static_cast<int64_t>(numbers.size()) * 3;  // more than one chunk
  std::vector<double> all;
  for (int i = 0; i < 3; ++i) all.insert(all.end(), numbers.begin(), numbers.end());
  for (DType from : kDtypes) {
    std::vector<uint8_t> source(all.size() * 8);
    for (size_t i = 0; i < all.size(); ++i)
      kernels::convert_elements(&source[i * dtype_size_bytes(from)], from, 1, &all[i], DType::f64, 1, 1);
    for (DType to : kDtypes) {
      const size_t size = dtype_size_bytes(to);
      std::vector<uint8_t> rows(all.size() * size), elements(all.size() * size);
      kernels::convert_elements(rows.data(), to, 1, source.data(), from, 1, count);
      for (size_t i = 0; i < all.size(); ++i)
        kernels::convert_elements(&elements[i * size], to, 1, &source[i * dtype_size_bytes(from)], from, 1, 1);
      EXPECT_EQ(rows, elements) << dtype_name(from) << " to " << dtype_name(to);
    }
  }
}

}  // namespace
}  // namespace wick::test
