#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ops/quantization_chain.h"
#include "compiler/passes/boxes.h"
#include "compiler/passes/movers.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::compiler {
namespace {

struct Need {
  size_t index = 0;  // of the argument
  size_t part = 0;   // of a list of tensors
  Value* value = nullptr;
  Box box;
};

// What of a broadcast operand meets the box of the result.
Box broadcast_box(const Value& operand, const Value& result, const Box& box) {
  Box out(operand.rank());
  const size_t missing = result.rank() - operand.rank();
  for (size_t i = 0; i < operand.rank(); ++i) {
    if (operand.sizes()[i] == result.sizes()[i + missing]) out[i] = box[i + missing];
  }
  return out;
}

// The chain that ends in `node`, if it quantizes by rows and nobody else reads what lies between.
std::optional<QuantizationChain> row_chain(const Node& node) {
  const auto chain = quantization_chain(node);
  if (!chain || chain->dequantize != &node || !chain->by_rows || chain->quantize->result()->num_uses() != 1)
    return std::nullopt;
  for (const Value* parameter : chain->choose->results()) {
    if (parameter->num_uses() != 2 || parameter->users().size() != 2) return std::nullopt;
  }
  return chain;
}

// Which dims of its result a node can compute in part; nothing if it is not such a node.
std::optional<std::vector<bool>> narrow_dims(const Node& node) {
  const size_t rank = node.result()->rank();
  std::vector<bool> out(rank, true);
  if (is_pointwise(*node.op)) return out;
  if (node.is("aten.linear.default") || node.is("aten.embedding.default")) {
    if (rank == 0) return std::nullopt;
    out[rank - 1] = false;
    return out;
  }
  if (is_one_of(node, {"aten.mm.default", "aten.bmm.default", "aten.addmm.default", "aten.cat.default"})) return out;
  if (row_chain(node)) {
    out[rank - 1] = false;
    return out;
  }
  if (node.is("aten._softmax.default")) {
    if (rank == 0) return std::nullopt;
    out[static_cast<size_t>(wrap_dim(node.static_integer("dim"), rank))] = false;
    return out;
  }
  if (node.is("aten.native_layer_norm.default") || node.is("aten.rms_norm.default")) {
    for (size_t i = 1; i < node.results().size(); ++i) {
      if (node.result(i)->num_uses() != 0) return std::nullopt;
    }
    const size_t normalized = node.ints("normalized_shape").size();
    for (size_t i = rank - std::min(rank, normalized); i < rank; ++i) out[i] = false;
    return out;
  }
  return std::nullopt;
}

// What of the operands a node reads for `box` of its result; nothing if it computes all or nothing.
std::optional<std::vector<Need>> needs_of(const Node& node, const Box& box) {
  const Value* result = node.result();
  std::vector<Need> out;
  if (is_mover(node)) {
    const auto before = box_before(node, box);
    if (before) out.push_back({0, 0, moved(node), *before});
    return before ? std::optional(out) : std::nullopt;
  }
  if (node.is("aten.cat.default")) {
    const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), result->rank()));
    const Values parts = node.tensors("tensors");
    int64_t offset = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i] || parts[i]->rank() != result->rank()) return std::nullopt;
      Box part = box;
      if (!box[dim].whole) {
        const Sym& size = parts[i]->sizes()[dim];
        if (!size.is_const()) return std::nullopt;
        const int64_t first = std::max(box[dim].start, offset),
                      last = std::min(box[dim].start + box[dim].length, offset + size.value());
        offset += size.value();
        if (first >= last) continue;
        part[dim] = range_in(size, first - (offset - size.value()), last - first);
      }
      out.push_back({0, i, parts[i], std::move(part)});
    }
    return out;
  }
  if (is_pointwise(*node.op)) {
    for (size_t i = 0; i < node.args().size(); ++i) {
      if (Value* value = tensor_at(node, i)) out.push_back({i, 0, value, broadcast_box(*value, *result, box)});
    }
    return out;
  }
  if (node.is("aten.embedding.default"))
    return std::vector<Need>{{1, 0, tensor_at(node, 1), Box(box.begin(), box.end() - 1)}};
  if (const auto chain = row_chain(node)) return std::vector<Need>{{0, 0, chain->x, box}};
  const size_t rank = result->rank();
  if (is_one_of(node, {"aten.mm.default", "aten.bmm.default", "aten.addmm.default"})) {
    const size_t left = node.is("aten.addmm.default") ? 1 : 0;
    Box a = box, b = box;
    a[rank - 1] = b[rank - 2] = {};
    out = {{left, 0, tensor_at(node, left), a}, {left + 1, 0, tensor_at(node, left + 1), b}};
    if (left == 1) out.push_back({0, 0, tensor_at(node, 0), broadcast_box(*tensor_at(node, 0), *result, box)});
    return out;
  }
  return std::vector<Need>{{0, 0, tensor_at(node, 0), box}};  // linear, softmax, norms
}

