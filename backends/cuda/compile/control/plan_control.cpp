#include "backends/cuda/compile/control/plan_control.h"

#include <algorithm>

namespace wick::cuda {

using Kind = ControlMark::Kind;

namespace {

bool begins(Kind kind) { return kind == Kind::choose || kind == Kind::loop || kind == Kind::repeat; }

// The number of the mark that ends the condition or loop that mark `index` begins.
size_t end_of(const std::vector<ControlMark>& marks, size_t index) {
  size_t depth = 0;
  for (size_t i = index;; ++i) {
    if (begins(marks[i].kind)) ++depth;
    if (marks[i].kind == Kind::end && --depth == 0) return i;
  }
}

// Extends a life for kernels from `begin` up to `end`, which run repeatedly. Returns whether it changed.
bool extend(Life& life, size_t begin, size_t end) {
  if (life.first >= begin || life.last < begin || life.last + 1 >= end) return false;
  life.last = end - 1;
  return true;
}

}  // namespace

size_t open_part(const std::vector<ControlMark>& marks) {
  size_t closed = 0;
  for (size_t i = marks.size(); i-- > 0;) {
    if (closed == 0 && marks[i].kind != Kind::end) return i;
    if (marks[i].kind == Kind::end) ++closed;
    if (begins(marks[i].kind)) --closed;
  }
  return SIZE_MAX;
}

void Life::add(size_t kernel) {
  first = std::min(first, kernel);
  last = std::max(last, kernel);
}

void extend_lives(const std::vector<ControlMark>& marks, std::vector<Life>& lives) {
  for (size_t m = 0; m < marks.size(); ++m) {
    if (marks[m].kind == Kind::choose || marks[m].kind == Kind::body) lives[marks[m].condition].add(marks[m].at);
    for (const uint32_t buffer : marks[m].kept) {
      lives[buffer].add(marks[m].at);
      lives[buffer].add(marks[end_of(marks, m)].at);
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t m = 0; m < marks.size(); ++m) {
      if (marks[m].kind != Kind::loop && marks[m].kind != Kind::repeat) continue;
      const size_t begin = marks[m].at, end = marks[end_of(marks, m)].at;
      for (Life& life : lives) changed = extend(life, begin, end) || changed;
    }
  }
}

std::vector<uint32_t> parts_of(const std::vector<PlanNode>& nodes) {
  struct Part {
    size_t end;
    uint32_t number;
  };
  std::vector<Part> open = {{nodes.size(), 0}};
  std::vector<uint32_t> parts;
  uint32_t count = 1;
  for (size_t i = 0; i < nodes.size(); ++i) {
    while (open.back().end == i) open.pop_back();
    parts.push_back(open.back().number);
    if (!is_control(nodes[i].kind)) continue;
    open.push_back({nodes[i].second_end, count++});
    open.push_back({nodes[i].first_end, count++});
  }
  return parts;
}

}  // namespace wick::cuda
