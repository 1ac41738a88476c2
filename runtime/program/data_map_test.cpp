#include <gtest/gtest.h>

#include "schema/flat_tensor_generated.h"
#include "schema/test_program_builder.h"
#include "wick/program.h"

namespace wick {
namespace {

using schema::AlignedBytes;

struct Options {
  std::vector<int32_t> sizes = {2, 3};
  std::vector<uint8_t> dim_order = {0, 1};
  uint32_t segment = 0;
  uint64_t segment_size = 24;
};

/// A .ptd with a tensor "w" and a blob "blob" in one segment.
AlignedBytes make_file(const Options& options = {}) {
  flatbuffers::FlatBufferBuilder fbb;
  const auto layout =
      ptd::CreateTensorLayoutDirect(fbb, static_cast<int8_t>(DType::f32), &options.sizes, &options.dim_order);
  const std::vector<flatbuffers::Offset<ptd::NamedData>> named = {
      ptd::CreateNamedDataDirect(fbb, "w", options.segment, layout), ptd::CreateNamedDataDirect(fbb, "blob", 0)};
  const std::vector<flatbuffers::Offset<ptd::DataSegment>> segments = {
      ptd::CreateDataSegment(fbb, 0, options.segment_size)};
  ptd::FinishFlatTensorBuffer(fbb, ptd::CreateFlatTensorDirect(fbb, 0, &segments, &named));
  std::vector<uint8_t> file(fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize());
  const uint64_t tables = file.size();
  constexpr uint64_t kInserted = 48;
  file.insert(file.begin() + 8, kInserted, 0);
  const uint32_t root = schema::read_u32(file.data()) + kInserted;
  const uint64_t base = (file.size() + 127) / 128 * 128;
  const uint64_t fields[] = {kInserted, tables, base, 24};
  const uint32_t length = schema::kFlatTensorHeaderLength;
  memcpy(file.data(), &root, 4);
  memcpy(file.data() + 8, schema::kFlatTensorHeaderMagic, 4);
  memcpy(file.data() + 12, &length, 4);
  memcpy(file.data() + 16, fields, sizeof fields);
  file.resize(base + 24, 7);
  return AlignedBytes(file);
}

std::string refusal(const AlignedBytes& file, Error wanted) {
  char buffer[256];
  ErrorText text(buffer);
  EXPECT_EQ(DataMap::load(file.span(), {&text}).error(), wanted);
  return text.c_str();
}

TEST(DataMap, FindsTensorsAndBlobs) {
  const AlignedBytes file = make_file();
  Result<DataMap> map = DataMap::load(file.span());
  ASSERT_TRUE(map.ok());
  EXPECT_EQ(map->size(), 2u);
  const Result<DataMap::Entry> w = map->find("w");
  ASSERT_TRUE(w.ok());
  EXPECT_TRUE(w->is_tensor);
  EXPECT_EQ(w->sizes[1], 3);
  EXPECT_EQ(w->bytes.size(), 24u);
  EXPECT_EQ(w->bytes[0], 7);
  EXPECT_FALSE(map->find("blob")->is_tensor);
  EXPECT_EQ(map->find("v").error(), Error::NotFound);
}

TEST(DataMap, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal(make_file({.sizes = {7}, .dim_order = {0}}), Error::InvalidExternalData),
            ".ptd entry w has a bad layout");
  EXPECT_EQ(refusal(make_file({.dim_order = {0, 0}}), Error::InvalidExternalData), ".ptd entry w has a bad layout");
  EXPECT_EQ(refusal(make_file({.segment = 1}), Error::InvalidExternalData), ".ptd entry 0 has no key or no segment");
  EXPECT_EQ(refusal(make_file({.segment_size = 25}), Error::InvalidExternalData),
            ".ptd segment 0 lies beyond the file");
  const AlignedBytes file = make_file();
  EXPECT_EQ(refusal(AlignedBytes(file.data(), file.size() - 1), Error::InvalidExternalData),
            ".ptd file is shorter than its header states");
  EXPECT_EQ(refusal(AlignedBytes(file.data(), 40), Error::InvalidExternalData),
            "no .ptd file: header FH01 not found at byte 8");
}

TEST(DataMap, SurvivesAnyChangedByte) {
  const AlignedBytes file = make_file();
  for (size_t at = 0; at < file.size(); ++at) {
    (void)DataMap::load(AlignedBytes(file.data(), at).span());
    for (const uint8_t flip : {1, 0x80, 0xff}) {
      AlignedBytes changed(file.data(), file.size());
      changed.data()[at] ^= flip;
      Result<DataMap> map = DataMap::load(changed.span());
      if (!map.ok()) continue;
      volatile size_t sum = 0;
      for (size_t i = 0; i < map->size(); ++i) {
        const DataMap::Entry entry = map->entry(i);
        for (const uint8_t byte : entry.bytes) sum = sum + byte;
        for (const int32_t size : entry.sizes) sum = sum + static_cast<size_t>(size);
      }
    }
  }
}

}  // namespace
}  // namespace wick
