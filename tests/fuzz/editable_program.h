// A .pte as objects that can be changed, and written again.
#pragma once
#include <memory>
#include <vector>

#include "edit/program_generated.h"
#include "wick/span.h"

namespace wick::fuzz {

struct EditableProgram {
  std::unique_ptr<pte_edit::ProgramT> tables;  // null if the file has no valid ones
  Span<const uint8_t> segments;                // lie in the file
};

EditableProgram open_program(Span<const uint8_t> file);
std::vector<uint8_t> write_program(const EditableProgram& program);

/// What follows is the header of a .pte or .ptd with its tables and segments.
void put(std::vector<uint8_t>& file, size_t at, uint64_t value, size_t size);
/// Tables with `room` bytes for a header behind the identifier.
std::vector<uint8_t> with_header_room(const flatbuffers::FlatBufferBuilder& builder, size_t room);
/// Returns where the segments lie: at a multiple of 128.
uint64_t append_segments(std::vector<uint8_t>& file, Span<const uint8_t> segments);
/// As much of [base, base + size) as the file has.
Span<const uint8_t> rest(Span<const uint8_t> file, uint64_t base, uint64_t size);

}  // namespace wick::fuzz
