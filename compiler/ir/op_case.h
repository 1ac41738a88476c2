// The text form of one call of an operator, for tests: OpDef::cases.
//
//   f32[2, 5], -1, false              the arguments in the order of the schema; those left out take their defaults
//   f32[2, 5], i64[3]{index<5}, dim=0 keyword arguments by name
//   ! f32[2, 5], 7                    eager refuses this call, and so must we
//
// Values: tensors, numbers (also inf, -inf, nan), true, false, None, lists [..], and words: dtypes (f32), strings
// (mean), memory formats (channels_last), strided, cpu. A tensor is dtype[sizes], then how it is filled, if not with
// numbers of either sign:
//   {range=0.5..3}      uniform, the upper end excluded; integers: included
//   {special}           zeros of both signs, infinities, NaN, subnormals, the limits of integers; then numbers
//   {index<5}           integers from 0
//   {distinct}          no two equal, in random order
//   {sorted}            ascending along the last dimension
//   {definite}          square matrices that are symmetric and positive definite
//   {=1, -2.5, nan}     these, over and over
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/op_def.h"
#include "compiler/support/result.h"

namespace wick::compiler {

struct CaseFill {
  enum class Kind : uint8_t { range, special, index, distinct, sorted, definite, values };
  Kind kind = Kind::range;
  double low = -3, high = 3;   // kind range; of integers -9 and 9
  int64_t limit = 0;           // kind index
  std::vector<double> values;  // kind values
};

struct CaseTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  CaseFill fill;
  uint32_t seed = 0;  // decides the elements; made of the operator, the text and the tensor's place in it
};

struct CaseValue {
  enum class Kind : uint8_t { none, boolean, integer, real, word, tensor, list };
  Kind kind = Kind::none;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string word;
  CaseTensor tensor;
  std::vector<CaseValue> items;
};

struct CaseArgument {
  std::string name;
  bool by_name = false;  // passed as a keyword argument
  CaseValue value;
};

struct OpCase {
  std::string text;
  bool refused = false;
  std::vector<CaseArgument> arguments;
};

/// Reads a case and checks it against the schema: names, number, types, and that no argument without default is left
/// out. Errors: corrupt_file, naming operator and case.
Result<OpCase> parse_case(const OpDef& def, std::string_view text);

/// The cases of the row; an in-place operator without any has those of its functional form.
const Cases& cases_of(const OpDef& def);

}  // namespace wick::compiler
