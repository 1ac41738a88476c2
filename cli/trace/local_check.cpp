#include "cli/trace/local_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "cli/arrays/array_summary.h"
#include "devices/instruction_place.h"

namespace wick::cli {

namespace {

constexpr size_t kMostOrdered = 4;     // dimensions above 1 whose order may differ
constexpr double kNearWhole = 0x1p-7;  // of a step: nothing that is rounded

bool starts_with(const OperatorName& op, std::string_view start) {
  return std::string_view(op.name).substr(0, start.size()) == start;
}
bool is_quantize(const OperatorName& op) { return op.equals("quantized_decomposed::quantize_per_tensor.out"); }
bool is_dequantize(const OperatorName& op) { return starts_with(op, "quantized_decomposed::dequantize_per_"); }

/// Row-major. Those of uint8 as the elements of int8 that stand for the same numbers.
std::vector<int32_t> values_of(const Tensor& tensor) {
  const NamedArray array = to_array(tensor);
  std::vector<int32_t> values(tensor.numel);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int32_t>(element_of(array, i)) - (tensor.dtype == DType::u8 ? 128 : 0);
  return values;
}

DType signed_of(DType dtype) { return dtype == DType::u8 ? DType::i8 : dtype; }

template <typename Function>
void for_each_tensor(const EValue& value, const Function& function) {
  if (value.tag == Tag::tensor && value.tensor) function(*value.tensor);
  if (value.tag == Tag::tensor_list) {
    for (Tensor* tensor : value.tensors()) {
      if (tensor) function(*tensor);
    }
  }
}

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

/// All steps between the elements, or nothing if some are more than one apart.
std::optional<uint64_t> steps_apart(const std::vector<int32_t>& found, const std::vector<int32_t>& wanted,
                                    const std::vector<size_t>& order) {
  uint64_t total = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const auto apart = static_cast<uint64_t>(std::abs(found[i] - wanted[order.empty() ? i : order[i]]));
    if (apart > 1) return {};
    total += apart;
  }
  return total;
}

/// The orders in which the dimensions of `tensor` may lie in another tensor; the first one, empty, is its own.
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

/// Writes int8, uint8 (as values_of has it) or int16 at a row-major position.
class Writer {
 public:
  explicit Writer(Tensor& tensor) : tensor_(tensor) {}
  void store(size_t position, int32_t value) {
    int64_t offset = 0;
    for (size_t d = tensor_.rank; d-- > 0;) {
      const auto size = static_cast<size_t>(tensor_.sizes[d]);
      offset += static_cast<int64_t>(position % size) * tensor_.strides[d];
      position /= size;
    }
    if (tensor_.dtype == DType::i16) tensor_.as<int16_t>()[offset] = static_cast<int16_t>(value);
    if (tensor_.dtype == DType::i8) tensor_.as<int8_t>()[offset] = static_cast<int8_t>(value);
    if (tensor_.dtype == DType::u8) tensor_.as<uint8_t>()[offset] = static_cast<uint8_t>(value + 128);
  }

 private:
  Tensor& tensor_;
};

/// Whether what is quantized lies on the steps already: nothing is rounded.
bool rounds_nothing(const InstructionInfo& quantize) {
  const NamedArray x = to_array(*quantize.args[0]->tensor);
  const double scale = quantize.args[1]->to_double();
  for (size_t i = 0; i < quantize.args[0]->tensor->numel; ++i) {
    const double steps = element_of(x, i) / scale;
    if (!(std::fabs(steps - std::nearbyint(steps)) < kNearWhole)) return false;
  }
  return true;
}

}  // namespace

void ElementRecorder::record(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<ElementRecorder*>(state);
  if (error != Error::Ok || !self.method_ || instruction.kind != InstructionKind::kernel || instruction.args.empty())
    return;
  const compiler::Where where = device::instruction_source(*self.method_, instruction.chain, instruction.index);
  for_each_tensor(*instruction.args[instruction.args.size() - 1], [&](const Tensor& tensor) {
    if (!is_grid(tensor.dtype) || !tensor.data || self.bytes_ + 4 * tensor.numel > self.max_bytes_) return;
    self.bytes_ += 4 * tensor.numel;
    self.all_.push_back({device::operator_text(instruction.op), where.source, where.module, instruction.index,
                         signed_of(tensor.dtype), values_of(tensor)});
  });
}

void LocalCheck::Made::add(const Made& other) {
  origin = std::max(origin, other.origin);
  places.insert(other.places.begin(), other.places.end());
}

LocalCheck::Made LocalCheck::made_of(const Tensor& tensor) const {
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
  const uintptr_t end = begin + tensor.nbytes();
  Made made;
  bool found = false;
  auto at = regions_.upper_bound(begin);
  if (at != regions_.begin()) --at;
  for (; at != regions_.end() && at->first < end; ++at) {
    if (at->second.end <= begin) continue;
    made.add(at->second.made);
    found = true;
  }
  if (!found && !tensor.read_only) made.origin = Origin::program;  // an input
  return made;
}