// At most half of the elements.
bool pays(const Sizes& sizes, const Box& box) {
  double part = 1;
  for (size_t i = 0; i < box.size(); ++i) {
    if (!box[i].whole) part *= static_cast<double>(box[i].length) / static_cast<double>(sizes[i].value());
  }
  return part <= 0.5;
}

class Narrower {
 public:
  explicit Narrower(Graph& graph) : graph_(graph) {}

  Changed run() {
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) demand(**it);
    Changed changed = Changed::no;
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) changed = changed | rebuild(*node);
    erase_unread(graph_, replaced_);
    return changed;
  }

 private:
  // The box of a value that is computed; readers have all been asked.
  Box region(const Value& value) const {
    const auto it = needed_.find(&value);
    return it == needed_.end() || value.num_uses() != value.users().size() ? Box(value.rank()) : it->second;
  }

  void ask(const Value& value, const Box& box) {
    const auto [it, fresh] = needed_.try_emplace(&value, box);
    if (!fresh) it->second = hull(value.sizes(), it->second, box);
  }

  void ask_all(const Node& node) {
    for (const Value* operand : node.operands()) {
      if (operand->type.is_tensor()) ask(*operand, Box(operand->rank()));
    }
  }

  void demand(Node& node) {
    if (node.results().empty() || !node.result()->type.is_tensor() || !node.graphs.empty() || has_effect(node)) {
      ask_all(node);
      return;
    }
    if (bypassed_.count(&node)) return;
    Box box = region(*node.result());
    const bool moves = is_mover(node);
    const auto dims = moves ? std::vector<bool>(box.size(), true) : narrow_dims(node);
    for (size_t i = 0; i < box.size(); ++i) {
      if (!dims || !(*dims)[i]) box[i] = {};
    }
    if (!is_whole(box) && !pays(node.result()->sizes(), box)) box = Box(box.size());
    auto needs = moves || !is_whole(box) ? needs_of(node, box) : std::nullopt;
    if (!needs && moves && !is_whole(box)) {
      box = Box(box.size());
      needs = needs_of(node, box);
    }
    if (!needs) box = Box(box.size());
    computed_[&node] = box;
    if (!needs) {
      ask_all(node);
      return;
    }
    for (const Need& need : *needs) ask(*need.value, need.box);
    if (const auto chain = row_chain(node)) {
      bypassed_.insert({chain->choose, chain->quantize});
      return;
    }
    for (const Value* operand : node.operands()) {
      const auto is_it = [&](const Need& need) { return need.value == operand; };
      if (operand->type.is_tensor() && std::none_of(needs->begin(), needs->end(), is_it))
        ask_unless_cat(node, *operand);
    }
  }

  // Weights and tables are read whole; a part of a concatenation that is left out is not read at all.
  void ask_unless_cat(const Node& node, const Value& operand) {
    if (!node.is("aten.cat.default")) ask(operand, Box(operand.rank()));
  }

  // The value as it is computed now.
  struct Computed {
    Value* value = nullptr;
    Box box;
  };
  Computed computed(Value* value) const {
    const auto it = narrowed_.find(value);
    return it == narrowed_.end() ? Computed{value, Box(value->rank())} : it->second;
  }

  // `box` of a value, as slices of what is computed of it.
  Value* fetch(Builder& b, Value* value, const Box& box) {
    const Computed now = computed(value);
    Box rest(box.size());
    for (size_t i = 0; i < box.size(); ++i) {
      if (box[i] == now.box[i] || box[i].whole) continue;
      rest[i] = {box[i].start - (now.box[i].whole ? 0 : now.box[i].start), box[i].length, false};
    }
    return slice_box(b, now.value, rest);
  }

  Changed rebuild(Node& node) {
    const auto it = computed_.find(&node);
    if (it == computed_.end()) return Changed::no;
    const Box& box = it->second;
    const auto needs = needs_of_any(node, box);
    const bool fed = needs && std::any_of(needs->begin(), needs->end(),
                                          [&](const Need& need) { return narrowed_.count(need.value) != 0; });
    // A slice of a slice of something whole stays what it is.
    if (!needs || (!fed && (is_whole(box) || match_cut(node)))) return Changed::no;
    Builder b(graph_, &node);
    Value* value = rebuilt(b, node, box, *needs);
    for (Node* made : b.made()) {
      for (const OriginPtr& origin : node.more_origins) made->more_origins.push_back(origin);
    }
    replaced_.push_back(&node);
    if (is_whole(box))
      graph_.replace(node.result(), value);
    else
      narrowed_[node.result()] = {value, box};
    return Changed::yes;
  }

  static std::optional<std::vector<Need>> needs_of_any(const Node& node, const Box& box) {
    if (!is_mover(node) && is_whole(box)) return std::nullopt;
    return needs_of(node, box);
  }

  Value* rebuilt(Builder& b, const Node& node, const Box& box, const std::vector<Need>& needs) {
    if (is_mover(node)) return move_box(b, node, fetch(b, needs[0].value, needs[0].box), box);
    if (node.is("aten.cat.default")) {
      Values parts;
      for (const Need& need : needs) parts.push_back(fetch(b, need.value, need.box));
      return parts.size() == 1 ? parts[0] : b.call("aten.cat", {parts, node.arg("dim")});
    }
    if (const auto chain = row_chain(node)) return rebuilt_chain(b, *chain, fetch(b, needs[0].value, needs[0].box));
    std::vector<Arg> args = node.args();
    for (const Need& need : needs) args[need.index] = fetch(b, need.value, need.box);
    return b.call_multi(node.op->name(), std::move(args))[0];
  }

  // The nodes of a chain, around `x`.
  static Value* rebuilt_chain(Builder& b, const QuantizationChain& chain, Value* x) {
    const auto with = [](const Node& node, std::vector<std::pair<const Value*, Value*>> values) {
      std::vector<Arg> args = node.args();
      for (Arg& arg : args) {
        for (const auto& [from, to] : values) {
          if (arg.is<Value*>() && arg.as<Value*>() == from) arg = to;
        }
      }
      return args;
    };
    const auto parameters = b.call_multi(chain.choose->op->name(), with(*chain.choose, {{chain.x, x}}));
    const std::pair<const Value*, Value*> scale{chain.choose->result(0), parameters[0]},
        zero{chain.choose->result(1), parameters[1]};
    Value* elements = b.call_multi(chain.quantize->op->name(), with(*chain.quantize, {{chain.x, x}, scale, zero}))[0];
    return b.call_multi(chain.dequantize->op->name(),
                        with(*chain.dequantize, {{chain.quantize->result(), elements}, scale, zero}))[0];
  }

  Graph& graph_;
  std::unordered_set<const Node*> bypassed_;  // of chains that are made anew
  std::unordered_map<const Value*, Box> needed_;
  std::unordered_map<const Node*, Box> computed_;
  std::unordered_map<const Value*, Computed> narrowed_;
  std::vector<Node*> replaced_;
};

}  // namespace

// Computes only the elements that are read: slices and selects move towards the producers.
//   before: y = linear(a, w); z = add(x, y); n = layer_norm(z); r = select(n, 1, 0)
//   after:  z = add(slice(x, 1, 0, 1), linear(slice(a, 1, 0, 1), w)); r = view(layer_norm(z))
// For each value the smallest box is found that holds what all readers take of it; nodes that treat those dims
// independently (pointwise, linear, products of matrices, quantization by rows, norms, softmax, embedding,
// concatenation, views) compute that box only, where it is at most half of the elements. Others compute all, and are
// sliced. Ensures: no such node computes twice what is read. Keeps: every value that is read; a kernel may add in
// another order for another number of rows. Never more work.
Result<Changed> narrow_early(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Narrower(g).run(); });
}

}  // namespace wick::compiler
