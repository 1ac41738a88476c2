#include "compiler/analysis/kernel_call.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

constexpr size_t kFirstTempBytes = size_t{1} << 20;
constexpr size_t kTempAlignment = 64;

std::vector<int32_t> sizes_of(const Node& node, const std::vector<int64_t>& sizes) {
  std::vector<int32_t> out;
  for (int64_t size : sizes) {
    if (size < 0 || size > std::numeric_limits<int32_t>::max()) {
      fail(Diag(Code::limit, fmt::format("a tensor of {} has a size of {}", node.op->name(), size)).in(where_of(node)));
    }
    out.push_back(static_cast<int32_t>(size));
  }
  if (out.size() > kMaxRank)
    fail(Diag(Code::limit, fmt::format("{} has a tensor with {} dimensions", node.op->name(), out.size()))
             .in(where_of(node)));
  return out;
}

constexpr Allocator kHeap = {[](void*, size_t size_bytes, size_t alignment) {
                               return std::aligned_alloc(alignment,
                                                         (size_bytes + alignment - 1) / alignment * alignment);
                             },
                             [](void*, void* block, size_t, size_t) { std::free(block); }, nullptr};

bool can_be_held(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > std::numeric_limits<int32_t>::max())
      return false;
  }
  return true;
}

}  // namespace

KernelCall::KernelCall(const Node& node, const OperandFn& operand, const EvaluateOptions& options)
    : node_(node), operand_(operand), options_(options), memory_(kHeap, options.max_result_bytes) {}

KernelCall::~KernelCall() {
  for (HeldTensor* held : results_) memory_.release(held->tensor);
  memory_.free_all();
}

int64_t KernelCall::evaluate_sym(const Sym& sym) const {
  if (sym.is_const()) return sym.value();
  const SymValues none;
  const auto value = evaluate(sym, options_.symbols ? *options_.symbols : none);
  if (!value)
    fail(Diag(Code::execution, fmt::format("the value of '{}' is not known", sym.text())).in(where_of(node_)));
  return *value;
}

KernelCall::HeldTensor& KernelCall::hold(DType dtype, std::vector<int32_t> sizes,
                                         const std::vector<uint8_t>& dim_order) {
  HeldTensor& held = tensors_.emplace_back();
  held.sizes = std::move(sizes);
  held.strides.resize(held.sizes.size());
  held.dim_order = dim_order;
  for (size_t i = held.dim_order.size(); i < held.sizes.size(); ++i) held.dim_order.push_back(static_cast<uint8_t>(i));
  held.tensor.dtype = dtype;
  held.tensor.rank = static_cast<uint8_t>(held.sizes.size());
  held.tensor.sizes = held.sizes.data();
  held.tensor.strides = held.strides.data();
  held.tensor.dim_order = held.dim_order.data();
  if (compute_layout(held.tensor) != Error::Ok) {
    fail(Diag(Code::limit, fmt::format("a tensor of {} has a layout the kernels do not take", node_.op->name()))
             .in(where_of(node_)));
  }
  return held;
}

Tensor* KernelCall::operand_tensor(const Value& value) {
  const HostValue* host = operand_(value);
  const HostTensor* source = host ? std::get_if<HostTensor>(host) : nullptr;
  const auto sizes = source ? static_sizes(source->type.sizes) : std::nullopt;
  if (!sizes) fail(Diag(Code::execution, fmt::format("operand %{} has no value", value.name)).in(where_of(node_)));
  HeldTensor& held = hold(source->type.dtype, sizes_of(node_, *sizes), source->type.dim_order);
  if (held.tensor.nbytes() != source->data.size_bytes()) {
    fail(Diag(Code::execution, fmt::format("operand %{} has {} bytes instead of {}", value.name,
                                           source->data.size_bytes(), held.tensor.nbytes()))
             .in(where_of(node_)));
  }
  held.tensor.read_only = true;
  held.tensor.capacity_bytes = held.tensor.nbytes();
  const uint8_t* data = source->data.bytes().data();
  // Kernels need aligned elements, but bytes of a file may have any alignment.
  if (reinterpret_cast<uintptr_t>(data) % 16 != 0) {
    held.bytes = std::make_shared<std::vector<uint8_t>>(source->data.bytes().begin(), source->data.bytes().end());
    data = held.bytes->data();
  }
  held.tensor.data = const_cast<uint8_t*>(data);
  return &held.tensor;
}

