#include <algorithm>
#include <unordered_map>

#include "backends/xnnpack/compile/passes/match/groups.h"
#include "backends/xnnpack/compile/passes/match/unrolled_values.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/regions/boxes.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Args;
using compiler::Builder;
using compiler::Changed;
using compiler::Gemm;
using compiler::Graph;
using compiler::Ints;
using compiler::kPointwise;
using compiler::Movement;
using compiler::Node;
using compiler::Result;
using compiler::Sizes;
using compiler::Sym;
using compiler::TargetFacts;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;

namespace {

constexpr size_t kMaxParts = 64;
constexpr size_t kMaxCallsOfACut = 40;

int64_t num_unknown(const Sizes& sizes) {
  return std::count_if(sizes.begin(), sizes.end(), [](const Sym& size) { return !size.is_const(); });
}

size_t dim_in(const Node& node, size_t rank) { return static_cast<size_t>(wrap_dim(node.static_integer("dim"), rank)); }

// Nodes with other dtypes stay outside of delegates, where unrolling would repeat them for each part.
bool all_floating(const Node& node) {
  const auto floats = [](const Value* value) { return !value->type.is_tensor() || is_floating(value->dtype()); };
  const Values operands = node.operands();
  return floats(node.result()) && std::all_of(operands.begin(), operands.end(), floats);
}

// The result of rewriting a node.
struct Plan {
  Unrolled shape;                         // of the result; a plain one: the only part is the result itself
  std::function<Values(Builder&)> parts;  // of the result; called in graph order, when those of the operands are there
};

class ViewAvoider {
 public:
  ViewAvoider(Graph& graph, const TargetFacts& facts, size_t max_parts)
      : graph_(graph), viewable_(static_cast<int64_t>(facts.max_unknown_view_sizes)), max_parts_(max_parts) {}

  Changed run() {
    for (const auto& node : graph_.nodes()) consider(*node);
    drop_costly_groups();
    std::vector<Node*> replaced;
    for (auto& [node, plan] : plans_) {
      if (groups_.has_failed(numbers_.at(node))) continue;
      Builder b(graph_, node);
      Values made = plan.parts(b);
      for (Node* fresh : b.made()) add_origins(*fresh, *node);
      if (is_plain(plan.shape))
        graph_.replace(node->result(), made[0]);
      else
        parts_[node->result()] = std::move(made);
      replaced.push_back(node);
    }
    erase_unread(graph_, replaced);
    return replaced.empty() ? Changed::no : Changed::yes;
  }

 private:
  // --- connected nodes: all of them are rewritten, or none ---

  const Unrolled* unrolled(const Value* value) const {
    const auto it = shapes_.find(value);
    return it == shapes_.end() ? nullptr : &it->second;
  }

  void consider(Node& node) {
    std::vector<size_t> behind;
    bool any = false;
    for (const Value* operand : node.operands()) {
      const Unrolled* shape = unrolled(operand);
      any = any || shape;
      if (shape && !lacks_only_ones(*shape)) behind.push_back(numbers_.at(operand->producer));
    }
    std::optional<Plan> plan;
    if (node.graphs.empty() && !node.results().empty() && node.result()->type.is_tensor() && !has_effect(node))
      plan = any ? plan_of(node) : start(node);
    if (!plan) {
      for (const size_t other : behind) groups_.fail(other);
      return;
    }
    const Value& result = *node.result();
    const bool whole = is_plain(plan->shape), loose = !whole && lacks_only_ones(plan->shape);
    if (!whole) shapes_[&result] = plan->shape;
    const bool cuts = node.is("aten.view.default") && num_unknown(result.sizes()) > viewable_;
    if (behind.empty() && (loose || (whole && !cuts))) {
      if (loose) loose_.emplace(&result, std::move(*plan));
      return;
    }
    const size_t number = numbers_[&node] = groups_.add();
    for (const size_t other : behind) groups_.join(number, other);
    if (!whole && !loose && result.num_uses() != result.users().size()) groups_.fail(number);
    plans_.emplace_back(&node, std::move(*plan));
  }

