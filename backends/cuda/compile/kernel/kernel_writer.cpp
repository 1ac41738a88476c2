#include "backends/cuda/compile/kernel/kernel_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cuda/compile/kernel/neighbours/load_runs.h"
#include "backends/cuda/compile/kernel/vector_access.h"
#include "compiler/support/failure.h"

namespace wick::cuda {

using compiler::SymScope;

Sym extent_of(const std::vector<Loop>& loops) {
  Sym out = 1;
  for (const Loop& loop : loops) out = out * loop.extent;
  return out;
}

int64_t max_extent(const std::vector<Loop>& loops) { return SymScope::range(extent_of(loops)).max; }

const char* storage_name(DType dtype) {
  switch (dtype) {
    case DType::boolean: return "bool8";
    case DType::u8: return "u8";
    case DType::i8: return "i8";
    case DType::i16: return "i16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    default: compiler::fail(compiler::Code::internal, "cuda: a dtype without kernels");
  }
}

std::string number_text(double number, ScalarType type) {
  if (type == ScalarType::boolean) return number != 0 ? "true" : "false";
  const bool single = type == ScalarType::f32;
  if (std::isnan(number)) return single ? "not_a_number(0.0f)" : "not_a_number(0.0)";
  if (std::isinf(number)) return fmt::format("({}infinity({}))", number < 0 ? "-" : "", single ? "0.0f" : "0.0");
  std::string text = single ? fmt::format("{:.9g}", number) : fmt::format("{:.17g}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (single) text += "f";
  return std::signbit(number) ? "(" + text + ")" : text;
}

std::string element_of(DType dtype, const std::string& element) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return "to_f32(" + element + ")";
    case DType::boolean: return "to_bool(" + element + ")";
    default: return element;
  }
}

void KernelWriter::name_variables() {
  for (size_t i = 0; i < kernel_.rows.size(); ++i)
    names_[std::string(kernel_.rows[i].variable.symbol_name())] = fmt::format("row{}", i);
  if (kernel_.attention) {
    names_[std::string(kernel_.attention->key.variable.symbol_name())] = "j";
    names_[std::string(kernel_.attention->feature.variable.symbol_name())] = "d";
  }
  for (size_t i = 0; i < kernel_.columns.size(); ++i)
    names_[std::string(kernel_.columns[i].variable.symbol_name())] = fmt::format("col{}", i);
}

void KernelWriter::write_split(Scope& scope, const std::vector<Loop>& loops, const std::string& linear) {
  Sym stride = 1;
  std::vector<std::string> lines(loops.size());
  for (size_t i = loops.size(); i-- > 0;) {
    std::string number = linear;
    if (!stride.is(1)) number = fmt::format("{} / {}", number, text(stride));
    if (i > 0) number = fmt::format("{} % {}", number, text(loops[i].extent));
    lines[i] = fmt::format("const idx {} = {};", name_of(loops[i]), number);
    stride = stride * loops[i].extent;
  }
  for (const std::string& line : lines) scope.line(line);
}

const KernelWriter::Mentions& KernelWriter::mentions(ExpressionPtr expression) {
  if (const auto known = mentions_.find(expression); known != mentions_.end()) return known->second;
  Mentions found;
  if (expression->kind == ExpressionKind::index) collect_symbols(expression->index, found.symbols);
  found.results = expression->kind == ExpressionKind::reduced;
  for (const ExpressionPtr arg : expression->args) {
    const Mentions& of_arg = mentions(arg);
    found.symbols.insert(of_arg.symbols.begin(), of_arg.symbols.end());
    found.results = found.results || of_arg.results;
  }
  return mentions_[expression] = std::move(found);
}

bool KernelWriter::belongs_outside(const Scope& scope, ExpressionPtr expression) {
  if (!scope.outer) return false;
  const Mentions& found = mentions(expression);
  if (scope.has_results && found.results) return false;
  return std::none_of(found.symbols.begin(), found.symbols.end(),
                      [&](const std::string& symbol) { return scope.symbols.count(symbol) > 0; });
}

std::string KernelWriter::value(Scope& scope, ExpressionPtr e) {
  if (e->kind == ExpressionKind::index) return text(e->index);
  if (e->kind == ExpressionKind::number) return number_text(e->number, e->type);
  if (e->kind == ExpressionKind::reduced) return result_text(e);
  if (belongs_outside(scope, e)) return value(*scope.outer, e);
  if (const auto known = scope.names.find(e); known != scope.names.end()) return known->second;
  const std::string computed = e->kind == ExpressionKind::load ? load_text(scope, e) : call_text(scope, e);
  const std::string name = fmt::format("t{}", locals_++);
  scope.constant(fmt::format("const {} {} = {};", type_name(e->type), name, computed));
  return scope.names[e] = name;
}

