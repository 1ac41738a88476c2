// make_program_seeds OUT_DIR: compiles the first two cases of each operator, as seeds of the program target.
#include <cstdio>
#include <filesystem>

#include "compiler/support/file_map.h"
#include "tests/conformance/case_program.h"

int main(int argc, char** argv) {
  using namespace wick;
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_program_seeds OUT_DIR\n");
    return 2;
  }
  const auto operators = conformance::first_cases("tests/fixtures/cases", 2);
  if (!operators.ok()) {
    std::fprintf(stderr, "%s\n", compiler::render(operators.diag()).c_str());
    return 1;
  }
  std::filesystem::create_directories(argv[1]);
  for (const auto& [op, cases] : *operators) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const auto compiled =
          conformance::compile_case(cases[i], compiler::Profile::native, conformance::Operands::inputs);
      if (!compiled.ok()) continue;
      const auto path = std::filesystem::path(argv[1]) / (op + "." + std::to_string(i) + ".pte");
      if (!compiler::write_file(path.string(), {compiled->pte.data(), compiled->pte.size()}).ok()) return 1;
    }
  }
}