  // Each part of each operator is a kernel call. Each remaining view is a graph break, which costs as much as several
  // calls.
  void drop_costly_groups() {
    if (max_parts_ == 1) return drop_groups_of_gathers();  // as many calls as before
    std::vector<size_t> calls(groups_.size()), cuts(groups_.size());
    for (const auto& [node, plan] : plans_) {
      const size_t group = groups_.group_of(numbers_.at(node));
      calls[group] += num_calls(*node, plan);
      cuts[group] += node->is("aten.view.default") && num_unknown(node->result()->sizes()) > viewable_ ? 1 : 0;
    }
    for (size_t group = 0; group < calls.size(); ++group) {
      if (calls[group] > kMaxCallsOfACut * std::max<size_t>(cuts[group], 1)) groups_.fail(group);
    }
  }

  // Gathers keep their views, so that nothing would change.
  void drop_groups_of_gathers() {
    std::vector<bool> computes(groups_.size());
    for (const auto& [node, plan] : plans_) {
      if (!node->is("aten.view.default") && !node->is("aten.gather.default"))
        computes[groups_.group_of(numbers_.at(node))] = true;
    }
    for (size_t group = 0; group < computes.size(); ++group) {
      if (!computes[groups_.group_of(group)]) groups_.fail(group);
    }
  }

  size_t num_calls(const Node& node, const Plan& plan) const {
    if (node.is(Movement::permute) || node.is(Movement::expand) || node.is(Movement::select)) return 0;
    const size_t parts = plan.shape.num_parts();
    if (!node.is("aten.view.default") || is_plain(plan.shape)) return parts;
    const Unrolled* from = unrolled(node.tensor("self"));
    return parts > (from ? from->num_parts() : 1) ? parts : 0;
  }

  // The parts of an unrolled value. A value that only lacks dimensions of size 1 is made on demand; the value itself
  // stays for other readers.
  const Values& parts_of(Builder& b, Value* value) {
    const auto [known, fresh] = parts_.try_emplace(value);
    Values& parts = known->second;
    if (!fresh) return parts;
    const auto loose = loose_.find(value);
    parts =
        loose != loose_.end() ? loose->second.parts(b) : Values{with_sizes(b, value, unrolled(value)->part_sizes())};
    return parts;
  }

  // --- plans ---

  // A view that a backend cannot express, or whose inverse it cannot express, or copies whose number is merged with a
  // dimension.
  std::optional<Plan> start(const Node& node) {
    if (node.is("aten.repeat.default")) return repeat(node);
    if (!node.is("aten.view.default")) return std::nullopt;
    const Value& x = *node.tensor("self");
    const auto there = viewed(plain(x.sizes()), node.result()->sizes(), max_parts_);
    if (!there || !is_floating(x.dtype())) return std::nullopt;
    if (num_unknown(node.result()->sizes()) <= viewable_ && num_unknown_merged(there->shape) <= viewable_)
      return std::nullopt;
    const Unrolled shape = as_kept(there->shape);
    if (is_plain(shape)) return std::nullopt;
    // The operand may have been replaced in the meantime.
    return Plan{shape, [=, this, &node](Builder& b) {
                  return as_parts(b, parts_after(b, *there, {node.tensor("self")}), shape);
                }};
  }

  Unrolled as_kept(const Unrolled& shape) const { return max_parts_ == 1 ? with_known_merged(shape) : shape; }
  Values as_parts(Builder& b, Values parts, const Unrolled& shape) const {
    if (max_parts_ == 1) parts[0] = b.reshape(parts[0], shape.part_sizes());
    return parts;
  }

  // Copies along the first dimension, as an expansion.
  std::optional<Plan> repeat(const Node& node) {
    Value* x = node.tensor("self");
    const Ints repeats = node.ints("repeats");
    const auto is_one = [](const Sym& count) { return count.is(1); };
    if (x->rank() == 0 || repeats.size() != x->rank() || repeats[0].is_const() || !is_floating(x->dtype()) ||
        !std::all_of(repeats.begin() + 1, repeats.end(), is_one))
      return std::nullopt;
    Unrolled shape = plain(x->sizes());
    shape.dims[0].insert(shape.dims[0].begin(), {repeats[0]});
    return Plan{shape, [&node, shape](Builder& b) {
                  return Values{b.expand(b.unsqueeze(node.tensor("self"), 0), shape.part_sizes())};
                }};
  }

