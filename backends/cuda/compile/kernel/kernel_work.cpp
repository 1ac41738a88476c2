#include "backends/cuda/compile/kernel/kernel_work.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/checked.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;

uint64_t times(uint64_t a, uint64_t b) {
  uint64_t out = 0;
  return checked_mul(a, b, &out) ? out : UINT64_MAX;
}
void add_to(uint64_t& sum, uint64_t more) { sum = sum > UINT64_MAX - more ? UINT64_MAX : sum + more; }

uint64_t most_elements(const Sym& size) {
  return static_cast<uint64_t>(std::max<int64_t>(SymScope::range(size).max, 0));
}

class Worker {
 public:
  Worker(const LoweredGraph& graph, const LoopKernel& kernel) : graph_(graph) {
    for (const auto* loops : {&kernel.rows, &kernel.columns}) {
      for (const Loop& loop : *loops) add_loop(loop);
    }
    rows_ = extent(kernel.rows), columns_ = extent(kernel.columns);
    for (const Loop& loop : kernel.rows) row_symbols_.insert(std::string(loop.variable.symbol_name()));
    if (kernel.attention) attention(*kernel.attention);
    for (const Reduction& reduction : kernel.reductions) reduce(reduction);
    if (kernel.line && kernel.line->kind == Line::Kind::merged) merge(*kernel.line);
    if (kernel.call) this->call(*kernel.call);
    for (const Store& store : kernel.row_stores) this->store(store);
    for (const Store& store : kernel.column_stores) this->store(store);
    for (const RowPart& part : kernel.row_parts) store_part(part, kernel.rows);
    for (const auto& prologue : kernel.prologues) run_first(*prologue);
    for (const auto& other : kernel.beside) run_beside(*other);
    for (const auto& [buffer, touched] : reads_) add_to(work_.read_bytes, bytes(buffer, touched));
    for (const auto& [buffer, touched] : writes_) {
      work_.written.emplace_back(buffer, bytes(buffer, touched));
      add_to(work_.written_bytes, work_.written.back().second);
    }
  }
  const KernelWork& work() const { return work_; }

 private:
  using Symbols = std::set<std::string, std::less<>>;
  // The elements of a buffer that loads or stores name: at most `count`, between `first` and `last`.
  struct Touched {
    uint64_t count = 0;
    int64_t first = 0, last = INT64_MAX;
  };

  void add_loop(const Loop& loop) { extents_[std::string(loop.variable.symbol_name())] = most_elements(loop.extent); }
  static uint64_t extent(const std::vector<Loop>& loops) {
    uint64_t product = 1;
    for (const Loop& loop : loops) product = times(product, most_elements(loop.extent));
    return product;
  }
  uint64_t points(const Symbols& symbols) const {
    uint64_t product = 1;
    for (const std::string& symbol : symbols) {
      const auto loop = extents_.find(symbol);
      if (loop != extents_.end()) product = times(product, loop->second);
    }
    return product;
  }

  // Which loops an expression depends on. Counts what it computes, the first time.
  const Symbols& visit(ExpressionPtr e) {
    const auto known = symbols_.find(e);
    if (known != symbols_.end()) return known->second;
    Symbols symbols;
    if (e->kind == ExpressionKind::index) collect_symbols(e->index, symbols);
    if (e->kind == ExpressionKind::reduced) symbols = e->buffer == product_ ? pair_symbols_ : row_symbols_;
    for (const ExpressionPtr arg : e->args) {
      const Symbols& more = visit(arg);
      symbols.insert(more.begin(), more.end());
    }
    if (e->kind == ExpressionKind::call && is_real(e->type)) {
      add_to(work_.flops, points(symbols));
      work_.uses_f64 = work_.uses_f64 || e->type == ScalarType::f64;
    }
    if (e->kind == ExpressionKind::load) touch(reads_, e->buffer, e->args[0], symbols);
    return symbols_[e] = std::move(symbols);
  }

  void touch(std::map<uint32_t, Touched>& all, uint32_t buffer, ExpressionPtr offset, const Symbols& symbols) {
    Touched now = {points(symbols), 0, INT64_MAX};
    if (offset->kind == ExpressionKind::index) {
      const compiler::SymRange range = SymScope::range(offset->index);
      now.first = std::max<int64_t>(range.min, 0);
      now.last = std::max(range.max, now.first);
    }
    const auto [found, fresh] = all.try_emplace(buffer, now);
    if (fresh) return;
    add_to(found->second.count, now.count);
    found->second.first = std::min(found->second.first, now.first);
    found->second.last = std::max(found->second.last, now.last);
  }

