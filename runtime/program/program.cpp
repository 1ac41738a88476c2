#include "wick/program.h"

#include <string.h>

#include "runtime/program/reader.h"
#include "schema/header.h"

namespace wick {
namespace {

using flatbuffers::uoffset_t;

FileView view_of(const Program& program) { return {program.file(), program.root(), program.segment_base()}; }

}  // namespace

Program Program::checked_before(Span<const uint8_t> file) {
  Program program;
  program.file_ = file;
  program.root_ = pte::GetProgram(file.data());
  program.tables_bytes_ = file.size();
  if (!schema::has_magic(file.data(), file.size(), schema::kHeaderOffset, schema::kProgramHeaderMagic)) return program;
  const uint8_t* header = file.data() + schema::kHeaderOffset;
  program.tables_bytes_ = schema::read_u64(header + 8);
  program.segment_base_ = schema::read_u64(header + 16);
  return program;
}

size_t Program::num_methods() const { return size_of(root_->execution_plan()); }

MethodMeta Program::method(size_t index) const {
  return MethodMeta(this, root_->execution_plan()->Get(static_cast<uoffset_t>(index)));
}

Result<MethodMeta> Program::find_method(const char* name) const {
  for (size_t i = 0; i < num_methods(); ++i) {
    if (strcmp(method(i).name(), name) == 0) return method(i);
  }
  return Error::NotFound;
}

size_t Program::num_segments() const { return size_of(root_->segments()); }
Span<const uint8_t> Program::segment(size_t index) const { return segment_bytes(view_of(*this), index); }

size_t Program::num_named_data() const { return size_of(root_->named_data()); }
const char* Program::named_data_key(size_t index) const {
  return root_->named_data()->Get(static_cast<uoffset_t>(index))->key()->c_str();
}
Span<const uint8_t> Program::named_data(size_t index) const {
  return segment(root_->named_data()->Get(static_cast<uoffset_t>(index))->segment_index());
}
Result<Span<const uint8_t>> Program::find_named_data(const char* key) const {
  for (size_t i = 0; i < num_named_data(); ++i) {
    if (strcmp(named_data_key(i), key) == 0) return named_data(i);
  }
  return Error::NotFound;
}

bool OperatorName::equals(const char* key) const {
  const size_t length = strlen(name);
  if (strncmp(key, name, length) != 0) return false;
  if (overload[0] == '\0') return key[length] == '\0';
  return key[length] == '.' && strcmp(key + length + 1, overload) == 0;
}

void OperatorName::append_to(ErrorText& text) const {
  text.append(name);
  if (overload[0] != '\0') text.append(".", overload);
}

}  // namespace wick