std::string KernelWriter::load_text(Scope& scope, ExpressionPtr e) {
  if (const auto held = held_.find(e); held != held_.end()) return held->second;
  const std::string offset = value(scope, e->args[0]);
  std::string element = element_of(e->dtype, fmt::format("{}[{}]", parameter(e->buffer, false), offset));
  if (e->args.size() == 1) return element;
  return fmt::format("{} ? {} : {}(0)", value(scope, e->args[1]), element, type_name(e->type));
}

void KernelWriter::load_vector(Scope& outer, Scope& inner, ExpressionPtr load, uint32_t count) {
  const auto held = held_.find(load);
  const std::string name = held != held_.end() ? held->second : fmt::format("v{}", locals_++);
  if (held == held_.end()) define_vector(outer, load, count, name);
  inner.names[load] = fmt::format("static_cast<{}>({})", type_name(load->type),
                                  element_of(load->dtype, name + "[static_cast<int>(e)]"));
}

// Elements for which the guard is false are 0, as in a single load.
void KernelWriter::define_vector(Scope& outer, ExpressionPtr load, uint32_t count, const std::string& name) {
  const std::string type = storage_name(load->dtype), offset = value(outer, load->args[0]);
  const std::string from =
      fmt::format("load_vector<{}, {}>({} + {})", type, count, parameter(load->buffer, false), offset);
  if (load->args.size() == 1) {
    outer.line(fmt::format("const Vector<{}, {}> {} = {};", type, count, name, from));
  } else {
    const std::string guard = value(outer, load->args[1]);
    outer.line(fmt::format("Vector<{}, {}> {} = {{}};", type, count, name));
    outer.line(fmt::format("if ({}) {} = {};", guard, name, from));
  }
}

void KernelWriter::hold_runs(Scope& scope, const std::vector<ExpressionPtr>& roots) {
  for (const LoadRun& run : load_runs(roots)) {
    if (run.size() == 1 || held_.count(run[0]) > 0) continue;
    Scope* home = &scope;
    while (belongs_outside(*home, run[0])) home = home->outer;
    const std::string name = fmt::format("v{}", locals_++);
    define_vector(*home, run[0], static_cast<uint32_t>(run.size()), name);
    for (size_t i = 0; i < run.size(); ++i) hold(run[i], element_of(run[i]->dtype, fmt::format("{}[{}]", name, i)));
  }
}

void KernelWriter::write_group(Scope& outer, const Loop& loop, uint32_t count, std::vector<ExpressionPtr> roots,
                               const std::function<void(Scope& inner)>& body) {
  Scope inner;
  inner.outer = &outer;
  inner.indent = outer.indent + "  ";
  inner.has_results = outer.has_results_of_elements;
  inner.symbols.insert(std::string(loop.variable.symbol_name()));
  for_each(std::move(roots), [&](ExpressionPtr e) {
    if (e->kind == ExpressionKind::load && access_of(graph_, e, loop, count) == Access::vector)
      load_vector(outer, inner, e, count);
  });
  const std::string first = fmt::format("first{}", locals_++);
  inner.line(fmt::format("const idx {} = {} + static_cast<idx>(e);", name_of(loop), first));
  body(inner);
  outer.line(fmt::format("const idx {} = {};", first, name_of(loop)));
  outer.line("WICK_UNROLL");
  outer.line(fmt::format("for (u32 e = 0; e < {}; ++e) {{", count));
  outer.text += inner.text;
  outer.line("}");
}

void KernelWriter::write_group_stores(Scope& outer, const Loop& loop, uint32_t count,
                                      const std::vector<Store>& stores) {
  std::vector<ExpressionPtr> roots;
  std::vector<std::string> packed;
  for (const Store& store : stores) {
    roots.push_back(store.value);
    packed.push_back(fmt::format("packed{}", locals_++));
    outer.line(fmt::format("Vector<{}, {}> {};", storage_name(store.dtype), count, packed.back()));
  }
  write_group(outer, loop, count, std::move(roots), [&](Scope& inner) {
    for (size_t i = 0; i < stores.size(); ++i)
      inner.line(fmt::format("{}[static_cast<int>(e)] = {};", packed[i], stored_text(inner, stores[i])));
  });
  for (size_t i = 0; i < stores.size(); ++i) {
    const std::string guard = stores[i].guard ? "if (" + value(outer, stores[i].guard) + ") " : "";
    const std::string offset = value(outer, stores[i].offset);
    outer.line(
        fmt::format("{}store_vector({} + {}, {});", guard, parameter(stores[i].buffer, true), offset, packed[i]));
  }
}

