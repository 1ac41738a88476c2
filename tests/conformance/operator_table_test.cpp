// Checks the table of operators against the kernels that it names, the operators that models use, and stock's registry.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "compiler/ir/op_def.h"
#include "runtime/exec/prim_ops.h"
#include "wick/portable_kernels.h"

namespace wick::conformance {
namespace {

using compiler::ArgSpec;
using compiler::ArgType;
using compiler::OpDef;
using compiler::ReturnType;

std::set<std::string> read_names(const std::string& path) {
  std::set<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) names.insert(line);
  }
  return names;
}

std::map<std::string, std::string> kernel_signatures() {
  std::map<std::string, std::string> rows;
  for (const KernelTable& table : {prim_kernels(), portable_kernels()}) {
    for (const Kernel& kernel : table) rows.emplace(kernel.name, kernel.signature);
  }
  return rows;
}

// Whether the importer handles the operator itself: arithmetic on sizes, wrappers, control flow.
bool is_built_in(const std::string& name) {
  return name.starts_with("_operator.") || name.starts_with("torch.sym_") || name.starts_with("higher_order.") ||
         name.starts_with("math.");
}

// Views need no kernel, operators for effects are dropped, and computed values are expressions.
bool runs_without_kernel(const OpDef& def) {
  return def.has(compiler::kView) || def.has(compiler::kEffect) || def.has(compiler::kComputed);
}

std::string why_it_cannot_run(const OpDef& def, const std::map<std::string, std::string>& kernels) {
  if (def.has(compiler::kInPlace)) {
    if (!def.functional) return "is in-place and names no functional form";
    const OpDef* functional = compiler::find_op(def.functional);
    if (!functional) return fmt::format("its functional form {} is unknown", def.functional);
    return why_it_cannot_run(*functional, kernels);
  }
  if (def.has(compiler::kNoKernel | compiler::kScratch)) return "";
  if (def.kernel) return kernels.count(def.kernel) ? "" : fmt::format("its kernel {} does not exist", def.kernel);
  return def.decompose || runs_without_kernel(def) ? "" : "has neither kernel nor decomposition";
}

// The signature letters (include/wick/kernel.h) that an argument of this type may have.
std::string letters_of(const ArgSpec& spec) {
  switch (spec.type) {
    case ArgType::tensor: return spec.optional ? "t" : spec.mutated ? "o" : "Tt";
    case ArgType::tensor_list: return "L";
    case ArgType::optional_tensor_list: return "l";
    case ArgType::integer: return spec.optional ? "j" : "ij";
    case ArgType::int_list: return spec.optional ? "J" : "IJ";
    case ArgType::real: return spec.optional ? "e" : "fe";
    case ArgType::real_list: return "F";
    case ArgType::boolean: return spec.optional ? "c" : "b";
    case ArgType::bool_list: return "B";
    case ArgType::scalar: return spec.optional ? "r" : "sr";
    case ArgType::string: return spec.optional ? "Z" : "SZ";
    case ArgType::dtype:
    case ArgType::layout:
    case ArgType::memory_format: return spec.optional ? "j" : "ij";
    default: return "v";
  }
}

// Compares a kernel's signature with the operator's arguments, in the order in which the planner passes them, followed
// by the results. "" if it fits, else why not.
std::string why_signature_does_not_fit(const OpDef& def, const std::string& signature) {
  const bool factory = def.parsed->find("layout") >= 0;
  size_t next = 0;
  const bool prim = def.name().starts_with("executorch_prim.");  // their letters may be narrower than Scalar's
  for (const ArgSpec& spec : def.parsed->args) {
    if (spec.type == ArgType::generator) continue;
    if (factory &&
        (spec.name == "dtype" || spec.name == "layout" || spec.name == "device" || spec.name == "pin_memory"))
      continue;
    if (next >= signature.size()) return fmt::format("{} has no letter for '{}'", signature, spec.name);
    const std::string letters = letters_of(spec) + (prim ? "vfb" : "v");
    if (letters.find(signature[next]) == std::string::npos) {
      return fmt::format("letter {} of {} is '{}', '{}' wants one of \"{}\"", next, signature, signature[next],
                         spec.name, letters);
    }
    ++next;
  }
  const auto& returns = def.parsed->returns;
  for (const ReturnType type : Span<const ReturnType>(returns.data(), def.parsed->own_returns())) {
    if (type != ReturnType::tensor && type != ReturnType::tensor_list) continue;
    const char letter = type == ReturnType::tensor ? 'o' : 'O';
    if (next >= signature.size() || signature[next] != letter)
      return fmt::format("{} lacks the letter '{}' at {}", signature, letter, next);
    ++next;
  }
  return next == signature.size() ? "" : fmt::format("{} has more letters than the operator has arguments", signature);
}

TEST(OperatorTable, HasEveryOperatorOfRealModelsAndCoreAten) {
  const auto names = read_names("tests/conformance/operators.txt");
  ASSERT_GT(names.size(), 300u);
  const auto kernels = kernel_signatures();
  for (const std::string& name : names) {
    if (is_built_in(name)) continue;
    const OpDef* def = compiler::find_op(name);
    if (!def) {
      ADD_FAILURE() << name << " is unknown";
      continue;
    }
    const std::string why = why_it_cannot_run(*def, kernels);
    EXPECT_TRUE(why.empty()) << name << " " << why;
  }
}

TEST(OperatorTable, NamesOnlyKernelsThatExistAndTakeItsArguments) {
  const auto kernels = kernel_signatures();
  for (const OpDef* def : compiler::all_ops()) {
    const std::string why = why_it_cannot_run(*def, kernels);
    EXPECT_TRUE(why.empty()) << def->name() << " " << why;
    auto row = def->kernel ? kernels.find(def->kernel) : kernels.end();
    if (row == kernels.end()) continue;
    const std::string misfit = why_signature_does_not_fit(*def, row->second);
    EXPECT_TRUE(misfit.empty()) << def->name() << " with " << def->kernel << ": " << misfit;
  }
}

TEST(OperatorTable, MarksEveryKernelThatStockLacks) {
  const auto stock = read_names("tests/conformance/stock_kernels.txt");
  ASSERT_GT(stock.size(), 200u);
  for (const OpDef* def : compiler::all_ops()) {
    if (!def->kernel) continue;
    const bool has = stock.count(def->kernel) != 0;
    const bool in_library = def->has(compiler::kLlmLibrary);
    if (in_library) EXPECT_FALSE(has) << def->name() << ": stock has " << def->kernel << " itself";
    if (!in_library && !def->has(compiler::kNoStock))
      EXPECT_TRUE(has) << def->name() << ": stock has no " << def->kernel;
  }
}

TEST(OperatorTable, KernelsOfStockExist) {
  const auto kernels = kernel_signatures();
  for (const std::string& name : read_names("tests/conformance/stock_kernels.txt")) {
    if (name.starts_with("et_copy::")) continue;  // copies between host and device
    EXPECT_TRUE(kernels.count(name)) << name;
  }
}

}  // namespace
}  // namespace wick::conformance
