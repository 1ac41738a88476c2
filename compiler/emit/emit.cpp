#include "compiler/emit/emit.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

#include "compiler/emit/constant_pool.h"
#include "compiler/emit/segments.h"
#include "compiler/ir/zero_bytes.h"
#include "schema/flat_tensor_generated.h"
#include "schema/header.h"
#include "schema/program_generated.h"
#include "wick/program.h"

namespace wick::compiler {

namespace {

namespace fb = flatbuffers;

void put_u32(std::vector<uint8_t>& out, size_t at, uint32_t value) { memcpy(out.data() + at, &value, 4); }
void put_u64(std::vector<uint8_t>& out, size_t at, uint64_t value) { memcpy(out.data() + at, &value, 8); }

// The finished tables with `block_size` bytes opened behind the identifier; the root offset follows.
std::vector<uint8_t> with_header_space(const fb::FlatBufferBuilder& builder, size_t block_size) {
  const uint8_t* bytes = builder.GetBufferPointer();
  std::vector<uint8_t> out(bytes, bytes + schema::kHeaderOffset);
  out.resize(schema::kHeaderOffset + block_size);
  out.insert(out.end(), bytes + schema::kHeaderOffset, bytes + builder.GetSize());
  put_u32(out, 0, schema::read_u32(bytes) + static_cast<uint32_t>(block_size));
  return out;
}

class ProgramWriter {
 public:
  explicit ProgramWriter(const EmitOptions& options) : options_(options) {}

  Result<EmittedProgram> write(const std::vector<MethodPlan>& methods) {
    std::vector<const MethodPlan*> sorted;
    for (const MethodPlan& method : methods) sorted.push_back(&method);
    std::sort(sorted.begin(), sorted.end(), [](const MethodPlan* a, const MethodPlan* b) { return a->name < b->name; });
    RETURN_IF_ERROR(place_delegates(sorted));
    std::vector<fb::Offset<pte::ExecutionPlan>> plans;
    for (const MethodPlan* method : sorted) plans.push_back(plan(*method));

    const std::string metadata = metadata_json(sorted);
    FilePieces metadata_piece;
    metadata_piece.append(std::vector<uint8_t>(metadata.begin(), metadata.end()));
    Segments segments;
    segments.add(constants_.pieces());
    for (const ByteRange& range : shared_) segments.add_range(0, range.offset, range.size);
    for (FilePieces& payload : payloads_) segments.add(payload);
    const uint64_t named_base = segments.next_offset();
    for (const ByteRange& range : named_) segments.add_range(named_base, range.offset, range.size);
    if (!named_.empty()) segments.add_unlisted(named_pool_.pieces());
    const uint32_t mutable_segment = segments.count();
    if (states_.size_bytes > 0) segments.add(states_);
    const uint32_t metadata_segment = segments.count();
    segments.add(metadata_piece);
    const FilePieces facts = prepared_for(sorted);
    if (facts.size_bytes > 0) segments.add(facts);
    finish_tables(plans, segments, mutable_segment, metadata_segment);

    EmittedProgram out;
    out.constant_bytes =
        constants_.data_bytes() + named_pool_.data_bytes() + states_.size_bytes + external_.data_bytes();
    append_file(segments, out.pte);
    if (options_.external_weights && !externals_.empty()) out.ptd = external_file();
    return out;
  }

 private:
  // --- the file ---

  // The facts of all methods, each once; empty if there are none.
  static FilePieces prepared_for(const std::vector<const MethodPlan*>& methods) {
    std::set<std::string> facts;
    for (const MethodPlan* method : methods) facts.insert(method->prepared_for.begin(), method->prepared_for.end());
    const std::string text = fmt::format("{}", fmt::join(facts, " "));
    FilePieces pieces;
    if (!text.empty()) pieces.append(std::vector<uint8_t>(text.begin(), text.end()));
    return pieces;
  }

