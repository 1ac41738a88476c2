// Result<T>: a value or a Diag. Status: success or a Diag.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "compiler/support/diag.h"

namespace wick::compiler {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Diag diag) : diag_(std::make_unique<Diag>(std::move(diag))) {}
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  Diag& diag() { return *diag_; }
  const Diag& diag() const { return *diag_; }

 private:
  std::optional<T> value_;
  std::unique_ptr<Diag> diag_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Diag diag) : diag_(std::make_unique<Diag>(std::move(diag))) {}
  bool ok() const { return diag_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Diag& diag() { return *diag_; }
  const Diag& diag() const { return *diag_; }

 private:
  std::unique_ptr<Diag> diag_;
};

#define WICK_CONCAT_(a, b) a##b
#define WICK_CONCAT(a, b) WICK_CONCAT_(a, b)

/// Returns from the enclosing function with the diagnostic if `expression` (Status or Result) failed.
#define RETURN_IF_ERROR(expression)                                \
  do {                                                             \
    auto wick_status_ = (expression);                              \
    if (!wick_status_.ok()) return std::move(wick_status_.diag()); \
  } while (false)

/// Declares `declaration` and moves the value of a Result into it, or returns its diagnostic.
#define ASSIGN_OR_RETURN(declaration, expression)                                                              \
  auto WICK_CONCAT(wick_result_, __LINE__) = (expression);                                                     \
  if (!WICK_CONCAT(wick_result_, __LINE__).ok()) return std::move(WICK_CONCAT(wick_result_, __LINE__).diag()); \
  declaration = std::move(*WICK_CONCAT(wick_result_, __LINE__))

/// For bugs of ours only, never for input: prints the condition and aborts.
#define WICK_CHECK(condition)                                                              \
  do {                                                                                     \
    if (!(condition)) {                                                                    \
      std::fprintf(stderr, "internal error: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                        \
    }                                                                                      \
  } while (false)

}  // namespace wick::compiler
