// The build files of a package: CMake and make.
#include <fmt/format.h>

#include "cli/package/package_files.h"

namespace wick::cli {
namespace {

// No contraction: results equal those of every other build. errno and floating-point traps are not used. NDEBUG:
// assertions of FlatBuffers would link printf and the heap.
constexpr char kFlags[] =
    "-DNDEBUG -ffp-contract=off -fno-math-errno -fno-trapping-math -fno-exceptions -fno-rtti -fno-threadsafe-statics "
    "-fno-unwind-tables -fno-asynchronous-unwind-tables -fomit-frame-pointer -ffunction-sections -fdata-sections";
// Warnings that are off for the runtime's sources.
constexpr char kRuntimeFlags[] = "-Wno-unused-parameter -Wno-psabi -Wno-int-in-bool-context";

std::vector<std::string> of_programs(const PackagePlan& plan) {
  std::vector<std::string> files;
  for (const ProgramPlan& program : plan.programs) {
    for (const char* suffix : {"", "_single", "_memory", "_program"})
      files.push_back(fmt::format("src/{}{}.cpp", program.name, suffix));
  }
  files.push_back(fmt::format("src/{}_kernels.cpp", plan.name));
  return files;
}

std::string lines(const std::vector<std::string>& paths, const char* folder, const char* end) {
  std::string out;
  for (const std::string& path : paths) out += fmt::format("{}\n  {}{}", end, folder, path);
  return out;
}

bool has_variants(const PackagePlan& plan) { return !plan.target_sources.empty() || !plan.portable_sources.empty(); }

// The options for a Makefile, where $(PROCESSOR) is a processor that the compiler knows.
std::string with_processor(const compiler::FirmwareTarget& target, std::string flags) {
  const std::string option = "-mcpu=" + target.cpu;
  const size_t at = flags.find(option);
  if (!target.same_as.empty() && at != std::string::npos) flags.replace(at, option.size(), "-mcpu=$(PROCESSOR)");
  return flags;
}

// The part of a Makefile that sets the processor's options. An older compiler gets a processor that it knows and that
// has the same instructions.
std::string processor_text(const compiler::FirmwareTarget& target) {
  std::string out = "ifneq ($(TARGET),host)\n";
  if (!target.same_as.empty()) {
    out += fmt::format(
        "  # {0} is known to GCC {2} and clang {3}. {1} has the same instructions.\n"
        "  knows = $(shell echo | $(CXX) -mcpu=$(1) -mthumb -x c++ -E - >/dev/null 2>&1 && echo yes)\n"
        "  ifneq ($(call knows,{0}),)\n    PROCESSOR ?= {0}\n"
        "  else ifneq ($(call knows,{1}),)\n    PROCESSOR ?= {1}\n"
        "    $(info $(CXX) does not know {0} (GCC {2} and clang {3} do): compiled for {1}, which has the same "
        "instructions)\n"
        "  else\n    $(error $(CXX) is not there, or knows neither {0} nor {1}: GCC {2} and clang {3} know both)\n  "
        "endif\n",
        target.cpu, target.same_as, target.known_to_gcc, target.known_to_clang);
  }
  return out + fmt::format("  CPU_FLAGS ?= {}\nendif\n", with_processor(target, target.flags));
}

// The same in CMake, for GCC's options of files without vectors. The other options come from the toolchain file.
std::string older_processor(const compiler::FirmwareTarget& target) {
  if (target.same_as.empty()) return "";
  return fmt::format(
      "    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS {2})  # does not know {0}; {1} has the same instructions\n"
      "      string(REPLACE \"{0}\" \"{1}\" plain \"${{plain}}\")\n    endif()\n",
      target.cpu, target.same_as, target.known_to_gcc);
}

}  // namespace

std::string cmake_text(const PackagePlan& plan) {
  const std::string up = upper_case(plan.name);
  std::string out = fmt::format(
      "# Written by wick package. The library {0}: add_subdirectory(this folder), target_link_libraries(firmware "
      "{0}).\n"
      "cmake_minimum_required(VERSION 3.13)\n"
      "project({0} LANGUAGES C CXX)\n\n"
      "set(programs{1})\nset(runtime{2})\n",
      plan.name, lines(of_programs(plan), "", ""), lines(plan.sources, "wick/", ""));
  if (has_variants(plan)) {
    out += fmt::format(
        "# Kernels for {1}, and the same in plain C++ for every other processor, such as the machine you build on.\n"
        "if(CMAKE_SYSTEM_NAME STREQUAL \"Generic\")\n  set(default OFF)\nelse()\n  set(default ON)\nendif()\n"
        "option({0}_PORTABLE_KERNELS \"Kernels in plain C++\" ${{default}})\n"
        "set(processor_kernels{2})\nset(portable_kernels{3})\n"
        "if({0}_PORTABLE_KERNELS)\n  set(kernels ${{portable_kernels}})\nelse()\n  set(kernels "
        "${{processor_kernels}})\nendif()\n",
        up, plan.target.cpu.empty() ? "the processor" : plan.target.cpu, lines(plan.target_sources, "wick/", ""),
        lines(plan.portable_sources, "wick/", ""));
  }
  out += fmt::format(
      "\nadd_library({0} STATIC ${{programs}} ${{runtime}} ${{kernels}})\n"
      "target_include_directories({0} PUBLIC include)\n"
      "target_include_directories({0} PRIVATE src wick wick/include)\n"
      "target_include_directories({0} SYSTEM PRIVATE wick/third_party)\n"
      "target_compile_features({0} PRIVATE cxx_std_17)\n"
      "separate_arguments(flags UNIX_COMMAND \"{1}\")\n"
      "target_compile_options({0} PRIVATE ${{flags}})\n"
      "set_source_files_properties(${{runtime}} ${{kernels}} PROPERTIES COMPILE_OPTIONS \"{2}\")\n",
      plan.name, kFlags, std::string("-Wno-unused-parameter;-Wno-psabi;-Wno-int-in-bool-context"));
  if (has_variants(plan)) {
    out += fmt::format("if({0}_PORTABLE_KERNELS)\n  target_compile_definitions({1} PRIVATE WICK_PORTABLE_KERNELS=1)\n",
                       up, plan.name);
    out += "else()\n";
    if (!plan.target.plain_flags.empty()) {
      out += fmt::format(
          "  if(CMAKE_CXX_COMPILER_ID STREQUAL \"GNU\")  # not sure of its vectors: only these kernels get them\n"
          "    set(plain \"{0}\")\n{1}"
          "    set_source_files_properties(${{programs}} PROPERTIES COMPILE_OPTIONS \"${{plain}}\")\n"
          "    set_source_files_properties(${{runtime}} PROPERTIES COMPILE_OPTIONS "
          "\"-Wno-unused-parameter;-Wno-psabi;-Wno-int-in-bool-context;${{plain}}\")\n"
          "  endif()\n",
          plan.target.plain_flags, older_processor(plan.target));
    }
    out +=
        "  set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS\n"
        "    \"-Wno-unused-parameter;-Wno-psabi;-Wno-int-in-bool-context;-O2\")\nendif()\n";
  }
  out += fmt::format(
      "\n# A program that runs a sample: for machines that have printf and an exit status.\n"
      "option({0}_EXAMPLE \"Build {1}_example\" OFF)\n"
      "if({0}_EXAMPLE)\n"
      "  add_executable({1}_example example/main.c)\n"
      "  target_link_libraries({1}_example PRIVATE {1} m)\n"
      "  set_target_properties({1}_example PROPERTIES C_STANDARD 99)\n"
      "endif()\n",
      up, plan.name);
  return out;
}

std::string makefile_text(const PackagePlan& plan) {
  const bool variants = has_variants(plan);
  const bool cross = !plan.target.cpu.empty();
  std::string out = fmt::format(
      "# Written by wick package. make builds lib{0}.a{1}.\n"
      "#   make CXX=.. CC=.. AR=.. CPU_FLAGS=..   another compiler, other options of the processor\n"
      "#   make TARGET=host example               for this machine, with a program that runs a sample\n"
      "TARGET ?= {2}\n",
      plan.name, cross ? " for " + plan.target.cpu : "", cross ? plan.target.cpu : "host");
  out +=
      "ifeq ($(TARGET),host)\n  CROSS ?=\nelse\n  CROSS ?= arm-none-eabi-\nendif\n"
      "ifeq ($(origin CXX),default)\n  CXX = $(CROSS)g++\nendif\nifeq ($(origin CC),default)\n  CC = "
      "$(CROSS)gcc\nendif\n"
      "ifeq ($(origin AR),default)\n  AR = $(CROSS)ar\nendif\n";
  out += processor_text(plan.target);
  out +=
      "# The same size: what flash is told from.\n"
      "ifneq ($(shell $(CXX) --version 2>/dev/null | grep -c clang),0)\n  OPT ?= -Oz\nelse\n  OPT ?= "
      "-Os\nendif\nKERNEL_OPT ?= -O2\nWARN ?= -Wall "
      "-Wextra\nBUILD ?= build/$(TARGET)\n\n";
  out += fmt::format("PROGRAMS = {}\n\nRUNTIME = {}\n", lines(of_programs(plan), "", " \\"),
                     lines(plan.sources, "wick/", " \\"));
  out += "\nKERNELS =\n";
  if (variants) {
    out += fmt::format(
        "ifeq ($(TARGET),host)\n  DEFINES += -DWICK_PORTABLE_KERNELS=1\nKERNELS += {}\nelse\nKERNELS += {}\n",
        lines(plan.portable_sources, "wick/", " \\"), lines(plan.target_sources, "wick/", " \\"));
    if (!plan.target.plain_flags.empty()) {
      out += fmt::format(
          "\n  # GCC: only these kernels get vectors.\n"
          "  ifneq ($(shell $(CXX) --version | grep -c 'Free Software'),0)\n    PLAIN_FLAGS ?= {}\n  endif\n",
          with_processor(plan.target, plan.target.plain_flags));
    }
    out += "\nendif\n";
  }
  out += fmt::format(
      "\nFLAGS = -std=c++17 {0} -Iinclude -Isrc -Iwick -Iwick/include -isystem wick/third_party $(DEFINES)\n"
      "OBJECTS = $(PROGRAMS:%.cpp=$(BUILD)/%.o) $(RUNTIME:%.cpp=$(BUILD)/%.o)\n"
      "KERNEL_OBJECTS = $(KERNELS:%.cpp=$(BUILD)/%.o)\n\n"
      "$(BUILD)/lib{1}.a: $(OBJECTS) $(KERNEL_OBJECTS)\n\trm -f $@\n\t$(AR) rcs $@ $^\n\n"
      "$(OBJECTS): $(BUILD)/%.o: %.cpp\n\t@mkdir -p $(@D)\n"
      "\t$(CXX) $(CPU_FLAGS) $(PLAIN_FLAGS) $(OPT) $(WARN) {2} $(FLAGS) $(CXXFLAGS) -MMD -c $< -o $@\n\n"
      "$(KERNEL_OBJECTS): $(BUILD)/%.o: %.cpp\n\t@mkdir -p $(@D)\n"
      "\t$(CXX) $(CPU_FLAGS) $(KERNEL_OPT) $(WARN) {2} $(FLAGS) $(CXXFLAGS) -MMD -c $< -o $@\n\n"
      "example: $(BUILD)/example\n\n"
      "$(BUILD)/example: example/main.c $(BUILD)/lib{1}.a\n"
      "\t$(CC) $(CPU_FLAGS) $(OPT) $(WARN) -std=c99 -Iinclude $(CFLAGS) $< $(BUILD)/lib{1}.a -lm $(LDFLAGS) -o $@\n\n"
      "clean:\n\trm -rf $(BUILD)\n\n"
      ".PHONY: example clean\n"
      "-include $(OBJECTS:.o=.d) $(KERNEL_OBJECTS:.o=.d)\n",
      kFlags, plan.name, kRuntimeFlags);
  return out;
}

}  // namespace wick::cli
