// Checked access to JSON documents of a .pt2 file. Internal to the importer.
#pragma once
#include <simdjson.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler::pt2 {

/// A value of a document and its place there, for messages. A child must not outlive its parent.
class Json {
 public:
  Json(simdjson::dom::element element, std::string_view document) : element_(element), key_(document) {}
  Json(simdjson::dom::element element, const Json& parent, std::string_view key)
      : element_(element), parent_(&parent), key_(key) {}
  Json(simdjson::dom::element element, const Json& parent, size_t index)
      : element_(element), parent_(&parent), index_(index) {}

  simdjson::dom::element element() const { return element_; }
  bool is_null() const { return element_.is_null(); }
  /// "models/model.json: graph.nodes[3].name".
  std::string path() const;
  /// A diagnostic about this value; the message starts with its path.
  Diag error(Code code, const std::string& message) const;
  Diag corrupt(const std::string& message) const;
  Diag wrong_type(const char* wanted) const;

 private:
  simdjson::dom::element element_;
  const Json* parent_ = nullptr;
  std::string_view key_;
  size_t index_ = 0;
};

/// A parsed document: strict UTF-8, nesting at most 100, no object with two equal keys.
class JsonDocument {
 public:
  /// `name` is for messages and must outlive the document. Memory: at most 15 times the text while parsing, 10 after.
  /// Errors: corrupt_file; limit above 1 GiB.
  static Result<JsonDocument> parse(Span<const uint8_t> text, std::string_view name);
  Json root() const { return Json(document_.root(), name_); }

 private:
  explicit JsonDocument(std::string_view name) : name_(name) {}
  simdjson::dom::document document_;
  std::string_view name_;
};

// read(value, out) fills `out` or says why not. More overloads stand beside the structures they read.
Status read(const Json& at, bool& out);
Status read(const Json& at, int64_t& out);
/// A number, or "Infinity", "-Infinity", "NaN".
Status read(const Json& at, double& out);
Status read(const Json& at, std::string& out);

/// The only key of a union and its value.
struct Alternative {
  std::string_view key;
  simdjson::dom::element value;
};
Result<Alternative> read_union(const Json& at);
/// The error for a union key or enum number that no schema known to this build has.
Diag unknown_alternative(const Json& at, std::string_view what);

/// Reads a list with `read_item(Json, T&)` for each item.
template <typename T, typename ReadItem>
Status read_list(const Json& at, std::vector<T>& out, ReadItem read_item) {
  simdjson::dom::array array;
  if (at.element().get(array) != simdjson::SUCCESS) return at.wrong_type("a list");
  size_t count = 0;
  for (auto it = array.begin(); it != array.end(); ++it) ++count;  // array.size() saturates
  out.clear();
  out.reserve(count);
  for (simdjson::dom::element item : array) {
    out.emplace_back();
    RETURN_IF_ERROR(read_item(Json(item, at, out.size() - 1), out.back()));
  }
  return {};
}

template <typename T>
Status read(const Json& at, std::vector<T>& out) {
  return read_list(at, out, [](const Json& item, T& value) { return read(item, value); });
}

template <typename T>
Status read(const Json& at, std::map<std::string, T, std::less<>>& out) {
  simdjson::dom::object object;
  if (at.element().get(object) != simdjson::SUCCESS) return at.wrong_type("an object");
  for (const simdjson::dom::key_value_pair field : object) {
    RETURN_IF_ERROR(read(Json(field.value, at, field.key), out[std::string(field.key)]));
  }
  return {};
}

template <typename T>
Status read(const Json& at, std::optional<T>& out) {
  out.reset();
  return at.is_null() ? Status() : read(at, out.emplace());
}

/// Reads the fields of an object one by one and keeps the first failure; fields nobody asks for are ignored.
class Fields {
 public:
  explicit Fields(const Json& at);

  /// Must be there.
  template <typename T>
  Fields& required(std::string_view key, T& out) {
    return field(key, out, true);
  }
  /// May be absent or null: `out` keeps its value.
  template <typename T>
  Fields& optional(std::string_view key, T& out) {
    return field(key, out, false);
  }
  Status done() { return std::move(status_); }

 private:
  template <typename T>
  Fields& field(std::string_view key, T& out, bool is_required) {
    if (!status_.ok()) return *this;
    simdjson::dom::element value;
    if (object_.at_key(key).get(value) != simdjson::SUCCESS) {
      if (is_required) status_ = missing(key);
    } else if (is_required || !value.is_null()) {
      status_ = read(Json(value, *at_, key), out);
    }
    return *this;
  }
  Status missing(std::string_view key) const;

  const Json* at_;
  simdjson::dom::object object_;
  Status status_;
};

}  // namespace wick::compiler::pt2
