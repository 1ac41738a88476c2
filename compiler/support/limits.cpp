#include "compiler/support/limits.h"

#include <fmt/format.h>

#include <charconv>

namespace wick::compiler {
namespace {

constexpr LimitRow kTable[] = {
    {"archive-entries", &Limits::archive_entries, "entries of a .pt2 or .npz archive"},
    {"json-bytes", &Limits::json_bytes, "one JSON document in a .pt2"},
    {"nodes", &Limits::nodes, "nodes of one graph, including those that decompositions add"},
    {"expanded-bytes", &Limits::expanded_bytes,
     "bytes that stored tensors with gaps or overlaps need beyond what is stored; constants of IR text"},
    {"folded-bytes", &Limits::folded_bytes,
     "growth of the constants by constant folding; what would exceed it is not folded"},
    {"folding-bytes", &Limits::folding_bytes, "intermediate results and scratch memory of constant folding"},
    {"folding-work", &Limits::folding_work, "approximate number of multiply-adds that folding may take"},
    {"unpacked-bytes", &Limits::unpacked_bytes, "the arrays of an .npy or .npz"},
    {"arena-bytes", &Limits::arena_bytes,
     "memory that the methods of a program ask for together; results of constant folding"},
    {"instructions", &Limits::instructions, "instructions of one execution"},
    {"device-instructions", &Limits::device_instructions, "instructions of an emulated processor for one load or call"},
    {"device-seconds", &Limits::device_seconds, "time that a device may take to answer"},
};

const Limits kDefaults;
thread_local const Limits* current = &kDefaults;

const LimitRow* find_row(std::string_view name) {
  for (const LimitRow& row : kTable) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

Diag bad_limit(std::string_view text) {
  std::string names;
  for (const LimitRow& row : kTable) names += std::string(names.empty() ? "" : ", ") + row.name;
  return Diag(Code::usage, fmt::format("--limit does not take '{}'", printable(text)))
      .with_help("write --limit NAME=N, where N may end in K, M or G; the names are " + names);
}

}  // namespace

Span<const LimitRow> limit_table() { return {kTable, std::size(kTable)}; }

const Limits& limits() { return *current; }

LimitScope::LimitScope(const Limits& limits) : limits_(limits), outer_(current) { current = &limits_; }
LimitScope::~LimitScope() { current = outer_; }

Status set_limit(std::string_view text, Limits& limits) {
  const size_t equals = text.find('=');
  const LimitRow* row = equals == std::string_view::npos ? nullptr : find_row(text.substr(0, equals));
  if (!row) return bad_limit(text);
  const std::string_view number = text.substr(equals + 1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const std::string_view unit = number.substr(static_cast<size_t>(end - number.data()));
  const int shift = unit.empty() ? 0 : unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : -1;
  if (error != std::errc() || shift < 0 || value > UINT64_MAX >> shift) return bad_limit(text);
  limits.*row->field = value << shift;
  return {};
}

Diag over_limit(uint64_t Limits::* field, std::string message, std::string found) {
  const LimitRow* row = nullptr;
  for (const LimitRow& each : kTable) {
    if (each.field == field) row = &each;
  }
  WICK_CHECK(row != nullptr);
  return Diag(Code::limit, std::move(message))
      .expected(std::move(found), fmt::format("at most {} ({})", limits().*field, row->name))
      .with_help(fmt::format("if you trust the file, raise the limit: --limit {}=N", row->name));
}

}  // namespace wick::compiler
