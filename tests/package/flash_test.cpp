// The flash that `wick package` and `wick bench --device` state, against the map of a linked firmware.
#include <regex>

#include "tests/package/package_test_support.h"

namespace wick::cli::flash_test {
namespace {

/// Bytes of code and constants that a map of GNU ld lists, but those of some files.
uint64_t linked_bytes(const std::string& map, const std::vector<std::string>& without) {
  const size_t begin = map.find("Linker script and memory map");
  const std::string body = map.substr(begin == std::string::npos ? 0 : begin);
  // " .text.name  0xADDRESS  0xSIZE  FILE", with a line break behind a long name.
  const std::regex entry(R"(\n \.(text|rodata|data)\S*\s+0x([0-9a-f]+)\s+0x([0-9a-f]+) (\S+))");
  uint64_t total = 0;
  for (std::sregex_iterator at(body.begin(), body.end(), entry), end; at != end; ++at) {
    const std::string file = (*at)[4];
    const bool counts = std::none_of(without.begin(), without.end(),
                                     [&](const std::string& each) { return file.find(each) != std::string::npos; });
    if (counts) total += std::stoull((*at)[3], nullptr, 16);
  }
  return total;
}

uint64_t field(const std::string& json, const std::string& name) {
  const size_t at = json.find("\"" + name + "\":");
  return at == std::string::npos ? 0 : std::strtoull(json.c_str() + at + name.size() + 3, nullptr, 10);
}

struct Case {
  const char *model, *cpu, *compiler;
};

class Flash : public PackageTest, public ::testing::WithParamInterface<Case> {
 protected:
  // False, and the test is skipped or fails, if something is missing.
  bool has_board(const std::string& program, const std::string& device) const {
    const Outcome ran = wick("bench " + program + " --json --device " + device);
    return ran.exit_code == 0 && run("command -v arm-none-eabi-g++ clang++-19").exit_code == 0;
  }
};

// As the package's own Makefile compiles it.
TEST_P(Flash, OfALinkedFirmwareIsAtMostWhatIsStatedAndNotMuchLess) {
  const auto& [model, cpu, compiler] = GetParam();
  const std::string device = std::string("qemu-") + cpu, name = model;
  const std::string program = compile_quantized(name, cpu);
  if (!has_board(program, device)) {
    ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << device << " is not there";
    GTEST_SKIP() << device << " is not there";
  }
  const Outcome bench = wick("bench " + program + " --json --device " + device);
  const uint64_t core = field(bench.out, "core"), kernels = field(bench.out, "kernels");
  const Outcome made = wick("package " + program + " -o '" + path("out") + "' --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const uint64_t stated = field(made.out, "flash_bytes");
  const std::string header = files_in("out").at("include/" + name + ".h");
  EXPECT_NE(header.find("_FLASH_BYTES " + std::to_string(stated) + " "), std::string::npos) << header;
  if (std::string(compiler) == "gcc" && header.find("with GCC or clang") == std::string::npos) {
    ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << "devices were built without GCC";
    GTEST_SKIP() << "devices were built without GCC";
  }

  std::string source =
      "#include \"NAME.h\"\n"
      "int main(void) {\n"
      "  if (NAME_init() != 0 || NAME_input(0) == 0) return 1;\n"
      "  return NAME_run() != 0 || NAME_output(0) == 0;\n"
      "}\n";
  for (size_t at = source.find("NAME"); at != std::string::npos; at = source.find("NAME")) source.replace(at, 4, name);
  std::ofstream(path("main.c")) << source;
  const Outcome ran = run("scripts/run_package.sh '" + path("out") + "' " + compiler + " '" + path("main.c") + "'");
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const std::string map = slurp(path("out/build/" + std::string(compiler) + "/firmware.map"));
  const std::vector<std::string> board = {"main.o", "start.o", "semihosting.o", "newlib.o"};
  const uint64_t all = linked_bytes(map, board);
  EXPECT_LE(all, stated);
  // GCC's code is smaller where it has no vectors.
  const double least = std::string(compiler) == "clang" ? 0.85 : 0.65;
  EXPECT_GE(static_cast<double>(all), least * static_cast<double>(stated));
  // Kernels and runtime alone.
  std::vector<std::string> package = board;
  for (const char* suffix : {".o", "_single.o", "_program.o", "_memory.o"}) package.push_back(name + suffix);
  EXPECT_LE(linked_bytes(map, package), core + kernels);
  EXPECT_EQ(map.find("mallocr.o"), std::string::npos) << "the firmware links the heap";
  RecordProperty("linked_bytes", std::to_string(all));
  RecordProperty("stated_bytes", std::to_string(stated));
}

INSTANTIATE_TEST_SUITE_P(Boards, Flash,
                         ::testing::Values(Case{"ds_cnn", "cortex-m55", "clang"}, Case{"ds_cnn", "cortex-m4", "clang"},
                                           Case{"ds_cnn", "cortex-m3", "clang"}, Case{"conv_relu", "cortex-m55", "gcc"},
                                           Case{"ds_cnn", "cortex-m55", "gcc"}, Case{"ds_cnn", "cortex-m4", "gcc"},
                                           Case{"ds_cnn", "cortex-m3", "gcc"}, Case{"attention", "cortex-m55", "gcc"},
                                           Case{"attention", "cortex-m55", "clang"}, Case{"lstm", "cortex-m4", "gcc"},
                                           Case{"lstm", "cortex-m3", "clang"}),
                         [](const auto& test) {
                           std::string name =
                               std::string(test.param.model) + "_" + test.param.cpu + "_" + test.param.compiler;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace wick::cli::flash_test
