// Fuzz target: any bytes as IR text. What is read must verify or be refused, and print to text that reads back to the
// same text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compiler/ir/text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wick::compiler;
  const Result<Function> function = parse_graph(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!function.ok()) {
    (void)render(function.diag());
    return 0;
  }
  if (!verify(*function->graph).ok()) return 0;
  const std::string text = to_text(*function->graph, function->name);
  const Result<Function> again = parse_graph(text);
  if (again.ok() && to_text(*again->graph, again->name) != text) std::abort();
  return 0;
}
