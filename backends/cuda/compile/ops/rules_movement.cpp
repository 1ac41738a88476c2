// Data-movement operators: index arithmetic, without kernels of their own.
#include <algorithm>

#include "backends/cuda/compile/ops/op_rule.h"
#include "compiler/ir/builder.h"
#include "compiler/ops/rules.h"

namespace wick::cuda {
namespace {

// The same elements in the same order, with other sizes.
void lower_view(Lowering& l, const Node& node) {
  const Value *x = node.operands()[0], *y = node.result();
  const auto between = [&l](const Value* from, const Value* to) {
    return [&l, from, to](const Indices& at) { return l.split(l.join(at, from->sizes()), to->sizes()); };
  };
  l.define_view(y, x, between(y, x), between(x, y));
}

void lower_permute(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  std::vector<size_t> from;  // the operand's dimension for each dimension of the result
  for (const int64_t dim : node.static_ints("dims"))
    from.push_back(static_cast<size_t>(compiler::wrap_dim(dim, x->rank())));
  l.define_view(
      node.result(), x,
      [from](const Indices& at) {
        Indices out(at.size());
        for (size_t i = 0; i < at.size(); ++i) out[from[i]] = at[i];
        return out;
      },
      [from](const Indices& at) {
        Indices out(at.size());
        for (size_t i = 0; i < at.size(); ++i) out[i] = at[from[i]];
        return out;
      });
}

void lower_expand(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *y = node.result();
  l.define_view(y, x, [&l, x, y](const Indices& at) { return l.broadcast(*x, at, y->sizes()); });
}

void lower_slice(Lowering& l, const Node& node) {
  const compiler::SliceBounds bounds = compiler::slice_bounds(node);
  const auto dim = static_cast<size_t>(bounds.dim);
  const Sym start = bounds.start, step = bounds.step;
  l.define_view(node.result(), node.tensor("self"), [&l, dim, start, step](Indices at) {
    at[dim] = l.pool().add(l.pool().index(start), l.pool().multiply(at[dim], l.pool().index(step)));
    return at;
  });
}

void lower_select(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const size_t dim = dim_argument(node, "dim", x->rank());
  const Sym index = compiler::from_start(node.integer("index"), x->sizes()[dim]);
  l.define_view(node.result(), x, [&l, dim, index](Indices at) {
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim), l.pool().index(index));
    return at;
  });
}

void lower_flip(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  std::vector<size_t> dims;
  for (const int64_t dim : node.static_ints("dims"))
    dims.push_back(static_cast<size_t>(compiler::wrap_dim(dim, x->rank())));
  const auto flipped = [&l, x, dims](Indices at) {
    for (const size_t dim : dims) at[dim] = l.pool().subtract(l.pool().index(x->sizes()[dim] - 1), at[dim]);
    return at;
  };
  l.define_view(node.result(), x, flipped, flipped);
}

// The element of the concatenation of tensors along a dimension, as `dtype`.
Element joined_elements(Lowering& l, const std::vector<const Value*>& parts, size_t dim, DType dtype) {
  return [&l, parts, dim, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    const ScalarType type = scalar_type(dtype);
    Sym start = 0;
    std::vector<std::pair<ExpressionPtr, ExpressionPtr>> choices;  // condition, element
    for (size_t i = 0; i < parts.size(); ++i) {
      const Sym end = start + parts[i]->sizes()[dim];
      Indices own = at;
      own[dim] = pool.subtract(at[dim], pool.index(start));
      const ExpressionPtr behind = pool.negation(pool.less(at[dim], pool.index(start)));
      const ExpressionPtr before = pool.less(at[dim], pool.index(end));
      const ExpressionPtr inside = pool.both(i > 0 ? behind : pool.number(1, ScalarType::boolean),
                                             i + 1 < parts.size() ? before : pool.number(1, ScalarType::boolean));
      start = end;
      if (is_false(inside)) continue;
      pool.push_guard(inside);
      const ExpressionPtr element = pool.cast(l.element(parts[i], own), type);
      pool.pop_guard();
      choices.emplace_back(before, element);
    }
    ExpressionPtr out = choices.back().second;
    for (size_t i = choices.size() - 1; i-- > 0;) out = pool.select(choices[i].first, choices[i].second, out);
    return out;
  };
}

