// Compiles chains of calls of one operator for each target. The compiler's use of the stack must not grow with the
// length of the chain: the compiler walks along operands and users without recursion, or limits the depth.
//   WICK_CASES=add.Tensor       only operators whose name contains the text
//   WICK_CASES_ALL=1            every operator, not one in kStep
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "backends/compile_table.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"

namespace wick::conformance::deep_programs_test {
namespace {

using compiler::Target;

constexpr size_t kStep = 100;
// Every limit on depth is below kShort, so both chains reach it.
constexpr size_t kShort = 250, kLong = 600;
// Smaller than any stack frame.
constexpr size_t kMaxBytesPerCall = 16;

// Runs work on a separate stack and returns how many bytes of it were written.
class MeasuredStack {
 public:
  size_t run(const std::function<void()>& work) {
    std::fill(stack_.begin(), stack_.end(), kUntouched);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT_EQ(pthread_attr_setstack(&attributes, stack_.data(), stack_.size()), 0);
    pthread_t thread;
    const auto call = [](void* argument) -> void* {
      (*static_cast<const std::function<void()>*>(argument))();
      return nullptr;
    };
    EXPECT_EQ(pthread_create(&thread, &attributes, call, const_cast<std::function<void()>*>(&work)), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    const auto touched = std::find_if(stack_.begin(), stack_.end(), [](uint8_t byte) { return byte != kUntouched; });
    return static_cast<size_t>(stack_.end() - touched);
  }

 private:
  static constexpr uint8_t kUntouched = 0xA5;
  std::vector<uint8_t> stack_ = std::vector<uint8_t>(size_t{2} << 20);
};

// Compiles the chain. Errors: the compiler's.
compiler::Status compile_chain(const Case& test, size_t operand, size_t length, const Target* target) {
  compiler::CompileOptions options;
  if (target) {
    options.targets.emplace_back(target);
    for (const compiler::TargetOption& option : target->options.list) {
      if (std::strcmp(option.name, "gpu") == 0) options.targets[0].settings.emplace_back("gpu", "none");
    }
  }
  ASSIGN_OR_RETURN(compiler::Function function, import_chain(test, operand, length));
  RETURN_IF_ERROR(compiler::optimize(function, options));
  auto compiled = write_case(function, options.profile);
  return compiled.ok() ? compiler::Status() : compiler::Status(std::move(compiled.diag()));
}

struct Counts {
  size_t chains = 0, compiled = 0;
};

void check_chains(const Case& test, const Target* target, MeasuredStack& stack, Counts& counts) {
  for (const size_t operand : chain_operands(test)) {
    const std::string what = fmt::format("{}{} {}, operand {}, for {}", test.op, shapes(test), test.arguments, operand,
                                         target ? target->name : "portable");
    size_t used[2] = {};
    for (const bool is_long : {false, true}) {
      compiler::Status status;
      used[is_long] = stack.run([&] { status = compile_chain(test, operand, is_long ? kLong : kShort, target); });
      if (!status.ok()) {
        EXPECT_NE(status.diag().code, compiler::Code::internal) << what << ": " << compiler::render(status.diag());
      }
      counts.compiled += status.ok();
      ++counts.chains;
    }
    EXPECT_LT(used[1], used[0] + (kLong - kShort) * kMaxBytesPerCall) << what << ": the compiler recurses";
  }
}

TEST(DeepPrograms, TakeNoMoreStack) {
  const char* filter = std::getenv("WICK_CASES");  // NOLINT(concurrency-mt-unsafe)
  const bool all = std::getenv("WICK_CASES_ALL");  // NOLINT(concurrency-mt-unsafe)
  const auto cases = first_cases("tests/fixtures/cases", 1);
  ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
  std::vector<const Case*> tried;
  for (const auto& [op, list] : *cases) {
    if (compiler::find_op(op) && (!filter || op.find(filter) != std::string::npos) && !chain_operands(list[0]).empty())
      tried.push_back(&list[0]);
  }
  std::vector<const Target*> targets = {nullptr};
  targets.insert(targets.end(), compiler::known_targets().begin(), compiler::known_targets().end());
  MeasuredStack stack;
  Counts counts;
  size_t operators = 0;
  for (size_t i = 0; i < tried.size(); i += all || filter ? 1 : kStep, ++operators) {
    for (const Target* target : targets) check_chains(*tried[i], target, stack, counts);
  }
  std::printf("%zu operators, %zu chains: %zu compile\n", operators, counts.chains, counts.compiled);
  EXPECT_TRUE(filter || counts.compiled > counts.chains / 2);
}

}  // namespace
}  // namespace wick::conformance::deep_programs_test
