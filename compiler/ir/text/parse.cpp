#include <fmt/format.h>
#include <string.h>

#include <cmath>

#include "common/float16.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/delegate.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/quantization.h"
#include "compiler/ir/text/text.h"
#include "compiler/ir/text/text_reader.h"
#include "compiler/support/failure.h"
#include "compiler/support/limits.h"

namespace wick::compiler {
namespace {

constexpr int kMaxNesting = 32;

class Parser : private TextReader {
 public:
  explicit Parser(std::string_view text) : TextReader(text) {}

  Function parse_function() {
    expect_word("graph");
    Function function;
    function.name = next_is('(') ? "forward" : word();
    function.graph = parse_body();
    skip();
    if (!at_end()) error("the end of the text: a file holds one graph");
    return function;
  }

 private:
  using Scope = std::map<std::string, Value*, std::less<>>;

  // --- types and values ---
  Type type() {
    const std::string name = word();
    if (name == "float") return Type::real();
    if (name == "bool" && !next_is('[')) return Type::boolean();
    if (name == "int") {
      expect('(');
      Sym expr = sym(")");
      expect(')');
      return Type::integer(expr);
    }
    TensorType t;
    if (!dtype_from_name(name.data(), name.size(), &t.dtype)) error("a dtype");
    expect('[');
    t.sizes = list<Sym>([&] { return sym(",]"); }, ']');
    if (t.sizes.size() > 64) error("at most 64 dimensions");
    if (at("{")) {
      expect('{');
      for (const Sym& s : list<Sym>([&] { return sym(",}"); }, '}'))
        t.dim_order.push_back(static_cast<uint8_t>(s.is_const() && s.value() < 64 ? s.value() : 255));
      uint64_t seen = 0;
      for (const uint8_t dim : t.dim_order) {
        if (dim >= t.sizes.size() || (seen >> dim & 1) != 0) error("each dimension once in the dim order");
        seen |= uint64_t{1} << dim;
      }
      if (t.dim_order.size() != t.sizes.size()) error("each dimension once in the dim order");
    }
    if (at("q(") && accept('q')) quantization(t);
    return Type::of(std::move(t));
  }

  // --- quantization ---
  void quantization(TensorType& t) {
    auto made = std::make_shared<Quantization>();
    Quantization& q = *made;
    if (!integer_range(t.dtype, &q.quant_min, &q.quant_max)) error("a quantization of integers only");
    q.blocks.resize(t.sizes.size());
    q.scales.dtype = DType::f64;
    q.zero_points.dtype = DType::i64;
    expect('(');
    do quantization_part(q);
    while (accept(','));
    expect(')');
    t.quantization = std::move(made);
    const std::string reason = refuse_quantization(t);
    if (!reason.empty()) error("a valid quantization: this one has " + reason);
  }
  void quantization_part(Quantization& q) {
    const std::string key = word();
    if (dtype_from_name(key.data(), key.size(), &q.real)) return;
    if (key == "affine") {
      q.family = Quantization::Family::affine;
      return;
    }
    expect('=');
    if (key == "range") {
      q.quant_min = bound(".");
      expect('.');
      expect('.');
      q.quant_max = bound(",)");
    } else if (key == "blocks") {
      expect('[');
      q.blocks = list<int64_t>([&] { return bound(",]"); }, ']');
    } else if (key == "at_run_time") {
      q.at_run_time.emplace().symmetric = accept_word("symmetric");
      if (!q.at_run_time->symmetric) expect_word("asymmetric");
    } else if (key == "least" && q.at_run_time) {
      q.at_run_time->least_scale = real(expression(",)"));
    } else if (key == "scale") {
      numbers(q, q.scales);
    } else if (key == "zero") {
      numbers(q, q.zero_points);
    } else {
      error("a part of a quantization");
    }
  }
  // One number or a list; its dtype may stand in front.
  void numbers(const Quantization& q, NumberList& out) {
    skip();
    DType dtype = out.dtype;
    if (at_letter()) {
      const std::string name = word();
      if (!dtype_from_name(name.data(), name.size(), &dtype) || !NumberList::can_hold(dtype)) error("a dtype");
      out.dtype = dtype;
      if (q.at_run_time) return;
    }
    std::vector<double> found;
    if (!accept('[')) {
      found.push_back(real(expression(",)")));
    } else {
      found = list<double>([&] { return real(expression(",]")); }, ']');
    }
    out = NumberList::of(dtype, found);
    for (size_t i = 0; is_integral(dtype) && i < found.size(); ++i) {
      if (out[i] != found[i]) error(fmt::format("numbers that {} holds", dtype_name(dtype)));
    }
  }
  template <typename T, typename F>
  std::vector<T> list(F&& item, char close) {
    std::vector<T> out;
    if (accept(close)) return out;
    do out.push_back(item());
    while (accept(','));
    expect(close);
    return out;
  }
  Value* value(const Scope& scope) {
    expect('%');
    const std::string name = word();
    auto it = scope.find(name);
    if (it == scope.end()) error(fmt::format("a value defined before, not %{}", name));
    return it->second;
  }
  void define(Scope& scope, const std::string& name, Value* v) {
    v->name = name;
    if (!scope.emplace(name, v).second) error(fmt::format("a name other than %{}, which is taken", name));
  }

