// Exported programs that mean harm.
#include <gtest/gtest.h>

#include "tests/hostile/hostile_case.h"
#include "tests/hostile/pt2_text.h"
#include "tests/hostile/run_wick.h"

namespace wick::testing {
namespace {

const std::string kSmall = meta({as_int("4")});
// Of nodes: so many that time beyond a linear one shows.
#ifdef WICK_SANITIZED
constexpr int kMany = 2'000;
#else
constexpr int kMany = 20'000;
#endif

std::string number(uint64_t n) { return std::to_string(n); }
std::string repeat(const std::string& text, size_t count) {
  std::string out;
  out.reserve(text.size() * count);
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}
std::vector<std::string> compile_file() { return {"compile", "@", "-o", scratch_path("out.pte")}; }

// x -> target -> target -> ..
std::string chain(const std::string& target, size_t count, const std::vector<std::string>& more = {},
                  const std::string& first = "self", const std::string& type = kSmall) {
  ProgramText program;
  program.input("x", type);
  std::string last = "x";
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::string> args = {first, tensor(last)};
    args.insert(args.end(), more.begin(), more.end());
    last = "v" + number(i);
    program.graph.node(target, args, last, type);
  }
  program.output(last);
  return pt2_of(program.json());
}

// One node without tensor operands, whose sum is returned.
std::string creation(const std::string& target, const std::vector<std::string>& args,
                     const std::vector<std::string>& sizes) {
  ProgramText program;
  program.graph.node(target, args, "big", meta(sizes));
  program.graph.node("aten.sum.default", {"self", tensor("big")}, "total", meta({}));
  program.output("total");
  return pt2_of(program.json());
}

void run_cases(const std::vector<HostileCase>& cases) {
  for (const HostileCase& test : cases) expect_harmless(test);
}

TEST(HostilePt2, JsonOfAnyShapeIsReadOrRefused) {
  run_cases({
      {"deep_json.pt2", [] { return pt2_of(repeat("[", 10'000'000)); }, {4}, "", {}},
      {"deep_objects.pt2", [] { return pt2_of(repeat("{\"a\":", 2'000'000)); }, {4}, "", {}},
      {"wide_list.pt2", [] { return pt2_of("[" + repeat("0,", 5'000'000) + "0]"); }, {4}, "wrong type", {}},
      {"wide_objects.pt2", [] { return pt2_of("[" + repeat("{},", 3'300'000) + "{}]"); }, {4}, "wrong type", {}},
      {"equal_keys.pt2", [] { return pt2_of("{" + repeat("\"a\":0,", 1'600'000) + "\"a\":0}"); }, {4}, "twice", {}},
      {"long_string.pt2", [] { return pt2_of("\"" + repeat("x", 10'000'000) + "\""); }, {4}, "wrong type", {}},
      {"huge_number.pt2", [] { return pt2_of(repeat("9", 10'000'000)); }, {4}, "not valid JSON", {}},
      {"not_utf8.pt2", [] { return pt2_of("\"\xff\""); }, {4}, "not valid JSON", {}},
      {"no_json.pt2", [] { return pt2_of(""); }, {4}, "not valid JSON", {}},
  });
}

TEST(HostilePt2, ManyNodesTakeLinearTime) {
  const std::string one = R"({"as_int":1})";
  const std::string square = meta({as_int("4"), as_int("4")});
  run_cases({
      {"relu_chain.pt2", [] { return chain("aten.relu.default", kMany); }, {0}, "", compile_file()},
      {"neg_chain.pt2", [] { return chain("aten.neg.default", kMany); }, {0}, "", compile_file()},
      {"clone_chain.pt2", [] { return chain("aten.clone.default", kMany); }, {0}, "", compile_file()},
      {"add_chain.pt2", [=] { return chain("aten.add.Tensor", kMany, {"other", one}); }, {0}, "", compile_file()},
      {"in_place_chain.pt2", [=] { return chain("aten.add_.Tensor", kMany, {"other", one}); }, {0}, "", compile_file()},
      {"transpose_chain.pt2",
       [=] { return chain("aten.transpose.int", kMany, {"dim0", as_int("0"), "dim1", as_int("1")}, "self", square); },
       {0},
       "",
       compile_file()},
      {"softmax_chain.pt2",
       [=] { return chain("aten.softmax.int", kMany / 2, {"dim", as_int("0")}); },
       {0},
       "",
       compile_file()},
      {"view_chain.pt2",
       [=] { return chain("aten.view.default", kMany, {"size", ints({"4"})}); },
       {0},
       "",
       compile_file()},
      {"verify_chain.pt2", [] { return chain("aten.relu.default", kMany * 3 / 2); }, {0}, ""},
      {"many_inputs.pt2",
       [] {
         ProgramText program;
         for (int i = 0; i < kMany; ++i) program.input("x" + number(i), kSmall);
         program.output("x0");
         return pt2_of(program.json());
       },
       {0},
       "",
       compile_file()},
      {"many_outputs.pt2",
       [] {
         ProgramText program;
         program.input("x", kSmall);
         for (int i = 0; i < 50'000; ++i) program.output("x");
         return pt2_of(program.json());
       },
       {0},
       "",
       compile_file()},
      {"many_readers.pt2",
       [] {
         ProgramText program;
         program.input("x", kSmall);
         for (int i = 0; i < kMany / 2; ++i) {
           program.graph.node("aten.relu.default", {"self", tensor("x")}, "r" + number(i), kSmall);
           program.output("r" + number(i));
         }
         return pt2_of(program.json());
       },
       {0},
       "",
       compile_file()},
      {"many_folds.pt2",
       [] {
         ProgramText program;
         for (int i = 0; i < kMany / 2; ++i) {
           program.graph.node("aten.full.default", {"size", ints({"4"}), "fill_value", as_int(number(i))},
                              "f" + number(i), meta({as_int("4")}, 5));
           program.output("f" + number(i));
         }
         return pt2_of(program.json());
       },
       {0},
       "",
       compile_file()},
      {"written_view.pt2",
       [] {
         ProgramText program;
         program.input("x", kSmall);
         program.graph.node("aten.clone.default", {"self", tensor("x")}, "c", kSmall);
         for (int i = 0; i < 4'000; ++i) {
           const std::string n = number(i);
           program.graph.node("aten.select.int", {"self", tensor("c"), "dim", as_int("0"), "index", as_int("1")},
                              "s" + n, meta({}));
           program.graph.node("aten.add_.Scalar", {"self", tensor("s" + n), "other", as_int("1")}, "a" + n, meta({}));
         }
         program.output("c");
         return pt2_of(program.json());
       },
       {0},
       "",
       compile_file()},
  });
}

TEST(HostilePt2, SizesThatOverflowAreRefused) {
  const std::string huge = as_int("4611686018427387904");
  run_cases({
      {"product.pt2",
       [=] {
         ProgramText program;
         program.input("x", meta({huge, as_int("4")}));
         program.graph.node("aten.relu.default", {"self", tensor("x")}, "r", meta({huge, as_int("4")}));
         program.output("r");
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
      {"negative.pt2",
       [=] {
         ProgramText program;
         program.input("x", meta({as_int("-4")}));
         program.graph.node("aten.relu.default", {"self", tensor("x")}, "r", meta({as_int("-4")}));
         program.output("r");
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
      {"rank_thousand.pt2",
       [=] {
         ProgramText program;
         const std::string type = meta(std::vector<std::string>(1000, as_int("1")));
         program.input("x", type);
         program.graph.node("aten.relu.default", {"self", tensor("x")}, "r", type);
         program.output("r");
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
      {"repeat.pt2",
       [=] {
         ProgramText program;
         program.input("x", kSmall);
         program.graph.node("aten.repeat.default",
                            {"self", tensor("x"), "repeats", ints({"3037000500", "3037000500", "3037000500"})}, "r",
                            meta({huge, huge, huge}));
         program.output("r");
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
      {"shape_list.pt2",
       [=] {
         ProgramText program;
         program.input("x", kSmall);
         program.graph.node("aten.view.default",
                            {"self", tensor("x"), "size", ints(std::vector<std::string>(1'000'000, "1"))}, "r", kSmall);
         program.output("r");
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
  });
}

TEST(HostilePt2, LittleFilesDoNotBecomeLargeOnes) {
  const std::string ten_billion = as_int("10000000000");
  const uint64_t folding = uint64_t{1} << 30;
  run_cases({
      {"zeros.pt2",
       [=] { return creation("aten.zeros.default", {"size", ints({"10000000000"})}, {ten_billion}); },
       {0, 3},
       "",
       compile_file(),
       folding},
      {"zeros_sum.pt2",
       [=] { return creation("aten.zeros.default", {"size", ints({"200000000"})}, {as_int("200000000")}); },
       {0, 3},
       "",
       compile_file(),
       folding},
      {"arange.pt2",
       [=] { return creation("aten.arange.default", {"end", R"({"as_float":1e12})"}, {as_int("1000000000000")}); },
       {0, 3},
       "",
       compile_file(),
       folding},
      {"eye.pt2",
       [=] { return creation("aten.eye.default", {"n", as_int("100000")}, {as_int("100000"), as_int("100000")}); },
       {0, 3},
       "",
       compile_file(),
       folding},
      {"folded_product.pt2",
       [=] {
         ProgramText program;
         const std::string type = meta({as_int("8000"), as_int("8000")});
         program.graph.node("aten.ones.default", {"size", ints({"8000", "8000"})}, "a", type);
         program.graph.node("aten.mm.default", {"self", tensor("a"), "mat2", tensor("a")}, "b", type);
         program.graph.node("aten.sum.default", {"self", tensor("b")}, "total", meta({}));
         program.output("total");
         return pt2_of(program.json());
       },
       {0, 3},
       "",
       compile_file(),
       folding},
      {"doubling.pt2",
       [=] {
         ProgramText program;
         program.input("x", kSmall);
         std::string last = "x";
         for (int i = 0; i < 60; ++i) {
           const std::string name = "c" + number(static_cast<uint64_t>(i));
           program.graph.node("aten.cat.default", {"tensors", tensors({last, last})}, name, meta({as_int("8")}));
           last = name;
         }
         program.output(last);
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
      {"wide_cat.pt2",
       [=] {
         ProgramText program;
         program.input("x", kSmall);
         program.graph.node("aten.cat.default", {"tensors", tensors(std::vector<std::string>(10'000, "x"))}, "c",
                            meta({as_int("40000")}));
         program.output("c");
         return pt2_of(program.json());
       },
       {0},
       "",
       compile_file()},
      {"unbind.pt2",
       [=] {
         ProgramText program;
         program.input("x", meta({as_int("5000000")}));
         program.graph.node("aten.unbind.int", {"self", tensor("x")}, "u", meta({}));
         program.output("u");
         return pt2_of(program.json());
       },
       {3, 4},
       "",
       compile_file()},
      {"expanded_weight.pt2",
       [=] {
         ProgramText program;
         const std::string size = as_int("1099511627776");
         std::string type = meta({size});
         type.replace(type.find("\"strides\":[{\"as_int\":1}"), 23, "\"strides\":[{\"as_int\":0}");
         program.graph.input("w", type);
         std::string json;
         program.output("w");
         json = program.json();
         const std::string spec = R"("input_specs":[)";
         json.insert(json.find(spec) + spec.size(), R"({"parameter":{"arg":{"name":"w"},"parameter_name":"w"}})");
         return pt2_of(json,
                       R"("w":{"path_name":"weight_0","is_param":true,"use_pickle":false,"tensor_meta":)" + type + "}",
                       "abcd");
       },
       {3},
       "--limit expanded-bytes",
       compile_file()},
  });
}

TEST(HostilePt2, ExpressionsAreBounded) {
  const auto with_size = [](const std::string& text) {
    ProgramText program;
    program.input("x", meta({expr(text)}));
    program.graph.node("aten.relu.default", {"self", tensor("x")}, "r", meta({expr(text)}));
    program.output("r");
    return pt2_of(program.json());
  };
  const std::string s = "Symbol('s0', integer=True)";
  run_cases({
      {"deep_expression.pt2", [=] { return with_size(repeat("Add(", 1'000'000) + s); }, {3, 4}, "", compile_file()},
      {"wide_expression.pt2",
       [=] { return with_size("Add(" + repeat(s + ", ", 300'000) + s + ")"); },
       {3, 4},
       "",
       compile_file()},
      {"power.pt2", [=] { return with_size("Pow(Integer(9), Integer(9999999))"); }, {3, 4}, "", compile_file()},
      {"power_tower.pt2",
       [=] { return with_size("Pow(Pow(" + s + ", Integer(60)), Integer(60))"); },
       {3, 4},
       "",
       compile_file()},
      {"products.pt2",
       [=] {
         std::string text = s;
         for (int i = 0; i < 50; ++i)
           text = "Mul(Add(" + text + ", Symbol('s" + number(static_cast<uint64_t>(i)) + "', integer=True)), " +
                  "Add(Symbol('t', integer=True), Integer(1)))";
         return with_size(text);
       },
       {0, 3, 4},
       "",
       compile_file()},
      {"division_by_zero.pt2",
       [=] { return with_size("FloorDiv(" + s + ", Integer(0))"); },
       {3, 4},
       "",
       compile_file()},
      {"growing_sums.pt2",
       [] {
         ProgramText program;
         std::vector<std::string> names;
         for (int i = 0; i < 2'000; ++i) {
           const std::string n = number(static_cast<uint64_t>(i));
           program.input("x" + n, meta({expr("Symbol('s" + n + "', integer=True)")}));
           names.push_back("x" + n);
         }
         program.graph.node("aten.cat.default", {"tensors", tensors(names)}, "c", meta({as_int("8")}));
         program.output("c");
         return pt2_of(program.json());
       },
       {0, 3, 4},
       "",
       compile_file()},
  });
}

// cond(p, true_graph, false_graph, [x]) nested in its own branches.
std::string nested_cond(int depth) {
  std::string inner;
  for (int level = 0; level < depth; ++level) {
    GraphText branch;
    branch.input("p", meta({}, 12));
    branch.input("x", kSmall);
    if (level == 0) {
      branch.node("aten.relu.default", {"self", tensor("x")}, "r", kSmall);
    } else {
      const std::string graph = R"({"as_graph":{"name":"g","graph":)" + inner + "}}";
      branch.node("higher_order.cond", {"", tensor("p"), "", graph, "", graph, "", tensors({"p", "x"})}, "r", kSmall);
    }
    branch.output("r");
    inner = branch.text();
  }
  ProgramText program;
  program.input("p", meta({}, 12));
  program.input("x", kSmall);
  const std::string graph = R"({"as_graph":{"name":"g","graph":)" + inner + "}}";
  program.graph.node("higher_order.cond", {"", tensor("p"), "", graph, "", graph, "", tensors({"p", "x"})}, "r",
                     kSmall);
  program.output("r");
  return pt2_of(program.json());
}

TEST(HostilePt2, ControlFlowIsBounded) {
  run_cases({
      {"nested_cond.pt2", [] { return nested_cond(9); }, {0, 3, 4}, "", compile_file()},
      {"deep_cond.pt2", [] { return nested_cond(14); }, {3, 4}, "", compile_file()},
  });
}

TEST(HostilePt2, EndlessLoopsEnd) {
  const auto make = [] {
    GraphText condition, body;
    condition.input("x", kSmall);
    condition.node("aten.ones.default", {"size", ints({}), "dtype", R"({"as_scalar_type":12})"}, "t", meta({}, 12));
    condition.output("t");
    body.input("x", kSmall);
    body.node("aten.relu.default", {"self", tensor("x")}, "r", kSmall);
    body.output("r");
    ProgramText program;
    program.input("x", kSmall);
    program.graph.node(
        "higher_order.while_loop",
        {"", R"({"as_graph":{"name":"c","graph":)" + condition.text() + "}}", "",
         R"({"as_graph":{"name":"b","graph":)" + body.text() + "}}", "", tensors({"x"}), "", tensors({})},
        "r", kSmall);
    program.output("r");
    return pt2_of(program.json());
  };
  const std::string model = made_file("loop.pt2", make);
  const std::string program = scratch_path("loop.pte");
  const Outcome compiled = run_wick({"compile", model, "-o", program});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  const Outcome ran = run_wick({"run", program});
  EXPECT_EQ(ran.exit_code, 4) << ran.output;
  EXPECT_NE(ran.output.find("--limit instructions=N"), std::string::npos) << ran.output;
#ifndef WICK_SANITIZED
  EXPECT_LT(ran.seconds, 10);
#endif
  EXPECT_EQ(run_wick({"run", program, "--limit", "instructions=1000"}).exit_code, 4);
}

TEST(HostilePt2, NamesDoNotReachTheTerminal) {
  const std::string path =
      made_file("names.pt2", [] { return chain("aten.\\u001b[31mrelu.\\u0007default" + repeat("x", 1'000'000), 1); });
  const Outcome outcome = run_wick({"verify", path});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.output;
  EXPECT_EQ(outcome.output.find('\x1b'), std::string::npos);
  EXPECT_EQ(outcome.output.find('\x07'), std::string::npos);
  EXPECT_LT(outcome.output.size(), 5000u);
}

}  // namespace
}  // namespace wick::testing
