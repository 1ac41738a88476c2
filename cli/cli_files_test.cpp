// Files that are missing, broken, in the way, or cannot be written.
#include "cli/cli_test_support.h"
#include "compiler/import/archive/archive_test_writer.h"

namespace wick::cli {
namespace {

TEST_F(Cli, AnEmptyFileIsNoProgramForAnyCommand) {
  std::ofstream(path("empty.pte")).flush();
  for (const char* command : {"run ", "verify ", "bench ", "inspect ", "explain ", "ops "}) {
    const Outcome outcome = wick(command + path("empty.pte"));
    EXPECT_EQ(outcome.exit_code, 4) << command << outcome.err;
    EXPECT_NE(outcome.err.find("error[corrupt-file]"), std::string::npos) << command << outcome.err;
  }
}

TEST_F(Cli, MissingFileIsNamed) {
  for (const char* command : {"run", "bench", "inspect", "explain", "verify", "ops"}) {
    const Outcome outcome = wick(std::string(command) + " " + path("absent.pte"));
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("absent.pte"), std::string::npos) << command << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "") << command;
  }
}

TEST_F(Cli, BrokenFilesAreRefusedWithFour) {
  std::ofstream(path("broken.pte"), std::ios::binary) << std::string_view("\x10\0\0\0ET12 this is not a program", 27);
  std::ofstream(path("broken.pt2"), std::ios::binary) << "PK\x03\x04 this is not an archive";
  for (const char* file : {"broken.pte", "broken.pt2"}) {
    const Outcome outcome = wick("verify " + path(file));
    EXPECT_EQ(outcome.exit_code, 4) << outcome.err;
    EXPECT_NE(outcome.err.find(file), std::string::npos) << outcome.err;
    EXPECT_EQ(wick("inspect " + path(file)).exit_code, 4);
  }
  EXPECT_EQ(wick("run " + path("broken.pte")).exit_code, 4);
}

// Graphs of ExecuTorch's native backend, alone and as the first entry of a zip archive.
TEST_F(Cli, GraphsOfTheNativeBackendAreNamedByEveryCommand) {
  const std::string graph("\x10\0\0\0NPTG and more", 17);
  std::ofstream(path("program.ptg"), std::ios::binary) << graph;
  compiler::pt2::TestZip package;
  package.add("program.ptg", graph).add("program.safetensors", "");
  std::ofstream(path("model.ptn"), std::ios::binary) << package.bytes();
  for (const char* file : {"program.ptg", "model.ptn"}) {
    for (const char* command : {"run", "inspect", "verify", "explain", "ops", "bench"}) {
      const Outcome outcome = wick(std::string(command) + " " + path(file));
      EXPECT_EQ(outcome.exit_code, 4) << command << " " << file << outcome.err;
      EXPECT_NE(outcome.err.find("a graph of ExecuTorch's native backend (.ptn)"), std::string::npos)
          << command << " " << file << ": " << outcome.err;
      EXPECT_NE(outcome.err.find("torch.export.save"), std::string::npos) << outcome.err;
    }
    const Outcome compiled = wick("compile " + path(file) + " -o " + path("out.pte"));
    EXPECT_EQ(compiled.exit_code, 4) << compiled.err;
    EXPECT_NE(compiled.err.find("native backend (.ptn)"), std::string::npos) << compiled.err;
  }
}

TEST_F(Cli, ExpressionsInMetadataThatCannotBeReadAreDamage) {
  compile("structure/dynamic_plus_one.pt2", "m.pte");
  std::string bytes = slurp(path("m.pte"));
  const size_t size = bytes.find("\"size\":\"");
  ASSERT_NE(size, std::string::npos);
  bytes[size + 8] = '(';
  std::ofstream(path("m.pte"), std::ios::binary) << bytes;
  const Outcome outcome = wick("run " + path("m.pte"));
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_NE(outcome.err.find("the program's metadata is damaged: cannot read the symbolic expression '("),
            std::string::npos)
      << outcome.err;
}

