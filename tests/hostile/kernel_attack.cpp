#include "tests/hostile/kernel_attack.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/fuzz/argument_edit.h"
#include "tests/fuzz/run_program.h"
#include "tests/hostile/apart.h"

namespace wick::testing {
namespace {

using fuzz::EditableProgram;

constexpr long kMaxSeconds = 60;  // of processor time for all changes of a group, with sanitizers

class Attack {
 public:
  Attack(const AttackedProgram& program, AttackCounts& counts) : counts_(counts), program_(program), pte_(program.pte) {
    for (const std::vector<uint8_t>& input : program.inputs) inputs_.push_back({input.data(), input.size()});
  }

  // As it is, then on other bytes, with overlapping tensors, each number at each of its edges, several changes at once.
  void run(size_t combinations) const {
    if (pte_.empty()) return;
    ++counts_.programs;
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
    ++counts_.executed;
    counts_.succeeded += fuzz::run_program({file.data(), file.size()}, nullptr, span());
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
    ++counts_.executed;
    counts_.succeeded += fuzz::run_program({pte_.data(), pte_.size()}, nullptr, {spans.data(), spans.size()});
  }

  AttackCounts& counts_;
  const AttackedProgram& program_;
  const std::vector<uint8_t>& pte_;
  std::vector<Span<const uint8_t>> inputs_;
};

}  // namespace

AttackCounts attack_kernels(const std::vector<AttackedGroup>& groups, size_t combinations) {
  const SharedWithChildren<AttackCounts> shared;
  run_apart(
      groups.size(), kMaxSeconds, [&](size_t i) { return groups[i].name; },
      [&](size_t i, Progress&) {
        for (const AttackedProgram& program : groups[i].make()) Attack(program, *shared).run(combinations);
      });
  const AttackCounts counts = *shared;
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
