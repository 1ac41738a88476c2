// `wick compare` on random quantized programs (tests/fixtures/random_quantized.py): right programs agree, planted
// faults are found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>

#include "cli/arrays/npz.h"
#include "compiler/support/diag.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/fuzz/editable_program.h"
#include "tests/hostile/run_wick.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing::compare_random_test {
namespace {

using fuzz::EditableProgram;
using namespace pte_edit;

constexpr char kFolder[] = "tests/fixtures/random_quantized";
constexpr size_t kArgumentsOfAProgram = 6;  // that are changed

/// The seeds of all files right_SEED or wrong_SEED.
std::vector<std::string> seeds(const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix)) found.push_back(name.substr(prefix.size(), name.find('.') - prefix.size()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<float> floats(const cli::NamedArray& array) {
  std::vector<float> values(array.bytes.size() / sizeof(float));
  memcpy(values.data(), array.bytes.data(), values.size() * sizeof(float));
  return values;
}

std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_bytes(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// A model with its inputs, on disk.
class Model {
 public:
  explicit Model(const std::string& seed) : fixture_(read("right_" + seed)) {
    write_bytes(path("model.pt2"), fixture_.pt2);
    EXPECT_TRUE(cli::write_arrays(path("in.npz"), fixture_.steps.at(0).inputs).ok());
  }
  static Fixture read(const std::string& name) {
    auto fixture = expand_fixture(std::string(kFolder) + "/" + name + ".wfix.gz");
    EXPECT_TRUE(fixture.ok()) << compiler::render(fixture.diag());
    return std::move(*fixture);
  }
  std::string path(const std::string& name) const { return folder_.file(name); }

  Outcome compile(const std::string& model, const std::string& program, const std::vector<std::string>& target) const {
    std::vector<std::string> words = {"compile", path(model), "-o", path(program)};
    words.insert(words.end(), target.begin(), target.end());
    return run_wick(words);
  }
  Outcome compare(const std::string& program) const {
    return run_wick({"compare", path("model.pt2"), path(program), "-i", path("in.npz")});
  }
  /// Whether its outputs are within the bounds of eager's; nothing if it does not run.
  std::optional<bool> is_right(const std::string& program) const {
    if (run_wick({"run", path(program), "-i", path("in.npz"), "-o", path("out.npz")}).exit_code != 0) return {};
    const auto found = cli::read_arrays(path("out.npz"));
    if (!found.ok()) return {};
    const FixtureStep &eager = fixture_.steps.at(0), &bounds = fixture_.steps.at(1);
    for (size_t i = 0; i < eager.outputs.size(); ++i) {
      const std::vector<float> got = floats(found->at(i)), want = floats(eager.outputs[i].array),
                               bound = floats(bounds.outputs[i].array);
      for (size_t at = 0; at < want.size(); ++at) {
        if (!(std::fabs(got.at(at) - want[at]) <= bound.at(at))) return false;
      }
    }
    return true;
  }

 private:
  ScratchFolder folder_;
  Fixture fixture_;
};

const std::vector<std::string> kM55 = {"--backend", "cortex-m", "--cpu", "cortex-m55"},
                               kM4 = {"--backend", "cortex-m", "--cpu", "cortex-m4"},
                               kXnnpack = {"--backend", "xnnpack"}, kPortable = {"--backend", "portable"};

class CompareRandom : public ::testing::TestWithParam<std::string> {};

TEST_P(CompareRandom, RightProgramsAgree) {
  const Model model(GetParam());
  for (const auto& target : {kM55, kM4, kXnnpack, kPortable}) {
    if (target == kXnnpack && !has_xnnpack_library()) continue;
    SCOPED_TRACE(target.back());
    const Outcome compiled = model.compile("model.pt2", "model.pte", target);
    ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
    EXPECT_EQ(model.is_right("model.pte"), true);
    const Outcome outcome = model.compare("model.pte");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CompareRandom, ::testing::ValuesIn(seeds("right_")),
                         [](const auto& test) { return test.param; });

class CompareWrong : public ::testing::TestWithParam<std::string> {};

TEST_P(CompareWrong, AFaultOfTheModelIsFound) {
  const Model model(GetParam());
  write_bytes(model.path("wrong.pt2"), Model::read("wrong_" + GetParam()).pt2);
  for (const auto& target : {kM55, kXnnpack, kPortable}) {
    if (target == kXnnpack && !has_xnnpack_library()) continue;
    SCOPED_TRACE(target.back());
    const Outcome compiled = model.compile("wrong.pt2", "wrong.pte", target);
    ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
    const Outcome outcome = model.compare("wrong.pte");
    EXPECT_EQ(outcome.exit_code, 5) << outcome.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, CompareWrong, ::testing::ValuesIn(seeds("wrong_")),
                         [](const auto& test) { return test.param; });

/// Integers that are arguments of the backend's kernels: zero points, multipliers, shifts, ranges, sizes.
struct Argument {
  KernelCallT* call;
  size_t index;
};
std::vector<Argument> integer_arguments(const ExecutionPlanT& plan) {
  std::vector<Argument> found;
  for (const auto& chain : plan.chains) {
    for (const auto& instruction : chain->instructions) {
      KernelCallT* call = instruction->instr_args.AsKernelCall();
      if (!call || plan.operators[static_cast<size_t>(call->op_index)]->name.find("cortex_m::") == std::string::npos)
        continue;
      for (size_t i = 0; i < call->args.size(); ++i) {
        if (plan.values[static_cast<size_t>(call->args[i])]->val.AsInt()) found.push_back({call, i});
      }
    }
  }
  return found;
}

/// Multipliers lose a quarter; zero points, shifts and bounds are six more.
void change(ExecutionPlanT& plan, const Argument& argument) {
  constexpr int64_t kMultiplier = 1 << 16, kMore = 6;
  int32_t& place = argument.call->args[argument.index];
  const int64_t value = plan.values[static_cast<size_t>(place)]->val.AsInt()->int_val;
  auto changed = std::make_unique<EValueT>();
  IntT number;
  number.int_val = value >= kMultiplier ? value - value / 4 : value + kMore;
  changed->val.Set(std::move(number));
  place = static_cast<int32_t>(plan.values.size());  // others may share the value
  plan.values.push_back(std::move(changed));
}

// An argument counts if the program runs with it and an output is beyond its bound.
TEST(CompareArguments, AWrongArgumentOfAKernelIsFound) {
  size_t num_faults = 0;
  for (const std::string& seed : seeds("right_")) {
    const Model model(seed);
    ASSERT_EQ(model.compile("model.pt2", "model.pte", kM55).exit_code, 0);
    const std::vector<uint8_t> bytes = bytes_of(model.path("model.pte"));
    const EditableProgram plain = fuzz::open_program({bytes.data(), bytes.size()});
    ASSERT_NE(plain.tables, nullptr);
    const size_t count = integer_arguments(*plain.tables->execution_plan.at(0)).size();
    for (size_t each = 0; each < std::min(count, kArgumentsOfAProgram); ++each) {
      EditableProgram program = fuzz::open_program({bytes.data(), bytes.size()});
      ExecutionPlanT& plan = *program.tables->execution_plan.at(0);
      const size_t index = each * count / std::min(count, kArgumentsOfAProgram);
      change(plan, integer_arguments(plan).at(index));
      write_bytes(model.path("wrong.pte"), fuzz::write_program(program));
      if (model.is_right("wrong.pte").value_or(true)) continue;
      ++num_faults;
      const Outcome outcome = model.compare("wrong.pte");
      EXPECT_EQ(outcome.exit_code, 5) << "seed " << seed << ", argument " << index << "\n" << outcome.output;
    }
  }
  EXPECT_GE(num_faults, 20u);
}

}  // namespace
}  // namespace wick::testing::compare_random_test
