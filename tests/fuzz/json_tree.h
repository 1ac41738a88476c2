// A JSON document that can be changed.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick::fuzz {

struct JsonTree {
  enum class Kind : uint8_t { null, boolean, integer, real, string, list, object };
  Kind kind = Kind::null;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string string;
  std::vector<std::string> keys;  // objects: parallel to items
  std::vector<JsonTree> items;

  const JsonTree* find(std::string_view key) const;
  JsonTree* find(std::string_view key);
  std::string text() const;
};

/// Nothing if the text is no JSON.
std::optional<JsonTree> parse_json(std::string_view text);

}  // namespace wick::fuzz
