#include "cli/trace/program_elements.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <set>

#include "cli/arrays/array_summary.h"
#include "compiler/analysis/rounding_limits.h"
#include "devices/instruction_place.h"

namespace wick::cli {

namespace {

constexpr size_t kMostOrdered = 4;   // dimensions of size > 1 that are tried in other orders
constexpr int kGrids = 9;            // number of powers of two that are tried as steps
constexpr double kFloats = 0x1p-12;  // of a step: the error of float arithmetic

/// Row-major positions of a tensor's elements, its dimensions taken in `order`.
std::vector<size_t> positions(const std::vector<size_t>& sizes, const std::vector<size_t>& order) {
  std::vector<size_t> strides(sizes.size(), 1), at(sizes.size(), 0), all;
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = strides[d] * sizes[d];
  all.reserve(sizes.empty() ? 1 : strides[0] * sizes[0]);
  for (;;) {
    size_t position = 0;
    for (size_t d = 0; d < sizes.size(); ++d) position += at[d] * strides[order[d]];
    all.push_back(position);
    size_t d = sizes.size();
    while (d-- > 0) {
      if (++at[d] < sizes[order[d]]) break;
      at[d] = 0;
    }
    if (d == SIZE_MAX) return all;
  }
}

/// The orders in which another tensor may have the dimensions of `tensor`; the first one, empty, is its own.
std::vector<std::vector<size_t>> orders_of(const Tensor& tensor) {
  std::vector<size_t> sizes;
  for (const int32_t size : tensor.shape()) {
    if (size != 1) sizes.push_back(static_cast<size_t>(size));
  }
  std::vector<std::vector<size_t>> orders(1);
  if (sizes.size() > kMostOrdered) return orders;
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  while (std::next_permutation(order.begin(), order.end())) orders.push_back(positions(sizes, order));
  return orders;
}

/// The range of elements that correct programs may have in place of one of the model's.
struct Near {
  double lowest, highest;
};

/// `same_rounding`: computed by the model's own operator from the same numbers, else by a backend's operator.
std::vector<Near> near_elements(const QuantizedValue& value, const std::vector<double>& slack, bool same_rounding) {
  std::vector<Near> all(value.values.size());
  double largest = 0;
  if (same_rounding) {
    for (size_t i = 0; i < all.size(); ++i)
      largest = std::max(largest, std::fabs(element_of(value.numbers, i) / value.scale));
  }
  const double apart = compiler::steps_between_programs(value.tensor.dtype),
               error = compiler::error_of_own_operator(largest);
  for (size_t i = 0; i < all.size(); ++i) {
    const double more = slack.empty() ? 0 : slack[i], element = value.values[i];
    all[i] = {element - apart - more, element + apart + more};
    if (!same_rounding || !std::isfinite(largest)) continue;
    const double steps = std::clamp(element_of(value.numbers, i) / value.scale + static_cast<double>(value.zero),
                                    static_cast<double>(value.low), static_cast<double>(value.high));
    all[i] = {std::min(element, std::ceil(steps - error)) - more, std::max(element, std::floor(steps + error)) + more};
  }
  return all;
}

/// The sum of the differences in steps; nullopt if an element is outside its range.
std::optional<double> steps_apart(const std::vector<int32_t>& found, const QuantizedValue& value,
                                  const std::vector<Near>& near, const std::vector<size_t>& order) {
  double total = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const size_t at = order.empty() ? i : order[i];
    if (found[i] < near[at].lowest || found[i] > near[at].highest) return {};
    total += std::abs(found[i] - value.values[at]);
  }
  return total;
}

std::vector<int32_t> in_order(const std::vector<int32_t>& values, const std::vector<size_t>& order) {
  if (order.empty()) return values;
  std::vector<int32_t> moved(values.size());
  for (size_t i = 0; i < values.size(); ++i) moved[order[i]] = values[i];
  return moved;
}

double steps_between(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) total += std::fabs(static_cast<double>(a[i]) - b[i]);
  return total;
}

/// A grid on which the program may keep a value.
struct Grid {
  double step;
  int32_t zero, low, high;
};

/// Grids that a value may have in the program. Those of int16 have zero point 0.
std::vector<Grid> grids_of(const QuantizedValue& value, DType dtype) {
  std::vector<Grid> grids;
  if (!(value.scale > 0) || !std::isfinite(value.scale)) return grids;
  const double coarsest = std::exp2(std::floor(std::log2((compiler::kCoarsestOwnGrid + kFloats) * value.scale)));
  for (int i = 0; i < kGrids; ++i) {
    const double step = coarsest * std::exp2(-i);
    if (dtype == DType::i16) {
      grids.push_back({step, 0, INT16_MIN, INT16_MAX});
    } else {
      for (const int32_t zero : {INT8_MIN, 0, INT8_MAX}) grids.push_back({step, zero, INT8_MIN, INT8_MAX});
    }
  }
  return grids;
}

