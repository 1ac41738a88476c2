// Elements of quantized tensors that the kernels of a program wrote, and how near they are to a model's.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/trace/node_trace.h"

namespace wick::cli {

/// Elements of one tensor that a kernel of the program wrote.
struct Elements {
  std::string op, source, module;
  uint32_t instruction = 0;
  DType dtype = DType::i8;      // i8 also for elements of uint8
  std::vector<int32_t> values;  // values_of()
};

/// Keeps the int8, uint8 and int16 results of each kernel of a program, up to `max_bytes`, unless nothing reads them.
class ElementRecorder {
 public:
  explicit ElementRecorder(uint64_t max_bytes) : max_bytes_(max_bytes), tracer_{ignore, record, this} {}
  ElementRecorder(const ElementRecorder&) = delete;
  const Tracer* tracer() const { return &tracer_; }
  /// Must be called before the run.
  void watch(const MethodMeta& method);
  const std::vector<Elements>& all() const { return all_; }

 private:
  static void ignore(void*, const InstructionInfo&) {}
  static void record(void* state, const InstructionInfo& instruction, Error error);

  uint64_t max_bytes_, bytes_ = 0;
  std::optional<MethodMeta> method_;
  std::vector<bool> is_read_;  // by value
  Tracer tracer_;
  std::vector<Elements> all_;
};

/// The elements, row-major. Elements of uint8 become the elements of int8 that stand for the same numbers.
std::vector<int32_t> values_of(const Tensor& tensor);
/// Writes values_of() into a tensor of int8, uint8 or int16 with as many elements.
void store_values(Tensor& tensor, const std::vector<int32_t>& values);
/// i8 for u8, else `dtype` itself.
DType signed_of(DType dtype);

/// A quantized value of the model, in one run.
struct QuantizedValue {
  const Tensor& tensor;         // the result of a quantize
  std::vector<int32_t> values;  // values_of(tensor)
  NamedArray numbers;           // the numbers that were quantized
  double scale = 1;
  int64_t zero = 0, low = 0, high = 0;  // of the elements that values_of() gives
};
QuantizedValue quantized_value(Span<EValue* const> args);

/// Elements of the program that may stand for a value of the model, in the value's order and on its grid.
struct Candidate {
  std::vector<int32_t> values;
  double apart = 0;             // sum of the differences from the model's elements, in steps
  std::vector<size_t> indices;  // the program's tensors that hold them
};

/// Finds the program's tensors that may stand for a value of the model, with its dimensions in any order. The nearest
/// come first; equal ones are one candidate. Sets `known` of every tensor found. Candidates are:
/// - Elements within steps_between_programs() of the model's. With `same_rounding`: elements to which the model's
///   operator may round the same numbers (compiler/analysis/rounding_limits.h).
/// - Elements on another grid: its step is a power of two and at most kCoarsestOwnGrid of the model's, its zero point 0
///   or an end of the range. Each number is within error_on_own_grid() of its element, or at most a step beyond the
///   range if the element is at its end. Converted to the model's grid, they may be the model's value; halves are
///   rounded to even or away from 0. Not with `same_rounding`.
/// `slack`: additional steps by which elements of the first kind may differ, one number for each element, or none.
std::vector<Candidate> candidates_of(const QuantizedValue& value, const std::vector<double>& slack,
                                     const std::vector<Elements>& program, bool same_rounding,
                                     std::vector<bool>& known);

/// Calls function(tensor) for a tensor, or each of a list.
template <typename Function>
void for_each_tensor(const EValue& value, const Function& function) {
  if (value.tag == Tag::tensor && value.tensor) function(*value.tensor);
  if (value.tag == Tag::tensor_list) {
    for (Tensor* tensor : value.tensors()) {
      if (tensor) function(*tensor);
    }
  }
}

}  // namespace wick::cli