// The parts of a cat that are not placed, concatenated. In the result, each is shifted by the sizes of the placed parts
// before it.
std::optional<Lowering::Rest> rest_of_cat(Lowering& l, const Value* y, const std::vector<const Value*>& parts,
                                          size_t dim, const std::vector<bool>& placed) {
  std::vector<const Value*> left;
  std::vector<std::pair<Sym, Sym>> gaps;  // for each placed part: the length of the others before it, and its size
  Sym length = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Sym size = parts[i]->sizes()[dim];
    if (placed[i]) {
      gaps.emplace_back(length, size);
      continue;
    }
    left.push_back(parts[i]);
    length = length + size;
  }
  if (left.empty()) return std::nullopt;
  Lowering::Rest rest;
  rest.sizes = y->sizes();
  rest.sizes[dim] = length;
  rest.element = joined_elements(l, left, dim, y->dtype());
  rest.to_result = [&l, dim, gaps](Indices at) {
    const Sym own = at[dim]->index;  // a loop variable
    Sym moved = own;
    for (const auto& [from, size] : gaps) {
      const Sym before = compiler::make_sym(compiler::SymOp::lt, {own, from});
      moved = moved + size * (Sym(1) - before);
    }
    at[dim] = l.pool().index(moved);
    return at;
  };
  return rest;
}

void lower_cat(Lowering& l, const Node& node) {
  const Value* y = node.result();
  const size_t dim = dim_argument(node, "dim", y->rank());
  std::vector<const Value*> parts;
  for (const Value* part : node.tensors("tensors")) {
    // skips empty tensors of rank 1, which eager allows beside others
    if (part->rank() == y->rank()) parts.push_back(part);
  }
  Lowering::Join join;
  Sym start = 0;
  for (const Value* part : parts) {
    join.parts.emplace_back(part, [&l, dim, start](Indices at) {
      at[dim] = l.pool().add(at[dim], l.pool().index(start));
      return at;
    });
    start = start + part->sizes()[dim];
  }
  join.rest = [&l, y, parts, dim](const std::vector<bool>& placed) { return rest_of_cat(l, y, parts, dim, placed); };
  l.join_parts(y, std::move(join));
  l.define(y, joined_elements(l, parts, dim, y->dtype()));
}

void lower_pad(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const compiler::Ints pads = node.ints("pad");
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, &node, x, pads, dtype](const Indices& at) {
    ExpressionPool& pool = l.pool();
    Indices own = at;
    ExpressionPtr inside = pool.number(1, ScalarType::boolean);
    for (size_t i = 0; 2 * i < pads.size(); ++i) {
      const size_t dim = x->rank() - 1 - i;
      own[dim] = pool.subtract(at[dim], pool.index(pads[2 * i]));
      if (!(pads[2 * i].is_const() && pads[2 * i].value() <= 0))
        inside = pool.both(inside, pool.negation(pool.less(own[dim], pool.index(0))));
      if (!(pads[2 * i + 1].is_const() && pads[2 * i + 1].value() <= 0))
        inside = pool.both(inside, pool.less(own[dim], pool.index(x->sizes()[dim])));
    }
    pool.push_guard(inside);
    const ExpressionPtr element = l.element(x, own);
    pool.pop_guard();
    return pool.select(inside, element, pool.rounded(l.scalar(node.arg("value"), scalar_type(dtype)), dtype));
  });
}

void lower_roll(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const compiler::Ints shifts = node.ints("shifts");
  const std::vector<int64_t> dims = node.static_ints("dims");
  if (dims.empty()) {  // rolls the flattened tensor
    return l.define(node.result(), [&l, x, shifts](const Indices& at) {
      ExpressionPool& pool = l.pool();
      const ExpressionPtr count = pool.index(compiler::numel(x->sizes()));
      const ExpressionPtr back = pool.subtract(l.join(at, x->sizes()), pool.index(shifts[0]));
      return l.element(x, l.split(pool.modulo(back, count), x->sizes()));
    });
  }
  l.define(node.result(), [&l, x, shifts, dims](Indices at) {
    ExpressionPool& pool = l.pool();
    for (size_t i = 0; i < dims.size(); ++i) {
      const auto dim = static_cast<size_t>(compiler::wrap_dim(dims[i], x->rank()));
      at[dim] = pool.modulo(pool.subtract(at[dim], pool.index(shifts[i])), pool.index(x->sizes()[dim]));
    }
    return l.element(x, at);
  });
}

