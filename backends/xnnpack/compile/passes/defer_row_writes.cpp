#include <algorithm>

#include "backends/xnnpack/compile/passes/match/cache_attention.h"
#include "backends/xnnpack/compile/passes/match/row_writes.h"
#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Arg;
using compiler::Builder;
using compiler::Changed;
using compiler::Compose;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::Sizes;
using compiler::Sym;
using compiler::Value;
using compiler::Values;

namespace {

// If more rows than this part of the cache are written, the second form is cheaper: the scores of the new rows with the
// old ones would cost more.
constexpr int64_t kMaxRowsPart = 4;
// A cache above this size is written before it is read instead of computed as a whole: the computation would take
// longer than the delegate call that it saves.
constexpr int64_t kMaxComputedBytes = int64_t{256} << 10;

class Deferrer {
 public:
  explicit Deferrer(Graph& graph) : graph_(graph) {}

  Changed run() {
    find_writes();
    if (writes_.empty()) return Changed::no;
    std::vector<RowWrite> few;
    std::copy_if(writes_.begin(), writes_.end(), std::back_inserter(few), has_few_rows);
    const std::vector<const Node*> done = CacheAttention(graph_, few, computed_).rewrite();
    for (const RowWrite& write : writes_) {
      if (std::find(done.begin(), done.end(), write.node) == done.end()) compute(write);
    }
    for (const RowWrite& write : writes_) move_last(write);
    return done.empty() && !changed_ ? Changed::no : Changed::yes;
  }

 private:
  // Writes of rows that come from matmuls, to tensors that matmuls read.
  void find_writes() {
    std::unordered_set<const Value*> read;  // by a product, or by what one reads
    for (const auto& node : graph_.nodes()) {
      const auto operands = node->operands();
      const bool depends = std::any_of(operands.begin(), operands.end(), [&](Value* v) { return computed_.count(v); });
      if (!depends && !is_matmul_or_convolution(*node)) continue;
      computed_.insert(node->results().begin(), node->results().end());
    }
    for (auto it = graph_.nodes().rbegin(); it != graph_.nodes().rend(); ++it) {
      const auto& results = (*it)->results();
      const bool leads = std::any_of(results.begin(), results.end(), [&](Value* v) { return read.count(v); });
      if (!leads && !is_matmul_or_convolution(**it)) continue;
      for (const Value* operand : (*it)->operands()) read.insert(operand);
    }
    for (const auto& node : graph_.nodes()) {
      const auto write = match_row_write(*node);
      if (write && computed_.count(write->rows) && has_known_positions(*write) && read.count(node->result()))
        writes_.push_back(*write);
    }
  }

  bool has_known_positions(const RowWrite& write) const {
    return write.positions ? computed_.count(write.positions) == 0 : range_of(write.start, graph_.ranges).min >= 0;
  }

  static bool has_few_rows(const RowWrite& write) {
    return write.count.is_const() && write.count.value() >= 1 &&
           write.count.value() <= std::max<int64_t>(1, write.length() / kMaxRowsPart);
  }

  void move_last(const RowWrite& write) {
    Value* result = write.node->result();
    if (!result->users().empty()) return;
    graph_.move(write.node, nullptr);
    if (!write.node->is("aten.scatter.src")) return;
    Builder b(graph_, write.node);  // as an operator that can write in place
    Values indices(write.dim + 1, nullptr);
    indices.back() = b.reshape(write.positions, {write.count});
    graph_.replace(result, b.call("aten.index_put", {write.old, std::move(indices), write.rows}));
    erase_unread(graph_, {write.node});
  }

  // --- the whole tensor, computed ---

