#include <fmt/format.h>

#include <cstdlib>
#include <regex>
#include <set>

#include "tests/package/instance_programs.h"
#include "tests/package/package_test_support.h"

namespace wick::cli {
namespace {

const std::string kDigits = "tests/fixtures/digits/digits.pt2";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Builds the example of a package for this machine and runs it.
class HostPackageTest : public PackageTest {
 protected:
  void expect_example_runs(const std::string& folder) const {
    const Outcome built =
        run("make --no-print-directory -s -j4 -C '" + path(folder) +
            "' TARGET=host CXX=" WICK_CXX " CC=" WICK_CC " OPT=-O1 WARN='-Wall -Wextra -Werror' example");
    ASSERT_EQ(built.exit_code, 0) << built.err;
    const Outcome ran = run("'" + path(folder + "/build/host/example") + "'");
    EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
    EXPECT_FALSE(has(ran.out, "DIFFERENT")) << ran.out;
    EXPECT_TRUE(has(ran.out, ": equal")) << ran.out;
  }

  // A C program with a package that was built, and what the package does with memory of the caller, under the
  // sanitizers.
  void expect_runs(const std::string& folder, const std::string& name, const std::string& source,
                   const std::string& flags) const {
    const std::string sanitized =
        WICK_CXX " -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all -Wall -Wextra -Werror";
    std::string objects;
    for (const std::string& part :
         {"src/" + name, std::string("wick/runtime/firmware/fixed_method"),
          std::string("wick/runtime/firmware/packaged_method"), std::string("wick/runtime/firmware/caller_memory")}) {
      const std::string object = "'" + path(std::filesystem::path(part).filename().string() + ".o") + "'";
      const Outcome built =
          run(fmt::format("cd '{}' && {} -std=c++17 -fno-rtti -Wno-unused-parameter -Iinclude -Isrc "
                          "-Iwick -Iwick/include -isystem wick/third_party -c {}.cpp -o {}",
                          path(folder), sanitized, part, object));
      ASSERT_EQ(built.exit_code, 0) << built.err;
      objects += " " + object;
    }
    const Outcome built = run(fmt::format("{} {} -I'{}' -x c -std=c99 '{}' -x none {} '{}' -lm -o '{}'", sanitized,
                                          flags, path(folder + "/include"), source, objects,
                                          path(folder + "/build/host/lib" + folder + ".a"), path("program")));
    ASSERT_EQ(built.exit_code, 0) << built.err;
    const Outcome ran = run("'" + path("program") + "'");
    EXPECT_EQ(ran.exit_code, 0) << source << "\n" << ran.out << ran.err;
  }

