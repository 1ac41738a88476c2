#include "backends/xnnpack/compile/passes/match/unrolled.h"

#include <algorithm>
#include <limits>

namespace wick::xnnpack {

using compiler::Sizes;
using compiler::Sym;

size_t num_unrolled(const Factors& dim) {
  return static_cast<size_t>(
      std::count_if(dim.begin(), dim.end(), [](const Factor& factor) { return factor.unrolled; }));
}

bool is_plain(const Factors& dim) { return dim.size() == 1 && !dim[0].unrolled; }

bool is_one(const Factors& dim) {
  return std::all_of(dim.begin(), dim.end(), [](const Factor& factor) { return factor.size.is(1); });
}

Unrolled plain(const Sizes& sizes) {
  Unrolled out;
  for (const Sym& size : sizes) out.dims.push_back({{size}});
  return out;
}

Sizes Unrolled::sizes() const {
  Sizes out;
  for (const Factors& dim : dims) {
    Sym size = 1;
    for (const Factor& factor : dim) size = size * factor.size;
    out.push_back(size);
  }
  return out;
}

Sizes Unrolled::part_sizes() const {
  Sizes out;
  for (const Factors& dim : dims) {
    for (const Factor& factor : dim) {
      if (!factor.unrolled) out.push_back(factor.size);
    }
  }
  return out;
}

std::vector<int64_t> Unrolled::counts() const {
  std::vector<int64_t> out;
  for (const Factors& dim : dims) {
    for (const Factor& factor : dim) {
      if (factor.unrolled) out.push_back(factor.size.value());
    }
  }
  return out;
}

size_t Unrolled::num_parts() const {
  size_t out = 1;
  for (const int64_t count : counts()) {
    if (__builtin_mul_overflow(out, static_cast<size_t>(count), &out)) return std::numeric_limits<size_t>::max();
  }
  return out;
}

size_t Unrolled::num_unrolled_before(size_t dim) const {
  size_t out = 0;
  for (size_t i = 0; i < dim; ++i) out += num_unrolled(dims[i]);
  return out;
}

size_t Unrolled::num_kept_before(size_t dim) const {
  size_t out = 0;
  for (size_t i = 0; i < dim; ++i) out += dims[i].size() - num_unrolled(dims[i]);
  return out;
}

namespace {

// Reads the factors of a tensor from the outermost on, to assign them to other dimensions.
class Dealer {
 public:
  explicit Dealer(const Unrolled& shape) {
    for (const Factors& dim : shape.dims) factors_.insert(factors_.end(), dim.begin(), dim.end());
  }

  // Factors whose product is `size`. A new dimension of size 1 is one that is unrolled; other dimensions have no
  // unrolled factors of size 1.
  std::optional<Factors> deal(const Sym& size) {
    if (size.is(1)) {
      if (next_ < factors_.size() && factors_[next_].size.is(1)) return Factors{take_next()};
      return Factors{unrolled(1, false)};
    }
    Factors out;
    Sym product = 1;
    while (product != size) {
      if (next_ == factors_.size()) return std::nullopt;
      const auto part = part_of(factors_[next_].size, product, size);
      if (part && !factors_[next_].unrolled && !may_split()) return std::nullopt;
      const Factor factor = part ? take_of_next(*part) : take_next();
      if (!factor.unrolled || !factor.size.is(1)) out.push_back(factor);
      product = product * factor.size;
    }
    return out;
  }

  // Unrolled factors of size 1 need no dimension.
  bool is_done() {
    while (next_ < factors_.size() && factors_[next_].unrolled && factors_[next_].size.is(1)) ++next_;
    return next_ == factors_.size();
  }

  // The dimension of the parts that was split, and what is left of its size.
  std::optional<size_t> split() const { return split_; }
  int64_t rest() const { return rest_; }

