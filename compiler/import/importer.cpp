#include "compiler/import/importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/import/graph/mask_bounds.h"
#include "compiler/import/graph/size_rules.h"
#include "compiler/import/weights/constants.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

struct Placeholder {
  std::string name;        // in the exported graph
  RefPtr ref;              // tensors
  Value* value = nullptr;  // the graph's input, or the constant (which becomes state if written)
  const pt2::Payload* payload = nullptr;
  std::string fqn;
};

struct NamedPlaceholder {
  std::string name;
  bool is_parameter;
  size_t placeholder;  // index
};

class Importer {
 public:
  Importer(const pt2::ExportedProgram& program, Graph& graph, const ImportOptions& options)
      : program_(program), graph_(graph), options_(options), builder_(graph, nullptr) {}

  /// Notes for the user, one sentence each.
  std::vector<std::string> take_notes() { return std::move(notes_); }
  /// All parameters and buffers. Requires: run.
  std::vector<StoredTensor> stored_tensors() const {
    std::vector<StoredTensor> out;
    for (const NamedPlaceholder& each : stored_) {
      const Placeholder& placeholder = placeholders_[each.placeholder];
      StoredTensor& tensor = out.emplace_back(StoredTensor{each.name, each.is_parameter, placeholder.value, nullptr});
      if (!placeholder.value->producer) continue;
      tensor.elements = [payload = *placeholder.payload]() -> Result<ConstantData> {
        ConstantData data;
        RETURN_IF_ERROR(catch_failure([&] {
          uint64_t copied_bytes = 0;
          data = dense_data(payload, copied_bytes);
        }));
        return data;
      };
    }
    return out;
  }
  std::vector<std::pair<std::string, std::string>> take_overlaps() { return std::move(overlaps_); }

  void run() {
    MissingOps missing;
    find_missing(program_.graph, missing);
    throw_if_error(missing.status());
    read_ranges();
    const std::vector<Sym> untrue = widen_mask_bounds(program_.graph, graph_.ranges);
    bound_sizes();
    const SymScope scope(graph_.ranges);
    for (size_t i = 0; i < program_.input_specs.size(); ++i)
      read_input(program_.input_specs[i], program_.graph.inputs[i]);
    for (const std::string& rule : program_.size_rules) read_rule(rule);
    GraphReader reader(program_.graph, graph_, scope_);
    reader.read_nodes();
    drop_assertions(untrue);
    read_outputs(reader);
    for (Placeholder& placeholder : placeholders_) finish(placeholder);
  }

 private:
  void read_ranges() {
    const std::set<std::string, std::less<>> sizes = input_size_symbols(), free = unchecked_symbols();
    std::string relaxed;
    for (const auto& [text, constraint] : program_.range_constraints) {
      const std::optional<Sym> size = read_size(text);
      if (!size) {
        notes_.push_back(fmt::format("the exporter's bounds of {} are not checked", printable(text)));
        continue;
      }
      SymRange range{constraint.min.value_or(std::numeric_limits<int64_t>::min()), constraint.max.value_or(kUnbounded)};
      // The exporter specialises 0 and 1, so a lower bound of 2 is not the user's. 1 is accepted. 0 is not, because
      // facts that the exporter derived for such sizes (there is a last row) do not hold for it.
      if (range.min == 2 && sizes.count(text) != 0) {
        range.min = 1;
        relaxed += (relaxed.empty() ? "" : ", ") + text;
      }
      if (range.min > 0 && free.count(text) != 0) range.min = 0;
      if (range.min > range.max) fail(Code::corrupt_file, fmt::format("the range of '{}' is empty", printable(text)));
      graph_.ranges[size->text()] = range;
    }
    if (!relaxed.empty()) {
      notes_.push_back(fmt::format("exported for sizes of 2 and more: {}; 1 is also accepted and takes the same path",
                                   printable(relaxed)));
    }
    for (const std::string& symbol : int_inputs_that_are_no_sizes()) {
      if (auto it = graph_.ranges.find(symbol); it != graph_.ranges.end() && it->second.min == 0)
        it->second.min = std::numeric_limits<int64_t>::min();
    }
    for (const std::string& symbol : symbols_from_data()) graph_.ranges[symbol].from_data = true;
  }