Tensor* KernelCall::result_tensor(const Value& value) {
  if (!value.type.is_tensor())
    fail(Diag(Code::unsupported_op, fmt::format("{} does not return tensors", node_.op->name())).in(where_of(node_)));
  const SymValues none;
  const SymValues& symbols = options_.symbols ? *options_.symbols : none;
  std::vector<int64_t> sizes;
  bool bounded = false;
  for (const Sym& size : value.sizes()) {
    std::optional<int64_t> known = size.is_const() ? size.value() : evaluate(size, symbols);
    if (!known && options_.ranges) {
      known = range_of(size, *options_.ranges).max;
      bounded = true;
    }
    if (!known) fail(Diag(Code::execution, fmt::format("the size '{}' is not known", size.text())).in(where_of(node_)));
    sizes.push_back(*known);
  }
  if (bounded && !can_be_held(sizes)) return unbounded_result(value);
  HeldTensor& held = hold(value.dtype(), sizes_of(node_, sizes), value.tensor().dim_order);
  held.tensor.dynamism = bounded ? ShapeDynamism::upper_bound : ShapeDynamism::fixed;
  held.tensor.capacity_bytes = held.tensor.nbytes();
  result_bytes_ += held.tensor.nbytes();
  if (result_bytes_ > options_.max_result_bytes) {
    fail(over_limit(&Limits::arena_bytes, fmt::format("the results of {} need too much memory", node_.op->name()),
                    fmt::format("{} bytes", result_bytes_))
             .in(where_of(node_)));
  }
  held.bytes = std::make_shared<std::vector<uint8_t>>(held.tensor.nbytes());
  held.tensor.data = held.bytes->data();
  results_.push_back(&held);
  return &held.tensor;
}

// A result without known sizes: the kernel sets its shape, and that allocates its memory.
Tensor* KernelCall::unbounded_result(const Value& value) {
  HeldTensor& held = hold(value.dtype(), std::vector<int32_t>(value.rank(), 0), value.tensor().dim_order);
  held.tensor.dynamism = ShapeDynamism::unbounded;
  held.tensor.memory = &memory_;
  results_.push_back(&held);
  return &held.tensor;
}

// An argument that the kernel changes in place starts with the operand's bytes.
void KernelCall::copy_operand(const Value& value, Tensor& result) {
  const Tensor* operand = operand_tensor(value);
  if (operand->dtype != result.dtype || operand->nbytes() != result.nbytes())
    fail(Diag(Code::execution, fmt::format("operand %{} has a different type than its new value", value.name))
             .in(where_of(node_)));
  if (operand->nbytes() > 0) memcpy(result.data, operand->data, operand->nbytes());
}

EValue KernelCall::box_operand(const Value& value) {
  if (value.type.is_tensor()) return EValue::of_tensor(operand_tensor(value));
  const HostValue* host = operand_(value);
  if (host && std::holds_alternative<int64_t>(*host)) return EValue::of_int(std::get<int64_t>(*host));
  if (host && std::holds_alternative<double>(*host)) return EValue::of_real(std::get<double>(*host));
  if (host && std::holds_alternative<bool>(*host)) return EValue::of_bool(std::get<bool>(*host));
  fail(Diag(Code::execution, fmt::format("operand %{} has no value", value.name)).in(where_of(node_)));
}