  void expect_refuses_bad_memory(const std::string& folder, const std::string& name, const std::string& flags) const {
    std::ofstream(path("hostile.c")) << hostile_program(name);
    expect_runs(folder, name, path("hostile.c"), flags);
    // Nothing that changes is outside the handle.
    const Outcome symbols = run("nm '" + path(folder + "/build/host/src/" + name + ".o") + "'");
    ASSERT_EQ(symbols.exit_code, 0) << symbols.err;
    for (const char* kind : {" b ", " B ", " D ", " C "}) EXPECT_FALSE(has(symbols.out, kind)) << symbols.out;
  }
};

TEST_F(HostPackageTest, RunsSeveralProgramsInOneLibrary) {
  const std::string quantized = compile_quantized("conv_relu", "cortex-m4");
  // Two methods, sizes that may change, and state that is kept.
  const std::string methods =
      compile("encode=tests/fixtures/structure/methods_encoder.pt2 decode=tests/fixtures/structure/methods_decoder.pt2",
              "two.pte", "--backend portable");
  const std::string dynamic =
      compile("tests/fixtures/structure/dynamic_two_dims.pt2", "dynamic.pte", "--backend portable");
  const std::string counter = compile("tests/fixtures/structure/counter.pt2", "counter.pte", "--backend portable");
  const Outcome made = wick("package " + quantized + " pair=" + methods + " " + dynamic + " " + counter + " -o '" +
                            path("all") + "' --device none");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto files = files_in("all");
  EXPECT_TRUE(has(files.at("include/pair.h"), "int pair_encode_run(void);"));
  EXPECT_TRUE(has(files.at("include/dynamic.h"), "int dynamic_set_input_sizes(size_t index, const int32_t* sizes);"));
  EXPECT_TRUE(has(files.at("include/conv_relu.h"), "#define CONV_RELU_INPUT_0_SCALE "));
  expect_example_runs("all");
  // Instances of a program of tables and of one that is loaded.
  expect_runs("all", "counter", "examples/two_instances/main.c", "");
  expect_refuses_bad_memory("all", "counter", "");
  expect_refuses_bad_memory("all", "dynamic", "-DDYNAMIC");
}

// Each dtype of elements, with the border of floats and of integers: the type that the firmware passes, and the scale
// of what it passes or of what the program makes of it.
TEST_F(PackageTest, StatesScalesOfEveryQuantizedInputAndOutput) {
  for (const auto& [model, dtype] :
       {std::pair("conv_relu", "int8_t"), std::pair("add", "int8_t"), std::pair("conv_int16", "int16_t")}) {
    SCOPED_TRACE(model);
    std::string scales[2];
    for (const std::string io : {"float", "integer"}) {
      const std::string program = compile_quantized(model, "cortex-m4 --io " + io);
      ASSERT_EQ(wick("package " + program + " -o '" + path(io) + "' --device none --force").exit_code, 0);
      const std::string header = files_in(io).at("include/" + std::string(model) + ".h");
      const std::regex line("#define (\\w+)_(SCALE|ZERO_POINT|TYPE) (\\S+)\n");
      size_t ports = 0, stated = 0, named = 0;
      for (std::sregex_iterator at(header.begin(), header.end(), line), end; at != end; ++at) {
        const std::string what = (*at)[2], value = (*at)[3];
        if (what == "TYPE") {
          ++ports;
          EXPECT_EQ(value, io == "float" ? "float" : dtype);
        } else if (std::isdigit(static_cast<unsigned char>(value[0])) != 0 || value[0] == '-') {
          ++stated;
          scales[io == "float"] += at->str();
        } else {
          ++named;
        }
      }
      EXPECT_GT(ports, 1u);
      EXPECT_EQ(stated, 2 * ports) << header;
      EXPECT_EQ(named, stated) << header;
      const Outcome compared = wick("compare '" + path(std::string(model) + ".pt2") + "' " + program);
      EXPECT_EQ(compared.exit_code, 0) << compared.out << compared.err;
    }
    EXPECT_EQ(scales[0], scales[1]);
  }
  const Outcome refused = wick("compile tests/fixtures/digits/digits.pt2 -o '" + path("a.pte") + "' --io int8");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_TRUE(has(refused.err, "input 0 (image): f32[1, 1, 8, 8] is not quantized at the border")) << refused.err;
}

// compile, inspect, explain, the package's report and its header.
TEST_F(PackageTest, CountsConstantsAsAllOthersDo) {
  const auto number = [](const std::string& text, const std::string& before) {
    const size_t at = text.find(before);
    return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + before.size(), nullptr, 10);
  };
  for (const char* model : {"conv_relu", "ds_cnn", "chains", "lstm", "cmsis_nn_svdf_int8"}) {
    SCOPED_TRACE(model);
    const std::string program = compile_quantized(model, "cortex-m4 --report '" + path("report.json") + "'");
    const auto compiled = number(slurp(path("report.json")), "\"constant_bytes\":");
    EXPECT_GT(compiled, 0u);
    EXPECT_EQ(number(wick("inspect --json " + program).out, "\"constant_bytes\":"), compiled);
    EXPECT_EQ(number(wick("inspect " + program).out, "bytes, of which "), compiled);
    const std::string explained = wick("explain --json " + program).out;
    EXPECT_EQ(number(explained.substr(explained.find("\"calls_of_unknown_cost\":")), "\"constant_bytes\":"), compiled);
    const Outcome made = wick("package " + program + " -o '" + path(model) + "' --device none --json");
    EXPECT_EQ(number(made.out, "\"constant_bytes\":"), compiled) << made.err;
    std::string up = model;
    for (char& c : up) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::string header = files_in(model).at("include/" + std::string(model) + ".h");
    EXPECT_EQ(number(header, "#define " + up + "_CONSTANT_BYTES "), compiled);
    EXPECT_EQ(number(header, "#define " + up + "_PROGRAM_BYTES "), number(made.out, "\"program_bytes\":"));
  }
  for (const char* backend : {"portable", "xnnpack"}) {
    const std::string program =
        compile(kDigits, "digits.pte", std::string("--report '") + path("report.json") + "' --backend " + backend);
    const auto compiled = number(slurp(path("report.json")), "\"constant_bytes\":");
    EXPECT_EQ(number(wick("inspect --json " + program).out, "\"constant_bytes\":"), compiled) << backend;
  }
}

TEST_F(PackageTest, HoldsNoSourcesOfOtherOperators) {
  const std::string program = compile_quantized("conv_relu", "cortex-m55");
  ASSERT_EQ(wick("package " + program + " -o '" + path("out") + "' --device none").exit_code, 0);
  for (const auto& [name, text] : files_in("out")) {
    for (const char* other : {"softmax", "linear/", "transpose_conv2d", "/llm/", "pointwise", "/plain.cpp", "_test"})
      EXPECT_FALSE(has(name, other)) << name;
  }
}

TEST_F(PackageTest, IsTheSameEachTime) {
  const std::string program = compile(kDigits, "digits.pte", "--backend portable");
  ASSERT_EQ(wick("package " + program + " -o '" + path("a") + "' --name digits").exit_code, 0);
  ASSERT_EQ(wick("package " + program + " -o '" + path("b") + "' --name digits").exit_code, 0);
  EXPECT_EQ(files_in("a"), files_in("b"));
}

TEST_F(PackageTest, RefusesWhatDoesNotFitItsBudgets) {
  const std::string program = compile(kDigits, "digits.pte", "--backend portable");
  const Outcome outcome = wick("package " + program + " -o '" + path("out") + "' --max-arena 1KB --max-file 2KB");
  EXPECT_EQ(outcome.exit_code, 6);
  EXPECT_TRUE(has(outcome.err, "the arena of 'digits' has ")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "bytes, --max-arena allows 1024")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "--max-file allows 2048")) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(HostPackageTest, TheHeaderHasSizesAndAlignmentsOfTheCallersMemory) {
  const std::string program = compile(kDigits, "digits.pte", "--backend portable");
  ASSERT_EQ(wick("package " + program + " -o '" + path("out") + "' --device none").exit_code, 0);
  std::ofstream(path("memory.c")) << R"(#include "digits.h"
static _Alignas(DIGITS_ARENA_ALIGNMENT) unsigned char arena[DIGITS_ARENA_BYTES];
static _Alignas(DIGITS_STATE_ALIGNMENT) unsigned char state[DIGITS_STATE_BYTES];
static _Alignas(DIGITS_SCRATCH_ALIGNMENT) unsigned char scratch[DIGITS_SCRATCH_BYTES + 1];
const digits_memory memory = {arena, state, scratch};
_Static_assert(DIGITS_ARENA_ALIGNMENT % 16 == 0 && DIGITS_STATE_ALIGNMENT % 16 == 0, "of planned values and of state");
_Static_assert(DIGITS_SCRATCH_ALIGNMENT % 64 == 0, "of kernels");
)";
  const Outcome outcome =
      run(WICK_CXX " -x c -std=c11 -fsyntax-only -I'" + path("out/include") + "' '" + path("memory.c") + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(HostPackageTest, ChecksItsBudgetsWhenItIsCompiled) {
  const std::string program = compile(kDigits, "digits.pte", "--backend portable");
  ASSERT_EQ(wick("package " + program + " -o '" + path("out") + "' --max-arena 1MB --device none").exit_code, 0);
  const std::string compile_it = WICK_CXX " -std=c++17 -fsyntax-only -I'" + path("out/include") + "' -I'" +
                                 path("out/src") + "' -I'" + path("out/wick") + "' -I'" + path("out/wick/include") +
                                 "' '" + path("out/src/digits.cpp") + "'";
  EXPECT_EQ(run(compile_it).exit_code, 0);
  std::string header = slurp(path("out/include/digits.h"));
  const std::string budget = "#define DIGITS_MAX_ARENA_BYTES 1048576";
  header.replace(header.find(budget), budget.size(), "#define DIGITS_MAX_ARENA_BYTES 16");
  std::ofstream(path("out/include/digits.h")) << header;
  const Outcome outcome = run(compile_it);
  EXPECT_NE(outcome.exit_code, 0);
  EXPECT_TRUE(has(outcome.err, "needs more than the package allows")) << outcome.err;
}

TEST_F(PackageTest, RefusesDelegatesProcessorsAndFoldersInWords) {
  const std::string delegated = compile(kDigits, "delegated.pte", "--backend xnnpack");
  Outcome outcome = wick("package " + delegated + " -o '" + path("out") + "'");
  EXPECT_EQ(outcome.exit_code, 4);
  EXPECT_TRUE(has(outcome.err, "the program has delegates (XnnpackBackend), which no package holds")) << outcome.err;

  const std::string m4 = compile_quantized("conv_relu", "cortex-m4"), m55 = compile_quantized("softmax", "cortex-m55");
  outcome = wick("package " + m4 + " -o '" + path("out") + "' --cpu cortex-m7");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "the program was prepared for another processor")) << outcome.err;
  outcome = wick("package " + m4 + " " + m55 + " -o '" + path("out") + "'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "the programs were prepared for different processors")) << outcome.err;
  outcome = wick("package tests/fixtures/cortex_m/linear.dsp.pte -o '" + path("out") + "'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "do not say which processor they are for")) << outcome.err;
  EXPECT_TRUE(has(outcome.err, "--cpu")) << outcome.err;

  outcome = wick("package a=" + m4 + " a_instance=" + m4 + " -o '" + path("out") + "'");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "the handle of 'a' has the name of the program 'a_instance'")) << outcome.err;

  ASSERT_EQ(wick("package " + m4 + " -o '" + path("out") + "' --device none").exit_code, 0);
  outcome = wick("package " + m4 + " -o '" + path("out") + "' --device none");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_TRUE(has(outcome.err, "the folder is not empty")) << outcome.err;
  EXPECT_EQ(wick("package " + m4 + " -o '" + path("out") + "' --device none --force").exit_code, 0);
}

