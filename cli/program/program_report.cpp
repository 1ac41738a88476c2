#include "cli/program/program_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "backends/compile_table.h"
#include "cli/program/operator_facts.h"
#include "cli/program/program_metadata.h"
#include "cli/program/program_session.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "compiler/emit/emit.h"
#include "compiler/partition/target.h"
#include "compiler/plan/shared_states.h"
#include "compiler/support/diag.h"
#include "runtime/program/newer_format.h"

namespace wick::cli {
namespace {

using compiler::JsonWriter;
using compiler::printable;
using compiler::Status;

/// Ranges of the file; bytes named twice count once.
class Ranges {
 public:
  void add(Span<const uint8_t> bytes) {
    if (!bytes.empty()) items_.emplace_back(bytes.data(), bytes.data() + bytes.size());
  }
  uint64_t total() { return within(nullptr, nullptr); }
  /// Bytes in [begin, end); null: anywhere.
  uint64_t within(const uint8_t* begin, const uint8_t* end) {
    std::sort(items_.begin(), items_.end());
    uint64_t sum = 0;
    const uint8_t* done = nullptr;
    for (auto [first, last] : items_) {
      if (begin) first = std::max(first, begin);
      if (end) last = std::min(last, end);
      if (done) first = std::max(first, done);
      if (first >= last) continue;
      sum += static_cast<uint64_t>(last - first);
      done = last;
    }
    return sum;
  }

 private:
  std::vector<std::pair<const uint8_t*, const uint8_t*>> items_;
};

struct ConstantRow {
  std::string name, type;
  uint64_t bytes = 0;
  bool external = false;
};

// Each stored constant once, under its first name; largest first.
std::vector<ConstantRow> constants_of(const Program& program) {
  std::map<std::pair<const uint8_t*, size_t>, ConstantRow> stored;
  std::map<std::string, ConstantRow> external;
  for (size_t m = 0; m < program.num_methods(); ++m) {
    const MethodMeta method = program.method(m);
    for (size_t i = 0; i < method.num_values(); ++i) {
      if (method.tag(i) != Tag::tensor) continue;
      const ValueMeta value = method.value(i);
      const TensorMeta& tensor = value.tensor;
      if (tensor.storage != Storage::constant) continue;
      ConstantRow row{tensor.name ? printable(tensor.name, 80) : "", value_text(value), tensor.nbytes, tensor.external};
      ConstantRow& kept = tensor.external ? external.try_emplace(row.name, row).first->second
                                          : stored.try_emplace({tensor.bytes.data(), tensor.nbytes}, row).first->second;
      if (kept.name.empty()) kept.name = row.name;
    }
  }
  std::vector<ConstantRow> rows;
  for (auto& [key, row] : stored) rows.push_back(std::move(row));
  for (auto& [key, row] : external) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const ConstantRow& a, const ConstantRow& b) { return a.bytes > b.bytes; });
  return rows;
}

struct StateRow {
  std::string name, type;
  uint64_t bytes = 0, offset = 0;
  bool initialized = false;
};

// Mutable buffers: arena tensors with initial bytes or a name.
std::vector<StateRow> states_of(const MethodMeta& method) {
  std::vector<StateRow> rows;
  for (size_t i = 0; i < method.num_values(); ++i) {
    if (method.tag(i) != Tag::tensor) continue;
    const ValueMeta value = method.value(i);
    const TensorMeta& tensor = value.tensor;
    if (tensor.storage != Storage::planned || (!tensor.initialized && !tensor.name)) continue;
    rows.push_back({tensor.name ? printable(tensor.name, 80) : fmt::format("value {}", i), value_text(value),
                    tensor.nbytes, tensor.arena_offset, tensor.initialized});
  }
  return rows;
}

struct UnboundedRow {
  uint64_t value;
  std::string type, memory;
};