  // --- arguments, read as the schema says ---
  Arg number(std::string_view stops) {
    std::string_view text = expression(stops);
    if (text == "true") return true;
    if (text == "false") return false;
    const bool is_real = text == "inf" || text == "-inf" || text == "nan" ||
                         (text.find_first_not_of("0123456789.eE+-") == std::string_view::npos &&
                          text.find_first_of(".eE") != std::string_view::npos);
    if (is_real) return real(text);
    auto parsed = parse_sym(text);
    if (!parsed.ok()) fail(std::move(parsed.diag()));
    return *parsed;
  }
  Arg argument(const ArgSpec& spec, const Scope& scope) {
    if (accept_word("none")) return None{};
    if (next_is('%')) return value(scope);
    if (next_is('"')) return string();
    const bool listed = accept('[');
    auto item_value = [&]() -> Value* { return accept_word("none") ? nullptr : value(scope); };
    switch (spec.type) {
      case ArgType::tensor_list:
      case ArgType::optional_tensor_list:
        if (!listed) error("a list");
        return list<Value*>(item_value, ']');
      case ArgType::int_list:
        if (!listed) return sym(",)");
        return Ints(list<Sym>([&] { return sym(",]"); }, ']'));
      case ArgType::real_list:
        if (!listed) error("a list");
        return list<double>([&] { return real(expression(",]")); }, ']');
      case ArgType::bool_list:
        if (!listed) error("a list");
        return list<bool>([&] { return word() == "true"; }, ']');
      case ArgType::dtype: {
        const std::string name = word();
        DType dtype;
        if (!dtype_from_name(name.data(), name.size(), &dtype)) error("a dtype");
        return dtype;
      }
      default:
        if (listed) error("no list");
        return number(",)");
    }
  }

  // --- statements ---
  std::unique_ptr<Graph> parse_body() {
    if (++nesting_ > kMaxNesting) error("less nesting");
    auto graph = std::make_unique<Graph>();
    Scope scope;
    expect('(');
    if (!accept(')')) {
      do input(*graph, scope);
      while (accept(','));
      expect(')');
    }
    expect('{');
    while (!accept_word("return")) statement(*graph, scope);
    if (!next_is('}')) {
      do output(*graph, scope);
      while (accept(','));
    }
    expect('}');
    --nesting_;
    return graph;
  }

  void input(Graph& graph, Scope& scope) {
    if (accept('%')) {
      const std::string name = word();
      expect(':');
      define(scope, name, graph.add_input(type(), name));
      return;
    }
    GraphInput in;
    if (accept_word("none")) {
      in.kind = GraphInput::Kind::none;
    } else if (next_is('"')) {
      in.kind = GraphInput::Kind::string;
      in.string = string();
    } else {
      const Arg literal = number(",)");
      if (literal.is<double>()) {
        in.kind = GraphInput::Kind::real;
        in.real = literal.as<double>();
      } else if (literal.is<bool>()) {
        in.kind = GraphInput::Kind::boolean;
        in.integer = literal.as<bool>();
      } else {
        in.kind = GraphInput::Kind::integer;
        if (!literal.as<Sym>().is_const()) error("a constant");
        in.integer = literal.as<Sym>().value();
      }
    }
    graph.inputs.push_back(std::move(in));
  }

