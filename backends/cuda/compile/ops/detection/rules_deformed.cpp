// Convolutions whose taps are moved by offsets from a tensor.   Source: torchvision::deform_conv2d.
#include <fmt/format.h>

#include "backends/cuda/compile/ops/arithmetic.h"
#include "backends/cuda/compile/ops/op_rule.h"

namespace wick::cuda {
namespace {

class DeformedConvolution {
 public:
  DeformedConvolution(Lowering& l, const Node& node)
      : l_(l),
        pool_(l.pool()),
        node_(node),
        x_(node.tensor("input")),
        w_(node.tensor("weight")),
        offset_(node.tensor("offset")),
        y_(node.result()),
        type_(scalar_type(y_->dtype())) {}

  // Rows [n, filter, row, column], columns [channel of the group, kernel row, kernel column].
  void run() {
    for (const char* operand : {"input", "weight", "offset", "mask"}) l_.store_if_expensive(node_.tensor(operand), 2);
    const Sym per_group = w_->sizes()[1], filters = floor_div(w_->sizes()[0], node_.integer("groups"));
    Draft draft = l_.draft(y_->sizes(), {per_group, w_->sizes()[2], w_->sizes()[3]});
    const ExpressionPtr filter = draft.rows[1];
    const ExpressionPtr group = pool_.floor_divide(filter, pool_.index(filters));
    const ExpressionPtr channel = pool_.add(pool_.multiply(group, pool_.index(per_group)), draft.columns[0]);
    const ExpressionPtr weight = l_.element(w_, {filter, draft.columns[0], draft.columns[1], draft.columns[2]});
    ExpressionPtr sum = l_.reduce(draft, ReductionKind::sum, mul(pool_, tap(draft, channel), weight));
    sum = add(pool_, sum, l_.element(node_.tensor("bias"), {filter}));
    const Indices at = draft.rows;
    l_.finish(std::move(draft), {{y_, at, pool_.rounded(sum, y_->dtype())}});
  }

 private:
  struct Place {
    ExpressionPtr low, high, t;  // the neighbouring indices, or -1 outside; the fraction between them
    ExpressionPtr inside;
  };

  // Dimension d of a tap's position: the regular position plus an offset.
  Place place(const Draft& draft, size_t d, ExpressionPtr offset) {
    const std::string side = d == 0 ? "h" : "w";
    const auto argument = [&](const char* name) {
      return pool_.index(node_.integer(fmt::format("{}_{}", name, side)));
    };
    ExpressionPtr whole = pool_.multiply(draft.rows[2 + d], argument("stride"));
    whole = pool_.add(whole, pool_.multiply(draft.columns[1 + d], argument("dilation")));
    whole = pool_.subtract(whole, argument("pad"));
    const ExpressionPtr at = add(pool_, pool_.cast(whole, type_), offset), size = pool_.index(x_->sizes()[2 + d]);
    const ExpressionPtr floor = pool_.call(type_, "floor({0})", {at});
    const auto index = [&](ExpressionPtr value) {
      return pool_.call(ScalarType::index, "grid_index<idx>({0}, {1})", {value, size});
    };
    const ExpressionPtr extent = pool_.cast(size, type_);
    return {index(floor), index(add(pool_, floor, pool_.number(1, type_))), sub(pool_, at, floor),
            pool_.call(ScalarType::boolean, "({0} > -1 && {0} < {1})", {at, extent})};
  }

  // The sample of a channel at a tap, times its mask.
  ExpressionPtr tap(const Draft& draft, ExpressionPtr channel) {
    const ExpressionPtr n = draft.rows[0], row = draft.rows[2], column = draft.rows[3];
    const Sym share = floor_div(x_->sizes()[1], node_.integer("offset_groups"));
    const Sym area = w_->sizes()[2] * w_->sizes()[3];
    const ExpressionPtr kernel =
        pool_.add(pool_.multiply(draft.columns[1], pool_.index(w_->sizes()[3])), draft.columns[2]);
    const ExpressionPtr group = pool_.floor_divide(channel, pool_.index(share));
    const ExpressionPtr number = pool_.add(pool_.multiply(group, pool_.index(area)), kernel);
    const ExpressionPtr twice = pool_.multiply(number, pool_.index(2));
    const Place y = place(draft, 0, l_.element(offset_, {n, twice, row, column}));
    const Place x = place(draft, 1, l_.element(offset_, {n, pool_.add(twice, pool_.index(1)), row, column}));
    const ExpressionPtr one = pool_.number(1, type_), hy = sub(pool_, one, y.t), hx = sub(pool_, one, x.t);
    ExpressionPtr sample = corner(n, channel, y.low, x.low, mul(pool_, hy, hx));
    sample = add(pool_, sample, corner(n, channel, y.low, x.high, mul(pool_, hy, x.t)));
    sample = add(pool_, sample, corner(n, channel, y.high, x.low, mul(pool_, y.t, hx)));
    sample = add(pool_, sample, corner(n, channel, y.high, x.high, mul(pool_, y.t, x.t)));
    sample = pool_.select(pool_.both(y.inside, x.inside), sample, pool_.number(0, type_));
    if (!node_.boolean("use_mask")) return sample;
    return mul(pool_, l_.element(node_.tensor("mask"), {n, number, row, column}), sample);
  }
  ExpressionPtr corner(ExpressionPtr n, ExpressionPtr channel, ExpressionPtr y, ExpressionPtr x, ExpressionPtr weight) {
    const ExpressionPtr zero = pool_.index(0);
    const ExpressionPtr inside = pool_.both(pool_.negation(pool_.less(y, zero)), pool_.negation(pool_.less(x, zero)));
    pool_.push_guard(inside);
    const ExpressionPtr pixel = l_.element(x_, {n, channel, y, x});
    pool_.pop_guard();
    return mul(pool_, weight, pool_.select(inside, pixel, pool_.number(0, type_)));
  }

  Lowering& l_;
  ExpressionPool& pool_;
  const Node& node_;
  const Value *x_, *w_, *offset_, *y_;
  const ScalarType type_;
};

void lower_deform_conv(Lowering& l, const Node& node) { DeformedConvolution(l, node).run(); }

compiler::Verdict offsets_fit(const Node& node, const compiler::TargetContext&) {
  const Value *x = node.tensor("input"), *w = node.tensor("weight"), *offset = node.tensor("offset"),
              *mask = node.tensor("mask"), *y = node.result();
  const Sym groups = node.integer("groups"), offset_groups = node.integer("offset_groups");
  const Sym taps = w->sizes()[2] * w->sizes()[3] * offset_groups;
  const auto is = [&](const Value* value, const Sym& channels) {
    return value->rank() == 4 && same(value->sizes()[0], x->sizes()[0]) && same(value->sizes()[1], channels) &&
           same(value->sizes()[2], y->sizes()[2]) && same(value->sizes()[3], y->sizes()[3]);
  };
  const bool groups_fit = same(x->sizes()[1], w->sizes()[1] * groups) && sym_mod(w->sizes()[0], groups).is(0) &&
                          sym_mod(x->sizes()[1], offset_groups).is(0);
  const Value* bias = node.tensor("bias");
  return agreed(groups_fit && is(offset, taps * 2) && (!node.boolean("use_mask") || is(mask, taps)) &&
                bias->rank() == 1 && same(bias->sizes()[0], w->sizes()[0]));
}

constexpr OpRule kDeformedRows[] = {
    {"torchvision.deform_conv2d.default", lower_deform_conv, offsets_fit},
};

}  // namespace

const Span<const OpRule> kDeformedRules{kDeformedRows};

}  // namespace wick::cuda
