#include <algorithm>
#include <unordered_set>

#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/regions/box_needs.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::kPointwise;
using compiler::Node;
using compiler::Result;
using compiler::Sym;
using compiler::Value;
using compiler::Values;

namespace {

// Scores up to this size stay as they are. Larger ones are computed in blocks of at most this size, or in larger blocks
// if there would be too many.
constexpr int64_t kMaxBytes = int64_t{4} << 20;
constexpr int64_t kMaxBlocks = 64;
constexpr int64_t kMaxPieces = 64;
// Up to this many heads get a block each: one head needs no transpose.
constexpr int64_t kMaxHeads = 16;

int64_t bytes_of(const Value& value, const Box& box) {
  int64_t bytes = static_cast<int64_t>(dtype_size_bytes(value.dtype()));
  for (const Sym& size : box_sizes(value.sizes(), box)) {
    if (__builtin_mul_overflow(bytes, size.value(), &bytes)) return INT64_MAX;
  }
  return bytes;
}

// The elements of piece `i` of a dimension that is split into `count` pieces.
DimRange piece_of(int64_t size, int64_t count, int64_t i) {
  const int64_t step = (size + count - 1) / count, start = i * step;
  return {start, std::min(step, size - start), false};
}
bool gives_pieces(int64_t size, int64_t count) { return (size + count - 1) / count * (count - 1) < size; }

// A dimension of the end that is split, and the number of pieces.
struct Step {
  size_t dim = 0;
  int64_t count = 1;
};

// Scores and what is computed from them, up to a matmul with the values.
class Attention {
 public:
  Attention(Graph& graph, Node& product) : graph_(graph), product_(product) {}

  bool run() {
    if (!is_static(product_.result()->sizes()) || !collect(*product_.operands()[0]) || !has_scores_) return false;
    find_moves();
    for (; !plan(); moves_.pop_back()) {
      if (moves_.empty()) return false;
    }
    replace();
    return true;
  }

 private:
  // Finds the large values between the two matmuls, each read once and computable in parts. False if sizes are not
  // known, or if none is large.
  bool collect(const Value& value) {
    Node* node = value.producer;
    if (!node || node->results().size() != 1 || !only_reader(value) || !is_static(value.sizes())) return false;
    if (bytes_of(value, Box(value.rank())) <= kMaxBytes) return false;
    const bool scores = node->is("aten.bmm.default");
    const bool between = moves_data(*node) || node->op->has(kPointwise) || is_softmax(*node);
    if (!scores && !between) return false;
    inside_.insert(node);
    has_scores_ = has_scores_ || scores;
    for (const Value* operand : node->operands()) {
      if (!scores && operand->type.is_tensor()) collect(*operand);
    }
    return true;
  }

  void find_moves() {
    for (Value* last = product_.result();;) {
      Node* reader = only_reader(*last);
      if (!reader || (!reader->is("aten.view.default") && !reader->is("aten.permute.default"))) return;
      moves_.push_back(reader);
      last = reader->result();
    }
  }

  Value* end() const { return (moves_.empty() ? &product_ : moves_.back())->result(); }

  // The cost of computing a box of the end.
  struct Cost {
    int64_t scores = 0;  // bytes of the largest value inside
    int64_t values = 0;  // bytes of the product's second operand
  };

  std::optional<Cost> cost_of(Box box) const {
    for (size_t i = moves_.size(); i-- > 0;) {
      const auto before = box_before(*moves_[i], box);
      if (!before) return std::nullopt;
      box = *before;
    }
    const auto needs = needs_of(product_, box);
    Cost cost{0, bytes_of(*(*needs)[1].value, (*needs)[1].box)};
    if (!add_scores(*(*needs)[0].value, (*needs)[0].box, cost)) return std::nullopt;
    return cost;
  }

  bool add_scores(const Value& value, const Box& box, Cost& cost) const {
    if (!is_inside(value)) return true;
    const Node& node = *value.producer;
    cost.scores = std::max(cost.scores, bytes_of(value, box));
    if (node.is("aten.bmm.default")) return true;
    const auto needs = parts_of(node, box);
    if (!needs) return false;
    return std::all_of(needs->begin(), needs->end(),
                       [&](const Need& need) { return add_scores(*need.value, need.box, cost); });
  }