// Tensors without an upper bound, and who frees their memory.
std::vector<UnboundedRow> unbounded_of(const MethodMeta& method) {
  std::map<uint32_t, std::string> memory;
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      const InstructionMeta instruction = method.instruction(chain, i);
      if (instruction.kind == InstructionKind::free)
        memory.emplace(instruction.value, fmt::format("freed by instruction {}", i));
    }
  }
  for (size_t i = 0; i < method.num_inputs(); ++i) memory[method.input(i)] = "the caller's";
  std::vector<UnboundedRow> rows;
  for (size_t i = 0; i < method.num_values(); ++i) {
    if (method.tag(i) != Tag::tensor) continue;
    const ValueMeta value = method.value(i);
    if (value.tensor.dynamism != ShapeDynamism::unbounded) continue;
    const auto known = memory.find(static_cast<uint32_t>(i));
    rows.push_back(
        {i, value_text(value), known == memory.end() ? "a view, or kept until the next execution" : known->second});
  }
  return rows;
}

size_t num_instructions(const MethodMeta& method) {
  size_t count = 0;
  for (size_t chain = 0; chain < method.num_chains(); ++chain) count += method.num_instructions(chain);
  return count;
}

void print_instructions(const MethodMeta& method) {
  Table table({">instruction", "what", "source", "module"});
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      const compiler::Where where = instruction_source(method, chain, i);
      table.row({chain == 0 ? fmt::format("{}", i) : fmt::format("{}/{}", chain, i),
                 instruction_text(method, method.instruction(chain, i)), printable(where.source, 60),
                 printable(where.module, 60)});
    }
  }
  fmt::print("{}{}", heading("  instructions"), table.text());
}

/// One delegate: facts of the tables and, if there is any, of the metadata.
struct DelegateRow {
  std::string id;
  uint64_t payload_bytes = 0, num_nodes = 0, named_bytes = 0;
  size_t inputs = 0, outputs = 0;  // of its first call; 0 if unknown
  std::vector<std::pair<std::string, uint64_t>> named_data;
  std::string modules;  // the first few of the modules that its nodes come from
  compiler::DelegateReport says;
};

// The top-level modules, as many as a line holds.
std::string modules_text(const std::vector<PlaceFacts>& places) {
  constexpr size_t kShown = 4;
  std::set<std::string> modules;
  for (const PlaceFacts& place : places) {
    if (!place.module.empty()) modules.insert(place.module.substr(0, place.module.find('.')));
  }
  std::string text;
  size_t shown = 0;
  for (const std::string& module : modules) {
    if (shown++ == kShown) return text + ", ..";
    text += (text.empty() ? "" : ", ") + printable(module, 40);
  }
  return text;
}

// The report on its payload, if a target can read it.
compiler::DelegateReport payload_report(const DelegateMeta& meta) {
  for (const compiler::Target* target : compiler::known_targets()) {
    if (!target->delegate.id || std::string_view(meta.id) != target->delegate.id || !target->reporting.delegate)
      continue;
    compiler::Delegate delegate;
    delegate.id = meta.id;
    delegate.payload.assign(meta.payload.begin(), meta.payload.end());
    auto report = target->reporting.delegate(delegate, {});
    if (report.ok()) return std::move(*report);
  }
  return {};
}

std::vector<DelegateRow> delegates_of(const MethodMeta& method, const MethodFacts& facts) {
  std::vector<DelegateRow> rows;
  for (size_t i = 0; i < method.num_delegates(); ++i) {
    DelegateRow& row = rows.emplace_back();
    row.id = printable(method.delegate(i).id);
    row.payload_bytes = method.delegate(i).payload.size();
    row.says = payload_report(method.delegate(i));
    if (i >= facts.delegates.size()) continue;
    const DelegateFacts& known = facts.delegates[i];
    row.num_nodes = known.num_nodes;
    row.outputs = known.outputs.size();
    row.modules = modules_text(known.nodes);
    for (const std::string& key : known.named_data) {
      const auto data = method.program().find_named_data(key.c_str());
      row.named_data.emplace_back(key, data.ok() ? data->size() : 0);
      row.named_bytes += row.named_data.back().second;
    }
  }
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      const InstructionMeta call = method.instruction(chain, i);
      if (call.kind != InstructionKind::delegate || rows[call.target].inputs != 0) continue;
      DelegateRow& row = rows[call.target];
      row.inputs = call.args.size() - std::min(call.args.size(), row.outputs);
    }
  }
  return rows;
}