// QEMU without plugins, and no QEMU at all: the package is written, and says what was not measured.
TEST_F(PackageTest, IsWrittenWithoutWhatMeasures) {
  const std::string program = compile_quantized("conv_relu", "cortex-m4");
  std::filesystem::create_directory(path("tools"));
  const std::string without = "PATH='" + path("tools") + "' '" WICK_BINARY "' package " + program + " -o ";
  const Outcome missing = run(without + "'" + path("none") + "' --name none");
  ASSERT_EQ(missing.exit_code, 0) << missing.err;
  EXPECT_TRUE(has(missing.err, "note: stack and flash are not measured: qemu-cortex-m4 needs qemu-system-arm"))
      << missing.err;
  const std::string header = files_in("none").at("include/conv_relu.h");
  EXPECT_TRUE(has(header, "CONV_RELU_STACK_BYTES and CONV_RELU_FLASH_BYTES are not measured")) << header;
  EXPECT_FALSE(has(header, "#define CONV_RELU_FLASH_BYTES"));
  const Outcome refused = run(without + "'" + path("flash") + "' --max-flash 1MB");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_TRUE(has(refused.err, "make devices")) << refused.err;

  if (wick("run " + program + " --device qemu-cortex-m4").exit_code != 0) {
    ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << "qemu-cortex-m4 is not there";
    GTEST_SKIP() << "qemu-cortex-m4 is not there";
  }
  // Ends as a QEMU does that was built without plugins.
  std::ofstream(path("tools/qemu-system-arm"))
      << "#!/bin/sh\nfor each; do [ \"$each\" != -plugin ] || exit 1; done\nPATH='" << std::getenv("PATH")
      << "' exec qemu-system-arm \"$@\"\n";
  std::filesystem::permissions(path("tools/qemu-system-arm"), std::filesystem::perms::owner_all);
  const std::string tools = "PATH='" + path("tools") + "':\"$PATH\" '" WICK_BINARY "' ";
  const Outcome made = run(tools + "package " + program + " -o '" + path("some") + "' --name some");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(has(files_in("some").at("include/conv_relu.h"), "#define CONV_RELU_STACK_BYTES "));
  EXPECT_TRUE(has(files_in("some").at("include/conv_relu.h"), "#define CONV_RELU_FLASH_BYTES "));
  const Outcome bench = run(tools + "bench " + program + " --device qemu-cortex-m4");
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_TRUE(has(bench.out, "instructions not measured")) << bench.out;
  EXPECT_TRUE(has(bench.err, "note: instructions are not measured: ")) << bench.err;
  const Outcome profile = run(tools + "profile " + program + " --device qemu-cortex-m4");
  EXPECT_EQ(profile.exit_code, 2);
  EXPECT_TRUE(has(profile.err, "QEMU did not count the instructions")) << profile.err;
}