  uint64_t bytes(uint32_t buffer, const Touched& touched) const {
    const KernelBuffer& held = graph_.buffers[buffer];
    uint64_t elements = std::min(touched.count, most_elements(held.elements));
    if (touched.last - touched.first < INT64_MAX)
      elements = std::min(elements, static_cast<uint64_t>(touched.last - touched.first) + 1);
    return times(elements, dtype_size_bytes(held.dtype));
  }

  void reduce(const Reduction& reduction) {
    visit(reduction.element);
    if (reduction.guard) visit(reduction.guard);
    if (!is_real(reduction.type)) return;
    add_to(work_.flops, times(rows_, columns_));
    work_.uses_f64 = work_.uses_f64 || reduction.type == ScalarType::f64;
  }

  void attention(const Attention& attention) {
    add_loop(attention.key);
    add_loop(attention.feature);
    product_ = 1;
    pair_symbols_ = row_symbols_;
    pair_symbols_.insert(std::string(attention.key.variable.symbol_name()));
    for (const ExpressionPtr part : {attention.query, attention.key_element, attention.score, attention.value})
      visit(part);
    const uint64_t scores = times(rows_, most_elements(attention.key.extent));
    // Two products; for each score an exponential, a maximum and a sum.
    add_to(work_.flops, times(scores, times(2, most_elements(attention.feature.extent))));
    add_to(work_.flops, times(scores, times(2, columns_)));
    add_to(work_.flops, times(scores, 3));
  }

  // Each column of a merged row reads one element of its runs.
  void merge(const Line& line) {
    for (const uint32_t buffer : {line.values, line.positions}) reads_[buffer].count = times(rows_, columns_);
  }

  void call(const BlockCall& call) {
    add_to(work_.flops, times(rows_, most_elements(call.operations)));
    for (const BlockCall::Place& place : call.places) {
      work_.uses_f64 = work_.uses_f64 || graph_.buffers[place.buffer].dtype == DType::f64;
      const Touched all = {most_elements(graph_.buffers[place.buffer].elements), 0, INT64_MAX};
      reads_.try_emplace(place.buffer, all);
      if (place.writes) writes_.try_emplace(place.buffer, all);
    }
  }

  void store(const Store& store) {
    visit(store.value);
    if (store.guard) visit(store.guard);
    const Symbols symbols = visit(store.offset);
    touch(writes_, store.buffer, store.offset, symbols);
  }

  // Counts the stores of a part once per row of the part instead of once per row of the kernel.
  void store_part(const RowPart& part, const std::vector<Loop>& rows) {
    const Symbols all = row_symbols_;
    symbols_.clear();
    row_symbols_.clear();
    for (const Loop& loop : rows) extents_[std::string(loop.variable.symbol_name())] = 1;
    for (const Loop& loop : part.loops) {
      add_loop(loop);
      row_symbols_.insert(std::string(loop.variable.symbol_name()));
    }
    for (const Store& store : part.stores) this->store(store);
    for (const Loop& loop : rows) add_loop(loop);
    row_symbols_ = all;
  }

  // Counted once, though each block runs it. Its result stays in the block's shared memory.
  void run_first(const LoopKernel& prologue) {
    Worker worker(graph_, prologue);
    add_to(work_.flops, worker.work_.flops);
    work_.uses_f64 = work_.uses_f64 || worker.work_.uses_f64;
    reads_.erase(prologue.column_stores[0].buffer);
    add_touched(worker.reads_, reads_);
  }

  void run_beside(const LoopKernel& other) {
    Worker worker(graph_, other);
    add_to(work_.flops, worker.work_.flops);
    work_.uses_f64 = work_.uses_f64 || worker.work_.uses_f64;
    add_touched(worker.reads_, reads_);
    add_touched(worker.writes_, writes_);
  }

  static void add_touched(const std::map<uint32_t, Touched>& more, std::map<uint32_t, Touched>& all) {
    for (const auto& [buffer, touched] : more) {
      const auto [found, fresh] = all.try_emplace(buffer, touched);
      if (fresh) continue;
      add_to(found->second.count, touched.count);
      found->second.first = std::min(found->second.first, touched.first);
      found->second.last = std::max(found->second.last, touched.last);
    }
  }

  const LoweredGraph& graph_;
  std::map<std::string, uint64_t, std::less<>> extents_;
  std::map<ExpressionPtr, Symbols> symbols_;
  std::map<uint32_t, Touched> reads_, writes_;
  Symbols row_symbols_;
  uint32_t product_ = UINT32_MAX;  // the reduction that is query . key. pair_symbols_: the loops that it depends on
  Symbols pair_symbols_;
  uint64_t rows_ = 1, columns_ = 1;
  KernelWork work_;
};

}  // namespace

KernelWork work_of(const LoweredGraph& graph, const LoopKernel& kernel) { return Worker(graph, kernel).work(); }

}  // namespace wick::cuda