  void output(Graph& graph, const Scope& scope) {
    GraphOutput out;
    out.leaf = static_cast<int>(graph.outputs.size());
    if (next_is('%')) {
      out.value = value(scope);
    } else if (accept_word("none")) {
      out.kind = GraphOutput::Kind::none;
    } else if (next_is('"')) {
      out.kind = GraphOutput::Kind::string;
      out.string = string();
    } else if (accept_word("bool")) {
      out.kind = GraphOutput::Kind::boolean;
      out.integer = sym(",}");
    } else {
      const Arg literal = number(",}\n");
      out.kind = literal.is<double>() ? GraphOutput::Kind::real
                 : literal.is<bool>() ? GraphOutput::Kind::boolean
                                      : GraphOutput::Kind::integer;
      if (literal.is<double>())
        out.real = literal.as<double>();
      else
        out.integer = literal.is<bool>() ? Sym(literal.as<bool>()) : literal.as<Sym>();
    }
    graph.add_output(std::move(out));
  }

  void statement(Graph& graph, Scope& scope) {
    if (accept_word("range")) {
      std::string name(expression(":"));
      expect(':');
      SymRange range;
      range.min = bound(".");
      expect('.');
      expect('.');
      range.max = accept_word("inf") ? kUnbounded : bound("\n ");
      range.from_data = accept_word("from_data");
      if (!graph.ranges.emplace(name, range).second) error("one range for each symbol");
    } else if (accept_word("const")) {
      stored(graph, scope, ValueKind::constant);
    } else if (accept_word("state")) {
      stored(graph, scope, ValueKind::state);
    } else if (accept_word("held")) {
      stored(graph, scope, ValueKind::held);
    } else if (accept_word("delegate")) {
      delegate(graph);
    } else if (accept_word("update")) {
      Value* target = value(scope);
      expect('=');
      graph.add_update(target, value(scope));
    } else {
      node(graph, scope);
    }
  }

  int64_t bound(std::string_view stops) {
    const Sym s = sym(stops);
    if (!s.is_const()) error("a number");
    return s.value();
  }

  void stored(Graph& graph, Scope& scope, ValueKind kind) {
    expect('%');
    const std::string name = word();
    expect(':');
    Type t = type();
    if (!t.is_tensor()) error("a tensor type");
    const std::string fqn = next_is('"') ? string() : "";
    std::vector<uint8_t> bytes = zeros(t.tensor);
    if (accept('=')) {
      if (accept('[')) {
        size_t index = 0;
        const size_t item = dtype_size_bytes(t.tensor.dtype);
        auto element = [&] {
          const Arg literal = number(",]");
          if ((index + 1) * item > bytes.size()) error("no more elements than the type has");
          store(t.tensor.dtype, literal, bytes.data() + item * index++);
          return 0;
        };
        list<int>(element, ']');
        if (index * item != bytes.size()) error("as many elements as the type has");
      } else {
        expect('.');
        expect('.');
        expect('.');
      }
    }
    auto owned = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    ConstantData data{Span<const uint8_t>(owned->data(), owned->size()), owned};
    Value* value = kind == ValueKind::constant ? graph.add_constant(t.tensor, data, name, fqn)
                                               : graph.add_state(t.tensor, data, name, fqn);
    value->kind = kind;
    define(scope, name, value);
  }

  // The text holds the size of a payload, not its bytes.
  void delegate(Graph& graph) {
    auto made = std::make_shared<Delegate>();
    made->id = string();
    const int64_t bytes = bound("\n ");
    if (bytes < 0) error("a number of bytes");
    made->payload = zeros({DType::u8, {bytes}, {}});
    graph.delegates.push_back(std::move(made));
  }

  std::vector<uint8_t> zeros(const TensorType& t) {
    int64_t bytes = static_cast<int64_t>(dtype_size_bytes(t.dtype));
    for (const Sym& size : t.sizes) {
      if (!size.is_const() || size.value() < 0) error("constant sizes");
      if (__builtin_mul_overflow(bytes, size.value(), &bytes)) error("a constant that 64 bits can count");
    }
    // Each size is checked before it is added, so the sum cannot overflow.
    const uint64_t most = limits().expanded_bytes;
    if (static_cast<uint64_t>(bytes) > most || constant_bytes_ + static_cast<uint64_t>(bytes) > most)
      fail(over_limit(&Limits::expanded_bytes, "IR text: the constants take too much memory"));
    constant_bytes_ += static_cast<uint64_t>(bytes);
    return std::vector<uint8_t>(static_cast<size_t>(bytes));
  }

