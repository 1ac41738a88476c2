// Programs with test sets (.bpte), made by stock ExecuTorch.
#include <cstring>

#include "cli/cli_test_support.h"
#include "wick/bundled_program.h"

namespace wick::cli {
namespace {

std::vector<uint8_t> read_bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

const char* const kMethods = "stock/1.5/bundled_methods.bpte";
const char* const kValues = "stock/1.5/bundled_values.bpte";

TEST_F(Cli, TestSetsRunAndHaveALineEach) {
  Outcome outcome = wick("run " + fixture(kMethods) + " --testset");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
  for (const char* start : {"decode set 0: ok  out0: ", "encode set 0: ok  out0: ", "encode set 1: ok  out0: "})
    EXPECT_NE(outcome.out.find(start), std::string::npos) << outcome.out;
  outcome = wick("run " + fixture(kMethods) + " --testset --method encode --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("{\"schema\":\"wick.testset.1\",\"sets\":[{\"method\":\"encode\",\"set\":0,\"ok\":true,"),
            0u)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("decode"), std::string::npos);
}

// Numbers, several dtypes, an input that the program takes in channels-last order; the second set sees the state that
// the first one left.
TEST_F(Cli, TestSetsHoldAllKindsOfValues) {
  const Outcome outcome = wick("run " + fixture(kValues) + " --testset");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err << outcome.out;
  EXPECT_NE(outcome.out.find("forward set 1: ok  out0: "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("out4: 12 elements, all equal"), std::string::npos) << outcome.out;
}

TEST_F(Cli, TensorsOfTestSetsMayHaveAnyDimOrder) {
  std::vector<uint8_t> bytes = read_bytes(fixture(kValues));
  const Result<BundledProgram> bundled = BundledProgram::load({bytes.data(), bytes.size()});
  ASSERT_TRUE(bundled.ok());
  const TensorMeta x = bundled->input(0, 0, 0).tensor;  // [1, 2, 2, 3], row-major
  const auto place = [&](const uint8_t* byte) { return bytes.data() + (byte - bytes.data()); };
  const uint8_t order[] = {0, 2, 3, 1};
  memcpy(place(x.dim_order.data()), order, sizeof order);
  save_bytes("order.bpte", bytes);
  EXPECT_EQ(wick("run " + path("order.bpte") + " --testset").exit_code, 5);
  float rows[12], channels_last[12];
  memcpy(rows, x.bytes.data(), sizeof rows);
  for (int c = 0; c < 2; ++c) {
    for (int i = 0; i < 6; ++i) channels_last[i * 2 + c] = rows[c * 6 + i];
  }
  memcpy(place(x.bytes.data()), channels_last, sizeof channels_last);
  save_bytes("moved.bpte", bytes);
  const Outcome outcome = wick("run " + path("moved.bpte") + " --testset");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
}

// Any byte except zero is true, as in an .npz.
TEST_F(Cli, BoolsOfTestSetsMayBeAnyByte) {
  const std::vector<uint8_t> bytes = read_bytes(fixture(kValues));
  const Result<BundledProgram> bundled = BundledProgram::load({bytes.data(), bytes.size()});
  ASSERT_TRUE(bundled.ok());
  const TensorMeta flags = bundled->output(0, 0, 1).tensor;
  ASSERT_EQ(flags.dtype, DType::boolean);
  const size_t begin = static_cast<size_t>(flags.bytes.data() - bytes.data());
  const auto code_with = [&](uint8_t when_true, uint8_t when_false) {
    std::vector<uint8_t> changed = bytes;
    for (size_t i = begin; i < begin + flags.nbytes; ++i) changed[i] = changed[i] != 0 ? when_true : when_false;
    save_bytes("bools.bpte", changed);
    return wick("run " + path("bools.bpte") + " --testset").exit_code;
  };
  for (const uint8_t byte : {1, 2, 127, 128, 255}) {
    EXPECT_EQ(code_with(byte, 0), 0) << int{byte};
    EXPECT_EQ(code_with(byte, byte), 5) << int{byte};
    EXPECT_EQ(code_with(0, byte), 5) << int{byte};
  }
}

TEST_F(Cli, ATestSetThatFailsIsNamed) {
  std::vector<uint8_t> bytes = read_bytes(fixture(kMethods));
  const Result<BundledProgram> bundled = BundledProgram::load({bytes.data(), bytes.size()});
  ASSERT_TRUE(bundled.ok());
  ASSERT_STREQ(bundled->method(1), "encode");
  const auto changed = [&](const ValueMeta& value) {
    std::vector<uint8_t> copy = bytes;
    copy[static_cast<size_t>(value.tensor.bytes.data() - bytes.data()) + 3] ^= 0x40;  // the exponent of a float
    save_bytes("changed.bpte", copy);
    return wick("run " + path("changed.bpte") + " --testset");
  };
  for (const ValueMeta& value : {bundled->output(1, 1, 0), bundled->input(1, 1, 0)}) {
    const Outcome outcome = changed(value);
    EXPECT_EQ(outcome.exit_code, 5) << outcome.out;
    EXPECT_NE(outcome.out.find("encode set 0: ok  out0: "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.out.find("encode set 1: FAIL  out0: max abs "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.err.find("error[numeric-mismatch]: 1 of 3 test sets failed"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("note   encode set 1\n"), std::string::npos) << outcome.err;
  }
}

TEST_F(Cli, TheProgramOfABundleIsAProgramForEveryCommand) {
  const std::string file = fixture(kMethods);
  EXPECT_EQ(wick("run " + file + " --method encode").exit_code, 0);
  EXPECT_EQ(wick("explain " + file).exit_code, 0);
  EXPECT_EQ(wick("ops " + file).exit_code, 0);
  EXPECT_EQ(wick("package " + file + " --device none -o " + path("package")).exit_code, 0);
  const Outcome inspect = wick("inspect " + file), json = wick("inspect --json " + file),
                verify = wick("verify " + file);
  EXPECT_NE(inspect.out.find("test sets of method"), std::string::npos) << inspect.out;
  EXPECT_NE(inspect.out.find("aten::"), std::string::npos) << inspect.out;
  EXPECT_NE(json.out.find("\"test_sets\":[{\"method\":\"decode\",\"sets\":1},{\"method\":\"encode\",\"sets\":2}]"),
            std::string::npos)
      << json.out;
  EXPECT_NE(verify.out.find("ok (bpte: 2 methods"), std::string::npos) << verify.out;
}

TEST_F(Cli, TestSetsAreAskedForRightly) {
  const auto refused = [&](const std::string& arguments, const std::string& says) {
    const Outcome outcome = wick("run " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_NE(outcome.err.find(says), std::string::npos) << outcome.err;
  };
  refused(fixture(kMethods) + " --testset --seed 1 -i x.npz", "--testset takes its inputs from the file");
  refused(fixture(kMethods) + " --testset -o x.npz", "--testset takes its inputs from the file");
  refused(fixture(kMethods) + " --testset --step =x.npz", "--testset takes its inputs from the file");
  refused(fixture("stock/1.5/add.pte") + " --testset", "the program has no test sets");
  refused(fixture(kMethods) + " --testset --method other", "method 'other' has no test sets");
}

TEST_F(Cli, TestSetsOfAMethodThatIsNotThereAreRefused) {
  std::vector<uint8_t> bytes = read_bytes(fixture(kMethods));
  const Result<BundledProgram> bundled = BundledProgram::load({bytes.data(), bytes.size()});
  ASSERT_TRUE(bundled.ok());
  bytes[static_cast<size_t>(reinterpret_cast<const uint8_t*>(bundled->method(1)) - bytes.data())] = 'E';
  save_bytes("other.bpte", bytes);
  const Outcome outcome = wick("run " + path("other.bpte") + " --testset");
  EXPECT_EQ(outcome.exit_code, 4) << outcome.out;
  EXPECT_NE(outcome.err.find("does not fit the program: it has no such method"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace wick::cli