  // Adds the symbols in a number that is an argument.
  void collect_number(const pt2::Argument& arg, std::set<std::string, std::less<>>& symbols) const {
    const auto* sym = std::get_if<pt2::SymIntArg>(&arg);
    if (!sym || sym->is_literal()) return;
    auto it = program_.graph.sym_int_values.find(sym->name);
    if (it != program_.graph.sym_int_values.end()) collect_symbols(GraphReader::to_sym(it->second), symbols);
  }

  std::set<std::string, std::less<>> all_size_symbols() const {
    std::set<std::string, std::less<>> symbols;
    for (const auto& [name, meta] : program_.graph.tensor_values) {
      for (const pt2::SymInt& size : meta.sizes) collect_symbols(GraphReader::to_sym(size), symbols);
    }
    return symbols;
  }

  // Symbols of sizes that no input determines: they are read from elements of tensors.
  std::set<std::string, std::less<>> symbols_from_data() const {
    std::set<std::string, std::less<>> symbols = all_size_symbols(), stated = input_size_symbols();
    for (const pt2::Argument& input : program_.graph.inputs) collect_number(input, stated);
    std::erase_if(symbols, [&](const std::string& symbol) { return stated.count(symbol) != 0; });
    return symbols;
  }

  // Symbols that the graph introduces, not its inputs, and that no node compares. The exported program, run by torch,
  // does not check their lower bound, whatever the exporter assumed (2, for operators that leave the choice to it).
  std::set<std::string, std::less<>> unchecked_symbols() const {
    std::set<std::string, std::less<>> symbols = all_size_symbols(), checked = input_size_symbols();
    for (const pt2::Argument& input : program_.graph.inputs) collect_number(input, checked);
    for (const pt2::Node& node : program_.graph.nodes) {
      const bool compares = std::any_of(node.outputs.begin(), node.outputs.end(), [](const pt2::Argument& output) {
        return std::holds_alternative<pt2::SymBoolArg>(output);
      });
      if (!compares && node.target.find("sym_constrain_range") == std::string::npos) continue;
      for (const pt2::NamedArgument& input : node.inputs) collect_number(input.arg, checked);
    }
    std::erase_if(symbols, [&](const std::string& symbol) { return checked.count(symbol) != 0; });
    return symbols;
  }

  // The caller's upper bounds of sizes.
  void bound_sizes() {
    for (const auto& [name, bound] : options_.max_sizes) {
      if (name.empty()) continue;
      auto it = graph_.ranges.find(name);
      if (it == graph_.ranges.end())
        fail(Diag(Code::usage, fmt::format("no size of the model is called '{}'", printable(name)))
                 .with_help("wick inspect MODEL.pt2 shows the sizes"));
      lower_maximum(it->first, it->second, bound);
    }
    auto bound = options_.max_sizes.find("");
    if (bound == options_.max_sizes.end()) return;
    for (const std::string& symbol : input_size_symbols()) {
      SymRange& range = graph_.ranges[symbol];
      if (range.max == kUnbounded) lower_maximum(symbol, range, bound->second);
    }
  }

  static void lower_maximum(const std::string& symbol, SymRange& range, int64_t bound) {
    if (bound < range.min) {
      fail(Diag(Code::usage, fmt::format("the upper bound of '{}' is below its lower one", printable(symbol)))
               .expected(fmt::to_string(bound), fmt::format("{} or more", range.min)));
    }
    range.max = std::min(range.max, bound);
  }

  std::set<std::string, std::less<>> input_size_symbols() const {
    std::set<std::string, std::less<>> symbols;
    for (size_t i = 0; i < program_.input_specs.size(); ++i) {
      const auto* tensor = std::get_if<pt2::TensorArg>(&program_.graph.inputs[i]);
      if (!tensor || program_.input_specs[i].kind != pt2::InputKind::user_input) continue;
      auto it = program_.graph.tensor_values.find(tensor->name);
      if (it == program_.graph.tensor_values.end()) continue;
      for (const pt2::SymInt& size : it->second.sizes) collect_symbols(GraphReader::to_sym(size), symbols);
    }
    return symbols;
  }

