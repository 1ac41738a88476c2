#include <algorithm>
#include <cstring>

#include "backends/xnnpack/compile/passes/passes.h"
#include "compiler/analysis/zero_signs.h"
#include "compiler/passes/match/bounds.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Bounds;
using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::Node;
using compiler::Result;
using compiler::RuleFn;
using compiler::Sizes;
using compiler::Sym;
using compiler::TargetFacts;
using compiler::Type;
using compiler::Value;
using compiler::Values;
using compiler::wrap_dim;
using compiler::ZeroSigns;

namespace {

constexpr int64_t kMaxSize = 256;  // of a row: more would cost more than copies of its elements
constexpr int64_t kMinPieces = 4;

int64_t last_size(const Value& value) { return value.sizes().back().is_const() ? value.sizes().back().value() : 0; }

// Row r has a 1 in column from[r].
Value* selection(Builder& b, const std::vector<int64_t>& from, int64_t columns) {
  const auto rows = static_cast<int64_t>(from.size());
  std::vector<float> elements(static_cast<size_t>(rows * columns));
  for (int64_t row = 0; row < rows; ++row)
    elements[static_cast<size_t>(row * columns + from[static_cast<size_t>(row)])] = 1;
  std::vector<uint8_t> bytes(elements.size() * sizeof(float));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return b.constant(Type::of(DType::f32, {rows, columns}).tensor, std::move(bytes));
}

class Interleaver {
 public:
  Interleaver(Graph& graph, const TargetFacts& facts)
      : most_(facts.max_unknown_view_sizes), bounds_(graph), signs_(graph) {}

  Value* rewrite(Builder& b, Node& node) {
    if (node.results().empty() || !node.result()->type.is_tensor() || node.result()->dtype() != DType::f32 ||
        node.result()->rank() == 0 || !has_unknown(*node.result()))
      return nullptr;
    Value* out = node.is("aten.slice.Tensor")   ? every_step(b, node)
                 : node.is("aten.view.default") ? alternating(b, node)
                                                : nullptr;
    if (out) bounds_.inherit(out, node.tensor("self"));
    return out;
  }

 private:
  bool has_unknown(const Value& value) const {
    const Sizes& sizes = value.sizes();
    return std::count_if(sizes.begin(), sizes.end(), [](const Sym& size) { return !size.is_const(); }) >
           static_cast<std::ptrdiff_t>(most_);
  }

  // Whether matmuls with zeros and ones give the elements themselves: 0 times x is 0, and x + 0 is x.
  bool is_plain(const Value* x, const Value* result) { return bounds_.is_finite(x) && !signs_.matter(result); }

  // Elements start, start + step .. of rows.
  Value* every_step(Builder& b, Node& node) {
    Value* x = node.tensor("self");
    const Sym start = node.is_none("start") ? Sym(0) : node.integer("start"), step = node.integer("step");
    const int64_t size = last_size(*x), count = last_size(*node.result());
    if (!start.is_const() || !step.is_const() || step.value() < 2 || size == 0 || size > kMaxSize ||
        count < kMinPieces || wrap_dim(node.static_integer("dim"), x->rank()) + 1 != static_cast<int64_t>(x->rank()) ||
        !is_plain(x, node.result()))
      return nullptr;
    const int64_t first = start.value() < 0 ? std::max<int64_t>(start.value() + size, 0) : start.value();
    std::vector<int64_t> from;
    for (int64_t i = 0; i < count; ++i) from.push_back(first + i * step.value());
    return b.call("aten.linear", {x, selection(b, from, size)});
  }

  // A part without its last dimension of size 1, if a view has added that.
  static Value* as_row(const Value& part) {
    const Node* view = part.producer;
    if (!view || !view->is("aten.view.default") || part.rank() < 2 || !part.sizes().back().is(1)) return nullptr;
    Value* row = view->tensor("self");
    return row->sizes() == Sizes(part.sizes().begin(), part.sizes().end() - 1) ? row : nullptr;
  }

  // Rows of alternating elements of several tensors.
  Value* alternating(Builder& b, Node& node) {
    const Node* cat = node.tensor("self")->producer;
    if (!cat || !cat->is("aten.cat.default")) return nullptr;
    const Value& joined = *cat->result();
    const int64_t size = last_size(*node.result()), width = last_size(joined);
    if (joined.rank() < 2 || size == 0 || size > kMaxSize || width == 0 || size / width < kMinPieces ||
        wrap_dim(cat->static_integer("dim"), joined.rank()) + 1 != static_cast<int64_t>(joined.rank()))
      return nullptr;
    Values rows;
    for (const Value* part : cat->tensors("tensors")) {
      Value* row = as_row(*part);
      if (!row || row->rank() != node.result()->rank() || !is_plain(row, node.result())) return nullptr;
      rows.push_back(row);
    }
    Sizes wanted = rows[0]->sizes();
    wanted.back() = size;
    if (wanted != node.result()->sizes() || static_cast<int64_t>(rows.size()) != width) return nullptr;
    std::vector<int64_t> from;
    for (int64_t i = 0; i < size; ++i) from.push_back(i % width * (size / width) + i / width);
    return b.call("aten.linear", {b.call("aten.cat", {rows, -1}), selection(b, from, size)});
  }

  size_t most_;
  Bounds bounds_;
  ZeroSigns signs_;
};

}  // namespace

// Takes every second element of a row, and interleaves rows, by matmuls with zeros and ones: a backend whose views
// have few unknown sizes would copy the elements one by one.
//   before: y = slice(x, -1, 1, 64, 2)                                       after: y = linear(x, E), E[i, 2 i + 1] = 1
//   before: y = view(cat([view(a, [.., 32, 1]), view(b, [.., 32, 1])], -1))  after: y = linear(cat([a, b], -1), P)
// Applies to f32 tensors of up to 256 elements a row that are finite for all finite inputs (Bounds).
// Requires: canonical forms.
// Keeps: every finite value. A row that holds infinity or NaN becomes NaN.
Result<Changed> interleave_by_products(Graph& graph, const TargetFacts& facts) {
  return for_each_graph(graph, [&](Graph& g) {
    const bool any = std::any_of(g.nodes().begin(), g.nodes().end(), [](const auto& node) {
      return node->is("aten.slice.Tensor") || node->is("aten.cat.default");
    });
    if (!any) return Changed::no;
    Interleaver interleaver(g, facts);
    return rewrite_nodes(g, std::vector<RuleFn>{[&](Builder& b, Node& node) { return interleaver.rewrite(b, node); }});
  });
}

}  // namespace wick::xnnpack
