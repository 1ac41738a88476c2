#include "compiler/quantize/quantize_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ops/arguments.h"
#include "compiler/ops/rules.h"
#include "compiler/support/limits.h"

namespace wick::compiler {
namespace {

using Blocks = ConversionForm::Blocks;
using Family = Quantization::Family;
using QuantizationPtr = std::shared_ptr<const Quantization>;

// The form that an operator's row describes. The flags of the row tell whether the operator converts, and the names of
// its arguments tell how. Operators that decompose into other conversions have no form: those with a
// `zero_point_domain`, and those that choose parameters without a kernel or a `block_size`.
std::optional<ConversionForm> form_of(const OpDef& op) {
  const auto has = [&](std::string_view name) { return op.parsed->find(name) >= 0; };
  if (!op.has(kElements) || op.has(kBackendOnly) || has("zero_point_domain")) return {};
  ConversionForm form;
  const bool states_blocks = has("block_size"), per_block = has("scales");
  form.family = states_blocks ? Family::affine : Family::decomposed;
  if (op.has(kQuantizes) || op.has(kDequantizes)) {
    form.conversion = op.has(kQuantizes) ? Conversion::quantize : Conversion::dequantize;
    form.blocks = states_blocks       ? Blocks::stated
                  : has("group_size") ? Blocks::group
                  : has("axis")       ? Blocks::channel
                  : per_block         ? Blocks::row
                                      : Blocks::whole;
    form.scale = per_block ? "scales" : "scale";
    form.zero = per_block ? "zero_points" : "zero_point";
    if (op.has(kDequantizes)) form.dtype = has("out_dtype") ? "out_dtype" : "output_dtype";
    return form;
  }
  const std::vector<ReturnType> parameters = {ReturnType::tensor, ReturnType::tensor};
  if (op.parsed->returns != parameters || (!op.kernel && !states_blocks)) return {};
  form.conversion = Conversion::choose;
  // Operators that choose by rows have no `quant_min`: the range of elements is that of their dtype.
  form.blocks = states_blocks ? Blocks::stated : has("quant_min") ? Blocks::whole : Blocks::row;
  return form;
}

using Forms = std::unordered_map<const OpDef*, ConversionForm>;
Forms forms_of_all() {
  Forms forms;
  for (const OpDef* op : all_ops()) {
    if (const auto form = form_of(*op)) forms.emplace(op, *form);
  }
  return forms;
}

Value* value_at(const Node& node, std::string_view name) {
  const Arg& arg = node.arg(name);
  return arg.is<Value*>() ? arg.as<Value*>() : nullptr;
}

// --- parameters known at compile time ---

// The numbers of an argument: a literal, or the elements of a constant.
std::optional<NumberList> numbers_of(const Arg& arg) {
  if (!arg.is<Value*>()) {
    const auto number = literal(arg);
    if (!number) return {};
    return NumberList::of(arg.is<Sym>() ? DType::i64 : DType::f64, {*number});
  }
  const Value& value = *arg.as<Value*>();
  if (!value.is_constant() || !value.tensor().dim_order.empty() || !NumberList::can_hold(value.dtype())) return {};
  return NumberList{value.dtype(), value.data};
}

// Repeats a single number for each of `count` channels. A list of another size stays as it is.
NumberList repeated(const NumberList& numbers, int64_t count) {
  if (numbers.size() != 1 || count == 1) return numbers;
  return NumberList::repeat(numbers.dtype, numbers[0], static_cast<size_t>(count));
}

std::optional<int64_t> bound_of(const Node& node, std::string_view name, int64_t otherwise) {
  if (!has_argument(node, name) || node.is_none(name)) return otherwise;
  const auto found = numbers_of(node.arg(name));
  if (!found || found->size() != 1) return {};
  const double number = (*found)[0];
  return number >= -0x1p62 && number <= 0x1p62 ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

// The blocks that `block_size` states. A block that covers a whole dimension is 0, but a block of 1 stays 1.
std::optional<std::vector<int64_t>> stated_blocks(const Node& node, const Sizes& sizes) {
  const Ints stated = node.ints("block_size");
  if (stated.size() != sizes.size()) return {};
  std::vector<int64_t> out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool whole = stated[i].is(-1) || (stated[i] == sizes[i] && !stated[i].is(1));
    if (!whole && (!stated[i].is_const() || stated[i].value() <= 0)) return {};
    out.push_back(whole ? 0 : stated[i].value());
  }
  return out;
}

std::optional<std::vector<int64_t>> blocks_of(const Node& node, Blocks blocks, const Sizes& sizes) {
  if (blocks == Blocks::stated) return stated_blocks(node, sizes);
  std::vector<int64_t> out(sizes.size(), blocks == Blocks::whole || blocks == Blocks::channel ? 0 : 1);
  if (blocks == Blocks::whole) return out;
  if (sizes.empty()) return {};
  if (blocks == Blocks::channel) {
    out[static_cast<size_t>(wrap_dim(node.static_integer("axis"), sizes.size()))] = 1;
  } else if (blocks == Blocks::row) {
    out.back() = 0;
  } else {
    const int64_t group = node.static_integer("group_size");
    out.back() = sizes.back().is(group) ? 0 : group;
    if (group <= 0) return {};
  }
  return out;
}

}  // namespace

const ConversionForm* conversion_of(const Node& node) {
  if (!node.op->has(kElements)) return nullptr;
  static const Forms forms = forms_of_all();
  const auto found = forms.find(node.op);
  return found != forms.end() ? &found->second : nullptr;
}

std::shared_ptr<const Quantization> stated_quantization(const Node& node) {
  const ConversionForm* form = conversion_of(node);
  if (!form || form->conversion == Conversion::choose) return nullptr;
  const bool makes = form->conversion == Conversion::quantize;
  const Value& numbers = makes ? *node.tensor("input") : *node.result();
  TensorType type = makes ? node.result()->tensor() : node.tensor("input")->tensor();
  auto q = std::make_shared<Quantization>();
  q->real = numbers.dtype();
  q->family = form->family;
  if (!integer_range(type.dtype, &q->quant_min, &q->quant_max)) return nullptr;
  const auto low = bound_of(node, "quant_min", q->quant_min), high = bound_of(node, "quant_max", q->quant_max);
  auto blocks = blocks_of(node, form->blocks, type.sizes);
  auto scales = numbers_of(node.arg(form->scale));
  const bool one_for_all = scales && scales->size() == 1 && form->blocks == Blocks::channel;
  // An f64 scale keeps its channels: operators by channels multiply it in f64.
  if (blocks && one_for_all && scales->dtype != DType::f64) blocks->assign(blocks->size(), 0);
  const auto count = blocks ? count_blocks(type.sizes, *blocks) : std::nullopt;
  if (count && one_for_all) {
    if (static_cast<uint64_t>(*count) > limits().expanded_bytes / sizeof(double)) return nullptr;
    scales = repeated(*scales, *count);
  }
  if (!low || !high || !count || !scales || scales->size() != static_cast<uint64_t>(*count)) return nullptr;
  const Arg& zero = node.arg(form->zero);
  auto zeros = zero.is<None>() ? std::optional(NumberList::repeat(DType::i8, 0, scales->size())) : numbers_of(zero);
  if (zeros && one_for_all && !zero.is<None>()) zeros = repeated(*zeros, *count);
  if (!zeros) return nullptr;
  q->quant_min = *low;
  q->quant_max = *high;
  q->blocks = std::move(*blocks);
  // PT2E has no operator with known parameters for rows of tensors of rank 3 or more.
  if (form->blocks == Blocks::row && type.rank() > 2) q->family = Family::affine;
  q->scales = std::move(*scales);
  q->zero_points = std::move(*zeros);
  type.quantization = q;
  return refuse_quantization(type).empty() ? q : nullptr;
}

std::optional<StoredConstant> stored_constant(const Value& value) {
  StoredConstant out{&value, value.tensor().quantization};
  if (const Node* node = value.is_constant() ? nullptr : value.producer) {
    const bool dequantizes = converts(*node, Conversion::dequantize);
    if (!dequantizes && !node->is("wick.convert.default")) return {};
    out.elements = node->operands()[0];
    if (!out.elements->is_constant()) return {};
    out.quantization = dequantizes ? stated_quantization(*node) : out.elements->tensor().quantization;
  }
  return out.elements->is_constant() && out.quantization ? std::optional(out) : std::nullopt;
}

std::string quantization_text(const Node& node) {
  const ConversionForm* form = conversion_of(node);
  const QuantizationPtr stated = form ? stated_quantization(node) : nullptr;
  const auto is_quantized = [](const Value* value) { return value->is_quantized(); };
  // A conversion's parameter operands are left out: the text of the type has them.
  const Values read = form ? Values{node.tensor("input")} : node.operands();
  if (!stated && std::none_of(read.begin(), read.end(), is_quantized) &&
      std::none_of(node.results().begin(), node.results().end(), is_quantized))
    return "";
  const auto text = [&](const Value* value, bool has_stated) {
    constexpr size_t kMaxShown = 4;
    Type type = value->type;
    const QuantizationPtr q = stated && has_stated ? stated : std::exchange(type.tensor.quantization, nullptr);
    return q ? to_text(type) + to_text(type.tensor, *q, kMaxShown) : to_text(type);
  };
  std::vector<std::string> operands, results;
  const bool makes = form && form->conversion == Conversion::quantize;
  for (const Value* operand : read) operands.push_back(text(operand, !makes));
  for (const Value* result : node.results()) results.push_back(text(result, makes));
  return fmt::format("{} -> {}", fmt::join(operands, ", "), fmt::join(results, ", "));
}

// --- quantization at run time ---

namespace {

bool reads_parameters(const Node& node, const ConversionForm& form, const Node& choose) {
  return value_at(node, form.scale) == choose.result(0) && value_at(node, form.zero) == choose.result(1);
}

// Whether each block is one row along the last dimension.
bool has_row_blocks(const Node& node) {
  const auto blocks = stated_blocks(node, node.tensor("input")->sizes());
  return blocks && !blocks->empty() && (blocks->back() == 0 || node.tensor("input")->sizes().back().is(1)) &&
         std::all_of(blocks->begin(), blocks->end() - 1, [](int64_t block) { return block == 1; });
}

bool go_together(const ConversionForm& choose, const ConversionForm& form) {
  return choose.family == form.family && choose.blocks == form.blocks;
}

std::optional<QuantizationChain> chain_before(const Node& dequantize, const ConversionForm& form) {
  QuantizationChain chain;
  chain.dequantize = const_cast<Node*>(&dequantize);
  chain.quantize = dequantize.tensor("input")->producer;
  const ConversionForm* middle = chain.quantize ? conversion_of(*chain.quantize) : nullptr;
  if (!middle || middle->conversion != Conversion::quantize) return {};
  const Value* scale = value_at(*chain.quantize, middle->scale);
  chain.choose = scale ? scale->producer : nullptr;
  const ConversionForm* first = chain.choose ? conversion_of(*chain.choose) : nullptr;
  if (!first || first->conversion != Conversion::choose || !go_together(*first, *middle) || !go_together(*first, form))
    return {};
  chain.x = chain.quantize->tensor("input");
  if (chain.choose->tensor("input") != chain.x || dequantize.result()->dtype() != chain.x->dtype() ||
      chain.quantize->result()->dtype() != DType::i8)
    return {};
  if (has_argument(*chain.choose, "mapping_type")) {
    const std::string mapping = chain.choose->string("mapping_type");
    chain.symmetric = mapping == "SYMMETRIC";
    if (!chain.symmetric && mapping != "ASYMMETRIC") return {};
  }
  if (!reads_parameters(*chain.quantize, *middle, *chain.choose) || !reads_parameters(dequantize, form, *chain.choose))
    return {};
  chain.by_rows = first->blocks != Blocks::whole;
  if (first->blocks == Blocks::stated) {
    for (const Node* node : {chain.choose, chain.quantize, chain.dequantize}) {
      if (!has_row_blocks(*node)) return {};
    }
  }
  return chain;
}

const Node* reader(const Value* value, Conversion conversion) {
  for (const Node* user : value->users()) {
    if (converts(*user, conversion)) return user;
  }
  return nullptr;
}

}  // namespace

std::optional<QuantizationChain> quantization_chain(const Node& node) {
  const ConversionForm* form = conversion_of(node);
  if (!form) return {};
  const Node* middle = form->conversion == Conversion::quantize ? &node : nullptr;
  const Node* last = form->conversion == Conversion::dequantize ? &node : nullptr;
  if (form->conversion == Conversion::choose) middle = reader(node.result(), Conversion::quantize);
  if (middle) last = reader(middle->result(), Conversion::dequantize);
  if (!last) return {};
  const auto chain = chain_before(*last, *conversion_of(*last));
  const bool member = chain && (chain->choose == &node || chain->quantize == &node || last == &node);
  return member ? chain : std::nullopt;
}

}  // namespace wick::compiler