  // Symbols of int inputs that no tensor's size depends on. The exporter takes every int for a size and records that it
  // is at least 0, which neither eager nor the exported program requires of these.
  std::set<std::string, std::less<>> int_inputs_that_are_no_sizes() const {
    std::set<std::string, std::less<>> symbols, sizes;
    for (size_t i = 0; i < program_.input_specs.size(); ++i) {
      const auto* sym = std::get_if<pt2::SymIntArg>(&program_.graph.inputs[i]);
      if (!sym || program_.input_specs[i].kind != pt2::InputKind::user_input) continue;
      if (auto it = program_.graph.sym_int_values.find(sym->name); it != program_.graph.sym_int_values.end())
        collect_symbols(GraphReader::to_sym(it->second), symbols);
    }
    if (symbols.empty()) return symbols;
    for (const auto& [name, meta] : program_.graph.tensor_values) {
      for (const pt2::SymInt& size : meta.sizes) collect_symbols(GraphReader::to_sym(size), sizes);
    }
    std::erase_if(symbols, [&](const std::string& symbol) { return sizes.count(symbol) != 0; });
    return symbols;
  }

  // The size or number of a user input that a rule names.
  std::optional<Sym> size_of(std::string_view name, std::optional<int64_t> dimension) const {
    if (!dimension) {
      auto it = program_.graph.sym_int_values.find(std::string(name));
      return it == program_.graph.sym_int_values.end() ? std::nullopt : std::optional(GraphReader::to_sym(it->second));
    }
    for (size_t i = 0; i < program_.input_specs.size(); ++i) {
      const auto* tensor = std::get_if<pt2::TensorArg>(&program_.graph.inputs[i]);
      if (!tensor || tensor->name != name || program_.input_specs[i].kind != pt2::InputKind::user_input) continue;
      auto it = program_.graph.tensor_values.find(tensor->name);
      if (it == program_.graph.tensor_values.end() || *dimension < 0) return std::nullopt;
      const std::vector<pt2::SymInt>& sizes = it->second.sizes;
      const size_t index = static_cast<size_t>(*dimension);
      return index < sizes.size() ? std::optional(GraphReader::to_sym(sizes[index])) : std::nullopt;
    }
    return std::nullopt;
  }

  // Asserts a rule of the exporter: it followed one branch of the model's Python code, and sizes that break the rule
  // would take another one.
  void read_rule(const std::string& text) {
    const std::optional<Sym> rule = read_size_rule(
        text, [this](std::string_view name, std::optional<int64_t> dimension) { return size_of(name, dimension); });
    if (rule && rule->is(1)) return;
    std::string shown = text;  // without L['..'] around the names of inputs
    for (std::string_view part : {"L['", "']", "'"}) {
      for (size_t at = 0; (at = shown.find(part, at)) != std::string::npos;) shown.erase(at, part.size());
    }
    if (!rule) {
      notes_.push_back(fmt::format("the exporter's condition {} is not checked", printable(shown)));
      return;
    }
    std::string message = fmt::format("the model was exported for sizes with {}", printable(shown));
    graph_.add_node(op("aten._assert_scalar.default"), {*rule, std::move(message)}, 0, nullptr, "");
  }

  void drop_assertions(const std::vector<Sym>& untrue) {
    for (Node* node : graph_.node_list()) {
      if (!node->is("aten._assert_scalar.default") || !node->arg(0).is<Sym>()) continue;
      if (std::find(untrue.begin(), untrue.end(), node->arg(0).as<Sym>()) != untrue.end()) graph_.erase(node);
    }
  }

  void read_input(const pt2::InputSpec& spec, const pt2::Argument& arg) {
    switch (spec.kind) {
      case pt2::InputKind::token: return;
      case pt2::InputKind::constant_input: return read_literal_input(spec);
      case pt2::InputKind::custom_obj:
        fail(Code::unsupported_model, fmt::format("the model holds the custom object '{}'", printable(spec.target)));
      case pt2::InputKind::user_input: return read_user_input(arg);
      default: return read_stored(spec, arg);
    }
  }

