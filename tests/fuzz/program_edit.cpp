#include "tests/fuzz/program_edit.h"

#include <algorithm>
#include <cstring>

#include "edit/flat_tensor_generated.h"
#include "schema/header.h"
#include "tests/fuzz/argument_edit.h"

namespace wick::fuzz {
namespace {

using namespace pte_edit;

template <typename T>
void change(T& number, Random& random) {
  number = static_cast<T>(random.number(static_cast<int64_t>(number)));
}

// Takes an item out, doubles one, swaps two, or changes the number of items.
template <typename T, typename Copy>
void change_list(std::vector<T>& list, Random& random, Copy copy) {
  if (list.empty()) return;
  const size_t at = random.below(list.size()), other = random.below(list.size());
  switch (random.below(3)) {
    case 0: list.erase(list.begin() + static_cast<std::ptrdiff_t>(at)); return;
    case 1: list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), copy(list[other])); return;
    default: std::swap(list[at], list[other]); return;
  }
}

template <typename T>
void change_numbers(std::vector<T>& list, size_t below, Random& random) {
  if (list.empty() || random.one_in(4)) {
    if (!list.empty() && random.one_in(2))
      change_list(list, random, [](const T& item) { return item; });
    else
      list.push_back(static_cast<T>(random.below(below)));
    return;
  }
  T& item = list[random.below(list.size())];
  if (below > 0 && !random.one_in(5))
    item = static_cast<T>(random.below(below));
  else
    change(item, random);
}

void edit_tensor(TensorT& tensor, Random& random) {
  switch (random.below(9)) {
    case 0: change_numbers(tensor.sizes, 9, random); return;
    case 1: change_numbers(tensor.dim_order, tensor.sizes.size(), random); return;
    case 2: tensor.scalar_type = static_cast<int8_t>(random.below(30)); return;
    case 3:
      tensor.shape_dynamism = static_cast<ShapeDynamism>(random.below(3));
      if (tensor.shape_dynamism != ShapeDynamism::DYNAMIC_UNBOUND || tensor.sizes.empty() || random.one_in(4)) return;
      // One that loads.
      tensor.allocation_info.reset();
      tensor.data_buffer_idx = 0;
      tensor.sizes[0] = 0;
      return;
    case 4: change(tensor.data_buffer_idx, random); return;
    case 5: change(tensor.storage_offset, random); return;
    case 6:
      if (tensor.allocation_info && random.one_in(8))
        tensor.allocation_info.reset();
      else if (!tensor.allocation_info)
        tensor.allocation_info = std::make_unique<AllocationDetailsT>();
      else
        tensor.allocation_info->memory_offset_low = static_cast<uint32_t>(random.below(64) * 8);
      return;
    case 7:
      if (tensor.allocation_info) change(tensor.allocation_info->memory_id, random);
      return;
    default: {
      // A shape and a dim order of one rank.
      tensor.sizes.resize(random.below(6), 2);
      tensor.dim_order.resize(tensor.sizes.size());
      for (size_t i = 0; i < tensor.sizes.size(); ++i) {
        tensor.sizes[i] = static_cast<int32_t>(random.below(6));
        tensor.dim_order[i] = static_cast<uint8_t>(i);
      }
      for (size_t i = 1; i < tensor.sizes.size(); ++i)
        std::swap(tensor.dim_order[i], tensor.dim_order[random.below(i + 1)]);
    }
  }
}

void edit_value(EValueT& value, ExecutionPlanT& plan, Random& random) {
  KernelTypesUnion& val = value.val;
  const size_t count = plan.values.size();
  switch (val.type) {
    case KernelTypes::Int: val.AsInt()->int_val = random.number(val.AsInt()->int_val); return;
    case KernelTypes::Bool: val.AsBool()->bool_val = !val.AsBool()->bool_val; return;
    case KernelTypes::Double: {
      static constexpr double kEdges[] = {0, -1, 0.5, 1e308, -1e308, 1e-320, 4e9, __builtin_nan(""), __builtin_inf()};
      val.AsDouble()->double_val = kEdges[random.below(std::size(kEdges))];
      return;
    }
    case KernelTypes::Tensor: edit_tensor(*val.AsTensor(), random); return;
    case KernelTypes::IntList: change_numbers(val.AsIntList()->items, count, random); return;
    case KernelTypes::DoubleList: val.AsDoubleList()->items.resize(random.below(8), 0.5); return;
    case KernelTypes::BoolList: val.AsBoolList()->items.resize(random.below(8), 1); return;
    case KernelTypes::TensorList: change_numbers(val.AsTensorList()->items, count, random); return;
    case KernelTypes::OptionalTensorList: change_numbers(val.AsOptionalTensorList()->items, count, random); return;
    case KernelTypes::String: val.AsString()->string_val = random.one_in(2) ? "" : "tanh"; return;
    default: return;
  }
}

