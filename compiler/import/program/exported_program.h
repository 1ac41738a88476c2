// The contents of a .pt2 file as plain structures: torch.export's schema 8.x, checked but not interpreted.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/import/archive/archive.h"
#include "compiler/support/result.h"
#include "wick/dtype.h"
#include "wick/span.h"

namespace wick::compiler::pt2 {

/// Maps with a fixed order, so that whoever walks them is deterministic.
template <typename T>
using Map = std::map<std::string, T, std::less<>>;

/// sympy text, for example "Add(Symbol('s77', positive=True, integer=True), Integer(-1))", not parsed.
struct SymExpr {
  std::string text;
  std::variant<std::monostate, int64_t, bool, double> hint;  // value for the example input: never a bound
};

/// A number known when the model was exported (`expr` is null), or an expression.
template <typename T>
struct Sym {
  T value = {};
  std::shared_ptr<const SymExpr> expr;
  bool is_literal() const { return expr == nullptr; }
};
using SymInt = Sym<int64_t>;
using SymFloat = Sym<double>;
using SymBool = Sym<bool>;

/// The numbers are the schema's.
enum class Layout : uint8_t {
  unknown = 0,
  sparse_coo,
  sparse_csr,
  sparse_csc,
  sparse_bsr,
  sparse_bsc,
  mkldnn,
  strided
};
enum class MemoryFormat : uint8_t { unknown = 0, contiguous, channels_last, channels_last_3d, preserve };
enum class ArgumentKind : uint8_t { unknown = 0, positional, keyword };

struct Device {
  std::string type;  // "cpu" ..
  std::optional<int64_t> index;
};

/// Strides and offset show which tensors share memory. They are those of the traced run: the stride of a dimension of
/// size 1 has no meaning.
struct TensorMeta {
  DType dtype = DType::f32;
  Layout layout = Layout::strided;
  bool requires_grad = false;
  std::vector<SymInt> sizes;
  std::vector<SymInt> strides;
  SymInt storage_offset;
  Device device;
};

struct Graph;

// The alternatives of Argument that need a name of their own.
struct NoneArg {};
struct TensorArg {
  std::string name;
};  // may also name a symbolic or custom value
struct TensorsArg {
  std::vector<std::string> names;
};  // also an untyped empty list
struct OptionalTensorsArg {
  std::vector<std::optional<std::string>> names;
};
struct NestedTensorsArg {
  std::vector<std::vector<std::string>> names;
};
/// A list of lists, back to back: `ends[i]` is where list i ends in `values`.
template <typename T>
struct ListsArg {
  std::vector<T> values;
  std::vector<uint32_t> ends;
  size_t size() const { return ends.size(); }
  Span<const T> list(size_t i) const {
    const size_t start = i == 0 ? 0 : ends[i - 1];
    return {values.data() + start, ends[i] - start};
  }
};
struct ComplexArg {
  double real = 0, imag = 0;
};
struct BoolsArg {
  std::vector<uint8_t> values;
};
struct StringsArg {
  std::vector<std::string> values;
};
/// A value of the graph, or, if `name` is empty, a literal.
template <typename T>
struct SymArg {
  std::string name;
  T value = {};
  bool is_literal() const { return name.empty(); }
};
using SymIntArg = SymArg<int64_t>;
using SymFloatArg = SymArg<double>;
using SymBoolArg = SymArg<bool>;
struct SymIntsArg {
  std::vector<SymIntArg> items;
};
struct SymFloatsArg {
  std::vector<SymFloatArg> items;
};
struct SymBoolsArg {
  std::vector<SymBoolArg> items;
};
struct GraphArg {
  std::string name;
  std::shared_ptr<const Graph> graph;
};
struct CustomObj {
  std::string name, class_fqn;
};
struct CustomObjArg {
  std::shared_ptr<const CustomObj> object;
};
struct OperatorArg {
  std::string name;
};
struct DeviceArg {
  std::shared_ptr<const Device> device;
};
struct DictArg;

/// One argument, result, graph input or graph output. as_optional_tensor reads as TensorArg or NoneArg.
/// Its copy and destructor are compiled once, in exported_program_types.cpp, like those of the other large types below.
struct Argument : std::variant<NoneArg, TensorArg, TensorsArg, OptionalTensorsArg, NestedTensorsArg, int64_t,
                               std::vector<int64_t>, ListsArg<int64_t>, double, std::vector<double>, ListsArg<double>,
                               ComplexArg, bool, BoolsArg, std::string, StringsArg, SymIntArg, SymIntsArg, SymFloatArg,
                               SymFloatsArg, SymBoolArg, SymBoolsArg, DType, MemoryFormat, Layout, DeviceArg, GraphArg,
                               CustomObjArg, OperatorArg, std::shared_ptr<const DictArg>> {
  using variant::variant;
  Argument();
  Argument(const Argument& other);
  Argument(Argument&& other) noexcept;
  Argument& operator=(const Argument& other);
  Argument& operator=(Argument&& other) noexcept;
  ~Argument();
};

/// as_string_to_argument: keyword arguments of a higher-order op.
struct DictArg {
  Map<Argument> items;
};

struct NamedArgument {
  std::string name;  // the schema's; "" for positional arguments of higher-order ops
  Argument arg;
  ArgumentKind kind = ArgumentKind::unknown;
};

/// Where a node comes from in the user's program; empty fields are unknown.
struct Origin {
  std::string module_path;   // "encoder.attn", of the innermost module
  std::string module_class;  // "model.Attention"
  std::string file;          // as in the stack trace; never opened
  int64_t line = 0;          // 1-based, 0 = unknown
  std::string code;          // the text of that line