  // Writes all tables except the plans, then the program table.
  void finish_tables(const std::vector<fb::Offset<pte::ExecutionPlan>>& plans, const Segments& segments,
                     uint32_t mutable_segment, uint32_t metadata_segment) {
    std::vector<fb::Offset<pte::DataSegment>> rows;
    for (const ByteRange& row : segments.rows) rows.push_back(pte::CreateDataSegment(builder_, row.offset, row.size));
    const auto constant_offsets = builder_.CreateVector(constants_.offsets());
    const auto constant_segment = pte::CreateSubsegmentOffsets(builder_, 0, constant_offsets);
    fb::Offset<fb::Vector<fb::Offset<pte::SubsegmentOffsets>>> mutable_segments = 0;
    if (states_.size_bytes > 0) {
      const auto state_offsets = builder_.CreateVector(state_offsets_);
      const std::vector<fb::Offset<pte::SubsegmentOffsets>> list = {
          pte::CreateSubsegmentOffsets(builder_, mutable_segment, state_offsets)};
      mutable_segments = builder_.CreateVector(list);
    }
    std::vector<fb::Offset<pte::NamedData>> named;
    for (const auto& [key, segment] : named_segments_)
      named.push_back(pte::CreateNamedData(builder_, builder_.CreateString(key), segment));
    named.push_back(pte::CreateNamedData(builder_, builder_.CreateString(kMetadataKey), metadata_segment));
    if (segments.count() > metadata_segment + 1)
      named.push_back(pte::CreateNamedData(builder_, builder_.CreateString(kPreparedForKey), metadata_segment + 1));
    const auto plan_vector = builder_.CreateVector(plans);
    const auto buffers = builder_.CreateVector(std::vector<fb::Offset<pte::Buffer>>{});
    const auto inline_data = builder_.CreateVector(std::vector<fb::Offset<pte::BackendDelegateInlineData>>{});
    const auto segment_vector = builder_.CreateVector(rows);
    const auto named_vector = builder_.CreateVector(named);
    builder_.Finish(pte::CreateProgram(builder_, 0, plan_vector, buffers, inline_data, segment_vector, constant_segment,
                                       mutable_segments, named_vector),
                    schema::kProgramIdentifier);
  }

  // The header, the tables, then the segments.
  void append_file(const Segments& segments, FilePieces& file) {
    std::vector<uint8_t> tables = with_header_space(builder_, schema::kProgramHeaderLength);
    const uint64_t base = align_up(tables.size(), kSegmentAlignment);
    memcpy(tables.data() + schema::kHeaderOffset, schema::kProgramHeaderMagic, 4);
    put_u32(tables, schema::kHeaderOffset + 4, schema::kProgramHeaderLength);
    put_u64(tables, schema::kHeaderOffset + 8, tables.size());
    put_u64(tables, schema::kHeaderOffset + 16, base);
    put_u64(tables, schema::kHeaderOffset + 24, segments.end);
    file.append(std::move(tables));
    for (const auto& [offset, pieces] : segments.pieces) {
      file.pad_to(base + offset);
      for (const ConstantData& piece : pieces->pieces) file.append(piece);
    }
  }

  // --- delegates ---

  // Assigns segments to payloads and named constants, because plans refer to them by segment. A named constant that
  // equals a constant of the program is a range of its segment.
  Status place_delegates(const std::vector<const MethodPlan*>& methods) {
    std::map<std::string, const NamedConstant*> wanted;
    for (const MethodPlan* method : methods) {
      for (const auto& delegate : method->delegates) {
        for (const NamedConstant& item : delegate->constants) {
          const auto [known, fresh] = wanted.try_emplace(item.key, &item);
          if (fresh || same_bytes(known->second->data, item.data)) continue;
          return Diag(Code::internal, fmt::format("two named constants of delegates are called '{}'", item.key));
        }
      }
    }
    if (wanted.count(kMetadataKey)) return Diag(Code::internal, "a delegate's constant has the key of the metadata");
    if (!wanted.empty()) add_constants(methods);
    std::map<std::string, ByteRange> shared, apart;
    for (const auto& [key, item] : wanted) {
      const uint64_t size = item->data.size_bytes();
      if (options_.external_weights) {
        externals_[key] = {std::nullopt, external_.add(item->data, item->alignment), size};
      } else if (const auto offset = constants_.find(item->data, item->alignment)) {
        shared[key] = {*offset, size};
      } else {
        apart[key] = {named_pool_.add(item->data, item->alignment), size};
      }
    }
    shared_ = distinct(shared);
    named_ = distinct(apart);
    place_payloads(methods);
    for (const auto& [key, range] : shared) named_segments_[key] = 1 + index_in(shared_, range);
    for (const auto& [key, range] : apart)
      named_segments_[key] = static_cast<uint32_t>(1 + shared_.size() + payloads_.size()) + index_in(named_, range);
    return {};
  }

