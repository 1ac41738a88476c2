// Attention over a tensor with newly written rows, computed from the old tensor and the rows.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/passes/match/groups.h"
#include "compiler/passes/match/row_writes.h"

namespace wick::compiler {

/// The result of a softmax does not depend on the order of the keys. So the scores of the old rows, with the
/// overwritten ones masked, and the scores of the new rows side by side have the same softmax as those of the written
/// tensor.
///   before: y = bmm(softmax(bmm(q, written(k)^T) + mask), written(v))
///   after:  p = softmax(cat(bmm(q, k^T) + hidden mask, bmm(q, new k^T) + mask at the positions))
///           y = bmm(p[.., :length], v) + bmm(p[.., length:], new v)
/// Between these nodes there may be views, permutes, casts, factors, additions of other masks, and tanh.
class CacheAttention {
 public:
  /// `writes` are in graph order. `computed` are the values that depend on a matmul.
  CacheAttention(Graph& graph, const std::vector<RowWrite>& writes, const std::unordered_set<const Value*>& computed);

  /// Rewrites, and returns, the writes that only such attention reads inside the graph; afterwards it no longer reads
  /// them. Leaves other writes alone.
  std::vector<const Node*> rewrite();

 private:
  // A value that holds, along `dim`, something for each row of a written tensor.
  struct Extended {
    size_t dim = 0;
    size_t write = 0;
    bool is_softmax = false;
    bool hides = false;  // a sum with the mask that hides old rows
    int masks = 0;       // masks that were added
  };
  struct Parts {
    Value *old = nullptr, *rows = nullptr;
  };

  void find(Node& node);
  void fail(const Node& node);
  const Extended* extended(const Value* value) const;
  bool join(const Extended& a, const Extended& b);
  std::optional<Extended> through_movement(const Node& node) const;
  std::optional<Extended> through_pointwise(const Node& node);
  std::optional<Extended> through_softmax(const Node& node) const;
  bool is_outside_term(const Value& term, size_t from_end, const Extended& by) const;
  bool through_product(const Node& node, std::optional<Extended>& out);

  void build(Node& node);
  Parts parts_of(Node& node, const Extended& out);
  Parts moved_parts(Builder& b, const Node& node) const;
  Parts pointwise_parts(Builder& b, const Node& node, const Extended& out) const;
  Parts softmax_parts(Builder& b, const Node& node, const Extended& out) const;
  Parts matmul_parts(Builder& b, const Node& node) const;
  Parts term_parts(Compose& c, Value* term, const Node& node, const Extended& out, bool hide) const;

  Graph& graph_;
  const std::vector<RowWrite>& writes_;
  const std::unordered_set<const Value*>& computed_;
  std::unordered_map<const Value*, Extended> extended_;
  std::unordered_set<const Node*> ends_;  // products along the rows
  std::unordered_map<const Value*, Parts> parts_;
  Groups groups_;  // of writes
};

}  // namespace wick::compiler
