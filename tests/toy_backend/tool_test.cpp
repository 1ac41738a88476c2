// The tool with the toy's rows: what a row in backends.inc and a linked folder alone give the user.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/support/scratch_folder.h"

namespace wick::toy {
namespace {

constexpr char kModel[] = "tests/fixtures/structure/two_inputs_three_outputs";  // add, sub and mul of two tensors

class ToyTool : public ::testing::Test {
 protected:
  // All that the tool prints; `code` is the exit code it has to end with.
  std::string wick(const std::string& arguments, int code = 0) {
    const std::string text = folder_.file("text");
    const int status = std::system(("'" WICK_WITH_TOY "' " + arguments + " >'" + text + "' 2>&1").c_str());
    std::ifstream file(text);
    std::string found{std::istreambuf_iterator<char>(file), {}};
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == code) << arguments << "\n" << found;
    return found;
  }

  std::string compile(const std::string& backend) {
    const std::string program = "'" + folder_.file("m.pte") + "'";
    wick("compile " + std::string(kModel) + ".pt2 -o " + program + " --backend " + backend);
    return program;
  }

  static bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  testing::ScratchFolder folder_;
};

TEST_F(ToyTool, HelpNamesItsFormsAndOptions) {
  const std::string help = wick("compile --help");
  EXPECT_TRUE(has(help, ", toy, toy-kernels;")) << help;
  EXPECT_TRUE(has(help, "toy:mode=plain|strict")) << help;
  EXPECT_TRUE(has(wick("opt --list"), "toy_double"));
}

TEST_F(ToyTool, CompilesExplainsRunsAndComparesBothForms) {
  for (const char* backend : {"toy", "toy-kernels", "toy:mode=strict", "toy,toy-kernels", "toy,portable"}) {
    const std::string program = compile(backend);
    wick("compare " + std::string(kModel) + ".pt2 " + program + " -i " + kModel + ".in.npz");
  }
  const std::string delegated = wick("explain " + std::string(kModel) + ".pt2 --backend toy");
  EXPECT_TRUE(has(delegated, "an operator other than add and mul")) << delegated;
  EXPECT_TRUE(has(wick("explain " + std::string(kModel) + ".pt2 --backend toy-kernels"), "toy::add.out"));
  EXPECT_TRUE(has(wick("inspect " + compile("toy")), "ToyBackend"));
}

TEST_F(ToyTool, RefusesItsWrongOptionsInItsWords) {
  const std::string text = wick("compile " + std::string(kModel) + ".pt2 -o x --backend toy:mode=other", 2);
  EXPECT_TRUE(has(text, "plain") && has(text, "strict")) << text;
}

}  // namespace
}  // namespace wick::toy
