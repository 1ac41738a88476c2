#include "cli/package/source_graph.h"

#include <gtest/gtest.h>

namespace wick::cli {
namespace {

using Files = std::vector<std::string>;

Files files_for(const SourceTree& tree, const std::string& root) {
  const SourceGraph graph(tree);
  auto files = graph.files_for({root});
  EXPECT_TRUE(files.ok()) << compiler::render(files.diag());
  return files.ok() ? *files : Files();
}

TEST(SourceGraph, FollowsCallsAndIncludes) {
  const SourceTree tree = {
      {"a.cpp", "#include \"b.h\"\nnamespace n { int a() { return b() + 1; } }"},
      {"b.cpp", "#include \"b.h\"\nnamespace n { int b() { return 2; } }"},
      {"b.h", "namespace n { int b(); int c(); }"},
      {"c.cpp", "#include \"b.h\"\nnamespace n { int c() { return b(); } }"},
  };
  EXPECT_EQ(files_for(tree, "n::a"), (Files{"a.cpp", "b.cpp", "b.h"}));
  EXPECT_EQ(files_for(tree, "n::c"), (Files{"b.cpp", "b.h", "c.cpp"}));
}

TEST(SourceGraph, TakesTheInnermostOfSeveralFunctionsOfOneName) {
  const SourceTree tree = {
      {"fast.cpp", "#include \"all.h\"\nnamespace n::fast { void run() { step(); } }"},
      {"slow.cpp", "#include \"all.h\"\nnamespace n::slow { void run() { slow::step(); } }"},
      {"fast_step.cpp", "namespace n::fast { void step() {} }"},
      {"slow_step.cpp", "namespace n::slow { void step() {} }"},
      {"all.h", "namespace n { namespace fast { void step(); } namespace slow { void step(); } }"},
  };
  EXPECT_EQ(files_for(tree, "n::fast::run"), (Files{"all.h", "fast.cpp", "fast_step.cpp"}));
  EXPECT_EQ(files_for(tree, "n::slow::run"), (Files{"all.h", "slow.cpp", "slow_step.cpp"}));
}

TEST(SourceGraph, FollowsInlineFunctionsOnlyIfTheyAreCalled) {
  const SourceTree tree = {
      {"a.cpp", "#include \"inline.h\"\nint a() { return one(); }"},
      {"b.cpp", "#include \"inline.h\"\nint b() { return sizeof(Thing); }"},
      {"inline.h",
       "int far(); int near();\nstruct Thing {};\ninline int one() { return far(); }\n"
       "template <typename T>\nT two() { return near(); }"},
      {"far.cpp", "int far() { return 1; }"},
      {"near.cpp", "int near() { return 1; }"},
  };
  EXPECT_EQ(files_for(tree, "a"), (Files{"a.cpp", "far.cpp", "inline.h"}));
  EXPECT_EQ(files_for(tree, "b"), (Files{"b.cpp", "inline.h"}));
}

TEST(SourceGraph, FindsMembersConstructorsAndVariables) {
  const SourceTree tree = {
      {"a.cpp", "#include \"thing.h\"\nvoid a() { Thing t(kTable[0]); t.run(); }"},
      {"thing.h", "extern const int kTable[2];\nclass Thing { public: explicit Thing(int x); void run(); };"},
      {"make.cpp", "#include \"thing.h\"\nThing::Thing(int x) {}"},
      {"run.cpp", "#include \"thing.h\"\nvoid Thing::run() {}"},
      {"table.cpp", "#include \"thing.h\"\nconst int kTable[2] = {1, 2};"},
      {"other.cpp", "class Other { void run(); };\nvoid Other::run() {}"},
  };
  EXPECT_EQ(files_for(tree, "a"), (Files{"a.cpp", "make.cpp", "run.cpp", "table.cpp", "thing.h"}));
}

TEST(SourceGraph, FindsTemplatesWhereTheyAreInstantiated) {
  const SourceTree tree = {
      {"a.cpp", "#include \"t.h\"\nint a() { return f(1); }"},
      {"b.cpp", "#include \"t.h\"\nint b() { return g(1); }"},
      {"t.h", "template <typename T>\nint f(T x);\ntemplate <typename T>\nint g(T x);\nextern template int f(int);"},
      {"f.cpp", "#include \"t.h\"\ntemplate <typename T>\nint f(T x) { return 1; }\ntemplate int f(int);"},
      {"g.cpp",
       "#include \"t.h\"\n#define INSTANTIATE(T) template int g<T>(T);\ntemplate <typename T>\nint g(T x) { return 1; }"
       "\nINSTANTIATE(int)\nINSTANTIATE(double)"},
      {"other.cpp", "#include \"t.h\"\ntemplate <typename T>\nint h(T x) { return 1; }"},
  };
  EXPECT_EQ(files_for(tree, "a"), (Files{"a.cpp", "f.cpp", "t.h"}));
  EXPECT_EQ(files_for(tree, "b"), (Files{"b.cpp", "g.cpp", "t.h"}));
}

TEST(SourceGraph, ReplacesMacrosAndReadsLists) {
  const SourceTree tree = {
      {"unary.cpp",
       "#define UNARY(name, f) \\\n  void name##_out() { math::f(); }\nUNARY(abs, absolute)\nUNARY(neg, negative)"
       "\nnamespace math { void absolute(); void negative(); }"},
      {"math.cpp", "namespace math {\nvoid absolute() {}\nvoid negative() {}\n}"},
      {"table.cpp",
       "#define ROW(f) f,\nvoid abs_out();\nvoid (*const kRows[])() = {\n#include \"rows.inc\"\n};\nvoid table() { "
       "kRows; }"},
      {"rows.inc", "ROW(abs_out)"},
      {"hosted.cpp", "void hosted();\n#ifdef WICK_HOSTED\nvoid lean() { hosted(); }\n#else\nvoid lean() {}\n#endif"},
      {"os.cpp", "void hosted() {}"},
  };
  EXPECT_EQ(files_for(tree, "neg_out"), (Files{"math.cpp", "unary.cpp"}));
  EXPECT_EQ(files_for(tree, "table"), (Files{"math.cpp", "rows.inc", "table.cpp", "unary.cpp"}));
  EXPECT_EQ(files_for(tree, "lean"), (Files{"hosted.cpp"}));
}

TEST(SourceGraph, SeesNoCodeInCommentsAndLiterals) {
  const SourceTree tree = {
      {"a.cpp", "void b();\n/* b(); */ // b();\nconst char* a() { return \"b()\" R\"(b();)\" \"\\\"b()\"; }"},
      {"b.cpp", "void b() {}"},
  };
  EXPECT_EQ(files_for(tree, "a"), (Files{"a.cpp"}));
  const SourceGraph graph(tree);
  const auto none = graph.files_for({"c"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.diag().message, "no source defines c");
}

}  // namespace
}  // namespace wick::cli
