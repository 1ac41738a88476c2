#include "compiler/ir/constant_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compiler/ir/zero_bytes.h"
#include "compiler/support/content_hash.h"

namespace wick::compiler {
namespace {

// Rows in which each byte is a function of its position. Counts the computed rows.
class Counting final : public ComputedRows {
 public:
  Counting(size_t count, size_t row_bytes) : ComputedRows(count, row_bytes, 1) {}
  void compute(size_t first, size_t num_rows, uint8_t* out) const override {
    for (size_t i = 0; i < num_rows * row_bytes(); ++i) out[i] = byte(first * row_bytes() + i);
    rows_computed += num_rows;
  }
  static uint8_t byte(size_t i) { return static_cast<uint8_t>(i * 31 + i / 251); }

  mutable size_t rows_computed = 0;
};

ConstantData computed(size_t count, size_t row_bytes) {
  return {std::make_shared<const Counting>(count, row_bytes), ConstantFacts()};
}

std::vector<uint8_t> wanted(size_t size) {
  std::vector<uint8_t> out(size);
  for (size_t i = 0; i < size; ++i) out[i] = Counting::byte(i);
  return out;
}

ConstantData in_memory(const std::vector<uint8_t>& bytes) { return {{bytes.data(), bytes.size()}, nullptr}; }

std::vector<uint8_t> in_parts(const ConstantData& data) {
  std::vector<uint8_t> out;
  const Status status = data.for_each_part([&](Span<const uint8_t> part) {
    out.insert(out.end(), part.begin(), part.end());
    return Status();
  });
  EXPECT_TRUE(status.ok());
  return out;
}

TEST(ConstantData, IsReadFromAnyByteOn) {
  const std::vector<uint8_t> all = wanted(5 * 7);
  for (const ConstantData& data : {computed(5, 7), in_memory(all)}) {
    for (size_t offset = 0; offset <= all.size(); ++offset) {
      for (size_t count = 0; offset + count <= all.size(); ++count) {
        std::vector<uint8_t> out(count + 1, 0xee);
        data.read(offset, count, out.data());
        EXPECT_TRUE(std::equal(out.begin(), out.end() - 1, all.begin() + static_cast<ptrdiff_t>(offset)));
        EXPECT_EQ(out.back(), 0xee) << offset << " " << count;
      }
    }
  }
}

TEST(ConstantData, PartsAreAllBytesInTheirOrder) {
  for (const auto& [count, row_bytes] : {std::pair<size_t, size_t>{1, 1}, {3, 200'000}, {100'000, 5}, {70, 1000}}) {
    const ConstantData data = computed(count, row_bytes);
    const std::vector<uint8_t> all = wanted(count * row_bytes);
    EXPECT_EQ(in_parts(data), all);
    EXPECT_EQ(in_parts(in_memory(all)), all);
    EXPECT_EQ(static_cast<const Counting*>(data.computed())->rows_computed, count);
  }
}

TEST(ConstantData, TheFirstErrorEndsReading) {
  size_t calls = 0;
  const Status status = computed(100'000, 50).for_each_part([&](Span<const uint8_t>) {
    return ++calls == 2 ? Status(Diag(Code::internal, "enough")) : Status();
  });
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(status.diag().message, "enough");
}

TEST(ConstantData, InOnePieceItIsComputedOnceForAllCopies) {
  const std::vector<ConstantData> copies(2, computed(300, 1000));
  const ConstantData &data = copies[0], &copy = copies[1];
  EXPECT_EQ(data.depth(), 1u);
  const Span<const uint8_t> bytes = data.bytes();
  EXPECT_EQ(std::vector<uint8_t>(bytes.begin(), bytes.end()), wanted(300'000));
  EXPECT_EQ(copy.bytes().data(), bytes.data());
  EXPECT_EQ(copy.depth(), 0u);
  EXPECT_EQ(in_parts(copy), wanted(300'000));
  EXPECT_EQ(static_cast<const Counting*>(data.computed())->rows_computed, 300u);
}

TEST(ConstantData, ItsPartsOutliveIt) {
  ConstantData part;
  {
    const auto rows = std::make_shared<const Counting>(300, 1000);
    part = ConstantData(rows, {}).part(2500, 1000);
    EXPECT_EQ(rows.use_count(), 1);  // and share the bytes only, not the object that computes them
  }
  EXPECT_EQ(part.computed(), nullptr);
  const std::vector<uint8_t> all = wanted(300'000);
  EXPECT_TRUE(std::equal(part.bytes().begin(), part.bytes().end(), all.begin() + 2500));
  EXPECT_EQ(in_memory(all).part(5, 3).bytes().data(), all.data() + 5);
}

TEST(ConstantData, ItsHashIsThatOfItsBytesAndIsKept) {
  const ConstantData data = computed(300, 1000);
  const std::vector<uint8_t> all = wanted(300'000);
  EXPECT_EQ(data.hash(), content_hash({all.data(), all.size()}));
  EXPECT_EQ(data.hash(), in_memory(all).hash());
  EXPECT_EQ(static_cast<const Counting*>(data.computed())->rows_computed, 300u);
}

TEST(ConstantData, EqualBytesAreEqualHoweverTheyAreMade) {
  const std::vector<uint8_t> all = wanted(300'000);
  std::vector<uint8_t> other = all;
  other.back() ^= 1;
  const ConstantData a = computed(300, 1000), b = computed(1500, 200), c = in_memory(all), d = in_memory(other);
  for (const ConstantData* x : {&a, &b, &c}) {
    for (const ConstantData* y : {&a, &b, &c}) EXPECT_TRUE(same_bytes(*x, *y));
    EXPECT_FALSE(same_bytes(*x, d));
    EXPECT_FALSE(same_bytes(d, *x));
    EXPECT_FALSE(same_bytes(*x, computed(299, 1000)));
  }
}

TEST(ConstantData, IsZeroUnlessAByteIsNot) {
  const std::vector<uint8_t> bytes = {0, 0, 0, 7};
  EXPECT_TRUE(is_zero(ConstantData()));
  EXPECT_TRUE(is_zero(ConstantData({bytes.data(), 3}, nullptr)));
  EXPECT_FALSE(is_zero(ConstantData({bytes.data(), 4}, nullptr)));
  EXPECT_TRUE(is_zero(computed(1, 1)));
  EXPECT_FALSE(is_zero(computed(2, 1)));
}

TEST(ContentHash, IsTheSameForBytesInParts) {
  const std::vector<uint8_t> all = wanted(150);
  const uint64_t whole = content_hash({all.data(), all.size()});
  for (size_t first = 0; first <= all.size(); ++first) {
    for (size_t second = first; second <= all.size(); ++second) {
      ContentHash hash;
      hash.add({all.data(), first});
      hash.add({all.data() + first, second - first});
      hash.add({all.data() + second, all.size() - second});
      ASSERT_EQ(hash.value(), whole) << first << " " << second;
    }
  }
}

// Programs name constants by their content hash.
TEST(ContentHash, StaysTheSame) {
  const std::vector<uint8_t> all = wanted(150);
  EXPECT_EQ(content_hash({}), 0xbf50e6debd09ffabu);
  EXPECT_EQ(content_hash({all.data(), 32}), 0xd7412635c774ab15u);
  EXPECT_EQ(content_hash({all.data(), all.size()}), 0x9635cafe0584aa9cu);
}

}  // namespace
}  // namespace wick::compiler
