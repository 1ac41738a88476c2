// Kernels for tests of the delegate, written like generated text. With the launcher and the stand-in they make a twin
// library.
#include <cstdint>

#include "backends/cuda/twin/fibers.h"

namespace {

template <typename T>
T parameter(void* const* parameters, int index) {
  return *static_cast<T*>(parameters[index]);
}
uint32_t item() { return wick_twin::current.block.x * wick_twin::current.threads.x + wick_twin::current.thread.x; }

// y[i] = x[i] + z[i], i < n
void add(void* const* p) {
  const uint32_t i = item();
  if (i >= static_cast<uint32_t>(parameter<int32_t>(p, 3))) return;
  parameter<float*>(p, 2)[i] = parameter<const float*>(p, 0)[i] + parameter<const float*>(p, 1)[i];
}

// y[i] = x[i] * factor, i < n; n has 64 bits
void scale(void* const* p) {
  const uint32_t i = item();
  if (i >= static_cast<uint64_t>(parameter<int64_t>(p, 3))) return;
  parameter<float*>(p, 2)[i] = parameter<const float*>(p, 0)[i] * static_cast<float>(parameter<int32_t>(p, 1));
}

// y[i] = table[index[i]], i < n; sets bit 1 of the status word for an index that is not below `size`
void gather(void* const* p) {
  const uint32_t i = item();
  if (i >= static_cast<uint32_t>(parameter<int32_t>(p, 4))) return;
  const int64_t index = parameter<const int64_t*>(p, 1)[i];
  const bool is_bad = index < 0 || index >= parameter<int32_t>(p, 5);
  if (is_bad) *parameter<uint32_t*>(p, 3) |= 2;
  parameter<float*>(p, 2)[i] = is_bad ? 0 : parameter<const float*>(p, 0)[index];
}

// y[0] = ++count; sets bit 0 of the status word for x[0] < 0
void arrive(void* const* p) {
  if (item() != 0) return;
  parameter<float*>(p, 1)[0] = static_cast<float>(++*parameter<uint32_t*>(p, 2));
  if (parameter<const float*>(p, 0)[0] < 0) *parameter<uint32_t*>(p, 3) |= 1;
}

// Writes outside its buffer.
void stray(void* const* p) {
  if (item() == 0) parameter<uint8_t*>(p, 0)[-1] = 1;
}

}  // namespace

const wick_twin::TwinKernel kTwinKernels[] = {
    {"add", add, false, "8884"},     {"arrive", arrive, false, "8888"}, {"gather", gather, false, "888844"},
    {"scale", scale, false, "8488"}, {"stray", stray, false, "8"},
};
const uint32_t kNumTwinKernels = 5;
