// A boxed value of a method: what instructions and kernels read and write. C++17, freestanding.
#pragma once
#include <stdint.h>

#include "wick/span.h"
#include "wick/tensor.h"

namespace wick {

enum class Tag : uint8_t {
  none = 0,
  tensor = 1,
  string = 2,
  real = 3,     // double
  integer = 4,  // int64
  boolean = 5,
  bool_list = 6,
  real_list = 7,
  int_list = 8,
  tensor_list = 9,
  optional_tensor_list = 11,
};

struct EValue;

/// A list of ints whose elements are other values of the method; they are read again at each call.
struct IntListValue {
  EValue** items;    // `size` values, each with Tag::integer when a kernel runs
  int64_t* unboxed;  // `size` slots, refreshed before each kernel call
  size_t size;
};

/// Tagged union. Trivially copyable; a copy of a tensor value shares the Tensor object.
struct EValue {
  Tag tag = Tag::none;
  union {
    int64_t integer;
    double real;
    bool boolean;
    Tensor* tensor;
    struct {
      const char* data;  // also NUL-terminated
      size_t size;
    } string;
    IntListValue* int_list;
    struct {
      const double* data;
      size_t size;
    } real_list;
    struct {
      const bool* data;
      size_t size;
    } bool_list;
    struct {
      Tensor** data;  // optional_tensor_list: null = None
      size_t size;
    } tensor_list;
  };

  EValue() : integer(0) {}
  static EValue of_int(int64_t v) {
    EValue e;
    e.tag = Tag::integer;
    e.integer = v;
    return e;
  }
  static EValue of_real(double v) {
    EValue e;
    e.tag = Tag::real;
    e.real = v;
    return e;
  }
  static EValue of_bool(bool v) {
    EValue e;
    e.tag = Tag::boolean;
    e.boolean = v;
    return e;
  }
  static EValue of_tensor(Tensor* v) {
    EValue e;
    e.tag = Tag::tensor;
    e.tensor = v;
    return e;
  }

  bool is_none() const { return tag == Tag::none; }
  /// Elements of an int list (after the executor refreshed them); empty for None.
  Span<const int64_t> ints() const {
    return tag == Tag::int_list ? Span<const int64_t>(int_list->unboxed, int_list->size) : Span<const int64_t>();
  }
  Span<Tensor*> tensors() const { return {tensor_list.data, tensor_list.size}; }
  Span<const double> reals() const {
    return tag == Tag::real_list ? Span<const double>(real_list.data, real_list.size) : Span<const double>();
  }
  Span<const bool> bools() const {
    return tag == Tag::bool_list ? Span<const bool>(bool_list.data, bool_list.size) : Span<const bool>();
  }
  /// A number of any tag (integer, real, boolean) as double / int64 (real truncates toward zero; out of range
  /// saturates).
  double to_double() const {
    return tag == Tag::real ? real : tag == Tag::boolean ? (boolean ? 1.0 : 0.0) : static_cast<double>(integer);
  }
  int64_t to_int() const;
};

}  // namespace wick
