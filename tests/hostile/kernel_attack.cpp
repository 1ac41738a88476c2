#include "tests/hostile/kernel_attack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

#include "tests/fuzz/argument_edit.h"
#include "tests/fuzz/run_program.h"

namespace wick::testing {
namespace {

using fuzz::EditableProgram;

constexpr time_t kMaxSeconds = 60;  // of processor time for all changes of a group, with sanitizers

// What the attacking process tells.
struct Shared {
  size_t current = 0;  // the group under attack
  AttackCounts counts;
};

class Attack {
 public:
  Attack(const AttackedProgram& program, Shared* shared) : shared_(shared), program_(program), pte_(program.pte) {
    for (const std::vector<uint8_t>& input : program.inputs) inputs_.push_back({input.data(), input.size()});
  }

  // As it is, then on other bytes, with overlapping tensors, each number at each of its edges, several changes at once.
  void run(size_t combinations) const {
    if (pte_.empty()) return;
    ++shared_->counts.programs;
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
    fuzz::spread_tensors(plan, program_.room);
    change(plan);
    const std::vector<uint8_t> file = fuzz::write_program(program);
    ++shared_->counts.executed;
    shared_->counts.succeeded += fuzz::run_program({file.data(), file.size()}, nullptr, span());
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
    ++shared_->counts.executed;
    shared_->counts.succeeded += fuzz::run_program({pte_.data(), pte_.size()}, nullptr, {spans.data(), spans.size()});
  }

  Shared* shared_;
  const AttackedProgram& program_;
  const std::vector<uint8_t>& pte_;
  std::vector<Span<const uint8_t>> inputs_;
};

// Attacks the groups from `first` on in a process of its own, so that a crash or a hang has a name and the rest
// still gets its turn. Returns where to go on.
size_t run_apart(const std::vector<AttackedGroup>& groups, size_t first, size_t combinations, Shared* shared) {
  const pid_t child = fork();
  if (child == 0) {
    for (shared->current = first; shared->current < groups.size(); ++shared->current) {
      const itimerval limit = {{}, {kMaxSeconds, 0}};
      (void)setitimer(ITIMER_PROF, &limit, nullptr);
      for (const AttackedProgram& program : groups[shared->current].make()) Attack(program, shared).run(combinations);
    }
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return groups.size();
  ADD_FAILURE() << groups[shared->current].name
                << (WIFSIGNALED(status) ? ": killed by signal " + std::to_string(WTERMSIG(status)) : ": failed");
  return shared->current + 1;
}

}  // namespace

AttackCounts attack_kernels(const std::vector<AttackedGroup>& groups, size_t combinations) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    ADD_FAILURE() << "no memory to share with other processes";
    return {};
  }
  auto* shared = new (memory) Shared;
  for (size_t next = 0; next < groups.size();) next = run_apart(groups, next, combinations, shared);
  const AttackCounts counts = shared->counts;
  munmap(memory, sizeof(Shared));
  std::printf("%llu programs, executed with %llu changes, %llu of them with a result\n",
              static_cast<unsigned long long>(counts.programs), static_cast<unsigned long long>(counts.executed),
              static_cast<unsigned long long>(counts.succeeded));
  EXPECT_GT(counts.programs, 0u) << "no operator has such a name";
  constexpr uint64_t kMany = 1000;  // of a few chosen operators, nearly all changes may be refused
  if (counts.executed < kMany) return counts;
  EXPECT_GT(counts.succeeded, counts.executed / 8);
  EXPECT_LT(counts.succeeded, counts.executed);
  return counts;
}

}  // namespace wick::testing