  // Where the parts come from: slices and parts are both counted in row-major order.
  std::vector<PartFrom> parts() const {
    std::vector<PartFrom> out{{}};
    for (const auto& [count, is_slices] : unrolled_) {
      std::vector<PartFrom> longer;
      for (const PartFrom& outer : out) {
        for (int64_t i = 0; i < count; ++i) {
          const auto n = static_cast<size_t>(count);
          longer.push_back(is_slices ? PartFrom{outer.part, outer.slice * count + i}
                                     : PartFrom{outer.part * n + static_cast<size_t>(i), outer.slice});
        }
      }
      out = std::move(longer);
    }
    return out;
  }

 private:
  Factor unrolled(int64_t count, bool is_slices) {
    unrolled_.push_back({count, is_slices});
    return {count, true};
  }

  Factor take_next() {
    Factor factor = factors_[next_++];
    if (factor.unrolled) return unrolled(factor.size.value(), false);
    if (split_ == kept_) rest_ = factor.size.value();
    ++kept_;
    return factor;
  }

  Factor take_of_next(int64_t count) {
    Factor& factor = factors_[next_];
    factor.size = factor.size.value() / count;
    return unrolled(count, !factor.unrolled);
  }

  // One dimension of the parts can be sliced.
  bool may_split() {
    if (!split_) split_ = kept_;
    return split_ == kept_;
  }

  // The part of a factor that is needed if not all of it is.
  static std::optional<int64_t> part_of(const Sym& factor, const Sym& product, const Sym& size) {
    if (!factor.is_const() || product.is(0)) return std::nullopt;
    const Sym wanted = floor_div(size, product);
    if (!wanted.is_const() || wanted * product != size || wanted.value() < 2) return std::nullopt;
    const bool divides = wanted.value() < factor.value() && factor.value() % wanted.value() == 0;
    return divides ? std::optional(wanted.value()) : std::nullopt;
  }

  struct Count {
    int64_t count;
    bool is_slices;
  };

