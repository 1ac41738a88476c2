// One read() per structure of the schema; field names and defaults are torch.export's, version 8.20.
#include <fmt/format.h>

#include <type_traits>

#include "compiler/import/program/exported_program_reader.h"

namespace wick::compiler::pt2 {
// Static rather than in an unnamed namespace: Fields and read_list() find them by argument-dependent lookup of Json.

// The schema's ScalarType numbers, which are not those of c10.
static Status read(const Json& at, DType& out) {
  constexpr struct {
    int64_t number;
    DType dtype;
  } kTypes[] = {{1, DType::u8},          {2, DType::i8},          {3, DType::i16},        {4, DType::i32},
                {5, DType::i64},         {6, DType::f16},         {7, DType::f32},        {8, DType::f64},
                {9, DType::c32},         {10, DType::c64},        {11, DType::c128},      {12, DType::boolean},
                {13, DType::bf16},       {28, DType::u16},        {29, DType::f8e4m3fn},  {30, DType::f8e5m2},
                {31, DType::f8e4m3fnuz}, {32, DType::f8e5m2fnuz}, {33, DType::f8e8m0fnu}, {34, DType::u32},
                {35, DType::u64}};
  int64_t number = 0;
  RETURN_IF_ERROR(read(at, number));
  for (const auto& type : kTypes) {
    if (type.number == number) return out = type.dtype, Status();
  }
  return unknown_alternative(at, fmt::format("scalar type {}", number));
}

template <typename E>
static Status read_enum(const Json& at, const char* what, E last, E& out) {
  int64_t number = 0;
  RETURN_IF_ERROR(read(at, number));
  if (number < 0 || number > static_cast<int64_t>(last))
    return unknown_alternative(at, fmt::format("{} {}", what, number));
  out = static_cast<E>(number);
  return {};
}
static Status read(const Json& at, Layout& out) { return read_enum(at, "layout", Layout::strided, out); }
static Status read(const Json& at, MemoryFormat& out) {
  return read_enum(at, "memory format", MemoryFormat::preserve, out);
}
static Status read(const Json& at, ArgumentKind& out) {
  return read_enum(at, "argument kind", ArgumentKind::keyword, out);
}

static Status read(const Json& at, Device& out) {
  return Fields(at).required("type", out.type).optional("index", out.index).done();
}

// Symbolic values.

template <typename T>
static constexpr std::string_view literal_key() {
  if (std::is_same_v<T, int64_t>) return "as_int";
  return std::is_same_v<T, double> ? "as_float" : "as_bool";
}

template <typename T>
static Status read_hint(const Json& at, SymExpr& out) {
  T value = {};
  RETURN_IF_ERROR(read(at, value));
  out.hint = value;
  return {};
}

struct Hint {
  SymExpr* owner;
};
static Status read(const Json& at, Hint& out) {
  ASSIGN_OR_RETURN(const Alternative hint, read_union(at));
  const Json value(hint.value, at, hint.key);
  if (hint.key == "as_int") return read_hint<int64_t>(value, *out.owner);
  if (hint.key == "as_float") return read_hint<double>(value, *out.owner);
  if (hint.key == "as_bool") return read_hint<bool>(value, *out.owner);
  return unknown_alternative(at, hint.key);
}

static Status read(const Json& at, SymExpr& out) {
  Hint hint = {&out};
  return Fields(at).required("expr_str", out.text).optional("hint", hint).done();
}

template <typename T>
static Status read(const Json& at, Sym<T>& out) {
  ASSIGN_OR_RETURN(const Alternative one, read_union(at));
  const Json value(one.value, at, one.key);
  if (one.key == literal_key<T>()) return read(value, out.value);
  if (one.key != "as_expr") return unknown_alternative(at, one.key);
  auto expr = std::make_shared<SymExpr>();
  RETURN_IF_ERROR(read(value, *expr));
  out.expr = std::move(expr);
  return {};
}

static Status read_value_name(const Json& at, std::string& out) {
  RETURN_IF_ERROR(read(at, out));
  return out.empty() ? Status(at.corrupt("a value has an empty name")) : Status();
}

// {"name": ..}
static Status read_named(const Json& at, std::string& out) {
  RETURN_IF_ERROR(Fields(at).required("name", out).done());
  return out.empty() ? Status(at.corrupt("a value has an empty name")) : Status();
}

template <typename T>
static Status read(const Json& at, SymArg<T>& out) {
  ASSIGN_OR_RETURN(const Alternative one, read_union(at));
  const Json value(one.value, at, one.key);
  if (one.key == "as_name") return read_value_name(value, out.name);
  if (one.key == literal_key<T>()) return read(value, out.value);
  return unknown_alternative(at, one.key);
}
static Status read(const Json& at, SymIntsArg& out) { return read(at, out.items); }
static Status read(const Json& at, SymFloatsArg& out) { return read(at, out.items); }
static Status read(const Json& at, SymBoolsArg& out) { return read(at, out.items); }

// Arguments.

static Status read(const Json& at, NoneArg& out) { return {}; }
static Status read(const Json& at, TensorArg& out) { return read_named(at, out.name); }
static Status read(const Json& at, TensorsArg& out) { return read_list(at, out.names, read_named); }
static Status read(const Json& at, NestedTensorsArg& out) {
  return read_list(at, out.names, [](const Json& item, std::vector<std::string>& names) {
    return read_list(item, names, read_named);
  });
}

static Status read_optional_named(const Json& at, std::optional<std::string>& out) {
  ASSIGN_OR_RETURN(const Alternative one, read_union(at));
  if (one.key == "as_none") return out.reset(), Status();
  if (one.key != "as_tensor") return unknown_alternative(at, one.key);
  return read_named(Json(one.value, at, one.key), out.emplace());
}
static Status read(const Json& at, OptionalTensorsArg& out) { return read_list(at, out.names, read_optional_named); }

static Status read_optional_tensor(const Json& at, Argument& out) {
  std::optional<std::string> name;
  RETURN_IF_ERROR(read_optional_named(at, name));
  if (name) out = TensorArg{std::move(*name)};
  return {};
}

// Sizes are counted first, so that the vectors are exactly as large as needed.
template <typename T>
static Status read(const Json& at, ListsArg<T>& out) {
  simdjson::dom::array lists, items;
  if (at.element().get(lists) != simdjson::SUCCESS) return at.wrong_type("a list");
  size_t num_lists = 0, num_values = 0;
  for (simdjson::dom::element list : lists) {
    const Json list_at(list, at, num_lists++);
    if (list.get(items) != simdjson::SUCCESS) return list_at.wrong_type("a list");
    for (auto it = items.begin(); it != items.end(); ++it) ++num_values;
  }
  out.ends.reserve(num_lists);
  out.values.reserve(num_values);
  for (simdjson::dom::element list : lists) {
    const Json list_at(list, at, out.ends.size());
    if (list.get(items) != simdjson::SUCCESS) return list_at.wrong_type("a list");
    size_t index = 0;
    for (simdjson::dom::element item : items) {
      RETURN_IF_ERROR(read(Json(item, list_at, index++), out.values.emplace_back()));
    }
    out.ends.push_back(static_cast<uint32_t>(out.values.size()));
  }
  return {};
}

static Status read(const Json& at, ComplexArg& out) {
  return Fields(at).required("real", out.real).required("imag", out.imag).done();
}
static Status read(const Json& at, StringsArg& out) { return read(at, out.values); }
static Status read(const Json& at, OperatorArg& out) { return read(at, out.name); }
static Status read(const Json& at, BoolsArg& out) {
  return read_list(at, out.values, [](const Json& item, uint8_t& value) -> Status {
    bool flag = false;
    RETURN_IF_ERROR(read(item, flag));
    value = flag;
    return Status();
  });
}

template <typename T>
static Status read_shared(const Json& at, std::shared_ptr<const T>& out) {
  auto value = std::make_shared<T>();
  RETURN_IF_ERROR(read(at, *value));
  out = std::move(value);
  return {};
}
static Status read(const Json& at, DeviceArg& out) { return read_shared(at, out.device); }
static Status read(const Json& at, CustomObj& out) {
  RETURN_IF_ERROR(read_named(at, out.name));
  return Fields(at).required("class_fqn", out.class_fqn).done();
}
static Status read(const Json& at, CustomObjArg& out) { return read_shared(at, out.object); }
static Status read(const Json& at, DictArg& out) { return read(at, out.items); }
static Status read(const Json& at, std::shared_ptr<const DictArg>& out) { return read_shared(at, out); }
static Status read(const Json& at, std::shared_ptr<const Graph>& out) { return read_shared(at, out); }
static Status read(const Json& at, GraphArg& out) {
  return Fields(at).required("name", out.name).required("graph", out.graph).done();
}

template <typename T>
static Status read_as(const Json& at, Argument& out) {
  T value = {};
  RETURN_IF_ERROR(read(at, value));
  out.emplace<T>(std::move(value));
  return {};
}

struct ArgumentRow {
  std::string_view key;
  Status (*read)(const Json&, Argument&);
};
constexpr ArgumentRow kArgumentRows[] = {
    {"as_tensor", read_as<TensorArg>},
    {"as_int", read_as<int64_t>},
    {"as_none", read_as<NoneArg>},
    {"as_ints", read_as<std::vector<int64_t>>},
    {"as_bool", read_as<bool>},
    {"as_float", read_as<double>},
    {"as_sym_int", read_as<SymIntArg>},
    {"as_sym_ints", read_as<SymIntsArg>},
    {"as_tensors", read_as<TensorsArg>},
    {"as_string", read_as<std::string>},
    {"as_strings", read_as<StringsArg>},
    {"as_floats", read_as<std::vector<double>>},
    {"as_bools", read_as<BoolsArg>},
    {"as_scalar_type", read_as<DType>},
    {"as_memory_format", read_as<MemoryFormat>},
    {"as_layout", read_as<Layout>},
    {"as_device", read_as<DeviceArg>},
    {"as_optional_tensor", read_optional_tensor},
    {"as_optional_tensors", read_as<OptionalTensorsArg>},
    {"as_nested_tensors", read_as<NestedTensorsArg>},
    {"as_int_lists", read_as<ListsArg<int64_t>>},
    {"as_float_lists", read_as<ListsArg<double>>},
    {"as_complex", read_as<ComplexArg>},
    {"as_sym_float", read_as<SymFloatArg>},
    {"as_sym_floats", read_as<SymFloatsArg>},
    {"as_sym_bool", read_as<SymBoolArg>},
    {"as_sym_bools", read_as<SymBoolsArg>},
    {"as_graph", read_as<GraphArg>},
    {"as_custom_obj", read_as<CustomObjArg>},
    {"as_operator", read_as<OperatorArg>},
    {"as_string_to_argument", read_as<std::shared_ptr<const DictArg>>},
};

static Status read(const Json& at, NamedArgument& out) {
  return Fields(at).required("name", out.name).required("arg", out.arg).optional("kind", out.kind).done();
}

// Nodes and graphs.

struct Metadata {
  Origin* origin;
};
static Status read(const Json& at, Metadata& out) {
  std::string stack, trace;
  RETURN_IF_ERROR(Fields(at).optional("nn_module_stack", stack).optional("stack_trace", trace).done());
  *out.origin = read_origin(stack, trace);
  return {};
}

static Status read(const Json& at, Node& out) {
  Metadata metadata = {&out.origin};
  RETURN_IF_ERROR(Fields(at)
                      .required("target", out.target)
                      .required("inputs", out.inputs)
                      .required("outputs", out.outputs)
                      .required("metadata", metadata)
                      .optional("is_hop_single_tensor_return", out.is_hop_single_tensor_return)
                      .optional("name", out.name)
                      .done());
  if (out.name.empty() && out.outputs.size() == 1) {  // schema below 8.17
    if (const auto* tensor = std::get_if<TensorArg>(&out.outputs[0])) out.name = tensor->name;
  }
  return {};
}

struct CustomObjTable {
  Map<std::string>* values;
};
static Status read(const Json& at, CustomObjTable& out) {
  Map<CustomObj> objects;
  RETURN_IF_ERROR(read(at, objects));
  for (auto& [name, object] : objects) out.values->emplace(name, std::move(object.class_fqn));
  return {};
}

// Signature.

template <typename Spec, typename Row, size_t N>
static Status read_spec(const Json& at, const Row (&rows)[N], Spec& out) {
  ASSIGN_OR_RETURN(const Alternative one, read_union(at));
  const Json value(one.value, at, one.key);
  for (const Row& row : rows) {
    if (row.key == one.key) return row.read(value, row, out);
  }
  return unknown_alternative(at, one.key);
}

template <typename Spec, typename Kind>
struct SpecRow {
  std::string_view key;
  Kind kind;
  std::string_view target;  // the field that names what the spec refers to, "" if none
  Status (*read)(const Json&, const SpecRow&, Spec&);
};
using InputRow = SpecRow<InputSpec, InputKind>;
using OutputRow = SpecRow<OutputSpec, OutputKind>;

// {arg: Argument}
template <typename Spec, typename Kind>
static Status read_user(const Json& at, const SpecRow<Spec, Kind>& row, Spec& out) {
  out.kind = row.kind;
  return Fields(at).required("arg", out.arg).done();
}

// {arg: {name ..}, <target>: str}
template <typename Spec, typename Kind>
static Status read_bound(const Json& at, const SpecRow<Spec, Kind>& row, Spec& out) {
  out.kind = row.kind;
  TensorArg arg;
  Fields fields(at);
  fields.required("arg", arg);
  if (!row.target.empty()) fields.required(row.target, out.target);
  if constexpr (std::is_same_v<Spec, InputSpec>) {
    if (row.kind == InputKind::buffer) fields.required("persistent", out.persistent);
  }
  out.arg = std::move(arg);
  return fields.done();
}

static Status read_custom_obj(const Json& at, const InputRow& row, InputSpec& out) {
  out.kind = row.kind;
  CustomObjArg arg;
  RETURN_IF_ERROR(Fields(at).required("arg", arg).required(row.target, out.target).done());
  out.arg = std::move(arg);
  return {};
}

// The value is a literal: none, int, float, string or bool.
static Status read_constant(const Json& at, const InputRow& row, InputSpec& out) {
  out.kind = row.kind;
  RETURN_IF_ERROR(Fields(at).required("name", out.target).required("value", out.arg).done());
  const bool is_literal = std::holds_alternative<NoneArg>(out.arg) || std::holds_alternative<int64_t>(out.arg) ||
                          std::holds_alternative<double>(out.arg) || std::holds_alternative<std::string>(out.arg) ||
                          std::holds_alternative<bool>(out.arg);
  return is_literal ? Status() : Status(at.corrupt("a constant input is not a literal"));
}

constexpr InputRow kInputRows[] = {
    {"user_input", InputKind::user_input, "", read_user},
    {"constant_input", InputKind::constant_input, "name", read_constant},
    {"parameter", InputKind::parameter, "parameter_name", read_bound},
    {"buffer", InputKind::buffer, "buffer_name", read_bound},
    {"tensor_constant", InputKind::tensor_constant, "tensor_constant_name", read_bound},
    {"custom_obj", InputKind::custom_obj, "custom_obj_name", read_custom_obj},
    {"token", InputKind::token, "", read_bound},
};

constexpr OutputRow kOutputRows[] = {
    {"user_output", OutputKind::user_output, "", read_user},
    {"buffer_mutation", OutputKind::buffer_mutation, "buffer_name", read_bound},
    {"parameter_mutation", OutputKind::parameter_mutation, "parameter_name", read_bound},
    {"user_input_mutation", OutputKind::user_input_mutation, "user_input_name", read_bound},
    {"loss_output", OutputKind::loss_output, "", read_bound},
    {"gradient_to_parameter", OutputKind::gradient_to_parameter, "parameter_name", read_bound},
    {"gradient_to_user_input", OutputKind::gradient_to_user_input, "user_input_name", read_bound},
    {"token", OutputKind::token, "", read_bound},
};

Status read(const Json& at, TensorMeta& out) {
  return Fields(at)
      .required("dtype", out.dtype)
      .required("sizes", out.sizes)
      .required("requires_grad", out.requires_grad)
      .required("device", out.device)
      .required("strides", out.strides)
      .required("storage_offset", out.storage_offset)
      .required("layout", out.layout)
      .done();
}

Status read(const Json& at, Argument& out) {
  ASSIGN_OR_RETURN(const Alternative one, read_union(at));
  for (const ArgumentRow& row : kArgumentRows) {
    if (row.key == one.key) return row.read(Json(one.value, at, one.key), out);
  }
  return unknown_alternative(at, one.key);
}

Status read(const Json& at, Graph& out) {
  CustomObjTable objects = {&out.custom_obj_values};
  return Fields(at)
      .required("inputs", out.inputs)
      .required("outputs", out.outputs)
      .required("nodes", out.nodes)
      .required("tensor_values", out.tensor_values)
      .required("sym_int_values", out.sym_int_values)
      .required("sym_bool_values", out.sym_bool_values)
      .optional("is_single_tensor_return", out.is_single_tensor_return)
      .optional("custom_obj_values", objects)
      .optional("sym_float_values", out.sym_float_values)
      .done();
}

Status read(const Json& at, InputSpec& out) { return read_spec(at, kInputRows, out); }
Status read(const Json& at, OutputSpec& out) { return read_spec(at, kOutputRows, out); }

}  // namespace wick::compiler::pt2
