// The generated tables and access to them, for the files of this folder only.
#pragma once
#include "schema/program_generated.h"
#include "wick/program.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tables are read in place, which needs a little-endian machine"
#endif

namespace wick {

/// Elements of a vector in the file, in place; empty if the vector is absent.
template <typename T>
Span<const T> span_of(const flatbuffers::Vector<T>* vector) {
  return vector ? Span<const T>(reinterpret_cast<const T*>(vector->Data()), vector->size()) : Span<const T>();
}
template <typename T>
size_t size_of(const flatbuffers::Vector<T>* vector) {
  return vector ? vector->size() : 0;
}
/// Elements are read in place. The verifier only checks the alignment of the length in front of them.
template <typename T>
bool is_aligned(const flatbuffers::Vector<T>* vector) {
  return !vector || vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0;
}
inline const char* text_of(const flatbuffers::String* string) { return string ? string->c_str() : ""; }

/// Whether a table has fields that its schema here lacks. `last` is the last field of that schema (VT_NAME). Writers
/// omit absent fields at the end. Requires: verified.
inline bool has_unknown_field(const void* table, flatbuffers::voffset_t last) {
  const auto* fields = static_cast<const flatbuffers::Table*>(table);
  return flatbuffers::ReadScalar<flatbuffers::voffset_t>(fields->GetVTable()) > last + sizeof last;
}

/// Where a program's bytes lie.
struct FileView {
  Span<const uint8_t> file;
  const pte::Program* root;
  uint64_t segment_base;
};

/// Bytes of segment `index`. The program was checked.
inline Span<const uint8_t> segment_bytes(const FileView& view, size_t index) {
  const pte::DataSegment* segment = view.root->segments()->Get(static_cast<flatbuffers::uoffset_t>(index));
  if (segment->size() == 0) return {};
  return view.file.subspan(static_cast<size_t>(view.segment_base + segment->offset()),
                           static_cast<size_t>(segment->size()));
}

/// Fills `meta` from `tensor`, checking everything but the arena. On error `why` says what is wrong.
/// Requires: checked segments.
Error read_tensor(const FileView& view, const pte::Tensor& tensor, TensorMeta* meta, const char** why);

/// Everything that the FlatBuffers verifier does not check: counts, indices, ranges, jump targets.
Error check_program(const FileView& view, uint64_t tables_bytes, uint64_t segment_limit, bool has_segments,
                    ErrorText* text);

/// Writes `parts` to `text` if there is one, and returns `error`.
template <typename... Parts>
Error explain(ErrorText* text, Error error, Parts... parts) {
  if (text) text->append(parts..., "");
  return error;
}

}  // namespace wick
