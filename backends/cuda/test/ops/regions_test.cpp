// Boxes of images: the pixels that they read depend on data.
#include "backends/cuda/test/lower_test_support.h"

namespace wick::cuda {
namespace {

HostTensor boxes_of(const std::vector<float>& values) {
  HostTensor out;
  out.dtype = DType::f32;
  out.sizes = {static_cast<int32_t>(values.size() / 5), 5};
  out.bytes.resize(values.size() * sizeof(float));
  std::memcpy(out.bytes.data(), values.data(), out.bytes.size());
  return out;
}
// Boxes of two images: one larger than the image, one outside it, one that ends before it begins, one without pixels.
HostTensor boxes() {
  return boxes_of(
      {0, 1.5f, 0.25f, 9.75f, 12, 1, -30, -20, 500.5f, 90, 1, 100, 100, 120, 130, 0, 8, 9, 2, 3, 0, 3, 3, 3, 3});
}

class CudaRegions : public CudaLower {
 protected:
  void compile_all(int samples, bool aligned) {
    compile(fmt::format(R"(graph f(%x: f32[2, 8, 14, 18], %b: f32[5, 5]) {{
  %i: f32[2, 8, 14, 18] = aten.neg(%x)
  %t: f32[2, 8, 18, 14] = aten.permute(%x, [0, 1, 3, 2])
  %a: f32[5, 8, 3, 2] = torchvision.roi_align(%i, %b, 0.5, 3, 2, {0}, {1})
  %c: f32[5, 2, 2, 2], %d: i32[5, 2, 2, 2] = torchvision.ps_roi_align(%x, %b, 1.0, 2, 2, {0})
  %e: f32[5, 8, 3, 2], %f: i32[5, 8, 3, 2] = torchvision.roi_pool(%t, %b, 0.75, 3, 2)
  %g: f32[5, 2, 2, 2], %h: i32[5, 2, 2, 2] = torchvision.ps_roi_pool(%x, %b, 0.75, 2, 2)
  %df: f32[5, 2, 2, 2] = aten._to_copy(%d, f32)
  %ff: f32[5, 8, 3, 2] = aten._to_copy(%f, f32)
  %hf: f32[5, 2, 2, 2] = aten._to_copy(%h, f32)
  return %a, %c, %df, %e, %ff, %g, %hf
}})",
                        samples, aligned));
  }
};

TEST_F(CudaRegions, AreThoseOfThePortableKernels) {
  for (const auto& [samples, aligned] : {std::pair{-1, false}, {-1, true}, {2, true}}) {
    compile_all(samples, aligned);
    expect_like_portable({numbers(DType::f32, {2, 8, 14, 18}, 1), boxes()}, 1e-6);
  }
}

TEST_F(CudaRegions, SizesOfRunTime) {
  compile(R"(graph f(%x: f32[1, 4, s0, s1], %b: f32[s2, 5]) {
  range s0: 4..40
  range s1: 4..40
  range s2: 1..20
  %a: f32[s2, 4, 2, 3] = torchvision.roi_align(%x, %b, 0.5, 2, 3, 0, true)
  %y: f32[s2, 4, 2, 3] = aten.relu(%a)
  return %y
})");
  expect_like_portable({numbers(DType::f32, {1, 4, 9, 11}, 1), boxes_of({0, 1, 2, 9, 10, 0, -4, 3, 30, 14})}, 1e-6);
}

TEST_F(CudaRegions, ABoxOfNoImageAndOneWithoutEndFailTheCall) {
  compile_all(-1, true);
  const HostTensor image = numbers(DType::f32, {2, 8, 14, 18}, 1);
  for (const float index : {-1.0f, -0.5f, 2.0f, NAN}) {
    std::vector<float> values(25, 1);
    values[10] = index;
    expect_error({image, boxes_of(values)}, "a box names an image that does not exist");
  }
  std::vector<float> values(25, 1);
  values[13] = 1e9f;
  expect_error({image, boxes_of(values)}, "a bin of a box is 2^16 pixels long, or not a number");
}

}  // namespace
}  // namespace wick::cuda
