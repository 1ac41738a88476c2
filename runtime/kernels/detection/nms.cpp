// Non-maximum suppression.   Source: torchvision::nms.
#include "runtime/kernels/dispatch.h"
#include "runtime/kernels/indexing/sort_keys.h"
#include "runtime/kernels/movement/arguments.h"

namespace wick {
namespace kernels {
namespace {

template <typename T>
T overlap(const T* a, const T* b, T area_a, T area_b) {
  const T left = a[0] > b[0] ? a[0] : b[0], top = a[1] > b[1] ? a[1] : b[1];
  const T right = a[2] < b[2] ? a[2] : b[2], bottom = a[3] < b[3] ? a[3] : b[3];
  const T width = right - left > 0 ? right - left : T(0), height = bottom - top > 0 ? bottom - top : T(0);
  const T common = width * height;
  return common / (area_a + area_b - common);
}

/// Visits boxes in `order` (best first) and keeps those that no better kept box covers. Returns how many indices `kept`
/// has.
template <typename T>
int64_t suppress(const T* boxes, const SortItem* order, int64_t count, double threshold, bool* dead, int64_t* kept) {
  auto area = [&](int64_t i) { return (boxes[4 * i + 2] - boxes[4 * i]) * (boxes[4 * i + 3] - boxes[4 * i + 1]); };
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) dead[i] = false;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t best = order[i].index;
    if (dead[best]) continue;
    kept[found++] = best;
    for (int64_t j = i + 1; j < count; ++j) {
      const int64_t other = order[j].index;
      if (dead[other]) continue;
      dead[other] =
          static_cast<double>(overlap(boxes + 4 * best, boxes + 4 * other, area(best), area(other))) > threshold;
    }
  }
  return found;
}

}  // namespace

/// dets [n, 4] of (x1, y1, x2, y2), scores [n]; out: i64 indices of the kept boxes, best first.
void nms_out(KernelContext& context, Span<EValue*> args) {
  const Tensor &boxes = *args[0]->tensor, &scores = *args[1]->tensor;
  Tensor& out = *args[3]->tensor;
  if (!require(context, boxes.rank == 2 && boxes.sizes[1] == 4, "nms: boxes must be [n, 4]") ||
      !require(context, scores.rank == 1 && scores.sizes[0] == boxes.sizes[0], "nms: one score for each box") ||
      !require_dtype(context, scores, boxes.dtype, "nms: boxes and scores differ in dtype") ||
      !require_dtype(context, out, DType::i64, "nms: indices are i64"))
    return;
  const int64_t count = boxes.sizes[0];
  const void *box_data = contiguous_data(context, boxes), *score_data = contiguous_data(context, scores);
  const auto elements = static_cast<size_t>(count);
  SortItem* order = context.allocate_temp_array<SortItem>(elements);
  SortItem* scratch = context.allocate_temp_array<SortItem>(elements);
  bool* dead = context.allocate_temp_array<bool>(elements);
  int64_t* kept = context.allocate_temp_array<int64_t>(elements);
  if (!box_data || !score_data || !order || !scratch || !dead || !kept) return;
  load_items(score_data, scores.dtype, 1, count, true, order);
  sort_items(order, scratch, count);
  int64_t found = 0;
  if (boxes.dtype == DType::f32) {
    found = suppress(static_cast<const float*>(box_data), order, count, args[2]->real, dead, kept);
  } else if (boxes.dtype == DType::f64) {
    found = suppress(static_cast<const double*>(box_data), order, count, args[2]->real, dead, kept);
  } else {
    return context.fail(Error::InvalidType, "nms takes f32 and f64");
  }
  if (!resize_out(context, out, &found, 1)) return;
  copy_view(context, sizeof(int64_t), view_of(out), contiguous_view(kept, &found, 1));
}

}  // namespace kernels
}  // namespace wick
