#include "backends/cuda/compile/expression/substitution.h"

namespace wick::cuda {

ExpressionPtr Substitution::of(ExpressionPtr expression) {
  if (!expression) return nullptr;
  if (const auto found = known_.find(expression); found != known_.end()) return found->second;
  return known_[expression] = made(expression);
}

Reduction Substitution::of(Reduction reduction) {
  for (ExpressionPtr* part : {&reduction.element, &reduction.guard, &reduction.position}) *part = of(*part);
  if (reduction.guard && is_true(reduction.guard)) reduction.guard = nullptr;
  return reduction;
}

Store Substitution::of(Store store) {
  for (ExpressionPtr* part : {&store.offset, &store.value, &store.guard}) *part = of(*part);
  if (store.guard && is_true(store.guard)) store.guard = nullptr;
  return store;
}

ExpressionPtr Substitution::made(ExpressionPtr e) {
  if (e->kind == ExpressionKind::number) return e;
  if (e->kind == ExpressionKind::index) return pool_.index(substitute(e->index, variables_));
  if (e->kind == ExpressionKind::reduced) {
    const ExpressionPtr other = replace_ ? replace_(e) : nullptr;
    return other ? other : e;
  }
  std::vector<ExpressionPtr> args;
  for (const ExpressionPtr arg : e->args) args.push_back(of(arg));
  return e->kind == ExpressionKind::load ? load(*e, args) : call(*e, std::move(args));
}

ExpressionPtr Substitution::load(const Expression& e, const std::vector<ExpressionPtr>& args) {
  const ExpressionPtr guard = args.size() > 1 ? args[1] : nullptr;
  if (guard && is_false(guard)) return pool_.constant(0, 0, e.type);
  if (guard) pool_.push_guard(guard);
  const ExpressionPtr made = pool_.load(e.buffer, e.dtype, args[0]);
  if (guard) pool_.pop_guard();
  const ExpressionPtr other = replace_ ? replace_(made) : nullptr;
  return other ? other : made;
}

ExpressionPtr Substitution::call(const Expression& e, std::vector<ExpressionPtr> args) {
  const bool is_known = e.type == ScalarType::boolean && args.size() == 1 && args[0]->kind == ExpressionKind::index &&
                        args[0]->index.is_const();
  if (e.text == "({0} != 0)" && is_known) return pool_.cast(args[0], ScalarType::boolean);
  if (e.text == "({0} ? {1} : {2})" && (is_true(args[0]) || is_false(args[0])))
    return pool_.select(args[0], args[1], args[2]);
  if (e.text == "({0} && {1})") return pool_.both(args[0], args[1]);
  if (e.text == "(!{0})") return pool_.negation(args[0]);
  return pool_.call(e.type, e.text, std::move(args));
}

ExpressionPtr as_loaded(ExpressionPool& pool, const Store& store) {
  const ExpressionPtr value = pool.cast(store.value, scalar_type(store.dtype));
  const ExpressionPtr rounded = pool.rounded(value, store.dtype);
  const bool is_rounded = value->kind == ExpressionKind::call && value->text == rounded->text;
  return is_rounded ? value : rounded;
}

}  // namespace wick::cuda
