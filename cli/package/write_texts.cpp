// The README and the example of a package.
#include <fmt/format.h>

#include "cli/package/package_files.h"

namespace wick::cli {
namespace {

// Upper bound of the samples in an example.
constexpr size_t kMaxSampleBytes = 262144;

size_t sample_bytes(const MethodPlan& method) {
  size_t total = 0;
  for (const auto& bytes : method.sample.inputs) total += bytes.size();
  for (const auto& bytes : method.sample.outputs) total += bytes.size();
  return total;
}

std::string array(const std::string& name, const std::vector<uint8_t>& bytes) {
  return fmt::format("static const unsigned char {}[] = {{\n{}}};\n", name, hex_rows({bytes.data(), bytes.size()}));
}

std::string comparison(const Port& port) {
  if (port.dtype == DType::f32) return "float";
  return port.dtype == DType::f64 ? "double" : "bytes";
}

std::string run_method_text(const MethodPlan& method, bool with_sample) {
  const std::string& p = method.prefix;
  std::string arrays, body;
  for (size_t i = 0; i < method.inputs.size(); ++i) {
    if (!method.inputs[i].is_tensor || method.sample.inputs[i].empty()) continue;
    if (with_sample) {
      arrays += array(fmt::format("{}_input_{}", p, i), method.sample.inputs[i]);
      body += fmt::format("  memcpy({0}_input({1}), {0}_input_{1}, sizeof {0}_input_{1});\n", p, i);
    } else {
      body += fmt::format("  memset({0}_input({1}), 0, {2}_INPUT_{1}_BYTES);\n", p, i, upper_case(p));
    }
  }
  body += fmt::format("  if ({0}_run() != 0) return fail(\"{0}_run\", NAME_error());\n", p);
  for (size_t i = 0; i < method.outputs.size() && with_sample; ++i) {
    if (method.sample.outputs[i].empty()) continue;
    const std::string wanted = fmt::format("{}_output_{}", p, i);
    arrays += array(wanted, method.sample.outputs[i]);
    body += fmt::format("  bad += compare_{0}(\"{1}\", {2}_output({3}), {1}, sizeof {1});\n",
                        comparison(method.outputs[i]), wanted, p, i);
  }
  return arrays + "\n" + fmt::format("static int run_{}(void) {{\n  int bad = 0;\n{}  return bad;\n}}\n", p, body);
}

std::string replaced(std::string text, std::string_view from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string float_comparison(const char* type) {
  return fmt::format(
      "static int compare_{0}(const char* name, const void* found, const void* wanted, size_t size) {{\n"
      "  size_t i, bad = 0;\n"
      "  for (i = 0; i < size / sizeof({0}); ++i) {{\n"
      "    {0} a, b, difference, magnitude;\n"
      "    memcpy(&a, (const char*)found + i * sizeof a, sizeof a);\n"
      "    memcpy(&b, (const char*)wanted + i * sizeof b, sizeof b);\n"
      "    difference = a < b ? b - a : a - b;\n"
      "    magnitude = b < 0 ? -b : b;\n"
      "    bad += !(difference <= ({0})1e-5 + ({0})1e-4 * magnitude) && a == a;\n"
      "  }}\n"
      "  return tell(name, bad);\n"
      "}}\n",
      type);
}

std::string use_text(const ProgramPlan& first) {
  const MethodPlan& method = first.methods[0];
  std::string out = fmt::format(
      "\n## Use\n```c\n#include \"{0}.h\"\n\n"
      "if ({0}_init() != 0) puts({0}_error());       /* once */\n",
      first.name);
  if (!method.inputs.empty() && method.inputs[0].is_tensor) {
    out += fmt::format("{0}* in = {1}_input(0);                /* write {2}_INPUT_0_COUNT elements */\n",
                       c_type(method.inputs[0].dtype), method.prefix, upper_case(method.prefix));
  }
  out += fmt::format("if ({0}_run() != 0) puts({1}_error());\n", method.prefix, first.name);
  if (!method.outputs.empty()) {
    out += fmt::format("const {0}* out = {1}_output(0);         /* valid until the next run */\n",
                       c_type(method.outputs[0].dtype), method.prefix);
  }
  out += "```\nIn C++, `packaged::" + first.name + "::run()` and typed functions for each input and output.\n\n";
  out += fmt::format(
      "`{0}_init` takes static memory. To place it, define `{1}_MEMORY` (an attribute, such as a section) for\n"
      "`src/{0}_memory.cpp`; or give your own with `{0}_init_with`, and the static memory is not linked.\n"
      "The stack is the caller's. One instance may run in one thread at a time.\n\n"
      "### Several instances\n"
      "`{0}_instance` is a handle of `{1}_INSTANCE_BYTES`. Each instance keeps its own values and state; the constants "
      "are "
      "shared.\n"
      "Instances that never run at the same time may share scratch memory.\n"
      "```c\nstatic {0}_instance left, right;\n"
      "const {0}_memory left_memory = {{left_arena, left_state, scratch}}, right_memory = {{right_arena, right_state, "
      "scratch}};\n"
      "if ({0}_instance_init(&left, &left_memory) != 0) puts({0}_instance_error(&left));\n"
      "if ({0}_instance_init(&right, &right_memory) != 0) puts({0}_instance_error(&right));\n"
      "{2}_instance_run(&left);\n{2}_instance_run(&right);\n```\n\n",
      first.name, upper_case(first.name), method.prefix);
  return out;
}

}  // namespace

std::string example_source(const PackagePlan& plan) {
  std::string out =
      "/* Runs each program once, with a sample of inputs, and compares the results with those of the host.\n"
      "   Written by wick package. Returns 0 if they agree. */\n"
      "#include <stdio.h>\n#include <string.h>\n\n";
  for (const ProgramPlan& program : plan.programs) out += fmt::format("#include \"{}.h\"\n", program.name);
  std::string functions, calls;
  bool uses[3] = {};
  for (const ProgramPlan& program : plan.programs) {
    calls += fmt::format("  if ({0}_init() != 0) return fail(\"{0}_init\", {0}_error());\n", program.name);
    for (const MethodPlan& method : program.methods) {
      const bool with_sample = sample_bytes(method) <= kMaxSampleBytes;
      functions += replaced(run_method_text(method, with_sample), "NAME_error", program.name + "_error");
      calls += fmt::format("  bad += run_{}();\n", method.prefix);
      for (size_t i = 0; i < method.outputs.size() && with_sample; ++i) {
        if (method.sample.outputs[i].empty()) continue;
        const std::string kind = comparison(method.outputs[i]);
        uses[kind == "float" ? 0 : kind == "double" ? 1 : 2] = true;
      }
    }
  }
  out +=
      "\nstatic int fail(const char* call, const char* text) {\n  printf(\"%s: %s\\n\", call, text);\n  return 1;\n}\n";
  if (uses[0] || uses[1] || uses[2]) {
    out +=
        "static int tell(const char* name, size_t bad) {\n"
        "  printf(\"%s: %s\\n\", name, bad ? \"DIFFERENT\" : \"equal\");\n  return bad != 0;\n}\n";
  }
  if (uses[0]) out += float_comparison("float");
  if (uses[1]) out += float_comparison("double");
  if (uses[2]) {
    out +=
        "static int compare_bytes(const char* name, const void* found, const void* wanted, size_t size) {\n"
        "  return tell(name, memcmp(found, wanted, size) != 0);\n}\n";
  }
  return out + "\n" + functions + "\nint main(void) {\n  int bad = 0;\n" + calls + "  return bad != 0;\n}\n";
}

std::string readme_text(const PackagePlan& plan) {
  const ProgramPlan& first = plan.programs[0];
  std::string out = fmt::format(
      "# {}\n\nSources of a library that runs these programs on a microcontroller, without heap, files or operating "
      "system.\n"
      "`wick package` wrote them; nothing else is needed.\n\n"
      "| program | header | constant memory | arena | state | scratch | stack |\n|---|---|---|---|---|---|---|\n",
      plan.name);
  for (const ProgramPlan& program : plan.programs) {
    const ProgramBytes bytes = bytes_of(program);
    out += fmt::format("| `{0}` | `include/{0}.h` | {1} | {2} | {3} | {4} | {5} |\n", program.name,
                       program_bytes(program), bytes.arena, bytes.state_32, bytes.scratch,
                       bytes.stack ? fmt::format("{}", *bytes.stack) : "not measured");
  }
  if (plan.flash) {
    out += fmt::format(
        "\nOn {}, as the Makefile compiles them, at most: kernels {} bytes of code and constants, runtime {} bytes.\n",
        plan.measured_on, plan.flash->kernels_bytes, plan.flash->core_bytes);
  }
  out += use_text(first) + "## Build\n";
  if (plan.target.cpu.empty())
    out += "Any C++17 compiler: `make CXX=.. CPU_FLAGS=..`, or CMake (`add_subdirectory`).\n";
  else
    out += fmt::format(
        "For {0}: `make` (arm-none-eabi-g++; `CXX`, `CPU_FLAGS` and the like choose others), or CMake with your "
        "toolchain\n"
        "file (`add_subdirectory`). The compiler's options for the processor: `{1}`.\n",
        plan.target.cpu, plan.target.flags);
  out += fmt::format(
      "\nWith an IDE: add the files that `Makefile` lists; include paths `include`, `src`, `wick`, `wick/include`,\n"
      "`wick/third_party`; C++17 without exceptions and RTTI; define `NDEBUG`. Let the linker drop unused sections.\n\n"
      "`make TARGET=host example && build/host/example` runs the library on this machine with a sample of inputs\n"
      "(`example/main.c`), with kernels in plain C++ that give the same results.\n\n"
      "## Licences\n`LICENSE` (Apache-2.0) covers `src`, `include`, `example` and `wick`, and FlatBuffers (Copyright "
      "Google Inc.) in\n"
      "`wick/third_party`. The licence of the programs is that of your models.\n");
  return out;
}

}  // namespace wick::cli
