// Turns a partition into a payload. C++20.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "backends/xnnpack/compile/layout.h"
#include "backends/xnnpack/compile/ops/op_rules.h"
#include "backends/xnnpack/compile/quantized.h"
#include "backends/xnnpack/payload/payload.h"
#include "compiler/analysis/value_ranges.h"
#include "compiler/partition/target.h"

namespace wick::xnnpack {

/// Writes the partition as a payload. Requires: every node is taken by `supports`. Errors: internal.
compiler::Result<compiler::Delegate> lower(const compiler::Graph& graph, const compiler::TargetContext& context);

/// Bounds that a payload node clamps its result to.
struct OutputRange {
  float min = -std::numeric_limits<float>::infinity(), max = std::numeric_limits<float>::infinity();
};
/// The range of a node that only clamps (relu, hardtanh, clamp with constant bounds); false for other nodes.
bool clamp_range(const compiler::Node& node, OutputRange* range);

/// The summands of a filter. Those of one list have the same 4-bit elements.
using FilterParts = std::vector<std::vector<uint32_t>>;

Quantization quantization_of(const Affine& affine);
/// Whether a slice or a part of length 1 in dimension `at` consists of many pieces of a few bytes. A transpose moves
/// these faster than the library's slices and concatenations, which copy one piece after the other. False for unknown
/// sizes.
bool has_small_blocks(const Sizes& dims, size_t at);
/// Dimensions of known size that a view merges and splits between dimensions that stay; ones aside.
struct Regrouping {
  size_t at = 0;  // the first of them
  std::vector<int64_t> from, to;
  /// Each is a copy of a part.
  int64_t num_pieces() const;
};
/// The only regrouping that turns `from` into `to`; nothing if they are equal, ones aside, or if no single one does.
std::optional<Regrouping> regrouping(const Sizes& from, const Sizes& to);
/// The position in `from` of each dimension of `to`: the permutation from one order to the other.
std::vector<uint32_t> positions(const Order& from, const Order& to);

/// The payload under construction. The rows of op_rules.h write nodes through it: they read operands in the order they
/// need, emit nodes, and then set the payload value that holds the result.
class Lowering {
 public:
  Lowering(const compiler::Graph& graph, const compiler::TargetContext& context);
  compiler::Delegate run();

  // --- reading ---
  /// The order for the result of `node`, and for its operands if its rule says so.
  const Order& order(const compiler::Node& node) const { return layouts_.order(node); }
  const Order& order_of(const compiler::Value* value) const { return layouts_.of(value); }
  /// The payload value with the elements of `value`. Its dims are those of `value` (with leading ones up to the rank of
  /// `order`) in `order`. Transposes if the value has a different order, once per order.
  uint32_t operand(const compiler::Value* value, const Order& order);
  /// As operand, in the order of the node's rule.
  uint32_t operand(const compiler::Node& node, size_t index);
  /// Operand 0 with dimension `dim` innermost, ignoring dimensions of size 1 after it in the node's order.
  uint32_t rows_along(const compiler::Node& node, size_t dim);
  /// As operand, for nodes whose operands broadcast. If the operand is an expand, and the other operand has the sizes
  /// of the result, returns the source of the expand.
  uint32_t broadcast_operand(const compiler::Node& node, size_t index);
  const Sizes& dims(uint32_t id) const { return shapes_[id]; }
  /// The range of the elements of `value`.
  compiler::ValueRange numbers_of(const compiler::Value* value) const;
  bool overflows_half(const compiler::Value* value) const;
  /// Whether results must be eager's for infinite inputs, too.
  bool is_strict() const { return context_.options.strict_nan; }
  /// Bounds that the last payload node of `node` must clamp to: those of the clamp that is its only reader.
  OutputRange range_of(const compiler::Node& node) const;

  // --- constants ---
  /// A weight in the layout of the graph's constant.
  uint32_t weight(const compiler::Value* value, DataType type, const Sizes& dims);
  /// The elements of `value`, viewed with sizes `dims`, permuted by `perm`; `type` fp32 converts from fp16.
  uint32_t weight_permuted(const compiler::Value* value, const Sizes& dims, const std::vector<int64_t>& perm,
                           DataType type, const Sizes& result_dims);
  /// A constant of the node's dtype (or fp32).
  uint32_t constant(const std::vector<float>& elements, const Sizes& dims, bool force_fp32 = false);
  uint32_t scalar(double value);
  /// The elements of a constant as floats.
  std::vector<float> read_floats(const compiler::Value* value);
  /// {{filter}}, or the parts of the filter in groups whose first part is `filter`: one list for each plane of digits,
  /// one part for each bf16 summand of the scales.
  FilterParts parts_of(uint32_t filter) const;
  /// The bias of an int8 matmul or convolution: int32, on the input scale times the weight scale.
  uint32_t int8_bias(const compiler::Value* bias);

