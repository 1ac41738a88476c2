#include "cli/arrays/input_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <string_view>

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::printable;
using compiler::Result;

constexpr size_t kShownNames = 60;

// N of the name "PREFIXN", without leading zeros.
std::optional<uint32_t> number_behind(std::string_view prefix, std::string_view name) {
  if (name.substr(0, prefix.size()) != prefix) return {};
  const std::string_view digits = name.substr(prefix.size());
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || std::to_string(number) != digits) return {};
  return number;
}

// Whether these ascending numbers are contiguous and begin at 0 or `before`, or are the places of all inputs.
bool leave_no_gap(const std::vector<size_t>& numbers, const WantedInputs& inputs, size_t before) {
  if (numbers == inputs.places) return true;
  if (numbers[0] != 0 && numbers[0] != before) return false;
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] != numbers[0] + i) return false;
  }
  return true;
}

// Sorts arrays called in0, in1, .. or arr_0, arr_1, ..; false for other names.
bool sort_numbered(const WantedInputs& inputs, size_t before, std::vector<NamedArray>& arrays) {
  for (const std::string_view prefix : {"in", "arr_"}) {
    const auto has_number = [&](const NamedArray& array) { return number_behind(prefix, array.name).has_value(); };
    if (arrays.empty() || !std::all_of(arrays.begin(), arrays.end(), has_number)) continue;
    std::sort(arrays.begin(), arrays.end(), [&](const NamedArray& a, const NamedArray& b) {
      return *number_behind(prefix, a.name) < *number_behind(prefix, b.name);
    });
    std::vector<size_t> numbers;
    for (const NamedArray& array : arrays) numbers.push_back(*number_behind(prefix, array.name));
    return leave_no_gap(numbers, inputs, before);
  }
  return arrays.empty();
}

// The edit distance: insertions, deletions and replacements.
size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// The input that `name` probably misspells: at most a third of the name differs, and no array has the input's name.
const std::string* nearest(const std::string& name, const std::vector<std::string>& inputs,
                           const std::vector<NamedArray>& arrays) {
  const std::string* best = nullptr;
  size_t least = std::max<size_t>(1, name.size() / 3) + 1;
  if (name.size() > kShownNames) return nullptr;
  for (const std::string& input : inputs) {
    if (input.size() > kShownNames) continue;
    if (std::any_of(arrays.begin(), arrays.end(), [&](const NamedArray& array) { return array.name == input; }))
      continue;
    const size_t edits = edits_between(name, input);
    if (edits < least) {
      least = edits;
      best = &input;
    }
  }
  return best;
}

template <typename Items, typename Name>
std::string list_of(const Items& items, const Name& name_of) {
  std::string text;
  for (const auto& item : items) text += (text.empty() ? "" : ", ") + printable(name_of(item), kShownNames);
  return text;
}

Diag wrong_names(const std::vector<std::string>& inputs, bool known, const InputFile& file) {
  const auto is_input = [&](const std::string& name) {
    return known && std::find(inputs.begin(), inputs.end(), name) != inputs.end();
  };
  std::string help = known ? "give the arrays the inputs' names, or in0, in1, .. in the inputs' order"
                           : "the program does not store input names: name the arrays in0, in1, .. in order";
  for (const NamedArray& array : file.arrays) {
    if (!known || is_input(array.name)) continue;
    const std::string* meant = nearest(array.name, inputs, file.arrays);
    if (!meant) continue;
    help = fmt::format("did you mean '{}' instead of '{}'?", printable(*meant, kShownNames),
                       printable(array.name, kShownNames));
    break;
  }
  return Diag(Code::usage, "the array names do not match the input names")
      .at_file(file.path)
      .expected(list_of(file.arrays, [](const NamedArray& array) { return array.name; }),
                known ? list_of(inputs, [](const std::string& name) { return name; })
                      : fmt::format("in0, .. for {} inputs", inputs.size()))
      .with_help(std::move(help));
}

}  // namespace

Result<bool> order_by_names(const WantedInputs& inputs, size_t before, InputFile& file) {
  const std::vector<std::string>& names = inputs.names;
  const auto matches = std::count_if(file.arrays.begin(), file.arrays.end(), [&](const NamedArray& array) {
    return inputs.known && !array.name.empty() && std::find(names.begin(), names.end(), array.name) != names.end();
  });
  if (static_cast<size_t>(matches) == file.arrays.size()) return !file.arrays.empty();
  const bool lone = file.arrays.size() == 1 && file.arrays[0].name.empty();
  if (matches == 0 && (lone || names.size() == 1 || sort_numbered(inputs, before, file.arrays))) return false;
  return wrong_names(names, inputs.known, file);
}

}  // namespace wick::cli
