#include "tests/conformance/check_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/float16.h"
#include "tests/conformance/exceptions.h"

namespace wick::conformance {
namespace {

template <typename Table>
const auto* entry_of(const Table& table, const Case& test) {
  for (const auto& entry : table) {
    if (entry.family == test.family && entry.line == test.line && entry.op == test.op) return &entry;
  }
  return static_cast<decltype(&table[0])>(nullptr);
}

std::string_view first_dtype(const Case& test) {
  return test.tensors.empty() ? std::string_view() : dtype_name(test.tensors[0].second.value.dtype);
}

constexpr std::string_view kNoRounding = "no rounding explains it: ";

// An upper bound of the rounding error of several steps, relative to the largest element.
double rounded_parts(DType dtype) {
  switch (dtype) {
    case DType::f16: return 0x1p-6;
    case DType::bf16: return 0x1p-4;
    case DType::f32:
    case DType::c64: return 1e-4;
    case DType::f64:
    case DType::c128: return 1e-7;  // some are made in f32
    default: return 0;
  }
}

bool may_be_rounded(const Case& test) {
  const DtypeException* known = dtype_exception(test);
  const auto is_it = [&](const DtypeException& entry) {
    return entry.op == test.op && entry.parting == Parting::rounded;
  };
  return (known && known->parting == Parting::rounded) ||
         (test.family == "mixes" && std::any_of(std::begin(kMixExceptions), std::end(kMixExceptions), is_it));
}

std::string check_tensor(const Case& test, const HostValue& value, const CaseTensor& want, bool first, Elements which,
                         double absolute) {
  if (value.tag != Tag::tensor) return "got something that is not a tensor";
  if (test.shape_only) return shape_difference(value.tensor, want.value);
  HostTensor got = value.tensor;
  if (which == Elements::finite && shape_difference(got, want.value).empty()) overlook_infinite(got, want.value);
  const Quirk* quirk = first ? entry_of(kQuirks, test) : nullptr;
  Tolerance tolerance = tolerance_for(test, want.value);
  tolerance.absolute = std::max(tolerance.absolute, absolute);
  const auto quirks = quirk ? std::vector<size_t>(quirk->elements) : std::vector<size_t>();
  std::string wrong = difference(got, want.value, tolerance, quirks);
  if (wrong.empty() || !may_be_rounded(test)) return wrong;
  // Eager rounds each step to the narrow dtype and so may overflow where Wick's wider steps do not.
  if (shape_difference(got, want.value).empty()) overlook_infinite(got, want.value);
  double parts = rounded_parts(want.value.dtype);
  for (const auto& [name, operand] : test.tensors) parts = std::max(parts, rounded_parts(operand.value.dtype));
  const Tolerance wide = {parts, parts * largest_element(want.value)};
  return (difference(got, want.value, wide, quirks).empty() ? "" : std::string(kNoRounding)) + wrong;
}

std::string check_number(const HostValue& got, const HostValue& want) {
  if (want.tag == Tag::real) {
    const bool same =
        got.tag == Tag::real && (got.real == want.real || (got.real != got.real && want.real != want.real));
    return same ? "" : fmt::format("got {}, expected {}", got.real, want.real);
  }
  // The program represents a bool that is read from a tensor as an integer.
  const int64_t wanted = want.tag == Tag::boolean ? want.boolean : want.integer;
  const int64_t found = got.tag == Tag::boolean ? got.boolean : got.integer;
  const bool same = (got.tag == Tag::boolean || got.tag == Tag::integer) && found == wanted;
  return same ? "" : fmt::format("got {}, expected {}", found, wanted);
}

const CaseTensor* find(const std::vector<std::pair<std::string, CaseTensor>>& list, const std::string& name) {
  for (const auto& [key, tensor] : list) {
    if (key == name) return &tensor;
  }
  return nullptr;
}

// The XNNPACK library flushes subnormal numbers to zero. Nodes with a note may treat infinities and NaN differently
// from eager.
bool is_extreme(float value, bool noted) {
  const float magnitude = std::fabs(value);
  return (magnitude != 0 && magnitude < 0x1p-126f) || (noted && !std::isfinite(magnitude));
}

float load_float(const HostTensor& tensor, size_t index) {
  if (tensor.dtype == DType::f16) {
    uint16_t bits;
    std::memcpy(&bits, &tensor.bytes[index * sizeof bits], sizeof bits);
    return Half::to_float(bits);
  }
  float value;
  std::memcpy(&value, &tensor.bytes[index * sizeof value], sizeof value);
  return value;
}

}  // namespace

void overlook_extremes(const Case& test, bool noted, HostTensor& got, const HostTensor& want) {
  const bool is_float = want.dtype == DType::f32 || want.dtype == DType::f16;
  if (!is_float || got.dtype != want.dtype || got.sizes != want.sizes) return;
  const size_t step = dtype_size_bytes(want.dtype);
  for (const auto& [name, input] : test.tensors) {
    if (input.value.dtype != want.dtype || input.value.sizes != want.sizes) continue;
    for (size_t i = 0; i < want.bytes.size() / step; ++i) {
      if (is_extreme(load_float(input.value, i), noted)) std::memcpy(&got.bytes[i * step], &want.bytes[i * step], step);
    }
  }
}

Tolerance tolerance_for(const Case& test, const HostTensor& want) {
  const compiler::OpDef* def = compiler::find_op(test.op);
  Tolerance tolerance = tolerance_of(def ? *def->tolerance : compiler::kRoundings, want);
  if (const IllConditioned* known = entry_of(kIllConditioned, test)) tolerance.absolute = known->absolute;
  for (const IllConditionedDtype& known : kIllConditionedDtypes) {
    if (test.family == "dtypes" && test.op == known.op && first_dtype(test) == known.dtype)
      tolerance.absolute = known.absolute;
  }
  return tolerance;
}

std::string check_outputs(const Case& test, const CompiledCase& compiled, const std::vector<HostValue>& outputs,
                          Elements which, double absolute) {
  size_t next = 0;
  size_t updated = 0;
  for (const int32_t input : compiled.mutated_inputs) {
    if (next >= outputs.size() || static_cast<size_t>(input) >= test.tensors.size())
      return "the program has too few outputs";
    const auto& [name, before] = test.tensors[static_cast<size_t>(input)];
    const CaseTensor* after = find(test.mutated, name);
    updated += after != nullptr;
    const std::string wrong = check_tensor(test, outputs[next++], after ? *after : before, false, which, absolute);
    if (!wrong.empty()) return fmt::format("mutated {}: {}", name, wrong);
  }
  if (updated != test.mutated.size())
    return fmt::format("{} of {} changed inputs are updated", updated, test.mutated.size());
  for (size_t i = 0; i < test.expect.size(); ++i) {
    const Expected& expected = test.expect[i];
    if (expected.kind == Expected::Kind::none) continue;
    const size_t count = expected.kind == Expected::Kind::number ? 1 : expected.tensors.size();
    for (size_t k = 0; k < count; ++k) {
      if (next >= outputs.size()) return "the program has too few outputs";
      const HostValue& got = outputs[next++];
      const std::string wrong = expected.kind == Expected::Kind::number
                                    ? check_number(got, expected.number)
                                    : check_tensor(test, got, expected.tensors[k], i == 0 && k == 0, which, absolute);
      if (!wrong.empty()) return fmt::format("result {}{}: {}", i, count > 1 ? fmt::format("[{}]", k) : "", wrong);
    }
  }
  return next == outputs.size() ? "" : "the program has too many outputs";
}

bool is_small_function(const Case& test, size_t max_elements) {
  constexpr compiler::OpFlags kNoFunction =
      compiler::kRandom | compiler::kInPlace | compiler::kMutates | compiler::kEffect;
  const compiler::OpDef* def = compiler::find_op(test.op);
  const auto is_small = [&](const auto& tensor) {
    const HostTensor& value = tensor.second.value;
    return value.bytes.size() <= max_elements * dtype_size_bytes(value.dtype);
  };
  return def && !def->has(kNoFunction) && !test.error && !test.shape_only && test.mutated.empty() &&
         std::all_of(test.tensors.begin(), test.tensors.end(), is_small);
}

bool is_untested(std::string_view op) {
  return std::any_of(std::begin(kUntested), std::end(kUntested), [&](const Untested& entry) {
    const bool is_prefix = entry.op.ends_with('*');
    return is_prefix ? op.starts_with(entry.op.substr(0, entry.op.size() - 1)) : op == entry.op;
  });
}

bool is_expected_failure(const Case& test) {
  return entry_of(kExpectedFailures, test) != nullptr || dtype_exception(test) != nullptr;
}

Span<const DtypeException> dtype_exceptions(std::string_view family) {
  if (family == "dtypes") return kDtypeExceptions;
  if (family == "samples") return kSampleExceptions;
  return {};
}

const DtypeException* dtype_exception(const Case& test) {
  if (test.tensors.empty()) return nullptr;
  const std::string_view dtype = first_dtype(test);
  for (const DtypeException& entry : dtype_exceptions(test.family)) {
    const bool several = entry.op.ends_with('*');
    const std::string_view stem = entry.op.substr(0, entry.op.size() - (several ? 1 : 0));
    if (several ? !test.op.starts_with(stem) : test.op != stem) continue;
    if (std::find(entry.dtypes.begin(), entry.dtypes.end(), dtype) != entry.dtypes.end()) return &entry;
  }
  return nullptr;
}

const DtypeException* mix_exception(const Case& test, std::string_view failure) {
  if (test.family != "mixes") return nullptr;
  const auto is_it = [&](const DtypeException& entry) {
    return entry.op == test.op && (failure.empty() || explains(entry, failure));
  };
  const auto* found = std::find_if(std::begin(kMixExceptions), std::end(kMixExceptions), is_it);
  return found == std::end(kMixExceptions) ? nullptr : found;
}

bool explains(const DtypeException& exception, std::string_view failure) {
  switch (exception.parting) {
    case Parting::refused:
      return failure.starts_with("does not compile") && failure.find("[internal]") == std::string_view::npos;
    case Parting::undefined: return failure.starts_with("result");
    case Parting::rounded: return failure.starts_with("result") && failure.find(kNoRounding) == std::string_view::npos;
    case Parting::accepted: return failure.starts_with("runs, but eager says");
  }
  return false;
}

std::string shapes(const Case& test) {
  std::string text;
  for (const auto& [name, tensor] : test.tensors) {
    text += fmt::format(" {}: {}[", name, dtype_name(tensor.value.dtype));
    for (size_t i = 0; i < tensor.value.sizes.size(); ++i)
      text += fmt::format("{}{}", i ? ", " : "", tensor.value.sizes[i]);
    text += "]";
  }
  return text;
}

}  // namespace wick::conformance
