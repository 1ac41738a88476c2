// Tests the flags in the rows of compiler/ops that state whether an operator is pointwise or commutative, and how it
// treats signs of zeros. The kernels are the reference: the cases of each operator run at the baseline, with operands
// that are changed or swapped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "tests/conformance/case_program.h"
#include "tests/conformance/case_values.h"
#include "tests/conformance/check_case.h"
#include "wick/portable_kernels.h"

namespace wick::conformance::flags_test {
namespace {

using compiler::OpDef;
using compiler::OpFlags;

constexpr const char* kFolder = "tests/fixtures/cases";
constexpr size_t kMaxElements = 4096;  // elements of an operand
constexpr size_t kMaxPlaces = 16;      // elements of a result that are checked

/// What the cases of an operator show about a flag.
struct Evidence {
  bool shown = false;   // some case can tell a wrong flag from a right one
  std::string against;  // the first case that contradicts the flag; "" if none does
};

// A case that is compiled once and runs on different elements.
class Program {
 public:
  explicit Program(const Case& test) {
    auto compiled = compile_case(test, compiler::Profile::automatic, Operands::inputs);
    if (!compiled.ok()) return;
    pte_ = std::move(compiled->pte);
    ModuleOptions options;
    options.kernels = {portable_kernels()};
    options.max_isa = IsaLevel::baseline;
    module_ = Module::load({pte_.data(), pte_.size()}, options, &error_);
  }

  /// The outputs; nothing if the case does not compile or the kernels refuse the elements. Other tests check refusals.
  std::optional<std::vector<HostValue>> run(const std::vector<HostValue>& inputs) {
    std::vector<HostValue> outputs;
    if (!module_ || !module_->forward(inputs, &outputs, &error_)) return std::nullopt;
    return outputs;
  }

