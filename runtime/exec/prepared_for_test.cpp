// Programs that say what they were prepared for, and kernel tables that say what they are built for.
#include "runtime/exec/prepared_for.h"

#include "runtime/exec/method_harness.h"

namespace wick {
namespace {

// The message of check_prepared_for about a program with these facts; "" if it is accepted.
std::string refusal(const std::string& facts, std::vector<const char*> built_for) {
  TestProgram program;
  fill_add_program(program);
  program.add_named_data(kPreparedForKey, facts);
  const AlignedBytes file = program.build();
  const Result<Program> loaded = Program::load(file.span(), {});
  EXPECT_TRUE(loaded.ok());
  std::vector<KernelTable> tables;
  for (const char* each : built_for) tables.emplace_back(Span<const Kernel>(kTestKernels), each);
  char buffer[512];
  ErrorText text(buffer);
  const Error error = check_prepared_for(*loaded, {tables.data(), tables.size()}, &text);
  EXPECT_EQ(error == Error::Ok, text.size() == 0);
  return text.c_str();
}

TEST(PreparedFor, FactsThatNobodyStatesSayNothing) {
  EXPECT_EQ(refusal("a.isa=one a.cpu=x", {}), "");
  EXPECT_EQ(refusal("a.isa=one a.cpu=x", {"", "b.isa=two"}), "");
  EXPECT_EQ(refusal("", {"a.isa=two"}), "");
  EXPECT_EQ(refusal("   ", {"a.isa=two"}), "");
}

TEST(PreparedFor, OneOfTheValuesStatedMustBeTheSame) {
  EXPECT_EQ(refusal("a.cpu=x a.isa=two", {"", "a.isa=one a.isa=two"}), "");
  EXPECT_EQ(refusal("a.isa=two", {"a.isa=one", "a.isa=two"}), "");
  EXPECT_EQ(refusal("a.isa=two", {"a.isa=one"}),
            "the program was prepared for a.isa=two, but the kernels are built for a.isa=one");
  EXPECT_EQ(refusal("a.cpu=x a.isa=tw", {"b.isa=1", "a.isa=two a.isa=one"}),
            "the program was prepared for a.isa=tw, but the kernels are built for a.isa=two a.isa=one");
  EXPECT_EQ(refusal("a.isa", {"a.isa=one"}),
            "the program was prepared for a.isa, but the kernels are built for a.isa=one");
}

TEST(PreparedFor, AnyBytesAreShownAsText) {
  EXPECT_EQ(refusal(std::string("k=\x01\xff\0y", 6), {"k=1"}),
            "the program was prepared for k=???y, but the kernels are built for k=1");
  EXPECT_EQ(refusal("k=" + std::string(100, 'x'), {"k=1"}),
            "the program was prepared for k=" + std::string(46, 'x') + ", but the kernels are built for k=1");
}

TEST(PreparedFor, AMethodIsNotLoadedThen) {
  TestProgram program;
  fill_add_program(program);
  program.add_named_data(kPreparedForKey, "a.isa=two");
  MethodHarness harness(program);
  ErrorKind kind = ErrorKind::none;
  harness.options.kind = &kind;
  EXPECT_EQ(harness.load(), Error::Ok) << harness.text;
  harness.built_for = "a.isa=one";
  EXPECT_EQ(harness.load(), Error::NotSupported);
  EXPECT_EQ(kind, ErrorKind::not_supported);
  EXPECT_NE(harness.text.find("prepared for a.isa=two"), std::string::npos) << harness.text;
}

}  // namespace
}  // namespace wick
