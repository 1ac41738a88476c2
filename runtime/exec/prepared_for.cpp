#include "runtime/exec/prepared_for.h"

#include <string.h>

namespace wick {
namespace {

struct Text {
  const char* data;
  size_t size;

  bool operator==(const Text& other) const { return size == other.size && memcmp(data, other.data, size) == 0; }
  /// The text before the first `end`, or all of it.
  Text before(char end) const {
    size_t at = 0;
    while (at < size && data[at] != end) ++at;
    return {data, at};
  }
};

/// Takes the next word off `rest`; false at the end.
bool next_word(Text* rest, Text* word) {
  while (rest->size > 0 && *rest->data == ' ') *rest = {rest->data + 1, rest->size - 1};
  *word = rest->before(' ');
  *rest = {rest->data + word->size, rest->size - word->size};
  return word->size > 0;
}

/// A word of a file, which may hold any bytes.
void append_word(ErrorText& text, const Text& word) {
  constexpr size_t kMaxShown = 48;
  for (size_t i = 0; i < word.size && i < kMaxShown; ++i) {
    const char c = word.data[i] > ' ' && word.data[i] < 127 ? word.data[i] : '?';
    const char one[] = {c, '\0'};
    text.append(one);
  }
}

/// The facts of a table that has one with the key of `fact`, or null. `equal` becomes true if one of them is `fact`.
const char* find_key(Span<const KernelTable> tables, const Text& fact, bool* equal) {
  const char* found = nullptr;
  for (const KernelTable& table : tables) {
    Text rest{table.built_for, strlen(table.built_for)}, word{};
    while (next_word(&rest, &word)) {
      if (!(word.before('=') == fact.before('='))) continue;
      found = table.built_for;
      *equal = *equal || word == fact;
    }
  }
  return found;
}

}  // namespace

Error check_prepared_for(const Program& program, Span<const KernelTable> tables, ErrorText* text) {
  const Result<Span<const uint8_t>> facts = program.find_named_data(kPreparedForKey);
  if (!facts.ok()) return Error::Ok;
  Text rest{reinterpret_cast<const char*>(facts->data()), facts->size()}, fact{};
  while (next_word(&rest, &fact)) {
    bool equal = false;
    const char* built_for = find_key(tables, fact, &equal);
    if (!built_for || equal) continue;
    if (text) {
      text->append("the program was prepared for ");
      append_word(*text, fact);
      text->append(", but the kernels are built for ", built_for);
    }
    return Error::NotSupported;
  }
  return Error::Ok;
}

}  // namespace wick