void lower_repeat(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *y = node.result();
  l.define(y, [&l, x, y](const Indices& at) {
    Indices own;
    const size_t skipped = y->rank() - x->rank();
    for (size_t i = 0; i < x->rank(); ++i)
      own.push_back(l.pool().modulo(at[i + skipped], l.pool().index(x->sizes()[i])));
    return l.element(x, own);
  });
}

void lower_diagonal(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const size_t first = dim_argument(node, "dim1", x->rank()), second = dim_argument(node, "dim2", x->rank());
  const int64_t offset = node.static_integer("offset");
  l.define_view(node.result(), x, [&l, x, first, second, offset](const Indices& at) {
    ExpressionPool& pool = l.pool();
    Indices own;
    size_t next = 0;
    for (size_t i = 0; i < x->rank(); ++i) {
      if (i == first) {
        own.push_back(pool.add(at.back(), pool.index(offset < 0 ? -offset : 0)));
      } else if (i == second) {
        own.push_back(pool.add(at.back(), pool.index(offset > 0 ? offset : 0)));
      } else {
        own.push_back(at[next++]);
      }
    }
    return own;
  });
}

// Element at index i: that at offset + sum of i[d] * stride[d] of the contiguous tensor.
void lower_as_strided(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const compiler::Ints strides = node.ints("stride");
  const Sym offset = node.is_none("storage_offset") ? Sym(0) : node.integer("storage_offset");
  l.define_view(node.result(), x, [&l, x, strides, offset](const Indices& at) {
    ExpressionPtr linear = l.pool().index(offset);
    for (size_t i = 0; i < at.size(); ++i)
      linear = l.pool().add(linear, l.pool().multiply(at[i], l.pool().index(strides[i])));
    return l.split(linear, x->sizes());
  });
}

// Windows along a dimension, as a new last dimension.
void lower_unfold(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const size_t dim = dim_argument(node, "dimension", x->rank());
  const Sym step = node.integer("step");
  l.define_view(node.result(), x, [&l, x, dim, step](Indices at) {
    const ExpressionPtr within = at.back();
    at.pop_back();
    if (x->rank() == 0) return Indices{};
    at[dim] = l.pool().add(l.pool().multiply(at[dim], l.pool().index(step)), within);
    return at;
  });
}

// Maps an index of [.., C, H r, W r] to one of [.., C r r, H, W].
Indices shuffled(ExpressionPool& p, Indices at, const Sym& r) {
  const size_t n = at.size();
  const ExpressionPtr factor = p.index(r), channel = at[n - 3];
  const ExpressionPtr within = p.modulo(channel, p.index(r * r));
  at[n - 3] = p.floor_divide(channel, p.index(r * r));
  at[n - 2] = p.add(p.multiply(at[n - 2], factor), p.floor_divide(within, factor));
  at[n - 1] = p.add(p.multiply(at[n - 1], factor), p.modulo(within, factor));
  return at;
}
// The inverse.
Indices unshuffled(ExpressionPool& p, Indices at, const Sym& r) {
  const size_t n = at.size();
  const ExpressionPtr factor = p.index(r), row = at[n - 2], column = at[n - 1];
  at[n - 3] =
      p.add(p.multiply(p.add(p.multiply(at[n - 3], factor), p.modulo(row, factor)), factor), p.modulo(column, factor));
  at[n - 2] = p.floor_divide(row, factor);
  at[n - 1] = p.floor_divide(column, factor);
  return at;
}

void lower_pixel_shuffle(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const Sym r = node.integer("upscale_factor");
  l.define(
      node.result(), [&l, x, r](const Indices& at) { return l.element(x, unshuffled(l.pool(), at, r)); },
      [&l, r](const Indices& at) { return shuffled(l.pool(), at, r); });
}
void lower_pixel_unshuffle(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const Sym r = node.integer("downscale_factor");
  l.define(
      node.result(), [&l, x, r](const Indices& at) { return l.element(x, shuffled(l.pool(), at, r)); },
      [&l, r](const Indices& at) { return unshuffled(l.pool(), at, r); });
}

// Pads with elements of the tensor: mirrored at the border, or the border itself.
void lower_border_pad(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const compiler::Ints pads = node.ints("padding");
  const bool mirrors = node.op->name().find("reflection") != std::string_view::npos;
  l.define(node.result(), [&l, x, pads, mirrors](Indices at) {
    ExpressionPool& p = l.pool();
    for (size_t i = 0; 2 * i < pads.size(); ++i) {
      const size_t dim = x->rank() - 1 - i;
      const ExpressionPtr last = p.index(x->sizes()[dim] - 1);
      ExpressionPtr own = p.subtract(at[dim], p.index(pads[2 * i]));
      if (mirrors) {
        own = p.maximum(own, p.subtract(p.index(0), own));
        own = p.minimum(own, p.subtract(p.add(last, last), own));
      } else {
        own = p.minimum(p.maximum(own, p.index(0)), last);
      }
      at[dim] = own;
    }
    return l.element(x, at);
  });
}

