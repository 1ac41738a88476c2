#include "tests/conformance/case_values.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/float16.h"
#include "common/random.h"

namespace wick::conformance {
namespace {

using compiler::CaseFill;
using Kind = CaseFill::Kind;

struct Stream {
  const compiler::CaseTensor& tensor;
  std::vector<uint32_t> words;

  Stream(const compiler::CaseTensor& of, size_t count) : tensor(of), words(count) {
    for (size_t i = 0; i < count; ++i) words[i] = philox4x32(of.seed, i / 4).words[i % 4];
  }

  double uniform(size_t i) const { return uniform_float(words[i]); }

  std::vector<int64_t> ranks() const {
    std::vector<size_t> order(words.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return words[a] < words[b]; });
    std::vector<int64_t> out(words.size());
    for (size_t i = 0; i < order.size(); ++i) out[order[i]] = static_cast<int64_t>(i);
    return out;
  }

  double ascending(size_t i) const {
    const size_t width = tensor.sizes.empty() ? 1 : static_cast<size_t>(tensor.sizes.back());
    return tensor.fill.low + (tensor.fill.high - tensor.fill.low) * (static_cast<double>(i % width) + uniform(i)) /
                                 static_cast<double>(width);
  }

  double definite(size_t i) const {
    const size_t n = static_cast<size_t>(tensor.sizes.back());
    const size_t row = i / n % n, column = i % n, first = i / (n * n) * (n * n);
    const double symmetric = uniform(first + std::min(row, column) * n + std::max(row, column));
    return 2 * symmetric - 1 + (row == column ? static_cast<double>(n) : 0.0);
  }
};

std::vector<double> reals(const Stream& stream) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kSpecials[] = {0.0, -0.0, kInf,  -kInf,  kNaN, 1.0,  -1.0,  0.5, -0.5,
                                         1.5, 2.5,  1e-40, -1e-40, 1e-3, 88.5, -88.5, 1e4, -1e4};
  const CaseFill& fill = stream.tensor.fill;
  const size_t count = stream.words.size();
  std::vector<double> out(count);
  const std::vector<int64_t> ranks = fill.kind == Kind::distinct ? stream.ranks() : std::vector<int64_t>();
  for (size_t i = 0; i < count; ++i) {
    switch (fill.kind) {
      case Kind::values: out[i] = fill.values[i % fill.values.size()]; break;
      case Kind::distinct: out[i] = static_cast<double>(ranks[i] - static_cast<int64_t>(count / 2)) / 4; break;
      case Kind::definite: out[i] = stream.definite(i); break;
      case Kind::sorted: out[i] = stream.ascending(i); break;
      case Kind::special:
        if (i < std::size(kSpecials)) {
          out[i] = kSpecials[i];
          break;
        }
        [[fallthrough]];
      default: out[i] = fill.low + (fill.high - fill.low) * stream.uniform(i);
    }
  }
  return out;
}

std::vector<int64_t> special_integers(DType dtype) {
  const int bits = static_cast<int>(dtype_size_bytes(dtype)) * 8;
  if (dtype == DType::u8) return {0, 1, 255, 254};
  const int64_t most = static_cast<int64_t>(~uint64_t{0} >> (65 - bits));
  return {0, 1, most, most - 1, -1, -2, -most - 1, -most};
}

std::vector<int64_t> integers(const Stream& stream) {
  const CaseFill& fill = stream.tensor.fill;
  const DType dtype = stream.tensor.dtype;
  const bool is_signed = dtype != DType::u8 && dtype != DType::boolean;
  const auto low = static_cast<int64_t>(fill.low), high = static_cast<int64_t>(fill.high);
  const std::vector<int64_t> ranks = fill.kind == Kind::distinct ? stream.ranks() : std::vector<int64_t>();
  const std::vector<int64_t> special = special_integers(dtype);
  std::vector<int64_t> out(stream.words.size());
  for (size_t i = 0; i < out.size(); ++i) {
    switch (fill.kind) {
      case Kind::values: out[i] = static_cast<int64_t>(fill.values[i % fill.values.size()]); break;
      case Kind::index: out[i] = stream.words[i] % fill.limit; break;
      case Kind::distinct: out[i] = ranks[i] - (is_signed ? static_cast<int64_t>(out.size() / 2) : 0); break;
      case Kind::sorted: out[i] = static_cast<int64_t>(std::floor(stream.ascending(i))); break;
      default:
        out[i] =
            fill.kind == Kind::special && i < special.size() ? special[i] : low + stream.words[i] % (high - low + 1);
    }
    if (dtype == DType::boolean && fill.kind != Kind::values && fill.kind != Kind::index) out[i] = stream.words[i] & 1;
  }
  return out;
}

template <typename T>
void append(std::vector<uint8_t>& bytes, T value) {
  const auto* begin = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), begin, begin + sizeof(T));
}

void append_real(std::vector<uint8_t>& bytes, DType dtype, double value) {
  switch (dtype) {
    case DType::f16: return append(bytes, Half::from_float(static_cast<float>(value)));
    case DType::bf16: return append(bytes, BFloat16::from_float(static_cast<float>(value)));
    case DType::f32:
    case DType::c64: return append(bytes, static_cast<float>(value));
    default: return append(bytes, value);
  }
}

}  // namespace

HostTensor filled(const compiler::CaseTensor& tensor) {
  HostTensor out;
  out.dtype = tensor.dtype;
  size_t count = 1;
  for (const int64_t size : tensor.sizes) {
    out.sizes.push_back(static_cast<int32_t>(size));
    count *= static_cast<size_t>(size);
  }
  const Stream stream(tensor, is_complex(tensor.dtype) ? 2 * count : count);
  if (is_complex(tensor.dtype) || is_floating(tensor.dtype)) {
    for (const double value : reals(stream)) append_real(out.bytes, tensor.dtype, value);
    return out;
  }
  const size_t size = dtype_size_bytes(tensor.dtype);
  for (int64_t value : integers(stream)) {
    if (tensor.dtype == DType::boolean) value = value != 0;
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);  // little-endian: the low bytes come first
    out.bytes.insert(out.bytes.end(), bytes, bytes + size);
  }
  return out;
}

}  // namespace wick::conformance