  void read_literal_input(const pt2::InputSpec& spec) {
    GraphInput input;
    input.name = spec.target;
    if (const auto* integer = std::get_if<int64_t>(&spec.arg)) {
      input.kind = GraphInput::Kind::integer;
      input.integer = *integer;
    } else if (const auto* real = std::get_if<double>(&spec.arg)) {
      input.kind = GraphInput::Kind::real;
      input.real = *real;
    } else if (const auto* boolean = std::get_if<bool>(&spec.arg)) {
      input.kind = GraphInput::Kind::boolean;
      input.integer = *boolean;
    } else if (const auto* string = std::get_if<std::string>(&spec.arg)) {
      input.kind = GraphInput::Kind::string;
      input.string = *string;
    } else {
      input.kind = GraphInput::Kind::none;
    }
    graph_.inputs.push_back(std::move(input));
  }

  void read_user_input(const pt2::Argument& arg) {
    if (const auto* sym = std::get_if<pt2::SymIntArg>(&arg)) {
      // An int that varies: a 0-d tensor in the program, read at its start.
      auto it = program_.graph.sym_int_values.find(sym->name);
      if (it == program_.graph.sym_int_values.end())
        fail(Code::corrupt_file, fmt::format("the file records no value for '{}'", printable(sym->name)));
      const Sym expr = GraphReader::to_sym(it->second);
      Value* tensor = graph_.add_input(Type::of(DType::i64, {}), sym->name);
      Node* node = graph_.add_node(op("aten._local_scalar_dense.default"), {tensor}, 1, nullptr, sym->name + "_value");
      node->result(0)->type = Type::integer(expr);
      scope_[sym->name] = {nullptr, expr, nullptr};
      return;
    }
    const auto* tensor = std::get_if<pt2::TensorArg>(&arg);
    if (!tensor) fail(Code::unsupported_model, "the program takes an input that is neither a tensor nor a number");
    auto it = program_.graph.tensor_values.find(tensor->name);
    if (it == program_.graph.tensor_values.end())
      fail(Code::corrupt_file, fmt::format("the file records no type for '{}'", printable(tensor->name)));
    Placeholder placeholder;
    placeholder.name = tensor->name;
    placeholder.value = graph_.add_input(Type::of(GraphReader::tensor_type(it->second)), tensor->name);
    placeholder.ref = fresh_ref(placeholder.value);
    scope_[tensor->name] = {placeholder.ref, std::nullopt, nullptr};
    placeholders_.push_back(std::move(placeholder));
  }

  const pt2::Payload& payload_of(const pt2::InputSpec& spec) {
    for (const auto* table : {&program_.weights, &program_.constants}) {
      if (auto it = table->find(spec.target); it != table->end()) return it->second;
    }
    fail(Code::corrupt_file, fmt::format("the file has no data for '{}'", printable(spec.target)));
  }

  // The placeholder with exactly these bytes, type and layout, or null. Such buffers are one: a write to one is seen
  // through the other.
  const Placeholder* twin_of(const pt2::Payload& payload) const {
    const auto same_file = by_payload_.find(payload.path_name);
    if (same_file == by_payload_.end()) return nullptr;
    for (const size_t index : same_file->second) {
      const pt2::Payload& other = *placeholders_[index].payload;
      if (other.bytes.data() == payload.bytes.data() && other.dtype == payload.dtype && other.sizes == payload.sizes &&
          other.strides == payload.strides && other.storage_offset == payload.storage_offset) {
        return &placeholders_[index];
      }
    }
    return nullptr;
  }

  void read_stored(const pt2::InputSpec& spec, const pt2::Argument& arg) {
    const auto* tensor = std::get_if<pt2::TensorArg>(&arg);
    if (!tensor) fail(Code::corrupt_file, fmt::format("'{}' is not a tensor", printable(spec.target)));
    const pt2::Payload& payload = payload_of(spec);
    scope_[tensor->name] = stored(payload, tensor->name, spec.target);
    note_stored(payload, spec.target, spec.kind == pt2::InputKind::parameter);
  }

