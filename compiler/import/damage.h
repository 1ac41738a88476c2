// Errors about damaged programs. Internal to the importer.
#pragma once
#include <string>
#include <utility>

#include "compiler/support/failure.h"

namespace wick::compiler::pt2 {

inline Diag corrupt(std::string message) {
  return Diag(Code::corrupt_file, std::move(message))
      .with_help("the file is damaged; save the model again with torch.export.save");
}
/// The same, thrown.
[[noreturn]] inline void fail_corrupt(std::string message) { fail(corrupt(std::move(message))); }

}  // namespace wick::compiler::pt2
