#include "cli/trace/rounding_flips.h"

#include <string.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "cli/arrays/array_summary.h"
#include "cli/program/program_metadata.h"
#include "common/float16.h"
#include "compiler/ir/op_def.h"

namespace wick::cli {
namespace {

constexpr double kMostElement = 0x1p62;
constexpr double kRowsMargin = 0x1p-10, kAlways = 1;
constexpr double kFarSteps = 64;

enum class Scales : uint8_t { number, tensor, channels, rows };

struct QuantizeKernel {
  const char* name;
  Scales scales;  // in argument 1; zero points are argument 2
  size_t range;   // argument of quant_min; quant_max follows
};

std::vector<QuantizeKernel> find_quantize_kernels() {
  std::vector<QuantizeKernel> kernels;
  for (const compiler::OpDef* op : compiler::all_ops()) {
    if (!op->has(compiler::kQuantizes) || !op->kernel) continue;
    const compiler::Schema& schema = *op->parsed;
    const Scales scales = schema.args[1].type != compiler::ArgType::tensor ? Scales::number
                          : schema.find("axis") >= 0                       ? Scales::channels
                          : schema.find("scales") >= 0                     ? Scales::rows
                                                                           : Scales::tensor;
    kernels.push_back({op->kernel, scales, static_cast<size_t>(schema.find("quant_min"))});
  }
  return kernels;
}

const QuantizeKernel* quantize_kernel(const OperatorName& op) {
  static const std::vector<QuantizeKernel> kernels = find_quantize_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const QuantizeKernel& kernel) { return op.equals(kernel.name); });
  return found == kernels.end() ? nullptr : &*found;
}

bool is_integer_grid(DType dtype) {
  return dtype == DType::i8 || dtype == DType::u8 || dtype == DType::i16 || dtype == DType::i32;
}

// How the first reader of a value uses it.
enum class Becomes : uint8_t { other, integers, clamped_integers };

// Finds the instructions that round numbers which become integers: after it, a zero point may be added, and the numbers
// are clamped and converted. torchao's quantization is decomposed in this way: round(x * (1 / scale)). Its zero points,
// `low - round(..)`, are not found. By chain and index.
std::vector<std::vector<bool>> find_roundings(const MethodMeta& method) {
  std::vector<std::vector<bool>> roundings(method.num_chains());
  for (size_t chain = 0; chain < roundings.size(); ++chain) {
    roundings[chain].resize(method.num_instructions(chain));
    std::unordered_map<int32_t, Becomes> becomes;  // by value, for the instructions after this one
    for (size_t index = roundings[chain].size(); index-- > 0;) {
      const InstructionMeta at = method.instruction(chain, index);
      if (at.kind != InstructionKind::kernel || at.args.size() < 2) continue;
      const OperatorName op = method.op(at.target);
      const int32_t result = at.args[at.args.size() - 1];
      const auto found = becomes.find(result);
      const Becomes behind = found == becomes.end() ? Becomes::other : found->second;
      roundings[chain][index] = op.equals("aten::round.out") && behind == Becomes::clamped_integers;
      Becomes& first = becomes[at.args[0]];
      first = Becomes::other;
      if (op.equals("aten::_to_copy.out")) {
        if (is_integer_grid(method.value(static_cast<size_t>(result)).tensor.dtype)) first = Becomes::integers;
      } else if (op.equals("aten::add.out")) {
        first = behind;
      } else if (op.equals("aten::clamp.out") && behind != Becomes::other) {
        first = Becomes::clamped_integers;
      }
    }
  }
  return roundings;
}

// Writes a whole number to element `i`, in memory, of a tensor of floats.
void store_whole(Tensor& tensor, size_t i, double value) {
  switch (tensor.dtype) {
    case DType::f32: tensor.as<float>()[i] = static_cast<float>(value); break;
    case DType::f64: tensor.as<double>()[i] = value; break;
    case DType::f16: tensor.as<Half>()[i] = Half(static_cast<float>(value)); break;
    case DType::bf16: tensor.as<BFloat16>()[i] = BFloat16(static_cast<float>(value)); break;
    default: break;
  }
}

// Flips the roundings that `choose` selects and that lie within kRowsMargin of the middle.
template <typename Choose>
void flip_rounded(Span<EValue* const> args, bool far, const Choose& choose) {
  const Tensor& steps = *args[0]->tensor;
  Tensor& out = *args[args.size() - 1]->tensor;
  if (!is_contiguous(steps) || !is_contiguous(out)) return;
  const NamedArray from = to_array(steps), to = to_array(out);
  const size_t count = from.bytes.size() / dtype_size_bytes(from.dtype);
  for (size_t i = 0; i < count; ++i) {
    const double number = element_of(from, i), below = std::floor(number);
    if (choose() && std::fabs(number - below - 0.5) < kRowsMargin)
      store_whole(out, i, far ? below + kFarSteps : element_of(to, i) == below ? below + 1 : below);
  }
}