  std::optional<Plan> plan_of(const Node& node) {
    for (size_t i = 1; i < node.results().size(); ++i) {
      if (node.result(i)->num_uses() != 0) return std::nullopt;
    }
    if (node.op->has(kPointwise)) return pointwise(node);
    if (node.op->facts.gemm) return gemm(node);
    switch (node.op->facts.movement) {
      case Movement::view: return view(node);
      case Movement::permute: return permute(node);
      case Movement::expand: return expand(node);
      case Movement::select:
      case Movement::slice: return cut(node);
      default: break;
    }
    if (node.is("aten.cat.default")) return cat(node);
    if (node.is("aten.gather.default")) return gather(node);
    if (is_softmax(node) || node.is("aten._log_softmax.default")) return along_dim(node);
    if (is_one_of(node, {"aten.rms_norm.default", "aten.native_layer_norm.default"})) return norm(node);
    return std::nullopt;
  }

  // Operand 0, if no other operand is unrolled.
  const Unrolled* only_operand(const Node& node) const {
    for (const Value* operand : node.operands()) {
      if (unrolled(operand) && operand != node.tensor_or_null(0)) return nullptr;
    }
    return unrolled(node.tensor_or_null(0));
  }

  // The node on each part of operand 0, with other arguments.
  Plan on_each_part(const Node& node, Unrolled shape, std::function<void(Args&)> change) {
    return {std::move(shape), [this, &node, change = std::move(change)](Builder& b) {
              Values out;
              for (Value* part : parts_of(b, node.tensor_or_null(0))) {
                Args args = node.args();
                change(args);
                args[0] = part;
                out.push_back(b.call_multi(node.op->name(), std::move(args))[0]);
              }
              return out;
            }};
  }

  // A selection of the parts of operand 0.
  Plan picked(const Node& node, Unrolled shape, const std::vector<IndexFrom>& indices) {
    const std::vector<size_t> behind =
        parts_behind(shape.counts(), unrolled(node.tensor_or_null(0))->counts(), indices);
    return {std::move(shape), [this, &node, behind](Builder& b) {
              Values out;
              for (const size_t part : behind) out.push_back(parts_of(b, node.tensor_or_null(0))[part]);
              return out;
            }};
  }

  std::optional<Plan> view(const Node& node) {
    Value* x = node.tensor("self");
    const auto there = viewed(*unrolled(x), node.result()->sizes(), max_parts_);
    if (!there) return view_of_part(node);
    Unrolled shape = as_kept(there->shape);
    const auto dim = side_by_side(shape);
    const auto along = dim ? static_cast<int64_t>(shape.num_kept_before(*dim)) : 0;
    if (dim) shape.dims[*dim] = {{node.result()->sizes()[*dim]}};
    return Plan{shape, [=, this](Builder& b) {
                  const Values parts = as_parts(b, parts_after(b, *there, parts_of(b, x)), shape);
                  return dim ? Values{b.call("aten.cat", {parts, along})} : parts;
                }};
  }

  // A view that is a graph break may be one of the only part.
  std::optional<Plan> view_of_part(const Node& node) {
    const Sizes& sizes = node.result()->sizes();
    if (max_parts_ != 1 || num_unknown(sizes) <= viewable_) return std::nullopt;
    return Plan{plain(sizes), [this, &node](Builder& b) {
                  return Values{b.reshape(parts_of(b, node.tensor("self"))[0], node.result()->sizes())};
                }};
  }

  std::optional<Plan> permute(const Node& node) {
    Value* x = node.tensor("self");
    const Unrolled& from = *unrolled(x);
    Unrolled shape;
    std::vector<int64_t> part_dims;
    std::vector<IndexFrom> indices(from.counts().size());
    int next = 0;
    for (const int64_t to : node.static_ints("dims")) {
      const auto dim = static_cast<size_t>(wrap_dim(to, from.dims.size()));
      shape.dims.push_back(from.dims[dim]);
      for (size_t at = from.num_kept_before(dim); at < from.num_kept_before(dim + 1); ++at)
        part_dims.push_back(static_cast<int64_t>(at));
      for (size_t at = from.num_unrolled_before(dim); at < from.num_unrolled_before(dim + 1); ++at)
        indices[at] = {next++};
    }
    const std::vector<size_t> behind = parts_behind(shape.counts(), from.counts(), indices);
    return Plan{shape, [=, this](Builder& b) {
                  Values out;
                  for (const size_t part : behind) out.push_back(b.permute(parts_of(b, x)[part], part_dims));
                  return out;
                }};
  }

