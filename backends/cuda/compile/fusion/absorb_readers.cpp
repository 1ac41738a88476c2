#include <algorithm>
#include <functional>
#include <set>

#include "backends/cuda/compile/expression/substitution.h"
#include "backends/cuda/compile/fusion/fuse_kernels.h"
#include "backends/cuda/compile/kernel/matvec.h"
#include "compiler/support/failure.h"

namespace wick::cuda {
namespace {

// One thread of a row runs the maps after a warp has read the row's columns. Each load or store of the maps takes this
// many columns to be profitable.
constexpr int64_t kColumnsOfAccess = 16;
constexpr size_t kMostCallsOfReader = 64, kMostReductions = 4;

// Which rows of the producer one row of the fused kernel reduces: one, or `members` rows that are `distance` apart.
// These are within a span of members * distance rows that begins at a multiple of its length.
struct Grouping {
  int64_t distance = 0;  // 0: one row
  int64_t members = 1;

  int64_t span() const { return distance == 0 ? 1 : members * distance; }
  // The row of the producer that is member number `member` of row `row` of the fused kernel.
  Sym of(const Sym& row, int64_t member) const {
    if (distance == 0) return row;
    return floor_div(row, Sym(distance)) * Sym(span()) + Sym(member * distance) + sym_mod(row, Sym(distance));
  }
};

class Absorber {
 public:
  Absorber(KernelList& kernels, size_t producer)
      : kernels_(kernels),
        graph_(kernels.graph()),
        producer_(producer),
        kernel_(kernels[producer]),
        rows_(extent_of(kernel_.rows)),
        buffer_(kernel_.row_stores[0].buffer) {}

  void run() {
    find_readers();
    if (readers_.empty()) return;
    LoopKernel fused = kernel_;
    const std::vector<ExpressionPtr> values = regroup(fused);
    if (find_matvec(graph_, kernel_) && !find_matvec(graph_, fused)) return;
    const bool is_read =
        kernels_.only_writer(buffer_) == SIZE_MAX || kernels_.readers(buffer_).size() > readers_.size();
    if (!is_read) fused.row_stores.clear();
    for (const size_t reader : readers_) {
      const LoopKernel& map = kernels_[reader];
      std::optional<std::vector<RowPart>> parts = parts_of(map, grouping_, values);
      for (RowPart& part : *parts) fused.row_parts.push_back(std::move(part));
      LoopKernel nodes;
      nodes.nodes = fused.nodes;
      nodes.inlined = fused.inlined;
      fused.nodes = map.nodes;
      fused.inlined = map.inlined;
      add_nodes_of(nodes, fused);
      fused.why = map.why;
    }
    const size_t last = readers_.back();
    for (const size_t reader : readers_) kernels_.remove(reader);
    kernels_.remove(producer_);
    kernels_.replace(last, std::move(fused));
    if (!is_read) kernels_.drop(buffer_);
  }

 private:
  // Finds maps that can run where the last of them does, and that all read the producer's rows in the same grouping.
  void find_readers() {
    const std::set<size_t> all = kernels_.readers(buffer_);
    if (all.empty()) return;
    KernelUses fused = kernels_.uses(producer_);
    for (size_t i = producer_ + 1; i <= *all.rbegin() && !kernels_.is_divided(producer_, i); ++i) {
      if (!kernels_.has(i)) continue;
      const KernelUses& uses = kernels_.uses(i);
      if (all.count(i) == 0 && !conflict(uses, fused)) continue;
      if (all.count(i) == 0 || !is_apart(uses, fused) || !fits(i)) return;
      readers_.push_back(i);
      fused.add(uses);
    }
  }

  // Whether the map depends on the fused kernel by the producer's rows only: other rows of the kernel run at the same
  // time.
  bool is_apart(KernelUses uses, const KernelUses& fused) const {
    uses.reads.erase(buffer_);
    return !conflict(uses, fused);
  }

  bool fits(size_t index) {
    const LoopKernel& map = kernels_[index];
    const bool sized = std::all_of(map.rows.begin(), map.rows.end(), [](const Loop& l) { return l.extent.is_const(); });
    if (!is_map(map) || !sized) return false;
    if (can_read(map, grouping_)) return true;
    if (grouping_.distance != 0 || map.rows.empty()) return false;
    for (const Grouping& grouping : groupings_of(map)) {
      if (grouping.distance == 0 || rows_.value() % grouping.span() != 0) continue;
      if (kernel_.reductions.size() * static_cast<size_t>(grouping.members) > kMostReductions) continue;
      if (!can_read(map, grouping)) continue;
      const bool all = std::all_of(readers_.begin(), readers_.end(),
                                   [&](size_t reader) { return can_read(kernels_[reader], grouping); });
      if (!all) continue;
      grouping_ = grouping;
      return true;
    }
    return false;
  }

