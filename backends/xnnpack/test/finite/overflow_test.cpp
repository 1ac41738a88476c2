// Products of finite numbers that overflow, in front of every function of one number: a reader that tells infinities
// from numbers finds what it finds on portable kernels. NaN that arises only from overflow may come out as anything
// (docs/xnnpack.md).
#include <set>

#include "backends/xnnpack/test/finite/finite_inputs_test_support.h"
#include "compiler/ir/op_def.h"
#include "compiler/ir/text/text.h"

namespace wick::testing::overflow_test {
namespace {

using namespace finite_inputs;  // NOLINT(google-build-using-namespace)

constexpr float kHuge = 3e38f, kFarBelow = 1e-30f;
const Floats kNumbers = {0,     1e19f,   -3,      1,     kHuge,  2,     -1e19f, -kHuge,    0.5f, -0.25f, 1e9f,  -1e9f,
                         -0.0f, 1.8e19f, 1.9e19f, 1e18f, -1e18f, 1e-3f, 7,      kFarBelow, -1,   100,    1e12f, 1e5f};

// The arguments after the first of a function of one f32 number, from its first case. Nothing if it is no such
// function.
std::optional<std::string> other_arguments(const compiler::OpDef& def) {
  if (!def.has(compiler::kPointwise) || def.has(compiler::kRandom) || def.parsed->returns.size() != 1) return {};
  for (const char* text : def.cases) {
    const std::string call(text ? text : "");
    if (!call.starts_with("f32[")) continue;
    const std::string rest = call.substr(std::min(call.size(), call.find(']') + 1));
    const size_t comma = rest.find(',');
    std::string others = comma == std::string::npos ? "" : rest.substr(comma);
    if (others.find('[') == std::string::npos && others.find('{') == std::string::npos) return others;
  }
  return {};
}

// Where portable kernels give NaN, or numbers beyond what the test's numbers are precise for, nothing is compared.
size_t compare(const std::string& body, const std::string& what) {
  const Inputs inputs = {kNumbers, kNumbers, std::vector<uint8_t>(kElements)};
  const std::string text = graph(body, "%f, %o");
  Program plain(text, false), fast(graph(body, "%o"), true);
  const std::vector<Floats> wanted = plain.run(inputs), got = fast.run(inputs);
  if (wanted.size() != 2 || got.size() != 1) return 0;
  size_t compared = 0;
  for (size_t i = 0; i < kElements; ++i) {
    if (std::isnan(wanted[0][i])) continue;
    ++compared;
    EXPECT_TRUE(is_near(got[0][i], wanted[1][i], 1))
        << what << " of element " << i << ", " << kNumbers[i] << ": " << got[0][i] << ", wanted " << wanted[1][i];
  }
  return compared;
}

TEST(Overflow, IsInfiniteForReadersOfEveryFunction) {
  if (!has_xnnpack_library()) GTEST_SKIP() << "built without the library";
  size_t functions = 0, compared = 0;
  for (const compiler::OpDef* def : compiler::all_ops()) {
    const auto others = other_arguments(*def);
    if (!others) continue;
    bool tried = false;
    for (const char* product : {"aten.mul.Tensor(%x, %x)", "aten.mul.Scalar(%x, -1e30)"}) {
      const std::string body = fmt::format(" %q = {}\n %f = {}(%q{})\n %o = aten.nan_to_num(%f, 5, 1000, -1000)\n",
                                           product, def->name(), *others);
      const auto function = compiler::parse_graph(graph(body, "%o"));
      if (!function.ok() || function->graph->outputs[0].value->dtype() != DType::f32) continue;
      compared += compare(body, fmt::format("{}({}{})", def->name(), product, *others));
      tried = true;
    }
    functions += tried ? 1 : 0;
  }
  std::printf("%zu functions, %zu elements\n", functions, compared);
  EXPECT_GT(functions, 100u);
}

}  // namespace
}  // namespace wick::testing::overflow_test
