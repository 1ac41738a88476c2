#include "tests/fuzz/editable_program.h"

#include <algorithm>
#include <cstring>

#include "schema/header.h"

namespace wick::fuzz {

using namespace pte_edit;

namespace {

// Has every value and instruction that states a kind its content?
bool is_complete(const ProgramT& program) {
  for (const auto& plan : program.execution_plan) {
    for (const auto& value : plan->values) {
      if (value->val.type != KernelTypes::NONE && !value->val.value) return false;
    }
    for (const auto& chain : plan->chains) {
      for (const auto& instruction : chain->instructions) {
        if (instruction->instr_args.type != InstructionArguments::NONE && !instruction->instr_args.value) return false;
      }
    }
  }
  return true;
}

}  // namespace

void put(std::vector<uint8_t>& file, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) file[at + i] = static_cast<uint8_t>(value >> (8 * i));
}

std::vector<uint8_t> with_header_room(const flatbuffers::FlatBufferBuilder& builder, size_t room) {
  std::vector<uint8_t> file(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  file.insert(file.begin() + schema::kHeaderOffset, room, 0);
  put(file, 0, schema::read_u32(file.data()) + room, 4);
  return file;
}

uint64_t append_segments(std::vector<uint8_t>& file, Span<const uint8_t> segments) {
  file.resize((file.size() + 127) / 128 * 128);
  const uint64_t base = file.size();
  file.insert(file.end(), segments.begin(), segments.end());
  return base;
}

Span<const uint8_t> rest(Span<const uint8_t> file, uint64_t base, uint64_t size) {
  base = std::min<uint64_t>(base, file.size());
  return file.subspan(base, std::min<uint64_t>(size, file.size() - base));
}

EditableProgram open_program(Span<const uint8_t> file) {
  const bool has_header =
      file.size() >= schema::kHeaderOffset + schema::kProgramHeaderLength &&
      schema::has_magic(file.data(), file.size(), schema::kHeaderOffset, schema::kProgramHeaderMagic);
  uint64_t tables = file.size(), base = file.size();
  if (has_header) {
    tables = std::min<uint64_t>(tables, schema::read_u64(file.data() + schema::kHeaderOffset + 8));
    base = schema::read_u64(file.data() + schema::kHeaderOffset + 16);
    if (base == 0) base = file.size();
  }
  flatbuffers::Verifier verifier(file.data(), tables, 64, 100000);
  if (tables < 8 || !VerifyProgramBuffer(verifier)) return {};
  EditableProgram program{std::unique_ptr<ProgramT>(UnPackProgram(file.data())), rest(file, base, file.size())};
  if (!is_complete(*program.tables)) return {};
  return program;
}

std::vector<uint8_t> write_program(const EditableProgram& program) {
  flatbuffers::FlatBufferBuilder builder;
  FinishProgramBuffer(builder, Program::Pack(builder, program.tables.get()));
  std::vector<uint8_t> out = with_header_room(builder, 32);
  const uint64_t tables_bytes = out.size();
  const uint64_t segment_base = append_segments(out, program.segments);
  memcpy(out.data() + schema::kHeaderOffset, schema::kProgramHeaderMagic, 4);
  put(out, schema::kHeaderOffset + 4, schema::kProgramHeaderLength, 4);
  put(out, schema::kHeaderOffset + 8, tables_bytes, 8);
  put(out, schema::kHeaderOffset + 16, segment_base, 8);
  put(out, schema::kHeaderOffset + 24, program.segments.size(), 8);
  return out;
}

}  // namespace wick::fuzz
