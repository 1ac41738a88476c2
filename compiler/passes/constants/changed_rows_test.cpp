#include "compiler/passes/constants/changed_rows.h"

#include <gtest/gtest.h>
#include <string.h>

#include <cmath>
#include <limits>

namespace wick::compiler::changed_rows_test {
namespace {

constexpr DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

Reals64 numbers(size_t count, size_t seed) {
  Reals64 out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<double>((seed * 7919 + i) * 2654435761u % 1999) / 1000 - 1;
  return out;
}

ConstantData stored(DType dtype, const Reals64& values) {
  const FreshBytes bytes(values.size() * dtype_size_bytes(dtype));
  EXPECT_TRUE(store_reals(dtype, values.data(), values.size(), bytes.bytes.get()));
  return bytes.data();
}

Reals64 loaded(DType dtype, const ConstantData& data) {
  Reals64 out(data.size_bytes() / dtype_size_bytes(dtype));
  load_reals(dtype, data.bytes().data(), out.size(), out.data());
  return out;
}

// The formula, computed element by element.
ConstantData expected(DType dtype, const ConstantData& source, size_t count, const RowChange& change) {
  Reals64 values = loaded(dtype, source);
  const size_t length = values.size() / count, turns = change.row_means.size() / count;
  for (size_t at = 0; at < values.size(); ++at) {
    const size_t row = at / length, i = at % length;
    double scale = change.row_scale.empty() ? 1 : change.row_scale[row];
    if (!change.column_scale.empty()) scale *= change.column_scale[row / (count / change.groups) * length + i];
    values[at] *= scale;
    if (!change.column_means.empty()) values[at] -= change.column_means[i];
    if (turns > 0) values[at] -= change.row_means[row * turns + i % turns];
  }
  return stored(dtype, values);
}

// Lengths around the widths of vectors.
TEST(ChangedRows, AreThoseOfTheFormulaToTheLastBit) {
  for (const DType dtype : kDTypes) {
    for (const size_t length : {1, 2, 3, 4, 7, 8, 12, 17, 33}) {
      const size_t count = 6;
      const ConstantData source = stored(dtype, numbers(count * length, length));
      for (int kind = 1; kind < 16; ++kind) {
        RowChange change;
        if (kind & 1) change.row_scale = numbers(count, 1);
        if (kind & 2) change.column_scale = numbers(2 * length, 2), change.groups = 2;
        if (kind & 4) change.column_means = numbers(length, 3);
        if (kind & 8) change.column_means.clear(), change.row_means = numbers(count * (length % 3 == 0 ? 3 : 1), 4);
        const ConstantData wanted = expected(dtype, source, count, change);
        const auto found = changed_rows(source, dtype, count, change);
        ASSERT_TRUE(found.has_value());
        EXPECT_TRUE(same_bytes(*found, wanted)) << dtype_name(dtype) << " " << length << " " << kind;
        EXPECT_EQ(found->hash(), wanted.hash());
        EXPECT_EQ(found->known_largest(), largest_magnitude(dtype, wanted));
      }
    }
  }
}

TEST(ChangedRows, AreNotStored) {
  const ConstantData source = stored(DType::f32, numbers(600, 1));
  RowChange change;
  change.row_scale = numbers(20, 1);
  const auto found = changed_rows(source, DType::f32, 20, change);
  ASSERT_TRUE(found && found->computed());
  EXPECT_EQ(found->depth(), 1u);
  EXPECT_EQ(changed_rows(source, DType::f32, 20, {})->bytes().data(), source.bytes().data());
}

TEST(ChangedRows, ThatAreNotFiniteAreNone) {
  for (const DType dtype : kDTypes) {
    const ConstantData source = stored(dtype, Reals64(600, 1));
    RowChange change;
    change.row_scale = Reals64(20, 1);
    change.row_scale.back() = std::numeric_limits<double>::infinity();
    EXPECT_FALSE(changed_rows(source, dtype, 20, change).has_value());
  }
  const float not_finite[] = {1, std::numeric_limits<float>::quiet_NaN(), 2, 3};
  const ConstantData source({reinterpret_cast<const uint8_t*>(not_finite), sizeof not_finite}, nullptr);
  EXPECT_FALSE(changed_rows(source, DType::f32, 2, {}).has_value());
}

// A chain of any length: each reader would compute all of it.
TEST(ChangedRows, OfChangedRowsAreRightAndAFewDeep) {
  const size_t count = 9, length = 10;
  ConstantData found = stored(DType::f32, numbers(count * length, 1)), wanted = found;
  for (size_t i = 0; i < 40; ++i) {
    RowChange change;
    change.row_scale = numbers(count, i);
    for (double& scale : change.row_scale) scale += 2;
    if (i % 5 == 4) change.row_scale.clear(), change.column_means = numbers(length, i);
    wanted = expected(DType::f32, wanted, count, change);
    found = *changed_rows(found, DType::f32, count, change);
    EXPECT_TRUE(same_bytes(found, wanted)) << i;
    EXPECT_LE(found.depth(), 3u);
  }
}

TEST(ColumnsOfRows, AreColumnsOfComputedRowsToo) {
  const size_t count = 5, length = 7;
  const ConstantData source = stored(DType::f32, numbers(count * length, 1));
  RowChange change;
  change.row_scale = numbers(count, 2);
  const ConstantData changed = *changed_rows(source, DType::f32, count, change);
  for (const ConstantData& all : {source, changed}) {
    const ConstantData found = columns_of_rows(all, 4 * length, 4 * 2, 4 * 3);
    const Reals64 values = loaded(DType::f32, found), from = loaded(DType::f32, all);
    ASSERT_EQ(values.size(), count * 3);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], from[i / 3 * length + 2 + i % 3]);
  }
  EXPECT_TRUE(columns_of_rows(source, 4 * length, 0, 0).empty());
}

TEST(LargestMagnitude, IsThatOfAllElements) {
  for (const DType dtype : kDTypes) {
    for (size_t count = 0; count < 70; ++count) {
      Reals64 values(count, 0.25);
      if (count > 0) values[count * 7 % count] = -1.5;
      EXPECT_EQ(largest_magnitude(dtype, stored(dtype, values)), count > 0 ? 1.5 : 0) << count;
    }
  }
}

TEST(LargestMagnitude, IsNoneWhereOneIsNotFinite) {
  for (const float wrong : {INFINITY, -INFINITY, NAN, -NAN}) {
    for (size_t at = 0; at < 40; ++at) {
      std::vector<float> values(40, 1);
      values[at] = wrong;
      const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(values.data()), 4 * values.size());
      EXPECT_FALSE(largest_magnitude(DType::f32, bytes).has_value()) << at;
    }
  }
}

}  // namespace
}  // namespace wick::compiler::changed_rows_test
