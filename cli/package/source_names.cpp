#include "cli/package/source_names.h"

#include <algorithm>
#include <set>

namespace wick::cli {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// A declaration up to its body, its initialiser or its end.
struct Head {
  enum Kind : uint8_t { nothing, namespaces, linkage, type, function, variable };
  Kind kind = nothing;
  std::string name;       // of a namespace "a::b" ("": none), a class, a function or a variable
  std::string qualifier;  // of a function or variable: "Class::"
  bool has_linkage = true;
  size_t parameters = 0;  // index of the parenthesis after a function's name
};

class Scanner {
 public:
  explicit Scanner(const std::vector<Word>& words) : words_(words) {}
  SourceNames run();

 private:
  struct Scope {
    enum Kind : uint8_t { names, type, code } kind;
    std::string name;
    bool is_private;  // an unnamed namespace, or below one
  };
  Head head(size_t begin, size_t end) const;
  size_t skip_pair(size_t at, size_t end, std::string_view open, std::string_view close) const;
  Head named_before(size_t at, size_t begin, Head out) const;
  void open(size_t begin, size_t at);
  void end_declaration(size_t begin, size_t at);
  void record(const Head& head, bool defines);
  void use(size_t begin, size_t end);
  std::string scope() const;
  bool in_code() const { return !scopes_.empty() && scopes_.back().kind == Scope::code; }
  bool is_private() const { return !scopes_.empty() && scopes_.back().is_private; }

