// Which buffers two methods share: all forms of their parameters and of the buffer, under each rule.
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

struct Parameter {
  std::string name;
  float number;
  Sizes sizes = {1};
  DType dtype = DType::f32;
};

// A method that adds its input to the buffer "cache", or reads a constant of this name.
Function method(const std::string& name, const std::string& buffer, const std::vector<Parameter>& parameters) {
  const bool changes = buffer.find("const") == std::string::npos;
  const std::string text =
      fmt::format("graph {}(%x: f32[]) {{\n  {}\n  %n = aten.add.Tensor(%s, %x)\n{}  return %n\n}}", name, buffer,
                  changes ? "  %t = aten.add.Tensor(%s, %s)\n  update %s = %t\n" : "");
  auto function = parse_graph(text);
  if (!function.ok()) {
    ADD_FAILURE() << render(function.diag()) << text;
    return {name, std::make_unique<Graph>(), "", "", {}};
  }
  for (const Parameter& parameter : parameters) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(sizeof parameter.number);
    memcpy(bytes->data(), &parameter.number, sizeof parameter.number);
    Value* value = function->graph->add_constant({parameter.dtype, parameter.sizes, {}},
                                                 ConstantData({bytes->data(), bytes->size()}, bytes), parameter.name,
                                                 parameter.name);
    function->stored.push_back({parameter.name, true, value});
  }
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
  const std::vector<Parameter> own = {Parameter{"w", 1}, Parameter{"v", 2}};
  const Parameters parameters[] = {
      {"equal", own, true},
      {"some of them", {Parameter{"v", 2}, Parameter{"u", 3}}, true},
      {"none", {}, false},
      {"other names", {Parameter{"u", 1}}, false},
      {"another value", {Parameter{"w", 3}}, false},
      {"one of another value", {Parameter{"w", 1}, Parameter{"v", 3}}, false},
      {"another shape", {Parameter{"w", 1, {1, 1}}}, false},
      {"another dtype", {Parameter{"w", 1, {1}, DType::i32}}, false},
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
    functions.push_back(method(name, kCache, {Parameter{"w", name[0] == 'a' ? 1.0f : 2.0f}}));
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
  const Parameter w = {"w", 1}, one = {"v", 1}, two = {"v", 2};
  for (const bool common_first : {false, true}) {
    std::vector<Function> functions;
    if (common_first) functions.push_back(method("b", kCache, {w}));
    functions.push_back(method("a", kCache, {w, one}));
    if (!common_first) functions.push_back(method("b", kCache, {w}));
    functions.push_back(method("c", kCache, {w, two}));
    const auto buffers = SharedBuffers::find(functions, {});
    ASSERT_TRUE(buffers.ok());
    EXPECT_EQ(buffers->shared_by(0).size(), 1u);
    EXPECT_EQ(buffers->shared_by(1).size(), 1u);
    EXPECT_EQ(buffers->shared_by(2).size(), 0u);
    EXPECT_EQ(functions[2].notes, std::vector<std::string>{"method 'c' has its own buffer 'cache': method 'a' has "
                                                           "another parameter 'v' (--share-state shares it)"});
  }
}

// One method changes the buffer, the other reads it where it is stored transposed.
TEST(SharedBuffers, AreComparedAndReadAsTheModelHasThem) {
  for (const bool square : {false, true}) {
    const std::string type = square ? "f32[2, 2]" : "f32[2, 3]";
    const char* numbers = square ? "[1, 2, 3, 4]" : "[1, 2, 3, 4, 5, 6]";
    const char* transposed = square ? "[1, 3, 2, 4]" : "[1, 4, 2, 5, 3, 6]";
    std::vector<Function> functions;
    functions.push_back(std::move(*parse_graph(fmt::format(
        "graph a(%x: {0}) {{ state %s: {0} \"cache\" = {1} %n = aten.add.Tensor(%s, %x) update %s = %n return %n }}",
        type, numbers))));
    functions.push_back(std::move(
        *parse_graph(fmt::format("graph b(%x: {0}) {{ const %s: {1} \"cache\" = {2} %t = aten.permute(%s, [1, 0]) "
                                 "%n = aten.add.Tensor(%t, %x) return %n }}",
                                 type, square ? "f32[2, 2]" : "f32[3, 2]", transposed))));
    Function& reader = functions[1];
    Value* const moved = reader.graph->nodes().front()->result();
    const ConstantData dense = functions[0].graph->states()[0]->data;
    reader.stored.push_back({"cache", false, moved, [dense] { return Result<ConstantData>(dense); }});
    const auto buffers = SharedBuffers::find(functions, {StateSharing::Rule::all, {}});
    ASSERT_TRUE(buffers.ok());
    ASSERT_EQ(buffers->shared_by(1).size(), 1u) << type;
    ASSERT_EQ(reader.graph->states().size(), 1u);
    const Value& state = *reader.graph->states()[0];
    EXPECT_EQ(state.buffer_name(), "cache");
    EXPECT_EQ(to_text(state.type), type);
    EXPECT_TRUE(same_bytes(state.data, dense));
    EXPECT_EQ(state.users().size(), 1u);
    EXPECT_TRUE(state.users()[0]->is("aten.add.Tensor"));
  }
}

// Writes of one method to a buffer would not reach a buffer of another method that lies in the same memory.
TEST(SharedBuffers, BuffersThatOverlapAreRefused) {
  std::vector<Function> functions;
  functions.push_back(method("a", kCache, {{"w", 1}}));
  functions.push_back(method("b", "const %s: f32[2, 1] \"part\" = [0.0, 2.0]", {{"w", 1}}));
  functions[0].overlaps = {{"cache", "part"}};
  const auto refused = SharedBuffers::find(functions, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.diag().message,
            "method 'a' writes the buffer 'cache' while 'part', which method 'b' reads, shares its memory");
  EXPECT_TRUE(SharedBuffers::find(functions, {StateSharing::Rule::none, {}}).ok());
}

TEST(SharedBuffers, ManyOwnBuffersAreOneNote) {
  std::vector<Function> functions;
  for (const char* name : {"a", "b"}) {
    std::string text = fmt::format("graph {}(%x: f32[1]) {{\n", name);
    for (int i = 0; i < 6; ++i) text += fmt::format("  state %s{0}: f32[1] \"k{0}\" = [1.0]\n  update %s{0} = %x\n", i);
    functions.push_back(std::move(*parse_graph(text + "  return %x\n}")));
  }
  ASSERT_TRUE(SharedBuffers::find(functions, {}).ok());
  EXPECT_EQ(functions[1].notes,
            std::vector<std::string>{"method 'b' has its own buffers 'k0', 'k1', 'k2', 'k3' and 2 more: method 'a' has "
                                     "no parameter of the same name (--share-state shares them)"});
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
