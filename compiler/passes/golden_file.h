// Reads golden files of passes, for tests:
//   # pass: NAME          once, at the top
//   # case: TITLE         then the graph
//   # expect              then the graph after the pass; or "# expect: unchanged", or "# expect-error: "TEXT""
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/passes/pass.h"

namespace wick::compiler {

enum class Expect { graph, unchanged, error };

struct Case {
  std::string title, input, expected, error;
  Expect expect = Expect::graph;
};

struct Golden {
  std::string pass;
  std::vector<Case> cases;
};

inline std::string trim(std::string text) {
  const size_t first = text.find_first_not_of(" \n\t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \n\t") - first + 1);
}

inline std::optional<std::string> after(const std::string& line, std::string_view prefix) {
  if (!line.starts_with(prefix)) return std::nullopt;
  return trim(line.substr(prefix.size()));
}

inline Golden read_golden(const std::string& path) {
  Golden golden;
  std::ifstream file(path);
  std::string* body = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (auto name = after(line, "# pass:")) {
      golden.pass = *name;
    } else if (auto title = after(line, "# case:")) {
      golden.cases.push_back({*title, "", "", "", Expect::graph});
      body = &golden.cases.back().input;
    } else if (auto text = after(line, "# expect-error:")) {
      golden.cases.back().expect = Expect::error;
      golden.cases.back().error = text->substr(1, text->size() - 2);
      body = nullptr;
    } else if (auto word = after(line, "# expect")) {
      golden.cases.back().expect = *word == ": unchanged" ? Expect::unchanged : Expect::graph;
      body = &golden.cases.back().expected;
    } else if (body) {
      *body += line + "\n";
    }
  }
  for (Case& c : golden.cases) {
    c.input = trim(c.input);
    c.expected = trim(c.expected);
  }
  return golden;
}

/// The passes that goldens_test.cpp tests. Each executable with that file defines the function.
struct TestedPasses {
  std::string folder;                           // of their golden files
  Span<const Pass> rows, own;                   // each with a file; those of a backend
  std::vector<std::string_view> target_passes;  // of phase target, in the order in which a backend runs them
};
TestedPasses tested_passes();

inline std::string golden_path(const std::string& folder, std::string_view pass) {
  return folder + "/" + std::string(pass) + ".ir";
}

inline std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(tested_passes().folder, error)) {
    if (entry.path().extension() == ".ir") files.push_back(entry.path().stem().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace wick::compiler
