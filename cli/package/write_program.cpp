// The sources of a program: its functions, its static memory, its bytes.
#include <fmt/format.h>

#include <algorithm>

#include "cli/package/package_files.h"
#include "common/digest.h"

namespace wick::cli {
namespace {

constexpr char kWritten[] = "// Written by wick package.\n";

// The binding names every field, in the order of the struct.
std::string counts_text(const Counts& counts) {
  const auto& [values, inputs, outputs, operators, delegates, chains, tensors, unbounded, dims, int_lists, int_items,
               tensor_lists, tensor_items, instructions, args, has_views] = counts;
  return fmt::format("{{{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}}}", values, inputs, outputs,
                     operators, delegates, chains, tensors, unbounded, dims, int_lists, int_items, tensor_lists,
                     tensor_items, instructions, args, has_views);
}

/// Never 0: an array has at least one element.
size_t array_extent(const ProgramPlan& program) { return std::max<size_t>(program.constant_bytes().size(), 1); }

template <typename Text>
std::string of_methods(const ProgramPlan& program, const Text& text) {
  std::string out;
  for (size_t i = 0; i < program.methods.size(); ++i) out += (i ? ", " : "") + text(program.methods[i], i);
  return out;
}

std::string budget_text(const std::string& up, const char* what, const char* found) {
  return fmt::format("static_assert({0}_{2} <= {0}_MAX_{1}, \"the program needs more than the package allows\");\n", up,
                     what, found);
}

// For each method: its numbers of runtime objects, and their bytes.
std::string state_text(const ProgramPlan& program) {
  return fmt::format(
      "// Of each method: what the runtime keeps, its bytes, and those of its values.\n"
      "constexpr wick::Counts kObjects[] = {{{}}};\n"
      "constexpr size_t state_bytes(size_t method) {{\n"
      "  return static_cast<size_t>((wick::method_bytes(kObjects[method], wick::kObjectSizes) + 15) / 16 * 16);\n"
      "}}\n"
      "constexpr size_t kStateBytes[] = {{{}}};\n",
      of_methods(program, [](const MethodPlan& method, size_t) { return "\n    " + counts_text(method.objects); }),
      of_methods(program, [](const MethodPlan&, size_t index) { return fmt::format("state_bytes({})", index); }));
}

// Code that loads the methods and returns at the first failure.
std::string init_text(const PackagePlan& plan, const ProgramPlan& program) {
  const Span<const uint8_t> bytes = program.constant_bytes();
  std::string out = fmt::format(
      "  wick::ErrorText text(own.load_text);\n"
      "  own.text = own.load_text;\n"
      "  // Checked when this was written; the number is their digest.\n"
      "  wick::Error error = own.program.load({{{0}_program, {1}}}, {2:#x}, &text);\n"
      "  if (error != wick::Error::Ok) return static_cast<int>(error);\n"
      "  uint8_t* arena = static_cast<uint8_t*>(memory->arena);\n"
      "  uint8_t* state = static_cast<uint8_t*>(memory->state);\n",
      program.name, bytes.size(), digest(bytes));
  out += fmt::format("  const wick::Span<uint8_t> shared(arena, {});\n", program.shared_bytes);
  if (program.shared_bytes != 0) {
    out += fmt::format(
        "  error = wick::check_memory(\"arena\", shared, {0}, 16, text);\n"
        "  if (error != wick::Error::Ok) return static_cast<int>(error);\n"
        "  memset(arena, 0, {0});\n  arena += {1};\n",
        program.shared_bytes, aligned_bytes(program.shared_bytes));
  }
  return out +
         fmt::format(
             "  for (size_t i = 0; i < {0}; ++i) {{\n"
             "    const wick::PackagedMemory parts = {{{{arena, kArenaBytes[i]}}, shared, {{state, kStateBytes[i]}},\n"
             "                                        {{static_cast<uint8_t*>(memory->scratch), "
             "{1}_SCRATCH_BYTES}}}};\n"
             "    error = own.methods[i].load(own.program.get().method(i), parts, {2}::kernels());\n"
             "    if (error != wick::Error::Ok) return tell(own, i, error);\n"
             "    arena += kArenaBytes[i];\n"
             "    state += kStateBytes[i];\n"
             "  }}\n",
             program.methods.size(), upper_case(program.name), package_namespace(plan));
}

bool is_dynamic(const MethodPlan& method) {
  return std::any_of(method.inputs.begin(), method.inputs.end(), [](const Port& port) { return port.is_dynamic; });
}

// The functions of an instance for one method.
std::string functions_text(const ProgramPlan& program, const MethodPlan& method, size_t index) {
  std::string out = fmt::format(
      "\n"
      "void* {0}_instance_input({2}_instance* instance, size_t index) {{\n"
      "  Instance* own = held(instance);\n"
      "  return own ? own->methods[{1}].input(index) : nullptr;\n"
      "}}\n"
      "int {0}_instance_run({2}_instance* instance) {{\n"
      "  Instance* own = held(instance);\n"
      "  return own ? tell(*own, {1}, own->methods[{1}].run()) : static_cast<int>(wick::Error::InvalidState);\n"
      "}}\n"
      "const void* {0}_instance_output(const {2}_instance* instance, size_t index) {{\n"
      "  const Instance* own = held(instance);\n"
      "  return own ? own->methods[{1}].output(index) : nullptr;\n"
      "}}\n",
      method.prefix, index, program.name);
  if (!is_dynamic(method)) return out;
  return out + fmt::format(
                   "int {0}_instance_set_input_sizes({2}_instance* instance, size_t index, const int32_t* sizes) {{\n"
                   "  Instance* own = held(instance);\n"
                   "  return own ? tell(*own, {1}, own->methods[{1}].set_input_sizes(index, sizes))\n"
                   "             : static_cast<int>(wick::Error::InvalidState);\n"
                   "}}\n"
                   "const int32_t* {0}_instance_output_sizes(const {2}_instance* instance, size_t index) {{\n"
                   "  const Instance* own = held(instance);\n"
                   "  return own ? own->methods[{1}].output_sizes(index) : nullptr;\n"
                   "}}\n",
                   method.prefix, index, program.name);
}

// The same for the only instance.
std::string single_functions_text(const MethodPlan& method) {
  std::string out = fmt::format(
      "\n"
      "void* {0}_input(size_t index) {{ return {0}_instance_input(&instance, index); }}\n"
      "int {0}_run(void) {{ return {0}_instance_run(&instance); }}\n"
      "const void* {0}_output(size_t index) {{ return {0}_instance_output(&instance, index); }}\n",
      method.prefix);
  if (!is_dynamic(method)) return out;
  return out + fmt::format(
                   "int {0}_set_input_sizes(size_t index, const int32_t* sizes) {{\n"
                   "  return {0}_instance_set_input_sizes(&instance, index, sizes);\n"
                   "}}\n"
                   "const int32_t* {0}_output_sizes(size_t index) {{\n"
                   "  return {0}_instance_output_sizes(&instance, index);\n"
                   "}}\n",
                   method.prefix);
}

// The struct that a handle holds, and the casts between the two.
std::string instance_text(const ProgramPlan& program) {
  return fmt::format(
      "struct Instance {{\n"
      "  const void* self;  // itself: neither copied nor memory that was never initialised\n"
      "  const char* text;\n"
      "{1}"
      "}};\n"
      "static_assert(sizeof(Instance) <= {2}_INSTANCE_BYTES, \"{2}_INSTANCE_BYTES is too small\");\n"
      "static_assert(alignof(Instance) <= alignof({0}_instance), \"{0}_instance is not aligned enough\");\n\n"
      "bool is_aligned(const {0}_instance* handle) {{\n"
      "  return reinterpret_cast<uintptr_t>(handle) % alignof({0}_instance) == 0;\n"
      "}}\n\n"
      "// Null if the handle holds no instance.\n"
      "const Instance* held(const {0}_instance* handle) {{\n"
      "  const void* self = nullptr;\n"
      "  if (handle && is_aligned(handle)) memcpy(&self, handle, sizeof self);\n"
      "  return self == handle ? static_cast<const Instance*>(self) : nullptr;\n"
      "}}\n"
      "Instance* held({0}_instance* handle) {{\n"
      "  return const_cast<Instance*>(held(const_cast<const {0}_instance*>(handle)));\n"
      "}}\n\n"
      "int tell(Instance& own, size_t method, wick::Error error) {{\n"
      "  if (error != wick::Error::Ok) own.text = own.methods[method].error_text();\n"
      "  return static_cast<int>(error);\n"
      "}}\n",
      program.name,
      program.fixed ? fmt::format("  wick::FixedMethod methods[{}];\n", program.methods.size())
                    : fmt::format("  wick::PackagedProgram program;\n"
                                  "  wick::PackagedMethod methods[{}];\n"
                                  "  char load_text[wick::PackagedMethod::kMaxTextBytes];\n",
                                  program.methods.size()),
      upper_case(program.name));
}

}  // namespace

std::string program_source(const PackagePlan& plan, const ProgramPlan& program, const Budgets& budgets) {
  const std::string up = upper_case(program.name);
  const char* headers = program.fixed ? "#include \"common/digest.h\"\n#include \"runtime/firmware/fixed_method.h\"\n"
                                      : "#include \"runtime/exec/method_layout.h\"\n#include "
                                        "\"runtime/firmware/caller_memory.h\"\n#include "
                                        "\"runtime/firmware/packaged_method.h\"\n";
  std::string out =
      fmt::format("{}#include \"{}.h\"\n\n#include <string.h>\n\n#include <new>\n\n#include \"{}_kernels.h\"\n{}\n",
                  kWritten, program.name, plan.name, headers);
  out += fmt::format("extern \"C\" const unsigned char {}_program[{}];\n\nnamespace {{\n\n", program.name,
                     array_extent(program));
  out += program.fixed ? fixed_tables(plan, program) : state_text(program);
  out += fmt::format(
      "constexpr size_t kArenaBytes[] = {{{}}};\n\n"
      "constexpr size_t all_state_bytes() {{\n"
      "  size_t total = 0;\n"
      "  for (const size_t bytes : kStateBytes) total += bytes;\n"
      "  return total;\n"
      "}}\n",
      of_methods(program, [](const MethodPlan& method, size_t) {
        return fmt::format("{}", aligned_bytes(method.arena_bytes));
      }));
  out += fmt::format("static_assert(all_state_bytes() <= {0}_STATE_BYTES, \"{0}_STATE_BYTES is too small\");\n", up);
  if (budgets.arena_bytes) out += budget_text(up, "ARENA_BYTES", "ARENA_BYTES");
  if (budgets.file_bytes) out += budget_text(up, "PROGRAM_BYTES", "PROGRAM_BYTES");
  if (budgets.flash_bytes) out += budget_text(up, "FLASH_BYTES", "FLASH_BYTES");
  out += "\n" + instance_text(program) + "\n}  // namespace\n\nextern \"C\" {\n";
  out += fmt::format(
      "int {0}_instance_init({0}_instance* instance, const {0}_memory* memory) {{\n"
      "  if (!instance || !is_aligned(instance)) return static_cast<int>(wick::Error::InvalidArgument);\n"
      "  Instance& own = *new (instance) Instance();\n"
      "  own.self = instance;\n"
      "  own.text = \"\";\n"
      "  if (!memory || reinterpret_cast<uintptr_t>(memory) % alignof({0}_memory) != 0) {{\n"
      "    own.text = \"{0}_memory is null or misaligned\";\n"
      "    return static_cast<int>(wick::Error::InvalidArgument);\n"
      "  }}\n",
      program.name);
  out += program.fixed ? fixed_init(plan, program) : init_text(plan, program);
  out += fmt::format(
      "  return 0;\n}}\n"
      "const char* {0}_instance_error(const {0}_instance* instance) {{\n"
      "  const Instance* own = held(instance);\n"
      "  return own ? own->text : \"the instance is null, misaligned, a copy or not initialised\";\n"
      "}}\n",
      program.name);
  for (size_t i = 0; i < program.methods.size(); ++i) out += functions_text(program, program.methods[i], i);
  return out + "}\n";
}

std::string single_source(const ProgramPlan& program) {
  std::string out = fmt::format(
      "{0}// The functions of the only instance, in a file of their own: who has several does not link it.\n"
      "#include \"{1}.h\"\n\n"
      "namespace {{\n\n{1}_instance instance;\n\n}}  // namespace\n\n"
      "extern \"C\" {{\n"
      "int {1}_init_with(const {1}_memory* memory) {{ return {1}_instance_init(&instance, memory); }}\n"
      "const char* {1}_error(void) {{ return {1}_instance_error(&instance); }}\n",
      kWritten, program.name);
  for (const MethodPlan& method : program.methods) out += single_functions_text(method);
  return out + "}\n";
}

std::string memory_source(const ProgramPlan& program) {
  return fmt::format(
      "{0}// Static memory of the program, in a file of its own: who calls {1}_init_with has other memory. To place "
      "it, define\n"
      "// {2}_MEMORY, for example as __attribute__((section(\".sram\"))).\n"
      "#include \"{1}.h\"\n\n"
      "#ifndef {2}_MEMORY\n#define {2}_MEMORY\n#endif\n\n"
      "namespace {{\n\n"
      "alignas({2}_ARENA_ALIGNMENT) {2}_MEMORY unsigned char arena[{2}_ARENA_BYTES > 0 ? {2}_ARENA_BYTES : 1];\n"
      "alignas({2}_STATE_ALIGNMENT) {2}_MEMORY unsigned char state[{2}_STATE_BYTES];\n"
      "alignas({2}_SCRATCH_ALIGNMENT) {2}_MEMORY unsigned char scratch[{2}_SCRATCH_BYTES > 0 ? {2}_SCRATCH_BYTES : "
      "1];\n\n"
      "}}  // namespace\n\n"
      "extern \"C\" int {1}_init(void) {{\n"
      "  const {1}_memory memory = {{arena, state, scratch}};\n"
      "  return {1}_init_with(&memory);\n"
      "}}\n",
      kWritten, program.name, upper_case(program.name));
}

std::string array_source(const ProgramPlan& program) {
  return fmt::format(
      "{0}// {4}\n\n"
      "extern \"C\" {{\n"
      "extern const unsigned char {1}_program[{2}];\n"
      "alignas(16) const unsigned char {1}_program[{2}] = {{\n{3}}};\n"
      "}}\n",
      kWritten, program.name, array_extent(program), hex_rows(program.constant_bytes()),
      program.fixed ? "The constants of the program." : "The bytes of the program.");
}

std::string hex_rows(Span<const uint8_t> bytes) {
  std::string out;
  out.reserve(bytes.size() * 5 + bytes.size() / 8 + 16);
  constexpr char kDigits[] = "0123456789abcdef";
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i % 24 == 0) out += "    ";
    out += "0x";
    out += kDigits[bytes[i] >> 4];
    out += kDigits[bytes[i] & 15];
    out += i % 24 == 23 || i + 1 == bytes.size() ? ",\n" : ",";
  }
  return out;
}

}  // namespace wick::cli
