// Program::load: checks everything in a file.
#include "runtime/program/reader.h"
#include "schema/header.h"

namespace wick {
namespace {

using flatbuffers::uoffset_t;

/// Reads the header at byte 8 if there is one. `segment_limit` becomes the end of the segment area.
Error read_header(Span<const uint8_t> file, schema::ExtendedHeader* header, uint64_t* segment_limit, ErrorText* text) {
  *header = {0, file.size(), 0, 0};
  *segment_limit = 0;
  if (!schema::has_magic(file.data(), file.size(), schema::kHeaderOffset, schema::kProgramHeaderMagic)) {
    return Error::Ok;
  }
  const uint8_t* p = file.data() + schema::kHeaderOffset;
  header->length = schema::read_u32(p + 4);
  if (header->length < schema::kProgramHeaderMinLength || header->length > file.size() - schema::kHeaderOffset) {
    return explain(text, Error::InvalidProgram, "extended header: length ", header->length);
  }
  header->program_size = schema::read_u64(p + 8);
  header->segment_base_offset = schema::read_u64(p + 16);
  const bool has_size = header->length >= schema::kProgramHeaderLength;
  if (has_size) header->segment_data_size = schema::read_u64(p + 24);
  if (header->program_size > file.size()) {
    return explain(text, Error::InvalidProgram, "file has ", static_cast<uint64_t>(file.size()),
                   " bytes, its header wants ", header->program_size);
  }
  const uint64_t base = header->segment_base_offset;
  if (base > file.size() || header->segment_data_size > file.size() - base) {
    return explain(text, Error::InvalidProgram, "file has ", static_cast<uint64_t>(file.size()),
                   " bytes, its segments start at ", base, " and take ", header->segment_data_size);
  }
  *segment_limit = has_size ? base + header->segment_data_size : file.size();
  return Error::Ok;
}

Error check_identifier(Span<const uint8_t> file, ErrorText* text) {
  if (reinterpret_cast<uintptr_t>(file.data()) % schema::kFileAlignment != 0) {
    return explain(text, Error::InvalidArgument, "the file does not start at a multiple of 16 bytes in memory");
  }
  if (file.size() < schema::kMinProgramFileSize) {
    return explain(text, Error::InvalidArgument, "file has ", static_cast<uint64_t>(file.size()),
                   " bytes, a program has 64 or more");
  }
  if (schema::has_magic(file.data(), file.size(), schema::kIdentifierOffset, schema::kBundledProgramIdentifier)) {
    return explain(text, Error::InvalidProgram,
                   "this is a bundled program (BP08), which holds a program: load it as BundledProgram");
  }
  if (!schema::has_magic(file.data(), file.size(), schema::kIdentifierOffset, schema::kProgramIdentifier)) {
    return explain(text, Error::InvalidProgram, "no ExecuTorch program: identifier ET12 not found at byte 4");
  }
  return Error::Ok;
}

/// Structure of the tables: offsets, alignment, terminated strings.
bool verify_tables(const uint8_t* data, uint64_t size) {
  flatbuffers::Verifier::Options options;
  options.max_depth = 64;
  // Two tables per value or instruction, each of which takes an offset of at least four bytes.
  options.max_tables = static_cast<uoffset_t>(size / 2 + 64);
  flatbuffers::Verifier verifier(data, static_cast<size_t>(size), options);
  return pte::VerifyProgramBuffer(verifier);
}

}  // namespace

Result<Program> Program::load(Span<const uint8_t> file, const LoadOptions& options) {
  Error error = check_identifier(file, options.text);
  if (error != Error::Ok) return error;
  schema::ExtendedHeader header = {};
  uint64_t segment_limit = 0;
  error = read_header(file, &header, &segment_limit, options.text);
  if (error != Error::Ok) return error;
  if (header.program_size < schema::kHeaderOffset || header.program_size >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return explain(options.text, Error::InvalidProgram, "tables take ", header.program_size, " bytes");
  }
  if (!verify_tables(file.data(), header.program_size)) {
    return explain(options.text, Error::InvalidProgram, "the tables of the file are corrupt");
  }
  const bool has_segments = header.length != 0 && header.segment_base_offset != 0;
  const FileView view = {file, pte::GetProgram(file.data()), header.segment_base_offset};
  error = check_program(view, header.program_size, segment_limit, has_segments, options.text);
  if (error != Error::Ok) return error;
  return checked_before(file);
}

}  // namespace wick
