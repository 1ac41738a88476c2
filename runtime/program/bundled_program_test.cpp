#include "wick/bundled_program.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>
#include <functional>

#include "schema/bundled_program_generated.h"
#include "schema/test_program_builder.h"

namespace wick {
namespace bundled_program_test {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using schema::AlignedBytes;
using schema::TestProgram;

struct TestValue {
  DType dtype = DType::f32;
  std::vector<int32_t> sizes = {2, 3};
  std::vector<uint8_t> dim_order = {0, 1};
  size_t data_bytes = 24;
  bpte::ValueUnion type = bpte::ValueUnion::Tensor;
  bool has_value = true, has_sizes = true, has_dim_order = true;
};

struct TestBundle {
  const char* method = "forward";
  uint32_t version = 2;
  bool has_program = true;
  size_t program_alignment = 32;
  TestValue input = {}, output = {};
  int unknown_fields = 0;  // in the test set
};

Offset<void> payload(FlatBufferBuilder& builder, const TestValue& value) {
  switch (value.type) {
    case bpte::ValueUnion::Int: return bpte::CreateInt(builder, -3).Union();
    case bpte::ValueUnion::Bool: return bpte::CreateBool(builder, true).Union();
    case bpte::ValueUnion::Double: return bpte::CreateDouble(builder, 0.5).Union();
    default: break;
  }
  const std::vector<uint8_t> data(value.data_bytes, 7);
  return bpte::CreateTensorDirect(builder, static_cast<int8_t>(value.dtype), value.has_sizes ? &value.sizes : nullptr,
                                  &data, value.has_dim_order ? &value.dim_order : nullptr)
      .Union();
}

Offset<bpte::Value> value_of(FlatBufferBuilder& builder, const TestValue& value) {
  return bpte::CreateValue(builder, value.type, value.has_value ? payload(builder, value) : 0);
}

AlignedBytes build(const TestBundle& bundle) {
  FlatBufferBuilder builder;
  const std::vector<Offset<bpte::Value>> inputs = {value_of(builder, bundle.input)},
                                         outputs = {value_of(builder, bundle.output)};
  const auto input_list = builder.CreateVector(inputs), output_list = builder.CreateVector(outputs);
  const flatbuffers::uoffset_t start = builder.StartTable();
  builder.AddOffset(bpte::BundledMethodTestCase::VT_INPUTS, input_list);
  builder.AddOffset(bpte::BundledMethodTestCase::VT_EXPECTED_OUTPUTS, output_list);
  for (int i = 1; i <= bundle.unknown_fields; ++i) {
    const int field = bpte::BundledMethodTestCase::VT_EXPECTED_OUTPUTS + 2 * i;
    builder.AddElement<double>(static_cast<flatbuffers::voffset_t>(field), 0.25, 0);
  }
  const std::vector<Offset<bpte::BundledMethodTestCase>> sets = {builder.EndTable(start)};
  const std::vector<Offset<bpte::BundledMethodTestSuite>> suites = {
      bpte::CreateBundledMethodTestSuiteDirect(builder, bundle.method, &sets)};
  const AlignedBytes inner = TestProgram().build();
  const auto suite_list = builder.CreateVector(suites);
  Offset<flatbuffers::Vector<uint8_t>> program = 0;
  if (bundle.has_program) {
    builder.ForceVectorAlignment(inner.size(), 1, bundle.program_alignment);
    program = builder.CreateVector(inner.data(), inner.size());
  }
  bpte::FinishBundledProgramBuffer(builder, bpte::CreateBundledProgram(builder, bundle.version, suite_list, program));
  return AlignedBytes(builder.GetBufferPointer(), builder.GetSize());
}

AlignedBytes read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return AlignedBytes(std::vector<uint8_t>((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>()));
}

std::string refusal_of(const AlignedBytes& file, Error wanted = Error::InvalidProgram) {
  char buffer[512];
  ErrorText text(buffer);
  const Result<BundledProgram> bundled = BundledProgram::load(file.span(), {&text});
  EXPECT_EQ(bundled.error(), wanted) << text.c_str();
  return text.c_str();
}

/// Reads everything that a loaded bundle gives access to. Returns a sum, so that the reads stay.
size_t touch(const BundledProgram& bundled) {
  size_t sum = bundled.program().size() + bundled.has_unknown_fields();
  const auto touch_value = [&sum](const ValueMeta& value) {
    for (const uint8_t byte : value.tensor.bytes) sum += byte;
    for (const int32_t size : value.tensor.sizes) sum += static_cast<size_t>(size);
  };
  for (size_t i = 0; i < bundled.num_suites(); ++i) {
    sum += strlen(bundled.method(i));
    for (size_t set = 0; set < bundled.num_sets(i); ++set) {
      for (size_t k = 0; k < bundled.num_inputs(i, set); ++k) touch_value(bundled.input(i, set, k));
      for (size_t k = 0; k < bundled.num_outputs(i, set); ++k) touch_value(bundled.output(i, set, k));
    }
  }
  return sum;
}

TEST(BundledProgram, SaysWhatStocksFilesHold) {
  const AlignedBytes file = read_file("tests/fixtures/stock/1.5/bundled_values.bpte");
  ASSERT_TRUE(BundledProgram::is_bundled(file.span()));
  const Result<BundledProgram> bundled = BundledProgram::load(file.span());
  ASSERT_TRUE(bundled.ok());
  EXPECT_EQ(bundled->version(), BundledProgram::kKnownVersion);
  EXPECT_FALSE(bundled->has_unknown_fields());
  ASSERT_EQ(bundled->num_suites(), 1u);
  EXPECT_STREQ(bundled->method(0), "forward");
  ASSERT_EQ(bundled->num_sets(0), 2u);
  ASSERT_EQ(bundled->num_inputs(0, 1), 3u);
  EXPECT_EQ(bundled->num_outputs(0, 1), 5u);
  const TensorMeta x = bundled->input(0, 1, 0).tensor;
  EXPECT_EQ(x.nbytes, 48u);
  EXPECT_EQ(bundled->input(0, 1, 1).tag, Tag::integer);
  EXPECT_EQ(bundled->input(0, 1, 1).integer, 3);
  EXPECT_EQ(bundled->input(0, 1, 2).tensor.dtype, DType::f16);
  EXPECT_EQ(bundled->output(0, 1, 1).tensor.dtype, DType::boolean);
  EXPECT_EQ(bundled->output(0, 1, 3).tensor.sizes.size(), 0u);
  EXPECT_TRUE(Program::load(bundled->program()).ok());
}

TEST(BundledProgram, ReadsTensorsAndNumbers) {
  const TestValue integer{.type = bpte::ValueUnion::Int}, real{.type = bpte::ValueUnion::Double},
      flag{.type = bpte::ValueUnion::Bool};
  const AlignedBytes file = build({.input = integer, .output = real});
  const Result<BundledProgram> bundled = BundledProgram::load(file.span());
  ASSERT_TRUE(bundled.ok());
  EXPECT_EQ(bundled->input(0, 0, 0).integer, -3);
  EXPECT_EQ(bundled->output(0, 0, 0).real, 0.5);
  const AlignedBytes other = build({.input = flag, .output = {.sizes = {}, .dim_order = {}, .data_bytes = 4}});
  const Result<BundledProgram> second = BundledProgram::load(other.span());
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->input(0, 0, 0).boolean);
  EXPECT_EQ(second->output(0, 0, 0).tensor.numel, 1u);
}

TEST(BundledProgram, RefusesTensorsThatAreNone) {
  const auto refused = [](const TestValue& value) {
    const std::string as_input = refusal_of(build({.input = value})), as_output = refusal_of(build({.output = value}));
    const std::string start = "test set 0 of method forward: ";
    EXPECT_EQ(as_input.substr(0, start.size() + 9), start + "input 0: ");
    EXPECT_EQ(as_output.substr(0, start.size() + 19), start + "expected output 0: ");
    EXPECT_EQ(as_input.substr(start.size() + 9), as_output.substr(start.size() + 19));
    return as_input.substr(start.size() + 9);
  };
  const std::string shape = "bad size, 2^31 elements or more, or bad dim order";
  const std::string bytes = "it has more or fewer bytes than elements";
  EXPECT_EQ(refused({.data_bytes = 23}), bytes);
  EXPECT_EQ(refused({.data_bytes = 25}), bytes);
  EXPECT_EQ(refused({.sizes = {-2, 3}}), shape);
  EXPECT_EQ(refused({.sizes = {65536, 65536}}), shape);
  EXPECT_EQ(refused({.sizes = {65536, 32767}}), bytes);
  EXPECT_EQ(refused({.dim_order = {0, 0}}), shape);
  EXPECT_EQ(refused({.dim_order = {1, 2}}), shape);
  EXPECT_EQ(refused({.dim_order = {0}}), "dim order and sizes differ in length");
  EXPECT_EQ(refused({.dtype = static_cast<DType>(99)}), "unknown dtype");
  EXPECT_EQ(refused({.dtype = static_cast<DType>(-1)}), "unknown dtype");
  EXPECT_EQ(refused({.sizes = std::vector<int32_t>(17, 1)}), "rank above 16");
  EXPECT_EQ(refused({.has_sizes = false}), "sizes or dim order are missing");
  EXPECT_EQ(refused({.has_dim_order = false}), "sizes or dim order are missing");
  EXPECT_EQ(refused({.has_value = false}), "neither a tensor nor a number");
  EXPECT_EQ(refused({.type = bpte::ValueUnion::NONE, .has_value = false}), "neither a tensor nor a number");
}

TEST(BundledProgram, RefusesFilesWithoutTheirParts) {
  EXPECT_EQ(refusal_of(build({.method = ""})), "test suite 0 names no method");
  EXPECT_EQ(refusal_of(build({.method = nullptr})), "test suite 0 names no method");
  EXPECT_EQ(refusal_of(build({.has_program = false})), "the bundled program holds no program");
  EXPECT_EQ(refusal_of(TestProgram().build()), "no bundled program: identifier BP08 not found at byte 4");
  const AlignedBytes file = build({});
  std::vector<uint8_t> shifted(1, 0);
  shifted.insert(shifted.end(), file.data(), file.data() + file.size());
  const AlignedBytes copy(shifted);
  EXPECT_EQ(BundledProgram::load({copy.data() + 1, file.size()}).error(), Error::InvalidArgument);
}

/// `suites` suites that share a name and a list of `sets` sets, which share an input of `data_bytes`.
AlignedBytes build_shared(size_t suites, const std::string& name, size_t sets, size_t data_bytes) {
  FlatBufferBuilder builder;
  const TestValue value = {
      .dtype = DType::u8, .sizes = {static_cast<int32_t>(data_bytes)}, .dim_order = {0}, .data_bytes = data_bytes};
  const std::vector<Offset<bpte::Value>> inputs = {value_of(builder, value)};
  const std::vector<Offset<bpte::BundledMethodTestCase>> set_list(
      sets, bpte::CreateBundledMethodTestCaseDirect(builder, &inputs));
  const std::vector<Offset<bpte::BundledMethodTestSuite>> suite_list(
      suites, bpte::CreateBundledMethodTestSuiteDirect(builder, name.c_str(), &set_list));
  const AlignedBytes inner = TestProgram().build();
  const auto all = builder.CreateVector(suite_list);
  builder.ForceVectorAlignment(inner.size(), 1, 32);
  const auto program = builder.CreateVector(inner.data(), inner.size());
  bpte::FinishBundledProgramBuffer(builder, bpte::CreateBundledProgram(builder, 2, all, program));
  return AlignedBytes(builder.GetBufferPointer(), builder.GetSize());
}

// Both edges: the last count that fits, and the first that does not.
TEST(BundledProgram, RefusesSharedPartsThatTakeMoreThanTheFile) {
  const auto limit = [](const std::function<AlignedBytes(size_t)>& build_count, uint64_t each_bytes, uint64_t factor,
                        const std::string& says) {
    size_t refused = 0, loaded = 0;
    for (size_t count = 1; count <= 64; ++count) {
      const AlignedBytes file = build_count(count);
      if (count * each_bytes <= factor * file.size()) {
        EXPECT_EQ(refusal_of(file, Error::Ok), "") << count;
        ++loaded;
      } else {
        EXPECT_EQ(refusal_of(file), says + " take more bytes than a file of this size can hold") << count;
        ++refused;
      }
    }
    EXPECT_GT(loaded, 0u);
    EXPECT_GT(refused, 0u);
  };
  const std::string tensors = "the tensors of the test sets", names = "the methods' names in the test sets";
  const std::string name(1000, 'm');
  limit([](size_t count) { return build_shared(1, "m", count, 1000); }, 1000, 1, tensors);
  limit([](size_t count) { return build_shared(count, "m", 1, 1000); }, 1000, 1, tensors);
  limit([&](size_t count) { return build_shared(count, name, 0, 0); }, 1000, 4, names);
  limit([&](size_t count) { return build_shared(1, name, count - 1, 0); }, 1000, 4, names);
}

// Both edges of what tables of FlatBuffers may take. The bytes are zeros that take no memory.
TEST(BundledProgram, RefusesFilesAboveTheLimitOfTheirTables) {
  constexpr size_t kMaxBytes = FLATBUFFERS_MAX_BUFFER_SIZE - 1;
  void* bytes =
      mmap(nullptr, kMaxBytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(bytes, MAP_FAILED);
  uint8_t* file = static_cast<uint8_t*>(bytes);
  const auto text_of_load = [&](size_t size, auto load) {
    char buffer[512];
    ErrorText text(buffer);
    EXPECT_EQ(load(Span<const uint8_t>(file, size), LoadOptions{&text}).error(), Error::InvalidProgram);
    return std::string(text.c_str());
  };
  memcpy(file + schema::kIdentifierOffset, schema::kBundledProgramIdentifier, schema::kIdentifierSize);
  EXPECT_EQ(text_of_load(kMaxBytes, BundledProgram::load), "the tables of the bundled program are corrupt");
  EXPECT_EQ(text_of_load(kMaxBytes + 1, BundledProgram::load), "a bundled program has less than 2^31 - 1 bytes");
  memcpy(file + schema::kIdentifierOffset, schema::kProgramIdentifier, schema::kIdentifierSize);
  EXPECT_EQ(text_of_load(kMaxBytes, Program::load), "the tables of the file are corrupt");
  EXPECT_EQ(text_of_load(kMaxBytes + 1, Program::load), "tables take 2147483647 bytes");
  munmap(bytes, kMaxBytes + 1);
}

// Unknown fields in the test sets are reported, but do not keep the program from running.
TEST(BundledProgram, TellsWhatItDoesNotKnow) {
  for (const uint32_t version : {0u, 2u, 3u, 4'000'000'000u}) {
    const AlignedBytes file = build({.version = version});
    const Result<BundledProgram> bundled = BundledProgram::load(file.span());
    ASSERT_TRUE(bundled.ok()) << version;
    EXPECT_EQ(bundled->version(), version);
    EXPECT_FALSE(bundled->has_unknown_fields()) << version;
  }
  for (const int fields : {1, 3}) {
    const AlignedBytes file = build({.unknown_fields = fields});
    const Result<BundledProgram> bundled = BundledProgram::load(file.span());
    ASSERT_TRUE(bundled.ok());
    EXPECT_TRUE(bundled->has_unknown_fields());
  }
}

// Files that end early, each in a block of its own size.
TEST(BundledProgram, RefusesEveryTruncation) {
  for (const char* name : {"bundled_methods", "bundled_values"}) {
    const AlignedBytes file = read_file(std::string("tests/fixtures/stock/1.5/") + name + ".bpte");
    ASSERT_GT(file.size(), 1000u);
    size_t loaded = 0;
    for (size_t size = 0; size < file.size(); ++size) {
      const AlignedBytes cut(file.data(), size);
      const Result<BundledProgram> bundled = BundledProgram::load(cut.span());
      loaded += bundled.ok() && Program::load(bundled->program()).ok() && touch(*bundled) != 0;
    }
    EXPECT_LE(loaded, 32u) << name;  // bytes that only pad the end
  }
}

TEST(BundledProgram, RefusesOrReadsEachChangedByte) {
  const AlignedBytes file = read_file("tests/fixtures/stock/1.5/bundled_methods.bpte");
  size_t refused = 0;
  for (size_t at = 0; at < file.size(); ++at) {
    for (const uint8_t flip : {0x01, 0x10, 0x80, 0xff}) {
      AlignedBytes changed(file.data(), file.size());
      changed.data()[at] ^= flip;
      const Result<BundledProgram> bundled = BundledProgram::load(changed.span());
      refused += !bundled.ok();
      EXPECT_TRUE(!bundled.ok() || touch(*bundled) > 0);
    }
  }
  EXPECT_GT(refused, 500u);
}

}  // namespace
}  // namespace bundled_program_test
}  // namespace wick
