#include "backends/cuda/runtime/image.h"

#include <gtest/gtest.h>
#include <string.h>

#include <string>
#include <vector>

namespace wick::cuda {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
void put(Bytes& bytes, size_t offset, T value) {
  memcpy(bytes.data() + offset, &value, sizeof value);
}

// An ELF file like a cubin: a header, two sections, one segment, and 16 bytes of code.
Bytes cubin() {
  Bytes bytes(64 + 16 + 56 + 2 * 64);
  const uint8_t start[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  memcpy(bytes.data(), start, sizeof start);
  put<uint16_t>(bytes, 18, 190);
  put<uint64_t>(bytes, 32, 80);   // segments
  put<uint64_t>(bytes, 40, 136);  // sections
  put<uint32_t>(bytes, 48, 0x6005a04);
  put<uint16_t>(bytes, 54, 56);
  put<uint16_t>(bytes, 56, 1);
  put<uint16_t>(bytes, 58, 64);
  put<uint16_t>(bytes, 60, 2);
  put<uint64_t>(bytes, 80 + 8, 64);
  put<uint64_t>(bytes, 80 + 32, 16);
  put<uint64_t>(bytes, 136 + 64 + 24, 64);
  put<uint64_t>(bytes, 136 + 64 + 32, 16);
  return bytes;
}

std::string wrong_with(const Bytes& bytes, uint32_t architecture = 90) {
  const char* wrong = check_cubin({bytes.data(), bytes.size()}, architecture);
  return wrong ? wrong : "";
}

TEST(CudaImage, ACubinForTheArchitectureIsAccepted) {
  EXPECT_EQ(wrong_with(cubin()), "");
  EXPECT_EQ(wrong_with(cubin(), 80), "it is for another architecture than stated");
}

TEST(CudaImage, EveryTruncationIsRefused) {
  const Bytes bytes = cubin();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(wrong_with(Bytes(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size))), "") << size;
  }
}

TEST(CudaImage, WhatLiesOutsideTheFileIsRefused) {
  const struct {
    const char* text;
    void (*change)(Bytes&);
  } cases[] = {
      {"it is no ELF file", [](Bytes& b) { b[4] = 1; }},
      {"it is no ELF file", [](Bytes& b) { b[5] = 2; }},
      {"it is for another kind of machine", [](Bytes& b) { put<uint16_t>(b, 18, 62); }},
      {"its tables lie outside it", [](Bytes& b) { put<uint64_t>(b, 40, 137); }},
      {"its tables lie outside it", [](Bytes& b) { put<uint64_t>(b, 40, UINT64_MAX - 63); }},
      {"its tables lie outside it", [](Bytes& b) { put<uint16_t>(b, 60, 3); }},
      {"its tables lie outside it", [](Bytes& b) { put<uint16_t>(b, 58, 63); }},
      {"its tables lie outside it", [](Bytes& b) { put<uint64_t>(b, 32, UINT64_MAX); }},
      {"its tables lie outside it", [](Bytes& b) { put<uint16_t>(b, 54, 0); }},
      {"a part of it lies outside it", [](Bytes& b) { put<uint64_t>(b, 136 + 64 + 32, 201); }},
      {"a part of it lies outside it", [](Bytes& b) { put<uint64_t>(b, 136 + 64 + 24, UINT64_MAX); }},
      {"a part of it lies outside it", [](Bytes& b) { put<uint64_t>(b, 80 + 32, 201); }},
      {"", [](Bytes& b) { put<uint64_t>(b, 136 + 64 + 32, 200); }},
      {"", [](Bytes& b) { put<uint64_t>(b, 80 + 32, 200); }},
      {"",
       [](Bytes& b) {  // a section without bytes in the file
         put<uint32_t>(b, 136 + 64 + 4, 8);
         put<uint64_t>(b, 136 + 64 + 32, 1 << 20);
       }},
      {"",
       [](Bytes& b) {
         put<uint16_t>(b, 56, 0);
         put<uint64_t>(b, 32, UINT64_MAX);
       }},
  };
  for (const auto& each : cases) {
    Bytes bytes = cubin();
    each.change(bytes);
    EXPECT_EQ(wrong_with(bytes), each.text);
  }
}

TEST(CudaImage, PtxIsText) {
  const std::string text = ".version 9.0";
  const auto check = [](const std::string& t) {
    return check_ptx({reinterpret_cast<const uint8_t*>(t.data()), t.size()});
  };
  EXPECT_EQ(check(text), nullptr);
  EXPECT_STREQ(check(""), "it is empty");
  EXPECT_EQ(check(text + std::string(1, '\0')), nullptr);
  EXPECT_STREQ(check(text + std::string(2, '\0')), "it is no text");
}

}  // namespace
}  // namespace wick::cuda
