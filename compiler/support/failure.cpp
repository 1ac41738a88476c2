#include "compiler/support/failure.h"

namespace wick::compiler {

void fail(Code code, std::string message) { throw Failure{Diag(code, std::move(message))}; }
void fail(Diag diag) { throw Failure{std::move(diag)}; }

}  // namespace wick::compiler
