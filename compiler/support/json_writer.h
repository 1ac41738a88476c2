// Writes JSON text: keys in the order given, so equal input gives equal bytes.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace wick::compiler {

/// Usage: JsonWriter w; w.object(); w.field("name", "x"); w.key("list"); w.array(); w.value(1); w.end(); w.end();
/// w.text(). Strings may hold any bytes: control characters are escaped, invalid UTF-8 becomes U+FFFD.
class JsonWriter {
 public:
  void object() { open('{'); }
  void array() { open('['); }
  void end();
  void key(std::string_view name);
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool flag);
  void value(double number);  // inf and NaN become null
  void value(int64_t number);
  void value(uint64_t number);
  void value(int number) { value(static_cast<int64_t>(number)); }
  void null();
  /// Writes null if `item` is empty.
  template <typename T>
  void value(const std::optional<T>& item) {
    if (item)
      value(*item);
    else
      null();
  }
  template <typename T>
  void field(std::string_view name, const T& item) {
    key(name);
    value(item);
  }
  const std::string& text() const { return text_; }

 private:
  void open(char bracket);
  void separate();
  std::string text_;
  std::string stack_;  // closing brackets
  bool first_ = true;  // nothing written yet at this level
  bool after_key_ = false;
};

}  // namespace wick::compiler