// Elements of `src` may be stored directly in their region of the result. The rest is that of `self`.
void replace_region(Lowering& l, const Node& node, const Lowering::IndexMap& to_result, const Element& is_inside) {
  const Value *x = node.tensor("self"), *source = node.tensor("src");
  Lowering::Join join;
  join.parts = {{source, to_result}};
  join.rest = [&l, x, is_inside](const std::vector<bool>&) {
    return Lowering::Rest{x->sizes(), [](const Indices& at) { return at; }, l.elements_of(x),
                          [&l, is_inside](const Indices& at) { return l.pool().negation(is_inside(at)); }};
  };
  l.join_parts(node.result(), std::move(join));
}

// self with the region start, start + step .. of a dimension replaced by src.
void lower_slice_scatter(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *source = node.tensor("src");
  const compiler::SliceBounds bounds = compiler::slice_bounds(node);
  const auto dim = static_cast<size_t>(bounds.dim);
  const Sym start = bounds.start, step = bounds.step;
  const auto to_result = [&l, dim, start, step](Indices at) {
    at[dim] = l.pool().add(l.pool().multiply(at[dim], l.pool().index(step)), l.pool().index(start));
    return at;
  };
  if (l.is_in_place(node.result()))
    return l.replace_elements(node.result(), source, to_result, to_result(l.indices_of(source->sizes())));
  const auto is_inside = [&l, source, dim, start, step](const Indices& at) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr behind = p.subtract(at[dim], p.index(start));
    ExpressionPtr inside = p.negation(p.less(behind, p.index(0)));
    inside = p.both(inside, p.less(behind, p.index(source->sizes()[dim] * step)));
    return p.both(inside, p.equal(p.modulo(behind, p.index(step)), p.index(0)));
  };
  replace_region(l, node, to_result, is_inside);
  l.define(node.result(), [&l, x, source, dim, start, step, is_inside](const Indices& at) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr inside = is_inside(at);
    Indices own = at;
    own[dim] = p.floor_divide(p.subtract(at[dim], p.index(start)), p.index(step));
    p.push_guard(inside);
    const ExpressionPtr written = l.element(source, own);
    p.pop_guard();
    return p.select(inside, written, l.element(x, at));
  });
}
void lower_select_scatter(Lowering& l, const Node& node) {
  const Value *x = node.tensor("self"), *source = node.tensor("src");
  const size_t dim = dim_argument(node, "dim", x->rank());
  const Sym index = compiler::from_start(node.integer("index"), x->sizes()[dim]);
  const auto to_result = [&l, dim, index](Indices at) {
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim), l.pool().index(index));
    return at;
  };
  if (l.is_in_place(node.result()))
    return l.replace_elements(node.result(), source, to_result, to_result(l.indices_of(source->sizes())));
  const auto is_inside = [&l, dim, index](const Indices& at) { return l.pool().equal(at[dim], l.pool().index(index)); };
  replace_region(l, node, to_result, is_inside);
  l.define(node.result(), [&l, x, source, dim, is_inside](const Indices& at) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr inside = is_inside(at);
    Indices own = at;
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(dim));
    p.push_guard(inside);
    const ExpressionPtr written = l.element(source, own);
    p.pop_guard();
    return p.select(inside, written, l.element(x, at));
  });
}

void lower_glu(Lowering& l, const Node& node) {
  const Value* x = node.tensor("self");
  const size_t dim = dim_argument(node, "dim", x->rank());
  const DType dtype = node.result()->dtype();
  l.define(node.result(), [&l, x, dim, dtype](Indices at) {
    ExpressionPool& p = l.pool();
    const ExpressionPtr value = l.element(x, at);
    at[dim] = p.add(at[dim], p.index(floor_div(x->sizes()[dim], 2)));
    return p.rounded(p.call(value->type, "op_mul({0}, sigmoid({1}))", {value, l.element(x, at)}), dtype);
  });
}