  // The groupings to try: halves of a row, neighbours, and rows at the distance between those that an element of the
  // map reads.
  std::vector<Grouping> groupings_of(const LoopKernel& map) const {
    std::vector<Grouping> out = {{map.rows.back().extent.value() / 2, 2}, {1, 2}};
    std::optional<Sym> nearest;
    std::set<int64_t> distances;
    const compiler::Status status = compiler::catch_failure([&] {
      for_each(expressions_of(map), [&](ExpressionPtr e) {
        if (e->kind != ExpressionKind::load || e->buffer != buffer_ || e->args[0]->kind != ExpressionKind::index)
          return;
        if (!nearest) nearest = e->args[0]->index;
        if (const Sym distance = e->args[0]->index - *nearest; distance.is_const()) distances.insert(distance.value());
      });
    });
    if (!status.ok() || distances.size() < 2) return out;
    const int64_t distance = *std::next(distances.begin()) - *distances.begin();
    const int64_t members = (*distances.rbegin() - *distances.begin()) / distance + 1;
    if (members <= static_cast<int64_t>(kMostReductions)) out.push_back({distance, members});
    return out;
  }

  // Whether `parts` row parts of the map read and write little compared with the columns of a group.
  bool is_little(const LoopKernel& map, const Grouping& grouping, int64_t parts) const {
    size_t calls = 0;
    int64_t accesses = static_cast<int64_t>(map.row_stores.size());
    for_each(expressions_of(map), [&](ExpressionPtr e) {
      calls += e->kind == ExpressionKind::call && e->type != ScalarType::index;
      accesses += e->kind == ExpressionKind::load && e->buffer != buffer_;
    });
    return calls <= kMostCallsOfReader &&
           max_extent(kernel_.columns) * grouping.members >= kColumnsOfAccess * accesses * parts;
  }

  bool can_read(const LoopKernel& map, const Grouping& grouping) {
    const std::vector<ExpressionPtr> any(static_cast<size_t>(grouping.members), graph_.pool.number(0, ScalarType::f32));
    std::optional<std::vector<RowPart>> parts;
    // An index that becomes too large fits no grouping.
    const compiler::Status status = compiler::catch_failure([&] { parts = parts_of(map, grouping, any); });
    return status.ok() && parts && is_little(map, grouping, static_cast<int64_t>(parts->size()));
  }

  // The map as row parts of the fused kernel: one part for each member, or one for the group. Nothing if an element
  // reads of the buffer anything but members of one group. `values`: the buffer's elements, by member.
  std::optional<std::vector<RowPart>> parts_of(const LoopKernel& map, const Grouping& grouping,
                                               const std::vector<ExpressionPtr>& values) {
    auto out = parts_of_members(map, grouping, values);
    return out || grouping.distance == 0 ? out : part_of_groups(map, grouping, values);
  }

  // One part: each element of the map belongs to a group, and the map reads all members of it.
  std::optional<std::vector<RowPart>> part_of_groups(const LoopKernel& map, const Grouping& grouping,
                                                     const std::vector<ExpressionPtr>& values) {
    Sym row = 0;
    for (const Loop& loop : map.rows) row = row * loop.extent + loop.variable;
    std::optional<int64_t> first;
    std::set<int64_t> members;
    bool all = true;
    Substitution with_values(graph_.pool, {}, [&](ExpressionPtr e) -> ExpressionPtr {
      if (e->kind != ExpressionKind::load || e->buffer != buffer_) return nullptr;
      const std::optional<int64_t> read =
          member_read(e, grouping, first, [&](int64_t member) { return grouping.of(row, member); });
      all = all && read;
      if (read) members.insert(*read);
      return read ? values[static_cast<size_t>(*read)] : nullptr;
    });
    RowPart part;
    part.loops = map.rows;
    for (const Store& store : map.row_stores) part.stores.push_back(with_values.of(store));
    if (!all || !first || *first < 0 || members.size() != static_cast<size_t>(grouping.members)) return std::nullopt;
    part.first = *first / grouping.members;
    if (*first + extent_of(map.rows).value() * grouping.members > rows_.value()) return std::nullopt;
    return std::vector<RowPart>{std::move(part)};
  }

  // A part for each member: each element of the map belongs to one member of a group.
  std::optional<std::vector<RowPart>> parts_of_members(const LoopKernel& map, const Grouping& grouping,
                                                       const std::vector<ExpressionPtr>& values) {
    std::vector<RowPart> out;
    std::optional<int64_t> first;  // row of the buffer at which the map's first element's group begins
    for (int64_t member = 0; member < grouping.members; ++member) {
      RowPart part;
      part.loops = map.rows;
      Substitution::Variables variables;
      if (grouping.distance != 0) {
        if (part.loops.empty() || part.loops.back().extent.value() % grouping.span() != 0) return std::nullopt;
        const std::string name(part.loops.back().variable.symbol_name());
        part.loops.back() = part_of(part.loops.back(), grouping.members);
        variables[name] = grouping.of(part.loops.back().variable, member);
      }
      bool all = true;
      const auto value_of = [&](ExpressionPtr e) -> ExpressionPtr {
        if (e->kind != ExpressionKind::load || e->buffer != buffer_) return nullptr;
        const std::optional<int64_t> read =
            member_read(e, grouping, first, [&](int64_t of) { return in_groups(part.loops, grouping, of); });
        all = all && read;
        return read ? values[static_cast<size_t>(*read)] : nullptr;
      };
      Substitution with_values(graph_.pool, variables, value_of);
      for (const Store& store : map.row_stores) part.stores.push_back(with_values.of(store));
      if (!all || !first) return std::nullopt;
      part.first = *first / grouping.members;
      out.push_back(std::move(part));
    }
    const int64_t end = *first + extent_of(map.rows).value();
    return *first >= 0 && end <= rows_.value() ? std::optional(out) : std::nullopt;
  }

