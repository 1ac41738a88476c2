// Writes the tables of a program whose methods never change (runtime/firmware/fixed_method.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/package/package_files.h"
#include "common/digest.h"

namespace wick::cli {
namespace {

template <typename T>
std::string initializer(const T& items) {
  return fmt::format("{{{}}}", fmt::join(items.begin(), items.end(), ", "));
}

/// The initialiser of a span: "{}" if the array is empty and hence not written.
std::string span(const std::string& array, bool empty) { return empty ? "{}" : array; }

/// Shapes, each once: name of the array -> definition.
class Arrays {
 public:
  template <typename T>
  std::string add(const char* type, const T& items) {
    if (items.empty()) return "nullptr";
    const std::string text = initializer(items);
    const std::string key = std::string(type) + text;
    const auto found = std::find(keys_.begin(), keys_.end(), key);
    const size_t index = static_cast<size_t>(found - keys_.begin());
    if (found == keys_.end()) {
      keys_.push_back(key);
      out_ += fmt::format("constexpr {} kArray{}[] = {};\n", type, index, text);
    }
    return fmt::format("kArray{}", index);
  }
  const std::string& text() const { return out_; }

 private:
  std::vector<std::string> keys_;
  std::string out_;
};

std::string int64_text(int64_t value) { return value == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", value); }

std::string real(double value) {
  if (value != value) return "__builtin_nan(\"\")";
  if (value - value != 0) return value > 0 ? "__builtin_inf()" : "-__builtin_inf()";
  return fmt::format("{:a}", value);
}

std::string constant_text(const ValueMeta& value, const std::vector<int64_t>& ints, Arrays* arrays, std::string* lists,
                          size_t index) {
  switch (value.tag) {
    case Tag::integer: return fmt::format("{{{}}}", int64_text(value.integer));
    case Tag::boolean: return fmt::format("{{{}}}", value.boolean);
    case Tag::real: return fmt::format("{{{}}}", real(value.real));
    case Tag::int_list: {
      std::vector<std::string> items;
      for (const int64_t item : ints) items.push_back(int64_text(item));
      const std::string array = arrays->add("int64_t", items);
      *lists += fmt::format("constexpr wick::IntListValue kList{} = {{nullptr, const_cast<int64_t*>({}), {}}};\n",
                            index, array == "nullptr" ? "static_cast<const int64_t*>(nullptr)" : array, ints.size());
      return fmt::format("{{wick::Tag::int_list, &kList{}, 0}}", index);
    }
    case Tag::real_list: {
      std::vector<std::string> items;
      for (const double item : value.reals) items.push_back(real(item));
      return fmt::format("{{wick::Tag::real_list, {}, {}}}", arrays->add("double", items), items.size());
    }
    case Tag::bool_list: {
      std::vector<std::string> items;
      for (const bool item : value.bools) items.push_back(item ? "true" : "false");
      return fmt::format("{{wick::Tag::bool_list, {}, {}}}", arrays->add("bool", items), items.size());
    }
    case Tag::string: {
      std::vector<int> items;
      for (const char c : value.string) items.push_back(c);
      items.push_back(0);
      return fmt::format("{{wick::Tag::string, {}, {}}}", arrays->add("char", items), value.string.size());
    }
    default: return "{}";
  }
}

std::string tensor_text(const FixedTensorPlan& tensor, uint64_t first, Arrays* arrays) {
  const TensorMeta& meta = tensor.meta;
  const bool constant = meta.storage == Storage::constant, initialized = !constant && meta.initialized;
  std::vector<int> order(meta.dim_order.begin(), meta.dim_order.end());
  return fmt::format("    {{static_cast<wick::DType>({}), {}, {}, {}, {}, {}, {}, {}, {}, {}}},\n",
                     static_cast<int>(meta.dtype), meta.sizes.size(), constant, initialized, meta.numel,
                     tensor.offset - (constant && meta.nbytes != 0 ? first
                                      : constant                   ? tensor.offset
                                                                   : 0),
                     initialized ? tensor.initial - first : 0,
                     arrays->add("int32_t", std::vector<int32_t>(meta.sizes.begin(), meta.sizes.end())),
                     arrays->add("int32_t", tensor.strides), arrays->add("uint8_t", order));
}

std::string ports(const std::vector<std::optional<uint32_t>>& tensors) {
  std::vector<std::string> items;
  for (const auto& tensor : tensors) items.push_back(tensor ? std::to_string(*tensor) : "wick::FixedTables::kNoTensor");
  return initializer(items);
}

/// The index of a kernel's row, counted through all tables of the package.
size_t kernel_row(const PackagePlan& plan, const std::string& name) {
  size_t row = 0;
  for (const bool of_backend : {true, false}) {
    for (const KernelPlan& kernel : plan.kernels) {
      if (kernel.of_backend != of_backend) continue;
      if (kernel.name == name) return row;
      ++row;
    }
  }
  return row;
}

std::string method_tables(const PackagePlan& plan, const ProgramPlan& program, size_t method) {
  const FixedMethodPlan& fixed = program.fixed->methods[method];
  Arrays arrays;
  std::string lists, tensors, constants, calls;
  std::vector<uint32_t> args;
  for (const FixedTensorPlan& tensor : fixed.tensors)
    tensors += tensor_text(tensor, program.fixed->first_byte, &arrays);
  for (size_t i = 0; i < fixed.constants.size(); ++i)
    constants += "    " + constant_text(fixed.constants[i], fixed.int_lists[i], &arrays, &lists, i) + ",\n";
  for (const FixedCallPlan& call : fixed.calls) {
    calls += fmt::format("    {{{}, {}, {}}},\n", kernel_row(plan, program.fixed->operators[method][call.op]),
                         args.size(), call.args.size());
    args.insert(args.end(), call.args.begin(), call.args.end());
  }
  std::string out = fmt::format("namespace method_{} {{\n{}{}", method, arrays.text(), lists);
  const auto array = [&](const char* type, const char* name, const std::string& rows) {
    if (!rows.empty()) out += fmt::format("constexpr {} {}[] = {{\n{}}};\n", type, name, rows);
  };
  array("wick::FixedTensor", "kTensors", tensors);
  array("wick::FixedConstant", "kConstants", constants);
  array("wick::FixedCall", "kCalls", calls);
  if (!args.empty()) out += fmt::format("constexpr uint16_t kArgs[] = {};\n", initializer(args));
  if (!fixed.inputs.empty()) out += fmt::format("constexpr uint16_t kInputs[] = {};\n", ports(fixed.inputs));
  if (!fixed.outputs.empty()) out += fmt::format("constexpr uint16_t kOutputs[] = {};\n", ports(fixed.outputs));
  return out + fmt::format(
                   "constexpr wick::FixedTables kTables = {{{}, {}, {}, {}, {}, {}, {}_program}};\n"
                   "}}  // namespace method_{}\n\n",
                   span("kTensors", tensors.empty()), span("kConstants", constants.empty()),
                   span("kCalls", calls.empty()), args.empty() ? "nullptr" : "kArgs",
                   span("kInputs", fixed.inputs.empty()), span("kOutputs", fixed.outputs.empty()), program.name,
                   method);
}

}  // namespace

std::string fixed_tables(const PackagePlan& plan, const ProgramPlan& program) {
  std::string out = "// What is constant of each method, as it was checked when this was written.\n";
  for (size_t i = 0; i < program.methods.size(); ++i) out += method_tables(plan, program, i);
  out += "constexpr const wick::FixedTables* kMethodTables[] = {";
  for (size_t i = 0; i < program.methods.size(); ++i) out += fmt::format("{}&method_{}::kTables", i ? ", " : "", i);
  out += "};\nconstexpr size_t kStateBytes[] = {";
  for (size_t i = 0; i < program.methods.size(); ++i)
    out += fmt::format("{}wick::FixedMethod::state_bytes({}, {})", i ? ", " : "",
                       program.fixed->methods[i].tensors.size(), program.fixed->methods[i].constants.size());
  return out + "};\n";
}

std::string fixed_init(const PackagePlan& plan, const ProgramPlan& program) {
  const auto& bytes = program.constant_bytes();
  return fmt::format(
      "  if (wick::digest({{{0}_program, {1}}}) != {2:#x}) {{\n"
      "    own.text = \"the program's bytes are not those of the package\";\n"
      "    return static_cast<int>(wick::Error::InvalidProgram);\n"
      "  }}\n"
      "  uint8_t* arena = static_cast<uint8_t*>(memory->arena);\n"
      "  uint8_t* state = static_cast<uint8_t*>(memory->state);\n"
      "  for (size_t i = 0; i < {3}; ++i) {{\n"
      "    const wick::FixedMemory parts = {{{{arena, kArenaBytes[i]}}, {{state, kStateBytes[i]}},\n"
      "                                     {{static_cast<uint8_t*>(memory->scratch), {4}_SCRATCH_BYTES}}}};\n"
      "    const wick::Error error = own.methods[i].load(*kMethodTables[i], parts, {5}::kernels());\n"
      "    if (error != wick::Error::Ok) return tell(own, i, error);\n"
      "    arena += kArenaBytes[i];\n"
      "    state += kStateBytes[i];\n"
      "  }}\n",
      program.name, bytes.size(), digest({bytes.data(), bytes.size()}), program.methods.size(),
      upper_case(program.name), package_namespace(plan));
}

}  // namespace wick::cli
