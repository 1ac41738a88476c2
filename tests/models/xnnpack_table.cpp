#include "tests/models/xnnpack_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

namespace wick::testing {
namespace {

constexpr char kPath[] = "docs/xnnpack_models.md";
constexpr char kIntroduction[] =
    "# Models with the XNNPACK backend\n\n"
    "`WICK_UPDATE_TABLE=1 build/dev/bin/models_test` writes this file; without the variable the test compares it. The "
    "models are those of\n"
    "`tests/fixtures/models`. Their outputs agree with eager PyTorch within 1e-4 of the largest value. *Outside* lists "
    "the nodes that no delegate takes, as\n"
    "the partitioner saw them. The arena does not include the delegates' own memory.\n\n";
constexpr char kHead[] =
    "| model | delegates | nodes in them | nodes outside | arena, bytes | file, bytes |\n|---|---|---|---|---|---|\n";
constexpr char kOutsideHead[] = "\n## Outside\n";

// Row and list of one model, as they stand in the file.
struct Entry {
  std::string row;
  std::vector<std::string> outside;
};
using Entries = std::map<std::string, Entry>;

Entry entry_of(const ModelRow& row) {
  Entry entry;
  entry.row = fmt::format("| {} | {} | {} | {} | {} | {} |", row.model, row.delegates, row.payload_nodes,
                          row.outside_nodes, row.arena_bytes, row.file_bytes);
  for (const std::string& line : row.outside) entry.outside.push_back(fmt::format("- {}: {}", row.model, line));
  return entry;
}

// "| name | .." or "- name: ..".
std::string model_of(const std::string& line) {
  const size_t end = line.find_first_of(line[0] == '|' ? " " : ":", 2);
  return end == std::string::npos ? "" : line.substr(2, end - 2);
}

Entries read_entries() {
  Entries entries;
  std::ifstream file(kPath);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| model ", 0) == 0) continue;
    if (line.rfind("| ", 0) == 0) entries[model_of(line)].row = line;
    if (line.rfind("- ", 0) == 0) entries[model_of(line)].outside.push_back(line);
  }
  return entries;
}

void write_entries(const Entries& entries) {
  std::ofstream file(kPath);
  file << kIntroduction << kHead;
  for (const auto& [name, entry] : entries) file << entry.row << "\n";
  file << kOutsideHead;
  for (const auto& [name, entry] : entries) {
    for (const std::string& line : entry.outside) file << line << "\n";
  }
}

std::string text_of(const Entry& entry) {
  std::string text = entry.row + "\n";
  for (const std::string& line : entry.outside) text += line + "\n";
  return text;
}

}  // namespace

void check_row(const ModelRow& row) {
  Entries entries = read_entries();
  const Entry entry = entry_of(row);
  if (std::getenv("WICK_UPDATE_TABLE")) {
    entries[row.model] = entry;
    write_entries(entries);
    return;
  }
  EXPECT_EQ(text_of(entries[row.model]), text_of(entry))
      << kPath << ": WICK_UPDATE_TABLE=1 build/dev/bin/models_test writes it anew";
}

}  // namespace wick::testing