// Boxes a number given for a tensor argument. Its dtype is the one eager computes in; half precision is widened to f32.
EValue KernelCall::box_number(const Arg& number) {
  Args operands;
  for (const Arg& arg : node_.args()) {
    if (arg.is<Value*>() || &arg == &number) operands.push_back(arg);
  }
  const DType promoted = promote(operands);
  const DType dtype = is_floating(promoted) && dtype_size_bytes(promoted) == 2 ? DType::f32 : promoted;
  const double value = number.is<double>() ? number.as<double>()
                       : number.is<bool>() ? static_cast<double>(number.as<bool>())
                                           : static_cast<double>(evaluate_sym(number.as<Sym>()));
  HeldTensor& held = hold(dtype, {}, {});
  held.bytes = std::make_shared<std::vector<uint8_t>>(scalar_bytes(value, dtype));
  held.tensor.read_only = true;
  held.tensor.capacity_bytes = held.tensor.nbytes();
  held.tensor.data = held.bytes->data();
  return EValue::of_tensor(&held.tensor);
}

EValue KernelCall::box_ints(const Ints& ints) {
  HeldInts& held = ints_.emplace_back();
  held.unboxed.resize(ints.size());
  for (const Sym& item : ints) held.values.push_back(EValue::of_int(evaluate_sym(item)));
  for (EValue& value : held.values) held.items.push_back(&value);
  held.list = {held.items.data(), held.unboxed.data(), ints.size()};
  EValue out;
  out.tag = Tag::int_list;
  out.int_list = &held.list;
  return out;
}

EValue KernelCall::box_tensors(const Values& values, bool optional) {
  std::vector<Tensor*>& list = lists_.emplace_back();
  for (const Value* value : values) list.push_back(value ? operand_tensor(*value) : nullptr);
  EValue out;
  out.tag = optional ? Tag::optional_tensor_list : Tag::tensor_list;
  out.tensor_list.data = list.data();
  out.tensor_list.size = list.size();
  return out;
}

EValue KernelCall::box_sym(const ArgSpec& spec, const Sym& sym) {
  if (spec.type == ArgType::int_list) return box_ints(Ints(static_cast<size_t>(std::max(spec.list_size, 1)), sym));
  const int64_t value = evaluate_sym(sym);
  if (spec.type == ArgType::real) return EValue::of_real(static_cast<double>(value));
  if (spec.type == ArgType::boolean) return EValue::of_bool(value != 0);
  return EValue::of_int(value);
}

EValue KernelCall::box(const ArgSpec& spec, const Arg& arg) {
  EValue out;
  if (arg.is<None>()) return out;
  if (arg.is<Value*>()) return box_operand(*arg.as<Value*>());
  if (arg.is<Values>()) return box_tensors(arg.as<Values>(), spec.type == ArgType::optional_tensor_list);
  if (spec.type == ArgType::tensor) return box_number(arg);
  if (arg.is<Sym>()) return box_sym(spec, arg.as<Sym>());
  if (arg.is<double>()) return EValue::of_real(arg.as<double>());
  if (arg.is<DType>()) return EValue::of_int(static_cast<int64_t>(arg.as<DType>()));
  if (arg.is<bool>()) {
    if (spec.type == ArgType::integer) return EValue::of_int(arg.as<bool>());
    if (spec.type == ArgType::real) return EValue::of_real(arg.as<bool>());
    return EValue::of_bool(arg.as<bool>());
  }
  if (arg.is<std::string>()) {
    out.tag = Tag::string;
    out.string = {arg.as<std::string>().c_str(), arg.as<std::string>().size()};
    return out;
  }
  if (arg.is<Ints>() && spec.type != ArgType::real_list) return box_ints(arg.as<Ints>());
  if (arg.is<Bools>()) {
    const Bools& source = arg.as<Bools>();
    bools_.push_back(std::make_unique<bool[]>(source.size() + 1));
    for (size_t i = 0; i < source.size(); ++i) bools_.back()[i] = source[i];
    out.tag = Tag::bool_list;
    out.bool_list = {bools_.back().get(), source.size()};
    return out;
  }
  std::vector<double>& reals = reals_.emplace_back();
  if (arg.is<Reals>())
    reals = arg.as<Reals>();
  else
    for (const Sym& item : arg.as<Ints>()) reals.push_back(static_cast<double>(evaluate_sym(item)));
  out.tag = Tag::real_list;
  out.real_list = {reals.data(), reals.size()};
  return out;
}

