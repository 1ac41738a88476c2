// Calls stored beside a program: NAME.in.npz, NAME.step1.in.npz, .. and the outputs that belong to them.
#pragma once
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/arrays/npz.h"

namespace wick::interop {

struct FixtureCall {
  std::string label;
  std::vector<cli::NamedArray> inputs, outputs;
};

inline std::vector<std::string> program_names(const std::filesystem::path& folder, const std::string& extension) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension) names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<cli::NamedArray> read_fixture(const std::filesystem::path& path) {
  auto read = cli::read_arrays(path.string());
  EXPECT_TRUE(read.ok()) << path;
  return read.ok() ? std::move(*read) : std::vector<cli::NamedArray>{};
}

/// The calls of `stem` ("add", "methods.encode") in order; none if there are no files.
inline std::vector<FixtureCall> fixture_calls(const std::filesystem::path& folder, const std::string& stem) {
  std::vector<std::string> labels;
  if (std::filesystem::exists(folder / (stem + ".in.npz"))) labels.push_back(stem);
  for (int i = 1; std::filesystem::exists(folder / fmt::format("{}.step{}.in.npz", stem, i)); ++i)
    labels.push_back(fmt::format("{}.step{}", stem, i));
  std::vector<FixtureCall> calls;
  for (const std::string& label : labels)
    calls.push_back({label, read_fixture(folder / (label + ".in.npz")), read_fixture(folder / (label + ".out.npz"))});
  return calls;
}

inline const cli::NamedArray* find_array(const std::vector<cli::NamedArray>& arrays, const std::string& name) {
  const auto it = std::find_if(arrays.begin(), arrays.end(), [&](const cli::NamedArray& a) { return a.name == name; });
  return it == arrays.end() ? nullptr : &*it;
}

}  // namespace wick::interop
