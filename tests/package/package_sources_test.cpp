// The files that the graph finds for a kernel, against what linkers need: the symbols of the objects of this build, and
// of the builds for Arm that are there.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "cli/package/embedded_sources.h"
#include "cli/package/source_graph.h"

namespace wick::cli {
namespace {

namespace fs = std::filesystem;

struct Row {
  const char* name;
  const char* function;
};
constexpr Row kPortable[] = {
#define KERNEL(name, signature, function) {name, "wick::kernels::" #function},
#include "runtime/exec/prim_list.inc"
#include "runtime/kernels/kernel_list.inc"
#undef KERNEL
};
struct Variants {
  const char *name, *function, *mve, *dsp, *scalar;
};
constexpr Variants kVariants[] = {
#define KERNEL(name, signature, function, mve, dsp, scalar) {name, #function, #mve, #dsp, #scalar},
#include "backends/cortex_m/kernels/kernels.inc"
#undef KERNEL
};

std::string variant_function(const Variants& row, const std::string& isa) {
  const std::string folder = isa == "mve"      ? row.mve
                             : isa == "dsp"    ? row.dsp
                             : isa == "scalar" ? row.scalar
                                               : "reference";
  return "wick::cortex_m::" + folder + "::" + row.function;
}

/// Symbols by source file, of all objects of a build.
struct Symbols {
  std::map<std::string, std::set<std::string>> defined, undefined;
  std::map<std::string, std::set<std::string>> by_name;  // who defines it
};

Symbols symbols_of(const std::string& build, const std::string& nm) {
  Symbols symbols;
  std::string command = nm + " -A --no-demangle";
  for (const char* folder : {"common", "runtime", "backends"}) {
    if (!fs::exists(build + "/" + folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(build + "/" + folder)) {
      const std::string path = entry.path().string();
      if (path.ends_with(".cpp.o") || path.ends_with(".cpp.obj")) command += " '" + path + "'";
    }
  }
  FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  char line[8192];
  while (pipe && fgets(line, sizeof line, pipe)) {
    // PATH:[ADDRESS] TYPE NAME
    const std::string text = line;
    const size_t colon = text.find(".o") == std::string::npos ? std::string::npos : text.find(':', text.find(".cpp.o"));
    if (colon == std::string::npos) continue;
    std::string path = text.substr(build.size() + 1, colon - build.size() - 1);
    const size_t begin = path.find("/CMakeFiles/"), end = path.find(".dir/");
    path = path.substr(0, begin) + path.substr(end + 4, path.rfind(".cpp") - end);
    std::istringstream rest(text.substr(colon + 1));
    std::string word, type, name;
    rest >> word;
    if (word.size() > 1)
      rest >> type;
    else
      type = word;
    rest >> name;
    if (type == "U") symbols.undefined[path].insert(name);
    if (std::string("TDRBVWu").find(type) != std::string::npos && type != "w" && type != "v") {
      symbols.defined[path].insert(name);
      symbols.by_name[name].insert(path);
    }
  }
  if (pipe) pclose(pipe);
  return symbols;
}

// Loops that only builds for this processor have.
bool is_of_this_processor(const std::string& path) { return path.find("/hot_avx") != std::string::npos; }

/// Fails for each symbol that a file of the set needs and only a file outside defines.
void expect_complete(const Symbols& symbols, const std::vector<std::string>& files, const std::string& what) {
  const std::set<std::string> set(files.begin(), files.end());
  for (const std::string& path : files) {
    const auto needs = symbols.undefined.find(path);
    if (needs == symbols.undefined.end()) continue;
    for (const std::string& name : needs->second) {
      const auto definers = symbols.by_name.find(name);
      if (definers == symbols.by_name.end()) continue;  // of the C library
      if (is_of_this_processor(*definers->second.begin())) continue;
      bool found = false;
      for (const std::string& definer : definers->second) found |= set.count(definer) != 0;
      EXPECT_TRUE(found) << what << ": " << path << " needs " << name << " of " << *definers->second.begin();
    }
  }
}

const SourceGraph& graph() {
  static const SourceGraph instance(embedded_sources());
  return instance;
}

const std::vector<std::string> kCore = {"wick::Program::load", "wick::Method::load", "wick::Method::execute"};

void check_build(const std::string& build, const std::string& nm, const std::string& isa) {
  const Symbols symbols = symbols_of(build, nm);
  ASSERT_GT(symbols.defined.size(), 50u) << "no objects in " << build;
  auto check = [&](std::vector<std::string> roots, const char* name) {
    const auto files = graph().files_for(roots);
    ASSERT_TRUE(files.ok()) << name << ": " << compiler::render(files.diag());
    expect_complete(symbols, *files, name);
  };
  check(kCore, "core");
  for (const Row& row : kPortable) check({row.function}, row.name);
  for (const Variants& row : kVariants) check({variant_function(row, isa)}, row.name);
}

TEST(PackageSources, AreCompleteForEachOperatorOfThisBuild) { check_build(WICK_BUILD, "nm", "reference"); }

TEST(PackageSources, AreCompleteForEachOperatorOnArm) {
  size_t checked = 0;
  for (const auto& [preset, isa] :
       {std::pair("cortex-m55", "mve"), std::pair("cortex-m4", "dsp"), std::pair("cortex-m3", "scalar")}) {
    const std::string build = std::string(WICK_BUILD) + "/../" + preset;
    if (!fs::exists(build + "/backends")) continue;
    check_build(build, "arm-none-eabi-nm", isa);
    ++checked;
  }
  if (checked == 0) GTEST_SKIP() << "no build for Arm";
}

}  // namespace
}  // namespace wick::cli
