// Programs that call kernels with arguments no exporter writes: each number among the arguments of each operator at its
// edges, several at once, lists of other lengths, tensors exchanged, laid over each other, and of other dtypes and
// shapes. Always the same.
//   WICK_CASES=roi_align        only operators whose name contains the text
//   WICK_HOSTILE_CASES=100      that many cases of each operator, and longer
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/conformance/case_program.h"
#include "tests/fuzz/argument_edit.h"
#include "tests/fuzz/run_program.h"

namespace wick::testing {
namespace {

using conformance::Case;
using fuzz::EditableProgram;

constexpr time_t kMaxSeconds = 60;  // of processor time for all changes of an operator, with sanitizers
constexpr size_t kCombinations = 20;

// What the attacking process tells.
struct Shared {
  size_t current = 0;                                  // the operator under attack
  uint64_t compiled = 0, executed = 0, succeeded = 0;  // programs; changed ones; of these, with a result
};

class Attack {
 public:
  Attack(const Case& test, Shared* shared) : shared_(shared) {
    for (const auto& [name, tensor] : test.tensors)
      inputs_.push_back({tensor.value.bytes.data(), tensor.value.bytes.size()});
    const auto compiled = conformance::compile_case(test, compiler::Profile::native, conformance::Operands::inputs);
    if (compiled.ok()) pte_ = compiled->pte;
  }

  // As it is, then on other bytes, with overlapping tensors, each number at each of its edges, several changes at once.
  void run(size_t combinations) const {
    if (pte_.empty()) return;
    ++shared_->compiled;
    (void)fuzz::run_program({pte_.data(), pte_.size()}, nullptr, span());
    run_changed([](auto&) {});
    run_on_garbage();
    for (const size_t step : {1, 4, 8, 24}) run_changed([&](auto& plan) { fuzz::overlap_tensors(plan, step); });
    const EditableProgram first = opened();
    const size_t places = fuzz::number_places(*first.tables->execution_plan[0]).size();
    for (size_t place = 0; place < places; ++place) {
      for (size_t edge = 0; edge < fuzz::kNumEdges; ++edge)
        run_changed([&](auto& plan) { fuzz::set_edge(plan, fuzz::number_places(plan)[place], edge); });
    }
    fuzz::Random random(pte_.size());
    for (size_t i = 0; i < combinations * (1 + places / 4); ++i) {
      run_changed([&](auto& plan) {
        for (size_t changes = 1 + random.below(4); changes > 0; --changes) fuzz::edit_arguments(plan, random);
      });
    }
  }

 private:
  Span<const Span<const uint8_t>> span() const { return {inputs_.data(), inputs_.size()}; }
  EditableProgram opened() const { return fuzz::open_program({pte_.data(), pte_.size()}); }

  template <typename Change>
  void run_changed(Change change) const {
    const EditableProgram program = opened();
    auto& plan = *program.tables->execution_plan[0];
    fuzz::spread_tensors(plan);
    change(plan);
    const std::vector<uint8_t> file = fuzz::write_program(program);
    ++shared_->executed;
    shared_->succeeded += fuzz::run_program({file.data(), file.size()}, nullptr, span());
  }

  // Bools that are neither 0 nor 1, numbers of all magnitudes.
  void run_on_garbage() const {
    fuzz::Random random(pte_.size());
    std::vector<std::vector<uint8_t>> bytes;
    std::vector<Span<const uint8_t>> spans;
    for (const Span<const uint8_t>& input : inputs_) {
      std::vector<uint8_t>& garbage = bytes.emplace_back(input.size());
      for (uint8_t& byte : garbage) byte = static_cast<uint8_t>(random.below(256));
    }
    for (const auto& garbage : bytes) spans.push_back({garbage.data(), garbage.size()});
    ++shared_->executed;
    shared_->succeeded += fuzz::run_program({pte_.data(), pte_.size()}, nullptr, {spans.data(), spans.size()});
  }

  Shared* shared_;
  std::vector<uint8_t> pte_;
  std::vector<Span<const uint8_t>> inputs_;
};

using Operators = std::vector<std::pair<std::string, std::vector<Case>>>;

// Attacks the operators from `first` on in a process of its own, so that a crash or a hang has a name and the rest
// still gets its turn. Returns where to go on.
size_t run_apart(const Operators& operators, size_t first, size_t combinations, Shared* shared) {
  const pid_t child = fork();
  if (child == 0) {
    for (shared->current = first; shared->current < operators.size(); ++shared->current) {
      const itimerval limit = {{}, {kMaxSeconds, 0}};
      (void)setitimer(ITIMER_PROF, &limit, nullptr);
      for (const Case& test : operators[shared->current].second) Attack(test, shared).run(combinations);
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return operators.size();
  ADD_FAILURE() << operators[shared->current].first
                << (WIFSIGNALED(status) ? ": killed by signal " + std::to_string(WTERMSIG(status)) : ": failed");
  return shared->current + 1;
}

TEST(HostileKernels, RefuseOrSurviveAnyArguments) {
  const char* filter = std::getenv("WICK_CASES");
  const char* count = std::getenv("WICK_HOSTILE_CASES");
  auto all = conformance::first_cases("tests/fixtures/cases", count ? std::strtoul(count, nullptr, 10) : 2);
  ASSERT_TRUE(all.ok()) << compiler::render(all.diag());
  Operators operators;
  for (auto& [op, cases] : *all) {
    if (!filter || op.find(filter) != std::string::npos) operators.emplace_back(op, std::move(cases));
  }
  auto* shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(static_cast<void*>(shared), MAP_FAILED);
  const size_t combinations = count ? 5 * kCombinations : kCombinations;
  for (size_t next = 0; next < operators.size();) next = run_apart(operators, next, combinations, shared);
  std::printf("%llu programs, executed with %llu changes, %llu of them with a result\n",
              static_cast<unsigned long long>(shared->compiled), static_cast<unsigned long long>(shared->executed),
              static_cast<unsigned long long>(shared->succeeded));
  EXPECT_GT(shared->succeeded, shared->executed / 8);
  EXPECT_LT(shared->succeeded, shared->executed);
  munmap(shared, sizeof(Shared));
}

}  // namespace
}  // namespace wick::testing
