#include <algorithm>

#include "backends/xnnpack/compile/passes/passes.h"
#include "backends/xnnpack/compile/passes/regions/boxes.h"
#include "compiler/analysis/data_movement.h"
#include "compiler/passes/constants/weights.h"
#include "compiler/passes/rewrite.h"

namespace wick::xnnpack {

using compiler::Builder;
using compiler::Changed;
using compiler::Graph;
using compiler::LinearLayer;
using compiler::NewWeights;
using compiler::Node;
using compiler::Result;
using compiler::Sizes;
using compiler::Value;
using compiler::wrap_dim;

namespace {

constexpr size_t kMaxLinearPieces = 8, kMaxMoves = 8;

// The part of a matmul's result that one reader takes.
struct Piece {
  Node* reader = nullptr;
  std::vector<Box> boxes;  // of the results of the data-movement operators, outermost first, then of the product
  DimRange outputs;
};

class LinearSplitter {
 public:
  LinearSplitter(Graph& graph, const LinearLayer& layer) : graph_(graph), layer_(layer) {}

  bool run() {
    if (layer_.weight()->num_uses() != 1) return false;  // a step of a loop: each would get weights of its own
    find_moves();
    if (last_->users().size() < 2 || last_->users().size() > kMaxLinearPieces ||
        last_->num_uses() != last_->users().size())
      return false;
    for (Node* reader : last_->users()) {
      if (!add_piece(*reader)) return false;
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.outputs.start < b.outputs.start; });
    for (size_t i = 1; i < pieces_.size(); ++i) {
      if (pieces_[i].outputs.start < pieces_[i - 1].outputs.start + pieces_[i - 1].outputs.length) return false;
    }
    return split();
  }

 private:
  // The views and permutes after the matmul that all readers share.
  void find_moves() {
    last_ = layer_.node->result();
    while (moves_.size() < kMaxMoves) {
      Node* reader = only_reader(*last_);
      if (!reader || (!reader->is("aten.view.default") && !reader->is("aten.permute.default"))) return;
      moves_.push_back(reader);
      last_ = reader->result();
    }
  }

  bool add_piece(Node& reader) {
    const auto cut = match_slice(reader);
    if (!cut || cut->range.whole) return false;
    Piece piece{&reader, {Box(last_->rank())}, {}};
    piece.boxes[0][cut->dim] = cut->range;
    for (size_t i = moves_.size(); i-- > 0;) {
      const auto box = box_before(*moves_[i], piece.boxes.back());
      if (!box) return false;
      piece.boxes.push_back(*box);
    }
    Box box = piece.boxes.back();
    piece.outputs = box.back();
    box.back() = {};
    if (piece.outputs.whole || !is_whole(box)) return false;
    pieces_.push_back(std::move(piece));
    return true;
  }

  bool split() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      NewWeights weights = weights_of_outputs(layer_, static_cast<size_t>(piece.outputs.start),
                                              static_cast<size_t>(piece.outputs.length));
      Value* value = layer_like(graph_, layer_, std::move(weights));
      Builder b(graph_, piece.reader);
      if (Value* direct = without_cut_dim(b, piece, value)) {
        graph_.replace(piece.reader->result(), direct);
        graph_.erase(piece.reader);
        continue;
      }
      for (size_t m = 0; m < moves_.size(); ++m) {
        b.set_origin(moves_[m]->origin);
        value = move_box(b, *moves_[m], value, piece.boxes[moves_.size() - 1 - m]);
      }
      b.set_origin(piece.reader->origin);
      graph_.replace(piece.reader->result(), b.reshape(value, piece.reader->result()->sizes()));
      graph_.erase(piece.reader);
    }
    for (size_t m = moves_.size(); m-- > 0;) graph_.erase(moves_[m]);
    graph_.erase(layer_.node);
    return true;
  }

  // A piece of size 1 of permute(view(y)): the dim that is sliced may be absent.
  Value* without_cut_dim(Builder& b, const Piece& piece, Value* value) {
    if (moves_.size() != 2) return nullptr;
    if (!moves_[0]->is("aten.view.default") || !moves_[1]->is("aten.permute.default")) return nullptr;
    const Node &view = *moves_[0], &permute = *moves_[1];
    const auto order = permute.static_ints("dims");
    const size_t rank = order.size(), cut = match_slice(*piece.reader)->dim;
    const auto gone = wrap_dim(order[cut], rank);
    Sizes sizes = box_sizes(view.result()->sizes(), piece.boxes[1]);
    if (!sizes[static_cast<size_t>(gone)].is(1)) return nullptr;
    sizes.erase(sizes.begin() + gone);
    std::vector<int64_t> dims;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t dim = wrap_dim(order[i], rank);
      if (i != cut) dims.push_back(dim > gone ? dim - 1 : dim);
    }
    b.set_origin(view.origin);
    Value* seen = b.reshape(value, std::move(sizes));
    b.set_origin(permute.origin);
    Value* out = b.permute(seen, std::move(dims));
    b.set_origin(piece.reader->origin);
    return b.reshape(out, piece.reader->result()->sizes());  // a slice keeps the dim
  }

  Graph& graph_;
  const LinearLayer layer_;
  Value* last_ = nullptr;
  std::vector<Node*> moves_;
  std::vector<Piece> pieces_;
};

}  // namespace

// Splits a linear, mm or addmm with constant weights if its result is only read in pieces along its outputs.
//   before: y = linear(x, w, b); q = slice(y, -1, 0, 8); k = slice(y, -1, 8, 24)
//   after:  q = linear(x, w[0:8], b[0:8]); k = linear(x, w[8:24], b[8:24])
// The pieces (at most 8) are slices or selects that do not overlap, also after views and permutes that all of them
// share. Nothing else reads the weights.
// Requires: constants are folded.  Ensures: no such linear remains.
// Keeps: every product and sum. A kernel may add in a different order for a different width.
Result<Changed> split_linears(Graph& graph) {
  return for_each_graph(graph, [](Graph& g) {
    Changed changed = Changed::no;
    for (auto it = g.nodes().begin(); it != g.nodes().end();) {
      const auto before = it == g.nodes().begin() ? g.nodes().end() : std::prev(it);
      const auto layer = (*it)->is("aten.convolution.default") ? std::nullopt : match_linear_layer(**it);
      const auto next = std::next(it);
      Node* node = next == g.nodes().end() ? nullptr : next->get();
      if (!layer || !node || !LinearSplitter(g, *layer).run()) {
        ++it;
        continue;
      }
      changed = Changed::yes;
      it = before == g.nodes().end() ? g.nodes().begin() : std::next(before);
    }
    return changed;
  });
}

}  // namespace wick::xnnpack
