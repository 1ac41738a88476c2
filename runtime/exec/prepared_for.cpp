#include "runtime/exec/prepared_for.h"

#include <string.h>

namespace wick {
namespace {

struct Text {
  const char* data;
  size_t size;

  bool operator==(const Text& other) const { return size == other.size && memcmp(data, other.data, size) == 0; }
  /// Without what follows the key; all of it if there is no value.
  Text key() const {
    const void* equals = size == 0 ? nullptr : memchr(data, '=', size);
    return {data, equals ? static_cast<size_t>(static_cast<const char*>(equals) - data) : size};
  }
};

/// Takes the next word off `rest`; false at the end.
bool next_word(Text* rest, Text* word) {
  while (rest->size > 0 && *rest->data == ' ') *rest = {rest->data + 1, rest->size - 1};
  const void* space = rest->size == 0 ? nullptr : memchr(rest->data, ' ', rest->size);
  const size_t size = space ? static_cast<size_t>(static_cast<const char*>(space) - rest->data) : rest->size;
  *word = {rest->data, size};
  *rest = {rest->data + size, rest->size - size};
  return size > 0;
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

/// The facts of all tables whose key is that of `fact`: is one of them equal, and how many are there?
size_t count_alike(Span<const KernelTable> tables, const Text& fact, bool* equal, ErrorText* text) {
  size_t count = 0;
  for (const KernelTable& table : tables) {
    Text rest{table.built_for, strlen(table.built_for)}, word{};
    while (next_word(&rest, &word)) {
      if (!(word.key() == fact.key())) continue;
      *equal = *equal || word == fact;
      if (text) {
        text->append(count == 0 ? "" : ", ");
        append_word(*text, word);
      }
      ++count;
    }
  }
  return count;
}

}  // namespace

Error check_prepared_for(const Program& program, Span<const KernelTable> tables, ErrorText* text) {
  const Result<Span<const uint8_t>> facts = program.find_named_data(kPreparedForKey);
  if (!facts.ok()) return Error::Ok;
  Text rest{reinterpret_cast<const char*>(facts->data()), facts->size()}, fact{};
  while (next_word(&rest, &fact)) {
    bool equal = false;
    if (count_alike(tables, fact, &equal, nullptr) == 0 || equal) continue;
    if (text) {
      text->append("the program was prepared for ");
      append_word(*text, fact);
      text->append(", but the kernels are built for ");
      count_alike(tables, fact, &equal, text);
    }
    return Error::NotSupported;
  }
  return Error::Ok;
}

}  // namespace wick