LocalCheck::Made LocalCheck::made_of(const InstructionInfo& instruction) const {
  std::set<const Tensor*> results;
  const EValue& slot = *instruction.args[instruction.args.size() - 1];
  for_each_tensor(slot, [&](const Tensor& tensor) { results.insert(&tensor); });
  Made made;
  for (size_t i = 0; i + 1 < instruction.args.size(); ++i) {
    for_each_tensor(*instruction.args[i], [&](const Tensor& tensor) {
      if (tensor.data && results.count(&tensor) == 0) made.add(made_of(tensor));
    });
  }
  return made;
}

void LocalCheck::note(const Tensor& tensor, const Made& made) {
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data);
  const uintptr_t end = begin + tensor.nbytes();
  if (begin == end) return;
  auto at = regions_.upper_bound(begin);
  if (at != regions_.begin()) --at;
  while (at != regions_.end() && at->first < end) {
    const uintptr_t first = at->first;
    Region region = at->second;
    if (region.end <= begin) {
      ++at;
      continue;
    }
    at = regions_.erase(at);
    if (region.end > end) regions_[end] = region;
    region.end = begin;
    if (first < begin) regions_[first] = std::move(region);
  }
  regions_[begin] = {end, made};
}

void LocalCheck::check(void* state, const InstructionInfo& instruction, Error error) {
  auto& self = *static_cast<LocalCheck*>(state);
  if (error != Error::Ok || !self.method_ || instruction.kind != InstructionKind::kernel || instruction.args.empty())
    return;
  Made made = self.made_of(instruction);
  if (is_quantize(instruction.op) && made.origin != Origin::constants) {
    self.check_quantized(instruction, std::move(made));
    return;
  }
  if (is_quantize(instruction.op)) {
    // Constants that are computed: the program may compute them otherwise.
    if (!made.places.empty()) made.origin = Origin::model;
  } else if (is_dequantize(instruction.op)) {
    made.places.clear();
  } else {
    const compiler::Where where = device::instruction_source(*self.method_, instruction.chain, instruction.index);
    if (!where.source.empty() || !where.module.empty()) made.places.insert({where.source, where.module});
  }
  for_each_tensor(*instruction.args[instruction.args.size() - 1],
                  [&](const Tensor& tensor) { self.note(tensor, made); });
}

bool LocalCheck::take_from_program(Tensor& tensor, const std::vector<int32_t>& values) {
  const std::vector<std::vector<size_t>> orders = orders_of(tensor);
  const std::vector<size_t>* best_order = nullptr;
  const Elements* best = nullptr;
  uint64_t least = UINT64_MAX;
  for (Elements& elements : program_) {
    if (elements.values.size() != values.size() || elements.dtype != signed_of(tensor.dtype)) continue;
    for (const std::vector<size_t>& order : orders) {
      const std::optional<uint64_t> steps = steps_apart(elements.values, values, order);
      if (!steps) continue;
      elements.is_known = true;
      if (*steps < least) least = *steps, best = &elements, best_order = &order;
      break;
    }
  }
  if (!best) return false;
  Writer writer(tensor);
  for (size_t i = 0; i < values.size(); ++i) writer.store(best_order->empty() ? i : (*best_order)[i], best->values[i]);
  return true;
}

void LocalCheck::check_quantized(const InstructionInfo& instruction, Made made) {
  Tensor& tensor = *instruction.args[instruction.args.size() - 1]->tensor;
  if (!is_grid(tensor.dtype) || tensor.numel == 0) {
    note(tensor, {Origin::model, {}});
    return;
  }
  std::vector<int32_t> values = values_of(tensor);
  if (take_from_program(tensor, values)) {
    note(tensor, {Origin::program, {}});
    return;
  }
  // What only moves or clamps elements, programs may do elsewhere; a mistake in it shows in what follows.
  const bool is_exact = rounds_nothing(instruction);
  note(tensor, {is_exact ? made.origin : Origin::model, {}});
  if (is_exact || made.origin != Origin::program || tensor.dtype == DType::i16) return;
  Suspects suspects;
  for (size_t i = 0; i < program_.size(); ++i) {
    const Elements& each = program_[i];
    if (each.values.size() == values.size() && each.dtype == signed_of(tensor.dtype) &&
        made.places.count({each.source, each.module}) > 0)
      suspects.indices.push_back(i);
  }
  if (suspects.indices.empty()) return;
  suspects.wanted = std::move(values);
  suspects_.push_back(std::move(suspects));
}

std::optional<Deviation> LocalCheck::first_deviation() const {
  for (const Suspects& suspects : suspects_) {
    if (std::any_of(suspects.indices.begin(), suspects.indices.end(),
                    [&](size_t index) { return program_[index].is_known; }))
      continue;
    for (const size_t index : suspects.indices) {
      const Elements& found = program_[index];
      Deviation deviation{found.op, found.source, found.module, found.instruction, {}};
      deviation.difference.count = found.values.size();
      for (size_t i = 0; i < found.values.size(); ++i) {
        const double apart = std::abs(found.values[i] - suspects.wanted[i]);
        if (apart > 1) ++deviation.difference.mismatches;
        if (apart <= deviation.difference.max_abs) continue;
        deviation.difference.max_abs = apart;
        deviation.difference.where = {static_cast<int64_t>(i)};
      }
      return deviation;
    }
  }
  return {};
}

}  // namespace wick::cli
