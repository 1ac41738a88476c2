// Every error code, caused once, with its text. A code without a row here fails the test that walks all codes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "compiler/support/diag.h"
#include "runtime/exec/method_harness.h"
#include "schema/test_program_builder.h"
#include "tests/hostile/pt2_text.h"
#include "tests/hostile/run_wick.h"
#include "wick/module.h"

namespace wick::testing {
namespace {

using compiler::Code;
using schema::TestTensor;

std::string text_of(const AlignedBytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// What the tool prints for a diagnostic of which the tool cannot be given the cause here.
Outcome rendered(Code code) {
  Outcome outcome;
  outcome.exit_code = exit_code(code);
  outcome.output = render(compiler::Diag(code, "message"));
  return outcome;
}

std::string relu_model(const std::string& target = "aten.relu.default") {
  ProgramText program;
  const std::string type = meta({as_int("4")});
  program.input("x", type);
  program.graph.node(target, {"self", tensor("x")}, "r", type);
  program.output("r");
  return pt2_of(program.json());
}

std::string added_model(int value) {
  ProgramText program;
  const std::string type = meta({as_int("4")});
  program.input("x", type);
  program.graph.node("aten.add.Tensor", {"self", tensor("x"), "other", as_int(std::to_string(value))}, "r", type);
  program.output("r");
  return pt2_of(program.json());
}

// --- the tool's codes ---

struct ToolError {
  int exit_code;
  std::string says;
  std::function<Outcome()> cause;
};

// No default: the compiler warns when a code is missing.
ToolError tool_error(Code code) {
  switch (code) {
    case Code::usage: return {2, "error[usage]: ", [] { return run_wick({"run", "model.pte", "--no-such-option"}); }};
    case Code::file_io:
      return {2, "error[file-io]: ", [] { return run_wick({"verify", scratch_path("no_such_file.pte")}); }};
    case Code::unsupported_op:
      return {3, "error[unsupported-op]: the model uses an operator that Wick does not know", [] {
                return run_wick({"verify", made_file("op.pt2", [] { return relu_model("aten.no_such_op.default"); })});
              }};
    case Code::unsupported_model:
      return {3, "error[unsupported-model]: ", [] {
                return run_wick({"verify", made_file("model.pt2", [] {
                                   ProgramText program;
                                   std::string sparse = meta({as_int("4")});
                                   sparse.replace(sparse.find("\"layout\":7"), 10, "\"layout\":1");
                                   program.input("x", sparse);
                                   program.output("x");
                                   return pt2_of(program.json());
                                 })});
              }};
    case Code::corrupt_file:
      return {4, "error[corrupt-file]: ", [] {
                return run_wick({"verify", made_file("cut.pt2", [] { return relu_model().substr(0, 500); })});
              }};
    case Code::incompatible_file:
      return {4, "error[incompatible-file]: ", [] {
                return run_wick({"verify", made_file("text.bin", [] { return std::string("hello, world"); })});
              }};
    case Code::execution:
      return {4, "error[execution]: ", [] {
                return run_wick({"run", made_file("loop.pte", [] {
                                   TestProgram program;
                                   program.jump_false(program.boolean(false), 0);
                                   return text_of(program.build());
                                 })});
              }};
    case Code::numeric_mismatch:
      return {5, "error[numeric-mismatch]: ", [] {
                const std::string one = made_file("one.pt2", [] { return added_model(1); });
                const std::string two = made_file("two.pt2", [] { return added_model(2); });
                const std::string program = scratch_path("two.pte");
                EXPECT_EQ(run_wick({"compile", two, "-o", program}).exit_code, 0);
                return run_wick({"compare", one, program});
              }};
    case Code::budget:
      return {6, "error[budget]: ", [] {
                const std::string model = made_file("budget.pt2", [] { return relu_model(); });
                return run_wick({"compile", model, "-o", scratch_path("budget.pte"), "--max-file", "10"});
              }};
    case Code::limit:
      return {3, "error[limit]: ", [] {
                const std::string model = made_file("limit.pt2", [] { return relu_model(); });
                return run_wick({"verify", model, "--limit", "archive-entries=2"});
              }};
    case Code::missing_tool:
      return {3, "error[missing-tool]: ", [] { return rendered(Code::missing_tool); }};  // its causes: backends/*/test
    case Code::internal:
      return {1, "error[internal]: ", [] { return rendered(Code::internal); }};  // a bug of Wick: no input causes it
  }
  return {};
}

std::string documentation() {
  std::ifstream stream("docs/errors.md");
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST(ToolErrors, EachCodeHasItsTextAndExitCode) {
  const std::string documented = documentation();
  for (int i = 0; i <= static_cast<int>(Code::internal); ++i) {
    const Code code = static_cast<Code>(i);
    const ToolError error = tool_error(code);
    SCOPED_TRACE(compiler::code_name(code));
    ASSERT_TRUE(error.cause);
    const Outcome outcome = error.cause();
    EXPECT_EQ(outcome.exit_code, error.exit_code) << outcome.output;
    EXPECT_NE(outcome.output.find(error.says), std::string::npos) << outcome.output;
    EXPECT_EQ(exit_code(code), error.exit_code);
    EXPECT_NE(documented.find("`" + std::string(compiler::code_name(code)) + "` | "), std::string::npos);
  }
}

TEST(ToolErrors, AFlagOrCommandThatDoesNotExistComesBeforeWhatIsMissing) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments :
       {Arguments{"compile", "--wrong"}, Arguments{"run", "--wrong"}, Arguments{"wrong"}}) {
    const Outcome outcome = run_wick(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    const std::string what = arguments.size() == 1 ? "there is no command 'wrong'" : "has no option '--wrong'";
    EXPECT_NE(outcome.output.find(what), std::string::npos) << outcome.output;
  }
  EXPECT_NE(run_wick({"compile"}).output.find("wick compile needs inputs"), std::string::npos);
  EXPECT_NE(run_wick({"compiel"}).output.find("did you mean compile?"), std::string::npos);
  EXPECT_NE(run_wick({"compile", "--backnd", "x"}).output.find("did you mean --backend?"), std::string::npos);
  EXPECT_NE(run_wick({}).output.find("no command is given"), std::string::npos);
}

// --- the runtime's ---

struct Found {
  Error error;
  std::string text;
};

Found load(const std::function<void(TestProgram&)>& fill) {
  TestProgram program;
  fill(program);
  MethodHarness harness(program);
  const Error error = harness.load();
  return {error, harness.text};
}

Found execute(const std::function<void(TestProgram&)>& fill, const std::function<void(MethodHarness&)>& call) {
  TestProgram program;
  fill(program);
  MethodHarness harness(program);
  const Error error = harness.load();
  if (error != Error::Ok) return {error, harness.text};
  call(harness);
  return {harness.method().last_error().error, harness.last_error()};
}

struct RuntimeError {
  const char* says;
  std::function<Found()> cause;
};

const std::map<Error, RuntimeError>& runtime_errors() {
  static const std::map<Error, RuntimeError> table = {
      {Error::Internal,
       {"has a name of 100 characters or more",
        [] { return load([](TestProgram& program) { program.op(std::string(120, 'x').c_str(), "out"); }); }}},
      {Error::InvalidState,
       {"an input was not set since the last execution",
        [] { return execute(fill_add_program, [](MethodHarness& harness) { (void)harness.method().execute(); }); }}},
      {Error::NotSupported,
       {"storage offset is not 0",
        [] { return load([](TestProgram& program) { program.tensor({.sizes = {1}, .storage_offset = 4}); }); }}},
      {Error::InvalidArgument,
       {"input has a different dtype",
        [] {
          return execute(fill_add_program, [](MethodHarness& harness) {
            HostTensor32 given({2, 3}, std::vector<float>(6));
            given.tensor.dtype = DType::i32;
            (void)harness.method().set_input(0, given.tensor);
          });
        }}},
      {Error::InvalidType,
       {"an argument is not a number",
        [] {
          return execute(
              [](TestProgram& program) {
                const int32_t text = program.string("x"), out = program.integer(0);
                program.call(program.op("executorch_prim::add", "Scalar"), {text, text, out});
              },
              [](MethodHarness& harness) { (void)harness.method().execute(); });
        }}},
      {Error::OperatorMissing,
       {"no kernel for aten::nothing.out",
        [] { return load([](TestProgram& program) { program.op("aten::nothing", "out"); }); }}},
      {Error::NotFound,
       {"no backend Nothing", [] { return load([](TestProgram& program) { program.delegate("Nothing", {1}); }); }}},
      {Error::DelegateMemoryAllocationFailed,
       {"delegate 0 (Full):  [DelegateMemoryAllocationFailed]",
        [] {
          static constexpr Backend kFull = {
              "Full", [](BackendInit&, Span<const uint8_t>, void**) { return Error::DelegateMemoryAllocationFailed; },
              [](KernelContext&, void*, Span<EValue*>) {}, nullptr};
          TestProgram program;
          program.delegate("Full", {1});
          MethodHarness harness(program);
          harness.backends = {&kFull};
          const Error error = harness.load();
          return Found{error, harness.text};
        }}},
      {Error::MemoryAllocationFailed,
       {"exceeds arena 0",
        [] {
          return load([](TestProgram& program) {
            program.arena_sizes = {0, 16};
            program.tensor({.sizes = {100}, .memory_id = 1});
          });
        }}},
      {Error::AccessFailed,
       {"no_such_file.pte",
        [] {
          ModuleError error;
          EXPECT_EQ(Module::load(scratch_path("no_such_file.pte"), {}, &error), nullptr);
          return Found{error.code, error.message};
        }}},
      {Error::InvalidProgram,
       {"identifier ET12 not found",
        [] {
          ModuleError error;
          const std::vector<uint8_t> bytes(100);
          EXPECT_EQ(Module::load({bytes.data(), bytes.size()}, {}, &error), nullptr);
          return Found{error.code, error.message};
        }}},
      {Error::InvalidExternalData,
       {"header FH01 not found",
        [] {
          char buffer[256];
          ErrorText text(buffer);
          const AlignedBytes bytes(std::vector<uint8_t>(100));
          const auto map = DataMap::load(bytes.span(), {&text});
          return Found{map.error(), text.c_str()};
        }}},
      {Error::OutOfResources,
       {"input exceeds its upper bound",
        [] {
          return execute(
              [](TestProgram& program) {
                program.arena_sizes = {0, 16};
                TestTensor x{.sizes = {4}, .memory_id = 1};
                x.dynamism = pte::ShapeDynamism::DYNAMIC_BOUND;
                program.inputs = {program.tensor(x)};
              },
              [](MethodHarness& harness) {
                const HostTensor32 given({5}, std::vector<float>(5));
                (void)harness.method().set_input(0, given.tensor);
              });
        }}},
  };
  return table;
}

constexpr Error kAll[] = {Error::Ok,
                          Error::Internal,
                          Error::InvalidState,
                          Error::EndOfMethod,
                          Error::AlreadyLoaded,
                          Error::NotSupported,
                          Error::NotImplemented,
                          Error::InvalidArgument,
                          Error::InvalidType,
                          Error::OperatorMissing,
                          Error::RegistrationExceedingMaxKernels,
                          Error::RegistrationAlreadyRegistered,
                          Error::NotFound,
                          Error::MemoryAllocationFailed,
                          Error::AccessFailed,
                          Error::InvalidProgram,
                          Error::InvalidExternalData,
                          Error::OutOfResources,
                          Error::DelegateInvalidCompatibility,
                          Error::DelegateMemoryAllocationFailed,
                          Error::DelegateInvalidHandle};

TEST(RuntimeErrors, EachCodeHasItsText) {
  for (const auto& [error, row] : runtime_errors()) {
    SCOPED_TRACE(error_name(error));
    const Found found = row.cause();
    EXPECT_EQ(found.error, error) << found.text;
    EXPECT_NE(found.text.find(row.says), std::string::npos) << found.text;
  }
}

// Names of codes that the sources of the runtime use.
bool is_used(const char* name) {
  const std::string wanted = std::string("Error::") + name;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("runtime")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".cpp") || path.ends_with("_test.cpp")) continue;
    std::ifstream stream(path);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
      const size_t end = at + wanted.size();
      // error_text.cpp and the comparison of a code are no use.
      if (!path.ends_with("error_text.cpp") && !std::isalnum(static_cast<unsigned char>(text[end]))) return true;
    }
  }
  return false;
}

TEST(RuntimeErrors, EachCodeInUseHasARow) {
  const std::string documented = documentation();
  for (const Error error : kAll) {
    if (error == Error::Ok || !is_used(error_name(error))) continue;
    EXPECT_TRUE(runtime_errors().count(error)) << error_name(error) << " has no test of its text";
    EXPECT_NE(documented.find(std::string("| ") + error_name(error) + " |"), std::string::npos) << error_name(error);
  }
}

}  // namespace
}  // namespace wick::testing
