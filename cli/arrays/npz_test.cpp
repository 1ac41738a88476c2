#include "cli/arrays/npz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/support/scratch_folder.h"

namespace wick::cli {
namespace {

using compiler::Code;
using Bytes = std::vector<uint8_t>;

Span<const uint8_t> view(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

NamedArray f32_array(std::string name, std::vector<int64_t> sizes, std::vector<float> values) {
  NamedArray array{std::move(name), DType::f32, std::move(sizes), Bytes(values.size() * 4)};
  if (!values.empty()) std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

std::vector<float> floats(const NamedArray& array) {
  std::vector<float> out(array.bytes.size() / 4);
  if (!out.empty()) std::memcpy(out.data(), array.bytes.data(), out.size() * 4);
  return out;
}

/// An .npy of version `major` with the given header literal and data.
Bytes npy(const std::string& literal, const Bytes& data, uint8_t major = 1) {
  Bytes out = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out.push_back(static_cast<uint8_t>(literal.size() >> (8 * i)));
  out.insert(out.end(), literal.begin(), literal.end());
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

/// One archive entry, any field of which can be set to a false value.
struct Entry {
  std::string name = "x.npy", local_name = "x.npy";
  Bytes packed;
  uint16_t method = 0, flags = 0, local_method = 0;
  uint32_t crc = 0, packed_bytes = 0, unpacked_bytes = 0;
  Bytes local_extra, central_extra;
  int64_t offset = -1;  // where the directory says the entry is; -1: where it is
};

Entry stored(const std::string& name, const Bytes& bytes) {
  Entry e;
  e.name = e.local_name = name;
  e.packed = bytes;
  e.crc = static_cast<uint32_t>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
  e.packed_bytes = e.unpacked_bytes = static_cast<uint32_t>(bytes.size());
  return e;
}

Entry deflated(const std::string& name, const Bytes& bytes) {
  Entry e = stored(name, bytes);
  e.method = e.local_method = 8;
  e.packed.assign(compressBound(bytes.size()) + 64, 0);
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = e.packed.data();
  stream.avail_out = static_cast<uInt>(e.packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  e.packed.resize(stream.total_out);
  deflateEnd(&stream);
  e.packed_bytes = static_cast<uint32_t>(e.packed.size());
  return e;
}

void put(Bytes& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<uint8_t>(value >> (8 * i)));
}

Bytes archive(const std::vector<Entry>& entries, int num_claimed = -1) {
  Bytes out, directory;
  for (const Entry& e : entries) {
    const size_t offset = e.offset >= 0 ? static_cast<size_t>(e.offset) : out.size();
    put(out, 0x04034b50, 4);
    put(out, 20, 2), put(out, e.flags, 2), put(out, e.local_method, 2), put(out, 0, 4);
    put(out, e.crc, 4), put(out, e.packed_bytes, 4), put(out, e.unpacked_bytes, 4);
    put(out, e.local_name.size(), 2), put(out, e.local_extra.size(), 2);
    out.insert(out.end(), e.local_name.begin(), e.local_name.end());
    out.insert(out.end(), e.local_extra.begin(), e.local_extra.end());
    out.insert(out.end(), e.packed.begin(), e.packed.end());
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2), put(directory, 20, 2), put(directory, e.flags, 2), put(directory, e.method, 2);
    put(directory, 0, 4), put(directory, e.crc, 4), put(directory, e.packed_bytes, 4);
    put(directory, e.unpacked_bytes, 4), put(directory, e.name.size(), 2), put(directory, e.central_extra.size(), 2);
    put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4), put(directory, offset, 4);
    directory.insert(directory.end(), e.name.begin(), e.name.end());
    directory.insert(directory.end(), e.central_extra.begin(), e.central_extra.end());
  }
  const size_t start = out.size();
  const size_t num = num_claimed >= 0 ? static_cast<size_t>(num_claimed) : entries.size();
  out.insert(out.end(), directory.begin(), directory.end());
  put(out, 0x06054b50, 4), put(out, 0, 4), put(out, num, 2), put(out, num, 2);
  put(out, directory.size(), 4), put(out, start, 4), put(out, 0, 2);
  return out;
}

void expect_npz_error(const std::vector<Entry>& entries, Code code, const std::string& text) {
  const auto arrays = parse_npz(view(archive(entries)));
  ASSERT_FALSE(arrays.ok()) << text;
  EXPECT_EQ(arrays.diag().code, code) << arrays.diag().message;
  EXPECT_NE(arrays.diag().message.find(text), std::string::npos) << arrays.diag().message;
}

void expect_npy_error(const Bytes& file, Code code, const std::string& text) {
  const auto array = parse_npy(view(file));
  ASSERT_FALSE(array.ok()) << text;
  EXPECT_EQ(array.diag().code, code) << array.diag().message;
  EXPECT_NE(array.diag().message.find(text), std::string::npos) << array.diag().message;
}

const Bytes kFourBytes = {0, 0, 128, 63};  // 1.0f

TEST(Npy, EveryDTypeSurvivesARoundTrip) {
  for (const DType dtype :
       {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::f32, DType::f64, DType::c64,
        DType::c128, DType::boolean, DType::bf16, DType::u16, DType::u32, DType::u64}) {
    NamedArray array{"", dtype, {2, 3}, Bytes(6 * dtype_size_bytes(dtype), 1)};
    const auto back = parse_npy(view(to_npy(array)));
    ASSERT_TRUE(back.ok()) << dtype_name(dtype);
    EXPECT_EQ(back->dtype, dtype);
    EXPECT_EQ(back->sizes, array.sizes);
    EXPECT_EQ(back->bytes, array.bytes);
  }
}

TEST(Npy, ScalarsAndEmptyArraysSurviveARoundTrip) {
  for (const auto& array :
       {f32_array("", {}, {2.5f}), f32_array("", {0}, {}), f32_array("", {3, 0, 2}, {}), f32_array("", {1}, {7.0f})}) {
    const auto back = parse_npy(view(to_npy(array)));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(back->sizes, array.sizes);
    EXPECT_EQ(back->bytes, array.bytes);
  }
}

TEST(Npy, DataStartsAtAMultipleOf64) {
  for (int64_t size = 1; size < 2000000000; size *= 7) {
    NamedArray array{"", DType::u8, {size, 0}, {}};
    EXPECT_EQ(to_npy(array).size() % 64, 0u);
  }
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  // [[0, 1, 2], [3, 4, 5]] column by column.
  const auto array = parse_npy(view(npy(dict("|u1", "(2, 3)", "True"), {0, 3, 1, 4, 2, 5})));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->bytes, (Bytes{0, 1, 2, 3, 4, 5}));
  const auto cube = parse_npy(view(npy(dict("|u1", "(2, 2, 2)", "True"), {0, 4, 2, 6, 1, 5, 3, 7})));
  ASSERT_TRUE(cube.ok());
  EXPECT_EQ(cube->bytes, (Bytes{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Npy, AllHeaderVersionsAreRead) {
  for (const uint8_t major : {1, 2, 3}) {
    const auto array = parse_npy(view(npy(dict("<f4", "(1,)"), kFourBytes, major)));
    ASSERT_TRUE(array.ok()) << int{major};
    EXPECT_EQ(floats(*array), std::vector<float>{1.0f});
  }
  expect_npy_error(npy(dict("<f4", "(1,)"), kFourBytes, 4), Code::incompatible_file, "version 4.0");
}

TEST(Npy, BoolsAreNormalisedToZeroAndOne) {
  const auto array = parse_npy(view(npy(dict("|b1", "(3,)"), {0, 1, 200})));
  ASSERT_TRUE(array.ok());
  EXPECT_EQ(array->bytes, (Bytes{0, 1, 1}));
}

TEST(Npy, KeysMayComeInAnyOrder) {
  const auto array = parse_npy(view(npy("{\"shape\":(1,),'fortran_order':False,'descr':'<f4'}", kFourBytes)));
  ASSERT_TRUE(array.ok()) << array.diag().message;
}

TEST(Npy, BigEndianAndUnknownDTypesAreRefused) {
  expect_npy_error(npy(dict(">f4", "(1,)"), kFourBytes), Code::incompatible_file, "the array is big-endian");
  for (const char* descr : {"<U1", "|O", "<M8[s]", "<f3", "|V4", "", "<"}) {
    expect_npy_error(npy(dict(descr, "(1,)"), kFourBytes), Code::incompatible_file, "dtype");
  }
  expect_npy_error(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", kFourBytes),
                   Code::incompatible_file, "structured arrays");
}

TEST(Npy, WrongLengthsAreRefused) {
  expect_npy_error(npy(dict("<f4", "(2,)"), kFourBytes), Code::corrupt_file, "the array is cut off");
  expect_npy_error(npy(dict("<f4", "()"), {0, 0, 0, 0, 0}), Code::corrupt_file, "bytes follow the array");
  expect_npy_error(npy(dict("<f4", "(4294967296, 4294967296)"), kFourBytes), Code::corrupt_file, "address space");
  expect_npy_error(npy(dict("<f4", "(9223372036854775807, 0, 3)"), {}), Code::corrupt_file, "address space");
  expect_npy_error(npy(dict("<f4", "(99999999999999999999,)"), kFourBytes), Code::corrupt_file, "not a size");
}

TEST(Npy, BadLiteralsAreRefused) {
  const std::string good = "'fortran_order': False, 'shape': (1,)";
  for (const std::string& literal : std::vector<std::string>{
           "", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr': '<f4', " + good, "{'descr': '<f4', " + good + "} x",
           "{'descr': '<f4', 'descr': '<f4', " + good + "}", "{'descr': '<f4', 'more': 1, " + good + "}",
           "{'descr': 4, " + good + "}", "{'descr': '<f4' " + good + "}", "{'descr': '<f4",
           "{'descr': '<f4', 'shape': (1)}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1"}) {
    const auto array = parse_npy(view(npy(literal, kFourBytes)));
    ASSERT_FALSE(array.ok()) << literal;
    EXPECT_EQ(array.diag().code, Code::corrupt_file) << literal;
  }
}

TEST(Npy, TooManyDimensionsAreRefused) {
  expect_npy_error(npy(dict("<f4", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), kFourBytes), Code::incompatible_file,
                   "more than 16 dimensions");
}

TEST(Npz, StoredAndDeflatedEntriesKeepTheirOrder) {
  const auto arrays = parse_npz(view(archive(
      {deflated("b.npy", npy(dict("<f4", "(1,)"), kFourBytes)), stored("a.npy", npy(dict("<f4", "()"), kFourBytes))})));
  ASSERT_TRUE(arrays.ok()) << arrays.diag().message;
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[0].name, "b");
  EXPECT_EQ((*arrays)[1].name, "a");
  EXPECT_EQ(floats((*arrays)[0]), floats((*arrays)[1]));
}

TEST(Npz, WriterIsDeterministicAndReadsBack) {
  const std::vector<NamedArray> arrays = {f32_array("out0", {2, 2}, {1, 2, 3, 4}), f32_array("mut_1", {}, {5})};
  const auto bytes = to_npz(arrays);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, *to_npz(arrays));
  const auto back = parse_npz(view(*bytes));
  ASSERT_TRUE(back.ok()) << back.diag().message;
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].name, "out0");
  EXPECT_EQ(floats((*back)[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ((*back)[1].sizes, std::vector<int64_t>{});
}

TEST(Npz, WriterRefusesEmptyAndEqualNames) {
  EXPECT_EQ(to_npz({f32_array("", {}, {1})}).diag().code, Code::usage);
  EXPECT_EQ(to_npz({f32_array("a", {}, {1}), f32_array("a", {}, {2})}).diag().code, Code::usage);
}

TEST(Npz, AnArchiveWithoutEntriesHasNoArrays) {
  const auto arrays = parse_npz(view(archive({})));
  ASSERT_TRUE(arrays.ok());
  EXPECT_TRUE(arrays->empty());
}

TEST(Npz, Zip64SizesAreRead) {
  Entry e = stored("x.npy", npy(dict("<f4", "()"), kFourBytes));
  put(e.central_extra, 1, 2), put(e.central_extra, 16, 2);
  put(e.central_extra, e.packed.size(), 8), put(e.central_extra, e.packed.size(), 8);
  e.packed_bytes = e.unpacked_bytes = 0xffffffff;
  EXPECT_TRUE(parse_npz(view(archive({e}))).ok());
  e.central_extra.resize(12);
  expect_npz_error({e}, Code::corrupt_file, "an extra field is longer than its record");
  e.central_extra.clear();
  expect_npz_error({e}, Code::corrupt_file, "a ZIP64 field is missing");
}

TEST(Npz, LyingDirectoriesAreRefused) {
  const Entry good = stored("x.npy", npy(dict("<f4", "()"), kFourBytes));
  expect_npz_error({good, good}, Code::corrupt_file, "two entries have the name 'x.npy'");
  Entry e = good;
  e.crc ^= 1;
  expect_npz_error({e}, Code::corrupt_file, "does not have its checksum");
  e = good, e.local_name = "y.npy";
  expect_npz_error({e}, Code::corrupt_file, "described in two ways");
  e = good, e.local_method = 8;
  expect_npz_error({e}, Code::corrupt_file, "described in two ways");
  e = good, e.offset = 1;
  expect_npz_error({e}, Code::corrupt_file, "an entry has no local header");
  e = good, e.offset = 1000000;
  expect_npz_error({e}, Code::corrupt_file, "an entry lies outside the file");
  e = good, e.packed_bytes += 1, e.unpacked_bytes += 1;
  expect_npz_error({e}, Code::corrupt_file, "lies outside the file");
  e = good, e.unpacked_bytes += 1;
  expect_npz_error({e}, Code::corrupt_file, "has two sizes");
  e = good, e.method = e.local_method = 12;
  expect_npz_error({e}, Code::incompatible_file, "compression method 12");
  e = good, e.flags = 1;
  expect_npz_error({e}, Code::incompatible_file, "is encrypted");
  e = good, e.name = e.local_name = "data.pkl";
  expect_npz_error({e}, Code::incompatible_file, "is not an .npy file");
}

TEST(Npz, OverlappingEntriesAreRefused) {
  // The second entry's local header and name lie inside the data of the first.
  const Entry inner = stored("b.npy", npy(dict("<f4", "()"), kFourBytes));
  Bytes nested = archive({inner});
  nested.resize(30 + 5 + inner.packed.size());
  const Entry outer = stored("a.npy", nested);
  Entry alias = inner;
  alias.offset = 30 + 5;
  expect_npz_error({outer, alias}, Code::corrupt_file, "two entries overlap");
}

TEST(Npz, ClaimedCountsMustMatchTheDirectory) {
  const Entry good = stored("x.npy", npy(dict("<f4", "()"), kFourBytes));
  EXPECT_EQ(parse_npz(view(archive({good}, 0))).diag().code, Code::corrupt_file);
  EXPECT_EQ(parse_npz(view(archive({good}, 2))).diag().code, Code::corrupt_file);
  EXPECT_EQ(parse_npz(view(archive({good}, 60000))).diag().code, Code::corrupt_file);
}

TEST(Npz, BombsAreRefusedBeforeTheyUnpack) {
  Entry e = deflated("x.npy", npy(dict("|u1", "(100000,)"), Bytes(100000)));
  EXPECT_TRUE(parse_npz(view(archive({e}))).ok());
  ArrayLimits limits;
  limits.max_unpacked_bytes = 50000;
  EXPECT_EQ(parse_npz(view(archive({e})), limits).diag().code, Code::limit);
  e.unpacked_bytes = 0x7fffffff;
  expect_npz_error({e}, Code::corrupt_file, "claims to unpack to more than it can");
  Entry longer = deflated("x.npy", npy(dict("|u1", "(1000,)"), Bytes(1000)));
  longer.unpacked_bytes -= 1;
  expect_npz_error({longer}, Code::corrupt_file, "does not unpack to its size");
  longer.unpacked_bytes += 2;
  expect_npz_error({longer}, Code::corrupt_file, "does not unpack to its size");
  limits = {};
  limits.max_entries = 1;
  EXPECT_EQ(parse_npz(view(archive({stored("a.npy", {}), stored("b.npy", {})})), limits).diag().code, Code::limit);
}

Bytes small_archive() {
  return archive({deflated("b.npy", npy(dict("<f4", "(5, 2)", "True"), Bytes(40, 3))),
                  stored("a.npy", npy(dict("<i8", "()"), Bytes(8, 1)))});
}

TEST(Npz, EveryTruncationIsRefused) {
  const Bytes file = small_archive();
  for (size_t size = 0; size < file.size(); ++size) {
    const Bytes cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(parse_npz(view(cut)).ok()) << size;
  }
}

TEST(Npy, EveryTruncationIsRefused) {
  const Bytes file = to_npy(f32_array("", {2, 2}, {1, 2, 3, 4}));
  for (size_t size = 0; size < file.size(); ++size) {
    const Bytes cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(parse_npy(view(cut)).ok()) << size;
  }
}

TEST(Npz, FlippedBytesNeverChangeTheArraysSilently) {
  const Bytes file = small_archive();
  const auto truth = parse_npz(view(file));
  ASSERT_TRUE(truth.ok());
  for (size_t at = 0; at < file.size(); ++at) {
    for (const uint8_t mask : {0x01, 0x80, 0xff}) {
      Bytes flipped = file;
      flipped[at] ^= mask;
      const auto arrays = parse_npz(view(flipped));
      if (!arrays.ok()) continue;  // refused, or the byte carries no meaning (dates, attributes)
      ASSERT_EQ(arrays->size(), truth->size()) << at;
      for (size_t i = 0; i < truth->size(); ++i) {
        EXPECT_EQ((*arrays)[i].name, (*truth)[i].name) << at;
        EXPECT_EQ((*arrays)[i].sizes, (*truth)[i].sizes) << at;
        EXPECT_EQ((*arrays)[i].bytes, (*truth)[i].bytes) << at;
      }
    }
  }
}

TEST(Npy, FlippedBytesKeepTheSizeInvariant) {
  const Bytes file = npy(dict("<f4", "(2, 2)", "True"), Bytes(16, 1));
  for (size_t at = 0; at < file.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      Bytes flipped = file;
      flipped[at] = static_cast<uint8_t>(value);
      const auto array = parse_npy(view(flipped));
      if (!array.ok()) continue;
      uint64_t bytes = dtype_size_bytes(array->dtype);
      for (const int64_t size : array->sizes) bytes *= static_cast<uint64_t>(size);
      EXPECT_EQ(array->bytes.size(), bytes) << at;
    }
  }
}

TEST(Arrays, FilesAreToldApartByContentAndErrorsNameThem) {
  const testing::ScratchFolder scratch;
  const std::string path = scratch.file("arrays.npz");
  ASSERT_TRUE(write_arrays(path, {f32_array("x", {1}, {1})}).ok());
  const auto arrays = read_arrays(path);
  ASSERT_TRUE(arrays.ok()) << arrays.diag().message;
  EXPECT_EQ((*arrays)[0].name, "x");
  const std::string single = scratch.file("array.npy");
  ASSERT_TRUE(write_arrays(single, {f32_array("x", {1}, {2})}).ok());
  EXPECT_EQ(floats((*read_arrays(single))[0]), std::vector<float>{2.0f});
  EXPECT_EQ(write_arrays(single, {}).diag().code, Code::usage);
  std::remove(path.c_str());
  std::remove(single.c_str());
  const auto missing = read_arrays(path);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.diag().code, Code::file_io);
  EXPECT_EQ(missing.diag().where.file, path);
}

TEST(Arrays, AFolderIsNoFile) {
  const testing::ScratchFolder scratch;
  EXPECT_EQ(read_arrays(scratch.path()).diag().code, Code::file_io);
}

}  // namespace
}  // namespace wick::cli
