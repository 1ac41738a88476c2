// The header of a program: sizes as constants, functions for C, names and types for C++.
#include <fmt/format.h>

#include <set>

#include "cli/package/package_files.h"

namespace wick::cli {
namespace {

std::string sizes_text(const std::vector<int32_t>& sizes) { return fmt::format("{{{}}}", fmt::join(sizes, ", ")); }

// A float that reads back as the same double, in C.
std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string port_constants(const Port& port, const std::string& prefix, const char* kind, size_t index) {
  const std::string start = fmt::format("#define {}_{}_{}", upper_case(prefix), kind, index);
  std::string out = fmt::format("/* {}: {}{} */\n", port.name, port.type, port.is_dynamic ? ", sizes up to these" : "");
  const size_t element_bytes = dtype_size_bytes(port.dtype);
  out += fmt::format("{}_TYPE {}\n", start, c_type(port.dtype));
  out += fmt::format("{}_BYTES {}\n", start, port.size_bytes);
  if (!port.is_tensor) return out;
  out += fmt::format("{}_COUNT {}\n", start, element_bytes ? port.size_bytes / element_bytes : 0);
  out += fmt::format("{}_RANK {}\n", start, port.sizes.size());
  if (!port.sizes.empty()) out += fmt::format("{}_SIZES {}\n", start, sizes_text(port.sizes));
  if (!port.dim_order.empty()) {
    out += fmt::format("{}_DIM_ORDER {}  /* dimensions from the outermost to the innermost in memory */\n", start,
                       sizes_text({port.dim_order.begin(), port.dim_order.end()}));
  }
  if (port.grid) {
    out += fmt::format("{}_SCALE {}\n", start, double_text(port.grid->scale));
    out += fmt::format("{}_ZERO_POINT {}\n", start, port.grid->zero_point);
  }
  return out;
}

// The same for quantized ports, by name, if all names differ in capital letters.
std::string constants_by_name(const std::vector<Port>& ports, const std::string& prefix, const char* kind) {
  std::set<std::string> names;
  for (const Port& port : ports) names.insert(upper_case(port.name));
  std::string out;
  for (size_t i = 0; i < ports.size() && names.size() == ports.size(); ++i) {
    if (!ports[i].grid) continue;
    const std::string start = fmt::format("{}_{}_", upper_case(prefix), kind);
    for (const char* what : {"SCALE", "ZERO_POINT"})
      out += fmt::format("#define {0}{1}_{2} {0}{3}_{2}\n", start, upper_case(ports[i].name), what, i);
  }
  return out;
}

std::string method_text(const ProgramPlan& program, const MethodPlan& method) {
  const std::string& p = method.prefix;
  std::string out = fmt::format("\n/* Method {}. */\n", compiler::printable(method.name));
  out += fmt::format("#define {}_NUM_INPUTS {}\n", upper_case(p), method.inputs.size());
  out += fmt::format("#define {}_NUM_OUTPUTS {}\n", upper_case(p), method.outputs.size());
  bool dynamic = false;
  for (size_t i = 0; i < method.inputs.size(); ++i) {
    out += port_constants(method.inputs[i], p, "INPUT", i);
    dynamic |= method.inputs[i].is_dynamic;
  }
  for (size_t i = 0; i < method.outputs.size(); ++i) out += port_constants(method.outputs[i], p, "OUTPUT", i);
  const std::string named =
      constants_by_name(method.inputs, p, "INPUT") + constants_by_name(method.outputs, p, "OUTPUT");
  if (!named.empty()) out += "/* The same by name. */\n" + named;
  out += fmt::format(
      "/* Where the elements of an input go. Write all inputs before each run: their memory is used for other values\n"
      "   meanwhile. NULL before {0}_init, or if there is no such tensor. */\n"
      "void* {1}_input(size_t index);\n",
      program.name, p);
  if (dynamic) {
    out += fmt::format(
        "/* Other sizes of an input, within its bounds, for the following runs. Returns 0, or the number of an error. "
        "*/\n"
        "int {0}_set_input_sizes(size_t index, const int32_t* sizes);\n"
        "const int32_t* {0}_output_sizes(size_t index);\n",
        p);
  }
  out += fmt::format(
      "/* Returns 0, or the number of an error. */\n"
      "int {0}_run(void);\n"
      "/* The elements of an output, until the next run. */\n"
      "const void* {0}_output(size_t index);\n"
      "/* The same of an instance. */\n"
      "void* {0}_instance_input({1}_instance* instance, size_t index);\n"
      "int {0}_instance_run({1}_instance* instance);\n"
      "const void* {0}_instance_output(const {1}_instance* instance, size_t index);\n",
      p, program.name);
  if (dynamic) {
    out += fmt::format(
        "int {0}_instance_set_input_sizes({1}_instance* instance, size_t index, const int32_t* sizes);\n"
        "const int32_t* {0}_instance_output_sizes(const {1}_instance* instance, size_t index);\n",
        p, program.name);
  }
  return out;
}

std::string cpp_text(const std::string& program, const MethodPlan& method, bool alone) {
  std::string out;
  if (!alone) out += fmt::format("namespace {} {{\n", c_identifier(method.name));
  out += fmt::format(
      "inline int run() {{ return {0}_run(); }}\n"
      "inline int run({1}_instance& instance) {{ return {0}_instance_run(&instance); }}\n",
      method.prefix, program);
  for (size_t i = 0; i < method.inputs.size(); ++i) {
    if (!method.inputs[i].is_tensor) continue;
    out += fmt::format(
        "inline {0}* input_{1}() {{ return static_cast<{0}*>({2}_input({3})); }}\n"
        "inline {0}* input_{1}({4}_instance& instance) {{\n"
        "  return static_cast<{0}*>({2}_instance_input(&instance, {3}));\n}}\n",
        c_type(method.inputs[i].dtype), method.inputs[i].name, method.prefix, i, program);
  }
  for (size_t i = 0; i < method.outputs.size(); ++i) {
    out += fmt::format(
        "inline const {0}* output_{1}() {{ return static_cast<const {0}*>({2}_output({3})); }}\n"
        "inline const {0}* output_{1}(const {4}_instance& instance) {{\n"
        "  return static_cast<const {0}*>({2}_instance_output(&instance, {3}));\n}}\n",
        c_type(method.outputs[i].dtype), method.outputs[i].name, method.prefix, i, program);
  }
  if (!alone) out += fmt::format("}}  // namespace {}\n", c_identifier(method.name));
  return out;
}

std::string memory_text(const PackagePlan& plan, const ProgramPlan& program, const Budgets& budgets) {
  const std::string up = upper_case(program.name);
  const ProgramBytes bytes = bytes_of(program);
  std::string out =
      "/* Bytes of constant memory: the constants; with the tables of the program; with kernels and runtime. */\n";
  out += fmt::format("#define {}_CONSTANT_BYTES {}\n", up, program.constants_bytes);
  out += fmt::format("#define {}_PROGRAM_BYTES {}\n", up, program_bytes(program));
  if (const auto flash = flash_bytes(plan)) {
    out += fmt::format(
        "#define {}_FLASH_BYTES {}  /* of all programs of the package, at most, as the Makefile compiles them with {}; "
        "measured on {} */\n",
        up, *flash, plan.flash->by_gcc ? "GCC or clang" : "clang", plan.measured_on);
  }
  out +=
      "/* Bytes of memory: values of a run and the state between runs; what the runtime keeps (in the "
      "memory\n   called state and in the handle of an instance); scratch of kernels. */\n";
  out += fmt::format("#define {}_ARENA_BYTES {}\n", up, bytes.arena);
  out += fmt::format(
      "#if UINTPTR_MAX > 0xFFFFFFFFu\n#define {0}_STATE_BYTES {2}\n#define {0}_INSTANCE_BYTES {4}\n"
      "#else\n#define {0}_STATE_BYTES {1}\n#define {0}_INSTANCE_BYTES {3}\n#endif\n",
      up, bytes.state_32, bytes.state_64, bytes.instance_32, bytes.instance_64);
  out += fmt::format("#define {}_SCRATCH_BYTES {}\n", up, bytes.scratch);
  out += fmt::format(
      "/* What the addresses of these memories are multiples of. */\n"
      "#define {0}_ARENA_ALIGNMENT 16\n#define {0}_STATE_ALIGNMENT 16\n#define {0}_SCRATCH_ALIGNMENT 64\n",
      up);
  if (bytes.stack)
    out += fmt::format("#define {}_STACK_BYTES {}  /* measured on {} */\n", up, *bytes.stack, plan.measured_on);
  else
    out += fmt::format("/* {0}_STACK_BYTES and {0}_FLASH_BYTES are not measured: there was no device. */\n", up);
  if (budgets.arena_bytes) out += fmt::format("#define {}_MAX_ARENA_BYTES {}\n", up, *budgets.arena_bytes);
  if (budgets.file_bytes) out += fmt::format("#define {}_MAX_PROGRAM_BYTES {}\n", up, *budgets.file_bytes);
  if (budgets.flash_bytes) out += fmt::format("#define {}_MAX_FLASH_BYTES {}\n", up, *budgets.flash_bytes);
  return out;
}

}  // namespace

const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::f32: return "float";
    case DType::f64: return "double";
    case DType::i8: return "int8_t";
    case DType::i16: return "int16_t";
    case DType::i32: return "int32_t";
    case DType::i64: return "int64_t";
    case DType::u16:
    case DType::f16:
    case DType::bf16:
    case DType::bits16: return "uint16_t";
    case DType::u32: return "uint32_t";
    case DType::u64: return "uint64_t";
    default: return "uint8_t";
  }
}