  // --- writing ---
  /// The type of the node that is being lowered.
  DataType type() const { return type_; }
  /// The node being lowered is computed on int8, with parameters known at compile time. Its operands and the values it
  /// writes are int8.
  bool is_int8() const { return int8_result_.has_value(); }
  /// The node being lowered is a matmul or convolution whose input is quantized at run time.
  bool is_dynamic() const { return dynamic_product_; }
  /// Whether the node being lowered is a float linear with int8 weights.
  bool has_integer_weights() const { return integer_weights_; }
  /// Whether the value is the result of a pooling node.
  bool is_pooled(uint32_t id) const {
    const auto gives = [id](const PayloadNode& node) {
      return node.output == id && (node.type == NodeType::max_pooling_2d || node.type == NodeType::avg_pooling_2d);
    };
    return std::any_of(payload_.nodes.begin(), payload_.nodes.end(), gives);
  }
  bool is_int8(uint32_t id) const { return payload_.values[id].type == DataType::qint8; }
  const Quantization& quantization(uint32_t id) const { return payload_.values[id].quantization; }
  /// Converts `x` to another type.
  uint32_t convert(uint32_t x, DataType type, const Quantization& quantization);
  /// A fresh value of these dims.
  uint32_t value(const Sizes& dims, DataType type);
  uint32_t value(const Sizes& dims) { return value(dims, type_); }
  /// Adds a node that writes a fresh value of these dims and returns the value.
  uint32_t add(PayloadNode node, const Sizes& dims);
  /// As add, for a node over images [n, h, w, c] that works on each channel alone, and whose kernel keeps pointers to
  /// pixels from call to call (keeps_pointers). The pointers are valid for one number of channels only. If that number
  /// is known only at run time, each channel becomes an image of its own; all other sizes of the input must then be
  /// known.
  uint32_t add_by_channel(PayloadNode node, const Sizes& dims);
  uint32_t unary(NodeType type, uint32_t x);
  /// `x` as f32 or f16; nodes and constants that follow are of that type until the next call or the next model node.
  uint32_t as_type(uint32_t x, DataType type);
  uint32_t binary(NodeType type, uint32_t a, uint32_t b, OutputRange range = {});
  /// `x` with new dims that have the same product. If more than one of them is known only at run time, the new dims may
  /// differ from the old ones only by a regrouping and in dims of 1 that are moved, added or dropped. For elements
  /// quantized at run time, reshapes their source.
  uint32_t reshape(uint32_t x, const Sizes& dims);
  uint32_t transpose(uint32_t x, const std::vector<uint32_t>& perm);
  uint32_t slice(uint32_t x, const std::vector<uint32_t>& offsets, const Sizes& sizes);
  /// [size of dimension `at`, elements before it, elements after it]: `x` with that dimension outermost. Sizes are
  /// known.
  uint32_t in_front(uint32_t x, size_t at);
  uint32_t concatenate(std::vector<uint32_t> parts, size_t axis);
  /// `count` parts of `width` in dimension `at`, `step` apart from `start` on, side by side in dimension `to`.
  struct Pieces {
    size_t at, to;
    int64_t start, step, width, count;
  };
  uint32_t pieces(uint32_t x, const Pieces& pieces);
  uint32_t pad(uint32_t x, const std::vector<uint32_t>& before, const std::vector<uint32_t>& after, float value);
  /// x @ filter^T + bias over the last dimension; filter [oc, ic], bias [oc] or kNoValue.
  uint32_t fully_connected(uint32_t x, uint32_t filter, uint32_t bias, uint32_t flags = 0, OutputRange range = {});
  /// Mean over the last dimension, which keeps size 1.
  uint32_t row_mean(uint32_t x);

  /// `x`, in which dimensions of the node's first result are merged or split, reshaped to the sizes of that result.
  uint32_t as_result(const compiler::Node& node, uint32_t x);
  /// States that `id` holds the first result of `node`, in its layout. Its dims may differ from the result's only in
  /// dims of 1; any other difference is a bug.
  void set_result(const compiler::Node& node, uint32_t id);

