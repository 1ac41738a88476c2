// A Diag in flight. Straight-line code deep inside the compiler (shape inference, decompositions, folding) throws it;
// each phase catches it at its border and returns it as a Status, so that no exception leaves the compiler.
#pragma once
#include <utility>
#include <variant>

#include "compiler/support/result.h"

namespace wick::compiler {

struct Failure {
  Diag diag;
};

[[noreturn]] void fail(Code code, std::string message);
[[noreturn]] void fail(Diag diag);

/// Runs fn(); a Failure it throws becomes the Status. Reading an Arg as another type than it holds is a bug of ours.
template <typename F>
Status catch_failure(F&& fn) {
  try {
    fn();
    return {};
  } catch (Failure& failure) {
    return std::move(failure.diag);
  } catch (const std::bad_variant_access&) {
    return Diag(Code::internal, "an argument is of another kind than expected");
  }
}

/// The value of a Result, or throws its diagnostic.
template <typename T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) fail(std::move(result.diag()));
  return std::move(*result);
}
inline void throw_if_error(Status status) {
  if (!status.ok()) fail(std::move(status.diag()));
}

}  // namespace wick::compiler