std::string header_text(const PackagePlan& plan, const ProgramPlan& program, const Budgets& budgets) {
  const std::string& name = program.name;
  const std::string guard = upper_case(name) + "_H";
  std::string out = fmt::format(
      "/* The program {0}, for C99 and C++. Written by wick package; docs: README.md. */\n"
      "#ifndef {1}\n#define {1}\n#include <stddef.h>\n#include <stdint.h>\n\n",
      name, guard);
  out += memory_text(plan, program, budgets);
  out += fmt::format(
      "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "/* Memory of the caller, who keeps it while the program is in use. */\n"
      "typedef struct {0}_memory {{\n"
      "  void* arena;   /* {1}_ARENA_BYTES, aligned to {1}_ARENA_ALIGNMENT */\n"
      "  void* state;   /* {1}_STATE_BYTES, aligned to {1}_STATE_ALIGNMENT */\n"
      "  void* scratch; /* {1}_SCRATCH_BYTES, aligned to {1}_SCRATCH_ALIGNMENT; other code may use it between runs */\n"
      "}} {0}_memory;\n\n"
      "/* Checks and loads the program, once, before everything else; again: from its initial state. {0}_init takes "
      "static\n"
      "   memory, which is only linked where it is called. Returns 0, or the number of an error: memory that is null "
      "or\n"
      "   misaligned among them. */\n"
      "int {0}_init(void);\n"
      "int {0}_init_with(const {0}_memory* memory);\n"
      "/* What the last call that failed says; \"\" if none did since {0}_init. */\n"
      "const char* {0}_error(void);\n\n"
      "/* A handle, for several instances of the program beside each other. Each has an arena and state memory of its "
      "own;\n"
      "   instances that do not run at the same time may share scratch memory. All share the constants. It stays where "
      "it\n"
      "   is, from {0}_instance_init on: a copy is no instance. The functions without `instance` are those of one more "
      "instance,\n"
      "   which is only linked where they are called. */\n"
      "typedef struct {0}_instance {{ uint64_t opaque[{1}_INSTANCE_BYTES / 8]; }} {0}_instance;\n"
      "int {0}_instance_init({0}_instance* instance, const {0}_memory* memory);\n"
      "const char* {0}_instance_error(const {0}_instance* instance);\n",
      name, upper_case(name));
  for (const MethodPlan& method : program.methods) out += method_text(program, method);
  out += fmt::format("\n#ifdef __cplusplus\n}}  // extern \"C\"\n\nnamespace packaged {{\nnamespace {} {{\n", name);
  out += fmt::format(
      "inline int init() {{ return {0}_init(); }}\ninline const char* error() {{ return {0}_error(); }}\n", name);
  for (const MethodPlan& method : program.methods) out += cpp_text(name, method, program.methods.size() == 1);
  out += fmt::format("}}  // namespace {}\n}}  // namespace packaged\n#endif\n#endif /* {} */\n", name, guard);
  return out;
}

}  // namespace wick::cli
