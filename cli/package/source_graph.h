// Finds the source files that a firmware needs for some functions.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/package/source_names.h"
#include "compiler/support/result.h"

namespace wick::cli {

/// The sources of a tree as a graph: a file needs the files that it includes, and those that define what it names.
class SourceGraph {
 public:
  /// `tree` must outlive the graph.
  explicit SourceGraph(const SourceTree& tree);
  ~SourceGraph();
  SourceGraph(const SourceGraph&) = delete;

  /// All files (sources and headers) that a program needs to call the functions and the variables `roots` (qualified
  /// names) and to include the headers `roots` (paths). Sorted. Errors: internal (no file defines a root).
  compiler::Result<std::vector<std::string>> files_for(const std::vector<std::string>& roots) const;

 private:
  struct File;
  struct Visible;
  const File& file(const std::string& path) const;
  void add_uses(const File& user, std::set<std::string>* needed) const;
  void resolve(const SourceUse& use, const Visible& visible, std::set<std::string>* needed) const;

  const SourceTree& tree_;
  struct Maps;
  std::unique_ptr<Maps> maps_;
};

}  // namespace wick::cli
