// Which buffers of two methods are one: all forms of their parameters and of the buffer, under each rule.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/driver/compile.h"
#include "compiler/ir/text/text.h"

namespace wick::compiler {
namespace {

using Rule = StateSharing::Rule;

Parameter parameter(const std::string& name, float number, Sizes sizes = {1}, DType dtype = DType::f32) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(sizeof number);
  memcpy(bytes->data(), &number, sizeof number);
  return {name, {dtype, std::move(sizes), {}}, ConstantData({bytes->data(), bytes->size()}, bytes)};
}

// A method that adds its input to the buffer "cache", or reads a constant of this name.
Function method(const std::string& name, const std::string& buffer, std::vector<Parameter> parameters) {
  const bool changes = buffer.find("const") == std::string::npos;
  const std::string text =
      fmt::format("graph {}(%x: f32[]) {{\n  {}\n  %n = aten.add.Tensor(%s, %x)\n{}  return %n\n}}", name, buffer,
                  changes ? "  %t = aten.add.Tensor(%s, %s)\n  update %s = %t\n" : "");
  auto function = parse_graph(text);
  if (!function.ok()) {
    ADD_FAILURE() << render(function.diag()) << text;
    return {name, std::make_unique<Graph>(), "", "", {}};
  }
  function->parameters = std::move(parameters);
  return std::move(*function);
}

struct Parameters {
  const char* what;
  std::vector<Parameter> of_other;
  bool same_model;
};

struct Buffer {
  const char* text;
  bool same;
  bool changes = true;
};

constexpr char kCache[] = "state %s: f32[2, 1] \"cache\" = [0.0, 2.0]";

TEST(SharedBuffers, AreThoseOfOneModelOrOfTheNamesThatAreGiven) {
  const std::vector<Parameter> own = {parameter("w", 1), parameter("v", 2)};
  const Parameters parameters[] = {
      {"equal", own, true},
      {"some of them", {parameter("v", 2), parameter("u", 3)}, true},
      {"none", {}, false},
      {"other names", {parameter("u", 1)}, false},
      {"another value", {parameter("w", 3)}, false},
      {"one of another value", {parameter("w", 1), parameter("v", 3)}, false},
      {"another shape", {parameter("w", 1, {1, 1})}, false},
      {"another dtype", {parameter("w", 1, {1}, DType::i32)}, false},
  };
  const Buffer buffers[] = {
      {kCache, true},
      {"const %s: f32[2, 1] \"cache\" = [0.0, 2.0]", true, false},
      {"state %s: f32[1, 2] \"cache\" = [0.0, 2.0]", false},
      {"state %s: f64[2, 1] \"cache\" = [0.0, 2.0]", false},
      {"state %s: f32[2, 1] \"cache\" = [0.0, 3.0]", false},
      {"state %s: f32[2, 1] \"cache\" = ...", false},
      {"const %s: f32[2, 1] \"cache\" = [1.0, 2.0]", false, false},
      {"state %s: f32[2, 1] \"other\" = [0.0, 2.0]", false},
  };
  const StateSharing rules[] = {
      {Rule::same_model, {}}, {Rule::all, {}}, {Rule::none, {}}, {Rule::same_model, {"cache"}}};
  size_t count = 0;
  for (const Parameters& of : parameters) {
    for (const Buffer& buffer : buffers) {
      for (const StateSharing& rule : rules) {
        for (const bool reversed : {false, true}) {
          SCOPED_TRACE(fmt::format("{}; {}; rule {}, {} names, {}", of.what, buffer.text, static_cast<int>(rule.rule),
                                   rule.names.size(), reversed));
          std::vector<Function> functions;
          functions.push_back(method("a", kCache, own));
          functions.push_back(method("b", buffer.text, of.of_other));
          if (reversed) std::swap(functions[0], functions[1]);
          CompileOptions options;
          options.share_state = rule;
          const auto result = compile(std::move(functions), options);
          ++count;
          const bool shared = buffer.same && (rule.rule == Rule::all || !rule.names.empty() ||
                                              (rule.rule == Rule::same_model && of.same_model));
          if (!rule.names.empty() && !shared) {
            EXPECT_FALSE(result.ok());
            continue;
          }
          ASSERT_TRUE(result.ok()) << render(result.diag());
          const MethodReport &first = result->methods[0], &second = result->methods[1];
          EXPECT_EQ(first.shared_states.size(), shared);
          EXPECT_EQ(second.shared_states.size(), shared);
          if (shared) {
            EXPECT_EQ(second.shared_states[0].owner, first.name);
          }
          EXPECT_EQ(result->method_plans[0].shared_arena_bytes, shared ? 16u : 0u);
          const bool says =
              !shared && rule.rule != Rule::none && std::string(buffer.text).find("cache") != std::string::npos;
          EXPECT_EQ(first.notes.size() + second.notes.size(), says);
        }
      }
    }
  }
  EXPECT_EQ(count, 8u * 8u * 4u * 2u);
}

// Two models with two methods each: each pair has its buffer.
TEST(SharedBuffers, MethodsOfEachModelHaveTheirs) {
  std::vector<Function> functions;
  for (const char* name : {"a1", "b1", "a2", "b2"})
    functions.push_back(method(name, kCache, {parameter("w", name[0] == 'a' ? 1.0f : 2.0f)}));
  const auto buffers = SharedBuffers::find(functions, {});
  ASSERT_TRUE(buffers.ok());
  const char* memories[] = {"cache", "cache@b1", "cache", "cache@b1"};
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(buffers->shared_by(i).size(), 1u);
    EXPECT_EQ(buffers->shared_by(i)[0].memory, memories[i]);
    EXPECT_EQ(buffers->rules_of(i).names.size(), i % 2);
  }
  const auto result = compile(std::move(functions), {});
  ASSERT_TRUE(result.ok());
  for (const MethodPlan& plan : result->method_plans) EXPECT_EQ(plan.shared_arena_bytes, 32u);
}

// b has parameters in common with a and with c, which differ from each other: a buffer has one memory in all methods
// that share it, so it is that of the first.
TEST(SharedBuffers, AMethodBelongsToTheFirstModelThatItFits) {
  std::vector<Function> functions;
  functions.push_back(method("a", kCache, {parameter("w", 1), parameter("v", 1)}));
  functions.push_back(method("b", kCache, {parameter("w", 1)}));
  functions.push_back(method("c", kCache, {parameter("w", 1), parameter("v", 2)}));
  const auto buffers = SharedBuffers::find(functions, {});
  ASSERT_TRUE(buffers.ok());
  EXPECT_EQ(buffers->shared_by(0).size(), 1u);
  EXPECT_EQ(buffers->shared_by(1).size(), 1u);
  EXPECT_EQ(buffers->shared_by(2).size(), 0u);
  EXPECT_EQ(functions[2].notes,
            std::vector<std::string>{"method 'c' has its own buffer 'cache': the parameter 'v' is another one in "
                                     "method 'a' (--share-state=cache shares it)"});
}

TEST(SharedBuffers, NamesThatNoTwoMethodsHaveAreAnError) {
  std::vector<Function> functions;
  functions.push_back(method("a", kCache, {}));
  functions.push_back(method("b", kCache, {}));
  const auto buffers = SharedBuffers::find(functions, {Rule::same_model, {"cache", "keys"}});
  ASSERT_FALSE(buffers.ok());
  EXPECT_EQ(buffers.diag().code, Code::usage);
  EXPECT_EQ(buffers.diag().message, "no two methods have a mutable buffer 'keys'");
  EXPECT_EQ(buffers.diag().help, "mutable buffers: cache");
}

}  // namespace
}  // namespace wick::compiler