  // The operand boxes that a node inside reads for a box, if it can compute that box alone.
  static std::optional<std::vector<Need>> parts_of(const Node& node, const Box& box) {
    if (moves_data(node)) return needs_of(node, box);
    const auto dims = narrow_dims(node);
    for (size_t i = 0; i < box.size(); ++i) {
      if (!box[i].whole && !(*dims)[i]) return std::nullopt;
    }
    return needs_of(node, box);
  }

  bool is_inside(const Value& value) const { return value.producer && inside_.count(value.producer) != 0; }

  // The largest cost of a piece, if each can be computed alone.
  std::optional<Cost> cost_of_pieces(Box box, const Step& step) const {
    const int64_t size = end()->sizes()[step.dim].value();
    Cost largest;
    for (int64_t i = 0; i < step.count; ++i) {
      box[step.dim] = piece_of(size, step.count, i);
      const auto cost = cost_of(box);
      if (!cost) return std::nullopt;
      largest = {std::max(largest.scores, cost->scores), std::max(largest.values, cost->values)};
    }
    return largest;
  }

  struct Candidate {
    Step step;
    Cost cost;
  };

  // The fewest pieces of a dimension that are small enough, otherwise those with the fewest scores. If there are few
  // heads, one piece for each.
  std::optional<Candidate> best_of_dim(const Box& box, size_t dim, const Cost& whole) const {
    const int64_t size = end()->sizes()[dim].value();
    std::optional<Candidate> best;
    for (int64_t count = 2; count <= std::min(size, kMaxPieces); ++count) {
      const bool is_small = best && best->cost.scores <= limit_;
      if (is_small && (!steps_.empty() || count > kMaxHeads || best->cost.values == whole.values)) break;
      const auto cost = gives_pieces(size, count) ? cost_of_pieces(box, {dim, count}) : std::nullopt;
      if (!cost || cost->scores >= (best ? best->cost : whole).scores) continue;
      best = Candidate{{dim, count}, *cost};
    }
    return best;
  }

  // Splits dimensions of the end. Begins with those along which keys and values are split too, because other dimensions
  // read keys and values once per piece.
  bool plan() {
    steps_.clear();
    Box box(end()->rank());
    auto cost = cost_of(box);
    if (cost) limit_ = std::max(kMaxBytes, cost->scores / kMaxBlocks);
    while (cost && cost->scores > limit_) {
      std::optional<Candidate> best;
      for (size_t dim = 0; dim < box.size(); ++dim) {
        if (!box[dim].whole) continue;
        const auto candidate = best_of_dim(box, dim, *cost);
        if (candidate && (!best || candidate->cost.values < best->cost.values)) best = candidate;
      }
      if (!best) break;
      steps_.push_back(best->step);
      box[best->step.dim] = piece_of(end()->sizes()[best->step.dim].value(), best->step.count, 0);
      cost = best->cost;
    }
    return !steps_.empty();
  }

  // A box of a value from outside, sliced before it is moved.
  Value* fetched(Builder& b, Value* value, const Box& box) const {
    if (is_whole(box)) return value;
    const bool moves = value->producer && moves_data(*value->producer);
    const auto before = moves ? box_before(*value->producer, box) : std::nullopt;
    if (!before) return slice_box(b, value, box);
    return move_box(b, *value->producer, fetched(b, moved(*value->producer), *before), box);
  }

  Value* computed(Builder& b, const Node& node, const Box& box) const {
    const auto needs = needs_of(node, box);
    Values operands;
    for (const Need& need : *needs) {
      operands.push_back(is_inside(*need.value) ? computed(b, *need.value->producer, need.box)
                                                : fetched(b, need.value, need.box));
    }
    return compute_box(b, node, box, *needs, operands);
  }

  Value* moved_block(Builder& b, size_t num_moves, const Box& box) const {
    if (num_moves == 0) return computed(b, product_, box);
    const Node& move = *moves_[num_moves - 1];
    return move_box(b, move, moved_block(b, num_moves - 1, *box_before(move, box)), box);
  }