void view_needs(const Node& node, SizeRequirements& out) {
  out.push_back(equal(compiler::numel(node.operands()[0]->sizes()), compiler::numel(node.result()->sizes()),
                      "the number of elements changes"));
}
void expand_needs(const Node& node, SizeRequirements& out) {
  const Sizes &own = node.tensor("self")->sizes(), &wide = node.result()->sizes();
  for (size_t i = 0; i < own.size(); ++i) out.push_back(broadcasts(own[i], wide[wide.size() - own.size() + i]));
}
void select_needs(const Node& node, SizeRequirements& out) {
  const Value* x = node.tensor("self");
  const Sym size = x->sizes()[dim_argument(node, "dim", x->rank())];
  out.push_back({node.integer("index"), Sym(0) - size, size - 1, "the index is out of bounds"});
}
void cat_needs(const Node& node, SizeRequirements& out) {
  const Value* y = node.result();
  const size_t dim = dim_argument(node, "dim", y->rank());
  for (const Value* part : node.tensors("tensors")) {
    for (size_t i = 0; part->rank() == y->rank() && i < y->rank(); ++i) {
      if (i != dim)
        out.push_back(equal(part->sizes()[i], y->sizes()[i], "a size of a tensor is not that of the others"));
    }
  }
}
// Elements to be mirrored must exist.
void mirror_needs(const Node& node, SizeRequirements& out) {
  const Value* x = node.tensor("self");
  const compiler::Ints pads = node.ints("padding");
  for (size_t i = 0; i < pads.size(); ++i)
    out.push_back(at_most(pads[i], x->sizes()[x->rank() - 1 - i / 2] - 1, "it pads by more than it mirrors"));
}
void unfold_needs(const Node& node, SizeRequirements& out) {
  const Value* x = node.tensor("self");
  if (x->rank() == 0) return;
  const Sym& whole = x->sizes()[dim_argument(node, "dimension", x->rank())];
  out.push_back(at_most(node.integer("size"), whole, "a window is longer than its dimension"));
}
void halves_need(const Node& node, SizeRequirements& out) {
  const Value* x = node.tensor("self");
  const Sym& whole = x->sizes()[dim_argument(node, "dim", x->rank())];
  out.push_back(equal(sym_mod(whole, 2), 0, "its dimension has no two halves, of its size modulo 2"));
}

constexpr OpRule kMovementRows[] = {
    needing({"aten.view.default", lower_view}, view_needs),
    needing({"aten._unsafe_view.default", lower_view}, view_needs),
    needing({"aten.squeeze.dims", lower_view}, view_needs),
    needing({"aten.squeeze.dim", lower_view}, view_needs),
    needing({"aten.unsqueeze.default", lower_view}, view_needs),
    {"aten.permute.default", lower_permute},
    needing({"aten.expand.default", lower_expand}, expand_needs),
    {"aten.slice.Tensor", lower_slice},
    needing({"aten.select.int", lower_select}, select_needs),
    {"aten.flip.default", lower_flip},
    needing(of_images({"aten.cat.default", lower_cat}), cat_needs),
    of_images({"aten.constant_pad_nd.default", lower_pad}),
    {"aten.roll.default", lower_roll},
    {"aten.repeat.default", lower_repeat},
    {"aten.diagonal.default", lower_diagonal},
    {"aten.as_strided.default", lower_as_strided},
    needing({"aten.unfold.default", lower_unfold}, unfold_needs),
    needing({"aten.pixel_shuffle.default", lower_pixel_shuffle}, view_needs),
    needing({"aten.pixel_unshuffle.default", lower_pixel_unshuffle}, view_needs),
    needing(of_images({"aten.reflection_pad1d.default", lower_border_pad}), mirror_needs),
    needing(of_images({"aten.reflection_pad2d.default", lower_border_pad}), mirror_needs),
    needing(of_images({"aten.reflection_pad3d.default", lower_border_pad}), mirror_needs),
    of_images({"aten.replication_pad1d.default", lower_border_pad}),
    of_images({"aten.replication_pad2d.default", lower_border_pad}),
    of_images({"aten.replication_pad3d.default", lower_border_pad}),
    writing({"aten.slice_scatter.default", lower_slice_scatter}),
    writing({"aten.select_scatter.default", lower_select_scatter}),
    needing({"aten.glu.default", lower_glu}, halves_need),
};

}  // namespace

const Span<const OpRule> kMovementRules{kMovementRows};

size_t dim_argument(const Node& node, std::string_view name, size_t rank) {
  return static_cast<size_t>(compiler::wrap_dim(node.static_integer(name), rank));
}

}  // namespace wick::cuda