  /// "model.py:118" (file name without folders), or "".
  std::string source() const;
};

struct Node {
  Node();
  Node(const Node& other);
  Node(Node&& other) noexcept;
  Node& operator=(const Node& other);
  Node& operator=(Node&& other) noexcept;
  ~Node();

  std::string target;  // "torch.ops.aten.add.Tensor", "_operator.mul" ..
  std::string name;    // unique in its graph
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;  // one per schema return
  std::optional<bool> is_hop_single_tensor_return;
  Origin origin;
};

/// Every name used was defined by an input or an earlier node, every name is defined once, and each has an entry in one
/// of the tables. Nested graphs have their own names and tables.
struct Graph {
  Graph();
  Graph(const Graph& other);
  Graph(Graph&& other) noexcept;
  Graph& operator=(const Graph& other);
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;  // in topological order
  Map<TensorMeta> tensor_values;
  Map<SymInt> sym_int_values;
  Map<SymBool> sym_bool_values;
  Map<SymFloat> sym_float_values;
  Map<std::string> custom_obj_values;  // to class_fqn
  bool is_single_tensor_return = false;
};

enum class InputKind : uint8_t { user_input, constant_input, parameter, buffer, tensor_constant, custom_obj, token };

struct InputSpec {
  InputKind kind = InputKind::user_input;
  Argument arg;        // the graph input; for constant_input the literal (none, int, float, bool, string)
  std::string target;  // parameter, buffer or constant name (the key of weights or constants); constant_input: its name
  bool persistent = true;  // buffers: data in weights, else in constants
};

enum class OutputKind : uint8_t {
  user_output,
  buffer_mutation,
  parameter_mutation,
  user_input_mutation,
  loss_output,
  gradient_to_parameter,
  gradient_to_user_input,
  token,
};

struct OutputSpec {
  OutputKind kind = OutputKind::user_output;
  Argument arg;
  std::string target;  // buffer, parameter or user input (placeholder) name
};

struct RangeConstraint {
  std::optional<int64_t> min, max;  // none = unbounded
};

/// The data behind a name. Element i lies at (storage_offset + sum of index * stride) * element size of `bytes`, which
/// is the whole storage, inside the mapped file, in little-endian order; every element is inside. Names may share a
/// payload.
struct Subclass;
struct Payload {
  /// `subclass`: dtype and sizes are those of the tensor that it represents; its data are in the tensors inside.
  /// `object`: only its name can be used, not its data.
  enum class Kind : uint8_t { tensor, subclass, object };
  Kind kind = Kind::tensor;
  std::string path_name;  // "weight_3": equal for names that share a payload
  Span<const uint8_t> bytes;
  bool is_param = false;
  bool requires_grad = false;
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t storage_offset = 0;
  std::shared_ptr<const Subclass> subclass;  // null for other kinds, and where it cannot be read
  std::string refusal;                       // why it cannot be read
};

/// A tensor subclass of torchao as its pickle describes it. Fields of a record have the name "record.field"; dtypes,
/// classes and functions are strings without their module, enumerators their value.
struct Subclass {
  using Attribute = std::variant<bool, int64_t, std::string, std::vector<int64_t>>;
  std::string class_name;  // without its module
  Map<Payload> tensors;    // each may be a subclass itself
  Map<Attribute> attributes;
};

struct ExportedProgram {
  ExportedProgram();
  ExportedProgram(ExportedProgram&& other) noexcept;
  ExportedProgram& operator=(ExportedProgram&& other) noexcept;
  ~ExportedProgram();

  Graph graph;
  std::vector<InputSpec> input_specs;    // parallel to graph.inputs
  std::vector<OutputSpec> output_specs;  // parallel to graph.outputs
  Map<RangeConstraint> range_constraints;
  int64_t schema_major = 0, schema_minor = 0;
  std::string torch_version;
  std::vector<std::string> size_rules;  // Python conditions on the inputs' sizes (guards_code)
  std::vector<std::string> verifiers;   // {"TRAINING"} or {"ATEN"}: the dialect
  std::string in_spec, out_spec;        // pytree specs as JSON text, "" if absent
  std::vector<std::string> forward_arg_names;
  Map<std::vector<std::string>> namedtuple_fields;
  Map<Payload> weights;                         // state dict name -> data: parameters, persistent buffers
  Map<Payload> constants;                       // the other tensors and objects
  std::vector<std::string> unchecked_payloads;  // entries without a recorded checksum
};

struct ReadOptions {
  bool check_payload_crc = true;
};

/// Names of the archive's programs, sorted; torch.export.save writes one, "model".
Result<std::vector<std::string>> model_names(const Archive& archive);

/// Reads one program and locates its data. The archive's bytes must outlive the result: payloads point into them.
/// Memory: at most 16 times the JSON's size plus 64 MB; payloads are not copied.
/// Errors: corrupt_file for anything that breaks the format; incompatible_file for another schema version or an unknown
/// alternative; unsupported_model for data that needs Python to be read; limit.
Result<ExportedProgram> read_exported_program(const Archive& archive, std::string_view model_name,
                                              const ReadOptions& options = {});

}  // namespace wick::compiler::pt2
