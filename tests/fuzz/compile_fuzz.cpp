// Any exported program (tests/fuzz/program_document.h): an error, or a program that loads and runs within its memory.
// The mutator keeps the JSON well formed and changes what it says.
#include <cstring>

#include "compiler/driver/compile.h"
#include "compiler/support/limits.h"
#include "tests/fuzz/block.h"
#include "tests/fuzz/program_document.h"
#include "tests/fuzz/run_program.h"

using namespace wick;

namespace {

compiler::Limits small_limits() {
  compiler::Limits limits;
  limits.nodes = 5000;
  limits.expanded_bytes = limits.folded_bytes = 1 << 20;
  limits.folding_bytes = 4 << 20;
  limits.folding_work = 1 << 22;
  return limits;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = fuzz::parse_json({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  const std::string archive = fuzz::archive_of(*document);
  const fuzz::Block bytes({reinterpret_cast<const uint8_t*>(archive.data()), archive.size()});
  const compiler::LimitScope scope(small_limits());
  compiler::CompileOptions options;
  options.profile = size % 2 == 0 ? compiler::Profile::automatic : compiler::Profile::native;
  const auto result =
      compiler::compile(std::vector<compiler::CompileBytes>{{"forward", "fuzz.pt2", bytes.bytes()}}, options);
  if (!result.ok()) {
    (void)compiler::render(result.diag());
    // A bug of the compiler, not of the file.
    if (result.diag().code == compiler::Code::internal) {
      std::fputs(compiler::render(result.diag()).c_str(), stderr);
      std::abort();
    }
    return 0;
  }
  const std::vector<uint8_t> file = result->program.pte.join();
  fuzz::run_program({file.data(), file.size()});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  auto document = fuzz::parse_json({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  fuzz::Random random(seed);
  fuzz::mutate(*document, random);
  const std::string text = document->text();
  if (text.size() > max_size) return size;
  memcpy(data, text.data(), text.size());
  return text.size();
}
