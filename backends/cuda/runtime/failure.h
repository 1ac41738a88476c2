// A failure: an error code and a message. C++17.
#pragma once
#include <string>
#include <utility>

#include "wick/status.h"

namespace wick::cuda {

struct [[nodiscard]] Failure {
  Error error = Error::Ok;
  std::string text;

  Failure() = default;
  Failure(Error code, std::string what) : error(code), text(std::move(what)) {}
  explicit operator bool() const { return error != Error::Ok; }
};

}  // namespace wick::cuda
