#include "compiler/layout/constant_elements.h"

#include <gtest/gtest.h>

#include <complex>

namespace wick::compiler::layout {
namespace {

std::vector<float> numbers(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(i) + 0.5f;
  return out;
}

std::vector<float> floats_of(const ConstantData& data) {
  std::vector<float> out(data.size_bytes() / sizeof(float));
  data.read(0, data.size_bytes(), reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

// [o][i][y][x] to [o][y][x][i]
std::vector<float> channels_last(const std::vector<float>& from, size_t o, size_t i, size_t places) {
  std::vector<float> out;
  for (size_t a = 0; a < o; ++a) {
    for (size_t place = 0; place < places; ++place) {
      for (size_t b = 0; b < i; ++b) out.push_back(from[(a * i + b) * places + place]);
    }
  }
  return out;
}

TEST(PermutedElements, OfEachOutputAreComputedWhenTheyAreRead) {
  const std::vector<float> filter = numbers(7 * 5 * 6);
  const ConstantData found = permuted_elements(own(filter), 4, {7, 5, 2, 3}, {0, 2, 3, 1});
  EXPECT_EQ(found.depth(), 1u);
  const std::vector<float> wanted = channels_last(filter, 7, 5, 6);
  EXPECT_EQ(floats_of(found), wanted);
  float some[2 * 30];
  found.read(3 * 30 * sizeof(float), sizeof some, reinterpret_cast<uint8_t*>(some));
  EXPECT_TRUE(std::equal(std::begin(some), std::end(some), wanted.begin() + 3 * 30));
}

TEST(PermutedElements, MayLieAnywhereInTheFile) {
  const std::vector<float> filter = numbers(3 * 2 * 4);
  std::vector<uint8_t> file(1 + filter.size() * sizeof(float));
  memcpy(file.data() + 1, filter.data(), file.size() - 1);
  const ConstantData data({file.data() + 1, file.size() - 1}, nullptr);
  EXPECT_EQ(floats_of(permuted_elements(data, 4, {3, 2, 2, 2}, {0, 2, 3, 1})), channels_last(filter, 3, 2, 4));
  EXPECT_EQ(floats_of(permuted_elements(data, 4, {1, 3, 2, 4}, {0, 1, 2, 3})), filter);
}

TEST(PermutedElements, AcrossOutputsAreStored) {
  const std::vector<float> weight = numbers(3 * 4);
  const ConstantData found = permuted_elements(own(weight), 4, {3, 4}, {1, 0});
  EXPECT_EQ(found.computed(), nullptr);
  EXPECT_EQ(floats_of(found), channels_last(weight, 1, 3, 4));
  EXPECT_TRUE(permuted_elements({}, 4, {0, 4}, {0, 1}).empty());
}

template <typename T>
void expect_transposed() {
  std::vector<T> matrix(3 * 2), wanted;
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = T(i);
  for (const int i : {0, 2, 4, 1, 3, 5}) wanted.push_back(T(i));
  const ConstantData found = permuted_elements(own(matrix), sizeof(T), {3, 2}, {1, 0});
  std::vector<T> read(found.size_bytes() / sizeof(T));
  found.read(0, found.size_bytes(), reinterpret_cast<uint8_t*>(read.data()));
  EXPECT_EQ(read, wanted) << sizeof(T);
}

TEST(PermutedElements, AreOfAnySize) {
  expect_transposed<uint8_t>();
  expect_transposed<uint16_t>();
  expect_transposed<uint32_t>();
  expect_transposed<uint64_t>();
  expect_transposed<std::complex<double>>();
}

}  // namespace
}  // namespace wick::compiler::layout