  void store(DType dtype, const Arg& literal, uint8_t* out) {
    double value = literal.is<double>() ? literal.as<double>() : literal.is<bool>() ? literal.as<bool>() : 0;
    int64_t integer = literal.is<bool>() ? literal.as<bool>() : 0;
    if (literal.is<Sym>()) {
      if (!literal.as<Sym>().is_const()) error("a number");
      integer = literal.as<Sym>().value();
      value = static_cast<double>(integer);
    }
    auto put = [out](auto v) { memcpy(out, &v, sizeof v); };
    switch (dtype) {
      case DType::f32: return put(static_cast<float>(value));
      case DType::f64: return put(value);
      case DType::f16: return put(Half(static_cast<float>(value)).bits);
      case DType::bf16: return put(BFloat16(static_cast<float>(value)).bits);
      case DType::i64:
      case DType::u64: return put(integer);
      case DType::i32:
      case DType::u32: return put(static_cast<int32_t>(integer));
      case DType::i16:
      case DType::u16: return put(static_cast<int16_t>(integer));
      case DType::i8:
      case DType::u8: return put(static_cast<int8_t>(integer));
      case DType::boolean: return put(static_cast<uint8_t>(integer != 0));
      default: error("a dtype that can be written as numbers");
    }
  }

  void node(Graph& graph, Scope& scope) {
    struct Declared {
      std::string name;
      std::optional<Type> type;
    };
    std::vector<Declared> declared;
    if (next_is('%')) {
      do {
        expect('%');
        declared.push_back({word(), std::nullopt});
        if (accept(':')) declared.back().type = type();
      } while (accept(','));
      expect('=');
    }
    const std::string name = word();
    const OpDef* def = find_op(name);
    if (!def) def = find_op(name + ".default");
    if (!def) error(fmt::format("an operator Wick knows, not {}", printable(name)));
    Args args;
    expect('(');
    if (!accept(')')) {
      do {
        if (args.size() >= def->parsed->args.size())
          error(fmt::format("at most {} arguments", def->parsed->args.size()));
        args.push_back(argument(def->parsed->args[args.size()], scope));
      } while (accept(','));
      expect(')');
    }
    Node* made = graph.add_node(*def, std::move(args), declared.size());
    while (accept_word("graph")) made->graphs.push_back(parse_body());
    if (accept('@')) {
      auto origin = std::make_shared<Origin>();
      origin->module = string();
      origin->source = string();
      made->origin = origin;
    }
    for (size_t i = 0; i < declared.size(); ++i) {
      graph.reserve_name(declared[i].name);
      define(scope, declared[i].name, made->result(i));
      if (declared[i].type) made->result(i)->type = *declared[i].type;
    }
    if (def->infer) infer_types(*made);
    for (size_t i = 0; i < declared.size(); ++i) {
      Type& inferred = made->result(i)->type;
      if (!declared[i].type) continue;
      inferred.tensor.dim_order = declared[i].type->tensor.dim_order;
      if (declared[i].type->tensor.quantization && may_be_stored_as(*def, inferred, *declared[i].type)) {
        inferred.tensor.dtype = declared[i].type->tensor.dtype;
        inferred.tensor.quantization = declared[i].type->tensor.quantization;
      }
      if (may_be_stated(inferred.tensor.sizes, declared[i].type->tensor.sizes, graph.ranges))
        inferred.tensor.sizes = declared[i].type->tensor.sizes;
      if (def->infer && inferred != *declared[i].type)
        error(fmt::format("type {} for %{} of the statement before", to_text(inferred), declared[i].name));
    }
  }

  // A symbol may be stated in place of an inferred number only if its range is that number.
  static bool may_be_stated(const Sizes& inferred, const Sizes& stated, const SymRanges& ranges) {
    if (!sizes_agree(inferred, stated)) return false;
    for (size_t i = 0; i < stated.size(); ++i) {
      if (!inferred[i].is_const() || stated[i].is_const()) continue;
      const SymRange range = range_of(stated[i], ranges);
      if (range.min != inferred[i].value() || range.max != inferred[i].value()) return false;
    }
    return true;
  }

  int nesting_ = 0;
  uint64_t constant_bytes_ = 0;
};

}  // namespace

Result<Function> parse_graph(std::string_view text) {
  std::optional<Function> function;
  Status status = catch_failure([&] { function = Parser(text).parse_function(); });
  if (!status.ok()) return std::move(status.diag());
  return std::move(*function);
}

}  // namespace wick::compiler
