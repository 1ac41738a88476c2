#include "backends/xnnpack/compile/passes/match/cache_attention.h"

#include <algorithm>
#include <limits>

#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/constant_element.h"
#include "compiler/passes/match/pointwise.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Args;
using compiler::Builder;
using compiler::Compose;
using compiler::Graph;
using compiler::kScores;
using compiler::Node;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::wrap_dim;

namespace {

constexpr int kMaxDepthOfCache = 8;

// Scores of overwritten old rows get `hidden`. Masks are at least `floor`, so that a fully masked row of scores still
// prefers each of them. Sums of scores, `max_masks` masks and `hidden` do not overflow.
struct Levels {
  double hidden, floor;
  int max_masks;
  double open;  // hides nothing: min(open, score) is the score
};
std::optional<Levels> levels_of(DType dtype) {
  constexpr double largest = std::numeric_limits<float>::max();
  if (dtype == DType::f32) return Levels{-largest / 2, -largest / 16, 4, largest};
  if (dtype == DType::f16) return Levels{-49152, -32768, 1, 65504};
  return std::nullopt;
}

// Adds a mask, or takes the least of scores and a mask.
bool is_mask_node(const Node& node) { return is_plain_add(node) || node.is("aten.minimum.default"); }
bool is_matmul(const Node& node) { return node.is("aten.bmm.default") || node.is("aten.mm.default"); }

// A dimension counted from the last.
size_t from_end(const Value& value, size_t dim) { return value.rank() - 1 - dim; }

// A select between two numbers, possibly moved, both at least `floor`. Null if the mask is not one.
Value* floored(Builder& b, Value* mask, double floor, int depth = 0) {
  const Node* node = mask->producer;
  if (!node || depth > kMaxDepthOfCache) return nullptr;
  if (moves_data(*node)) {
    Value* inner = floored(b, moved(*node), floor, depth + 1);
    if (!inner || inner == moved(*node)) return inner ? mask : nullptr;
    Args args = node->args();
    args[0] = inner;
    return b.call(node->op->name(), std::move(args));
  }
  if (!node->is("aten.where.self")) return nullptr;
  const auto yes = number_of(node->arg(1), mask->dtype()), no = number_of(node->arg(2), mask->dtype());
  if (!yes || !no) return nullptr;
  if (yes->real >= floor && no->real >= floor) return mask;
  return Compose(b).where(node->tensor("condition"), std::max(yes->real, floor), std::max(no->real, floor),
                          mask->dtype());
}

Sizes with_size(const Sizes& sizes, size_t dim, const Sym& size) {
  Sizes out = sizes;
  out[dim] = size;
  return out;
}

}  // namespace

CacheAttention::CacheAttention(Graph& graph, const std::vector<RowWrite>& writes,
                               const std::unordered_set<const Value*>& computed)
    : graph_(graph), writes_(writes), computed_(computed) {
  for (const RowWrite& write : writes_) {
    const size_t index = groups_.add();
    extended_[write.node->result()] = {write.dim, index, false, false, 0};
    if (!levels_of(write.old->dtype())) groups_.fail(index);
  }
  for (const auto& node : graph_.nodes()) find(*node);
}

const CacheAttention::Extended* CacheAttention::extended(const Value* value) const {
  const auto it = extended_.find(value);
  return it == extended_.end() ? nullptr : &it->second;
}

// --- what can be computed from old and new rows ---

void CacheAttention::fail(const Node& node) {
  for (const Value* operand : node.operands()) {
    if (const Extended* value = extended(operand)) groups_.fail(value->write);
  }
}

// The rows of one tensor correspond to the same rows of the other.
bool CacheAttention::join(const Extended& a, const Extended& b) {
  if (!writes_[a.write].is_at_same_positions(writes_[b.write])) return false;
  groups_.join(a.write, b.write);
  return true;
}

void CacheAttention::find(Node& node) {
  const std::vector<Value*> operands = node.operands();
  if (std::none_of(operands.begin(), operands.end(), [&](const Value* value) { return extended(value); })) return;
  std::optional<Extended> out;
  bool fits = false;
  if (is_matmul(node)) {
    fits = through_product(node, out);
  } else {
    const bool softmax = is_softmax(node);
    out = moves_data(node) ? through_movement(node) : softmax ? through_softmax(node) : through_pointwise(node);
    fits = out.has_value();
  }
  if (!fits) return fail(node);
  if (!out) {
    ends_.insert(&node);
    return;
  }
  const Value* result = node.result();
  if (result->num_uses() != result->users().size()) return fail(node);
  extended_[result] = *out;
}

std::optional<CacheAttention::Extended> CacheAttention::through_movement(const Node& node) const {
  Extended out = *extended(moved(node));
  const auto dim = dim_after(node, out.dim);
  if (!dim) return std::nullopt;
  out.dim = *dim;
  return out;
}