TEST_F(Cli, CompileWritesAllOfItsFilesOrNone) {
  const std::string compile = "compile " + fixture("digits/digits.pt2") + " -o " + path("m.pte") + " ";
  for (const std::string& flags : {"--external-weights " + path("m.pte"), "--report " + path("./m.pte"),
                                   "--report " + path("w") + " --external-weights " + path("w")}) {
    const Outcome twice = wick(compile + flags);
    EXPECT_EQ(twice.exit_code, 2) << flags;
    EXPECT_NE(twice.err.find("name the same file"), std::string::npos) << twice.err;
  }
  fs::copy_file(fixture("digits/digits.pt2"), path("copy.pt2"));
  const Outcome input =
      wick("compile " + path("copy.pt2") + " -o " + path("m.pte") + " --external-weights " + path("copy.pt2"));
  EXPECT_EQ(input.exit_code, 2);
  EXPECT_NE(input.err.find("give --external-weights another name"), std::string::npos) << input.err;
  EXPECT_EQ(wick(compile + "--external-weights " + path("nowhere/w.ptd")).exit_code, 2);
  EXPECT_EQ(wick(compile + "--report " + path("nowhere/r")).exit_code, 2);
  EXPECT_FALSE(fs::exists(path("m.pte")));
  const std::string elsewhere = "compile " + fixture("digits/digits.pt2") + " --report " + path("r") + " -o ";
  EXPECT_EQ(wick(elsewhere + path("nowhere/m.pte")).exit_code, 2);
  EXPECT_EQ(wick(elsewhere + path("m.pte") + " --backend cuda:gpu=none --twin " + path("m.pte")).exit_code, 2);
  EXPECT_EQ(wick(elsewhere + path("m.pte") + " --backend cuda:gpu=none,twin=" + path("nowhere/t")).exit_code, 2);
  EXPECT_EQ(wick(elsewhere + "/dev/full --external-weights " + path("w")).exit_code, 2);
  EXPECT_FALSE(fs::exists(path("r")) || fs::exists(path("m.pte")) || fs::exists(path("w")));
  EXPECT_EQ(wick(compile + "--external-weights " + path("w.ptd") + " --report /dev/null").exit_code, 0);
  EXPECT_TRUE(fs::exists(path("m.pte")) && fs::exists(path("w.ptd")));
}

// It replaces only files of the kind that it writes there, and empty files.
TEST_F(Cli, CompileReplacesNoFilesOfOtherKinds) {
  const std::string compile = "compile " + fixture("digits/digits.pt2") + " -o ";
  const std::string text = "notes of somebody";
  for (const char* name : {"notes.txt", "o.pte", "w.ptd", "r.json"}) std::ofstream(path(name)) << text;
  for (const auto& [options, words] : std::vector<std::pair<std::string, std::string>>{
           {path("o.pte"), "which is no ExecuTorch program"},
           {path("m.pte") + " --external-weights " + path("w.ptd"), "which is no file of weights"},
           {path("m.pte") + " --report " + path("r.json"), "which is no JSON"},
           {path("m.pte") + " --backend cuda:gpu=none --twin " + path("notes.txt"), "which is no twin library"},
           {path("m.pte") + " --backend cuda:gpu=none,twin=" + path("notes.txt"), "which is no twin library"}}) {
    const Outcome outcome = wick(compile + options);
    EXPECT_EQ(outcome.exit_code, 2) << options;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << options << outcome.err;
  }
  for (const char* name : {"notes.txt", "o.pte", "w.ptd", "r.json"}) EXPECT_EQ(slurp(path(name)), text) << name;
  EXPECT_FALSE(fs::exists(path("m.pte")));
  for (const char* name : {"o.pte", "w.ptd", "r.json"}) std::ofstream(path(name)).flush();
  const std::string all =
      compile + path("o.pte") + " --external-weights " + path("w.ptd") + " --report " + path("r.json");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(wick(all).exit_code, 0);
}

