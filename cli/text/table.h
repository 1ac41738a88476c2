// Aligned columns of text for a terminal.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace wick::cli {

class Table {
 public:
  /// `columns`: titles; one that starts with '>' is aligned to the right.
  explicit Table(std::vector<std::string> columns);
  /// One cell per column.
  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// The lines, each indented by two blanks, titles first; "" if there are no rows.
  std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

/// "Title" in bold where colour is allowed on stdout, and a newline.
std::string heading(std::string_view title);

}  // namespace wick::cli