  void compute(const RowWrite& write) {
    const auto bytes = static_sizes(write.old->sizes());
    if (!bytes || write.count.is(0)) return;
    int64_t size = static_cast<int64_t>(dtype_size_bytes(write.old->dtype()));
    for (const int64_t count : *bytes) {
      if (__builtin_mul_overflow(size, count, &size) || size == 0 || size > kMaxComputedBytes) return;
    }
    Builder b(graph_, write.node);
    const auto before = now_.find(write.old);
    Value* value = written(b, write, before == now_.end() ? write.old : before->second);
    for (Node* made : b.made()) add_origins(*made, *write.node);
    now_[write.node->result()] = value;
    const std::vector<Node*> readers = write.node->result()->users();
    for (Node* reader : readers) read_instead(*reader, write.node->result(), value);
    changed_ = true;
  }

  static Value* written(Builder& b, const RowWrite& write, Value* old) {
    Compose c(b);
    const Sizes& sizes = write.old->sizes();
    const auto dim = static_cast<ptrdiff_t>(write.dim);
    const DType dtype = write.old->dtype();
    Value* is_at = is_written(c, write);
    Sizes column{write.length()};
    column.resize(sizes.size() - write.dim, Sym(1));
    Value* kept = c.mul(old, b.reshape(c.where(is_at, 0.0, 1.0, dtype), column));
    if (write.count.is(1)) return c.add(kept, c.mul(write.rows, b.reshape(c.where(is_at, 1.0, 0.0, dtype), column)));
    const Sym before = numel(Sizes(sizes.begin(), sizes.begin() + dim)),
              behind = numel(Sizes(sizes.begin() + dim + 1, sizes.end()));
    Value* from = c.where(is_written_with(c, write), 1.0, 0.0, dtype);
    from = b.expand(b.reshape(from, {1, write.length(), write.count}), {before, write.length(), write.count});
    Value* placed = b.call("aten.bmm", {from, b.reshape(written_rows(b, write), {before, write.count, behind})});
    return c.add(kept, b.reshape(placed, sizes));
  }

  // The reader reads `to` instead. A later write keeps `from` as the tensor that it writes into.
  void read_instead(Node& reader, const Value* from, Value* to) {
    const bool writes =
        std::any_of(writes_.begin(), writes_.end(), [&](const RowWrite& w) { return w.node == &reader; });
    for (size_t i = writes ? size_t{1} : 0; i < reader.args().size(); ++i) {
      const Arg& arg = reader.arg(i);
      if (arg.is<Value*>() && arg.as<Value*>() == from) graph_.set_arg(&reader, i, to);
      if (!arg.is<Values>()) continue;
      Values values = arg.as<Values>();
      std::replace(values.begin(), values.end(), const_cast<Value*>(from), to);
      graph_.set_arg(&reader, i, std::move(values));
    }
  }

  Graph& graph_;
  std::vector<RowWrite> writes_;
  std::unordered_map<const Value*, Value*> now_;  // what is computed instead of a write's result
  std::unordered_set<const Value*> computed_;     // values that depend on a matmul or convolution
  bool changed_ = false;
};

}  // namespace

// Moves the writes of rows into a key-value cache to the end. Backends cannot write; after this pass the writes come
// after all matmuls instead of between those of each layer.
//   before: k = index_put(cache, [.., position], row); y = attention(q, k, ..)
//   after:  y = attention over the row and the cache, without the cache's row at `position`; k = index_put(..), unread
// Positions may be any. Of equal positions the last one counts. Negative ones count from the end. There are two forms:
// - Attention over old and new rows side by side (cache_attention.h), for few rows that only attention reads.
// - Otherwise, for a cache of at most 256 KiB: k' = cache * (1 - written) + placed, where `placed` holds the new rows
//   at their positions and 0 elsewhere.
// Requires: additive_masks has run.
// Ensures: readers of such a write, except outputs and state updates, read the old cache.
// Keeps: every finite value, up to the order of additions in softmax. Differs where overwritten rows, or in the second
// form new rows, hold inf or NaN (0 times these), and where a mask holds numbers below -2e37 (in f16: -32768), which
// count as that number.
Result<Changed> defer_row_writes(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) { return Deferrer(g).run(); });
}

}  // namespace wick::xnnpack
