#include "cli/package/source_text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace wick::cli {
namespace {

constexpr const char* kIncludeFolders[] = {"", "include/", "third_party/"};

bool is_word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Replaces comments by blanks and literals by a quote, so that only code is left. Lines stay lines.
std::string without_comments(std::string_view text) {
  std::string out;
  size_t i = 0;
  const auto skip_to = [&](std::string_view end) {
    const size_t at = text.find(end, i);
    const size_t stop = at == std::string_view::npos ? text.size() : at + end.size();
    for (; i < stop; ++i) {
      if (text[i] == '\n') out += '\n';
    }
  };
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      while (i < text.size() && text[i] != '\n') ++i;
    } else if (rest.starts_with("/*")) {
      i += 2;
      skip_to("*/");
    } else if (rest.starts_with("R\"(")) {
      i += 3;
      out += '"';
      skip_to(")\"");
    } else if (rest.starts_with("\\\n")) {  // a continued line
      out += ' ';
      i += 2;
    } else if (text[i] == '\'' && i > 0 && std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0) {
      ++i;  // between digits
    } else if (text[i] == '"' || text[i] == '\'') {
      const char quote = text[i];
      const size_t begin = i;
      for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) i += text[i] == '\\' ? 1 : 0;
      ++i;
      // The name in an include directive is kept.
      const size_t line = out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1;
      out += out.substr(line).find("#include") != std::string::npos ? text.substr(begin, i - begin) : "\"";
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::vector<Word> words_of(std::string_view line) {
  std::vector<Word> words;
  for (size_t i = 0; i < line.size();) {
    if (std::isspace(static_cast<unsigned char>(line[i])) != 0) {
      ++i;
    } else if (is_word_char(line[i])) {
      const size_t begin = i;
      const bool number = std::isdigit(static_cast<unsigned char>(line[i])) != 0;
      while (i < line.size() && (is_word_char(line[i]) || (number && line[i] == '.'))) ++i;
      words.push_back(
          {number ? Word::literal : Word::identifier, number ? "" : std::string(line.substr(begin, i - begin))});
    } else if (line[i] == '"') {
      words.push_back({Word::literal, ""});
      ++i;
    } else {
      const std::string_view two = line.substr(i, 2);
      const size_t size = two == "::" || two == "->" || two == "##" ? 2 : 1;
      words.push_back({Word::symbol, std::string(line.substr(i, size))});
      i += size;
    }
  }
  return words;
}

struct Macro {
  bool is_function = false, takes_more = false;
  std::vector<std::string> parameters;
  std::vector<Word> body;
};

class Reader {
 public:
  Reader(const SourceTree& tree, SourceText* out) : tree_(tree), out_(out) {}
  void read(const std::string& path);
  void finish() { expand(); }

 private:
  struct Condition {
    bool known, active;
  };
  bool active() const {
    return std::all_of(conditions_.begin(), conditions_.end(), [](const Condition& each) { return each.active; });
  }
  void directive(const std::string& path, std::string_view line);
  void condition(const std::string& kind, const std::vector<Word>& rest);
  void define(std::string_view line);
  void include(const std::string& path, std::string_view line);
  // Replaces macros in the words that were read since the last directive.
  void expand();
  size_t replace(std::vector<Word>& words, size_t at, const Macro& macro, int depth);
  std::vector<Word> expanded(std::vector<Word> words, int depth);

  const SourceTree& tree_;
  SourceText* out_;
  std::vector<Word> waiting_;
  std::vector<Condition> conditions_;
  std::map<std::string, Macro> macros_;
};

void Reader::read(const std::string& path) {
  const std::string text = without_comments(tree_.find(path)->second);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos && line[first] == '#') {
      directive(path, line.substr(first + 1));
    } else if (active()) {
      const std::vector<Word> words = words_of(line);
      waiting_.insert(waiting_.end(), words.begin(), words.end());
    }
  }
}

void Reader::directive(const std::string& path, std::string_view line) {
  std::vector<Word> words = words_of(line);
  if (words.empty()) return;
  const std::string kind = words[0].text;
  words.erase(words.begin());
  if (kind == "if" || kind == "ifdef" || kind == "ifndef" || kind == "elif" || kind == "else" || kind == "endif")
    return condition(kind, words);
  if (!active()) return;
  if (kind == "include") return include(path, line);
  if (kind != "define" && kind != "undef") return;
  expand();
  if (kind == "define") define(line);
  if (kind == "undef" && !words.empty()) macros_.erase(words[0].text);
}

void Reader::condition(const std::string& kind, const std::vector<Word>& rest) {
  if (kind == "endif") {
    if (!conditions_.empty()) conditions_.pop_back();
  } else if (kind == "else" || kind == "elif") {
    if (!conditions_.empty() && conditions_.back().known) conditions_.back().active = !conditions_.back().active;
  } else {
    const bool known = kind != "if" && !rest.empty() && rest[0].text.starts_with("WICK_");
    const bool defined = known && macros_.count(rest[0].text) != 0;
    conditions_.push_back({known, !known || defined == (kind == "ifdef")});
  }
}

