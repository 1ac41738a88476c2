// Programs by chance that make infinities and NaN of finite inputs, and hide them again (finite_inputs_test.cpp).
#include <cstdlib>
#include <random>

#include "backends/xnnpack/test/finite/finite_inputs_test_support.h"

namespace wick::testing {
namespace {

using namespace finite_inputs;  // NOLINT(google-build-using-namespace)

// %0 and %1 are operands; lines before the last make what it reads.
constexpr const char* kSources[] = {
    "= aten.log(%0)",
    "a = aten.abs(%0)\n= aten.log(%a)",
    "a = aten.relu(%0)\n= aten.rsqrt(%a)",
    "a = aten.abs(%0)\n= aten.pow.Tensor_Scalar(%a, -0.5)",
    "= aten.pow.Tensor_Scalar(%0, -2)",
    "= aten.reciprocal(%0)",
    "= aten.div.Tensor(%1, %0)",
    "a = aten.sum.dim_IntList(%0, [1], true)\n= aten.div.Tensor(%0, %a)",
    "a = aten.square(%0)\nb = aten.sum.dim_IntList(%a, [1], true)\nc = aten.sqrt(%b)\n= aten.div.Tensor(%0, %c)",
    "= aten.sqrt(%0)",
    "= aten.masked_fill.Scalar(%0, %m, inf)",
    "= aten.masked_fill.Scalar(%0, %m, -inf)",
    "a = aten.log(%0)\n= aten.mul.Tensor(%0, %a)",
    "a = aten.masked_fill.Scalar(%0, %m, -inf)\n= aten._softmax(%a, 1, false)",
    "= aten.log1p(%0)",
    "a = aten.clamp(%0, -60, 88)\n= aten.exp(%a)",
    "a = aten.constant_pad_nd(%0, [1, -1], -inf)\n= aten.maximum(%a, %1)",
};
constexpr const char* kGuards[] = {
    "a = aten.gt.Scalar(%0, 0)\n= aten.where.self(%a, %0, %1)",
    "a = aten.eq.Scalar(%1, 0)\n= aten.masked_fill.Scalar(%0, %a, 0)",
    "= aten.masked_fill.Scalar(%0, %m, 0)",
    "= aten.nan_to_num(%0, 0, 2, -2)",
    "= aten.clamp(%0, -5, 5)",
    "= aten.clamp(%0, none, 4)",
    "= aten.clamp(%0, -10)",
    "a = aten.eq.Scalar(%0, inf)\n= aten.masked_fill.Scalar(%0, %a, 0)",
    "a = aten.isinf(%0)\n= aten.masked_fill.Scalar(%0, %a, 0)",
    "a = aten.isnan(%0)\n= aten.masked_fill.Scalar(%0, %a, 1)",
    "a = aten.isnan(%0)\n= aten.where.self(%a, %1, %0)",
    "a = aten.ne.Tensor(%0, %0)\n= aten.where.self(%a, %1, %0)",
    "= aten.relu(%0)",
    "= aten.sigmoid(%0)",
    "= aten.tanh(%0)",
    "a = aten.abs(%0)\nb = aten.neg(%a)\n= aten.exp(%b)",
    "= aten.maximum(%0, %1)",
    "= aten.minimum(%0, %1)",
    "= aten._softmax(%0, 1, false)",
    "= aten._softmax(%0, 0, false)",
    "= aten._log_softmax(%0, 1, false)",
    "a = aten.logsumexp(%0, [1], true)\n= aten.sub.Tensor(%1, %a)",
    "a = aten.amax(%0, [1], true)\n= aten.add.Tensor(%1, %a)",
    "a = aten.amin(%0, [0], true)\n= aten.sub.Tensor(%1, %a)",
    "= aten.logaddexp(%0, %1)",
    "= aten.silu(%0)",
    "= aten.softplus(%0)",
    "= aten.log_sigmoid(%0)",
    "= aten.elu(%0)",
    "= aten.sign(%0)",
    "= aten.hardtanh(%0)",
    "= aten.hardsigmoid(%0)",
    "= aten.mish(%0)",
    "= aten.threshold(%0, -1, -3)",
    "= aten.round(%0)",
    "= aten.trunc(%0)",
};
constexpr const char* kMixers[] = {
    "= aten.add.Tensor(%0, %1)",
    "= aten.sub.Tensor(%0, %1)",
    "= aten.mul.Tensor(%0, %1)",
    "= aten.mul.Scalar(%0, -0.5)",
    "= aten.add.Scalar(%0, 1.5)",
    "= aten.rsub.Scalar(%0, 1)",
    "a = aten.permute(%1, [1, 0])\nb = aten.mm(%0, %a)\n= aten.mm(%b, %1)",
    "a = aten.sum.dim_IntList(%0, [1], true)\n= aten.add.Tensor(%a, %1)",
    "a = aten.mean.dim(%0, [1], true)\n= aten.sub.Tensor(%0, %a)",
    "a = aten.amax(%0, [1], true)\n= aten.sub.Tensor(%0, %a)",
    "a = aten.slice.Tensor(%0, 1, 0, 3)\nb = aten.slice.Tensor(%1, 1, 3, 6)\n= aten.cat([%a, %b], 1)",
    "= aten.cumsum(%0, 1)",
    "= aten.neg(%0)",
    "= aten.abs(%0)",
    "a, %b, %c = aten.native_layer_norm(%0, [6], none, none, 1e-05)\n= aten.add.Scalar(%a, 0)",
};

// Text of nodes with operands in place of %0 and %1; names of this step end in its number.
std::string step_text(const std::string& form, size_t number, const std::string& first, const std::string& second) {
  std::string out = " ";
  if (form[0] == '=') out += fmt::format("%v{} ", number);
  for (size_t i = 0; i < form.size(); ++i) {
    const bool begins = i == 0 || form[i - 1] == '\n';
    if (begins && form[i] == '=' && i > 0)
      out += fmt::format("%v{} =", number);
    else if (begins && form[i] != '=')
      out += fmt::format("%{}{}", form[i], number);
    else if (form[i] == '%' && form[i + 1] == '0')
      out += first, ++i;
    else if (form[i] == '%' && form[i + 1] == '1')
      out += second, ++i;
    else if (form[i] == '%' && form[i + 1] >= 'a' && form[i + 1] <= 'c')
      out += fmt::format("%{}{}", form[i + 1], number), ++i;
    else
      out += form[i] == '\n' ? "\n " : std::string(1, form[i]);
  }
  return out + "\n";
}

struct Chance {
  explicit Chance(uint32_t seed) : engine(seed) {}
  size_t below(size_t count) { return engine() % count; }  // the engine's numbers are the same everywhere
  std::mt19937 engine;
};

template <size_t count>
const char* one_of(Chance& chance, const char* const (&forms)[count]) {
  return forms[chance.below(count)];
}

struct Random {
  std::string body, last, all;
};

Random random_program(uint32_t seed) {
  Chance chance(seed);
  std::vector<std::string> values = {"%x", "%y"};
  Random out;
  const size_t steps = 3 + chance.below(6);
  for (size_t i = 0; i < steps; ++i) {
    const size_t kind = chance.below(4);
    const char* form = kind == 0   ? one_of(chance, kSources)
                       : kind == 3 ? one_of(chance, kMixers)
                                   : one_of(chance, kGuards);
    const size_t recent = std::min<size_t>(values.size(), 3);
    const std::string first = values[values.size() - 1 - chance.below(recent)],
                      second = values[chance.below(values.size())];
    out.body += step_text(form, i, first, second);
    out.last = fmt::format("%v{}", i);
    values.push_back(out.last);
    out.all += (i == 0 ? "" : ", ") + out.last;
  }
  return out;
}

float random_float(Chance& chance, size_t profile) {
  const size_t kind = chance.below(6);
  if (kind == 0) return chance.below(2) == 0 ? 0.0f : -0.0f;
  const float sign = chance.below(2) == 0 ? 1.0f : -1.0f;
  if (profile == 0) return sign * static_cast<float>(chance.below(3));
  const float fraction = 1 + static_cast<float>(chance.below(1024)) / 1024;
  const size_t span = profile == 1 ? 6 : 20;
  const int exponent = static_cast<int>(chance.below(2 * span + 1)) - static_cast<int>(span);
  return sign * std::ldexp(fraction, exponent);
}

Inputs random_inputs(uint32_t seed, size_t profile) {
  Chance chance(seed);
  Inputs inputs;
  const size_t empty = chance.below(2 * kRows), masked = chance.below(2 * kRows);
  for (size_t i = 0; i < kElements; ++i) {
    inputs.x.push_back(i / kColumns == empty ? 0 : random_float(chance, profile));
    inputs.y.push_back(random_float(chance, profile));
    inputs.mask.push_back(i / kColumns == masked || chance.below(3) == 0);
  }
  return inputs;
}

// Numbers that the library takes for zero, between inputs and result.
bool has_tiny(const std::vector<Floats>& values) {
  for (const Floats& value : values) {
    for (const float x : value) {
      if (x != 0 && std::fabs(x) < 0x1p-120f) return true;
    }
  }
  return false;
}

Inputs nudged(Inputs inputs, uint32_t seed) {
  Chance chance(seed);
  for (Floats* values : {&inputs.x, &inputs.y}) {
    for (float& x : *values) x *= 1 + (static_cast<float>(chance.below(5)) - 2) * 0x1p-20f;
  }
  return inputs;
}

// Choices that became products do not tell -0 from 0.
Inputs without_negative_zeros(Inputs inputs) {
  for (Floats* values : {&inputs.x, &inputs.y}) {
    for (float& x : *values) x += 0.0f;
  }
  return inputs;
}

// Elements that small changes of the inputs leave where they are.
std::vector<bool> firm_elements(Program& reference, const Inputs& inputs, const Floats& want) {
  std::vector<bool> firm(want.size());
  const double scale = largest_finite(want);
  for (size_t i = 0; i < want.size(); ++i) firm[i] = std::isfinite(want[i]);
  for (const Inputs& near : {nudged(inputs, 0), nudged(inputs, 1), without_negative_zeros(inputs)}) {
    const Floats other = reference.run(near).back();
    for (size_t i = 0; i < want.size(); ++i)
      firm[i] = firm[i] && std::abs(static_cast<double>(other[i]) - want[i]) <= 1e-3 * std::abs(want[i]) + 1e-6 * scale;
  }
  return firm;
}

constexpr uint32_t kPrograms = 400;
constexpr size_t kProfiles = 3;  // small whole numbers; ordinary ones; large and small ones, without overflow

TEST(FiniteInputs, RandomProgramsGiveTheSameFiniteNumbers) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  size_t compared = 0, delegates = 0, failed = 0;
  const char* wanted = std::getenv("WICK_PROGRAMS");
  const uint32_t programs = wanted ? static_cast<uint32_t>(std::atoi(wanted)) : kPrograms;
  for (uint32_t seed = 0; seed < programs; ++seed) {
    const Random random = random_program(seed);
    Program xnnpack(graph(random.body, random.last), true), portable(graph(random.body, random.all), false);
    delegates += xnnpack.delegates();
    for (size_t profile = 0; profile < kProfiles; ++profile) {
      const Inputs inputs = random_inputs(seed, profile);
      const auto want = portable.run(inputs), got = xnnpack.run(inputs);
      if (want.empty() || got.empty() || has_tiny(want)) continue;
      const auto firm = firm_elements(portable, inputs, want.back());
      const double scale = largest_finite(want.back());
      for (size_t i = 0; i < kElements; ++i) {
        if (!firm[i]) continue;
        ++compared;
        if (is_near(got[0][i], want.back()[i], scale)) continue;
        ++failed;
        ADD_FAILURE() << "seed " << seed << ", inputs " << profile << ", element " << i << ": " << got[0][i]
                      << ", portable " << want.back()[i] << "\n"
                      << graph(random.body, random.last);
        break;
      }
    }
    if (failed > 8) break;
  }
  EXPECT_GT(compared, programs * kElements / 2);
  EXPECT_GT(delegates, programs / 2);
}

}  // namespace
}  // namespace wick::testing
