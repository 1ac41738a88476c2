// Attention over a tensor with newly written rows, computed from the old tensor and the rows.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "backends/xnnpack/compile/passes/match/groups.h"
#include "backends/xnnpack/compile/passes/match/row_writes.h"

namespace wick::xnnpack {

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
  CacheAttention(compiler::Graph& graph, const std::vector<RowWrite>& writes,
                 const std::unordered_set<const compiler::Value*>& computed);

  /// Rewrites, and returns, the writes that only such attention reads inside the graph; afterwards it no longer reads
  /// them. Leaves other writes alone.
  std::vector<const compiler::Node*> rewrite();

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
    compiler::Value *old = nullptr, *rows = nullptr;
  };

  void find(compiler::Node& node);
  void fail(const compiler::Node& node);
  const Extended* extended(const compiler::Value* value) const;
  bool join(const Extended& a, const Extended& b);
  std::optional<Extended> through_movement(const compiler::Node& node) const;
  std::optional<Extended> through_pointwise(const compiler::Node& node);
  std::optional<Extended> through_softmax(const compiler::Node& node) const;
  bool is_outside_term(const compiler::Value& term, size_t from_end, const Extended& by) const;
  bool through_product(const compiler::Node& node, std::optional<Extended>& out);

  void build(compiler::Node& node);
  Parts parts_of(compiler::Node& node, const Extended& out);
  Parts moved_parts(compiler::Builder& b, const compiler::Node& node) const;
  Parts pointwise_parts(compiler::Builder& b, const compiler::Node& node, const Extended& out) const;
  Parts softmax_parts(compiler::Builder& b, const compiler::Node& node, const Extended& out) const;
  Parts matmul_parts(compiler::Builder& b, const compiler::Node& node) const;
  Parts term_parts(compiler::Compose& c, compiler::Value* term, const compiler::Node& node, const Extended& out,
                   bool hide) const;

  compiler::Graph& graph_;
  const std::vector<RowWrite>& writes_;
  const std::unordered_set<const compiler::Value*>& computed_;
  std::unordered_map<const compiler::Value*, Extended> extended_;
  std::unordered_set<const compiler::Node*> ends_;  // products along the rows
  std::unordered_map<const compiler::Value*, Parts> parts_;
  Groups groups_;  // of writes
};

}  // namespace wick::xnnpack