/// Whether each number, clamped to the model's range, is within error_on_own_grid() of its element, or at most a step
/// beyond the range if the element is at its end (256/256, for a softmax).
bool holds(const Grid& grid, DType dtype, const std::vector<int32_t>& elements, const std::vector<size_t>& order,
           const QuantizedValue& value) {
  const double most = compiler::error_on_own_grid(dtype) + kFloats, at_end = 1 + kFloats;
  const double lowest = value.scale * static_cast<double>(value.low - value.zero),
               highest = value.scale * static_cast<double>(value.high - value.zero);
  for (size_t i = 0; i < elements.size(); ++i) {
    const double number = std::clamp(element_of(value.numbers, order.empty() ? i : order[i]), lowest, highest);
    const double above = number / grid.step - (elements[i] - grid.zero);
    if (std::isnan(above) || above > (elements[i] == grid.high ? at_end : most) ||
        above < -(elements[i] == grid.low ? at_end : most))
      return false;
  }
  return true;
}

/// The numbers of the elements, rounded to the model's grid.
std::vector<int32_t> moved_to(const QuantizedValue& value, const Grid& grid, const std::vector<int32_t>& elements,
                              bool to_even) {
  std::vector<int32_t> moved(elements.size());
  for (size_t i = 0; i < moved.size(); ++i) {
    const double steps = grid.step * (elements[i] - grid.zero) / value.scale;
    const double rounded = (to_even ? std::nearbyint(steps) : std::round(steps)) + static_cast<double>(value.zero);
    moved[i] =
        static_cast<int32_t>(std::clamp(rounded, static_cast<double>(value.low), static_cast<double>(value.high)));
  }
  return moved;
}

/// The value, or the tensors of a list.
std::vector<uint32_t> values_of_argument(const MethodMeta& method, int32_t argument) {
  if (argument < 0) return {};
  const auto value = static_cast<uint32_t>(argument);
  const Span<const int32_t> items = method.value(value).tensor_items;
  std::vector<uint32_t> values;
  for (const int32_t item : items) {
    if (item >= 0) values.push_back(static_cast<uint32_t>(item));
  }
  if (items.empty()) values.push_back(value);
  return values;
}

/// Whether two tensors share bytes of an arena.
bool overlap(const ValueMeta& a, const ValueMeta& b) {
  const TensorMeta &x = a.tensor, &y = b.tensor;
  return a.tag == Tag::tensor && b.tag == Tag::tensor && x.storage == Storage::planned &&
         y.storage == Storage::planned && x.arena == y.arena && x.arena_offset < y.arena_offset + y.nbytes &&
         y.arena_offset < x.arena_offset + x.nbytes;
}

/// Finds for each value whether something reads it: another instruction, the caller, or a view, which is a value in its
/// memory that no instruction writes. In methods with jumps or delegates every value counts as read.
class Readers {
 public:
  explicit Readers(const MethodMeta& method) : method_(method), is_read_(method.num_values()) {
    for (size_t i = 0; i < method.num_inputs(); ++i) is_written_.insert(method.input(i));
    find_written();
    if (jumps_) {
      is_read_.assign(is_read_.size(), true);
      return;
    }
    for (size_t i = 0; i < method.num_instructions(0); ++i) run(method.instruction(0, i));
    for (size_t i = 0; i < method.num_outputs(); ++i) read(method.output(i));
    for (uint32_t value = 0; value < method.num_values(); ++value) {
      if (is_state(value)) read(value);  // the next call reads it
    }
  }
  std::vector<bool> result() && { return std::move(is_read_); }

 private:
  // A mutable buffer: planned, with a name or initial bytes.
  bool is_state(uint32_t value) const {
    if (method_.tag(value) != Tag::tensor) return false;
    const TensorMeta& tensor = method_.value(value).tensor;
    return tensor.storage == Storage::planned && (tensor.initialized || tensor.name) && is_written_.count(value) == 0;
  }

  std::vector<uint32_t> results_of(const InstructionMeta& instruction) const {
    if (instruction.kind == InstructionKind::move) return {instruction.target};
    if (instruction.args.empty()) return {};
    return values_of_argument(method_, instruction.args[instruction.args.size() - 1]);
  }

  void find_written() {
    jumps_ = method_.num_chains() != 1;
    for (size_t i = 0; !jumps_ && i < method_.num_instructions(0); ++i) {
      const InstructionMeta instruction = method_.instruction(0, i);
      // Only the payload of a delegate shows which of its arguments are results.
      jumps_ = instruction.kind == InstructionKind::jump_false || instruction.kind == InstructionKind::delegate;
      for (const uint32_t value : results_of(instruction)) is_written_.insert(value);
    }
  }

  void read(uint32_t value) {
    is_read_[value] = true;
    if (is_written_.count(value) > 0) return;
    for (const uint32_t each : alive_) {
      if (overlap(method_.value(each), method_.value(value))) is_read_[each] = true;
    }
  }