void print_delegates(const MethodMeta& method, const MethodFacts& facts) {
  Table table({"delegate", ">payload bytes", ">nodes", ">inputs", ">outputs", ">named data", ">bytes", "modules"});
  const std::vector<DelegateRow> rows = delegates_of(method, facts);
  for (size_t i = 0; i < rows.size(); ++i) {
    const DelegateRow& row = rows[i];
    const bool known = i < facts.delegates.size();
    table.row({fmt::format("{} {}", i, row.id), fmt::format("{}", row.payload_bytes),
               known ? fmt::format("{}", row.num_nodes) : "", known ? fmt::format("{}", row.inputs) : "",
               known ? fmt::format("{}", row.outputs) : "", fmt::format("{}", row.named_data.size()),
               fmt::format("{}", row.named_bytes), row.modules});
  }
  fmt::print("{}", table.text());
  for (size_t i = 0; i < rows.size(); ++i) {
    const compiler::DelegateReport& says = rows[i].says;
    if (!says.producer.empty())
      fmt::print("  delegate {} is of model {}, by {}\n", i, says.model, printable(says.producer, 40));
  }
}

void write_delegates(const MethodMeta& method, const MethodFacts& facts, JsonWriter& json) {
  json.key("delegates");
  json.array();
  const std::vector<DelegateRow> rows = delegates_of(method, facts);
  for (size_t i = 0; i < rows.size(); ++i) {
    json.object();
    json.field("id", method.delegate(i).id);
    json.field("bytes", rows[i].payload_bytes);
    if (!rows[i].says.producer.empty()) {
      json.field("model", rows[i].says.model);
      json.field("producer", rows[i].says.producer);
    }
    if (i < facts.delegates.size()) {
      json.field("nodes", rows[i].num_nodes);
      json.field("inputs", static_cast<uint64_t>(rows[i].inputs));
      json.field("outputs", static_cast<uint64_t>(rows[i].outputs));
      json.key("named_data");
      json.array();
      for (const auto& [key, bytes] : rows[i].named_data) {
        json.object();
        json.field("key", key);
        json.field("bytes", bytes);
        json.end();
      }
      json.end();
      json.key("places");
      json.array();
      for (const PlaceFacts& place : facts.delegates[i].nodes) {
        json.object();
        json.field("module", place.module);
        json.field("source", place.source);
        json.end();
      }
      json.end();
    }
    json.end();
  }
  json.end();
}

void print_method(const MethodMeta& method, const MethodFacts& facts, bool instructions) {
  std::string arenas;
  for (size_t i = 0; i < method.num_arenas(); ++i) {
    arenas += fmt::format("{}{} bytes{}", i ? " + " : "", method.arena_bytes(i),
                          method.arena_device(i) != 0 ? " on the device" : "");
  }
  fmt::print("\n{}", heading(fmt::format("method {}: {} instructions, arena {}", printable(method.name()),
                                         num_instructions(method), arenas.empty() ? "0 bytes" : arenas)));
  Table ends({"", "name", "type"});
  for (size_t i = 0; i < method.num_inputs(); ++i)
    ends.row({fmt::format("input {}", i), printable(facts.inputs[i].name, 60), input_text(method, facts, i)});
  for (size_t i = 0; i < method.num_outputs(); ++i)
    ends.row({fmt::format("output {}", i), output_name(facts, i), value_text(method.output_value(i))});
  fmt::print("{}", ends.text());
  Table ranges({"size", ">least", ">most"});
  for (const auto& [size, range] : facts.ranges) {
    ranges.row({size.text(), fmt::format("{}", range.min),
                range.max == compiler::kUnbounded ? "" : fmt::format("{}", range.max)});
  }
  fmt::print("{}", ranges.text());
  Table operators({"operator", ">count", "stock"});
  for (const OperatorCount& row : count_operators(method))
    operators.row({row.name, fmt::format("{}", row.count), row.in_stock ? "yes" : "no"});
  fmt::print("{}", operators.text());
  print_delegates(method, facts);
  Table states({"state buffer", "type", ">bytes", "starts as"});
  for (const StateRow& row : states_of(method))
    states.row({row.name, row.type, fmt::format("{}", row.bytes), row.initialized ? "stored values" : "zeros"});
  fmt::print("{}", states.text());
  for (const std::string& line : compiler::sharing_text(method.name(), facts.shared_states)) fmt::print("  {}\n", line);
  Table unbounded({"without an upper bound", "type", "memory"});
  for (const UnboundedRow& row : unbounded_of(method))
    unbounded.row({fmt::format("value {}", row.value), row.type, row.memory});
  fmt::print("{}", unbounded.text());
  if (instructions) print_instructions(method);
}

