#include "cli/package/source_graph.h"

#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

namespace wick::cli {

/// A file: its names and the files that it includes.
struct SourceGraph::File {
  SourceNames names;
  std::vector<std::string> includes;
};

/// The names and classes that a file sees through its includes.
struct SourceGraph::Visible {
  std::unordered_set<std::string> names, classes;
};

struct SourceGraph::Maps {
  std::map<std::string, File> files;
  // Sources by definition: qualified name -> path, and name of a member -> class, path.
  std::unordered_map<std::string, std::string> definitions;
  std::unordered_map<std::string, std::vector<std::pair<std::string, std::string>>> members;
};

namespace {

bool is_source(std::string_view path) { return path.ends_with(".cpp"); }

// "a::b" -> "a"; "a" -> "".
std::string outer(const std::string& scope) {
  const size_t at = scope.rfind("::");
  return at == std::string::npos ? "" : scope.substr(0, at);
}

std::string join(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : scope + "::" + name;
}

}  // namespace

SourceGraph::SourceGraph(const SourceTree& tree) : tree_(tree), maps_(std::make_unique<Maps>()) {
  for (const auto& [path, text] : tree_) {
    SourceText read = read_source(tree_, path);
    File file = {names_of(read.words), std::move(read.includes)};
    if (is_source(path)) {
      for (const SourceName& each : file.names.defined) {
        maps_->definitions.emplace(each.qualified(), path);
        if (each.of_class) maps_->members[each.name].emplace_back(each.scope, path);
      }
    }
    maps_->files.emplace(path, std::move(file));
  }
}

SourceGraph::~SourceGraph() = default;

const SourceGraph::File& SourceGraph::file(const std::string& path) const { return maps_->files.find(path)->second; }

compiler::Result<std::vector<std::string>> SourceGraph::files_for(const std::vector<std::string>& roots) const {
  std::set<std::string> needed;
  for (const std::string& root : roots) {
    const auto found = maps_->definitions.find(root);
    if (found == maps_->definitions.end() && tree_.count(root) == 0)
      return compiler::Diag(compiler::Code::internal, fmt::format("no source defines {}", root));
    needed.insert(found == maps_->definitions.end() ? root : found->second);
  }
  std::set<std::string> done;
  while (done.size() < needed.size()) {
    std::vector<std::string> waiting;
    for (const std::string& path : needed) {
      if (done.insert(path).second) waiting.push_back(path);
    }
    for (const std::string& path : waiting) {
      const File& user = file(path);
      needed.insert(user.includes.begin(), user.includes.end());
      if (is_source(path)) add_uses(user, &needed);
    }
  }
  return std::vector<std::string>(needed.begin(), needed.end());
}

void SourceGraph::add_uses(const File& user, std::set<std::string>* needed) const {
  std::set<std::string> headers;
  std::vector<const File*> reached = {&user};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const std::string& path : reached[i]->includes) {
      if (headers.insert(path).second) reached.push_back(&file(path));
    }
  }
  Visible visible;
  for (const File* each : reached) {
    for (const SourceName& name : each->names.declared) visible.names.insert(name.qualified());
    visible.classes.insert(each->names.classes.begin(), each->names.classes.end());
  }
  // The uses that count: all in the file itself, and in its headers only those in functions that are named.
  std::vector<const SourceUse*> counted;
  std::unordered_set<std::string_view> named;
  std::unordered_map<std::string_view, std::vector<const SourceUse*>> waiting;
  for (const File* each : reached) {
    for (const SourceUse& use : each->names.uses) {
      if (each == &user || use.within.empty())
        counted.push_back(&use);
      else
        waiting[use.within].push_back(&use);
    }
  }
  for (size_t i = 0; i < counted.size(); ++i) {
    if (!named.insert(counted[i]->name).second) continue;
    const auto found = waiting.find(counted[i]->name);
    if (found != waiting.end()) counted.insert(counted.end(), found->second.begin(), found->second.end());
  }
  for (const SourceUse* use : counted) resolve(*use, visible, needed);
}

void SourceGraph::resolve(const SourceUse& use, const Visible& visible, std::set<std::string>* needed) const {
  const std::string name = join(use.qualifier, use.name);
  for (std::string scope = use.scope;; scope = outer(scope)) {
    const std::string candidate = join(scope, name);
    if (visible.names.count(candidate) != 0) {
      const auto found = maps_->definitions.find(candidate);
      if (found != maps_->definitions.end()) needed->insert(found->second);
      break;
    }
    if (scope.empty()) break;
  }
  const auto members = maps_->members.find(use.name);
  if (members == maps_->members.end()) return;
  for (const auto& [type, path] : members->second) {
    if (visible.classes.count(type) != 0) needed->insert(path);
  }
}

}  // namespace wick::cli