  // Equal payloads are one segment.
  void place_payloads(const std::vector<const MethodPlan*>& methods) {
    std::map<std::vector<uint8_t>, uint32_t> known;
    for (const MethodPlan* method : methods) {
      for (const auto& delegate : method->delegates) {
        const auto [it, fresh] =
            known.try_emplace(delegate->payload, static_cast<uint32_t>(1 + shared_.size() + payloads_.size()));
        if (fresh) payloads_.emplace_back().append(delegate->payload);
        payload_segments_[delegate.get()] = it->second;
      }
    }
  }

  // Constants of the methods in the order in which their tensors are written.
  void add_constants(const std::vector<const MethodPlan*>& methods) {
    for (const MethodPlan* method : methods) {
      for (const PlannedValue& item : method->values) {
        const auto* tensor = std::get_if<PlannedTensor>(&item);
        if (!tensor) continue;
        const Storage& storage = method->storages[tensor->storage];
        if (storage.kind == Storage::Kind::constant && !is_external(*tensor)) constant_offset(storage);
      }
    }
  }

  // The ranges sorted by offset, each once.
  static std::vector<ByteRange> distinct(const std::map<std::string, ByteRange>& ranges) {
    std::vector<ByteRange> out;
    for (const auto& [key, range] : ranges) out.push_back(range);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  static uint32_t index_in(const std::vector<ByteRange>& ranges, const ByteRange& range) {
    return static_cast<uint32_t>(std::lower_bound(ranges.begin(), ranges.end(), range) - ranges.begin());
  }

  fb::Offset<pte::BackendDelegate> delegate(const Delegate& item) {
    const auto id = builder_.CreateSharedString(item.id);
    const auto where =
        pte::CreateBackendDelegateDataReference(builder_, pte::DataLocation::SEGMENT, payload_segments_.at(&item));
    std::vector<fb::Offset<pte::CompileSpec>> specs;
    std::vector<DelegateSpec> all = item.specs;
    const std::string& device = item.device.name;
    if (!item.device.is_host()) all.push_back({"target_device", {device.begin(), device.end()}});
    for (const DelegateSpec& spec : all) {
      const auto key = builder_.CreateSharedString(spec.key);
      specs.push_back(pte::CreateCompileSpec(builder_, key, builder_.CreateVector(spec.value)));
    }
    return pte::CreateBackendDelegate(builder_, id, where, builder_.CreateVector(specs));
  }

  // --- values ---

  bool is_external(const PlannedTensor& item) const {
    return options_.external_weights && !item.name.empty() && item.offset_bytes == 0;
  }

  fb::Offset<pte::EValue> make_value(pte::KernelTypes type, fb::Offset<void> value) {
    return pte::CreateEValue(builder_, type, value);
  }

  fb::Offset<pte::EValue> value(const MethodPlan& method, const PlannedValue& item) {
    struct Visitor {
      ProgramWriter& w;
      const MethodPlan& method;
      fb::Offset<pte::EValue> operator()(std::monostate) {
        return w.make_value(pte::KernelTypes::Null, pte::CreateNull(w.builder_).Union());
      }
      fb::Offset<pte::EValue> operator()(int64_t v) {
        return w.make_value(pte::KernelTypes::Int, pte::CreateInt(w.builder_, v).Union());
      }
      fb::Offset<pte::EValue> operator()(double v) {
        // FlatBuffers leaves out what equals the default, and -0 equals 0.
        w.builder_.ForceDefaults(v == 0 && std::signbit(v));
        const auto number = pte::CreateDouble(w.builder_, v);
        w.builder_.ForceDefaults(false);
        return w.make_value(pte::KernelTypes::Double, number.Union());
      }
      fb::Offset<pte::EValue> operator()(bool v) {
        return w.make_value(pte::KernelTypes::Bool, pte::CreateBool(w.builder_, v).Union());
      }
      fb::Offset<pte::EValue> operator()(const std::string& v) {
        return w.make_value(pte::KernelTypes::String,
                            pte::CreateString(w.builder_, w.builder_.CreateSharedString(v)).Union());
      }
      fb::Offset<pte::EValue> operator()(const Reals& v) {
        return w.make_value(pte::KernelTypes::DoubleList,
                            pte::CreateDoubleList(w.builder_, w.builder_.CreateVector(v)).Union());
      }
      fb::Offset<pte::EValue> operator()(const Bools& v) {
        return w.make_value(pte::KernelTypes::BoolList,
                            pte::CreateBoolList(w.builder_, w.builder_.CreateVector(v)).Union());
      }
      fb::Offset<pte::EValue> operator()(const IndexList& v) {
        if (v.kind == IndexList::Kind::ints) {
          const std::vector<int64_t> items(v.items.begin(), v.items.end());
          return w.make_value(pte::KernelTypes::IntList,
                              pte::CreateIntList(w.builder_, w.builder_.CreateVector(items)).Union());
        }
        const auto items = w.builder_.CreateVector(v.items);
        if (v.kind == IndexList::Kind::tensors)
          return w.make_value(pte::KernelTypes::TensorList, pte::CreateTensorList(w.builder_, items).Union());
        return w.make_value(pte::KernelTypes::OptionalTensorList,
                            pte::CreateOptionalTensorList(w.builder_, items).Union());
      }
      fb::Offset<pte::EValue> operator()(const PlannedTensor& v) {
        return w.make_value(pte::KernelTypes::Tensor, w.tensor(method, v).Union());
      }
    };
    return std::visit(Visitor{*this, method}, item);
  }

  fb::Offset<pte::Tensor> tensor(const MethodPlan& method, const PlannedTensor& item) {
    const Storage& storage = method.storages[item.storage];
    std::vector<int32_t> sizes(item.sizes.begin(), item.sizes.end());
    uint32_t data_index = 0;
    std::string name = item.name;
    fb::Offset<pte::AllocationDetails> allocation = 0;
    pte::TensorDataLocation location = pte::TensorDataLocation::SEGMENT;
    switch (storage.kind) {
      case Storage::Kind::none:
      case Storage::Kind::unbounded: break;
      case Storage::Kind::constant:
        if (is_external(item)) {
          location = pte::TensorDataLocation::EXTERNAL;
          data_index = 1;  // means only that the caller must not provide the memory
          name = add_external(method, item, storage.data);
        } else {
          data_index = constants_.index_of(constant_offset(storage) + item.offset_bytes);
        }
        break;
      case Storage::Kind::state:
        if (item.offset_bytes == 0 && &item == first_tensor_of(method, item.storage)) data_index = state_index(storage);
        [[fallthrough]];
      case Storage::Kind::arena: {
        const uint64_t offset = storage.offset + item.offset_bytes;
        const uint32_t arena = storage.on_device ? device_arena_of(method) : storage.shared ? 2 : 1;
        allocation = pte::CreateAllocationDetails(builder_, arena, static_cast<uint32_t>(offset),
                                                  static_cast<uint32_t>(offset >> 32));
        break;
      }
    }
    fb::Offset<pte::ExtraTensorInfo> extra = 0;
    if (!name.empty())
      extra = pte::CreateExtraTensorInfo(builder_, 0, builder_.CreateSharedString(name), location);
    else if (storage.on_device)
      extra = pte::CreateExtraTensorInfo(builder_, 0, 0, location, device_type(method));
    const auto size_vector = builder_.CreateVector(sizes);
    const auto order_vector = builder_.CreateVector(item.dim_order);
    return pte::CreateTensor(builder_, static_cast<int8_t>(item.dtype), 0, size_vector, order_vector, false, data_index,
                             allocation, 0, dynamism_of(item), extra);
  }

  static pte::ShapeDynamism dynamism_of(const PlannedTensor& item) {
    if (item.unbounded) return pte::ShapeDynamism::DYNAMIC_UNBOUND;
    return item.dynamic ? pte::ShapeDynamism::DYNAMIC_BOUND : pte::ShapeDynamism::STATIC;
  }

  static pte::DeviceType device_type(const MethodPlan& method) {
    return static_cast<pte::DeviceType>(method.device.type);
  }
  // The number of the arena on the device: the last one.
  static uint32_t device_arena_of(const MethodPlan& method) { return method.shared_arena_bytes > 0 ? 3 : 2; }

  // Views of one constant look its bytes up once.
  uint64_t constant_offset(const Storage& storage) {
    auto [it, fresh] = constant_offsets_.try_emplace(&storage, 0);
    if (fresh) it->second = constants_.add(storage.data);
    return it->second;
  }

  // The tensor that carries a state's initial value: the first over its storage.
  const PlannedTensor* first_tensor_of(const MethodPlan& method, uint32_t storage) {
    for (const PlannedValue& value : method.values) {
      const auto* tensor = std::get_if<PlannedTensor>(&value);
      if (tensor && tensor->storage == storage) return tensor;
    }
    return nullptr;
  }

  // A large state of zeros is not stored, because arenas start zeroed.
  uint32_t state_index(const Storage& storage) {
    constexpr size_t kAlwaysStored = 4096;
    const size_t size_bytes = storage.data.size_bytes();
    if (size_bytes == 0 || (size_bytes > kAlwaysStored && is_zero(storage.data))) return 0;
    state_offsets_.push_back(states_.size_bytes);
    states_.append(storage.data);
    return static_cast<uint32_t>(state_offsets_.size() - 1);
  }

  // The key of the tensor in the .ptd: its name, extended by the method's name if a different tensor has that key
  // already.
  std::string add_external(const MethodPlan& method, const PlannedTensor& item, const ConstantData& data) {
    const External entry = {item, external_.add(data), data.size_bytes()};
    std::string key = item.name;
    for (int number = 1;; ++number) {
      const auto [known, fresh] = externals_.try_emplace(key, entry);
      const External& other = known->second;
      if (fresh || (other.offset == entry.offset && other.size == entry.size && other.tensor &&
                    other.tensor->dtype == item.dtype && other.tensor->sizes == item.sizes &&
                    other.tensor->dim_order == item.dim_order))
        return key;
      key = fmt::format("{}@{}{}", item.name, method.name, number == 1 ? "" : fmt::format(".{}", number));
    }
  }

  static fb::Offset<ptd::TensorLayout> tensor_layout(fb::FlatBufferBuilder& builder, const PlannedTensor& tensor) {
    const std::vector<int32_t> sizes(tensor.sizes.begin(), tensor.sizes.end());
    const auto size_vector = builder.CreateVector(sizes);
    const auto order_vector = builder.CreateVector(tensor.dim_order);
    return ptd::CreateTensorLayout(builder, static_cast<int8_t>(tensor.dtype), size_vector, order_vector);
  }

  FilePieces external_file() {
    fb::FlatBufferBuilder builder;
    std::vector<fb::Offset<ptd::DataSegment>> segments;
    std::vector<fb::Offset<ptd::NamedData>> named;
    for (const auto& [name, entry] : externals_) {
      const fb::Offset<ptd::TensorLayout> layout = entry.tensor ? tensor_layout(builder, *entry.tensor) : 0;
      named.push_back(
          ptd::CreateNamedData(builder, builder.CreateString(name), static_cast<uint32_t>(segments.size()), layout));
      segments.push_back(ptd::CreateDataSegment(builder, entry.offset, entry.size));
    }
    const auto segment_vector = builder.CreateVector(segments);
    const auto named_vector = builder.CreateVector(named);
    builder.Finish(ptd::CreateFlatTensor(builder, 0, segment_vector, named_vector), schema::kFlatTensorIdentifier);
    constexpr size_t kBlock = 48;
    std::vector<uint8_t> tables = with_header_space(builder, kBlock);
    const uint64_t base = align_up(tables.size(), kSegmentAlignment);
    const size_t at = schema::kHeaderOffset;
    memcpy(tables.data() + at, schema::kFlatTensorHeaderMagic, 4);
    put_u32(tables, at + 4, schema::kFlatTensorHeaderLength);
    put_u64(tables, at + 8, kBlock);
    put_u64(tables, at + 16, builder.GetSize());
    put_u64(tables, at + 24, base);
    put_u64(tables, at + 32, external_.size_bytes());
    FilePieces out;
    out.append(std::move(tables));
    out.pad_to(base);
    for (const ConstantData& piece : external_.pieces().pieces) out.append(piece);
    return out;
  }

  fb::Offset<pte::Instruction> instruction(const Instruction& item) {
    switch (item.kind) {
      case Instruction::Kind::kernel: {
        const auto args = builder_.CreateVector(item.args);
        return pte::CreateInstruction(builder_, pte::InstructionArguments::KernelCall,
                                      pte::CreateKernelCall(builder_, static_cast<int32_t>(item.op), args).Union());
      }
      case Instruction::Kind::delegate: {
        const auto args = builder_.CreateVector(item.args);
        return pte::CreateInstruction(builder_, pte::InstructionArguments::DelegateCall,
                                      pte::CreateDelegateCall(builder_, static_cast<int32_t>(item.op), args).Union());
      }
      case Instruction::Kind::move:
        return pte::CreateInstruction(builder_, pte::InstructionArguments::MoveCall,
                                      pte::CreateMoveCall(builder_, item.args[0], item.args[1]).Union());
      case Instruction::Kind::free:
        return pte::CreateInstruction(builder_, pte::InstructionArguments::FreeCall,
                                      pte::CreateFreeCall(builder_, item.args[0]).Union());
      case Instruction::Kind::jump_false: break;
    }
    return pte::CreateInstruction(builder_, pte::InstructionArguments::JumpFalseCall,
                                  pte::CreateJumpFalseCall(builder_, item.args[0], item.args[1]).Union());
  }

  // "model.py:118" as a frame; nodes of one origin share it.
  fb::Offset<pte::FrameList> frames(const OriginPtr& origin, const std::string& check) {
    auto it = frames_.find(origin.get());
    if (it != frames_.end() && check.empty()) return it->second;
    std::vector<fb::Offset<pte::Frame>> items;
    if (!check.empty()) {
      items.push_back(pte::CreateFrame(builder_, builder_.CreateSharedString(""), 0,
                                       builder_.CreateSharedString(schema::kCheckFrame),
                                       builder_.CreateSharedString(check)));
    }
    if (origin && (!origin->source.empty() || !origin->module.empty())) {
      const size_t colon = origin->source.rfind(':');
      const std::string file = origin->source.substr(0, colon);
      const int line = colon == std::string::npos ? 0 : std::atoi(origin->source.c_str() + colon + 1);
      items.push_back(pte::CreateFrame(builder_, builder_.CreateSharedString(file), line,
                                       builder_.CreateSharedString(origin->module),
                                       builder_.CreateSharedString(origin->code)));
    }
    const auto list = pte::CreateFrameList(builder_, builder_.CreateVector(items));
    if (check.empty()) frames_[origin.get()] = list;
    return list;
  }

  fb::Offset<pte::ExecutionPlan> plan(const MethodPlan& method) {
    frames_.clear();
    std::vector<fb::Offset<pte::EValue>> values;
    for (const PlannedValue& item : method.values) values.push_back(value(method, item));
    std::vector<fb::Offset<pte::Instruction>> instructions;
    std::vector<fb::Offset<pte::FrameList>> traces;
    for (const Instruction& item : method.instructions) {
      instructions.push_back(instruction(item));
      traces.push_back(frames(item.origin, item.check));
    }
    std::vector<fb::Offset<pte::Operator>> operators;
    for (const Operator& op : method.operators) {
      operators.push_back(pte::CreateOperator(builder_, builder_.CreateSharedString(op.name),
                                              builder_.CreateSharedString(op.overload)));
    }
    std::vector<fb::Offset<pte::BackendDelegate>> delegate_rows;
    for (const auto& item : method.delegates) delegate_rows.push_back(delegate(*item));
    const std::vector<int32_t> empty;
    const auto chain_inputs = builder_.CreateVector(empty);
    const auto chain_outputs = builder_.CreateVector(empty);
    const auto instruction_vector = builder_.CreateVector(instructions);
    const auto trace_vector = builder_.CreateVector(traces);
    const std::vector<fb::Offset<pte::Chain>> chains = {
        pte::CreateChain(builder_, chain_inputs, chain_outputs, instruction_vector, trace_vector)};
    const auto meta = pte::CreateContainerMetadata(builder_, builder_.CreateSharedString(method.in_spec),
                                                   builder_.CreateSharedString(method.out_spec));
    std::vector<int64_t> arenas = {0};
    // Tensors without elements refer to the arena too, so it exists even if it has no bytes.
    const bool planned = std::any_of(method.storages.begin(), method.storages.end(), [](const Storage& storage) {
      return storage.kind == Storage::Kind::arena || storage.kind == Storage::Kind::state;
    });
    const bool shares = method.shared_arena_bytes > 0;
    if (planned || shares || method.arena_bytes > 0) arenas.push_back(static_cast<int64_t>(method.arena_bytes));
    if (shares) arenas.push_back(static_cast<int64_t>(method.shared_arena_bytes));
    fb::Offset<fb::Vector<fb::Offset<pte::NonConstBufferDevice>>> devices = 0;
    if (!method.device.is_host()) {
      arenas.push_back(static_cast<int64_t>(method.device_arena_bytes));
      const auto buffer = static_cast<int32_t>(device_arena_of(method));
      devices = builder_.CreateVector({pte::CreateNonConstBufferDevice(builder_, buffer, device_type(method))});
    }
    const auto name = builder_.CreateString(method.name);
    const auto value_vector = builder_.CreateVector(values);
    const auto inputs = builder_.CreateVector(method.inputs);
    const auto outputs = builder_.CreateVector(method.outputs);
    const auto chain_vector = builder_.CreateVector(chains);
    const auto operator_vector = builder_.CreateVector(operators);
    const auto delegates = builder_.CreateVector(delegate_rows);
    const auto arena_vector = builder_.CreateVector(arenas);
    return pte::CreateExecutionPlan(builder_, name, meta, value_vector, inputs, outputs, chain_vector, operator_vector,
                                    delegates, arena_vector, devices);
  }

  EmitOptions options_;
  fb::FlatBufferBuilder builder_{1 << 16};
  ConstantPool constants_, external_;
  std::unordered_map<const Storage*, uint64_t> constant_offsets_;
  FilePieces states_;
  std::vector<uint64_t> state_offsets_{0};
  struct External {
    std::optional<PlannedTensor> tensor;  // none: bytes for delegates
    uint64_t offset, size;
  };
  std::map<std::string, External> externals_;
  ConstantPool named_pool_;
  std::vector<ByteRange> shared_, named_;  // ranges of the constants and of named_pool_ that have keys; ascending
  std::map<std::string, uint32_t> named_segments_;
  std::vector<FilePieces> payloads_;
  std::unordered_map<const Delegate*, uint32_t> payload_segments_;
  std::unordered_map<const Origin*, fb::Offset<pte::FrameList>> frames_;
};

}  // namespace

Result<EmittedProgram> emit(const std::vector<MethodPlan>& methods, const EmitOptions& options) {
  for (size_t i = 0; i < methods.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (methods[i].name == methods[j].name)
        return Diag(Code::usage, fmt::format("two methods are called '{}'", methods[i].name));
    }
  }
  return ProgramWriter(options).write(methods);
}

}  // namespace wick::compiler
