// Fuzz target: any bytes as a .pt2 archive, as the pickle of a tensor subclass, or, unless they start like one of
// these, as the program JSON of a small valid archive.
#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/import/archive/archive_test_writer.h"
#include "compiler/import/program/exported_program.h"
#include "compiler/import/weights/pickle_test_writer.h"

namespace {

using wick::compiler::Result;
namespace pt2 = wick::compiler::pt2;

void read_all(wick::Span<const uint8_t> bytes) {
  const Result<pt2::Archive> archive = pt2::Archive::open(bytes, "fuzz.pt2");
  if (!archive.ok()) {
    (void)wick::compiler::render(archive.diag());
    return;
  }
  const Result<std::vector<std::string>> names = pt2::model_names(*archive);
  for (const std::string& name : *names) {
    const Result<pt2::ExportedProgram> program = pt2::read_exported_program(*archive, name);
    if (!program.ok()) (void)wick::compiler::render(program.diag());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 2 && data[0] == 'P' && data[1] == 'K') {
    read_all({data, size});
    return 0;
  }
  if (size >= 1 && data[0] == 0x80) {
    const std::string pickle(reinterpret_cast<const char*>(data), size);
    const std::string storage(4096, '\1');
    read_all(pt2::bytes_of(
        pt2::pickled::program_around(pt2::pickled::archive(pickle, {storage, storage, storage}).bytes()).bytes()));
    return 0;
  }
  pt2::TestZip zip = pt2::test_archive();
  zip.at("m/models/model.json").data.assign(reinterpret_cast<const char*>(data), size);
  const std::string bytes = zip.bytes();
  read_all(pt2::bytes_of(bytes));
  return 0;
}
