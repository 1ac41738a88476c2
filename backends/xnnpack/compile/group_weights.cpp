#include "backends/xnnpack/compile/group_weights.h"

#include <algorithm>

#include "backends/xnnpack/payload/bf16_elements.h"
#include "common/float16.h"

namespace wick::xnnpack {
namespace {

constexpr int kBf16Digits = 8, kF32Digits = 24;

uint16_t bf16_toward_zero(float value) { return static_cast<uint16_t>(bits_from_float(value) >> 16); }
float from_bf16(uint16_t bits) { return float_from_bits(uint32_t{bits} << 16); }

// How many bf16 numbers add up to a normal one.
int parts_of_scale(float scale) {
  uint32_t digits = (bits_from_float(scale) & 0x7fffffu) | 0x800000u;
  int count = kF32Digits;
  for (; (digits & 1) == 0; digits >>= 1) --count;
  return (count + kBf16Digits - 1) / kBf16Digits;
}

constexpr int kLowest = -8, kHighest = 7;  // of a digit

// element = 16 high + 8 middle + low. Each element has two forms; in the second one, low has the other sign.
void add_digits(int element, bool second_form, std::vector<DigitPlane>& planes) {
  const int high = std::min((element - kLowest) >> 4, kHighest), rest = element - 16 * high;
  int middle = rest > kHighest ? 1 : 0;
  if (second_form) middle += rest - 8 * middle < 0 ? -1 : 1;
  const int digits[] = {high, middle, rest - 8 * middle};
  for (size_t i = 0; i < planes.size(); ++i) planes[i].digits.push_back(static_cast<int8_t>(digits[i]));
}

bool is_zero(const DigitPlane& plane) {
  return std::all_of(plane.digits.begin(), plane.digits.end(), [](int8_t digit) { return digit == 0; });
}

bool differ(const std::vector<DigitPlane>& planes) {
  for (size_t i = 0; i < planes.size(); ++i) {
    for (size_t j = i + 1; j < planes.size(); ++j) {
      if (planes[i].digits == planes[j].digits) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::vector<uint16_t>> group_scales(const std::vector<double>& scales) {
  int count = 1;
  for (const double scale : scales) count = std::max(count, parts_of_scale(static_cast<float>(scale)));
  std::vector<std::vector<uint16_t>> parts(static_cast<size_t>(count));
  for (const double wide : scales) {
    auto rest = static_cast<float>(wide);
    for (size_t i = 0; i < parts.size(); ++i) {
      uint16_t part = bf16_toward_zero(rest);
      // The library takes no zeros: what is exact too early is halved.
      if (i + 1 < parts.size() && from_bf16(part) == rest) part = bf16_toward_zero(rest / 2);
      parts[i].push_back(part);
      rest -= from_bf16(part);
    }
  }
  return parts;
}

std::vector<std::vector<uint16_t>> rounded_group_scales(const std::vector<double>& scales) {
  const std::vector<float> wide(scales.begin(), scales.end());
  std::vector<uint16_t> narrow(wide.size());
  narrow_to_bf16(wide.data(), narrow.data(), wide.size());
  return {narrow};
}

std::vector<DigitPlane> digit_planes(const std::vector<int8_t>& elements) {
  std::vector<DigitPlane> planes;
  // Only planes of 17 and -17 alone are equal in the first form and in the second.
  enum Form { first, second, alternating };
  for (const Form form : {first, second, alternating}) {
    planes = {{16, {}}, {8, {}}, {1, {}}};
    for (size_t i = 0; i < elements.size(); ++i)
      add_digits(elements[i], form == second || (form == alternating && i % 2 == 1), planes);
    planes.erase(std::remove_if(planes.begin(), planes.end(), is_zero), planes.end());
    if (differ(planes)) break;
  }
  if (planes.empty()) planes = {{1, elements}};
  return planes;
}

}  // namespace wick::xnnpack