  Value* blocks(Builder& b, Box box, size_t step) const {
    if (step == steps_.size()) return moved_block(b, moves_.size(), box);
    const auto [dim, count] = steps_[step];
    Values parts;
    for (int64_t i = 0; i < count; ++i) {
      box[dim] = piece_of(end()->sizes()[dim].value(), count, i);
      parts.push_back(blocks(b, box, step + 1));
    }
    return b.call("aten.cat", {std::move(parts), static_cast<int64_t>(dim)});
  }

  // The values between the matmuls that do not depend on scores, as pieces of `box` read them.
  void add_masks(const Value& value, const Box& box, std::vector<Need>& masks) const {
    if (!is_inside(value) || value.producer->is("aten.bmm.default")) return;
    const auto needs = needs_of(*value.producer, box);
    if (!needs) return;
    for (const Need& need : *needs) {
      if (is_inside(*need.value) && !depends_on_scores(*need.value)) masks.push_back(need);
      add_masks(*need.value, need.box, masks);
    }
  }
  bool depends_on_scores(const Value& value) const {
    if (!is_inside(value)) return false;
    if (value.producer->is("aten.bmm.default")) return true;
    const auto operands = value.producer->operands();
    return std::any_of(operands.begin(), operands.end(), [&](const Value* x) { return depends_on_scores(*x); });
  }
  std::vector<Need> masks_of(Box box) const {
    for (size_t i = moves_.size(); i-- > 0;) box = *box_before(*moves_[i], box);
    const auto needs = needs_of(product_, box);
    std::vector<Need> masks;
    add_masks(*(*needs)[0].value, (*needs)[0].box, masks);
    return masks;
  }

  // Pieces that read the same part of a mask follow one another, so that each part is alive for a short time: steps
  // along which a mask changes go first.
  void order_steps() {
    Box box(end()->rank());
    for (const Step& step : steps_) box[step.dim] = piece_of(end()->sizes()[step.dim].value(), step.count, 0);
    const std::vector<Need> first = masks_of(box);
    const auto changes_masks = [&](const Step& step) {
      Box other = box;
      other[step.dim] = piece_of(end()->sizes()[step.dim].value(), step.count, 1);
      const std::vector<Need> second = masks_of(other);
      for (size_t i = 0; i < first.size(); ++i) {
        if (first[i].box != second[i].box) return true;
      }
      return false;
    };
    std::stable_partition(steps_.begin(), steps_.end(), changes_masks);
  }

  void replace() {
    order_steps();
    Value* last = end();
    Builder b(graph_, last->producer);
    Value* value = blocks(b, Box(last->rank()), 0);
    for (Node* made : b.made()) add_origins(*made, product_);
    graph_.replace(last, value);
    erase_unread(graph_, {last->producer});
  }

  Graph& graph_;
  Node& product_;
  std::unordered_set<const Node*> inside_;
  bool has_scores_ = false;
  std::vector<Node*> moves_;  // behind the product, up to the end
  int64_t limit_ = kMaxBytes;
  std::vector<Step> steps_;
};

}  // namespace

// Computes large attention scores in blocks and concatenates the results. A block fits into a cache, and the scores are
// never all in memory.
//   before: y = bmm(softmax(bmm(q, k)), v)
//   after:  y = cat(bmm(softmax(bmm(q[0:1], k[0:1])), v[0:1]), bmm(softmax(bmm(q[1:2], k[1:2])), v[1:2]))
// Between the matmuls there may be views, pointwise operators with other operands (masks, factors) and a softmax over
// the keys. A block holds a range of batches and heads (one each if there are few), or a range of query rows if one
// head is too large. Blocks that read the same part of a computed mask follow one another. Slices are taken before the
// views and permutes that split the heads, and blocks are concatenated after those that merge them, so that the
// permutes of the heads become views. Requires: known sizes; scores above 4 MiB that nothing else reads.  Keeps: every
// value.
Result<Changed> block_attention(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    std::vector<Node*> products;
    for (const auto& node : g.nodes()) {
      if (node->is("aten.bmm.default")) products.push_back(node.get());
    }
    Changed changed = Changed::no;
    for (Node* product : products) {  // what one replaces comes before it
      if (Attention(g, *product).run()) changed = Changed::yes;
    }
    return changed;
  });
}

}  // namespace wick::xnnpack