// A tensor with a separate number for each row, known before anything from which rows are computed.
bool CacheAttention::is_outside_term(const Value& term, size_t at, const Extended& by) const {
  return at < term.rank() && term.sizes()[term.rank() - 1 - at].is(writes_[by.write].length()) &&
         !computed_.count(&term);
}

std::optional<CacheAttention::Extended> CacheAttention::through_pointwise(const Node& node) {
  if (!node.op->has(kScores)) return std::nullopt;
  const Value* result = node.result();
  std::optional<Extended> out;
  for (const Value* operand : node.operands()) {
    const Extended* value = extended(operand);
    if (!value) continue;
    Extended now = *value;
    now.dim += result->rank() - operand->rank();
    if (out &&
        (out->dim != now.dim || out->is_softmax || now.is_softmax || out->hides || now.hides || !join(*out, now)))
      return std::nullopt;
    out = now;
  }
  const bool widens = node.is("aten._to_copy.default") && result->dtype() == DType::f32;
  if (!is_floating(result->dtype()) || (out->is_softmax && !node.is("aten._to_copy.default"))) return std::nullopt;
  if (out->hides && !widens && !is_mask_node(node)) return std::nullopt;
  if (node.is("aten.div.Tensor") && !extended(node.tensor_or_null(0))) return std::nullopt;
  for (const Value* operand : node.operands()) {
    const size_t at = from_end(*result, out->dim);
    if (extended(operand) || at >= operand->rank() || operand->sizes()[operand->rank() - 1 - at].is(1)) continue;
    if (!is_outside_term(*operand, at, *out)) return std::nullopt;
    if (!is_mask_node(node)) continue;
    ++out->masks;
    out->hides = true;
  }
  const auto levels = levels_of(result->dtype());
  if (!levels || out->masks > levels->max_masks) return std::nullopt;
  return out;
}

std::optional<CacheAttention::Extended> CacheAttention::through_softmax(const Node& node) const {
  Extended out = *extended(moved(node));
  const auto dim = static_cast<size_t>(wrap_dim(node.static_integer("dim"), node.result()->rank()));
  if (dim != out.dim || out.is_softmax || node.result()->dtype() != moved(node)->dtype()) return std::nullopt;
  out.is_softmax = true;
  return out;
}

// Either the rows stay a dimension of the result, or the result is the sum over them and `out` stays empty.
bool CacheAttention::through_product(const Node& node, std::optional<Extended>& out) {
  const size_t last = node.result()->rank() - 1;
  const Extended *x = extended(node.tensor_or_null(0)), *y = extended(node.tensor_or_null(1));
  if (x && y) {
    const Extended& values = x->is_softmax ? *y : *x;
    return x->is_softmax != y->is_softmax && x->dim == last && y->dim + 1 == last && !values.hides && join(*x, *y);
  }
  if ((x ? x : y)->is_softmax || (x ? x : y)->hides) return false;
  if (x ? x->dim + 1 != last : y->dim != last) return false;
  out = *(x ? x : y);
  return true;
}

// --- the same of parts ---

std::vector<const Node*> CacheAttention::rewrite() {
  const std::vector<Node*> nodes = graph_.node_list();
  std::vector<Node*> unread;
  std::vector<const Node*> done;
  for (size_t i = 0; i < writes_.size(); ++i) {
    if (groups_.has_failed(i)) continue;
    done.push_back(writes_[i].node);
    Builder b(graph_, writes_[i].node);
    parts_[writes_[i].node->result()] = {writes_[i].old, written_rows(b, writes_[i])};
  }
  for (Node* node : nodes) build(*node);
  for (Node* node : nodes) {
    if (ends_.count(node) && node->result()->num_uses() == 0) unread.push_back(node);
  }
  erase_unread(graph_, unread);
  return done;
}

void CacheAttention::build(Node& node) {
  const std::vector<Value*> operands = node.operands();
  const bool is_read =
      std::any_of(operands.begin(), operands.end(), [&](const Value* value) { return parts_.count(value) != 0; });
  if (!is_read) return;
  Builder b(graph_, &node);
  if (ends_.count(&node)) {
    const Parts sums = matmul_parts(b, node);
    graph_.replace(node.result(), b.call("aten.add.Tensor", {sums.old, sums.rows}));
  } else {
    const Extended& out = extended_.at(node.result());
    parts_[node.result()] = moves_data(node)   ? moved_parts(b, node)
                            : is_matmul(node)  ? matmul_parts(b, node)
                            : is_softmax(node) ? softmax_parts(b, node, out)
                                               : pointwise_parts(b, node, out);
  }
  for (Node* made : b.made()) add_origins(*made, node);
}

