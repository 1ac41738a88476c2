#include "backends/cortex_m/kernels/add/add.h"

namespace wick::cortex_m {
namespace {

bool read_addend(KernelContext& context, Span<EValue*> args, Addend* addend) {
  return read_zero_point(context, *args[0], &addend->zero_point) &&
         read_requantization(context, args[1]->integer, args[2]->integer, &addend->scale);
}

}  // namespace

bool read_add(KernelContext& context, Span<EValue*> args, Add* add) {
  const Tensor &a = *args[0]->tensor, &b = *args[4]->tensor, &out = *args[13]->tensor;
  if (!read_operands(context, a, b, out, &add->operands) || !read_addend(context, args.subspan(1, 3), &add->first) ||
      !read_addend(context, args.subspan(5, 3), &add->second) ||
      !read_zero_point(context, *args[8], &add->stage.offset) ||
      !read_requantization(context, args[9]->integer, args[10]->integer, &add->stage) ||
      !read_activation(context, *args[11], *args[12], &add->stage))
    return false;
  add->count = out.numel;
  add->a = a.as<const int8_t>();
  add->b = b.as<const int8_t>();
  add->y = out.as<int8_t>();
  return true;
}

}  // namespace wick::cortex_m
