// Writes programs whose measurements make the table of costs: write_cost_programs FOLDER mve|dsp|scalar
#include <fmt/format.h>

#include <cstdio>

#include "compiler/support/diag.h"
#include "compiler/support/file_map.h"
#include "tests/devices/cost_programs.h"

int main(int argc, char** argv) {
  using namespace wick;
  if (argc != 3) {
    std::fprintf(stderr, "usage: write_cost_programs FOLDER mve|dsp|scalar\n");
    return 2;
  }
  int status = 0;
  for (const cortex_m::CostProgram& program : cortex_m::cost_programs()) {
    std::string failures;
    const std::vector<uint8_t> bytes = cortex_m::compiled_for(program, argv[2], &failures);
    const std::string path = fmt::format("{}/{}.{}.pte", argv[1], program.name, argv[2]);
    if (!bytes.empty() && compiler::write_file(path, {bytes.data(), bytes.size()}).ok()) continue;
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), failures.c_str());
    status = 1;
  }
  return status;
}
