#include "cli/trace/local_check.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "cli/arrays/array_summary.h"
#include "cli/trace/rounding_flips.h"
#include "devices/instruction_place.h"

namespace wick::cli {

namespace {

constexpr double kNearWhole = 0x1p-7;  // of a step: a number this near a step is not rounded

bool starts_with(const OperatorName& op, std::string_view start) {
  return std::string_view(op.name).substr(0, start.size()) == start;
}
bool is_dequantize(const OperatorName& op) { return starts_with(op, "quantized_decomposed::dequantize_per_"); }

/// Whether the numbers to quantize lie on steps already, so that nothing is rounded.
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

bool is_followed(const OperatorName& op) { return op.equals("quantized_decomposed::quantize_per_tensor.out"); }

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
  if (is_followed(instruction.op)) {
    self.followed_.emplace_back();
    if (made.origin != Origin::constants) return self.check_quantized(instruction, std::move(made));
    // A computed constant: the program may compute it in another way.
    if (!made.places.empty()) made.origin = Origin::model;
  } else if (is_dequantize(instruction.op)) {
    made.places.clear();
  } else {
    Place place = self.place_of(instruction);
    if (place != Place()) made.places.insert(std::move(place));
  }
  for_each_tensor(*instruction.args[instruction.args.size() - 1],
                  [&](const Tensor& tensor) { self.note(tensor, made); });
}

LocalCheck::Place LocalCheck::place_of(const InstructionInfo& instruction) const {
  compiler::Where where = device::instruction_source(*method_, instruction.chain, instruction.index);
  return {std::move(where.source), std::move(where.module)};
}

bool LocalCheck::take_from_program(const InstructionInfo& quantize, const QuantizedValue& value, const Made& made,
                                   Followed& followed) {
  const size_t number = followed_.size() - 1;
  const auto slack = reading_.slack.find(number);
  const bool same_rounding = rounds_alike_ && made.origin == Origin::program;
  std::vector<Candidate> candidates = candidates_of(
      value, slack == reading_.slack.end() ? std::vector<double>() : slack->second, program_, same_rounding, known_);
  followed.num_candidates = candidates.size();
  std::set<Place> places = made.places;
  if (Place own = place_of(quantize); own != Place()) places.insert(std::move(own));
  const auto is_own = [&](size_t index) {
    return !taken_[index] && places.count({program_[index].source, program_[index].module}) > 0;
  };
  followed.is_at_place = slack == reading_.slack.end() &&
                         std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
                           return std::any_of(candidate.indices.begin(), candidate.indices.end(), is_own);
                         });
  if (candidates.empty()) return false;
  const auto choice = reading_.choices.find(number);
  size_t index = choice == reading_.choices.end() ? 0 : choice->second;
  if (index == Reading::kNone) {
    if (!same_rounding && !followed.is_at_place) return false;
    index = 0;
  }
  index = std::min(index, candidates.size() - 1);
  for (const size_t each : candidates[index].indices) taken_[each] = true;
  followed.taken = std::move(candidates[index].values);
  store_values(*quantize.args[quantize.args.size() - 1]->tensor, followed.taken);
  return true;
}

void LocalCheck::check_quantized(const InstructionInfo& instruction, Made made) {
  Tensor& tensor = *instruction.args[instruction.args.size() - 1]->tensor;
  if (!is_grid(tensor.dtype) || tensor.numel == 0) {
    note(tensor, {Origin::model, {}});
    return;
  }
  const QuantizedValue value = quantized_value(instruction.args);
  Followed& followed = followed_.back();
  followed.values = value.values;
  if (take_from_program(instruction, value, made, followed)) {
    note(tensor, {Origin::program, {}});
    return;
  }
  // Programs may move or clamp elements at another place. An error in that shows in later values.
  const bool is_exact = rounds_nothing(instruction);
  note(tensor, {is_exact ? made.origin : Origin::model, {}});
  followed.is_conclusive = is_exact || (made.origin == Origin::program && tensor.dtype != DType::i16);
  if (is_exact || made.origin != Origin::program) return;
  Suspects suspects;
  for (size_t i = 0; i < program_.size(); ++i) {
    const Elements& each = program_[i];
    if (each.values.size() == followed.values.size() && each.dtype == signed_of(tensor.dtype) &&
        made.places.count({each.source, each.module}) > 0)
      suspects.indices.push_back(i);
  }
  if (suspects.indices.empty()) return;
  suspects.wanted = followed.values;
  suspects_.push_back(std::move(suspects));
}

void LocalCheck::watch(const MethodMeta& method) {
  method_ = method;
  const std::set<std::string> known = operators_of(method);
  rounds_alike_ = !quantizes_otherwise(method) && std::all_of(program_.begin(), program_.end(),
                                                              [&](const Elements& e) { return known.count(e.op) > 0; });
}

std::optional<Deviation> LocalCheck::first_deviation() const {
  for (const Suspects& suspects : suspects_) {
    if (std::any_of(suspects.indices.begin(), suspects.indices.end(), [&](size_t index) { return known_[index]; }))
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