void KernelCall::build() {
  const Schema& schema = *node_.op->parsed;
  const std::vector<ArgSpec>& specs = schema.args;
  const bool factory = schema.find("layout") >= 0;
  std::vector<Tensor*> results;
  for (const Value* result : node_.results()) results.push_back(result_tensor(*result));
  for (size_t i = 0; i < specs.size(); ++i) {
    const ArgSpec& spec = specs[i];
    if (spec.type == ArgType::generator) continue;
    if (factory &&
        (spec.name == "dtype" || spec.name == "layout" || spec.name == "device" || spec.name == "pin_memory"))
      continue;
    const auto changed = std::find(schema.mutated.begin(), schema.mutated.end(), i);
    if (changed == schema.mutated.end()) {
      values_.push_back(box(spec, node_.arg(i)));
      continue;
    }
    Tensor* result = results[schema.own_returns() + static_cast<size_t>(changed - schema.mutated.begin())];
    copy_operand(*node_.arg(i).as<Value*>(), *result);
    values_.push_back(EValue::of_tensor(result));
  }
  std::vector<Tensor*>& outs =
      lists_.emplace_back(results.begin(), results.begin() + static_cast<ptrdiff_t>(schema.own_returns()));
  for (Tensor* out : outs) values_.push_back(EValue::of_tensor(out));
  EValue returned = values_.empty() ? EValue() : values_.back();
  if (outs.size() != 1) {
    returned.tag = Tag::tensor_list;
    returned.tensor_list.data = outs.data();
    returned.tensor_list.size = outs.size();
  }
  values_.push_back(returned);
  for (EValue& value : values_) args_.push_back(&value);
}

void KernelCall::run(const Kernel& kernel) {
  RandomState unused;
  RandomState* random = options_.random ? options_.random : &unused;
  const Span<EValue*> args(args_.data(), args_.size());
  for (size_t temp_bytes = kFirstTempBytes;; temp_bytes *= 8) {
    const size_t size = static_cast<size_t>(std::min<uint64_t>(temp_bytes, options_.max_temp_bytes)) + kTempAlignment;
    const auto temp = std::make_unique_for_overwrite<uint8_t[]>(size);  // few kernels touch much of it
    const RandomState before = *random;
    KernelContext context(Span<uint8_t>(temp.get(), size), random, nullptr, options_.isa);
    if (check_arguments(context, kernel.signature, args)) kernel.fn(context, args);
    if (context.ok()) return;
    if (context.error() != Error::OutOfResources || temp_bytes >= options_.max_temp_bytes) {
      const char* why = memory_.failure() ? memory_.failure() : context.message();
      fail(Diag(Code::execution, fmt::format("{} fails: {}", kernel.name, why)).in(where_of(node_)));
    }
    *random = before;
  }
}

std::vector<HostValue> KernelCall::take_results() {
  std::vector<HostValue> out;
  for (size_t i = 0; i < results_.size(); ++i) {
    HeldTensor& held = *results_[i];
    HostTensor tensor;
    tensor.type = node_.result(i)->tensor();
    tensor.type.sizes = {};
    for (int32_t size : held.sizes) tensor.type.sizes.push_back(size);
    if (held.tensor.dynamism == ShapeDynamism::unbounded) {
      const auto* data = held.tensor.as<const uint8_t>();
      held.bytes = std::make_shared<std::vector<uint8_t>>(data, data + held.tensor.nbytes());
    }
    held.bytes->resize(held.tensor.nbytes());
    tensor.data = {Span<const uint8_t>(held.bytes->data(), held.bytes->size()), held.bytes};
    out.emplace_back(std::move(tensor));
  }
  return out;
}

}  // namespace wick::compiler
