// Runs the handwritten-digits model over images that it was not trained on and compares it with eager PyTorch:
//   digits_demo MODEL.pte IMAGES.npz     images f32 [N, 1, 8, 8], labels i64 [N], logits f32 [N, 10] (eager's)
// Exit codes: 0 equal, 1 the numbers differ, 2 a file cannot be used.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arrays/npz.h"
#include "cli/text/text.h"
#include "wick/module.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace {

constexpr size_t kSide = 8, kPixels = kSide * kSide, kClasses = 10;
constexpr float kTolerance = 1e-5f;

struct DigitSet {
  size_t count = 0;
  std::vector<float> images, logits;
  std::vector<int64_t> labels;
};

template <typename T>
bool take(const std::vector<wick::cli::NamedArray>& arrays, const char* name, wick::DType dtype, std::vector<T>* out) {
  for (const auto& array : arrays) {
    if (array.name != name || array.dtype != dtype) continue;
    out->resize(array.bytes.size() / sizeof(T));
    if (!out->empty()) std::memcpy(out->data(), array.bytes.data(), array.bytes.size());
    return true;
  }
  std::fprintf(stderr, "the file has no %s array called \"%s\"\n", wick::dtype_name(dtype), name);
  return false;
}

bool read_digits(const char* path, DigitSet* digits) {
  const auto arrays = wick::cli::read_arrays(path);
  if (!arrays.ok()) {
    std::fprintf(stderr, "%s", wick::compiler::render(arrays.diag()).c_str());
    return false;
  }
  if (!take(*arrays, "images", wick::DType::f32, &digits->images) ||
      !take(*arrays, "labels", wick::DType::i64, &digits->labels) ||
      !take(*arrays, "logits", wick::DType::f32, &digits->logits)) {
    return false;
  }
  digits->count = digits->labels.size();
  if (digits->count > 0 && digits->images.size() == digits->count * kPixels &&
      digits->logits.size() == digits->count * kClasses) {
    return true;
  }
  std::fprintf(stderr, "images, labels and logits do not have the same number of rows\n");
  return false;
}

/// Appends the model's logits for one image. False, with a message, if it does not run.
bool classify(wick::Module& module, const float* image, std::vector<float>* logits) {
  wick::HostTensor input{wick::DType::f32, {1, 1, kSide, kSide}, std::vector<uint8_t>(kPixels * sizeof(float))};
  std::memcpy(input.bytes.data(), image, input.bytes.size());
  std::vector<wick::HostValue> outputs;
  wick::ModuleError error;
  if (!module.forward({input}, &outputs, &error)) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return false;
  }
  const bool fits = outputs.size() == 1 && outputs[0].tag == wick::Tag::tensor &&
                    outputs[0].tensor.dtype == wick::DType::f32 &&
                    outputs[0].tensor.bytes.size() == kClasses * sizeof(float);
  if (!fits) {
    std::fprintf(stderr, "the model's output is not f32 [1, 10]\n");
    return false;
  }
  const size_t old_size = logits->size();
  logits->resize(old_size + kClasses);
  std::memcpy(logits->data() + old_size, outputs[0].tensor.bytes.data(), kClasses * sizeof(float));
  return true;
}

size_t answer(const float* logits) { return static_cast<size_t>(std::max_element(logits, logits + kClasses) - logits); }

double confidence(const float* logits) {
  double sum = 0;
  for (size_t k = 0; k < kClasses; ++k) sum += std::exp(static_cast<double>(logits[k] - logits[answer(logits)]));
  return 1.0 / sum;
}

size_t count_right(const std::vector<float>& logits, const std::vector<int64_t>& labels) {
  size_t right = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    right += static_cast<int64_t>(answer(&logits[i * kClasses])) == labels[i];
  }
  return right;
}

/// NaN counts as infinite.
float max_difference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

/// Four images beside each other at twice their size, with the model's answers below.
void draw(const DigitSet& digits, const std::vector<float>& logits) {
  constexpr size_t kZoom = 2, kCell = kSide * kZoom, kGap = 4;
  const size_t shown = std::min<size_t>(4, digits.count);
  const size_t height = kCell, width = shown * (kCell + kGap);
  const float brightest = std::max(1e-30f, *std::max_element(digits.images.begin(), digits.images.end()));
  std::vector<float> pixels(height * width, 0.0f);
  std::string answers;
  for (size_t i = 0; i < shown; ++i) {
    const size_t which = i * (digits.count / shown);
    for (size_t row = 0; row < kCell; ++row) {
      for (size_t column = 0; column < kCell; ++column) {
        const float value = digits.images[which * kPixels + row / kZoom * kSide + column / kZoom];
        pixels[row * width + i * (kCell + kGap) + column] = value / brightest;
      }
    }
    char text[64];
    std::snprintf(text, sizeof text, "%zu  (%.1f %%)", answer(&logits[which * kClasses]),
                  100.0 * confidence(&logits[which * kClasses]));
    answers += wick::cli::pad_right(text, kCell + kGap);
  }
  const bool colour = wick::cli::colour_allowed(stdout);
  std::printf("%s%s\n\n", wick::cli::half_block_picture({pixels.data(), pixels.size()}, height, width, colour).c_str(),
              answers.c_str());
}

int run(const char* model_path, const char* images_path) {
  DigitSet digits;
  if (!read_digits(images_path, &digits)) return 2;
  wick::ModuleOptions options;
  options.backends = {&wick::xnnpack_backend()};
  options.kernels = {wick::portable_kernels()};
  wick::ModuleError error;
  const auto module = wick::Module::load(model_path, options, &error);
  if (!module) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return 2;
  }
  std::vector<float> logits;
  for (size_t i = 0; i < digits.count; ++i) {
    if (!classify(*module, &digits.images[i * kPixels], &logits)) return 1;
  }
  draw(digits, logits);
  const size_t ours = count_right(logits, digits.labels), eager = count_right(digits.logits, digits.labels);
  const float difference = max_difference(logits, digits.logits);
  std::printf("held-back images  %zu\n", digits.count);
  std::printf("accuracy          %.2f %%   eager PyTorch %.2f %%\n",
              100.0 * static_cast<double>(ours) / static_cast<double>(digits.count),
              100.0 * static_cast<double>(eager) / static_cast<double>(digits.count));
  std::printf("logits            differ by at most %.1e (allowed %.0e)\n", static_cast<double>(difference),
              static_cast<double>(kTolerance));
  if (ours == eager && difference <= kTolerance) return 0;
  std::fprintf(stderr, "the numbers are not eager PyTorch's\n");
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) return run(argv[1], argv[2]);
  if (argc == 2 && std::string_view(argv[1]) == "--has-xnnpack") return wick::has_xnnpack_library() ? 0 : 1;
  std::fprintf(stderr,
               "usage: digits_demo MODEL.pte IMAGES.npz\n       digits_demo --has-xnnpack    exit code 0 if this build "
               "has the library\n");
  return 2;
}
