// Groups of things that a pass rewrites all together or not at all: disjoint sets, each with a mark for failure.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace wick::xnnpack {

class Groups {
 public:
  /// A thing in a group of its own. Returns its number.
  size_t add() {
    parents_.push_back(parents_.size());
    failed_.push_back(false);
    return parents_.size() - 1;
  }

  void join(size_t a, size_t b) {
    a = root(a), b = root(b);
    parents_[std::max(a, b)] = std::min(a, b);
    failed_[std::min(a, b)] = failed_[a] || failed_[b];
  }

  /// The number of things.
  size_t size() const { return parents_.size(); }
  /// The same number for all things of a group.
  size_t group_of(size_t thing) { return root(thing); }

  void fail(size_t thing) { failed_[root(thing)] = true; }
  bool has_failed(size_t thing) { return failed_[root(thing)]; }

 private:
  // Halves the path: R. E. Tarjan, J. van Leeuwen, "Worst-case analysis of set union algorithms", 1984.
  size_t root(size_t thing) {
    while (parents_[thing] != thing) thing = parents_[thing] = parents_[parents_[thing]];
    return thing;
  }

  std::vector<size_t> parents_;
  std::vector<bool> failed_;  // of roots
};

}  // namespace wick::xnnpack