  // Copies along dimensions that no part has.
  std::optional<Plan> expand(const Node& node) {
    const Unrolled& from = *unrolled(node.tensor("self"));
    const Sizes &old = node.tensor("self")->sizes(), &sizes = node.result()->sizes();
    if (old.size() != sizes.size()) return std::nullopt;
    Unrolled shape = from;
    std::vector<IndexFrom> indices;
    int next = 0;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      const bool copies = old[dim] != sizes[dim];
      const size_t factors = num_unrolled(from.dims[dim]);
      if (copies && (factors != from.dims[dim].size() || !sizes[dim].is_const())) return std::nullopt;
      if (copies) shape.dims[dim] = {{sizes[dim], true}};
      for (size_t i = 0; i < factors; ++i) indices.push_back({copies ? -1 : next++});
      if (copies) ++next;
    }
    if (shape.num_parts() > max_parts_) return std::nullopt;
    return picked(node, shape, indices);
  }

  // A slice or a select.
  std::optional<Plan> cut(const Node& node) {
    const Unrolled& from = *unrolled(node.tensor("self"));
    const size_t dim = dim_in(node, from.dims.size());
    const bool select = node.is("aten.select.int");
    if (is_plain(from.dims[dim])) return select ? std::nullopt : along_dim(node);
    const auto taken = match_slice(node);
    if (!taken || from.dims[dim].size() != 1) return std::nullopt;
    Unrolled shape = from;
    if (select)
      shape.dims.erase(shape.dims.begin() + static_cast<ptrdiff_t>(dim));
    else
      shape.dims[dim] = {{node.result()->sizes()[dim], true}};
    const int64_t start = taken->range.whole ? 0 : taken->range.start;
    const size_t here = from.num_unrolled_before(dim);
    std::vector<IndexFrom> indices;
    int next = 0;
    for (size_t i = 0; i < from.counts().size(); ++i)
      indices.push_back({i == here && select ? -1 : next++, i == here ? start : 0});
    return picked(node, shape, indices);
  }

  // An operator along one dimension that the parts have. The other dimensions are treated alike.
  std::optional<Plan> along_dim(const Node& node) {
    const Unrolled* from = only_operand(node);
    if (!from) return std::nullopt;
    const size_t dim = dim_in(node, from->dims.size());
    if (!is_plain(from->dims[dim])) return std::nullopt;
    Unrolled shape = *from;
    shape.dims[dim] = {{node.result()->sizes()[dim]}};
    const auto part_dim = static_cast<int64_t>(from->num_kept_before(dim));
    const auto place = static_cast<size_t>(node.op->parsed->find("dim"));
    return on_each_part(node, shape, [=](Args& args) { args[place] = part_dim; });
  }

  // A gather from a single part, which is viewed as the original tensor: backends leave gathers outside of delegates,
  // where views are free.
  std::optional<Plan> gather(const Node& node) {
    const Unrolled* from = only_operand(node);
    if (!from || from->num_parts() != 1) return std::nullopt;
    const size_t dim = dim_in(node, from->dims.size());
    Sizes sizes = from->sizes();
    sizes[dim] = node.result()->sizes()[dim];
    if (!is_plain(from->dims[dim]) || sizes != node.result()->sizes()) return std::nullopt;
    Unrolled shape = *from;
    shape.dims[dim] = {{sizes[dim]}};
    return Plan{shape, [this, &node, shape](Builder& b) {
                  Args args = node.args();
                  args[0] = b.reshape(parts_of(b, node.tensor("self"))[0], node.tensor("self")->sizes());
                  return Values{b.reshape(b.call("aten.gather", std::move(args)), shape.part_sizes())};
                }};
  }

  std::optional<Plan> norm(const Node& node) {
    const Unrolled* from = only_operand(node);
    const size_t normalized = node.ints("normalized_shape").size();
    if (!from || normalized > from->dims.size()) return std::nullopt;
    for (size_t dim = from->dims.size() - normalized; dim < from->dims.size(); ++dim) {
      if (!is_plain(from->dims[dim])) return std::nullopt;
    }
    return on_each_part(node, *from, [](Args&) {});
  }

  std::optional<Plan> linear(const Node& node) {
    const Unrolled* from = only_operand(node);
    if (!from || !is_plain(from->dims.back())) return std::nullopt;
    Unrolled shape = *from;
    shape.dims.back() = {{node.result()->sizes().back()}};
    return on_each_part(node, shape, [](Args&) {});
  }

