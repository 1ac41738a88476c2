// Writes small .pte files for tests: one method, values added one by one. Hosted, C++20; tests only.
#pragma once
#include <stdint.h>
#include <string.h>

#include <memory>
#include <string>
#include <vector>

#include "schema/header.h"
#include "schema/program_generated.h"
#include "wick/dtype.h"
#include "wick/span.h"

namespace wick::schema {

/// Bytes that start at a multiple of 64, in a block of exactly that size so that a sanitizer sees every overrun.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(const std::vector<uint8_t>& bytes) : AlignedBytes(bytes.data(), bytes.size()) {}
  AlignedBytes(const uint8_t* data, size_t size) : size_(size) {
    data_.reset(static_cast<uint8_t*>(::operator new(size, std::align_val_t(64))));
    if (size != 0) memcpy(data_.get(), data, size);
  }
  uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }
  Span<const uint8_t> span() const { return {data_.get(), size_}; }
  Span<uint8_t> mutable_span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(uint8_t* data) const { ::operator delete(data, std::align_val_t(64)); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

struct TestTensor {
  DType dtype = DType::f32;
  std::vector<int32_t> sizes = {};
  std::vector<uint8_t> dim_order = {};  // default: 0, 1, ..
  uint32_t memory_id = 0;               // 0: not planned
  uint64_t memory_offset = 0;
  uint32_t data_index = 0;  // of add_constant or add_mutable
  int32_t storage_offset = 0;
  pte::ShapeDynamism dynamism = pte::ShapeDynamism::STATIC;
  bool external = false;
  std::string name = {};  // fully qualified
  bool omit_sizes = false;
};

/// A program of one method. Every add_value call returns the new value's index.
class TestProgram {
 public:
  std::string method_name = "forward";
  uint32_t version = 0;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<int64_t> arena_sizes = {0};  // entry 0 is the dummy
  std::vector<int32_t> device_arenas;      // memory_id of those on a device
  bool with_header = true;
  uint32_t header_length = kProgramHeaderLength;
  bool inline_constants = false;
  size_t segment_alignment = 128;
  size_t constant_alignment = 16;

  flatbuffers::FlatBufferBuilder& builder() { return fbb_; }

  int32_t add_value(pte::KernelTypes type, flatbuffers::Offset<void> payload) {
    values_.push_back(pte::CreateEValue(fbb_, type, payload));
    return static_cast<int32_t>(values_.size()) - 1;
  }
  int32_t none() { return add_value(pte::KernelTypes::Null, pte::CreateNull(fbb_).Union()); }
  int32_t integer(int64_t v) { return add_value(pte::KernelTypes::Int, pte::CreateInt(fbb_, v).Union()); }
  int32_t real(double v) { return add_value(pte::KernelTypes::Double, pte::CreateDouble(fbb_, v).Union()); }
  int32_t boolean(bool v) { return add_value(pte::KernelTypes::Bool, pte::CreateBool(fbb_, v).Union()); }
  int32_t string(const char* v) {
    return add_value(pte::KernelTypes::String, pte::CreateStringDirect(fbb_, v).Union());
  }
  int32_t int_list(const std::vector<int64_t>& items) {
    return add_value(pte::KernelTypes::IntList, pte::CreateIntListDirect(fbb_, &items).Union());
  }
  int32_t real_list(const std::vector<double>& items) {
    return add_value(pte::KernelTypes::DoubleList, pte::CreateDoubleListDirect(fbb_, &items).Union());
  }
  int32_t bool_list(const std::vector<uint8_t>& items) {
    return add_value(pte::KernelTypes::BoolList, pte::CreateBoolListDirect(fbb_, &items).Union());
  }
  int32_t tensor_list(const std::vector<int32_t>& items) {
    return add_value(pte::KernelTypes::TensorList, pte::CreateTensorListDirect(fbb_, &items).Union());
  }
  int32_t optional_tensor_list(const std::vector<int32_t>& items) {
    return add_value(pte::KernelTypes::OptionalTensorList, pte::CreateOptionalTensorListDirect(fbb_, &items).Union());
  }
  int32_t tensor(const TestTensor& t) {
    std::vector<uint8_t> dim_order = t.dim_order;
    for (size_t i = dim_order.size(); i < t.sizes.size(); ++i) dim_order.push_back(static_cast<uint8_t>(i));
    flatbuffers::Offset<pte::AllocationDetails> place = 0;
    if (t.memory_id != 0) {
      place = pte::CreateAllocationDetails(fbb_, t.memory_id, static_cast<uint32_t>(t.memory_offset),
                                           static_cast<uint32_t>(t.memory_offset >> 32));
    }
    flatbuffers::Offset<pte::ExtraTensorInfo> extra = 0;
    if (t.external || !t.name.empty()) {
      const auto location = t.external ? pte::TensorDataLocation::EXTERNAL : pte::TensorDataLocation::SEGMENT;
      extra = pte::CreateExtraTensorInfoDirect(fbb_, 0, t.name.empty() ? nullptr : t.name.c_str(), location);
    }
    const auto tensor =
        pte::CreateTensorDirect(fbb_, static_cast<int8_t>(t.dtype), t.storage_offset, t.omit_sizes ? nullptr : &t.sizes,
                                &dim_order, false, t.data_index, place, 0, t.dynamism, extra);
    return add_value(pte::KernelTypes::Tensor, tensor.Union());
  }
  /// A planned tensor at the end of arena 1, which grows; offsets are multiples of 16.
  int32_t planned(DType dtype, const std::vector<int32_t>& sizes) {
    if (arena_sizes.size() < 2) arena_sizes.push_back(0);
    TestTensor t{.dtype = dtype, .sizes = sizes, .memory_id = 1};
    t.memory_offset = static_cast<uint64_t>(arena_sizes[1]);
    int64_t bytes = static_cast<int64_t>(dtype_size_bytes(dtype));
    for (int32_t size : sizes) bytes *= size;
    arena_sizes[1] += (bytes + 15) / 16 * 16;
    return tensor(t);
  }

  /// Index for TestTensor::data_index of a constant.
  uint32_t add_constant(const void* data, size_t size) {
    return append(constant_offsets_, constants_, data, size, constant_alignment);
  }
  /// The same of the initial bytes of a planned tensor.
  uint32_t add_mutable(const void* data, size_t size) { return append(mutable_offsets_, mutables_, data, size, 1); }
  void add_named_data(const char* key, const std::string& bytes) { named_.emplace_back(key, bytes); }

  int32_t op(const char* name, const char* overload) {
    operators_.push_back(pte::CreateOperatorDirect(fbb_, name, overload));
    return static_cast<int32_t>(operators_.size()) - 1;
  }
  void call(int32_t op, const std::vector<int32_t>& args) {
    add_instruction(pte::InstructionArguments::KernelCall, pte::CreateKernelCallDirect(fbb_, op, &args).Union());
  }
  void move(int32_t from, int32_t to) {
    add_instruction(pte::InstructionArguments::MoveCall, pte::CreateMoveCall(fbb_, from, to).Union());
  }
  void jump_false(int32_t condition, int32_t destination) {
    add_instruction(pte::InstructionArguments::JumpFalseCall,
                    pte::CreateJumpFalseCall(fbb_, condition, destination).Union());
  }
  void free(int32_t value) {
    add_instruction(pte::InstructionArguments::FreeCall, pte::CreateFreeCall(fbb_, value).Union());
  }
  /// A delegate whose payload lies in the tables.
  int32_t delegate(const char* id, const std::vector<uint8_t>& payload) {
    inline_payloads_.push_back(pte::CreateBackendDelegateInlineDataDirect(fbb_, &payload));
    const auto where = pte::CreateBackendDelegateDataReference(fbb_, pte::DataLocation::INLINE,
                                                               static_cast<uint32_t>(inline_payloads_.size()) - 1);
    const std::vector<uint8_t> spec = {1, 2};
    const std::vector<flatbuffers::Offset<pte::CompileSpec>> specs = {pte::CreateCompileSpecDirect(fbb_, "k", &spec)};
    delegates_.push_back(pte::CreateBackendDelegateDirect(fbb_, id, where, &specs));
    return static_cast<int32_t>(delegates_.size()) - 1;
  }
  void delegate_call(int32_t delegate, const std::vector<int32_t>& args) {
    add_instruction(pte::InstructionArguments::DelegateCall,
                    pte::CreateDelegateCallDirect(fbb_, delegate, &args).Union());
  }
  void add_instruction(pte::InstructionArguments kind, flatbuffers::Offset<void> arguments) {
    instructions_.push_back(pte::CreateInstruction(fbb_, kind, arguments));
  }

  /// The file. Call once.
  AlignedBytes build() {
    finish_tables();
    std::vector<uint8_t> file(fbb_.GetBufferPointer(), fbb_.GetBufferPointer() + fbb_.GetSize());
    if (!with_header) {
      if (file.size() < kMinProgramFileSize) file.resize(kMinProgramFileSize);
      return AlignedBytes(file);
    }
    constexpr size_t kInserted = 32;  // a multiple of 16
    file.insert(file.begin() + kHeaderOffset, kInserted, 0);
    put(file, 0, read_u32(file.data()) + kInserted, 4);
    const uint64_t tables = file.size();
    const uint64_t base = (tables + segment_alignment - 1) / segment_alignment * segment_alignment;
    memcpy(file.data() + kHeaderOffset, kProgramHeaderMagic, 4);
    put(file, kHeaderOffset + 4, header_length, 4);
    put(file, kHeaderOffset + 8, tables, 8);
    put(file, kHeaderOffset + 16, base, 8);
    if (header_length >= kProgramHeaderLength) put(file, kHeaderOffset + 24, segment_bytes_.size(), 8);
    file.resize(base);
    file.insert(file.end(), segment_bytes_.begin(), segment_bytes_.end());
    return AlignedBytes(file);
  }

 private:
  static uint32_t append(std::vector<uint64_t>& offsets, std::vector<uint8_t>& bytes, const void* data, size_t size,
                         size_t alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    offsets.push_back(bytes.size());
    const uint8_t* p = static_cast<const uint8_t*>(data);
    bytes.insert(bytes.end(), p, p + size);
    return static_cast<uint32_t>(offsets.size()) - 1;
  }
  static void put(std::vector<uint8_t>& file, size_t at, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) file[at + i] = static_cast<uint8_t>(value >> (8 * i));
  }
  uint32_t add_segment(const uint8_t* data, size_t size) {
    segment_bytes_.resize((segment_bytes_.size() + segment_alignment - 1) / segment_alignment * segment_alignment);
    segments_.push_back(pte::CreateDataSegment(fbb_, segment_bytes_.size(), size));
    segment_bytes_.insert(segment_bytes_.end(), data, data + size);
    return static_cast<uint32_t>(segments_.size()) - 1;
  }
  void finish_tables() {
    std::vector<flatbuffers::Offset<pte::Buffer>> buffers;
    flatbuffers::Offset<pte::SubsegmentOffsets> constants = 0;
    if (inline_constants) {
      for (size_t i = 0; i < constant_offsets_.size(); ++i) {
        const size_t end = i + 1 < constant_offsets_.size() ? constant_offsets_[i + 1] : constants_.size();
        fbb_.ForceVectorAlignment(end - constant_offsets_[i], 1, 16);
        const auto storage = fbb_.CreateVector(constants_.data() + constant_offsets_[i], end - constant_offsets_[i]);
        buffers.push_back(pte::CreateBuffer(fbb_, storage));
      }
    } else {
      constants = pte::CreateSubsegmentOffsetsDirect(fbb_, add_segment(constants_.data(), constants_.size()),
                                                     &constant_offsets_);
    }
    std::vector<flatbuffers::Offset<pte::SubsegmentOffsets>> mutables;
    if (mutable_offsets_.size() > 1) {
      mutables.push_back(
          pte::CreateSubsegmentOffsetsDirect(fbb_, add_segment(mutables_.data(), mutables_.size()), &mutable_offsets_));
    }
    std::vector<flatbuffers::Offset<pte::NamedData>> named;
    for (const auto& [key, bytes] : named_) {
      const uint32_t segment = add_segment(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      named.push_back(pte::CreateNamedDataDirect(fbb_, key.c_str(), segment));
    }
    const std::vector<int32_t> empty;
    const std::vector<flatbuffers::Offset<pte::Chain>> chains = {
        pte::CreateChainDirect(fbb_, &empty, &empty, &instructions_)};
    const auto meta = pte::CreateContainerMetadataDirect(fbb_, "", "");
    std::vector<flatbuffers::Offset<pte::NonConstBufferDevice>> devices;
    for (const int32_t id : device_arenas)
      devices.push_back(pte::CreateNonConstBufferDevice(fbb_, id, static_cast<pte::DeviceType>(1)));
    const std::vector<flatbuffers::Offset<pte::ExecutionPlan>> plans = {
        pte::CreateExecutionPlanDirect(fbb_, method_name.c_str(), meta, &values_, &inputs, &outputs, &chains,
                                       &operators_, &delegates_, &arena_sizes, &devices)};
    pte::FinishProgramBuffer(
        fbb_, pte::CreateProgramDirect(fbb_, version, &plans, &buffers, &inline_payloads_, &segments_, constants,
                                       mutables.empty() ? nullptr : &mutables, named.empty() ? nullptr : &named));
  }

  flatbuffers::FlatBufferBuilder fbb_;
  std::vector<flatbuffers::Offset<pte::EValue>> values_;
  std::vector<flatbuffers::Offset<pte::Operator>> operators_;
  std::vector<flatbuffers::Offset<pte::Instruction>> instructions_;
  std::vector<flatbuffers::Offset<pte::BackendDelegate>> delegates_;
  std::vector<flatbuffers::Offset<pte::BackendDelegateInlineData>> inline_payloads_;
  std::vector<flatbuffers::Offset<pte::DataSegment>> segments_;
  std::vector<uint8_t> constants_;
  std::vector<uint64_t> constant_offsets_ = {0};
  std::vector<uint8_t> mutables_;
  std::vector<uint64_t> mutable_offsets_ = {0};
  std::vector<std::pair<std::string, std::string>> named_;
  std::vector<uint8_t> segment_bytes_;
};

}  // namespace wick::schema
