#include "cli/trace/follow_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/trace/watched_run.h"

namespace wick::cli::follow_program_test {
namespace {

const std::vector<int32_t> kSizes = {2, 3};
const std::vector<float> kElements = {1, -2, 3, 4, 25, -17};
constexpr double kFloats = 1e-4;

std::string quantize(const char* to, const char* from, const char* scale) {
  return fmt::format(" %{} = quantized_decomposed.quantize_per_tensor(%{}, {}, 0, -128, 127, i8)\n", to, from, scale);
}
std::string on_grid(const char* to, const char* from, const char* scale) {
  return quantize(("e" + std::string(to)).c_str(), from, scale) +
         fmt::format(" %{} = quantized_decomposed.dequantize_per_tensor(%e{}, {}, 0, -128, 127, i8)\n", to, to, scale);
}

/// The program with elements of an operator that models do not have.
std::string of_a_backend(std::string program) {
  const size_t end = program.find(" return ");
  return program.substr(0, end) + " %k = aten.neg(%ea)\n" + program.substr(end, program.size() - end - 1) + ", %k\n";
}

std::vector<NamedArray> arrays(const std::vector<HostValue>& values) {
  std::vector<NamedArray> all;
  for (const HostValue& value : values) {
    const HostTensor& tensor = value.tensor;
    NamedArray array;
    array.dtype = tensor.dtype;
    array.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
    array.bytes = tensor.bytes;
    all.push_back(std::move(array));
  }
  return all;
}

/// Compares the program's outputs with those that the model gives for the program's own elements.
FollowedOutputs follow(const std::string& program, const std::string& model) {
  ElementRecorder recorder(1 << 20);
  const std::vector<NamedArray> found = arrays(run_watched(program, kSizes, kElements, recorder));
  const RunModel run =
      [&](const Tracer* tracer,
          const std::function<void(const MethodMeta&)>& watch) -> compiler::Result<std::vector<NamedArray>> {
    return arrays(run_watched(model, kSizes, kElements, tracer, watch));
  };
  const CountMismatches count = [&](const FollowedOutputs& each) {
    uint64_t mismatches = 0;
    for (size_t i = 0; i < each.outputs.size(); ++i) {  // the program may have more
      Tolerance tolerance;
      tolerance.relative = kFloats;
      mismatches += compare_arrays(found[i], each.outputs[i], tolerance,
                                   i < each.departures.size() ? each.departures[i] : std::vector<double>())
                        .mismatches;
    }
    return mismatches;
  };
  auto followed = follow_program(recorder.all(), run, count, false);
  EXPECT_TRUE(followed.ok());
  return std::move(*followed);
}

constexpr char kScaled[] = " %y = aten.mul.Scalar(%a, 0.3)\n";
constexpr char kOut[] = " %z = aten.mul.Scalar(%b, 7.0)\n return %z\n";

// A difference of one step, 0.4, becomes 2.8 in the floats computed from it.
TEST(FollowProgram, FloatsBehindAStepAreJudgedFromTheProgramsElements) {
  const std::string first = on_grid("a", "x", "0.5") + kScaled, model = first + on_grid("b", "y", "0.4") + kOut;
  const auto with = [&](const char* more, const char* factor) {
    return of_a_backend(first + " %u = aten.add.Scalar(%y, " + more + ")\n" + on_grid("b", "u", "0.4") +
                        " %z = aten.mul.Scalar(%b, " + factor + ")\n return %z\n");
  };
  EXPECT_TRUE(follow(with("0.0", "7.0"), model).ok());
  EXPECT_TRUE(follow(with("0.4", "7.0"), model).ok());
  EXPECT_TRUE(follow(with("-0.4", "7.0"), model).ok());
  const FollowedOutputs two_steps = follow(with("0.8", "7.0"), model);
  EXPECT_FALSE(two_steps.ok());
  EXPECT_TRUE(two_steps.is_conclusive) << "all that the value is made of is the program's";
  EXPECT_FALSE(follow(with("0.4", "7.1"), model).ok()) << "another factor";
  EXPECT_FALSE(follow(with("0.0", "7.1"), model).ok());
}

// If numbers differ by half a step or more, some of them round to another element.
TEST(FollowProgram, TheModelsOwnOperatorsRoundTheSameNumbers) {
  const std::string first = on_grid("a", "x", "0.5") + kScaled, model = first + on_grid("b", "y", "0.4") + kOut;
  const auto with = [&](const char* more) {
    return first + " %u = aten.add.Scalar(%y, " + more + ")\n" + on_grid("b", "u", "0.4") + kOut;
  };
  for (const char* more : {"0.0", "0.001", "-0.001"}) EXPECT_TRUE(follow(with(more), model).ok()) << more;
  for (const char* more : {"0.4", "-0.4", "0.2"}) {
    EXPECT_FALSE(follow(with(more), model).ok()) << more;
    EXPECT_TRUE(follow(of_a_backend(with(more)), model).ok()) << more;
  }
}

// %o has the model's elements, but %z is computed from elements a step away.
TEST(FollowProgram, OfTensorsThatMayStandForAValueThatOneIsTakenThatFits) {
  const std::string first = on_grid("a", "x", "0.5") + kScaled, model = first + on_grid("b", "y", "0.4") + kOut;
  const std::string program = first + quantize("o", "y", "0.4") + " %u = aten.add.Scalar(%y, 0.4)\n" +
                              on_grid("b", "u", "0.4") + " %z = aten.mul.Scalar(%b, 7.0)\n return %z, %o\n";
  EXPECT_TRUE(follow(of_a_backend(program), model).ok());
}

// The program has the mean in steps of 1/2. The model's steps are 0.4, four steps of the result.
std::string on_another_grid(const char* more) {
  return on_grid("a", "x", "0.5") + " %m = aten.mean.dim(%a, [1], true)\n %u = aten.add.Scalar(%m, " + more + ")\n" +
         on_grid("s", "u", "0.5") +
         " %t = aten.mul.Scalar(%s, 2.5)\n %w = aten.round(%t)\n %b = aten.mul.Scalar(%w, 0.4)\n"
         " %r = aten.relu(%b)\n" +
         on_grid("c", "r", "0.1") + " return %c\n";
}

TEST(FollowProgram, AValueOnAnotherGridIsComparedInNumbers) {
  const std::string model = on_grid("a", "x", "0.5") + " %m = aten.mean.dim(%a, [1], true)\n" +
                            on_grid("b", "m", "0.4") + " %r = aten.relu(%b)\n" + on_grid("c", "r", "0.1") +
                            " return %c\n";
  for (const char* more : {"0.0", "0.04", "-0.04"})
    EXPECT_TRUE(follow(of_a_backend(on_another_grid(more)), model).ok()) << more;
  for (const char* more : {"1.0", "-0.9", "0.6"})
    EXPECT_FALSE(follow(of_a_backend(on_another_grid(more)), model).ok()) << more;
}

// A value that depends on one element only is computed exactly, also where the program does not keep it.
TEST(FollowProgram, AFunctionOfOneElementIsExactWhereTheProgramLacksIt) {
  const std::string first = on_grid("a", "x", "0.5") + kScaled;
  const auto model = [&](const char* scale) {
    return first + on_grid("b", "y", "0.4") + " %r = aten.relu(%b)\n" + on_grid("c", "r", scale) +
           " %z = aten.mul.Scalar(%c, 7.0)\n return %z\n";
  };
  const auto program = [&](const char* more, const char* scale) {
    return of_a_backend(first + " %s = aten.mul.Scalar(%y, 2.5)\n %w = aten.round(%s)\n" +
                        " %b = aten.mul.Scalar(%w, 0.4)\n %u = aten.add.Scalar(%b, " + more + ")\n" +
                        " %r = aten.relu(%u)\n" + on_grid("c", "r", scale) +
                        " %z = aten.mul.Scalar(%c, 7.0)\n return %z\n");
  };
  EXPECT_TRUE(follow(program("0.0", "0.1"), model("0.1")).ok());
  const FollowedOutputs another = follow(program("0.4", "0.1"), model("0.1"));
  EXPECT_FALSE(another.ok());
  EXPECT_TRUE(another.is_conclusive) << "only one of the two is rounded";
  const FollowedOutputs twice = follow(program("0.8", "0.3"), model("0.3"));
  EXPECT_FALSE(twice.ok());
  EXPECT_FALSE(twice.is_conclusive) << "two roundings in a row that the program does not show";
}

}  // namespace
}  // namespace wick::cli::follow_program_test
