// Internal to evaluate: the boxed arguments of one kernel call and the memory they point to.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "compiler/analysis/evaluate.h"
#include "wick/unbounded_memory.h"

namespace wick::compiler {

class KernelCall {
 public:
  KernelCall(const Node& node, const OperandFn& operand, const EvaluateOptions& options);
  KernelCall(const KernelCall&) = delete;
  ~KernelCall();

  /// Boxes arguments in the order of the out variant: schema order without generators and without the dtype, layout,
  /// device and pin_memory of factories; then the results; then the return slot. Throws Failure.
  void build();
  /// Runs the kernel, with more scratch memory each time it asks for more. Throws Failure.
  void run(const Kernel& kernel);
  std::vector<HostValue> take_results();

 private:
  struct HeldTensor {
    UnboundedTensor tensor;  // unbounded: a result without an upper bound, whose sizes the kernel sets
    std::vector<int32_t> sizes, strides;
    std::vector<uint8_t> dim_order;
    std::shared_ptr<std::vector<uint8_t>> bytes;  // results, and operands that had to be copied
  };
  struct HeldInts {
    IntListValue list;
    std::vector<EValue> values;
    std::vector<EValue*> items;
    std::vector<int64_t> unboxed;
  };

  EValue box(const ArgSpec& spec, const Arg& arg);
  EValue box_sym(const ArgSpec& spec, const Sym& sym);
  EValue box_operand(const Value& value);
  EValue box_number(const Arg& number);
  EValue box_ints(const Ints& ints);
  EValue box_tensors(const Values& values, bool optional);
  Tensor* operand_tensor(const Value& value);
  Tensor* result_tensor(const Value& value);
  Tensor* unbounded_result(const Value& value);
  void copy_operand(const Value& value, Tensor& result);
  HeldTensor& hold(DType dtype, std::vector<int32_t> sizes, const std::vector<uint8_t>& dim_order);
  int64_t evaluate_sym(const Sym& sym) const;

  const Node& node_;
  const OperandFn& operand_;
  const EvaluateOptions& options_;
  uint64_t result_bytes_ = 0;
  UnboundedMemory memory_;
  std::deque<EValue> values_;
  std::vector<EValue*> args_;
  std::deque<HeldTensor> tensors_;
  std::vector<HeldTensor*> results_;
  std::deque<HeldInts> ints_;
  std::deque<std::vector<Tensor*>> lists_;
  std::deque<std::vector<double>> reals_;
  std::deque<std::unique_ptr<bool[]>> bools_;
};

}  // namespace wick::compiler
