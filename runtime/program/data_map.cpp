#include <string.h>

#include "runtime/program/reader.h"
#include "schema/flat_tensor_generated.h"
#include "schema/header.h"

namespace wick {
namespace {

using flatbuffers::uoffset_t;

// Entries that are not sorted by key are searched linearly.
constexpr uoffset_t kMaxUnsorted = 16384;

bool is_sorted(const ptd::FlatTensor& root) {
  for (uoffset_t i = 1; i < root.named_data()->size(); ++i) {
    if (strcmp(root.named_data()->Get(i - 1)->key()->c_str(), root.named_data()->Get(i)->key()->c_str()) >= 0)
      return false;
  }
  return true;
}

Error check_keys(const ptd::FlatTensor& root, bool sorted, ErrorText* text) {
  if (sorted) return Error::Ok;
  const uoffset_t count = root.named_data()->size();
  if (count > kMaxUnsorted) {
    return explain(text, Error::InvalidExternalData, ".ptd file: ", count,
                   " entries that are not sorted by key, more than ", kMaxUnsorted);
  }
  for (uoffset_t i = 0; i < count; ++i) {
    const char* key = root.named_data()->Get(i)->key()->c_str();
    for (uoffset_t k = 0; k < i; ++k) {
      if (strcmp(key, root.named_data()->Get(k)->key()->c_str()) == 0)
        return explain(text, Error::InvalidExternalData, ".ptd file: the key ", key, " occurs twice");
    }
  }
  return Error::Ok;
}

Error read_header(Span<const uint8_t> file, schema::FlatTensorHeader* header, ErrorText* text) {
  constexpr size_t kHeaderEnd = schema::kHeaderOffset + schema::kFlatTensorHeaderLength;
  if (file.size() < kHeaderEnd ||
      !schema::has_magic(file.data(), file.size(), schema::kHeaderOffset, schema::kFlatTensorHeaderMagic)) {
    return explain(text, Error::InvalidExternalData, "no .ptd file: header FH01 not found at byte 8");
  }
  const uint8_t* p = file.data() + schema::kHeaderOffset;
  *header = {schema::read_u32(p + 4), schema::read_u64(p + 8), schema::read_u64(p + 16), schema::read_u64(p + 24),
             schema::read_u64(p + 32)};
  const uint64_t size = file.size();
  if (header->length < schema::kFlatTensorHeaderLength || header->flatbuffer_offset > size ||
      header->flatbuffer_size > size - header->flatbuffer_offset || header->segment_base_offset > size ||
      header->segment_data_size > size - header->segment_base_offset) {
    return explain(text, Error::InvalidExternalData, ".ptd file is shorter than its header states");
  }
  return Error::Ok;
}

/// Whether the layout of `entry` describes a tensor of at most the segment's bytes.
bool check_layout(const ptd::TensorLayout& layout, uint64_t segment_size) {
  if (!layout.sizes() || !layout.dim_order()) return false;
  const size_t rank = layout.sizes()->size();
  if (rank > kMaxRank || layout.dim_order()->size() != rank) return false;
  int32_t strides[kMaxRank];
  Tensor tensor;
  tensor.dtype = static_cast<DType>(layout.scalar_type());
  tensor.rank = static_cast<uint8_t>(rank);
  tensor.sizes = const_cast<int32_t*>(span_of(layout.sizes()).data());
  tensor.strides = strides;
  tensor.dim_order = layout.dim_order()->Data();
  if (dtype_size_bytes(tensor.dtype) == 0 || compute_layout(tensor) != Error::Ok) return false;
  return static_cast<uint64_t>(tensor.numel) * dtype_size_bytes(tensor.dtype) <= segment_size;
}

Error check_entries(const ptd::FlatTensor& root, const schema::FlatTensorHeader& header, ErrorText* text) {
  if (!root.segments() || !root.named_data()) {
    return explain(text, Error::InvalidExternalData, ".ptd file has no segments or no entries");
  }
  for (uoffset_t i = 0; i < root.segments()->size(); ++i) {
    const ptd::DataSegment* segment = root.segments()->Get(i);
    if (segment->offset() > header.segment_data_size ||
        segment->size() > header.segment_data_size - segment->offset()) {
      return explain(text, Error::InvalidExternalData, ".ptd segment ", i, " lies beyond the file");
    }
  }
  for (uoffset_t i = 0; i < root.named_data()->size(); ++i) {
    const ptd::NamedData* entry = root.named_data()->Get(i);
    if (!entry->key() || entry->segment_index() >= root.segments()->size()) {
      return explain(text, Error::InvalidExternalData, ".ptd entry ", i, " has no key or no segment");
    }
    if (entry->tensor_layout() &&
        !check_layout(*entry->tensor_layout(), root.segments()->Get(entry->segment_index())->size())) {
      return explain(text, Error::InvalidExternalData, ".ptd entry ", entry->key()->c_str(), " has a bad layout");
    }
  }
  return Error::Ok;
}

}  // namespace

Result<DataMap> DataMap::load(Span<const uint8_t> file, const LoadOptions& options) {
  ErrorText* text = options.text;
  if (reinterpret_cast<uintptr_t>(file.data()) % schema::kFileAlignment != 0) {
    return explain(text, Error::InvalidArgument, "the file does not start at a multiple of 16 bytes in memory");
  }
  schema::FlatTensorHeader header = {};
  Error error = read_header(file, &header, text);
  if (error != Error::Ok) return error;
  const uint64_t tables_bytes = header.flatbuffer_offset + header.flatbuffer_size;
  if (tables_bytes >= uint64_t{1} << 31) return explain(text, Error::InvalidExternalData, ".ptd tables are too large");
  flatbuffers::Verifier::Options limits;
  limits.max_tables = static_cast<uoffset_t>(tables_bytes / 2 + 64);
  flatbuffers::Verifier verifier(file.data(), static_cast<size_t>(tables_bytes), limits);
  if (tables_bytes < schema::kHeaderOffset || !ptd::VerifyFlatTensorBuffer(verifier)) {
    return explain(text, Error::InvalidExternalData, "the tables of the .ptd file are corrupt");
  }
  DataMap map;
  map.file_ = file;
  map.segment_base_ = header.segment_base_offset;
  map.root_ = ptd::GetFlatTensor(file.data());
  error = check_entries(*map.root_, header, text);
  if (error != Error::Ok) return error;
  map.sorted_ = is_sorted(*map.root_);
  error = check_keys(*map.root_, map.sorted_, text);
  if (error != Error::Ok) return error;
  return map;
}

size_t DataMap::size() const { return root_->named_data()->size(); }

DataMap::Entry DataMap::entry(size_t index) const {
  const ptd::NamedData* data = root_->named_data()->Get(static_cast<uoffset_t>(index));
  const ptd::DataSegment* segment = root_->segments()->Get(data->segment_index());
  Entry entry;
  entry.key = data->key()->c_str();
  entry.bytes =
      file_.subspan(static_cast<size_t>(segment_base_ + segment->offset()), static_cast<size_t>(segment->size()));
  if (const ptd::TensorLayout* layout = data->tensor_layout()) {
    entry.is_tensor = true;
    entry.dtype = static_cast<DType>(layout->scalar_type());
    entry.sizes = span_of(layout->sizes());
    entry.dim_order = span_of(layout->dim_order());
  }
  return entry;
}

Result<DataMap::Entry> DataMap::find(const char* key) const {
  const auto key_of = [&](size_t i) { return root_->named_data()->Get(static_cast<uoffset_t>(i))->key()->c_str(); };
  size_t begin = 0, end = size();
  while (sorted_ && begin < end) {
    const size_t middle = begin + (end - begin) / 2;
    const int order = strcmp(key_of(middle), key);
    if (order == 0) return entry(middle);
    (order < 0 ? begin : end) = order < 0 ? middle + 1 : middle;
  }
  for (size_t i = begin; i < end; ++i) {
    if (strcmp(key_of(i), key) == 0) return entry(i);
  }
  return Error::NotFound;
}

}  // namespace wick