void replace_value(EValueT& value, Random& random) {
  value.val.Reset();
  switch (random.below(5)) {
    case 0: {
      IntT number;
      number.int_val = random.number(1);
      return value.val.Set(number);
    }
    case 1: return value.val.Set(NullT());
    case 2: {
      BoolT flag;
      flag.bool_val = random.one_in(2);
      return value.val.Set(flag);
    }
    case 3: return value.val.Set(DoubleT());
    default: return value.val.Set(IntListT());
  }
}

void edit_instruction(InstructionT& instruction, ExecutionPlanT& plan, size_t count, Random& random) {
  const size_t values = plan.values.size();
  const auto any_value = [&] { return static_cast<int32_t>(random.below(values)); };
  InstructionArgumentsUnion& args = instruction.instr_args;
  if (random.one_in(10)) {
    args.Reset();
    if (random.one_in(2)) {
      MoveCallT move;
      move.move_from = any_value();
      move.move_to = any_value();
      args.Set(move);
    } else {
      JumpFalseCallT jump;
      jump.cond_value_index = any_value();
      jump.destination_instruction = static_cast<int32_t>(random.below(count + 1));
      args.Set(jump);
    }
    return;
  }
  switch (args.type) {
    case InstructionArguments::KernelCall: {
      KernelCallT& call = *args.AsKernelCall();
      if (random.one_in(4))
        call.op_index = static_cast<int32_t>(random.below(plan.operators.size()));
      else
        change_numbers(call.args, values, random);
      return;
    }
    case InstructionArguments::MoveCall:
      (random.one_in(2) ? args.AsMoveCall()->move_from : args.AsMoveCall()->move_to) = any_value();
      return;
    case InstructionArguments::JumpFalseCall:
      if (random.one_in(2))
        args.AsJumpFalseCall()->cond_value_index = any_value();
      else
        args.AsJumpFalseCall()->destination_instruction = static_cast<int32_t>(random.below(count + 2));
      return;
    case InstructionArguments::DelegateCall: change(args.AsDelegateCall()->delegate_index, random); return;
    case InstructionArguments::FreeCall: args.AsFreeCall()->value_index = any_value(); return;
    default: return;
  }
}

void edit_chain(ExecutionPlanT& plan, Random& random) {
  if (plan.chains.empty()) return;
  ChainT& chain = *plan.chains[random.below(plan.chains.size())];
  if (chain.instructions.empty()) return;
  if (random.one_in(6)) {
    return change_list(chain.instructions, random,
                       [](const std::unique_ptr<InstructionT>& item) { return std::make_unique<InstructionT>(*item); });
  }
  edit_instruction(*chain.instructions[random.below(chain.instructions.size())], plan, chain.instructions.size(),
                   random);
}

// An operator's name from another program's point of view: same arity, other meaning.
void edit_operator(ExecutionPlanT& plan, Random& random) {
  static constexpr const char* kNames[][2] = {{"aten::add", "out"},
                                              {"aten::mul", "Scalar_out"},
                                              {"aten::index", "Tensor_out"},
                                              {"aten::cat", "out"},
                                              {"aten::slice_copy", "Tensor_out"},
                                              {"aten::select_copy", "int_out"},
                                              {"aten::gather", "out"},
                                              {"aten::scatter", "src_out"},
                                              {"aten::expand_copy", "out"},
                                              {"aten::view_copy", "out"},
                                              {"aten::permute_copy", "out"},
                                              {"aten::constant_pad_nd", "out"},
                                              {"aten::mm", "out"},
                                              {"aten::convolution", "out"},
                                              {"aten::nonzero", "out"},
                                              {"executorch_prim::et_view", "default"},
                                              {"executorch_prim::et_copy_index", "tensor"},
                                              {"aten::embedding", "out"},
                                              {"aten::sum", "IntList_out"},
                                              {"aten::topk", "values"},
                                              {"aten::upsample_bilinear2d", "vec_out"},
                                              {"aten::max_pool2d_with_indices", "out"}};
  if (plan.operators.empty()) return;
  OperatorT& op = *plan.operators[random.below(plan.operators.size())];
  const auto& name = kNames[random.below(std::size(kNames))];
  op.name = name[0];
  op.overload = name[1];
}

// An arena's size, or the device that it lies on; sometimes of a new one.
void edit_arena(ExecutionPlanT& plan, Random& random) {
  if (random.one_in(4)) plan.non_const_buffer_sizes.push_back(64);
  const size_t count = plan.non_const_buffer_sizes.size();
  if (count == 0) return;
  const size_t arena = random.one_in(2) ? count - 1 : random.below(count);
  if (random.one_in(2)) {
    plan.non_const_buffer_sizes[arena] =
        random.one_in(2) ? random.number(64) : static_cast<int64_t>(random.below(4096));
    return;
  }
  auto device = std::make_unique<pte_edit::NonConstBufferDeviceT>();
  device->buffer_idx = static_cast<int32_t>(random.one_in(16) ? count : arena);
  device->device_type = random.one_in(16) ? pte_edit::DeviceType::CPU : pte_edit::DeviceType::CUDA;
  plan.non_const_buffer_device.push_back(std::move(device));
}

