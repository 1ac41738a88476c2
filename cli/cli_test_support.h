// Drives the built tool as a user would: arguments in, exit code and text out.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cli/arrays/array_compare.h"
#include "cli/arrays/npz.h"
#include "tests/support/run_command.h"
#include "tests/support/scratch_folder.h"

namespace wick::cli {

namespace fs = std::filesystem;

class Cli : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.file(name); }
  static std::string fixture(const std::string& name) { return "tests/fixtures/" + name; }

  // `before` stands in front of the command: "WICK_CPU=avx ", say.
  Outcome wick(const std::string& arguments, const std::string& before = "") const {
    return run_command(quote_folder(before + "'" WICK_BINARY "' " + arguments), folder_.path());
  }

  // The scratch folder may have blanks in its name.
  std::string quote_folder(std::string command) const {
    const std::string folder = folder_.path();
    for (size_t at = 0; (at = command.find(folder, at)) != std::string::npos; at += folder.size() + 2)
      command.replace(at, folder.size(), "'" + folder + "'");
    return command;
  }

  void save(const std::string& name, const std::vector<NamedArray>& arrays) const {
    ASSERT_TRUE(write_arrays(path(name), arrays).ok());
  }

  void save_bytes(const std::string& name, const std::vector<uint8_t>& bytes) const {
    std::ofstream stream(path(name), std::ios::binary);
    stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(stream.good());
  }

  void compile(const std::string& model, const std::string& name) const {
    const Outcome outcome = wick("compile " + fixture(model) + " --backend portable -o " + path(name));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }

  void expect_same(const std::string& found_path, const std::string& wanted_path) const {
    auto found = read_arrays(found_path), wanted = read_arrays(wanted_path);
    ASSERT_TRUE(found.ok() && wanted.ok());
    ASSERT_EQ(found->size(), wanted->size()) << wanted_path;
    for (const NamedArray& array : *wanted) {
      const NamedArray* match = nullptr;
      for (const NamedArray& each : *found) {
        if (each.name == array.name) match = &each;
      }
      ASSERT_NE(match, nullptr) << wanted_path << " has " << array.name;
      const Difference difference = compare_arrays(*match, array, {});
      EXPECT_TRUE(difference.ok()) << wanted_path << " " << array.name << ": " << to_text(difference);
    }
  }

  testing::ScratchFolder folder_;
};

inline NamedArray floats(const std::string& name, std::vector<int64_t> sizes) {
  NamedArray array{name, DType::f32, std::move(sizes), {}};
  size_t count = 1;
  for (int64_t size : array.sizes) count *= static_cast<size_t>(size);
  array.bytes.resize(count * 4);
  return array;
}

}  // namespace wick::cli