CacheAttention::Parts CacheAttention::moved_parts(Builder& b, const Node& node) const {
  const Extended& before = *extended(moved(node));
  const Parts& parts = parts_.at(moved(node));
  const bool sized = node.is("aten.view.default") || node.is("aten.expand.default");
  const auto move = [&](Value* part) {
    Args args = node.args();
    args[0] = part;
    if (sized) {
      const Sizes& sizes = node.result()->sizes();
      args[1] = with_size(sizes, extended(node.result())->dim, part->sizes()[before.dim]);
    }
    return b.call(node.op->name(), std::move(args));
  };
  return {move(parts.old), move(parts.rows)};
}

// A term for the old rows and for the written rows. A mask hides the old ones that are overwritten.
CacheAttention::Parts CacheAttention::term_parts(Compose& c, Value* term, const Node& node, const Extended& out,
                                                 bool hide) const {
  const RowWrite& write = writes_[out.write];
  const size_t at = from_end(*node.result(), out.dim);
  const auto dim = static_cast<int64_t>(term->rank() - 1 - at);
  const Levels levels = *levels_of(node.result()->dtype());
  Value* above = is_mask_node(node) ? floored(c.b, term, levels.floor) : term;
  Parts parts{above ? above : term, nullptr};
  parts.rows = c.index_select(parts.old, dim, from_front(c, write));
  if (!above) {  // behind the gather, which backends do not have: they may have this
    parts.old = c.b.call("aten.clamp", {parts.old, levels.floor});
    parts.rows = c.b.call("aten.clamp", {parts.rows, levels.floor});
  }
  if (!hide) return parts;
  const auto hidden = [&](Value* where, Value* x) {
    Sizes sizes{where->sizes()[0]};
    sizes.resize(at + 1, Sym(1));
    where = c.b.reshape(where, std::move(sizes));
    if (is_plain_add(node)) return c.where(where, levels.hidden, x, x->dtype());
    return c.minimum(x, c.where(where, levels.hidden, levels.open, x->dtype()));
  };
  if (Value* replaced = is_replaced(c, write)) parts.rows = hidden(replaced, parts.rows);
  return {hidden(is_written(c, write), parts.old), parts.rows};
}

CacheAttention::Parts CacheAttention::pointwise_parts(Builder& b, const Node& node, const Extended& out) const {
  Compose c(b);
  Args old = node.args(), rows = node.args();
  const size_t at = from_end(*node.result(), out.dim);
  bool hidden = false;  // by an operand
  for (const Value* operand : node.operands()) hidden |= extended(operand) && extended(operand)->hides;
  for (size_t i = 0; i < old.size(); ++i) {
    Value* operand = node.tensor_or_null(i);
    if (!operand) continue;
    const auto it = parts_.find(operand);
    if (it != parts_.end()) {
      old[i] = it->second.old, rows[i] = it->second.rows;
    } else if (is_outside_term(*operand, at, out)) {
      const Parts parts = term_parts(c, operand, node, out, out.hides && !hidden);
      old[i] = parts.old, rows[i] = parts.rows;
    }
  }
  Value* first = b.call(node.op->name(), std::move(old));
  return {first, b.call(node.op->name(), std::move(rows))};
}

CacheAttention::Parts CacheAttention::softmax_parts(Builder& b, const Node& node, const Extended& out) const {
  Compose c(b);
  Parts scores = parts_.at(moved(node));
  if (!out.hides) {
    const RowWrite& write = writes_[out.write];
    const double level = levels_of(node.result()->dtype())->hidden;
    const auto add = [&](Value* part, Value* where) {
      Sizes sizes{where->sizes()[0]};
      sizes.resize(from_end(*node.result(), out.dim) + 1, Sym(1));
      return c.add(part, c.where(b.reshape(where, std::move(sizes)), level, 0.0, part->dtype()));
    };
    scores.old = add(scores.old, is_written(c, write));
    if (Value* replaced = is_replaced(c, write)) scores.rows = add(scores.rows, replaced);
  }
  const auto dim = static_cast<int64_t>(out.dim);
  Args args = node.args();
  args[0] = c.cat({scores.old, scores.rows}, dim);
  Value* all = b.call(node.op->name(), std::move(args));
  const Sym length = scores.old->sizes()[out.dim];
  return {b.slice(all, dim, 0, length), b.slice(all, dim, length, all->sizes()[out.dim])};
}

CacheAttention::Parts CacheAttention::matmul_parts(Builder& b, const Node& node) const {
  Args old = node.args(), rows = node.args();
  for (size_t i = 0; i < old.size(); ++i) {
    const auto it = parts_.find(node.tensor_or_null(i));
    if (it != parts_.end()) old[i] = it->second.old, rows[i] = it->second.rows;
  }
  Value* first = b.call(node.op->name(), std::move(old));
  return {first, b.call(node.op->name(), std::move(rows))};
}

}  // namespace wick::xnnpack