  // Adds `payload`, which has been read, to stored_tensors(); a subclass adds each of its tensors.
  void note_stored(const pt2::Payload& payload, const std::string& name, bool is_parameter) {
    if (payload.kind != pt2::Payload::Kind::subclass)
      return stored_.push_back({name, is_parameter, static_cast<size_t>(twin_of(payload) - placeholders_.data())});
    for (const auto& [attribute, inner] : payload.subclass->tensors)
      note_stored(inner, name + "." + attribute, is_parameter);
  }

  Binding stored(const pt2::Payload& payload, const std::string& name, const std::string& fqn) {
    if (payload.kind == pt2::Payload::Kind::subclass)
      return {nullptr, std::nullopt, nullptr, subclass(payload, name, fqn)};
    if (const Placeholder* twin = twin_of(payload)) return {twin->ref, std::nullopt, nullptr};
    by_payload_[payload.path_name].push_back(placeholders_.size());
    Placeholder placeholder;
    placeholder.name = name;
    placeholder.fqn = fqn;
    placeholder.payload = &payload;
    placeholder.value = constant_from_payload(payload, name, fqn, builder_, copied_bytes_);
    placeholder.ref = fresh_ref(placeholder.value);
    placeholders_.push_back(placeholder);
    return {placeholder.ref, std::nullopt, nullptr};
  }

  // Names that share a payload share the value.
  std::shared_ptr<const SubclassValue> subclass(const pt2::Payload& payload, const std::string& name,
                                                const std::string& fqn) {
    std::shared_ptr<const SubclassValue>& known = subclasses_[payload.subclass.get()];
    if (known) return known;
    SubclassValue value{fqn, payload.subclass.get(), {}};
    for (const auto& [attribute, inner] : payload.subclass->tensors) {
      value.inner[attribute] = stored(inner, name + "_" + attribute, fqn + "." + attribute);
    }
    return known = std::make_shared<const SubclassValue>(std::move(value));
  }

  void read_outputs(GraphReader& reader) {
    int leaf = 0;
    for (size_t i = 0; i < program_.output_specs.size(); ++i) {
      const pt2::OutputSpec& spec = program_.output_specs[i];
      switch (spec.kind) {
        case pt2::OutputKind::user_output: {
          GraphOutput output = reader.output(spec.arg);
          output.leaf = leaf++;
          graph_.add_output(std::move(output));
          break;
        }
        case pt2::OutputKind::buffer_mutation:
        case pt2::OutputKind::parameter_mutation:
        case pt2::OutputKind::user_input_mutation: {
          const auto* tensor = std::get_if<pt2::TensorArg>(&spec.arg);
          Placeholder* target = find_placeholder(spec);
          if (!tensor || !target)
            fail(Code::corrupt_file, fmt::format("the mutated '{}' does not exist", printable(spec.target)));
          target->ref->storage->current = reader.tensor_value(tensor->name);
          ++target->ref->storage->version;
          break;
        }
        case pt2::OutputKind::token: break;
        default:
          fail(Diag(Code::unsupported_model, "a training graph with gradients")
                   .with_help("export the model in eval mode, without a loss"));
      }
    }
  }

  Placeholder* find_placeholder(const pt2::OutputSpec& spec) {
    for (Placeholder& placeholder : placeholders_) {
      if (spec.kind == pt2::OutputKind::user_input_mutation ? placeholder.name == spec.target
                                                            : placeholder.fqn == spec.target)
        return &placeholder;
    }
    return nullptr;
  }

  // A placeholder that was written becomes state (buffers) or an update of the user's tensor (inputs).
  void finish(Placeholder& placeholder) {
    const VersionedStorage& storage = *placeholder.ref->storage;
    if (storage.version > 0) read(*placeholder.ref, builder_);  // throws if the contents are unknown
    if (storage.version == 0 || storage.current == placeholder.value) return;
    Value* target = placeholder.value;
    if (placeholder.payload) {
      check_no_overlap(placeholder);
      if (target->kind == ValueKind::constant) {
        target->kind = ValueKind::state;
      } else {
        // The file stores it permuted or expanded; the state is row-major.
        Value* state = graph_.add_state(target->tensor(), dense_data(*placeholder.payload, copied_bytes_),
                                        placeholder.name, placeholder.fqn);
        graph_.replace(target, state);
        placeholder.value = target = state;
      }
    }
    graph_.add_update(target, placeholder.ref->storage->current == placeholder.value ? target : storage.current);
  }