// The number of a check is a parameter, so that kernels that do the same for other nodes have the same text.
std::string KernelWriter::call_text(Scope& scope, ExpressionPtr e) {
  constexpr std::string_view kCheck = "{check}, ";
  std::string out;
  for (size_t i = 0; i < e->text.size(); ++i) {
    if (e->text[i] == '{' && i + 2 < e->text.size() && e->text[i + 2] == '}') {
      const ExpressionPtr arg = e->args[static_cast<size_t>(e->text[i + 1] - '0')];
      // Overloads are chosen by the register type.
      const std::string held = value(scope, arg);
      out += arg->kind == ExpressionKind::index ? fmt::format("idx({})", held) : held;
      i += 2;
    } else if (e->text.compare(i, kCheck.size(), kCheck) == 0) {
      size_t digits = 0;
      const int number = std::stoi(e->text.substr(i + kCheck.size()), &digits);
      out += status_parameter() + ", " + check_parameter(static_cast<uint32_t>(number));
      i += kCheck.size() + digits - 1;
    } else {
      out += e->text[i];
    }
  }
  return out;
}

std::string KernelWriter::stored_as(DType dtype, const std::string& value) {
  switch (dtype) {
    case DType::f16: return "to_f16(" + value + ")";
    case DType::bf16: return "to_bf16(" + value + ")";
    case DType::boolean: return "to_bool8(" + value + ")";
    default: return fmt::format("static_cast<{}>({})", storage_name(dtype), value);
  }
}

std::string KernelWriter::stored_text(Scope& scope, const Store& store) {
  // A value that is already rounded to the dtype is not converted to f32 and back.
  const char* rounding = store.dtype == DType::f16    ? "to_f32(to_f16({0}))"
                         : store.dtype == DType::bf16 ? "to_f32(to_bf16({0}))"
                                                      : nullptr;
  const ExpressionPtr e = store.value;
  const bool is_rounded = rounding && e->kind == ExpressionKind::call && e->text == rounding;
  return stored_as(store.dtype, value(scope, is_rounded ? e->args[0] : e));
}

void KernelWriter::write_store(Scope& scope, const Store& store, const std::string& condition) {
  std::string guard = condition;
  if (store.guard) guard = (condition.empty() ? "" : condition + " && ") + value(scope, store.guard);
  const std::string held = stored_text(scope, store);
  const std::string offset = value(scope, store.offset);
  scope.line(fmt::format("{}{}[{}] = {};", guard.empty() ? "" : "if (" + guard + ") ", parameter(store.buffer, true),
                         offset, held));
}

void KernelWriter::takes_over_from(KernelWriter& other) {
  source_ = std::move(other.source_);
  in_shared_memory_ = std::move(other.in_shared_memory_);
  sizes_ = std::move(other.sizes_);
  locals_ = other.locals_;
}

void KernelWriter::write_part(Scope& scope, const RowPart& part, const std::string& row, const std::string& condition) {
  // The part's loop variables, decoded from the row's number.
  Scope inner;
  inner.outer = &scope;
  inner.indent = scope.indent + "  ";
  for (size_t i = 0; i < part.loops.size(); ++i) {
    name_variable(part.loops[i].variable, fmt::format("part{}", i));
    inner.symbols.insert(std::string(part.loops[i].variable.symbol_name()));
  }
  const int64_t end = part.first + extent_of(part.loops).value();
  write_split(inner, part.loops, part.first == 0 ? row : fmt::format("({} - {})", row, part.first));
  for (const Store& store : part.stores) write_store(inner, store, "");
  std::string belongs = part.first == 0 ? "" : fmt::format("{} >= {} && ", row, part.first);
  belongs += fmt::format("{} < {}", row, end);
  if (!condition.empty()) belongs += " && " + condition;
  scope.line(fmt::format("if ({}) {{", belongs));
  scope.text += inner.text;
  scope.line("}");
}

bool KernelWriter::begin_rows_of_warps(Scope& scope, const Sym& rows, uint32_t threads, const std::string& row,
                                       uint32_t lanes) {
  // The most blocks that a device runs at once: each of them runs its prologues once.
  constexpr int64_t kMostBlocks = kMultiprocessors * 16;
  const int64_t per_block = threads / lanes;
  const bool walks = !kernel_.prologues.empty() && SymScope::range(rows).max > kMostBlocks * per_block;
  const std::string first =
      fmt::format("static_cast<idx>(block_x()) * {} + static_cast<idx>(thread_x() / {})", per_block, lanes);
  source_.grid[0] = ceil_div(rows, Sym(per_block));
  if (walks) {
    source_.grid[0] = sym_min(source_.grid[0], Sym(kMostBlocks));
    scope.line(
        fmt::format("for (idx {0} = {1}; {0} < {2}; {0} += {3}) {{", row, first, text(rows), kMostBlocks * per_block));
    scope.indent += "  ";
  } else {
    scope.line(fmt::format("const idx {} = {};", row, first));
    scope.line(fmt::format("if ({} >= {}) return;", row, text(rows)));
  }
  return walks;
}