  std::optional<Plan> cat(const Node& node) {
    const Values tensors = node.tensors("tensors");
    const size_t dim = dim_in(node, node.result()->rank());
    Unrolled shape;
    for (const Value* tensor : tensors) {
      const Unrolled* from = unrolled(tensor);
      if (!from || !is_plain(from->dims[dim])) return std::nullopt;
      Unrolled as_result = *from;
      as_result.dims[dim] = {{node.result()->sizes()[dim]}};
      if (tensor != tensors[0] && as_result.dims != shape.dims) return std::nullopt;
      shape = std::move(as_result);
    }
    const auto part_dim = static_cast<int64_t>(shape.num_kept_before(dim));
    return Plan{shape, [=, this](Builder& b) {
                  Values out;
                  for (size_t i = 0; i < shape.num_parts(); ++i) {
                    Values side_by_side;
                    for (Value* tensor : tensors) side_by_side.push_back(parts_of(b, tensor)[i]);
                    out.push_back(b.call("aten.cat", {side_by_side, part_dim}));
                  }
                  return out;
                }};
  }

  // Rows that are only formally merged, times an ordinary matrix: a linear.
  std::optional<Plan> rows_times_matrix(const Node& node) {
    const Gemm& gemm = node.op->facts.gemm;
    const bool adds = gemm.term >= 0;
    Value *x = node.tensor_or_null(gemm.left), *matrix = node.tensor_or_null(gemm.right),
          *bias = adds ? node.tensor_or_null(static_cast<size_t>(gemm.term)) : nullptr;
    const Unrolled* from = unrolled(x);
    if (!from || unrolled(matrix) || !is_plain(from->dims[1])) return std::nullopt;
    if (adds && (unrolled(bias) || bias->rank() != 1 || node.real("alpha") != 1 || node.real("beta") != 1))
      return std::nullopt;
    const Unrolled shape{{from->dims[0], {{node.result()->sizes()[1]}}}};
    return Plan{shape, [=, this](Builder& b) {
                  Value* weight = transposed(b, matrix);
                  Values out;
                  for (Value* part : parts_of(b, x))
                    out.push_back(b.call("aten.linear", {part, weight, bias ? Arg(bias) : Arg()}));
                  return out;
                }};
  }

  std::optional<Plan> gemm(const Node& node) {
    const Gemm& gemm = node.op->facts.gemm;
    if (gemm.rank == 2) return gemm.turns ? linear(node) : rows_times_matrix(node);
    return gemm.term < 0 ? product(node) : std::nullopt;
  }

  // Matmuls whose batch is unrolled, at least in part.
  std::optional<Plan> product(const Node& node) {
    const Value &left = *node.tensor_or_null(0), &right = *node.tensor_or_null(1);
    const size_t rank = node.result()->rank();
    if (left.rank() != rank || right.rank() != rank || rank < 3) return std::nullopt;
    const Unrolled a = shape_of(left), c = shape_of(right);
    for (size_t dim = rank - 2; dim < rank; ++dim) {
      if (!is_plain(a.dims[dim]) || !is_plain(c.dims[dim])) return std::nullopt;
    }
    const auto batch = broadcast_shape(node, rank - 2);
    if (!batch) return std::nullopt;
    const auto with = [&](const Factors& rows, const Factors& columns) {
      Unrolled out = *batch;
      out.dims.insert(out.dims.end(), {rows, columns});
      return out;
    };
    const Unrolled result = with(a.dims[rank - 2], c.dims[rank - 1]);
    return Plan{result, [this, &node, result, as_left = with(a.dims[rank - 2], a.dims[rank - 1]),
                         as_right = with(c.dims[rank - 2], c.dims[rank - 1])](Builder& b) {
                  const Values lefts = broadcast_parts(b, node.tensor_or_null(0), as_left),
                               rights = broadcast_parts(b, node.tensor_or_null(1), as_right);
                  Values out;
                  for (size_t i = 0; i < lefts.size(); ++i)
                    out.push_back(b.call(product_of(*lefts[i], *rights[i]), {lefts[i], rights[i]}));
                  return out;
                }};
  }

  // --- pointwise operators ---

  // The operand's dimensions. Those of a tensor that is not unrolled are plain.
  Unrolled shape_of(const Value& operand) const {
    const Unrolled* shape = unrolled(&operand);
    return shape ? *shape : plain(operand.sizes());
  }

  // The first `rank` dimensions of a broadcast result.
  std::optional<Unrolled> broadcast_shape(const Node& node, size_t rank) const {
    std::vector<Unrolled> shapes;
    for (const Value* operand : node.operands()) shapes.push_back(shape_of(*operand));
    return broadcast_of(shapes, node.result()->rank(), rank);
  }

