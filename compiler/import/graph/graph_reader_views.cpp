// Decides which results share memory with an operand. OpFacts::shares answers that, given how the operands lie in their
// storages, which the file records for every tensor.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/import/graph/graph_reader.h"
#include "compiler/ir/decompose.h"
#include "compiler/ir/text/text.h"
#include "compiler/ops/sharing.h"
#include "compiler/ops/tensor/view_writes.h"
#include "compiler/support/failure.h"

namespace wick::compiler {
namespace {

// Nullopt if Wick cannot read the file's expression; the strides are then unknown.
std::optional<Sym> try_sym(const pt2::SymInt& sym) {
  if (sym.is_literal()) return sym.value < 0 ? std::nullopt : std::optional(Sym(sym.value));
  Result<Sym> parsed = parse_srepr(sym.expr->text);
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

std::vector<std::string> tensor_names(const pt2::Argument& arg) {
  if (const auto* tensor = std::get_if<pt2::TensorArg>(&arg)) return {tensor->name};
  if (const auto* tensors = std::get_if<pt2::TensorsArg>(&arg)) return tensors->names;
  std::vector<std::string> names;
  if (const auto* optional = std::get_if<pt2::OptionalTensorsArg>(&arg)) {
    for (const auto& name : optional->names) names.push_back(name.value_or(""));
  }
  return names;
}

// The order of dimensions, outermost first, in which a tensor is dense; nullopt if it is not dense.
std::optional<std::vector<int64_t>> dense_order(const Sizes& sizes, const Ints& strides) {
  std::vector<int64_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (sizes.size() != strides.size()) return std::nullopt;
  const auto dense = [&] { return shares::lies_in_order(sizes, strides, order).is(1); };
  if (dense()) return order;
  const auto wider = [&](int64_t a, int64_t b) {
    const SymRange gap = SymScope::range(strides[static_cast<size_t>(a)] - strides[static_cast<size_t>(b)]);
    return gap.min > 0;
  };
  for (size_t i = 1; i < order.size(); ++i) {  // insertion sort: a partial order suffices
    for (size_t j = i; j > 0 && wider(order[j], order[j - 1]); --j) std::swap(order[j], order[j - 1]);
  }
  return dense() ? std::optional(order) : std::nullopt;
}

Diag unknown_storage(const OpDef& def, const std::string& name, std::string why) {
  return Diag(Code::unsupported_model, fmt::format("{} reads the storage of '{}', which Wick does not know: {}",
                                                   def.name(), printable(name), why))
      .with_help("take contiguous() of the tensor before, or write the access as slices and views");
}

}  // namespace

bool GraphReader::on_one_device(std::string_view a, std::string_view b) const {
  const auto first = source_.tensor_values.find(std::string(a)), second = source_.tensor_values.find(std::string(b));
  if (first == source_.tensor_values.end() || second == source_.tensor_values.end()) return true;
  const pt2::Device &x = first->second.device, &y = second->second.device;
  return x.type == y.type && x.index.value_or(0) == y.index.value_or(0);
}

std::optional<Placement> GraphReader::placement_of(std::string_view name) const {
  const auto recorded = source_.tensor_values.find(std::string(name));
  if (recorded == source_.tensor_values.end()) return std::nullopt;
  const pt2::TensorMeta& meta = recorded->second;
  Placement placement;
  const std::optional<Sym> offset = try_sym(meta.storage_offset);
  if (!offset || meta.strides.size() != meta.sizes.size()) return std::nullopt;
  placement.offset = *offset;
  for (const pt2::SymInt& stride : meta.strides) {
    const std::optional<Sym> known = try_sym(stride);
    if (!known) return std::nullopt;
    placement.strides.push_back(*known);
  }
  return placement;
}

// Records the layout of a storage that `name` names as a whole, unless it is recorded already.
void GraphReader::place(std::string_view name, const Binding& binding) const {
  if (!binding.ref || binding.ref->last >= 0 || binding.ref->storage->placement) return;
  binding.ref->storage->placement = placement_of(name);
}

std::vector<GraphReader::Operand> GraphReader::operands_of(const pt2::Node& node, const Node& made) {
  std::vector<std::vector<std::string>> names(made.args().size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const pt2::NamedArgument& input = node.inputs[i];
    const int index = input.name.empty() ? static_cast<int>(i) : made.op->parsed->find(input.name);
    if (index >= 0 && static_cast<size_t>(index) < names.size())
      names[static_cast<size_t>(index)] = tensor_names(input.arg);
  }
  std::vector<Operand> operands;
  const auto add = [&](Value* value, std::string name) {
    if (!value) return;
    Operand operand{std::move(name), value, nullptr, std::nullopt};
    const auto bound = scope_.find(operand.name);
    if (bound != scope_.end() && bound->second.ref && read(*bound->second.ref, builder_) == value) {
      operand.ref = bound->second.ref;
      operand.placement = placement_of(operand.name);
      if (operand.placement) {
        const ElementSigns signs = signs_of(*operand.ref);
        operand.placement->conjugated = signs.conjugated;
        operand.placement->negated = signs.negated;
      }
    }
    operands.push_back(std::move(operand));
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const Arg& arg = made.arg(i);
    if (arg.is<Value*>()) add(arg.as<Value*>(), names[i].size() == 1 ? names[i][0] : "");
    if (!arg.is<Values>()) continue;
    const Values& values = arg.as<Values>();
    for (size_t k = 0; k < values.size(); ++k) add(values[k], k < names[i].size() ? names[i][k] : "");
  }
  return operands;
}

RefPtr GraphReader::shared_ref(const Operand& operand, const Sharing& sharing, std::string_view name, Value* result) {
  if (sharing.when && sharing.when->is(1)) {
    if (RefPtr view = view_ref(*operand.ref, operand.value, result)) return view;
  }
  std::string sizes;
  for (const Sym& size : operand.value->sizes()) sizes += (sizes.empty() ? "" : ", ") + size.text();
  const bool always = sharing.when && sharing.when->is(1);
  const std::string how = always ? "shares the memory of" : "is a view of";
  std::string doubt = fmt::format("a tensor is read after a write that reaches it if '{}' {} '{}'", printable(name),
                                  how, printable(operand.name));
  doubt += always ? ", and Wick has no views that express this"
                  : fmt::format(", which depends on the sizes of '{}', [{}]", printable(operand.name), sizes);
  return maybe_shared_ref(*operand.ref, operand.value, result, sharing.when, std::move(doubt));
}

void GraphReader::bind_results(const pt2::Node& node, Node* made, const std::vector<std::string>& names) {
  const OpDef& def = *made->op;
  std::vector<Value*> results = made->results();
  std::vector<Sharing> sharing(results.size());
  std::vector<Operand> operands;
  if (def.facts.shares) {
    operands = operands_of(node, *made);
    std::vector<const Placement*> placements;
    for (const Operand& operand : operands) placements.push_back(operand.placement ? &*operand.placement : nullptr);
    for (size_t i = 0; i < results.size() && !operands.empty(); ++i)
      sharing[i] = def.facts.shares({*made, i, placements});
  }
  for (size_t i = 0; i < results.size() && i < names.size(); ++i) {
    const int from = sharing[i].operand;
    if (from >= 0 && !on_one_device(operands[static_cast<size_t>(from)].name, names[i])) sharing[i] = {};
  }
  const auto shares = [&](const Sharing& answer) {
    return answer.operand >= 0 && operands[static_cast<size_t>(answer.operand)].ref &&
           !(answer.when && answer.when->is(0));
  };
  if (std::any_of(sharing.begin(), sharing.end(), shares) && def.decompose) {
    results = decompose_node(graph_, made, [](const Node& part) { return part.op->facts.write != nullptr; });
  }
  for (size_t i = 0; i < names.size() && i < results.size(); ++i) {
    if (names[i].empty()) continue;
    RefPtr ref = shares(sharing[i])
                     ? shared_ref(operands[static_cast<size_t>(sharing[i].operand)], sharing[i], names[i], results[i])
                     : fresh_ref(results[i]);
    bind(names[i], {std::move(ref), std::nullopt, nullptr});
  }
}

// as_strided and similar operators: sizes, strides and offset refer to the storage of the first operand. The IR has no
// storages. There they refer to the elements, in row-major order, of the tensor that the storage was made for.
void GraphReader::read_strided(const pt2::Node& node, const OpDef& def, Args args) {
  const std::vector<std::string> names = output_names(node);
  const std::vector<std::string> operand =
      node.inputs.empty() ? std::vector<std::string>{} : tensor_names(node.inputs[0].arg);
  if (operand.size() != 1 || !binding(operand[0]).ref || names.size() != 1)
    fail(Code::corrupt_file, fmt::format("{} has no tensor to read", def.name()));
  const RefPtr ref = binding(operand[0]).ref;
  const std::vector<const ViewStep*> chain = chain_of(*ref);
  const VersionedStorage& storage = *ref->storage;
  const auto refuse = [&](const char* why) { fail(unknown_storage(def, operand[0], why)); };
  const bool reinterprets = std::any_of(chain.begin(), chain.end(), [](const ViewStep* step) {
    return step->op->has(kReinterprets) || step->op->facts.write == writes::conjugate;
  });
  if (reinterprets) refuse("its elements are seen as others than those that are stored");
  if (!storage.links.empty()) refuse("it depends on sizes whether a view of it is a copy");
  const std::optional<Placement>& lies = storage.placement;
  const auto order = lies ? dense_order(storage.current->sizes(), lies->strides) : std::nullopt;
  if (!order) refuse(lies ? "it holds more than the elements of one tensor" : "the file records no strides");
  const int at = def.parsed->find("storage_offset");
  const std::optional<Placement> own = placement_of(operand[0]);
  Arg& offset = args[static_cast<size_t>(at)];
  if (offset.is<None>()) {
    if (!own) refuse("the file does not record where the tensor begins");
    offset = own->offset - lies->offset;
  } else if (offset.is<Sym>()) {
    offset = offset.as<Sym>() - lies->offset;
  } else {
    const Value* number = offset.is<Value*>() ? offset.as<Value*>() : nullptr;
    if (!number || number->type.kind != TypeKind::integer)
      fail(Code::corrupt_file, fmt::format("{}: the storage offset is not an integer", def.name()));
    offset = number->type.expr - lies->offset;
  }

  TensorRef whole{ref->storage, -1};
  Value* value = read(whole, builder_);
  args[0] = builder_.permute(value, *order);
  const bool scatters = def.parsed->find("src") >= 0;  // returns the whole storage, unlike the recorded type
  Node* made = make_node(node, def, std::move(args), 1);
  infer(node, made, scatters ? std::vector<std::string>{} : names);
  if (def.facts.shares) {
    RefPtr view = view_ref(whole, value, made->result());
    return bind(names[0], {view ? std::move(view) : fresh_ref(made->result()), std::nullopt, nullptr});
  }
  Value* result = made->result();
  if (scatters) {  // the operand's views of the updated storage
    std::vector<int64_t> back(order->size());
    for (size_t i = 0; i < back.size(); ++i) back[static_cast<size_t>((*order)[i])] = static_cast<int64_t>(i);
    result = apply(chain, builder_.permute(result, back), builder_);
  }
  bind(names[0], {fresh_ref(result), std::nullopt, nullptr});
}

}  // namespace wick::compiler