// The elements of a quantized tensor, row-major: the numbers before rounding and the bytes after it.
class Quantized {
 public:
  Quantized(const QuantizeKernel& kernel, Span<EValue* const> args)
      : kernel_(kernel),
        x_(to_array(*args[0]->tensor)),
        out_(*args[args.size() - 1]->tensor),
        low_(args[kernel.range]->to_int()),
        high_(args[kernel.range + 1]->to_int()) {
    if (kernel.scales == Scales::number) {
      scale_ = args[1]->to_double();
      zero_ = args[2]->to_int();
      return;
    }
    scales_ = to_array(*args[1]->tensor);
    zeros_ = to_array(*args[2]->tensor);
    const Tensor& x = *args[0]->tensor;
    for (size_t d = kernel.scales == Scales::channels ? static_cast<size_t>(axis(*args[3], x)) + 1 : x.rank - 1u;
         d < x.rank && x.rank > 0; ++d)
      inner_ *= static_cast<size_t>(x.sizes[d]);
    is_fixed_ = args[1]->tensor->read_only;
  }

  /// Flips the roundings that `choose` selects and that lie near the middle.
  template <typename Choose>
  void flip(double fixed_margin, bool far, const Choose& choose) {
    const double margin = kernel_.scales == Scales::number || is_fixed_ ? fixed_margin
                          : kernel_.scales == Scales::tensor            ? kAlways
                                                                        : kRowsMargin;
    const size_t count = x_.bytes.size() / dtype_size_bytes(x_.dtype);
    std::vector<int64_t> at(out_.rank, 0);
    for (size_t i = 0; i < count; ++i) {
      if (choose()) flip_element(i, at, margin, far);
      for (size_t d = out_.rank; d-- > 0;) {
        if (++at[d] < out_.sizes[d]) break;
        at[d] = 0;
      }
    }
  }

 private:
  static int64_t axis(const EValue& value, const Tensor& x) {
    return value.integer < 0 ? value.integer + x.rank : value.integer;
  }

  bool is_element(const uint8_t* element, double number) const {
    if (!(std::fabs(number) < kMostElement)) return false;
    const auto value = static_cast<int64_t>(number);
    return memcmp(element, &value, dtype_size_bytes(out_.dtype)) == 0;
  }

  void flip_element(size_t i, const std::vector<int64_t>& at, double margin, bool far) {
    size_t parameter = 0;
    double scale = scale_;
    int64_t zero = zero_;
    if (kernel_.scales != Scales::number) {
      const size_t count = scales_.bytes.size() / dtype_size_bytes(scales_.dtype);
      if (kernel_.scales != Scales::tensor) parameter = i / inner_ % count;
      scale = element_of(scales_, parameter);
      zero = static_cast<int64_t>(element_of(zeros_, parameter));
    }
    const double steps = element_of(x_, i) / scale, below = std::floor(steps);
    if (!(std::fabs(steps - below - 0.5) < margin)) return;
    int64_t offset = 0;
    for (size_t d = 0; d < out_.rank; ++d) offset += at[d] * out_.strides[d];
    uint8_t* element = out_.as<uint8_t>() + static_cast<size_t>(offset) * dtype_size_bytes(out_.dtype);
    const double lower = below + static_cast<double>(zero);
    double other = is_element(element, lower) ? lower + 1 : lower;
    if (far) {
      const double low = static_cast<double>(low_), range = static_cast<double>(high_) - low;
      other = std::clamp(lower, low, low + range) + (lower < low + range / 2 ? range / 3 : -range / 3);
    }
    if (other < static_cast<double>(low_) || other > static_cast<double>(high_)) return;
    const auto value = static_cast<int64_t>(other);
    memcpy(element, &value, dtype_size_bytes(out_.dtype));  // little-endian; the range was checked
  }

  const QuantizeKernel& kernel_;
  NamedArray x_, scales_, zeros_;
  Tensor& out_;
  double scale_ = 1;
  int64_t zero_ = 0, low_, high_;
  size_t inner_ = 1;
  bool is_fixed_ = false;
};

}  // namespace

double largest_difference(const NamedArray& a, const NamedArray& b) {
  if (a.dtype != b.dtype || a.sizes != b.sizes) return 0;
  double largest = 0;
  const size_t count = a.bytes.size() / dtype_size_bytes(a.dtype);
  for (size_t i = 0; i < count; ++i) {
    const double difference = std::fabs(element_of(a, i) - element_of(b, i));
    if (difference > largest && std::isfinite(difference)) largest = difference;
  }
  return largest;
}

void TurnedElements::add(const NamedArray& turned, const NamedArray& plain) {
  if (turned.dtype != plain.dtype || turned.sizes != plain.sizes || is_complex(turned.dtype)) return;
  most_.resize(turned.bytes.size() / dtype_size_bytes(turned.dtype));
  for (size_t i = 0; i < most_.size(); ++i) {
    const double difference = std::fabs(element_of(turned, i) - element_of(plain, i));
    if (std::isfinite(difference)) most_[i] = std::max(most_[i], difference);
  }
}

