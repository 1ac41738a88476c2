#include "backends/cortex_m/kernels/add/add.h"

namespace wick::cortex_m {
namespace {

bool read_addend(KernelContext& context, Span<EValue*> args, Addend* addend) {
  return read_zero_point(context, *args[0], &addend->zero_point) &&
         read_requantization(context, args[1]->integer, args[2]->integer, &addend->scale);
}

/// Up to ExecuTorch 1.2 there is no activation. The return slot counts.
constexpr size_t kArgsWithoutActivation = 13;

Tensor& output(Span<EValue*> args) { return *args[args.size() - 2]->tensor; }

/// Reads everything but `operands`.
bool read_terms(KernelContext& context, Span<EValue*> args, Add* add) {
  if (!read_addend(context, args.subspan(1, 3), &add->first) ||
      !read_addend(context, args.subspan(5, 3), &add->second) ||
      !read_zero_point(context, *args[8], &add->stage.offset) ||
      !read_requantization(context, args[9]->integer, args[10]->integer, &add->stage) ||
      (args.size() != kArgsWithoutActivation && !read_activation(context, *args[11], *args[12], &add->stage)))
    return false;
  add->count = output(args).numel;
  add->a = args[0]->tensor->as<const int8_t>();
  add->b = args[4]->tensor->as<const int8_t>();
  add->y = output(args).as<int8_t>();
  return true;
}

}  // namespace

bool read_add(KernelContext& context, Span<EValue*> args, Add* add) {
  return read_operands(context, *args[0]->tensor, *args[4]->tensor, output(args), &add->operands) &&
         read_terms(context, args, add);
}

bool read_broadcast_add(KernelContext& context, Span<EValue*> args, BroadcastAdd* c) {
  const Tensor &a = *args[0]->tensor, &b = *args[4]->tensor;
  Tensor& out = output(args);
  return require_int8(context, a, out) && require_int8(context, b, out) &&
         read_broadcast(context, a, b, out, &c->broadcast) && read_terms(context, args, &c->add);
}

}  // namespace wick::cortex_m
