#include "cli/text/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/text/text.h"

namespace wick::cli {
namespace {

size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

Table::Table(std::vector<std::string> columns) {
  for (std::string& title : columns) {
    const bool right = title.starts_with('>');
    right_.push_back(right);
    titles_.push_back(right ? title.substr(1) : std::move(title));
  }
}

void Table::row(std::vector<std::string> cells) {
  cells.resize(titles_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths;
  for (const std::string& title : titles_) widths.push_back(width_of(title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = " ";
    for (size_t i = 0; i < cells.size(); ++i) {
      text += ' ';
      text += right_[i] ? pad_left(cells[i], widths[i]) : pad_right(cells[i], widths[i]);
      if (i + 1 < cells.size()) text += ' ';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + "\n";
  };
  line(titles_);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string heading(std::string_view title) {
  return colour_allowed(stdout) ? fmt::format("\x1b[1m{}\x1b[0m\n", title) : fmt::format("{}\n", title);
}

}  // namespace wick::cli
