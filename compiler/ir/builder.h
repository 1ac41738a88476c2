// Makes nodes: fills in default arguments, infers types, and records where the nodes come from.
#pragma once
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace wick::compiler {

/// Inserts before a fixed node (or at the end of the graph). Every call infers the result types and throws Failure,
/// with the place in the user's model, if the arguments are not valid.
class Builder {
 public:
  /// New nodes go before `before` and inherit its origin.
  Builder(Graph& graph, Node* before);
  Builder(Graph& graph, Node* before, OriginPtr origin);
  ~Builder();

  Graph& graph() { return graph_; }
  void set_origin(OriginPtr origin) { origin_ = std::move(origin); }
  const OriginPtr& origin() const { return origin_; }
  /// New nodes compute on the stored elements of quantized operands, not on the numbers that these represent.
  void work_on_elements() { on_elements_ = true; }
  /// The nodes made so far, in order.
  const std::vector<Node*>& made() const { return made_; }

  /// `name` is "aten.mul.Tensor"; ".default" may be left out ("aten.relu"). Arguments in schema order, trailing
  /// defaults may be left out; keyword-only arguments are simply the last ones of the schema.
  Value* call(std::string_view name, Args args);
  std::vector<Value*> call_multi(std::string_view name, Args args);
  Node* node(std::string_view name, Args args);

  // Short forms that decompositions need often. Each returns its operand when there is nothing to do.
  Value* cast(Value* x, DType dtype);     // aten._to_copy
  Value* reshape(Value* x, Sizes sizes);  // aten.view (views are pure in the IR: any reshape is one)
  Value* expand(Value* x, Sizes sizes);
  Value* permute(Value* x, std::vector<int64_t> dims);
  Value* transpose(Value* x, int64_t dim0, int64_t dim1);  // as a permute
  Value* unsqueeze(Value* x, int64_t dim);
  Value* squeeze(Value* x, int64_t dim);
  Value* slice(Value* x, int64_t dim, Sym start, Sym end, Sym step = 1);
  Value* select(Value* x, int64_t dim, Sym index);
  Value* full(Sizes sizes, Arg value, DType dtype);
  /// A 0-d constant of that dtype (value converted as eager would).
  Value* scalar(double value, DType dtype);
  Value* constant(TensorType type, std::vector<uint8_t> bytes, std::string_view name = "c");
  Value* constant(TensorType type, ConstantData data, std::string_view name = "c");

 private:
  Graph& graph_;
  Node* before_;
  OriginPtr origin_;
  bool on_elements_ = false;
  std::vector<Node*> made_;
};

/// dim in [-rank, rank) to [0, rank); throws Failure(unsupported_model) outside. rank 0 counts as 1.
int64_t wrap_dim(int64_t dim, size_t rank);
/// The broadcast of two shapes by eager's rule; symbolic sizes must be equal or one of them 1. Throws Failure.
Sizes broadcast(const Sizes& a, const Sizes& b);
/// Eager's type promotion (torch.result_type) of tensors and scalars. `beside`: the dtype of one more operand, a tensor
/// with dimensions.
DType promote(const Args& operands, std::optional<DType> beside = {});
DType promote(DType a, DType b);
/// The bytes of one element of `dtype`, converted as eager would. Throws Failure(unsupported_model) for dtypes without
/// constants.
std::vector<uint8_t> scalar_bytes(double value, DType dtype);
/// float32 for integral and bool dtypes, the dtype itself otherwise.
DType float_dtype(DType dtype);

}  // namespace wick::compiler
