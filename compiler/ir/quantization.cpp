#include "compiler/ir/quantization.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/builder.h"
#include "compiler/ir/numbers.h"

namespace wick::compiler {
namespace {

// Copies of one element.
class RepeatedElement final : public ComputedRows {
 public:
  RepeatedElement(std::vector<uint8_t> element, size_t count)
      : ComputedRows(count, element.size(), 1), element_(std::move(element)) {}
  void compute(size_t, size_t num_rows, uint8_t* out) const override {
    for (size_t i = 0; i < num_rows; ++i) memcpy(out + i * row_bytes(), element_.data(), row_bytes());
  }

 private:
  const std::vector<uint8_t> element_;
};

bool same_list(const NumberList& a, const NumberList& b) {
  if (a.dtype == b.dtype) return a.data.size_bytes() == b.data.size_bytes() && same_bytes(a.data, b.data);
  return a.size() == b.size() && a.all() == b.all();
}

// The first number of `list` that is not valid as a scale (`positive`) or as a zero point.
std::optional<double> first_refused(const NumberList& list, bool positive) {
  const NumberFacts& range = list.range();
  if (range.finite && (!positive || list.size() == 0 || range.least > 0)) return {};
  const std::vector<double> all = list.all();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](double number) { return !std::isfinite(number) || (positive && number <= 0); });
  return *found;
}

// Whether each block is one row along the last dimension, or the whole tensor. Parameters that are chosen at run time
// allow no other blocks; the number of rows need not be known.
bool are_rows(const std::vector<int64_t>& blocks) {
  if (std::all_of(blocks.begin(), blocks.end(), [](int64_t block) { return block == 0; })) return true;
  return !blocks.empty() && blocks.back() == 0 &&
         std::all_of(blocks.begin(), blocks.end() - 1, [](int64_t block) { return block == 1; });
}

std::string refuse_lists(const TensorType& type, const Quantization& q) {
  const auto count = count_blocks(type.sizes, q.blocks);
  if (!count) return "blocks that do not divide the sizes";
  if (!NumberList::can_hold(q.scales.dtype) || !is_floating(q.scales.dtype)) return "scales that are not floats";
  if (!NumberList::can_hold(q.zero_points.dtype)) return "zero points that are not numbers";
  const auto wanted = static_cast<uint64_t>(*count);
  for (const NumberList* list : {&q.scales, &q.zero_points}) {
    if (list->size() != wanted || list->data.size_bytes() % dtype_size_bytes(list->dtype) != 0)
      return fmt::format("{} parameters for {} blocks", list->size(), wanted);
  }
  if (const auto scale = first_refused(q.scales, true)) return fmt::format("a scale of {}", *scale);
  if (const auto zero = first_refused(q.zero_points, false)) return fmt::format("a zero point of {}", *zero);
  return "";
}

std::string number_list_text(const NumberList& list, DType usual, size_t max_numbers) {
  std::string out = list.dtype == usual ? "" : dtype_name(list.dtype);
  if (list.size() == 1) return out + (out.empty() ? "" : " ") + fmt::format("{}", list[0]);
  if (list.size() > max_numbers) return out + "[...]";
  return out + fmt::format("[{}]", fmt::join(list.all(), ", "));
}

}  // namespace

std::optional<int64_t> count_blocks(const Sizes& sizes, const std::vector<int64_t>& blocks) {
  int64_t count = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (blocks[i] == 0) continue;
    if (blocks[i] < 0 || !sizes[i].is_const() || sizes[i].value() <= 0 || sizes[i].value() % blocks[i] != 0) return {};
    if (__builtin_mul_overflow(count, sizes[i].value() / blocks[i], &count)) return {};
  }
  return count;
}

size_t NumberList::size() const { return data.size_bytes() / std::max<size_t>(dtype_size_bytes(dtype), 1); }
double NumberList::operator[](size_t index) const {
  double out = std::nan("");
  with_number_type(dtype, [&](auto element) {
    uint8_t bytes[sizeof element];
    data.read(index * sizeof bytes, sizeof bytes, bytes);
    out = number_from<decltype(element)>(bytes);
  });
  return out;
}
std::vector<double> NumberList::all() const {
  std::vector<double> out;
  out.reserve(size());
  for_each_part([&](Span<const double> part) {
    out.insert(out.end(), part.begin(), part.end());
    return true;
  });
  return out;
}
bool NumberList::are_all(double number) const {
  return size() == 0 || (range().finite && range().least == number && range().largest == number);
}
void NumberList::for_each_part(const std::function<bool(Span<const double>)>& visit) const {
  constexpr size_t kPart = 512;
  double part[kPart];
  with_number_type(dtype, [&](auto element) {
    (void)data.for_each_part([&](Span<const uint8_t> bytes) -> Status {
      const size_t count = bytes.size() / sizeof element;
      for (size_t at = 0; at < count; at += kPart) {
        const size_t length = std::min(kPart, count - at);
        for (size_t i = 0; i < length; ++i)
          part[i] = number_from<decltype(element)>(bytes.data() + (at + i) * sizeof element);
        if (!visit({part, length})) return Diag(Code::internal, "enough");
      }
      return {};
    });
  });
}
NumberList NumberList::of(DType dtype, const std::vector<double>& numbers) {
  auto bytes = std::make_shared<std::vector<uint8_t>>();
  for (const double number : numbers) {
    const std::vector<uint8_t> element = scalar_bytes(number, dtype);
    bytes->insert(bytes->end(), element.begin(), element.end());
  }
  return {dtype, ConstantData{Span<const uint8_t>(bytes->data(), bytes->size()), bytes}};
}
NumberList NumberList::repeat(DType dtype, double number, size_t count) {
  if (count == 1) return of(dtype, {number});
  return {dtype, {std::make_shared<const RepeatedElement>(scalar_bytes(number, dtype), count), ConstantFacts()}};
}
bool NumberList::can_hold(DType dtype) {
  return with_number_type(dtype, [](auto) {});
}