 private:
  struct Place {
    uint32_t id;
    Order order;  // of the value's own rank
  };
  void scan_ranges();
  void add_inputs();
  void lower_node(const compiler::Node& node);
  void add_outputs();
  uint32_t constant_operand(const compiler::Value* value, const Order& order);
  uint32_t reordered(uint32_t id, const Sizes& dims, const Order& from, const Order& to);
  // lower_quantized.cpp
  void choose_precision(const compiler::Node& node);
  void settle_quantization(const PayloadNode& node);
  void declare_input(PayloadValue& placed, const compiler::Value* value);
  /// Whether the node being lowered reads the integers of this constant.
  bool stays_integers(const compiler::Value* value) const;
  uint32_t chosen_operand(const compiler::Value& elements, const Order& order);
  /// If `result` is quantized, converts `x`, whose elements it has, to the scale of `result`.
  uint32_t on_scale_of(const compiler::Value& result, uint32_t x);
  /// `x` quantized at run time by rows or images. Equal requests share one value.
  uint32_t converted_rows(uint32_t x, const Quantization& rows, uint32_t flags);
  uint32_t reshape_rows(uint32_t x, const Sizes& to);
  uint32_t int8_constant(const compiler::Value& value, const Sizes& dims, const std::vector<int64_t>& perm,
                         const Sizes& result_dims);
  uint32_t int4_rows(const QuantizedConstant& constant, const compiler::ConstantData& elements,
                     const Sizes& result_dims);
  uint32_t group_constant(const QuantizedConstant& constant, const compiler::ConstantData& elements,
                          const Sizes& result_dims);
  uint32_t add_quantized(compiler::ConstantData data, DataType type, const Sizes& dims,
                         const Quantization& quantization);
  /// The value itself if it is a constant of floats; its dequantized elements if it is a quantized constant; else null.
  const compiler::Value* as_constant(const compiler::Value* value);
  /// The index of a constant with these bytes in constants_, from 1.
  uint32_t constant_index(compiler::ConstantData data);
  uint32_t add_constant(compiler::ConstantData data, DataType type, const Sizes& dims);
  uint32_t move_ones(uint32_t x, const Sizes& dims);
  uint32_t regroup(uint32_t x, const Regrouping& change);
  uint32_t drop_ones(uint32_t x, size_t rank);
  uint32_t copy(uint32_t x);
  std::vector<bool> live_values() const;
  void drop_dead_nodes();
  void number_origins();
  void list_constants();
  /// Splits constants that are weights of one node and plain operands of another into two values: stock's runtime frees
  /// the bytes of packed weights, even if another node reads the value.
  void separate_weights();

  const compiler::Graph& graph_;
  const compiler::TargetContext& context_;
  Layouts layouts_;
  Payload payload_;
  std::vector<Sizes> shapes_;  // of payload_.values
  compiler::Delegate delegate_;
  DataType type_ = DataType::fp32;  // of the node that is being lowered
  const compiler::Node* current_ = nullptr;
  std::optional<Affine> int8_result_;  // of the node that is being lowered, if it is computed on int8
  bool dynamic_product_ = false;
  bool integer_weights_ = false;                  // a linear of floats whose weight is int8
  std::map<uint32_t, FilterParts> filter_parts_;  // first part -> all
  // The values quantized at run time, by source value, dims of a row and flags of the conversion.
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> dynamic_;
  std::unordered_map<const compiler::Value*, std::unique_ptr<compiler::Value>> float_twins_;  // never iterated
  std::unordered_map<const compiler::Value*, Place> places_;
  std::map<std::pair<const compiler::Value*, Order>, uint32_t> operands_;  // never iterated
  std::vector<compiler::NamedConstant> constants_;  // until list_constants, values refer to these, from 1
  std::map<std::string, std::vector<uint32_t>> constants_by_hash_;           // hash and size -> places
  std::map<std::pair<uint32_t, size_t>, uint32_t> in_front_;                 // value, dimension
  std::map<std::string, uint32_t> constant_values_;                          // key, dtype, dims -> value
  std::unordered_map<const compiler::Node*, const compiler::Node*> clamps_;  // producer -> the clamp it absorbs
  std::set<const compiler::Node*> absorbed_;
  std::map<uint32_t, compiler::OriginPtr> origins_;  // of the node that writes a value
};

}  // namespace wick::xnnpack
