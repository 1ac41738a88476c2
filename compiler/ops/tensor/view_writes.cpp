#include "compiler/ops/tensor/view_writes.h"

namespace wick::compiler::writes {
namespace {

Value* scatter(Builder& b, std::string_view op, const Args& view, Value* before, Value* after) {
  Args args = {before, after};
  args.insert(args.end(), view.begin() + 1, view.end());
  return b.call(op, std::move(args));
}

}  // namespace

Value* as_strided(Builder& b, const Args& view, Value* before, Value* after) {
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

// Windows that do not overlap: each element of `before` lies in one of them at most.
Value* unfold(Builder& b, const Args& view, Value* before, Value* after) {
  const size_t rank = before->rank();
  if (rank == 0) return b.reshape(after, {});
  const Sym &size = view[2].as<Sym>(), &step = view[3].as<Sym>();
  const auto dim = static_cast<size_t>(wrap_dim(view[1].as<Sym>().value(), rank));
  if (step.value() < size.value() && !after->sizes()[dim].is(1)) return nullptr;
  // The windows by their strides over rows of `before`.
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
