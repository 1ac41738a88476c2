#include "compiler/ops/tensor/view_writes.h"

#include <algorithm>

namespace wick::compiler::writes {
namespace {

Value* scatter(Builder& b, std::string_view op, const Args& view, Value* before, Value* after) {
  Args args = {before, after};
  args.insert(args.end(), view.begin() + 1, view.end());
  return b.call(op, std::move(args));
}

// Whether no two elements of a view of these sizes and strides share a place in memory. Also false if dynamic sizes
// leave that open. Sufficient: in the order of strides, each dimension steps beyond the span of all smaller ones. If
// that does not hold, the offsets of small views are compared one by one.
bool reaches_each_once(const Ints& sizes, const Ints& strides) {
  struct Dim {
    Sym size, stride;
  };
  if (std::any_of(sizes.begin(), sizes.end(), [](const Sym& size) { return size.is(0); })) return true;
  std::vector<Dim> dims;  // the last dimension first
  bool sizes_known = true, strides_known = true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i].is(1)) continue;
    if (strides[i].is(0)) return false;
    dims.push_back({sizes[i], strides[i]});
    sizes_known = sizes_known && sizes[i].is_const();
    strides_known = strides_known && strides[i].is_const();
  }
  if (strides_known) {
    std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.stride.value() < b.stride.value(); });
  }
  if (!sizes_known || !strides_known) {
    Sym span = 1;
    for (const Dim& dim : dims) {
      const bool beyond = dim.stride.is_const() && span.is_const() && dim.stride.value() >= span.value();
      if (!beyond && !(dim.stride == span)) return false;
      span = dim.size * dim.stride;
    }
    return true;
  }
  constexpr int64_t kTried = 1 << 10;  // limits the work: each node of a file may have such a view
  int64_t last = 0;                    // the offset of the last element, which infer_as_strided has checked
  int64_t count = 1;                   // number of elements, counted up to kTried
  bool steps_over = true;
  for (const Dim& dim : dims) {
    steps_over = steps_over && dim.stride.value() > last;
    last += (dim.size.value() - 1) * dim.stride.value();
    count = count > kTried || dim.size.value() > kTried ? kTried + 1 : count * dim.size.value();
  }
  if (steps_over || count > kTried) return steps_over;
  std::vector<int64_t> offsets = {0};
  for (const Dim& dim : dims) {
    const size_t before = offsets.size();
    for (int64_t k = 1; k < dim.size.value(); ++k) {
      for (size_t i = 0; i < before; ++i) offsets.push_back(offsets[i] + k * dim.stride.value());
    }
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
}

}  // namespace

Value* as_strided(Builder& b, const Args& view, Value* before, Value* after) {
  if (!reaches_each_once(view[1].as<Ints>(), view[2].as<Ints>())) return nullptr;
  return scatter(b, "aten.as_strided_scatter", view, before, after);
}
Value* diagonal(Builder& b, const Args& view, Value* before, Value* after) {
  return scatter(b, "aten.diagonal_scatter", view, before, after);
}
Value* select(Builder& b, const Args& view, Value* before, Value* after) {
  return scatter(b, "aten.select_scatter", view, before, after);
}
Value* slice(Builder& b, const Args& view, Value* before, Value* after) {
  return scatter(b, "aten.slice_scatter", view, before, after);
}

Value* permute(Builder& b, const Args& view, Value*, Value* after) {
  const Ints& dims = view[1].as<Ints>();
  std::vector<int64_t> inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inverse[static_cast<size_t>(dims[i].value())] = static_cast<int64_t>(i);
  return b.permute(after, inverse);
}

// Only for windows that do not overlap: each element of `before` lies in at most one window.
Value* unfold(Builder& b, const Args& view, Value* before, Value* after) {
  const size_t rank = before->rank();
  if (rank == 0) return b.reshape(after, {});
  const Sym &size = view[2].as<Sym>(), &step = view[3].as<Sym>();
  const auto dim = static_cast<size_t>(wrap_dim(view[1].as<Sym>().value(), rank));
  if (step.value() < size.value() && !after->sizes()[dim].is(1)) return nullptr;
  // Strides of the windows over `before` in row-major order.
  Ints strides(rank, 1);
  for (size_t i = rank - 1; i-- > 0;) strides[i] = strides[i + 1] * before->sizes()[i + 1];
  const Sym within = strides[dim];
  strides[dim] = within * step;
  strides.push_back(within);
  return b.call("aten.as_strided_scatter", {before, after, Ints(after->sizes()), strides, 0});
}

Value* view(Builder& b, const Args&, Value* before, Value* after) { return b.reshape(after, before->sizes()); }

Value* expand(Builder& b, const Args&, Value* before, Value* after) {
  return numel(before->sizes()) == numel(after->sizes()) ? b.reshape(after, before->sizes()) : nullptr;
}

Value* conjugate(Builder& b, const Args&, Value*, Value* after) { return b.call("aten._conj_physical", {after}); }

Value* dtype(Builder& b, const Args&, Value* before, Value* after) {
  return b.call("aten.view.dtype", {after, before->dtype()});
}

Value* view_as_complex(Builder& b, const Args&, Value*, Value* after) { return b.call("aten.view_as_real", {after}); }

Value* view_as_real(Builder& b, const Args&, Value*, Value* after) { return b.call("aten.view_as_complex", {after}); }

}  // namespace wick::compiler::writes