TEST_F(Cli, FilesThatCannotBeWrittenAreNamedBeforeTheWork) {
  compile("digits/digits.pt2", "m.pte");
  const std::string bytes = slurp(path("m.pte"));
  for (const std::string command : {"run ", "profile --trace ", "explain --svg "}) {
    const std::string option = command == "run " ? "-o " : "";
    const Outcome over = wick(command + option + path("m.pte") + " " + path("m.pte"));
    EXPECT_EQ(over.exit_code, 2) << command;
    EXPECT_NE(over.err.find("would overwrite an input"), std::string::npos) << over.err;
    const Outcome nowhere = wick(command + option + path("nowhere/o.npz") + " " + path("m.pte"));
    EXPECT_EQ(nowhere.exit_code, 2) << command;
    EXPECT_NE(nowhere.err.find("there is no such folder"), std::string::npos) << nowhere.err;
    EXPECT_EQ(nowhere.err.find("random"), std::string::npos) << nowhere.err;
  }
  EXPECT_EQ(slurp(path("m.pte")), bytes);
}

TEST_F(Cli, NothingThatIsReadIsOverwritten) {
  compile("digits/digits.pt2", "m.pte");
  fs::copy_file(fixture("digits/digits.in.npz"), path("in.npz"));
  std::ofstream(path("w.ptd")) << "weights";
  const std::string run = "run " + path("m.pte"), step = " --step " + path("in.npz") + "=";
  for (const std::string& command :
       {run + step + path("m.pte"), run + step + path("in.npz"), run + step + path("a.npz") + step + path("in.npz"),
        run + " --data " + path("w.ptd") + step + path("w.ptd"),
        run + " --data " + path("w.ptd") + " -o " + path("w.ptd"),
        run + " -i " + path("in.npz") + " -o " + path("in.npz"),
        "profile " + path("m.pte") + " -i " + path("in.npz") + " --trace " + path("in.npz"),
        "ops " + path("m.pte") + " --emit-table " + path("m.pte")}) {
    const Outcome outcome = wick(command);
    EXPECT_EQ(outcome.exit_code, 2) << command;
    EXPECT_NE(outcome.err.find("would overwrite an input"), std::string::npos) << command << outcome.err;
  }
  const Outcome twice = wick(run + step + path("a.npz") + step + path("a.npz"));
  EXPECT_NE(twice.err.find("--step and --step name the same file"), std::string::npos) << twice.err;
  EXPECT_FALSE(fs::exists(path("a.npz")));
  // A later step may read what an earlier one wrote: here, the logits are no image.
  const Outcome chain = wick(run + step + path("a.npz") + " --step " + path("a.npz") + "=" + path("b.npz"));
  EXPECT_NE(chain.err.find("input 0"), std::string::npos) << chain.err;
  EXPECT_TRUE(fs::exists(path("a.npz")));
}

TEST_F(Cli, OutputsMayGoToPipes) {
  const std::string compile = "compile " + fixture("digits/digits.pt2") + " -o ";
  const Outcome report = wick(compile + path("m.pte") + " --report /dev/stdout | cat");
  EXPECT_NE(report.out.find("\"schema\""), std::string::npos) << report.out << report.err;
  const Outcome program = wick(compile + "/dev/stdout | cat");
  EXPECT_NE(program.out.find("ET12"), std::string::npos) << program.err;
}

// Short results fail when the buffer is written out at the end, long ones before.
TEST_F(Cli, ResultsThatCannotBeWrittenAreAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  for (const char* command : {"--version", "ops --cases"}) {
    const std::string line = std::string("'" WICK_BINARY "' ") + command + " >/dev/full 2>" + path("stderr");
    const int status = std::system(quote_folder(line).c_str());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << command;
    EXPECT_NE(slurp(path("stderr")).find("error[file-io]: cannot write to stdout"), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace wick::cli
