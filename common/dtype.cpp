#include "wick/dtype.h"

#include <string.h>

namespace wick {
namespace {

enum class Kind : uint8_t { other, floating, integral, complex };

struct Row {
  DType dtype;
  const char* name;
  uint8_t size_bytes;
  Kind kind;
};

constexpr Row kRows[] = {
    {DType::u8, "u8", 1, Kind::integral},
    {DType::i8, "i8", 1, Kind::integral},
    {DType::i16, "i16", 2, Kind::integral},
    {DType::i32, "i32", 4, Kind::integral},
    {DType::i64, "i64", 8, Kind::integral},
    {DType::f16, "f16", 2, Kind::floating},
    {DType::f32, "f32", 4, Kind::floating},
    {DType::f64, "f64", 8, Kind::floating},
    {DType::c32, "c32", 4, Kind::complex},
    {DType::c64, "c64", 8, Kind::complex},
    {DType::c128, "c128", 16, Kind::complex},
    {DType::boolean, "bool", 1, Kind::other},
    {DType::qi8, "qi8", 1, Kind::other},
    {DType::qu8, "qu8", 1, Kind::other},
    {DType::qi32, "qi32", 4, Kind::other},
    {DType::bf16, "bf16", 2, Kind::floating},
    {DType::bits16, "bits16", 2, Kind::other},
    {DType::f8e5m2, "f8e5m2", 1, Kind::floating},
    {DType::f8e4m3fn, "f8e4m3fn", 1, Kind::floating},
    {DType::f8e5m2fnuz, "f8e5m2fnuz", 1, Kind::floating},
    {DType::f8e4m3fnuz, "f8e4m3fnuz", 1, Kind::floating},
    {DType::u16, "u16", 2, Kind::integral},
    {DType::u32, "u32", 4, Kind::integral},
    {DType::u64, "u64", 8, Kind::integral},
    {DType::f8e8m0fnu, "f8e8m0fnu", 1, Kind::floating},
};

const Row* find(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

bool has_kind(DType dtype, Kind kind) {
  const Row* row = find(dtype);
  return row && row->kind == kind;
}

}  // namespace

size_t dtype_size_bytes(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->size_bytes : 0;
}

const char* dtype_name(DType dtype) {
  const Row* row = find(dtype);
  return row ? row->name : "?";
}

bool dtype_from_name(const char* name, size_t size, DType* out) {
  for (const Row& row : kRows) {
    if (strlen(row.name) == size && memcmp(row.name, name, size) == 0) {
      *out = row.dtype;
      return true;
    }
  }
  return false;
}

bool is_floating(DType dtype) { return has_kind(dtype, Kind::floating); }
bool is_integral(DType dtype) { return has_kind(dtype, Kind::integral); }
bool is_complex(DType dtype) { return has_kind(dtype, Kind::complex); }

}  // namespace wick
