// Runs the built tool and the build files that it writes.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/fixtures/expand_fixture.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

namespace wick::cli {

class PackageTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }

  Outcome run(const std::string& command) const { return run_command(command, folder_.path()); }

  Outcome wick(const std::string& arguments) const { return run("'" WICK_BINARY "' " + arguments); }

  /// A program from a model of tests/fixtures; its path.
  std::string compile(const std::string& models, const std::string& name, const std::string& options) const {
    const Outcome outcome = wick("compile " + models + " -o '" + path(name) + "' " + options);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return "'" + path(name) + "'";
  }

  /// The same from tests/fixtures/cortex_m_quantized/NAME.wfix.gz.
  std::string compile_quantized(const std::string& name, const std::string& cpu) const {
    const auto fixture = testing::expand_fixture("tests/fixtures/cortex_m_quantized/" + name + ".wfix.gz");
    EXPECT_TRUE(fixture.ok());
    std::ofstream(path(name + ".pt2"), std::ios::binary)
        .write(reinterpret_cast<const char*>(fixture->pt2.data()), static_cast<std::streamsize>(fixture->pt2.size()));
    return compile("'" + path(name + ".pt2") + "'", name + ".pte", "--backend cortex-m --cpu " + cpu);
  }

  /// The files of a folder: path in it -> contents.
  std::map<std::string, std::string> files_in(const std::string& name) const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path(name))) {
      if (entry.is_regular_file())
        files[std::filesystem::relative(entry.path(), path(name)).string()] = slurp(entry.path().string());
    }
    return files;
  }

 private:
  testing::ScratchFolder folder_;
};

}  // namespace wick::cli
