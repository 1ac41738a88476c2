#include "backends/xnnpack/compile/group_weights.h"

#include <algorithm>
#include <cstring>

#include "backends/xnnpack/payload/bf16_elements.h"
#include "common/float16.h"
#include "compiler/ir/numbers.h"
#include "compiler/layout/constant_elements.h"

namespace wick::xnnpack {

using compiler::ConstantData;
using compiler::NumberList;
using compiler::Status;

namespace {

constexpr int kBf16Digits = 8, kF32Digits = 24;

uint16_t bf16_toward_zero(float value) { return static_cast<uint16_t>(bits_from_float(value) >> 16); }
float from_bf16(uint16_t bits) { return float_from_bits(uint32_t{bits} << 16); }

// The number of bf16 values whose sum is exactly this normal f32 scale.
int parts_of_scale(float scale) {
  uint32_t digits = (bits_from_float(scale) & 0x7fffffu) | 0x800000u;
  int count = kF32Digits;
  for (; (digits & 1) == 0; digits >>= 1) --count;
  return (count + kBf16Digits - 1) / kBf16Digits;
}

int count_parts(const NumberList& scales, double factor, int enough) {
  int count = 1;
  scales.for_each_part([&](Span<const double> part) {
    for (const double scale : part) count = std::max(count, parts_of_scale(static_cast<float>(scale * factor)));
    return count < enough;
  });
  return count;
}

// Part `index` of the `count` bf16 parts of a scale, `rest`.
uint16_t part_of_scale(float rest, int index, int count) {
  for (int i = 0;; ++i) {
    uint16_t part = bf16_toward_zero(rest);
    // The library takes no zeros. If a part before the last one is exact already, only half of it is taken.
    if (i + 1 < count && from_bf16(part) == rest) part = bf16_toward_zero(rest / 2);
    if (i == index) return part;
    rest -= from_bf16(part);
  }
}

// Each scale as bf16: make(f32).
template <typename Make>
ConstantData narrow_scales(const NumberList& scales, double factor, Make make) {
  const DType dtype = scales.dtype;
  const auto narrow = [=](const uint8_t* from, size_t, size_t count, uint8_t* to) {
    compiler::with_number_type(dtype, [&](auto element) {
      for (size_t i = 0; i < count; ++i) {
        const double wide = compiler::number_from<decltype(element)>(from + i * sizeof element);
        const uint16_t bits = make(static_cast<float>(wide * factor));
        memcpy(to + i * sizeof bits, &bits, sizeof bits);
      }
    });
  };
  return compiler::layout::rows_from(scales.data, scales.size(), sizeof(uint16_t), narrow);
}

constexpr int kLowest = -8, kHighest = 7;  // of a digit
constexpr size_t kNumPlanes = 3;
constexpr double kPlaneFactors[kNumPlanes] = {16, 8, 1};

struct Digits {
  int8_t of_plane[kNumPlanes];
};

// element = 16 high + 8 middle + low. Each element has two forms; in the second one, low has the other sign.
Digits digits_of(int element, bool second_form) {
  const int high = std::min((element - kLowest) >> 4, kHighest), rest = element - 16 * high;
  int middle = rest > kHighest ? 1 : 0;
  if (second_form) middle += rest - 8 * middle < 0 ? -1 : 1;
  return {{static_cast<int8_t>(high), static_cast<int8_t>(middle), static_cast<int8_t>(rest - 8 * middle)}};
}

enum class Form { first, second, alternating };
bool has_second_form(Form form, size_t index) {
  return form == Form::second || (form == Form::alternating && index % 2 == 1);
}

// Which planes of a form hold a nonzero digit, and whether these planes all differ from one another.
struct PlaneFacts {
  bool used[kNumPlanes] = {}, differ = true;
};
PlaneFacts facts_of_planes(const ConstantData& elements, Form form) {
  PlaneFacts out;
  bool differ[kNumPlanes][kNumPlanes] = {};
  size_t index = 0;
  (void)elements.for_each_part([&](Span<const uint8_t> part) {
    for (const uint8_t byte : part) {
      const Digits digits = digits_of(static_cast<int8_t>(byte), has_second_form(form, index++));
      for (size_t i = 0; i < kNumPlanes; ++i) {
        out.used[i] |= digits.of_plane[i] != 0;
        for (size_t j = i + 1; j < kNumPlanes; ++j) differ[i][j] |= digits.of_plane[i] != digits.of_plane[j];
      }
    }
    return Status();
  });
  for (size_t i = 0; i < kNumPlanes; ++i) {
    for (size_t j = i + 1; j < kNumPlanes; ++j) out.differ &= differ[i][j] || !out.used[i] || !out.used[j];
  }
  return out;
}

ConstantData digits_of_plane(const ConstantData& elements, Form form, size_t plane) {
  const auto compute = [=](const uint8_t* from, size_t first, size_t count, uint8_t* to) {
    for (size_t i = 0; i < count; ++i) {
      const Digits digits = digits_of(static_cast<int8_t>(from[i]), has_second_form(form, first + i));
      to[i] = static_cast<uint8_t>(digits.of_plane[plane]);
    }
  };
  return compiler::layout::rows_from(elements, elements.size_bytes(), 1, compute);
}

}  // namespace

ConstantData packed_4_bits(const ConstantData& elements, size_t rows) {
  const size_t columns = elements.size_bytes() / rows, packed = (columns + 1) / 2;
  const auto pack = [=](const uint8_t* from, size_t, size_t count, uint8_t* to) {
    // Adding 8 to a 4-bit element flips its highest bit.
    for (size_t row = 0; row < count; ++row, from += columns, to += packed) {
      for (size_t i = 0; i < columns / 2; ++i)
        to[i] = static_cast<uint8_t>(((from[2 * i] & 0xf) | from[2 * i + 1] << 4) ^ 0x88);
      if (columns % 2 == 1) to[packed - 1] = static_cast<uint8_t>((from[columns - 1] & 0xf) ^ 0x88);
    }
  };
  return compiler::layout::rows_from(elements, rows, packed, pack);
}

std::vector<ConstantData> group_scales(const NumberList& scales, double factor) {
  const int count = count_parts(scales, factor, kF32Digits / kBf16Digits);
  std::vector<ConstantData> parts;
  for (int i = 0; i < count; ++i)
    parts.push_back(narrow_scales(scales, factor, [=](float scale) { return part_of_scale(scale, i, count); }));
  return parts;
}

bool has_several_parts(const NumberList& scales) { return count_parts(scales, 1, 2) > 1; }

std::vector<ConstantData> rounded_group_scales(const NumberList& scales, double factor) {
  return {narrow_scales(scales, factor, [](float scale) {
    uint16_t bits = 0;
    narrow_to_bf16(&scale, &bits, 1);
    return bits;
  })};
}

std::vector<DigitPlane> digit_planes(const ConstantData& elements) {
  // Two planes are equal in the first form and in the second one only if all elements are 17 or -17.
  Form form = Form::first;
  PlaneFacts facts;
  for (const Form next : {Form::first, Form::second, Form::alternating}) {
    form = next;
    facts = facts_of_planes(elements, form);
    if (facts.differ) break;
  }
  std::vector<DigitPlane> planes;
  for (size_t i = 0; i < kNumPlanes; ++i) {
    if (facts.used[i]) planes.push_back({kPlaneFactors[i], digits_of_plane(elements, form, i)});
  }
  if (planes.empty()) planes = {{1, elements}};
  return planes;
}

}  // namespace wick::xnnpack