void write_instructions(const MethodMeta& method, JsonWriter& json) {
  json.key("instructions");
  json.array();
  for (size_t chain = 0; chain < method.num_chains(); ++chain) {
    for (size_t i = 0; i < method.num_instructions(chain); ++i) {
      const compiler::Where where = instruction_source(method, chain, i);
      json.object();
      json.field("chain", static_cast<uint64_t>(chain));
      json.field("index", static_cast<uint64_t>(i));
      json.field("text", instruction_text(method, method.instruction(chain, i)));
      json.field("source", where.source);
      json.field("module", where.module);
      json.end();
    }
  }
  json.end();
}

void write_ends(const MethodMeta& method, const MethodFacts& facts, JsonWriter& json) {
  json.key("inputs");
  json.array();
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    json.object();
    json.field("name", facts.inputs[i].name);
    json.field("type", input_text(method, facts, i));
    json.end();
  }
  json.end();
  json.key("outputs");
  json.array();
  for (size_t i = 0; i < method.num_outputs(); ++i) {
    json.object();
    json.field("name", output_name(facts, i));
    json.field("type", value_text(method.output_value(i)));
    json.end();
  }
  json.end();
}

void write_method(const MethodMeta& method, const MethodFacts& facts, bool instructions, JsonWriter& json) {
  json.object();
  json.field("name", method.name());
  write_ends(method, facts, json);
  json.key("ranges");
  json.array();
  for (const auto& [size, range] : facts.ranges) {
    json.object();
    json.field("size", size.text());
    json.field("min", range.min);
    json.key("max");
    if (range.max == compiler::kUnbounded)
      json.null();
    else
      json.value(range.max);
    json.end();
  }
  json.end();
  json.key("arenas");
  json.array();
  for (size_t i = 0; i < method.num_arenas(); ++i) json.value(method.arena_bytes(i));
  json.end();
  json.key("unbounded");
  json.array();
  for (const UnboundedRow& row : unbounded_of(method)) {
    json.object();
    json.field("value", row.value);
    json.field("type", row.type);
    json.field("memory", row.memory);
    json.end();
  }
  json.end();
  json.field("instruction_count", static_cast<uint64_t>(num_instructions(method)));
  json.key("operators");
  json.array();
  for (const OperatorCount& row : count_operators(method)) {
    json.object();
    json.field("name", row.name);
    json.field("count", row.count);
    json.field("in_stock", row.in_stock);
    json.end();
  }
  json.end();
  write_delegates(method, facts, json);
  json.key("states");
  json.array();
  for (const StateRow& row : states_of(method)) {
    json.object();
    json.field("name", row.name);
    json.field("type", row.type);
    json.field("bytes", row.bytes);
    json.field("initialized", row.initialized);
    json.end();
  }
  json.end();
  compiler::write_shared_states(facts.shared_states, json);
  if (instructions) write_instructions(method, json);
  json.end();
}

