#include "cli/command.h"

#include <fmt/format.h>
#include <string.h>

#include <cctype>
#include <cstdio>

#include "compiler/import/archive/archive.h"

namespace wick::cli {

int report(const compiler::Diag& diag) {
  std::fputs(compiler::render(diag).c_str(), stderr);
  return compiler::exit_code(diag.code);
}

FileKind kind_of(Span<const uint8_t> bytes) {
  auto has = [&](size_t at, const char* magic) {
    return bytes.size() >= at + 4 && memcmp(bytes.data() + at, magic, 4) == 0;
  };
  if (has(0, "PK\x03\x04") || has(0, "PK\x05\x06")) return FileKind::pt2;
  if (has(4, "ET12") || has(4, "BP08")) return FileKind::pte;
  if (has(4, "FT01")) return FileKind::ptd;
  return FileKind::other;
}

compiler::Diag no_program(const std::string& path, Span<const uint8_t> bytes) {
  if (compiler::pt2::is_native_graph(bytes)) return compiler::pt2::native_graph().at_file(path);
  compiler::Diag diag = bytes.empty()
                            ? compiler::Diag(compiler::Code::corrupt_file, "the file is empty")
                            : compiler::Diag(compiler::Code::incompatible_file, "this is neither a .pte nor a .pt2");
  return std::move(diag).at_file(path);
}

std::pair<std::string, std::string> split_method(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) return {"forward", argument};
  for (char c : argument.substr(0, equals)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return {"forward", argument};
  }
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

}  // namespace wick::cli