 private:
  std::vector<uint8_t> pte_;
  ModuleError error_;
  std::unique_ptr<Module> module_;
};

size_t num_elements(const HostTensor& tensor) { return tensor.bytes.size() / dtype_size_bytes(tensor.dtype); }

std::vector<HostValue> inputs_of(const Case& test) {
  std::vector<HostValue> inputs;
  for (const auto& [name, tensor] : test.tensors) inputs.emplace_back(tensor.value);
  return inputs;
}

template <typename T>
bool same_parts(const uint8_t* a, const uint8_t* b, size_t size, bool (*is_nan)(T)) {
  for (size_t at = 0; at < size; at += sizeof(T)) {
    T x, y;
    std::memcpy(&x, a + at, sizeof(T));
    std::memcpy(&y, b + at, sizeof(T));
    if (std::memcmp(a + at, b + at, sizeof(T)) != 0 && !(is_nan(x) && is_nan(y))) return false;
  }
  return true;
}

// Equal bits, or both NaN.
bool same(DType dtype, const uint8_t* a, const uint8_t* b, size_t size) {
  switch (dtype) {
    case DType::f16: return same_parts<uint16_t>(a, b, size, [](uint16_t x) { return (x & 0x7fff) > 0x7c00; });
    case DType::bf16: return same_parts<uint16_t>(a, b, size, [](uint16_t x) { return (x & 0x7fff) > 0x7f80; });
    case DType::f32:
    case DType::c64: return same_parts<float>(a, b, size, [](float x) { return x != x; });
    case DType::f64:
    case DType::c128: return same_parts<double>(a, b, size, [](double x) { return x != x; });
    default: return size == 0 || std::memcmp(a, b, size) == 0;
  }
}

bool same(const HostTensor& a, const HostTensor& b) {
  return a.dtype == b.dtype && a.sizes == b.sizes && same(a.dtype, a.bytes.data(), b.bytes.data(), a.bytes.size());
}

// A tensor with the dtype and sizes of `like` that repeats kEdges edge values, starting with number `first`.
constexpr size_t kEdges = 8;
HostTensor with_edges(const HostTensor& like, size_t first) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  compiler::CaseTensor tensor;
  tensor.dtype = like.dtype;
  tensor.sizes.assign(like.sizes.begin(), like.sizes.end());
  tensor.fill.kind = compiler::CaseFill::Kind::values;
  tensor.fill.values = is_floating(like.dtype) || is_complex(like.dtype)
                           ? std::vector<double>{0.0, -0.0, kInf, -kInf, kNaN, 1.5, -0.3, 7.0}
                           : std::vector<double>{0, 1, -1, 2, 3, 5, 64, 100};
  std::rotate(tensor.fill.values.begin(), tensor.fill.values.begin() + static_cast<std::ptrdiff_t>(first),
              tensor.fill.values.end());
  return filled(tensor);
}

// --- kPointwise ---

// The sizes that the case's tensors broadcast to; nothing if they do not broadcast.
std::optional<std::vector<int32_t>> broadcast(const Case& test) {
  std::vector<int32_t> out;
  for (const auto& [name, tensor] : test.tensors) {
    const std::vector<int32_t>& sizes = tensor.value.sizes;
    if (sizes.size() > out.size()) out.insert(out.begin(), sizes.size() - out.size(), 1);
    for (size_t i = 1; i <= sizes.size(); ++i) {
      int32_t& size = out[out.size() - i];
      const int32_t other = sizes[sizes.size() - i];
      if (size != 1 && other != 1 && size != other) return std::nullopt;
      if (size == 1) size = other;
    }
  }
  return out;
}

// The index of the element of an operand with sizes `operand` that is broadcast to element `at` of the result.
size_t element_behind(const std::vector<int32_t>& result, size_t at, const std::vector<int32_t>& operand) {
  size_t out = 0, stride = 1;
  for (size_t i = 1; i <= operand.size(); ++i) {
    const auto size = static_cast<size_t>(result[result.size() - i]);
    const auto own = static_cast<size_t>(operand[operand.size() - i]);
    if (own != 1) out += at % size * stride;
    at /= size;
    stride *= own;
  }
  return out;
}

void fill_with(HostTensor& tensor, size_t element) {
  const size_t size = dtype_size_bytes(tensor.dtype);
  const std::vector<uint8_t> value(tensor.bytes.begin() + static_cast<std::ptrdiff_t>(element * size),
                                   tensor.bytes.begin() + static_cast<std::ptrdiff_t>((element + 1) * size));
  for (size_t at = 0; at < tensor.bytes.size(); at += size)
    std::copy(value.begin(), value.end(), tensor.bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

// Fills each operand with its one element that is broadcast to element `at` of the result. A pointwise operator then
// gives element `at` everywhere: it depends neither on other elements nor on its position.
void check_element(Program& program, std::vector<HostValue> inputs, const HostTensor& result, size_t at,
                   Evidence& evidence) {
  for (HostValue& input : inputs) fill_with(input.tensor, element_behind(result.sizes, at, input.tensor.sizes));
  const auto outputs = program.run(inputs);
  if (!outputs) return;
  const HostTensor& uniform = (*outputs)[0].tensor;
  const size_t size = dtype_size_bytes(result.dtype);
  const uint8_t* own = result.bytes.data() + at * size;
  for (size_t i = 0; i < num_elements(result); ++i) {
    if (!same(result.dtype, own, uniform.bytes.data() + i * size, size))
      evidence.against = fmt::format("element {} of the result depends on more than the elements behind it", at);
    if (!same(result.dtype, own, result.bytes.data() + i * size, size)) evidence.shown = true;
  }
}

void check_elements(Program& program, const Case& test, const std::vector<HostValue>& inputs, Evidence& evidence) {
  const auto outputs = program.run(inputs);
  if (!outputs) return;
  const HostTensor& result = (*outputs)[0].tensor;
  if (broadcast(test) != result.sizes) {
    evidence.against = "the result has other sizes than its operands broadcast to";
    return;
  }
  const size_t count = num_elements(result), step = 1 + count / kMaxPlaces;
  for (size_t at = 0; at < count && evidence.against.empty(); at += step)
    check_element(program, inputs, result, at, evidence);
}

void look_pointwise(const Case& test, Evidence& evidence) {
  if (test.expect.size() != 1 || test.expect[0].kind != Expected::Kind::tensor) {
    evidence.against = "it returns another thing than one tensor";
    return;
  }
  Program program(test);
  std::vector<HostValue> inputs = inputs_of(test);
  check_elements(program, test, inputs, evidence);
  for (const size_t first : {size_t{0}, kEdges / 2}) {
    for (HostValue& input : inputs) input.tensor = with_edges(input.tensor, first);
    if (evidence.against.empty()) check_elements(program, test, inputs, evidence);
  }
}

// --- kCommutative ---

// Whether eager treats two operands differently although the operator is commutative: a 16-bit float beside another
// dtype. Eager reads the second operand as f32 if it has one element, but never the first. Passes need the flag only
// after round_numbers has converted such operands.
bool has_roles(const HostTensor& a, const HostTensor& b) {
  const auto is_half = [](DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; };
  return a.dtype != b.dtype && (is_half(a.dtype) || is_half(b.dtype));
}

// The same call with its first two operands swapped; nothing unless both are tensors.
std::optional<Case> swapped(const Case& test) {
  if (test.inputs.size() < 2) return std::nullopt;
  const auto *a = std::get_if<compiler::pt2::TensorArg>(&test.inputs[0].arg),
             *b = std::get_if<compiler::pt2::TensorArg>(&test.inputs[1].arg);
  if (!a || !b || a->name == b->name) return std::nullopt;
  Case out = test;
  std::swap(out.inputs[0].arg, out.inputs[1].arg);
  return out;
}

bool same(const std::vector<HostValue>& a, const std::vector<HostValue>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const HostValue& x, const HostValue& y) {
           return x.tag == y.tag && x.integer == y.integer && same(x.tensor, y.tensor);
         });
}

void look_commutative(const Case& test, Evidence& evidence) {
  const std::optional<Case> other = swapped(test);
  if (!other) return;
  Program program(test), program_swapped(*other);
  std::vector<HostValue> inputs = inputs_of(test);
  if (has_roles(inputs[0].tensor, inputs[1].tensor)) return;
  const auto compare = [&] {
    const auto one = program.run(inputs);
    if (!one) return;
    const auto two = program_swapped.run(inputs);
    if (!two || !same(*one, *two)) evidence.against = two ? "the results differ" : "not computed when swapped";
    evidence.shown = evidence.shown || inputs[0].tensor.bytes != inputs[1].tensor.bytes;
  };
  compare();
  const HostTensor a = inputs[0].tensor, b = inputs[1].tensor;
  for (size_t n = 0; n < kEdges * kEdges && evidence.against.empty(); ++n) {
    inputs[0].tensor = with_edges(a, n / kEdges);
    inputs[1].tensor = with_edges(b, n % kEdges);
    compare();
  }
}

// --- signs of zeros ---

// How the cases of an operator depend on the signs of zeros.
struct SignEvidence {
  std::set<size_t> tells;      // operands in which the sign of a zero changes more than the sign of a zero result
  bool negative_zero = false;  // some element of a result is -0
};

double element_at(const HostTensor& tensor, size_t at) {
  const uint8_t* from = tensor.bytes.data() + at * dtype_size_bytes(tensor.dtype);
  if (tensor.dtype == DType::f64) {
    double out;
    std::memcpy(&out, from, sizeof out);
    return out;
  }
  if (tensor.dtype == DType::boolean) return *from;
  float out = 0;
  if (tensor.dtype == DType::f32) std::memcpy(&out, from, sizeof out);
  return static_cast<double>(out);
}

void compare_zeros(const HostTensor& a, const HostTensor& b, size_t operand, SignEvidence& evidence) {
  for (size_t at = 0; at < num_elements(a); ++at) {
    const double x = element_at(a, at), y = element_at(b, at);
    evidence.negative_zero |= (x == 0 && std::signbit(x)) || (y == 0 && std::signbit(y));
    if (x != y && !(std::isnan(x) && std::isnan(y))) evidence.tells.insert(operand);
  }
}

// Fills one f32 operand with zeros of one sign, then of the other, and compares the results. The other operands hold
// edge values.
void look_at_signs(const Case& test, SignEvidence& evidence) {
  Program program(test);
  std::vector<HostValue> inputs = inputs_of(test);
  for (size_t operand = 0; operand < inputs.size(); ++operand) {
    if (inputs[operand].tensor.dtype != DType::f32) continue;
    for (size_t first = 0; first < kEdges; ++first) {
      for (HostValue& input : inputs) input.tensor = with_edges(input.tensor, first);
      HostTensor& zeros = inputs[operand].tensor;
      std::fill(zeros.bytes.begin(), zeros.bytes.end(), 0);
      const auto positive = program.run(inputs);
      for (size_t at = 3; at < zeros.bytes.size(); at += 4) zeros.bytes[at] = 0x80;
      const auto negative = program.run(inputs);
      if (!positive || !negative) continue;
      for (size_t i = 0; i < positive->size(); ++i) {
        const HostTensor &a = (*positive)[i].tensor, &b = (*negative)[i].tensor;
        if ((a.dtype == DType::f32 || a.dtype == DType::boolean) && a.dtype == b.dtype && a.sizes == b.sizes)
          compare_zeros(a, b, operand, evidence);
      }
    }
  }
}

void check_signs(const OpDef& def, const SignEvidence& evidence) {
  const bool by_exponent = def.name() == "aten.pow.Tensor_Scalar";  // compiler/analysis/zero_signs.cpp handles it
  for (const size_t operand : evidence.tells) {
    EXPECT_TRUE(by_exponent || def.has(compiler::kDependsOnZeroSign) ||
                (operand == 1 && def.has(compiler::kDependsOnZeroSignOf1)))
        << def.name() << " tells -0 from 0 in operand " << operand;
  }
  if (evidence.negative_zero) {
    EXPECT_FALSE(def.has(compiler::kNoNegativeZero | compiler::kNonNegative)) << def.name() << " makes -0";
  }
}

TEST(OperatorFlags, SignsOfZerosAreWhatTheRowsSay) {
  for (const char* family : kFamilies) {
    if (std::string_view(family) == "dtypes") continue;
    const auto cases = read_cases(kFolder, family);
    ASSERT_TRUE(cases.ok()) << compiler::render(cases.diag());
    std::map<std::string, SignEvidence> found;
    for (const Case& test : *cases) {
      if (is_small_function(test, kMaxElements)) look_at_signs(test, found[test.op]);
    }
    for (const auto& [name, evidence] : found) {
      const OpDef* def = compiler::find_op(name);
      if (def && def->infer) check_signs(*def, evidence);
    }
  }
}

// --- the rows ---

std::map<std::string, Evidence> evidence_of(void (*look)(const Case&, Evidence&)) {
  std::map<std::string, Evidence> out;
  for (const char* family : kFamilies) {
    if (std::string_view(family) == "dtypes") continue;
    const auto cases = read_cases(kFolder, family);
    EXPECT_TRUE(cases.ok()) << compiler::render(cases.diag());
    if (!cases.ok()) return out;
    for (const Case& test : *cases) {
      if (!is_small_function(test, kMaxElements)) continue;
      Evidence& evidence = out[test.op];
      if (!evidence.against.empty()) continue;
      look(test, evidence);
      if (!evidence.against.empty())
        evidence.against = fmt::format("{} line {}{}: {}", family, test.line, shapes(test), evidence.against);
    }
  }
  return out;
}

// Every row with the flag must be confirmed by its cases. Every row that its cases confirm must have the flag or be
// among the exceptions.
template <typename Exceptions>
void check_rows(OpFlags flag, const std::map<std::string, Evidence>& evidence, const Exceptions& exceptions) {
  // A row needs the flag only if passes ask for it: they never meet operators without a shape function, and they handle
  // views and identities without the flag.
  const auto asked = [](const OpDef& def) {
    return def.infer && !def.has(compiler::kView) && !def.has(compiler::kIdentity);
  };
  std::set<std::string_view> left_out;
  for (const FlagException& exception : exceptions) left_out.insert(exception.op);
  for (const OpDef* def : compiler::all_ops()) {
    if (is_untested(def->name())) continue;
    const auto found = evidence.find(std::string(def->name()));
    const Evidence none, &own = found == evidence.end() ? none : found->second;
    const bool holds = own.shown && own.against.empty(), excepted = left_out.erase(def->name()) != 0;
    if (def->has(flag)) {
      EXPECT_TRUE(holds) << def->name() << " has the flag, but "
                         << (own.against.empty() ? "no case shows it: add one to its row" : own.against);
      EXPECT_FALSE(excepted) << def->name() << " has the flag: take it off the exceptions";
    } else {
      EXPECT_EQ(holds && asked(*def), excepted)
          << def->name()
          << (holds && !excepted ? " behaves so in all its cases: set the flag, add a case that shows the "
                                   "contrary, or name it among the exceptions"
                                 : " need not be among the exceptions");
    }
  }
  for (const std::string_view name : left_out)
    ADD_FAILURE() << "no operator " << name << ": take it off the exceptions";
}

TEST(OperatorFlags, PointwiseOperatorsAreThoseWhoseElementsReadOnlyTheirOwn) {
  check_rows(compiler::kPointwise, evidence_of(look_pointwise), kNotPointwise);
}

TEST(OperatorFlags, CommutativeOperatorsAreThoseWhoseOperandsMaySwap) {
  check_rows(compiler::kCommutative, evidence_of(look_commutative), kNotCommutative);
}

}  // namespace
}  // namespace wick::conformance::flags_test