void add_constants(const MethodMeta& method, Ranges* ranges) {
  for (size_t i = 0; i < method.num_values(); ++i) {
    if (method.tag(i) == Tag::tensor) ranges->add(method.value(i).tensor.bytes);
  }
}

void print_test_sets(const BundledProgram& bundled) {
  for (size_t i = 0; i < bundled.num_suites(); ++i)
    fmt::print("  test sets of method {}: {}\n", printable(bundled.method(i)), bundled.num_sets(i));
}

void write_test_sets(const BundledProgram& bundled, JsonWriter& json) {
  json.key("test_sets");
  json.array();
  for (size_t i = 0; i < bundled.num_suites(); ++i) {
    json.object();
    json.field("method", bundled.method(i));
    json.field("sets", static_cast<uint64_t>(bundled.num_sets(i)));
    json.end();
  }
  json.end();
}

}  // namespace

FileBytes file_bytes(const Program& program) {
  Ranges constants, states, delegates, named, all;
  for (size_t m = 0; m < program.num_methods(); ++m) {
    const MethodMeta method = program.method(m);
    for (size_t i = 0; i < method.num_values(); ++i) {
      if (method.tag(i) != Tag::tensor) continue;
      const TensorMeta tensor = method.value(i).tensor;
      (tensor.storage == Storage::constant ? constants : states).add(tensor.bytes);
      all.add(tensor.bytes);
    }
    for (size_t i = 0; i < method.num_delegates(); ++i) {
      delegates.add(method.delegate(i).payload);
      all.add(method.delegate(i).payload);
    }
  }
  for (size_t i = 0; i < program.num_named_data(); ++i) {
    named.add(program.named_data(i));
    all.add(program.named_data(i));
  }
  FileBytes bytes;
  bytes.constants = constants.total();
  bytes.initial_state = states.total();
  bytes.delegates = delegates.total();
  bytes.named_data = named.total();
  const uint8_t* file = program.file().data();
  bytes.tables = program.tables_bytes() - all.within(file, file + program.tables_bytes());
  const uint64_t known = bytes.tables + all.total();
  bytes.padding = program.file().size() > known ? program.file().size() - known : 0;
  return bytes;
}

uint64_t constant_bytes(const Program& program) {
  Ranges ranges;
  for (size_t i = 0; i < program.num_methods(); ++i) add_constants(program.method(i), &ranges);
  for (size_t i = 0; i < program.num_named_data(); ++i) {
    const std::string_view key = program.named_data_key(i);
    if (key != compiler::kMetadataKey && key != kPreparedForKey) ranges.add(program.named_data(i));
  }
  return ranges.total();
}

uint64_t constant_bytes(const MethodMeta& method) {
  Ranges ranges;
  add_constants(method, &ranges);
  return ranges.total();
}

std::string instruction_text(const MethodMeta& method, const InstructionMeta& instruction) {
  std::string args;
  for (int32_t arg : instruction.args) args += fmt::format("{}v{}", args.empty() ? "" : ", ", arg);
  switch (instruction.kind) {
    case InstructionKind::kernel: return fmt::format("{}({})", operator_text(method.op(instruction.target)), args);
    case InstructionKind::delegate:
      return fmt::format("delegate {} {}({})", instruction.target, printable(method.delegate(instruction.target).id),
                         args);
    case InstructionKind::move: return fmt::format("v{} = v{}", instruction.target, instruction.value);
    case InstructionKind::jump_false:
      return fmt::format("jump to {} if v{} is false", instruction.target, instruction.value);
    case InstructionKind::free: break;
  }
  return fmt::format("free v{}", instruction.value);
}

std::string prepared_for(const Program& program) {
  const auto facts = program.find_named_data(kPreparedForKey);
  return facts.ok() ? std::string(facts->begin(), facts->end()) : "";
}