std::string KernelWriter::parameter(uint32_t buffer, bool writes) {
  if (const auto held = in_shared_memory_.find(buffer); held != in_shared_memory_.end()) return held->second;
  for (size_t i = 0; i < source_.parameters.size(); ++i) {
    KernelParameter& known = source_.parameters[i];
    if (known.kind != KernelParameter::Kind::buffer || known.buffer != buffer) continue;
    known.writes = known.writes || writes;
    return fmt::format("p{}", i);
  }
  KernelParameter added;
  added.buffer = buffer;
  added.writes = writes;
  source_.parameters.push_back(added);
  return fmt::format("p{}", source_.parameters.size() - 1);
}

void KernelWriter::add_once(KernelParameter::Kind kind) {
  const bool known = std::any_of(source_.parameters.begin(), source_.parameters.end(),
                                 [kind](const KernelParameter& p) { return p.kind == kind; });
  if (known) return;
  KernelParameter added;
  added.kind = kind;
  added.writes = true;
  source_.parameters.push_back(added);
}

std::string KernelWriter::status_parameter() {
  add_once(KernelParameter::Kind::status);
  return "status";
}

std::string KernelWriter::check_parameter(uint32_t number) {
  const auto is_check = [](const KernelParameter& p) { return p.kind == KernelParameter::Kind::check; };
  size_t index = 0;
  for (const KernelParameter& known : source_.parameters) {
    if (is_check(known) && known.buffer == number) return fmt::format("static_cast<u32>(check{})", index);
    index += is_check(known);
  }
  KernelParameter added;
  added.kind = KernelParameter::Kind::check;
  added.buffer = number;
  source_.parameters.push_back(added);
  return fmt::format("static_cast<u32>(check{})", index);
}

std::string KernelWriter::counters_parameter() {
  add_once(KernelParameter::Kind::counters);
  return "counters";
}

std::string KernelWriter::text(const Sym& sym) {
  std::set<std::string, std::less<>> symbols;
  collect_symbols(sym, symbols);
  for (const std::string& symbol : symbols) {
    if (names_.count(symbol)) continue;
    names_[symbol] = fmt::format("s{}", sizes_.size());
    sizes_.push_back(symbol);
  }
  return index_text(sym, names_);
}

bool KernelWriter::needs_wide_index(const Sym& extra) const {
  constexpr int64_t kNarrow = (int64_t{1} << 31) - 65536;
  if (max_extent(kernel_.rows) >= kNarrow) return true;
  if (max_extent(kernel_.columns) >= kNarrow || SymScope::range(extra).max >= kNarrow) return true;
  return std::any_of(source_.parameters.begin(), source_.parameters.end(), [&](const KernelParameter& parameter) {
    return parameter.kind == KernelParameter::Kind::buffer &&
           SymScope::range(graph_.buffers[parameter.buffer].elements).max >= kNarrow;
  });
}

KernelSource KernelWriter::finish(std::string body, const Sym& extra) {
  std::string head = fmt::format("  typedef {} idx;\n", needs_wide_index(extra) ? "i64" : "i32");
  for (size_t i = 0; i < sizes_.size(); ++i) {
    head += fmt::format("  const idx s{} = static_cast<idx>(size{});\n", i, i);
    KernelParameter added;
    added.kind = KernelParameter::Kind::size;
    added.size = sizes_[i];
    source_.parameters.push_back(added);
  }
  size_t sizes = 0, checks = 0;
  for (size_t i = 0; i < source_.parameters.size(); ++i) {
    const KernelParameter& parameter = source_.parameters[i];
    std::string& out = source_.parameters_text;
    if (i > 0) out += ", ";
    if (parameter.kind == KernelParameter::Kind::status) out += "u32* status";
    if (parameter.kind == KernelParameter::Kind::counters) out += "u32* counters";
    if (parameter.kind == KernelParameter::Kind::size) out += fmt::format("i64 size{}", sizes++);
    if (parameter.kind == KernelParameter::Kind::check) out += fmt::format("i64 check{}", checks++);
    if (parameter.kind == KernelParameter::Kind::buffer)
      out += fmt::format("{}{}* __restrict__ p{}", parameter.writes ? "" : "const ",
                         storage_name(graph_.buffers[parameter.buffer].dtype), i);
  }
  source_.body = head + body;
  for (const compiler::Node* node : kernel_.nodes) {
    std::string name(node->op->name());
    name = name.substr(name.find('.') + 1);
    name = name.substr(0, name.find('.'));
    if (source_.label.size() + name.size() < 48) source_.label += (source_.label.empty() ? "" : "_") + name;
  }
  if (source_.label.empty()) source_.label = "copy";
  return std::move(source_);
}

}  // namespace wick::cuda