bool Quantization::is_per_tensor() const {
  return std::all_of(blocks.begin(), blocks.end(), [](int64_t block) { return block == 0; });
}

std::optional<size_t> Quantization::channel_dim() const {
  const auto split = [](int64_t block) { return block != 0; };
  const auto first = std::find_if(blocks.begin(), blocks.end(), split);
  if (first == blocks.end() || *first != 1 || std::any_of(first + 1, blocks.end(), split)) return {};
  return static_cast<size_t>(first - blocks.begin());
}

std::vector<int64_t> Quantization::block_sizes(const std::vector<int64_t>& sizes) const {
  std::vector<int64_t> out = sizes;
  for (size_t i = 0; i < out.size(); ++i) {
    if (blocks[i] != 0) out[i] = blocks[i];
  }
  return out;
}

bool same_numbers(const Quantization& a, const Quantization& b) {
  return a.real == b.real && a.blocks == b.blocks && a.at_run_time == b.at_run_time && same_list(a.scales, b.scales) &&
         same_list(a.zero_points, b.zero_points);
}

bool operator==(const Quantization& a, const Quantization& b) {
  return a.quant_min == b.quant_min && a.quant_max == b.quant_max && a.family == b.family &&
         a.scales.dtype == b.scales.dtype && a.zero_points.dtype == b.zero_points.dtype && same_numbers(a, b);
}

bool integer_range(DType dtype, int64_t* low, int64_t* high) {
  if (!is_integral(dtype) || dtype == DType::u64) return false;
  const bool is_signed = dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  const auto bits = static_cast<unsigned>(8 * dtype_size_bytes(dtype));
  *high = static_cast<int64_t>(~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0)));
  *low = is_signed ? -*high - 1 : 0;
  return true;
}

DType TensorType::real_dtype() const { return quantization ? quantization->real : dtype; }

bool operator==(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || !(a.sizes == b.sizes) || a.dim_order != b.dim_order) return false;
  if (a.quantization == b.quantization) return true;
  return a.quantization && b.quantization && *a.quantization == *b.quantization;
}

std::string refuse_quantization(const TensorType& type) {
  const Quantization& q = *type.quantization;
  int64_t low = 0, high = 0;
  if (!integer_range(type.dtype, &low, &high)) return "elements that are not integers";
  if (!is_floating(q.real)) return "real numbers of a dtype that is not floating";
  if (q.quant_min < low || q.quant_max > high || q.quant_min >= q.quant_max) return "a range outside that of its dtype";
  if (q.blocks.size() != type.rank()) return "blocks of a different rank";
  if (!q.at_run_time) return refuse_lists(type, q);
  if (!are_rows(q.blocks)) return "parameters chosen at run time for other blocks than rows";
  if (!(q.at_run_time->least_scale >= 0) || !std::isfinite(q.at_run_time->least_scale)) return "a least scale below 0";
  if (!is_floating(q.scales.dtype) || !NumberList::can_hold(q.zero_points.dtype) || !q.scales.data.empty() ||
      !q.zero_points.data.empty())
    return "parameters of unknown dtypes";
  return "";
}

std::string to_text(const TensorType& type, const Quantization& q, size_t max_numbers) {
  std::vector<std::string> parts;
  if (q.real != DType::f32) parts.push_back(dtype_name(q.real));
  int64_t low = 0, high = 0;
  if (!integer_range(type.dtype, &low, &high) || low != q.quant_min || high != q.quant_max)
    parts.push_back(fmt::format("range={}..{}", q.quant_min, q.quant_max));
  if (q.family == Quantization::Family::affine) parts.emplace_back("affine");
  if (!q.is_per_tensor()) parts.push_back(fmt::format("blocks=[{}]", fmt::join(q.blocks, ", ")));
  if (q.at_run_time) {
    parts.push_back(fmt::format("at_run_time={}", q.at_run_time->symmetric ? "symmetric" : "asymmetric"));
    parts.push_back(fmt::format("least={}", q.at_run_time->least_scale));
    if (q.scales.dtype != DType::f64) parts.push_back(fmt::format("scale={}", dtype_name(q.scales.dtype)));
    if (q.zero_points.dtype != DType::i64) parts.push_back(fmt::format("zero={}", dtype_name(q.zero_points.dtype)));
  } else {
    parts.push_back("scale=" + number_list_text(q.scales, DType::f64, max_numbers));
    parts.push_back("zero=" + number_list_text(q.zero_points, DType::i64, max_numbers));
  }
  return fmt::format("q({})", fmt::join(parts, ", "));
}

}  // namespace wick::compiler
