#include "compiler/support/crc32.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string_view>
#include <vector>

namespace wick::compiler {
namespace {

uint32_t crc32_of(std::string_view text) { return crc32({reinterpret_cast<const uint8_t*>(text.data()), text.size()}); }

std::vector<uint8_t> mixed_bytes(size_t count) {
  std::vector<uint8_t> out(count);
  uint32_t state = 1;
  for (uint8_t& byte : out) byte = static_cast<uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
  return out;
}

TEST(Crc32, IsThatOfZip) {
  EXPECT_EQ(crc32_of(""), 0u);
  EXPECT_EQ(crc32_of("123456789"), 0xcbf43926u);
  EXPECT_EQ(crc32_of("The quick brown fox jumps over the lazy dog"), 0x414fa339u);
  EXPECT_EQ(crc32_of(std::string(32, '\0')), 0x190a55adu);
  EXPECT_EQ(crc32_of(std::string(4096, '\0')), 0xc71c0011u);
}

TEST(Crc32, EqualsZlibsAtAllLengthsAndAlignments) {
  const std::vector<uint8_t> bytes = mixed_bytes(700);
  for (size_t start = 0; start < 16; ++start) {
    for (size_t size = 0; start + size <= bytes.size(); ++size)
      ASSERT_EQ(crc32({bytes.data() + start, size}), ::crc32_z(0, bytes.data() + start, size)) << start << " " << size;
  }
}

TEST(Crc32, SeesEveryBit) {
  std::vector<uint8_t> bytes = mixed_bytes(200);
  const uint32_t before = crc32({bytes.data(), bytes.size()});
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_NE(crc32({bytes.data(), bytes.size()}), before) << bit;
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
}

TEST(Crc32, TakesMegabytes) {
  const std::vector<uint8_t> bytes = mixed_bytes((3 << 20) + 5);
  EXPECT_EQ(crc32({bytes.data(), bytes.size()}), ::crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace
}  // namespace wick::compiler
