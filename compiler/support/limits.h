// Limits: how much a file may ask for beyond its own size. Each limit has a name, a default, and one option that raises
// it: --limit NAME=N. docs/errors.md holds the table.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler {

struct Limits {
  uint64_t archive_entries = 65535;
  uint64_t json_bytes = uint64_t{1} << 30;
  uint64_t nodes = 1'000'000;
  uint64_t expanded_bytes = uint64_t{1} << 30;
  uint64_t folded_bytes = uint64_t{256} << 20;
  uint64_t folding_bytes = uint64_t{1} << 30;
  uint64_t folding_work = uint64_t{1} << 31;
  uint64_t unpacked_bytes = uint64_t{4} << 30;
  uint64_t arena_bytes = uint64_t{16} << 30;
  uint64_t instructions = 10'000'000;
  uint64_t device_instructions = 20'000'000'000;
  uint64_t device_seconds = 600;
};

struct LimitRow {
  const char* name;
  uint64_t Limits::* field;
  const char* meaning;
};
Span<const LimitRow> limit_table();

/// The limits of this thread: those of the innermost LimitScope, else the defaults.
const Limits& limits();

/// While it lives, limits() on this thread gives `limits`.
class LimitScope {
 public:
  explicit LimitScope(const Limits& limits);
  ~LimitScope();
  LimitScope(const LimitScope&) = delete;

 private:
  Limits limits_;
  const Limits* outer_;
};

/// Reads "NAME=N"; N may end in K, M or G (powers of 1024). Errors: usage.
Status set_limit(std::string_view text, Limits& limits);

/// A diagnostic (limit) that states the limit and the option that raises it.
Diag over_limit(uint64_t Limits::* field, std::string message, std::string found = "more");

}  // namespace wick::compiler
