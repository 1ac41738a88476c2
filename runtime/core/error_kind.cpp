#include "wick/error_kind.h"

namespace wick {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::none: return "none";
    case ErrorKind::unreadable_file: return "unreadable_file";
    case ErrorKind::corrupt_file: return "corrupt_file";
    case ErrorKind::not_supported: return "not_supported";
    case ErrorKind::missing_operator: return "missing_operator";
    case ErrorKind::missing_backend: return "missing_backend";
    case ErrorKind::missing_data: return "missing_data";
    case ErrorKind::delegate_failed: return "delegate_failed";
    case ErrorKind::out_of_memory: return "out_of_memory";
    case ErrorKind::invalid_argument: return "invalid_argument";
    case ErrorKind::execution_failed: return "execution_failed";
  }
  return "unknown";
}

}  // namespace wick
