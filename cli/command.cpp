#include "cli/command.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

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
  if (has(4, "ET12")) return FileKind::pte;
  if (has(4, "FT01")) return FileKind::ptd;
  return FileKind::other;
}

std::pair<std::string, std::string> split_method(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) return {"forward", argument};
  for (char c : argument.substr(0, equals)) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return {"forward", argument};
  }
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

compiler::Status check_backends(std::string_view list) {
  while (!list.empty()) {
    const std::string_view name = list.substr(0, list.find(','));
    if (name != "portable") {
      return compiler::Diag(compiler::Code::usage,
                            fmt::format("this build has no backend '{}'", compiler::printable(name)))
          .expected(compiler::printable(name), "portable");
    }
    list.remove_prefix(std::min(list.size(), name.size() + 1));
  }
  return {};
}

}  // namespace wick::cli