// Compilers that are older than the processor get one with the same instructions.
TEST_F(PackageTest, BuildsForProcessorsThatTheCompilerDoesNotKnow) {
  for (const std::string& compiler :
       {std::string("arm-none-eabi-g++"), std::string("clang++-19 --target=arm-none-eabi")}) {
    if (run("command -v " + compiler.substr(0, compiler.find(' '))).exit_code != 0) {
      ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << compiler << " is not installed";
      GTEST_SKIP() << compiler << " is not installed";
    }
    for (const char* cpu : {"cortex-m52", "cortex-m85", "cortex-m55"}) {
      const std::string program = compile_quantized("conv_relu", cpu);
      ASSERT_EQ(wick("package " + program + " -o '" + path(cpu) + "' --device none --force").exit_code, 0);
      const Outcome commands = run("make -n -C '" + path(cpu) + "' CXX='" + compiler + "'");
      ASSERT_EQ(commands.exit_code, 0) << commands.err;
      const std::regex option("-mcpu=[a-z0-9+-]+");
      std::set<std::string> processors;
      for (std::sregex_iterator at(commands.out.begin(), commands.out.end(), option), end; at != end; ++at)
        processors.insert(at->str());
      EXPECT_FALSE(processors.empty()) << commands.out;
      for (const std::string& each : processors)
        EXPECT_EQ(run("echo | " + compiler + " " + each + " -mthumb -x c++ -E - ").exit_code, 0) << each;
    }
  }
  const Outcome unknown = run("make -n -C '" + path("cortex-m85") + "' CXX=false");
  EXPECT_NE(unknown.exit_code, 0);
  EXPECT_TRUE(has(unknown.err, "knows neither cortex-m85 nor cortex-m55: GCC 13 and clang 15 know both"))
      << unknown.err;
}

// All programs for one instruction set in one package.
TEST_F(PackageTest, TakesEveryProgramOfStocksFlow) {
  for (const auto& [isa, cpu] : {std::pair(".mve", "m55"), std::pair(".dsp", "m4"), std::pair(".scalar", "m0plus")}) {
    std::string programs;
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures/cortex_m")) {
      if (!entry.path().string().ends_with(std::string(isa) + ".pte")) continue;
      programs += entry.path().string() + " ";
      ++count;
    }
    EXPECT_GT(count, 8u) << isa;
    const Outcome outcome =
        wick("package " + programs + " -o '" + path(std::string("out") + isa) + "' --device none --cpu " + cpu);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

}  // namespace
}  // namespace wick::cli