void TurnedElements::add_reached(const NamedArray& moved, const NamedArray& plain) {
  if (moved.dtype != plain.dtype || moved.sizes != plain.sizes || is_complex(moved.dtype)) return;
  const size_t item = dtype_size_bytes(moved.dtype);
  reached_.resize(moved.bytes.size() / item);
  for (size_t i = 0; i < reached_.size(); ++i)
    reached_[i] = reached_[i] || memcmp(moved.bytes.data() + i * item, plain.bytes.data() + i * item, item) != 0;
}

std::vector<double> TurnedElements::allowed() const {
  if (most_.empty()) return {};
  double squares = 0;
  for (const double each : most_) squares += each * each;
  const double root = std::sqrt(squares / static_cast<double>(most_.size()));
  const double largest = *std::max_element(most_.begin(), most_.end());
  std::vector<double> allowed(most_.size());
  for (size_t i = 0; i < allowed.size(); ++i) {
    const bool is_reached = most_[i] > 0 || reached_.empty() || reached_[i];
    if (is_reached) allowed[i] = kFlippedBothWays * std::min(most_[i] + root, largest);
  }
  return allowed;
}

namespace {

bool has_roundings(const MethodMeta& method) {
  const std::vector<std::vector<bool>> roundings = find_roundings(method);
  return std::any_of(roundings.begin(), roundings.end(), [](const std::vector<bool>& chain) {
    return std::find(chain.begin(), chain.end(), true) != chain.end();
  });
}

}  // namespace

bool quantizes(const MethodMeta& method) {
  for (size_t i = 0; i < method.num_operators(); ++i) {
    if (quantize_kernel(method.op(i))) return true;
  }
  return has_roundings(method);
}

bool quantizes_otherwise(const MethodMeta& method) {
  for (size_t i = 0; i < method.num_operators(); ++i) {
    const QuantizeKernel* kernel = quantize_kernel(method.op(i));
    if (kernel && kernel->scales != Scales::number) return true;
  }
  return has_roundings(method);
}

bool has_int16(const MethodMeta& method) {
  for (size_t i = 0; i < method.num_values(); ++i) {
    const ValueMeta value = method.value(i);
    if (value.tag == Tag::tensor && value.tensor.dtype == DType::i16) return true;
  }
  return false;
}

std::set<std::string> operators_of(const MethodMeta& method) {
  std::set<std::string> names;
  for (size_t i = 0; i < method.num_operators(); ++i) names.insert(operator_text(method.op(i)));
  return names;
}

bool has_int16_beyond(const std::set<std::string>& known, const MethodMeta& method) {
  const auto is_int16 = [&](int32_t value) {
    const ValueMeta meta = method.value(static_cast<size_t>(value));
    return meta.tag == Tag::tensor && meta.tensor.dtype == DType::i16;
  };
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t index = 0; index < method.num_instructions(chain); ++index) {
      const InstructionMeta at = method.instruction(chain, index);
      if (at.kind != InstructionKind::kernel || known.count(operator_text(method.op(at.target))) > 0) continue;
      if (std::any_of(at.args.begin(), at.args.end(), is_int16)) return true;
    }
  }
  return false;
}

bool RandomBits::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return ((z ^ (z >> 31)) & 1) != 0;
}

void RoundingFlipper::watch(const MethodMeta& method) {
  method_ = method;
  roundings_ = find_roundings(method);
  counts_.clear();
  bits_ = RandomBits(num_runs_++);
}

void RoundingFlipper::flip(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<RoundingFlipper*>(state);
  if (error != Error::Ok || !self.method_ || instruction.kind != InstructionKind::kernel) return;
  const auto choose = [&] { return self.num_runs_ == 1 || self.bits_.next(); };
  if (const QuantizeKernel* kernel = quantize_kernel(instruction.op)) {
    ++self.num_quantized_;
    const bool is_int16 = instruction.args[instruction.args.size() - 1]->tensor->dtype == DType::i16;
    Quantized(*kernel, instruction.args).flip(is_int16 ? self.int16_margin_ : self.fixed_margin_, self.far_, choose);
  } else if (self.roundings_[instruction.chain][instruction.index]) {
    ++self.num_quantized_;
    flip_rounded(instruction.args, self.far_, choose);
  }
  if (self.far_) return;
  for_each_result(*self.method_, instruction, [&](const NodeKey& key, NamedArray array) {
    const size_t index = self.counts_[key]++;
    std::vector<double>& known = self.deviations_[key];
    if (known.size() <= index) known.resize(index + 1);
    const NamedArray* recorded = self.plain_.result(key, index);
    if (recorded) known[index] = std::max(known[index], largest_difference(array, *recorded));
  });
}

double RoundingFlipper::deviation(const NodeKey& key, size_t index) const {
  const auto found = deviations_.find(key);
  return found == deviations_.end() || index >= found->second.size() ? 0 : found->second[index];
}

}  // namespace wick::cli
