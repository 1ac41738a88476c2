// make_seeds OUT_DIR IN.pt2..: writes each program as a document for the compile target.
#include <cstdio>
#include <filesystem>

#include "compiler/support/file_map.h"
#include "tests/fixtures/expand_fixture.h"
#include "tests/fuzz/program_document.h"

namespace {

using namespace wick;

bool write_seed(Span<const uint8_t> bytes, const std::filesystem::path& path) {
  const auto archive = compiler::pt2::Archive::open(bytes, path.string());
  if (!archive.ok()) return false;
  const auto document = fuzz::document_of(*archive);
  if (!document) return false;
  const std::string text = document->text();
  return compiler::write_file(path.string(), {reinterpret_cast<const uint8_t*>(text.data()), text.size()}).ok();
}

bool convert(const std::filesystem::path& source, const std::filesystem::path& folder) {
  const std::filesystem::path target = folder / (source.stem().string() + ".json");
  if (source.extension() == ".gz") {
    const auto fixture = testing::expand_fixture(source.string());
    return fixture.ok() && write_seed({fixture->pt2.data(), fixture->pt2.size()}, target);
  }
  const auto map = compiler::FileMap::open(source.string());
  return map.ok() && write_seed(map->bytes(), target);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: make_seeds OUT_DIR IN.pt2|IN.wfix.gz..\n");
    return 2;
  }
  std::filesystem::create_directories(argv[1]);
  int failed = 0;
  for (int i = 2; i < argc; ++i) {
    if (convert(argv[i], argv[1])) continue;
    std::fprintf(stderr, "%s: no seed\n", argv[i]);
    failed = 1;
  }
  return failed;
}