  std::optional<Plan> pointwise(const Node& node) {
    if (!all_floating(node)) return std::nullopt;
    const auto shape = broadcast_shape(node, node.result()->rank());
    if (!shape || shape->sizes() != node.result()->sizes()) return std::nullopt;
    return Plan{*shape, [this, &node, shape = *shape](Builder& b) {
                  std::vector<Values> operands(node.args().size());
                  for (size_t i = 0; i < node.args().size(); ++i) {
                    if (Value* operand = node.tensor_or_null(i)) operands[i] = broadcast_parts(b, operand, shape);
                  }
                  Values out;
                  for (size_t part = 0; part < shape.num_parts(); ++part) {
                    Args args = node.args();
                    for (size_t i = 0; i < args.size(); ++i) {
                      if (!operands[i].empty()) args[i] = operands[i][part];
                    }
                    out.push_back(b.call(node.op->name(), std::move(args)));
                  }
                  return out;
                }};
  }

  // The elements of an operand that each part of a result needs.
  Values broadcast_parts(Builder& b, Value* operand, const Unrolled& result) {
    const Broadcast there = broadcast_to(shape_of(*operand), result);
    const Values whole = unrolled(operand) ? parts_of(b, operand) : Values{operand};
    Values out;
    for (size_t part = 0; part < there.parts.size(); ++part) {
      Value* value = whole[there.parts[part]];
      if (!there.indexed.empty()) value = with_sizes(b, value, there.unindexed);
      for (size_t i = there.indexed.size(); i-- > 0;) {
        const auto& [dim, indices] = there.indexed[i];
        value = b.select(value, static_cast<int64_t>(dim), static_cast<int64_t>(indices[part]));
      }
      out.push_back(with_sizes(b, value, there.sizes));
    }
    return out;
  }

  // With dimensions of size 1 added or dropped. Equal requests share one value.
  Value* with_sizes(Builder& b, Value* value, Sizes sizes) {
    while (sizes.size() > value->rank() && sizes.front().is(1)) sizes.erase(sizes.begin());
    for (Value* known : fitted_[value]) {
      if (known->sizes() == sizes) return known;
    }
    Value* fitted = b.reshape(value, sizes);
    if (fitted != value) fitted_[value].push_back(fitted);
    return fitted;
  }

  Graph& graph_;
  const int64_t viewable_;  // sizes of a view that may be known only at run time
  const size_t max_parts_;  // of a tensor
  std::unordered_map<const Value*, Unrolled> shapes_;
  std::vector<std::pair<Node*, Plan>> plans_;  // in graph order
  std::unordered_map<const Value*, Plan> loose_;
  Groups groups_;
  std::unordered_map<const Node*, size_t> numbers_;  // in groups_
  std::unordered_map<const Value*, Values> parts_;
  std::unordered_map<const Value*, Values> fitted_;
};

}  // namespace

// Avoids views that the target cannot express because too many sizes are known only at run time. If a view splits a
// dimension of known size (the heads of an attention), the tensor becomes a list of tensors, one for each index, until
// another view merges the dimension again. If a view merges dimensions (batch and sequence), they stay separate until
// another view splits them.
//   before: q = permute(view(x: [s0, s1, 64], [s0, s1, 4, 16]), [0, 2, 1, 3]); y = view(permute(f(q), [0, 2, 1, 3]))
//   after:  y = cat(f(slice(x, 2, 0, 16)), .., f(slice(x, 2, 48, 64)), 2)
// Where that fails, views that split dimensions of known size stay, and only dimensions that are merged are kept apart.
// Works through pointwise operators, linear, batched matmuls, softmax, norms, slices, permutes, expands and views,
// and from copies along the first dimension (repeat) and to gathers along another.
// Rewrites either all nodes between the views or none. Makes at most 64 parts, and only as many as cost less than the
// graph breaks that the views would cause (few heads if each does much work).
// Requires: canonical forms.  Keeps: every element.
Result<Changed> avoid_views(Graph& graph, const TargetFacts& facts) {
  return for_each_graph(graph, [&](Graph& g) {
    const Changed taken_apart = ViewAvoider(g, facts, kMaxParts).run(), kept_apart = ViewAvoider(g, facts, 1).run();
    return taken_apart == Changed::yes ? taken_apart : kept_apart;
  });
}

}  // namespace wick::xnnpack
