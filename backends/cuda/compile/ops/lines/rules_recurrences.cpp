// Recurrences, in which each step needs the one before: a block walks through the steps, by a function of the
// vocabulary (text/recurrences.h).
#include "backends/cuda/compile/ops/op_rule.h"
#include "backends/cuda/compile/ops/stored_operand.h"

namespace wick::cuda {
namespace {

using compiler::SymScope;
using compiler::Verdict;

std::vector<ExpressionPtr> indices(ExpressionPool& pool, const std::vector<Sym>& numbers) {
  std::vector<ExpressionPtr> out;
  for (const Sym& number : numbers) out.push_back(pool.index(number));
  return out;
}

// The operand's first element for a row of the kernel: its first dimensions are those of the row.
BlockCall::Place place_of(ExpressionPool& pool, const StoredOperand& operand, const Indices& row, bool writes = false) {
  return {operand.buffer, operand.offset(pool, row), writes};
}

// A block for each channel of a signal.
void lower_recursive_filter(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *x = node.tensor("input_signal_windows"), *a = node.tensor("a_coeff_flipped"), *y = node.result();
  const Sym &samples = x->sizes()[2], &order = a->sizes()[1];
  const StoredOperand from = stored_operand(l, x), factors = stored_operand(l, a);
  l.place_copy(y, node.tensor("padded_output_waveform"));
  const StoredOperand to = stored_operand(l, y);
  Draft draft = l.draft({x->sizes()[0], x->sizes()[1]}, {});
  BlockCall call;
  call.function = "recursive_filter";
  call.waits = false;
  call.operations = samples * order * 2;
  call.places = {place_of(pool, to, draft.rows, true), place_of(pool, from, draft.rows),
                 place_of(pool, factors, {draft.rows[1]})};
  call.numbers = indices(pool, {to.strides[2], from.strides[2], factors.strides[1], samples, order});
  draft.kernel.call = std::move(call);
  l.finish_stores(std::move(draft));
}

// A block for each key head, a thread for each column of its state.
void lower_gated_delta_rule(Lowering& l, const Node& node) {
  ExpressionPool& pool = l.pool();
  const Value *key = node.tensor("key"), *value = node.tensor("value"), *y = node.result(0);
  const Sym &heads = key->sizes()[1], &length = key->sizes()[2], &keys = key->sizes()[3], &values = value->sizes()[3];
  const Sym group = floor_div(y->sizes()[1], heads);
  const StoredOperand q = stored_operand(l, node.tensor("query")), k = stored_operand(l, key),
                      v = stored_operand(l, value), decay = stored_operand(l, node.tensor("decay")),
                      beta = stored_operand(l, node.tensor("beta"));
  const uint32_t out = l.place(y);
  l.place_copy(node.result(1), node.tensor("initial_state"));
  const StoredOperand state = stored_operand(l, node.result(1));
  Draft draft = l.draft({key->sizes()[0], heads}, {});
  const ExpressionPtr first_query = pool.multiply(draft.rows[1], pool.index(group));
  const ExpressionPtr head = l.join(draft.rows, {key->sizes()[0], heads});
  BlockCall call;
  call.function = "gated_delta_rule";
  call.waits = false;
  const int64_t columns = SymScope::range(values).max;
  call.threads = columns <= 32 ? 32 : columns <= 64 ? 64 : columns <= 128 ? 128 : 256;
  call.operations = length * keys * values * (group * 2 + 6);
  call.places = {{out, pool.multiply(head, pool.index(group * length * values)), true},
                 place_of(pool, state, draft.rows, true),
                 place_of(pool, q, {draft.rows[0], first_query}),
                 place_of(pool, k, draft.rows),
                 place_of(pool, v, draft.rows),
                 place_of(pool, decay, draft.rows),
                 place_of(pool, beta, draft.rows)};
  call.numbers =
      indices(pool, {length, keys, values, group, state.strides[2], state.strides[3], q.strides[1], q.strides[2],
                     q.strides[3], k.strides[2], k.strides[3], v.strides[2], v.strides[3], decay.strides[2],
                     decay.strides.size() == 4 ? decay.strides[3] : Sym(0), beta.strides[2]});
  draft.kernel.call = std::move(call);
  l.finish_stores(std::move(draft));
}

Verdict signals_fit(const Node& node, const compiler::TargetContext&) {
  const Value *x = node.tensor("input_signal_windows"), *a = node.tensor("a_coeff_flipped"),
              *start = node.tensor("padded_output_waveform");
  if (SymScope::range(a->sizes()[1]).min < 1) return Verdict::no("the filter may have no coefficients");
  bool fits = same(a->sizes()[0], x->sizes()[1]) && same(start->sizes()[2], x->sizes()[2] + a->sizes()[1] - 1);
  for (const size_t i : {0u, 1u}) fits = fits && same(start->sizes()[i], x->sizes()[i]);
  return agreed(fits);
}

Verdict heads_fit(const Node& node, const compiler::TargetContext&) {
  const Value *q = node.tensor("query"), *k = node.tensor("key"), *v = node.tensor("value"),
              *decay = node.tensor("decay"), *beta = node.tensor("beta"), *state = node.tensor("initial_state");
  bool fits = same(q->sizes()[0], k->sizes()[0]) && same(q->sizes()[2], k->sizes()[2]) &&
              same(q->sizes()[3], k->sizes()[3]) && same(state->sizes()[2], k->sizes()[3]) &&
              same(state->sizes()[3], v->sizes()[3]);
  for (const size_t i : {0u, 1u, 2u})
    fits = fits && same(v->sizes()[i], k->sizes()[i]) && same(decay->sizes()[i], k->sizes()[i]) &&
           same(beta->sizes()[i], k->sizes()[i]) && (i == 2 || same(state->sizes()[i], k->sizes()[i]));
  if (decay->rank() == 4) fits = fits && same(decay->sizes()[3], k->sizes()[3]);
  return agreed(fits);
}

constexpr OpRule kRecurrenceRows[] = {
    {"wick.recursive_filter.default", lower_recursive_filter, signals_fit},
    whole({"llama.gated_delta_rule.default", lower_gated_delta_rule, heads_fit}),
    whole({"llama.channelwise_gated_delta_rule.default", lower_gated_delta_rule, heads_fit}),
};

}  // namespace

const Span<const OpRule> kRecurrenceRules{kRecurrenceRows};

}  // namespace wick::cuda