  std::vector<Factor> factors_;
  size_t next_ = 0, kept_ = 0;  // the factor that is next, and how many before it are kept
  std::optional<size_t> split_;
  int64_t rest_ = 0;
  std::vector<Count> unrolled_;
};

// Adjacent unrolled factors as one.
Factors merged_factors(const Factors& dim) {
  Factors out;
  for (const Factor& factor : dim) {
    if (factor.unrolled && !out.empty() && out.back().unrolled)
      out.back().size = out.back().size * factor.size;
    else
      out.push_back(factor);
  }
  return out;
}

}  // namespace

std::optional<View> viewed(const Unrolled& from, const Sizes& to, size_t max_parts) {
  Dealer dealer(from);
  View out;
  for (const Sym& size : to) {
    const auto dim = dealer.deal(size);
    if (!dim) return std::nullopt;
    out.shape.dims.push_back(merged_factors(*dim));
    if (out.shape.num_parts() > max_parts) return std::nullopt;
  }
  if (!dealer.is_done()) return std::nullopt;
  out.dim = dealer.split();
  out.size = dealer.rest();
  out.parts = dealer.parts();
  return out;
}

std::optional<size_t> side_by_side(const Unrolled& shape) {
  std::optional<size_t> found;
  for (size_t dim = 0; dim < shape.dims.size(); ++dim) {
    const Factors& factors = shape.dims[dim];
    if (Unrolled{{factors}}.num_parts() == 1) continue;
    if (found || factors.size() != 2 || factors[1].unrolled) return std::nullopt;
    found = dim;
  }
  return found;
}

bool is_plain(const Unrolled& shape) {
  return std::all_of(shape.dims.begin(), shape.dims.end(), [](const Factors& dim) { return is_plain(dim); });
}

bool lacks_only_ones(const Unrolled& shape) {
  return shape.num_parts() == 1 && std::all_of(shape.dims.begin(), shape.dims.end(),
                                               [](const Factors& dim) { return dim.size() - num_unrolled(dim) <= 1; });
}

Unrolled with_known_merged(Unrolled shape) {
  for (Factors& dim : shape.dims) {
    for (size_t i = dim.size(); i-- > 1;) {
      if (!dim[i].size.is_const() || !dim[i - 1].size.is_const()) continue;
      dim[i - 1].size = dim[i - 1].size * dim[i].size;
      dim.erase(dim.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return shape;
}

int64_t num_unknown_merged(const Unrolled& shape) {
  ptrdiff_t most = 0;
  for (const Factors& dim : shape.dims) {
    most = std::max(
        most, std::count_if(dim.begin(), dim.end(), [](const Factor& factor) { return !factor.size.is_const(); }));
  }
  return most;
}

std::vector<size_t> parts_behind(const std::vector<int64_t>& counts, const std::vector<int64_t>& other,
                                 const std::vector<IndexFrom>& from) {
  size_t num_parts = 1;
  for (const int64_t count : counts) num_parts *= static_cast<size_t>(count);
  std::vector<size_t> out;
  std::vector<int64_t> index(counts.size());
  for (size_t part = 0; part < num_parts; ++part) {
    auto rest = static_cast<int64_t>(part);
    for (size_t i = counts.size(); i-- > 0; rest /= counts[i]) index[i] = rest % counts[i];
    int64_t at = 0;
    for (size_t i = 0; i < other.size(); ++i) {
      const int64_t known = from[i].factor < 0 ? 0 : index[static_cast<size_t>(from[i].factor)];
      at = at * other[i] + known + from[i].offset;
    }
    out.push_back(static_cast<size_t>(at));
  }
  return out;
}

std::optional<Unrolled> broadcast_of(const std::vector<Unrolled>& operands, size_t rank, size_t count) {
  const auto weight = [](const Factors& dim) { return (is_one(dim) ? 0 : 2) + (is_plain(dim) ? 0 : 1); };
  Unrolled out;
  out.dims.resize(count, {{1}});
  for (const Unrolled& operand : operands) {
    const size_t missing = rank - operand.dims.size();
    for (size_t dim = missing; dim < count; ++dim) {
      const Factors& here = operand.dims[dim - missing];
      if (weight(here) > weight(out.dims[dim])) out.dims[dim] = here;
    }
  }
  for (const Unrolled& operand : operands) {
    const size_t missing = rank - operand.dims.size();
    for (size_t dim = missing; dim < count; ++dim) {
      const Factors &here = operand.dims[dim - missing], &wanted = out.dims[dim];
      const bool can_be_cut = is_plain(here) && Unrolled{{wanted}}.sizes()[0] == here[0].size;
      if (here != wanted && !is_one(here) && !can_be_cut) return std::nullopt;
    }
  }
  return out;
}

Broadcast broadcast_to(const Unrolled& operand, const Unrolled& result) {
  const size_t missing = result.dims.size() - operand.dims.size();
  Broadcast out;
  std::vector<IndexFrom> indices;
  for (size_t dim = 0; dim < operand.dims.size(); ++dim) {
    const Factors &here = operand.dims[dim], &wanted = result.dims[dim + missing];
    const bool same = here == wanted, one = !same && is_one(here);
    if (one) {
      indices.resize(indices.size() + num_unrolled(here));
      out.unindexed.resize(out.unindexed.size() + here.size() - num_unrolled(here), 1);
    }
    auto number = static_cast<int>(result.num_unrolled_before(dim + missing));
    for (const Factor& factor : wanted) {
      if (!factor.unrolled) out.sizes.push_back(one ? Sym(1) : factor.size);
      if (factor.unrolled && same) indices.push_back({number});
      if (factor.unrolled && !same && !one)
        out.indexed.push_back({out.unindexed.size(), parts_behind(result.counts(), {factor.size.value()}, {{number}})});
      if (!one && !(factor.unrolled && same)) out.unindexed.push_back(factor.size);
      if (factor.unrolled) ++number;
    }
  }
  out.parts = parts_behind(result.counts(), operand.counts(), indices);
  return out;
}

}  // namespace wick::xnnpack