void edit_plan(ExecutionPlanT& plan, Random& random) {
  const size_t values = plan.values.size();
  if (random.one_in(3)) return edit_arguments(plan, random);
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (values != 0) edit_value(*plan.values[random.below(values)], plan, random);
      return;
    case 4:
    case 5:
    case 6:
    case 7: return edit_chain(plan, random);
    case 8:
      if (values != 0) replace_value(*plan.values[random.below(values)], random);
      return;
    case 9: return change_numbers(random.one_in(2) ? plan.inputs : plan.outputs, values, random);
    case 10: return edit_arena(plan, random);
    default: return edit_operator(plan, random);
  }
}

void edit_data_places(ProgramT& program, Random& random) {
  const auto lists = {program.constant_segment.get(),
                      program.mutable_data_segments.empty() ? nullptr : program.mutable_data_segments[0].get()};
  for (SubsegmentOffsetsT* list : lists) {
    if (!list || random.one_in(2)) continue;
    if (random.one_in(4))
      change(list->segment_index, random);
    else
      change_numbers(list->offsets, 256, random);
  }
  if (program.segments.empty()) return;
  DataSegmentT& segment = *program.segments[random.below(program.segments.size())];
  change(random.one_in(2) ? segment.offset : segment.size, random);
}

}  // namespace

std::vector<uint8_t> edit_program(Span<const uint8_t> file, Random& random) {
  const EditableProgram program = open_program(file);
  if (!program.tables) return {};
  auto& plans = program.tables->execution_plan;
  for (size_t count = 1 + random.below(4); count > 0; --count) {
    if (plans.empty() || random.one_in(12))
      edit_data_places(*program.tables, random);
    else
      edit_plan(*plans[random.below(plans.size())], random);
  }
  return write_program(program);
}

std::vector<uint8_t> edit_data(Span<const uint8_t> file, Random& random) {
  if (file.size() < schema::kHeaderOffset + schema::kFlatTensorHeaderLength) return {};
  const uint8_t* header = file.data() + schema::kHeaderOffset;
  const uint64_t offset = schema::read_u64(header + 8), size = schema::read_u64(header + 16);
  const uint64_t base = schema::read_u64(header + 24), segment_bytes = schema::read_u64(header + 32);
  const uint64_t tables = std::min<uint64_t>(file.size(), offset + size);
  flatbuffers::Verifier verifier(file.data(), tables, 64, 100000);
  if (tables < 8 || !ptd_edit::VerifyFlatTensorBuffer(verifier)) return {};
  const std::unique_ptr<ptd_edit::FlatTensorT> root(ptd_edit::UnPackFlatTensor(file.data()));
  for (size_t count = 1 + random.below(3); count > 0 && !root->named_data.empty(); --count) {
    ptd_edit::NamedDataT& entry = *root->named_data[random.below(root->named_data.size())];
    switch (random.below(7)) {
      case 0: change(entry.segment_index, random); break;
      case 1: entry.key = root->named_data[random.below(root->named_data.size())]->key; break;
      case 2:
        if (entry.tensor_layout) change_numbers(entry.tensor_layout->sizes, 4, random);
        break;
      case 3:
        if (entry.tensor_layout) change_numbers(entry.tensor_layout->dim_order, 3, random);
        break;
      case 4:
        if (entry.tensor_layout) entry.tensor_layout->scalar_type = static_cast<int8_t>(random.below(30));
        break;
      case 5:
        change_list(root->named_data, random, [](const std::unique_ptr<ptd_edit::NamedDataT>& item) {
          return std::make_unique<ptd_edit::NamedDataT>(*item);
        });
        break;
      default:
        if (root->segments.empty()) break;
        ptd_edit::DataSegmentT& segment = *root->segments[random.below(root->segments.size())];
        change(random.one_in(2) ? segment.offset : segment.size, random);
    }
  }
  flatbuffers::FlatBufferBuilder builder;
  ptd_edit::FinishFlatTensorBuffer(builder, ptd_edit::FlatTensor::Pack(builder, root.get()));
  constexpr size_t kRoom = 48;  // the header, to a multiple of 16
  std::vector<uint8_t> out = with_header_room(builder, kRoom);
  const uint64_t tables_bytes = out.size();
  const uint64_t segment_base = append_segments(out, rest(file, base, segment_bytes));
  memcpy(out.data() + schema::kHeaderOffset, schema::kFlatTensorHeaderMagic, 4);
  put(out, schema::kHeaderOffset + 4, schema::kFlatTensorHeaderLength, 4);
  put(out, schema::kHeaderOffset + 8, kRoom, 8);
  put(out, schema::kHeaderOffset + 16, tables_bytes - kRoom, 8);
  put(out, schema::kHeaderOffset + 24, segment_base, 8);
  put(out, schema::kHeaderOffset + 32, out.size() - segment_base, 8);
  return out;
}

}  // namespace wick::fuzz