  // The member of its element's group that a load reads; nothing if it reads anything else. `rows`: the row of each
  // member, counted from the map's first element. The first load that fits sets `first`, the row at which these begin.
  static std::optional<int64_t> member_read(ExpressionPtr load, const Grouping& grouping, std::optional<int64_t>& first,
                                            const std::function<Sym(int64_t member)>& rows) {
    if (load->args.size() > 1 || load->args[0]->kind != ExpressionKind::index) return std::nullopt;
    for (int64_t member = 0; member < grouping.members; ++member) {
      const Sym begin = load->args[0]->index - rows(member);
      if (!begin.is_const() || begin.value() % grouping.span() != 0) continue;
      if (first && *first != begin.value()) continue;
      first = begin.value();
      return member;
    }
    return std::nullopt;
  }
  // The row of member `member`, counted from the map's first element, where the loops are those of a part: the
  // innermost one has an iteration per group.
  static Sym in_groups(const std::vector<Loop>& loops, const Grouping& grouping, int64_t member) {
    Sym row = 0;
    for (const Loop& loop : loops) row = row * loop.extent + loop.variable;
    if (grouping.distance == 0) return row;
    const Sym& inner = loops.back().variable;
    return (row - inner) * Sym(grouping.members) + grouping.of(inner, member);
  }

  Loop part_of(const Loop& loop, int64_t parts) {
    const std::string name = "p" + std::string(loop.variable.symbol_name());
    const int64_t extent = loop.extent.value() / parts;
    graph_.ranges[name] = {0, std::max<int64_t>(extent - 1, 0)};
    return {Sym::symbol(name), extent};
  }

  // Makes each row of the kernel a group. Returns the values of the buffer's elements, by member.
  std::vector<ExpressionPtr> regroup(LoopKernel& fused) {
    ExpressionPool& pool = graph_.pool;
    if (grouping_.distance == 0) return {as_loaded(pool, fused.row_stores[0])};
    const std::string name(kernel_.rows[0].variable.symbol_name());
    const Loop group = loop_of("g" + name, rows_.value() / grouping_.span()),
               within = loop_of("w" + name, grouping_.distance);
    fused.rows = {group, within};
    if (grouping_.distance == 1) fused.rows.pop_back();
    fused.reductions.clear();
    fused.row_stores.clear();
    std::vector<ExpressionPtr> values;
    for (int64_t member = 0; member < grouping_.members; ++member) {
      Sym row = group.variable * Sym(grouping_.span()) + Sym(member * grouping_.distance);
      if (grouping_.distance > 1) row = row + within.variable;
      const auto shift = static_cast<uint32_t>(fused.reductions.size());
      Substitution of_member(pool, {{name, row}}, [&pool, shift](ExpressionPtr e) -> ExpressionPtr {
        if (e->kind != ExpressionKind::reduced) return nullptr;
        return pool.reduced(e->buffer + shift, e->type, e->number != 0);
      });
      for (const Reduction& reduction : kernel_.reductions) fused.reductions.push_back(of_member.of(reduction));
      fused.row_stores.push_back(of_member.of(kernel_.row_stores[0]));
      values.push_back(as_loaded(pool, fused.row_stores.back()));
    }
    return values;
  }
  Loop loop_of(const std::string& name, int64_t extent) {
    graph_.ranges[name] = {0, extent - 1};
    return {Sym::symbol(name), extent};
  }

  KernelList& kernels_;
  LoweredGraph& graph_;
  const size_t producer_;
  const LoopKernel kernel_;
  const Sym rows_;
  const uint32_t buffer_;
  Grouping grouping_;
  std::vector<size_t> readers_;
};

// Whether the kernel stores the result of row n as element n.
bool stores_rows(LoweredGraph& graph, const LoopKernel& kernel) {
  if (!is_row_sum(graph, kernel) || kernel.rows.size() != 1 || !kernel.rows[0].extent.is_const()) return false;
  const ExpressionPtr offset = kernel.row_stores[0].offset;
  return offset->kind == ExpressionKind::index && offset->index == kernel.rows[0].variable;
}

}  // namespace

void absorb_readers(KernelList& kernels) {
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels.has(i) && stores_rows(kernels.graph(), kernels[i])) Absorber(kernels, i).run();
  }
}

}  // namespace wick::cuda