  void check_no_overlap(const Placeholder& written) {
    for (const size_t index : by_payload_.at(written.payload->path_name)) {
      const Placeholder& other = placeholders_[index];
      if (&other == &written || other.payload->bytes.data() != written.payload->bytes.data()) continue;
      if (other.value->num_uses() == 0) {
        overlaps_.emplace_back(written.fqn, other.fqn);
        continue;
      }
      fail(Diag(Code::unsupported_model,
                fmt::format("the buffer '{}' is written while '{}' shares its memory", written.fqn, other.fqn))
               .with_help("make one of them a clone(), or a view computed in forward()"));
    }
  }

  const pt2::ExportedProgram& program_;
  Graph& graph_;
  const ImportOptions& options_;
  std::vector<std::string> notes_;
  std::vector<NamedPlaceholder> stored_;
  std::vector<std::pair<std::string, std::string>> overlaps_;
  Builder builder_;
  Scope scope_;
  std::vector<Placeholder> placeholders_;
  std::map<std::string, std::vector<size_t>> by_payload_;  // indices of placeholders
  std::map<const pt2::Subclass*, std::shared_ptr<const SubclassValue>> subclasses_;
  uint64_t copied_bytes_ = 0;
};

// A graph that is invalid before any pass has run is the file's fault (None for a tensor, for example): internal
// becomes corrupt_file.
Status blame_file(Status status) {
  if (status.ok() || status.diag().code != Code::internal) return status;
  status.diag().code = Code::corrupt_file;
  status.diag().help = "if torch wrote this file unchanged, please report it";
  return status;
}

// Quantize and dequantize nodes have no source line if the quantizer inserted them without one. They take the source
// line of the node that computes their operand, or else of the first node that reads their result.
void place_conversions(Graph& graph) {
  const std::vector<Node*> nodes = graph.node_list();
  std::unordered_map<const Node*, size_t> index_of;
  for (size_t i = 0; i < nodes.size(); ++i) index_of.emplace(nodes[i], i);
  const auto has_place = [](const Node* node) { return node && node->origin && !node->origin->source.empty(); };
  const auto take = [&](Node& node, const Node* other) {
    if (has_place(&node) || !has_place(other) || !node.op->has(kQuantizes | kDequantizes)) return;
    auto origin = node.origin ? std::make_shared<Origin>(*node.origin) : std::make_shared<Origin>();
    origin->source = other->origin->source;
    origin->code = other->origin->code;
    if (origin->module.empty()) origin->module = other->origin->module;
    node.origin = std::move(origin);
  };
  for (Node* node : nodes) {
    const Values operands = node->operands();
    if (!operands.empty()) take(*node, operands[0]->producer);
  }
  for (auto at = nodes.rbegin(); at != nodes.rend(); ++at) {
    const Node* first = nullptr;
    for (const Value* result : (*at)->results()) {
      for (const Node* reader : result->users()) {
        const auto index = index_of.find(reader);
        if (index != index_of.end() && (!first || index->second < index_of.at(first))) first = reader;
      }
    }
    take(**at, first);
  }
}

}  // namespace

Result<Function> import_program(const pt2::ExportedProgram& program, std::string method_name,
                                const ImportOptions& options) {
  Function function;
  function.name = std::move(method_name);
  function.graph = std::make_unique<Graph>();
  function.in_spec = program.in_spec;
  function.out_spec = program.out_spec;
  RETURN_IF_ERROR(catch_failure([&] {
    Importer importer(program, *function.graph, options);
    importer.run();
    place_conversions(*function.graph);
    function.notes = importer.take_notes();
    function.stored = importer.stored_tensors();
    function.overlaps = importer.take_overlaps();
  }));
  RETURN_IF_ERROR(blame_file(verify(*function.graph)));
  return function;
}

}  // namespace wick::compiler