Status print_program(const InspectedProgram& file, bool instructions) {
  const Program& program = file.program;
  ASSIGN_OR_RETURN(const std::vector<MethodFacts> facts, read_facts(program));
  const FileBytes bytes = file_bytes(program);
  fmt::print("{}", heading(fmt::format("{}: ExecuTorch program, {} bytes, of which {} constants", file.path,
                                       program.file().size(), constant_bytes(program))));
  const std::string prepared = prepared_for(program);
  if (!prepared.empty()) fmt::print("prepared for {}\n", printable(prepared));
  Table kinds({"file bytes", ">"});
  kinds.row({"tables", fmt::format("{}", bytes.tables)});
  kinds.row({"constants", fmt::format("{}", bytes.constants)});
  if (bytes.initial_state) kinds.row({"initial state", fmt::format("{}", bytes.initial_state)});
  if (bytes.delegates) kinds.row({"delegates", fmt::format("{}", bytes.delegates)});
  if (bytes.named_data) kinds.row({"named data", fmt::format("{}", bytes.named_data)});
  kinds.row({"padding", fmt::format("{}", bytes.padding)});
  fmt::print("{}", kinds.text());
  Table segments({">segment", ">offset", ">bytes"});
  for (size_t i = 0; i < program.num_segments(); ++i) {
    const Span<const uint8_t> segment = program.segment(i);
    segments.row({fmt::format("{}", i),
                  segment.empty() ? "" : fmt::format("{}", segment.data() - program.file().data()),
                  fmt::format("{}", segment.size())});
  }
  fmt::print("{}", segments.text());
  if (file.bundled) print_test_sets(*file.bundled);
  for (size_t i = 0; i < program.num_methods(); ++i) print_method(program.method(i), facts[i], instructions);
  Table constants({"constant", "type", ">bytes", "where"});
  constexpr size_t kShown = 20;
  const std::vector<ConstantRow> rows = constants_of(program);
  for (size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
    constants.row({rows[i].name.empty() ? "(unnamed)" : rows[i].name, rows[i].type, fmt::format("{}", rows[i].bytes),
                   rows[i].external ? ".ptd" : "file"});
  }
  if (!rows.empty())
    fmt::print("\n{}{}", heading(fmt::format("{} constants, largest first", rows.size())), constants.text());
  if (rows.size() > kShown) fmt::print("  and {} more (--json lists all)\n", rows.size() - kShown);
  return {};
}

Status write_program(const InspectedProgram& file, bool instructions, JsonWriter& json) {
  const Program& program = file.program;
  ASSIGN_OR_RETURN(const std::vector<MethodFacts> facts, read_facts(program));
  const FileBytes bytes = file_bytes(program);
  json.object();
  json.field("schema", "wick.inspect.1");
  json.field("kind", "pte");
  json.field("file", file.path);
  json.field("file_bytes", static_cast<uint64_t>(program.file().size()));
  json.field("constant_bytes", constant_bytes(program));
  json.field("prepared_for", prepared_for(program));
  json.key("bytes");
  json.object();
  json.field("tables", bytes.tables);
  json.field("constants", bytes.constants);
  json.field("initial_state", bytes.initial_state);
  json.field("delegates", bytes.delegates);
  json.field("named_data", bytes.named_data);
  json.field("padding", bytes.padding);
  json.end();
  json.key("header");
  json.object();
  json.field("version", static_cast<uint64_t>(program_version(program)));
  json.field("tables_bytes", program.tables_bytes());
  json.field("segment_base", program.segment_base());
  json.end();
  json.key("segments");
  json.array();
  for (size_t i = 0; i < program.num_segments(); ++i) json.value(static_cast<uint64_t>(program.segment(i).size()));
  json.end();
  json.key("methods");
  json.array();
  for (size_t i = 0; i < program.num_methods(); ++i) write_method(program.method(i), facts[i], instructions, json);
  json.end();
  json.key("constants");
  json.array();
  for (const ConstantRow& row : constants_of(program)) {
    json.object();
    json.field("name", row.name);
    json.field("type", row.type);
    json.field("bytes", row.bytes);
    json.field("external", row.external);
    json.end();
  }
  json.end();
  if (file.bundled) write_test_sets(*file.bundled, json);
  json.end();
  return {};
}

}  // namespace wick::cli
