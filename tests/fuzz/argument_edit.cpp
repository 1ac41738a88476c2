#include "tests/fuzz/argument_edit.h"

#include <algorithm>
#include <limits>

namespace wick::fuzz {
namespace {

using namespace pte_edit;

constexpr int64_t kIntEdges[kNumEdges] = {0,       1,         -1,        2,         3,         7,         -2,
                                          1 << 20, INT32_MAX, INT32_MIN, 1ll << 40, INT64_MAX, INT64_MIN, 65536};
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kRealEdges[kNumEdges] = {0,     -0.0,   1,          -1,   0.5,   1e-320, 1e9,
                                          1e300, -1e300, 4294967296, kInf, -kInf, 1e19,   __builtin_nan("")};

// Element sizes of the dtypes that tensors may be given instead of their own.
constexpr struct {
  int8_t dtype;
  size_t size_bytes;
} kDtypes[] = {{0, 1}, {1, 1},   {2, 2},  {3, 4},  {4, 8},  {5, 2},  {6, 4},  {7, 8},  {8, 4},
               {9, 8}, {10, 16}, {11, 1}, {15, 2}, {23, 1}, {24, 1}, {27, 2}, {28, 4}, {29, 8}};

size_t size_bytes(int8_t dtype) {
  for (const auto& row : kDtypes) {
    if (row.dtype == dtype) return row.size_bytes;
  }
  return 0;
}

std::vector<KernelCallT*> calls_of(const ExecutionPlanT& plan) {
  std::vector<KernelCallT*> calls;
  for (const auto& chain : plan.chains) {
    for (const auto& instruction : chain->instructions) {
      if (KernelCallT* call = instruction->instr_args.AsKernelCall()) calls.push_back(call);
    }
  }
  return calls;
}

EValueT* value_at(const ExecutionPlanT& plan, int64_t index) {
  return index >= 0 && static_cast<size_t>(index) < plan.values.size() ? plan.values[static_cast<size_t>(index)].get()
                                                                       : nullptr;
}

template <typename T>
int32_t add_value(ExecutionPlanT& plan, T content) {
  plan.values.push_back(std::make_unique<EValueT>());
  plan.values.back()->val.Set(std::move(content));
  return static_cast<int32_t>(plan.values.size() - 1);
}

int32_t add_int(ExecutionPlanT& plan, int64_t number) {
  IntT value;
  value.int_val = number;
  return add_value(plan, value);
}

std::vector<TensorT*> tensors_of(const ExecutionPlanT& plan) {
  std::vector<TensorT*> tensors;
  for (const auto& value : plan.values) {
    if (TensorT* tensor = value->val.AsTensor()) tensors.push_back(tensor);
  }
  return tensors;
}

void swap_tensors(ExecutionPlanT& plan, Random& random) {
  std::vector<int32_t*> places;
  for (KernelCallT* call : calls_of(plan)) {
    for (int32_t& argument : call->args) {
      const EValueT* value = value_at(plan, argument);
      if (value && value->val.AsTensor()) places.push_back(&argument);
    }
  }
  if (places.size() > 1) std::swap(*places[random.below(places.size())], *places[random.below(places.size())]);
}

void change_dtype(TensorT& tensor, Random& random) {
  const auto& row = kDtypes[random.below(std::size(kDtypes))];
  if (row.size_bytes <= size_bytes(tensor.scalar_type)) tensor.scalar_type = row.dtype;
}

// Other sizes of the same product, or one dimension cut.
void change_shape(TensorT& tensor, Random& random) {
  if (tensor.sizes.empty()) return;
  int32_t &a = tensor.sizes[random.below(tensor.sizes.size())], &b = tensor.sizes[random.below(tensor.sizes.size())];
  if (random.one_in(2)) {
    std::swap(a, b);
  } else if (&a != &b && a % 2 == 0 && b < INT32_MAX / 2 && random.one_in(2)) {
    a /= 2;
    b *= 2;
  } else {
    a = static_cast<int32_t>(random.below(static_cast<size_t>(std::max(a, 0)) + 1));
  }
}

}  // namespace

std::vector<NumberPlace> number_places(const ExecutionPlanT& plan) {
  std::vector<NumberPlace> places;
  for (KernelCallT* call : calls_of(plan)) {
    for (size_t i = 0; i < call->args.size(); ++i) {
      const EValueT* value = value_at(plan, call->args[i]);
      if (!value) continue;
      const KernelTypesUnion& val = value->val;
      if (val.AsInt() || val.AsDouble() || val.AsBool()) places.push_back({call, i, -1});
      size_t items = 0;
      if (const auto* list = val.AsIntList()) items = list->items.size();
      if (const auto* list = val.AsDoubleList()) items = list->items.size();
      for (size_t item = 0; item < items; ++item) places.push_back({call, i, static_cast<int>(item)});
    }
  }
  return places;
}

void set_edge(ExecutionPlanT& plan, const NumberPlace& place, size_t edge) {
  int32_t& argument = place.call->args[place.argument];
  const EValueT* value = value_at(plan, argument);
  if (!value) return;
  const auto item = static_cast<size_t>(place.item);
  if (value->val.AsInt()) {
    argument = add_int(plan, kIntEdges[edge]);
  } else if (value->val.AsDouble()) {
    DoubleT number;
    number.double_val = kRealEdges[edge];
    argument = add_value(plan, number);
  } else if (value->val.AsBool()) {
    BoolT flag;
    flag.bool_val = !value->val.AsBool()->bool_val;
    argument = add_value(plan, flag);
  } else if (value->val.AsIntList() && item < value->val.AsIntList()->items.size()) {
    IntListT list = *value->val.AsIntList();
    list.items[item] = add_int(plan, kIntEdges[edge]);
    argument = add_value(plan, list);
  } else if (value->val.AsDoubleList() && item < value->val.AsDoubleList()->items.size()) {
    DoubleListT list = *value->val.AsDoubleList();
    list.items[item] = kRealEdges[edge];
    argument = add_value(plan, list);
  }
}

void change_length(ExecutionPlanT& plan, const NumberPlace& place, Random& random) {
  static constexpr size_t kLengths[] = {0, 1, 2, 3, 4, 5, 6, 9, 17, 100};
  const size_t length = kLengths[random.below(std::size(kLengths))];
  int32_t& argument = place.call->args[place.argument];
  const EValueT* value = value_at(plan, argument);
  if (!value) return;
  if (value->val.AsIntList()) {
    IntListT list = *value->val.AsIntList();
    const int64_t filler = list.items.empty() ? add_int(plan, 1) : list.items[0];
    list.items.resize(length, filler);
    argument = add_value(plan, list);
  } else if (value->val.AsDoubleList()) {
    DoubleListT list = *value->val.AsDoubleList();
    list.items.resize(length, 0.5);
    argument = add_value(plan, list);
  }
}

void edit_arguments(ExecutionPlanT& plan, Random& random) {
  const size_t kind = random.below(6);
  if (kind == 0) return swap_tensors(plan, random);
  if (kind < 3) {
    const std::vector<TensorT*> tensors = tensors_of(plan);
    if (tensors.empty()) return;
    TensorT& tensor = *tensors[random.below(tensors.size())];
    return kind == 1 ? change_dtype(tensor, random) : change_shape(tensor, random);
  }
  const std::vector<NumberPlace> places = number_places(plan);
  if (places.empty()) return;
  const NumberPlace& place = places[random.below(places.size())];
  if (place.item >= 0 && random.one_in(4)) return change_length(plan, place, random);
  set_edge(plan, place, random.below(kNumEdges));
}

void spread_tensors(ExecutionPlanT& plan, Room results) {
  constexpr size_t kMaxArenas = 16, kMaxElements = 1 << 15;
  for (size_t i = 0; i < plan.values.size(); ++i) {
    TensorT* tensor = plan.values[i]->val.AsTensor();
    if (!tensor || !tensor->allocation_info || plan.non_const_buffer_sizes.size() > kMaxArenas) continue;
    const bool input = std::find(plan.inputs.begin(), plan.inputs.end(), static_cast<int32_t>(i)) != plan.inputs.end();
    size_t room = 1, elements = 1;
    for (const int32_t size : tensor->sizes) {
      elements *= static_cast<size_t>(size);
      room = std::min(room, kMaxElements) * (static_cast<size_t>(size) + 4);
    }
    if (results == Room::more && !input && room <= kMaxElements) {
      for (int32_t& size : tensor->sizes) size += 4;
      tensor->shape_dynamism = ShapeDynamism::DYNAMIC_BOUND;
      elements = room;
    }
    *tensor->allocation_info = AllocationDetailsT();
    tensor->allocation_info->memory_id = static_cast<uint32_t>(plan.non_const_buffer_sizes.size());
    plan.non_const_buffer_sizes.push_back(static_cast<int64_t>(elements * size_bytes(tensor->scalar_type)));
  }
}

void overlap_tensors(ExecutionPlanT& plan, size_t step) {
  size_t begin = 0, end = 0;
  for (const auto& value : plan.values) {
    TensorT* tensor = value->val.AsTensor();
    if (!tensor || !tensor->allocation_info) continue;
    size_t bytes = size_bytes(tensor->scalar_type);
    for (const int32_t size : tensor->sizes) bytes *= static_cast<size_t>(size);
    *tensor->allocation_info = AllocationDetailsT();
    tensor->allocation_info->memory_id = 1;
    tensor->allocation_info->memory_offset_low = static_cast<uint32_t>(begin);
    end = std::max(end, begin + bytes);
    begin += step;
  }
  plan.non_const_buffer_sizes = {0, static_cast<int64_t>(end)};
}

}  // namespace wick::fuzz
