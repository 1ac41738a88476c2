#include "backends/cortex_m/compile/ops/int16/saturation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "backends/cortex_m/compile/quantized.h"
#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/passes/constants/constant_element.h"

namespace wick::cortex_m {

using compiler::Binary;
using compiler::Movement;
using compiler::Node;
using compiler::Value;

namespace {

constexpr int kMaxReaders = 16;
constexpr Saturation kNone = {std::numeric_limits<double>::infinity(), 0};

// Absolute values.
struct Magnitudes {
  double least = 0, largest = 0;
};

// The magnitudes of a constant's numbers; nullopt if it is no constant, or one is not finite.
std::optional<Magnitudes> magnitudes_of(const Value& value) {
  const std::vector<double> all = value.is_constant() ? numbers(value) : std::vector<double>();
  if (all.empty()) return std::nullopt;
  Magnitudes found = {std::abs(all[0]), std::abs(all[0])};
  for (const double number : all) {
    if (!std::isfinite(number)) return std::nullopt;
    found = {std::min(found.least, std::abs(number)), std::max(found.largest, std::abs(number))};
  }
  return found;
}

// The magnitudes of the other operand of a sum or product that reads `value`, if it is a constant or a literal.
std::optional<Magnitudes> beside(const Node& reader, const Value& value) {
  const std::vector<Value*> operands = reader.operands();
  if (operands.size() == 1) {
    const auto number = compiler::number_of(reader.arg(1), DType::f64);
    if (!number || !std::isfinite(number->real)) return std::nullopt;
    return Magnitudes{std::abs(number->real), std::abs(number->real)};
  }
  const Value* other = operands.size() == 2 ? operands[operands[0] == &value ? 1 : 0] : &value;
  return other == &value ? std::nullopt : magnitudes_of(*other);
}

// The saturation of the operand `value` of `reader`, from that of its result.
Saturation before(const Node& reader, const Value& value, const Saturation& of_result) {
  const Movement movement = reader.op->facts.movement;
  if (movement == Movement::view || movement == Movement::permute || movement == Movement::expand) return of_result;
  const bool adds = reader.is(Binary::add), multiplies = reader.is(Binary::mul);
  if (!adds && !multiplies) return kNone;
  const auto constant = beside(reader, value);
  if (!constant) return kNone;
  if (adds && compiler::has_argument(reader, "alpha") && reader.real("alpha") != 1) return kNone;
  if (adds) return {of_result.largest + constant->largest, of_result.step};
  return constant->least > 0 ? Saturation{of_result.largest / constant->least, of_result.step / constant->largest}
                             : kNone;
}

}  // namespace

Saturation saturation_of(const Value& value) {
  std::vector<std::pair<const Node*, const Value*>> readers;
  const Value* last = &value;
  while (!has_elements(*last)) {
    if (last->num_uses() != 1 || last->users().size() != 1 || readers.size() == kMaxReaders) return kNone;
    const Node* reader = last->users()[0];
    if (reader->results().size() != 1) return kNone;
    readers.emplace_back(reader, last);
    last = reader->result();
    if (!last->type.is_tensor()) return kNone;
  }
  const Affine q = affine(*last);
  Saturation found = {q.scale * (std::max(q.max - q.zero, q.zero - q.min) + 1), q.scale};
  for (auto each = readers.rbegin(); each != readers.rend(); ++each) found = before(*each->first, *each->second, found);
  return found;
}

}  // namespace wick::cortex_m
