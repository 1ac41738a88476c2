#include "compiler/layout/dim_order.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

namespace wick::compiler::layout {

namespace {

// The dimensions of a size other than 1, as they lie in memory.
DimOrder essential(const Sizes& dims, const DimOrder& order) {
  DimOrder out;
  for (const uint8_t dim : order) {
    if (!dims[dim].is(1)) out.push_back(dim);
  }
  return out;
}

std::vector<uint8_t> essential_dims(const Sizes& dims) { return essential(dims, plain_order(dims.size())); }

// Dimensions of a size other than 1 that a view keeps together: [from_begin, from_end) becomes [to_begin, to_end).
struct Group {
  size_t from_begin, from_end, to_begin, to_end;
};

std::optional<std::vector<Group>> group_dims(const Sizes& from, const std::vector<uint8_t>& a, const Sizes& to,
                                             const std::vector<uint8_t>& b) {
  std::vector<Group> groups;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i == a.size() || j == b.size()) return {};
    Group group{i, i + 1, j, j + 1};
    Sym left = from[a[i++]], right = to[b[j++]];
    while (!(left == right)) {
      if (bound(left) < bound(right) || (bound(left) == bound(right) && j == b.size())) {
        if (i == a.size()) return {};
        left = left * from[a[i++]];
      } else {
        if (j == b.size()) return {};
        right = right * to[b[j++]];
      }
    }
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// Inserts the dimensions of size 1 that `order` leaves out, each after its predecessor.
DimOrder complete(DimOrder order, size_t rank) {
  for (size_t dim = 0; dim < rank; ++dim) {
    if (std::find(order.begin(), order.end(), dim) != order.end()) continue;
    auto at = order.begin();
    if (dim > 0) at = std::find(order.begin(), order.end(), dim - 1) + 1;
    order.insert(at, static_cast<uint8_t>(dim));
  }
  return order;
}

}  // namespace

DimOrder plain_order(size_t rank) {
  DimOrder order(rank);
  std::iota(order.begin(), order.end(), uint8_t{0});
  return order;
}

DimOrder channels_last_order(size_t rank) { return made_last(plain_order(rank), 1); }

DimOrder made_last(const DimOrder& order, size_t dim) {
  DimOrder out;
  for (const uint8_t d : order) {
    if (d != dim) out.push_back(d);
  }
  out.push_back(static_cast<uint8_t>(dim));
  return out;
}

DimOrder swapped_order(size_t rank) {
  DimOrder order = plain_order(rank);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

bool same_bytes(const Sizes& dims, const DimOrder& a, const DimOrder& b) {
  return essential(dims, a) == essential(dims, b);
}

Sizes physical(const Sizes& dims, const DimOrder& order) {
  Sizes out;
  for (const uint8_t dim : order) out.push_back(dims[dim]);
  return out;
}

DimOrder permuted(const DimOrder& order, const std::vector<int64_t>& perm) {
  std::vector<uint8_t> result_of(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) result_of[static_cast<size_t>(perm[i])] = static_cast<uint8_t>(i);
  DimOrder out;
  for (const uint8_t dim : order) out.push_back(result_of[dim]);
  return out;
}

DimOrder before_permute(const DimOrder& result, const std::vector<int64_t>& perm) {
  DimOrder out;
  for (const uint8_t dim : result) out.push_back(static_cast<uint8_t>(perm[dim]));
  return out;
}

std::optional<DimOrder> through_view(const Sizes& from, const DimOrder& order, const Sizes& to) {
  const std::vector<uint8_t> a = essential_dims(from), b = essential_dims(to);
  const auto groups = group_dims(from, a, to, b);
  if (!groups) return {};
  const DimOrder in_memory = essential(from, order);
  DimOrder out;
  for (size_t at = 0; at < in_memory.size();) {
    const auto begins_here = [&](const Group& group) { return a[group.from_begin] == in_memory[at]; };
    const auto group = std::find_if(groups->begin(), groups->end(), begins_here);
    if (group == groups->end()) return {};
    for (size_t i = group->from_begin; i < group->from_end; ++i, ++at) {
      if (at == in_memory.size() || in_memory[at] != a[i]) return {};
    }
    for (size_t j = group->to_begin; j < group->to_end; ++j) out.push_back(b[j]);
  }
  return complete(std::move(out), to.size());
}

DimOrder with_leading_ones(const DimOrder& order, size_t rank) {
  const size_t added = rank - order.size();
  DimOrder out = plain_order(added);
  for (const uint8_t dim : order) out.push_back(static_cast<uint8_t>(dim + added));
  return out;
}

DimOrder without_leading(const DimOrder& order, size_t low) {
  const size_t dropped = order.size() - low;
  DimOrder out;
  for (const uint8_t dim : order) {
    if (dim >= dropped) out.push_back(static_cast<uint8_t>(dim - dropped));
  }
  return out;
}

DimOrder without_dim(const DimOrder& order, size_t dim) {
  DimOrder out;
  for (const uint8_t d : order) {
    if (d != dim) out.push_back(static_cast<uint8_t>(d - (d > dim ? 1 : 0)));
  }
  return out;
}

DimOrder with_dim(const DimOrder& order, size_t dim) {
  DimOrder out;
  for (const uint8_t d : order) out.push_back(static_cast<uint8_t>(d + (d >= dim ? 1 : 0)));
  return complete(std::move(out), order.size() + 1);
}

std::optional<size_t> adjacent_run(const Sizes& sizes, const DimOrder& order, const std::vector<bool>& dims) {
  std::optional<size_t> begin;
  bool ended = false;
  for (size_t i = 0; i < order.size(); ++i) {
    if (sizes[order[i]].is(1)) continue;
    if (dims[order[i]]) {
      if (ended) return {};
      if (!begin) begin = i;
    } else if (begin) {
      ended = true;
    }
  }
  return begin ? begin : std::optional<size_t>(order.size());
}

bool can_merge(const Sizes& sizes, const std::vector<bool>& dims) {
  size_t others = 0;
  bool among = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_const()) continue;
    if (dims[i])
      among = true;
    else
      ++others;
  }
  return others + (among ? 1 : 0) <= 1;
}

DimOrder apart(const Sizes& sizes, const DimOrder& order, const std::vector<bool>& dims) {
  DimOrder out, run;
  for (const uint8_t dim : order) (dims[dim] ? run : out).push_back(dim);
  const bool is_row = run.size() == 1 && sizes[run[0]].is_const();
  out.insert(out.end() - (is_row || out.empty() ? 0 : 1), run.begin(), run.end());
  return out;
}

Sym product(const Sizes& dims) { return std::accumulate(dims.begin(), dims.end(), Sym(1), std::multiplies<Sym>()); }

int64_t bound(const Sym& size) { return size.is_const() ? size.value() : SymScope::range(size).max; }

int64_t elements(const Sizes& dims) {
  int64_t count = 1;
  for (const Sym& size : dims) {
    if (__builtin_mul_overflow(count, bound(size), &count)) return std::numeric_limits<int64_t>::max();
  }
  return count;
}

size_t num_symbolic(const Sizes& dims) {
  return static_cast<size_t>(std::count_if(dims.begin(), dims.end(), [](const Sym& size) { return !size.is_const(); }));
}

Sizes without_ones(const Sizes& dims) {
  Sizes out;
  for (const Sym& dim : dims) {
    if (!dim.is(1)) out.push_back(dim);
  }
  return out;
}

}  // namespace wick::compiler::layout