  const std::vector<Word>& words_;
  std::vector<Scope> scopes_;
  std::string within_;
  std::set<SourceUse> uses_;
  SourceNames out_;
};

std::string Scanner::scope() const {
  std::string out;
  for (const Scope& each : scopes_) {
    if (each.name.empty()) continue;
    out += (out.empty() ? "" : "::") + each.name;
  }
  return out;
}

// The index after the bracket that closes the one at `at`.
size_t Scanner::skip_pair(size_t at, size_t end, std::string_view open, std::string_view close) const {
  int depth = 0;
  for (; at < end; ++at) {
    depth += words_[at].text == open ? 1 : words_[at].text == close ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return end;
}

// The name that ends before `at`, with its qualifier. Template arguments may follow the name.
Head Scanner::named_before(size_t at, size_t begin, Head out) const {
  int depth = 0;
  for (size_t i = at; i > begin && (depth > 0 || words_[i - 1].text == ">"); --i) {
    depth += words_[i - 1].text == ">" ? 1 : words_[i - 1].text == "<" ? -1 : 0;
    if (depth == 0) at = i - 1;
  }
  if (at == begin || words_[at - 1].kind != Word::identifier) {
    out.kind = Head::nothing;
    return out;
  }
  size_t i = at - 1;
  out.name = words_[i].text;
  if (i > begin && words_[i - 1].text == "~") out.name = words_[--i].text + out.name;
  while (i >= begin + 2 && words_[i - 1].text == "::" && words_[i - 2].kind == Word::identifier) {
    i -= 2;
    out.qualifier = words_[i].text + (out.qualifier.empty() ? "" : "::" + out.qualifier);
  }
  return out;
}

Head Scanner::head(size_t begin, size_t end) const {
  Head out;
  size_t i = begin;
  bool is_template = false;
  while (i + 1 < end && words_[i].text == "template" && words_[i + 1].text == "<") {
    const size_t behind = skip_pair(i + 1, end, "<", ">");
    is_template = behind > i + 3;  // false for a specialisation
    i = behind;
  }
  out.has_linkage = !is_template && !is_private();
  size_t equals = end;
  for (size_t k = i; k < end && equals == end; ++k) {
    const std::string& text = words_[k].text;
    if (text == "(") k = skip_pair(k, end, "(", ")") - 1;
    if (text == "=") equals = k;
  }
  bool is_type = false;
  for (; i < end; ++i) {
    const std::string& text = words_[i].text;
    if (is_one_of(text, {"static", "inline", "constexpr", "friend", "using", "typedef"})) out.has_linkage = false;
    if (is_one_of(text, {"using", "typedef", "static_assert", "asm"})) return {};
    if (text == "namespace") {
      out.kind = Head::namespaces;
      for (++i; i < end; ++i) out.name += words_[i].text;
      return out;
    }
    if (is_one_of(text, {"class", "struct", "union", "enum"}) && out.name.empty()) is_type = true;
    if (is_one_of(text, {"__attribute__", "alignas", "decltype", "noexcept"}) && i + 1 < end &&
        words_[i + 1].text == "(") {
      i = skip_pair(i + 1, end, "(", ")") - 1;
      continue;
    }
    if (is_type && words_[i].kind == Word::identifier &&
        !is_one_of(text, {"class", "struct", "union", "enum", "final"}))
      out.name = text;
    if (is_type && (text == ":" || i + 1 == end)) {
      out.kind = Head::type;
      return out;
    }
    if (text == "operator") return {};
    if (text == "(" && i < equals) {
      out.kind = Head::function;
      out.parameters = i;
      out.name.clear();
      return named_before(i, begin, out);
    }
  }
  if (end - begin == 2 && words_[begin].text == "extern") {
    out.kind = Head::linkage;
    return out;
  }
  // A variable. A const one has linkage only if it was declared before; resolve() finds that out.
  size_t stop = equals;
  while (stop > begin && words_[stop - 1].text == "]") {
    while (stop > begin && words_[stop - 1].text != "[") --stop;
    if (stop > begin) --stop;
  }
  out.kind = Head::variable;
  return stop - begin < 2 ? Head() : named_before(stop, begin, out);
}

void Scanner::use(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (words_[i].kind != Word::identifier) continue;
    SourceUse use = {scope(), "", words_[i].text, within_};
    for (size_t k = i; k >= begin + 2 && words_[k - 1].text == "::" && words_[k - 2].kind == Word::identifier; k -= 2)
      use.qualifier = words_[k - 2].text + (use.qualifier.empty() ? "" : "::" + use.qualifier);
    uses_.insert(std::move(use));
  }
}

void Scanner::record(const Head& head, bool defines) {
  const bool of_class = (!scopes_.empty() && scopes_.back().kind == Scope::type) || !head.qualifier.empty();
  SourceName name = {scope(), head.name, of_class};
  if (!head.qualifier.empty()) name.scope += (name.scope.empty() ? "" : "::") + head.qualifier;
  if (!is_private()) out_.declared.push_back(name);
  const bool in_class = !scopes_.empty() && scopes_.back().kind == Scope::type;
  if (defines && head.has_linkage && !in_class) out_.defined.push_back(name);
}

// Handles a brace that opens at `at`, after a declaration that begins at `begin`.
void Scanner::open(size_t begin, size_t at) {
  const bool hidden = is_private();
  if (in_code()) return scopes_.push_back({Scope::code, "", hidden});
  const Head found = head(begin, at);
  switch (found.kind) {
    case Head::namespaces: scopes_.push_back({Scope::names, found.name, hidden || found.name.empty()}); return;
    case Head::linkage: scopes_.push_back({Scope::names, "", hidden}); return;
    case Head::type:
      if (!hidden) out_.classes.push_back(scope().empty() ? found.name : scope() + "::" + found.name);
      scopes_.push_back({Scope::type, found.name, hidden});
      return;
    case Head::function:
    case Head::variable: record(found, true); break;
    case Head::nothing: break;
  }
  const std::string type = !found.qualifier.empty() ? found.qualifier : scopes_.empty() ? "" : scopes_.back().name;
  const bool named = found.kind == Head::function && found.name[0] != '~' && !type.ends_with(found.name);
  within_ = named ? found.name : "";
  use(begin, at);
  // Code of a member sees the names that its class sees.
  scopes_.push_back({Scope::code, found.qualifier, hidden});
}

void Scanner::end_declaration(size_t begin, size_t at) {
  const Head found = head(begin, at);
  bool initialised = false, external = false;
  const bool instantiates = at > begin + 1 && words_[begin].text == "template" && words_[begin + 1].text != "<";
  for (size_t i = begin; i < at; ++i) {
    initialised |= words_[i].text == "=";
    external |= words_[i].text == "extern";
  }
  if (found.kind == Head::function || found.kind == Head::variable)
    record(found, instantiates || (found.kind == Head::variable && (initialised || !external)));
  if (initialised) use(begin, at);
}

SourceNames Scanner::run() {
  size_t begin = 0;
  for (size_t i = 0; i < words_.size(); ++i) {
    const std::string& text = words_[i].text;
    if (words_[i].kind != Word::symbol) {
      if (!in_code()) continue;
      use(i, i + 1);
      // The use with its qualifier.
      if (i >= 2 && words_[i - 1].text == "::") use(i >= 4 && words_[i - 3].text == "::" ? i - 4 : i - 2, i + 1);
    } else if (text == "{") {
      open(begin, i);
      begin = i + 1;
    } else if (text == "}") {
      if (!scopes_.empty()) scopes_.pop_back();
      if (!in_code()) within_.clear();
      begin = i + 1;
    } else if (text == ";" && !in_code()) {
      end_declaration(begin, i);
      begin = i + 1;
    } else if (text == "(" && !in_code()) {
      i = skip_pair(i, words_.size(), "(", ")") - 1;
    } else if (text == ":" && i > 0 && is_one_of(words_[i - 1].text, {"public", "private", "protected"})) {
      begin = i + 1;
    }
  }
  out_.uses.assign(uses_.begin(), uses_.end());
  return std::move(out_);
}

}  // namespace

SourceNames names_of(const std::vector<Word>& words) { return Scanner(words).run(); }

}  // namespace wick::cli