  void run(const InstructionMeta& instruction) {
    const std::vector<uint32_t> results = results_of(instruction);
    if (instruction.kind == InstructionKind::move) read(instruction.value);
    for (const int32_t arg : instruction.args) {
      for (const uint32_t value : values_of_argument(method_, arg)) {
        if (std::find(results.begin(), results.end(), value) == results.end()) read(value);
      }
    }
    for (const uint32_t result : results) {
      std::erase_if(alive_, [&](uint32_t each) { return overlap(method_.value(each), method_.value(result)); });
      alive_.insert(result);
    }
  }

  const MethodMeta& method_;
  bool jumps_ = false;
  std::set<uint32_t> is_written_, alive_;  // alive: written and not overwritten
  std::vector<bool> is_read_;
};

}  // namespace

std::vector<int32_t> values_of(const Tensor& tensor) {
  const NamedArray array = to_array(tensor);
  std::vector<int32_t> values(tensor.numel);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(element_of(array, i)) - (tensor.dtype == DType::u8 ? 128 : 0);
  return values;
}

void store_values(Tensor& tensor, const std::vector<int32_t>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t offset = 0;
    for (size_t d = tensor.rank, position = i; d-- > 0;) {
      const auto size = static_cast<size_t>(tensor.sizes[d]);
      offset += static_cast<int64_t>(position % size) * tensor.strides[d];
      position /= size;
    }
    if (tensor.dtype == DType::i16) tensor.as<int16_t>()[offset] = static_cast<int16_t>(values[i]);
    if (tensor.dtype == DType::i8) tensor.as<int8_t>()[offset] = static_cast<int8_t>(values[i]);
    if (tensor.dtype == DType::u8) tensor.as<uint8_t>()[offset] = static_cast<uint8_t>(values[i] + 128);
  }
}

DType signed_of(DType dtype) { return dtype == DType::u8 ? DType::i8 : dtype; }

QuantizedValue quantized_value(Span<EValue* const> args) {
  const Tensor& tensor = *args[args.size() - 1]->tensor;
  const int64_t least = tensor.dtype == DType::u8 ? 128 : 0;
  return {tensor,
          values_of(tensor),
          to_array(*args[0]->tensor),
          args[1]->to_double(),
          args[2]->to_int() - least,
          args[3]->to_int() - least,
          args[4]->to_int() - least};
}

std::vector<Candidate> candidates_of(const QuantizedValue& value, const std::vector<double>& slack,
                                     const std::vector<Elements>& program, bool same_rounding,
                                     std::vector<bool>& known) {
  const std::vector<std::vector<size_t>> orders = orders_of(value.tensor);
  const DType dtype = signed_of(value.tensor.dtype);
  std::vector<Candidate> all;
  const auto add = [&](size_t index, std::vector<int32_t> values, double apart) {
    const auto same =
        std::find_if(all.begin(), all.end(), [&](const Candidate& other) { return other.values == values; });
    if (same == all.end())
      all.push_back({std::move(values), apart, {index}});
    else
      same->indices.push_back(index);
  };
  const std::vector<Near> near = near_elements(value, slack, same_rounding);
  for (size_t index = 0; index < program.size(); ++index) {
    const Elements& elements = program[index];
    if (elements.values.size() != value.values.size()) continue;
    for (const std::vector<size_t>& order : orders) {
      if (elements.dtype == dtype) {
        if (const auto apart = steps_apart(elements.values, value, near, order)) {
          known[index] = true;
          add(index, in_order(elements.values, order), *apart);
        }
      }
      for (const Grid& grid : same_rounding ? std::vector<Grid>() : grids_of(value, elements.dtype)) {
        if (!holds(grid, elements.dtype, elements.values, order, value)) continue;
        known[index] = true;
        for (const bool to_even : {true, false}) {
          std::vector<int32_t> moved = moved_to(value, grid, in_order(elements.values, order), to_even);
          const double apart = steps_between(moved, value.values);
          add(index, std::move(moved), apart);
        }
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Candidate& a, const Candidate& b) { return a.apart < b.apart; });
  return all;
}

void ElementRecorder::watch(const MethodMeta& method) {
  method_ = method;
  is_read_ = Readers(method).result();
}

void ElementRecorder::record(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<ElementRecorder*>(state);
  if (error != Error::Ok || !self.method_ || instruction.kind != InstructionKind::kernel || instruction.args.empty())
    return;
  const compiler::Where where = device::instruction_source(*self.method_, instruction.chain, instruction.index);
  const Span<const int32_t> args = self.method_->instruction(instruction.chain, instruction.index).args;
  const std::vector<uint32_t> results = values_of_argument(*self.method_, args[args.size() - 1]);
  size_t result = 0;
  for_each_tensor(*instruction.args[instruction.args.size() - 1], [&](const Tensor& tensor) {
    const bool is_read = result >= results.size() || self.is_read_[results[result]];
    ++result;
    if (!is_read || !is_grid(tensor.dtype) || !tensor.data || self.bytes_ + 4 * tensor.numel > self.max_bytes_) return;
    self.bytes_ += 4 * tensor.numel;
    self.all_.push_back({device::operator_text(instruction.op), where.source, where.module, instruction.index,
                         signed_of(tensor.dtype), values_of(tensor)});
  });
}

}  // namespace wick::cli