void Reader::define(std::string_view line) {
  const size_t name_begin = line.find("define") + 6;
  const size_t begin = line.find_first_not_of(" \t", name_begin);
  if (begin == std::string_view::npos) return;
  size_t end = begin;
  while (end < line.size() && is_word_char(line[end])) ++end;
  Macro macro;
  macro.is_function = end < line.size() && line[end] == '(';
  std::string_view body = line.substr(end);
  if (macro.is_function) {
    const size_t close = body.find(')');
    if (close == std::string_view::npos) return;
    for (const Word& word : words_of(body.substr(1, close - 1))) {
      if (word.kind == Word::identifier) macro.parameters.push_back(word.text);
      macro.takes_more |= word.text == ".";
    }
    if (macro.takes_more) macro.parameters.emplace_back("__VA_ARGS__");
    body = body.substr(close + 1);
  }
  macro.body = words_of(body);
  macros_[std::string(line.substr(begin, end - begin))] = std::move(macro);
}

void Reader::include(const std::string& path, std::string_view line) {
  const size_t open = line.find_first_of("\"<");
  const size_t close = open == std::string_view::npos ? open : line.find_first_of("\">", open + 1);
  if (close == std::string_view::npos) return;
  const std::string found = find_include(tree_, path, line.substr(open + 1, close - open - 1));
  if (found.empty()) return;
  out_->includes.push_back(found);
  if (found.ends_with(".inc") || found.ends_with(".inl")) read(found);
}

size_t Reader::replace(std::vector<Word>& words, size_t at, const Macro& macro, int depth) {
  size_t end = at + 1;
  std::vector<std::vector<Word>> arguments;
  if (macro.is_function) {
    if (end >= words.size() || words[end].text != "(") return at + 1;
    arguments.emplace_back();
    int open = 1;
    for (++end; end < words.size() && open > 0; ++end) {
      const std::string& text = words[end].text;
      open += text == "(" ? 1 : text == ")" ? -1 : 0;
      if (open == 0) continue;
      const bool splits = open == 1 && text == "," && (!macro.takes_more || arguments.size() < macro.parameters.size());
      if (splits)
        arguments.emplace_back();
      else
        arguments.back().push_back(words[end]);
    }
  }
  std::vector<Word> body;
  for (const Word& word : macro.body) {
    const auto parameter = std::find(macro.parameters.begin(), macro.parameters.end(), word.text);
    const size_t index = static_cast<size_t>(parameter - macro.parameters.begin());
    if (word.kind != Word::identifier || parameter == macro.parameters.end())
      body.push_back(word);
    else if (index < arguments.size())
      body.insert(body.end(), arguments[index].begin(), arguments[index].end());
  }
  for (size_t i = 1; i + 1 < body.size(); ++i) {
    if (body[i].text != "##") continue;
    body[i - 1].text += body[i + 1].text;
    body.erase(body.begin() + static_cast<std::ptrdiff_t>(i), body.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    --i;
  }
  body = expanded(std::move(body), depth + 1);
  const auto begin = words.begin() + static_cast<std::ptrdiff_t>(at);
  words.erase(begin, words.begin() + static_cast<std::ptrdiff_t>(end));
  words.insert(words.begin() + static_cast<std::ptrdiff_t>(at), body.begin(), body.end());
  return at + body.size();
}

std::vector<Word> Reader::expanded(std::vector<Word> words, int depth) {
  constexpr int kMaxDepth = 16;  // limit for macros that name themselves
  for (size_t i = 0; i < words.size() && depth < kMaxDepth;) {
    const auto macro = words[i].kind == Word::identifier ? macros_.find(words[i].text) : macros_.end();
    i = macro == macros_.end() ? i + 1 : replace(words, i, macro->second, depth);
  }
  return words;
}

void Reader::expand() {
  for (Word& word : expanded(std::move(waiting_), 0)) out_->words.push_back(std::move(word));
  waiting_.clear();
}

}  // namespace

std::string find_include(const SourceTree& tree, std::string_view from, std::string_view name) {
  const size_t slash = from.rfind('/');
  const std::string beside = slash == std::string_view::npos ? "" : std::string(from.substr(0, slash + 1));
  std::string path = beside + std::string(name);
  if (tree.count(path) != 0) return path;
  for (const char* folder : kIncludeFolders) {
    path = folder + std::string(name);
    if (tree.count(path) != 0) return path;
  }
  return "";
}

SourceText read_source(const SourceTree& tree, const std::string& path) {
  SourceText out;
  Reader reader(tree, &out);
  reader.read(path);
  reader.finish();
  return out;
}

}  // namespace wick::cli
