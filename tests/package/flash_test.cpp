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

class Flash : public PackageTest, public ::testing::WithParamInterface<const char*> {
 protected:
  // False, and the test is skipped or fails, if something is missing.
  bool has_board(const std::string& program, const std::string& device) const {
    const Outcome ran = wick("bench " + program + " --json --device " + device);
    return ran.exit_code == 0 && run("command -v arm-none-eabi-gcc clang++-19").exit_code == 0;
  }
};

TEST_P(Flash, OfALinkedFirmwareIsAtMostWhatIsStatedAndNotMuchLess) {
  const std::string cpu = GetParam(), device = "qemu-" + cpu;
  const std::string program = compile_quantized("ds_cnn", cpu);
  if (!has_board(program, device)) {
    ASSERT_EQ(std::getenv("WICK_NEEDS_DEVICES"), nullptr) << device << " is not there";
    GTEST_SKIP() << device << " is not there";
  }
  const Outcome bench = wick("bench " + program + " --json --device " + device);
  const uint64_t core = field(bench.out, "core"), kernels = field(bench.out, "kernels"),
                 bytes = field(bench.out, "program");
  const Outcome made = wick("package " + program + " -o '" + path("out") + "' --json");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // The package holds tables in place of the file's.
  EXPECT_LE(field(made.out, "flash_bytes"), core + kernels + bytes);
  EXPECT_GT(field(made.out, "flash_bytes"), core + kernels);

  std::ofstream(path("main.c")) << "#include \"ds_cnn.h\"\n"
                                   "int main(void) {\n"
                                   "  if (ds_cnn_init() != 0 || ds_cnn_input(0) == 0) return 1;\n"
                                   "  return ds_cnn_run() != 0 || ds_cnn_output(0) == 0;\n"
                                   "}\n";
  const Outcome ran = run("OPT=-Oz scripts/run_package.sh '" + path("out") + "' clang '" + path("main.c") + "'");
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const std::string map = slurp(path("out/build/clang/firmware.map"));
  const uint64_t linked = linked_bytes(map, {"main.o", "start.o", "semihosting.o", "newlib.o", "ds_cnn.o",
                                             "ds_cnn_single.o", "ds_cnn_program.o", "ds_cnn_memory.o"});
  // An upper bound; what keeps it above the firmware is not only the strings that linkers merge.
  const uint64_t stated = core + kernels;
  EXPECT_LE(linked, stated);
  EXPECT_GE(static_cast<double>(linked), 0.85 * static_cast<double>(stated));
  // With its constants and tables.
  const uint64_t all = linked_bytes(map, {"main.o", "start.o", "semihosting.o", "newlib.o"});
  EXPECT_LE(all, field(made.out, "flash_bytes"));
  EXPECT_EQ(map.find("mallocr.o"), std::string::npos) << "the firmware links the heap";
  RecordProperty("linked_bytes", std::to_string(linked));
  RecordProperty("stated_bytes", std::to_string(stated));
}

INSTANTIATE_TEST_SUITE_P(Boards, Flash, ::testing::Values("cortex-m55", "cortex-m4", "cortex-m3"),
                         [](const auto& test) {
                           std::string name = test.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace wick::cli::flash_test
