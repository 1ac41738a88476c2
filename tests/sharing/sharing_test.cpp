// Every operator against eager's answers: in whose memory do its results lie (tests/fixtures/sharing)?
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/import/importer.h"
#include "tests/conformance/case_file.h"

namespace wick::conformance {
namespace {

namespace pt2 = compiler::pt2;

std::string result_name(size_t index) { return fmt::format("r{}", index); }

pt2::TensorMeta meta_of(const CaseTensor& tensor) {
  pt2::TensorMeta meta;
  meta.dtype = tensor.value.dtype;
  for (const int32_t size : tensor.value.sizes) meta.sizes.push_back({size, nullptr});
  for (const int64_t stride : tensor.strides) meta.strides.push_back({stride, nullptr});
  meta.storage_offset = {tensor.offset, nullptr};
  return meta;
}

pt2::Node node_of(const char* op, const std::vector<std::pair<std::string, std::string>>& tensors, std::string result) {
  pt2::Node node;
  node.target = std::string("torch.ops.") + op;
  node.name = result;
  for (const auto& [argument, tensor] : tensors)
    node.inputs.push_back({argument, pt2::TensorArg{tensor}, pt2::ArgumentKind::positional});
  node.outputs.push_back(pt2::TensorArg{std::move(result)});
  return node;
}

// The call, and then a write to its result number `written`.
pt2::ExportedProgram program_that_writes(const Case& test, size_t written) {
  pt2::ExportedProgram program;
  for (const auto& [name, tensor] : test.tensors) {
    const std::string stored = tensor.conjugated ? name + "_stored" : name;
    program.graph.inputs.push_back(pt2::TensorArg{stored});
    program.input_specs.push_back({pt2::InputKind::user_input, pt2::TensorArg{stored}, "", true});
    program.graph.tensor_values[stored] = program.graph.tensor_values[name] = meta_of(tensor);
    if (!tensor.conjugated) continue;
    program.graph.nodes.push_back(node_of("aten._conj.default", {{"self", stored}}, name));
  }
  pt2::Node call;
  call.target = "torch.ops." + test.op;
  call.name = "r";
  call.inputs = test.inputs;
  size_t results = 0;
  for (const Expected& expected : test.expect) {
    pt2::TensorsArg list;
    for (const CaseTensor& tensor : expected.tensors) {
      program.graph.tensor_values[result_name(results)] = meta_of(tensor);
      list.names.push_back(result_name(results++));
    }
    if (expected.kind == Expected::Kind::tensor) {
      call.outputs.push_back(pt2::TensorArg{list.names[0]});
    } else if (expected.kind == Expected::Kind::tensors) {
      call.outputs.push_back(std::move(list));
    } else {
      call.outputs.push_back(pt2::NoneArg{});
    }
  }
  program.graph.nodes.push_back(std::move(call));
  const std::string target = result_name(written);
  program.graph.tensor_values["written"] = program.graph.tensor_values[target];
  program.graph.nodes.push_back(node_of("aten.add_.Tensor", {{"self", target}, {"other", target}}, "written"));
  return program;
}

// The input that the write changes, or "", or why the program is refused.
std::string changed_input(const Case& test, size_t written) {
  const pt2::ExportedProgram program = program_that_writes(test, written);
  const compiler::Result<compiler::Function> function = compiler::import_program(program, "forward");
  if (!function.ok()) return render(function.diag());
  std::string names;
  for (const compiler::StateUpdate& update : function->graph->updates) {
    std::string name = update.target->name;
    if (name.ends_with("_stored")) name.resize(name.size() - 7);
    names += name;
  }
  return names;
}

// A write to an expanded tensor: eager refuses it, and so it tells only that there is a view.
bool is_expanded(const std::string& answer) { return answer.find("by several ways") != std::string::npos; }

// Operators that read the storage itself are refused where an input is a part of it.
bool is_unknown_storage(const Case& test, const std::string& answer) {
  return compiler::find_op(test.op)->has(compiler::kStorage) && answer.starts_with("error[unsupported-model]");
}

std::vector<const CaseTensor*> results_of(const Case& test) {
  std::vector<const CaseTensor*> results;
  for (const Expected& expected : test.expect) {
    for (const CaseTensor& tensor : expected.tensors) results.push_back(&tensor);
  }
  return results;
}

bool has_elements(const CaseTensor& tensor) {
  return std::find(tensor.value.sizes.begin(), tensor.value.sizes.end(), 0) == tensor.value.sizes.end();
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    auto read = read_cases("tests/fixtures/sharing", "sharing");
    EXPECT_TRUE(read.ok()) << (read.ok() ? "" : render(read.diag()));
    return read.ok() ? std::move(*read) : std::vector<Case>();
  }();
  return cases;
}

TEST(Sharing, EveryResultLiesWhereEagersDoes) {
  size_t asked = 0, wrong = 0, refused = 0;
  for (const Case& test : all_cases()) {
    if (test.never) continue;
    const std::vector<const CaseTensor*> results = results_of(test);
    ASSERT_EQ(results.size(), test.shares.size()) << test.op;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!has_elements(*results[i])) continue;  // shares nothing that can be told
      ++asked;
      const std::string got = changed_input(test, i);
      if (is_unknown_storage(test, got) && ++refused != 0) continue;
      if (got == test.shares[i] || (is_expanded(got) && !test.shares[i].empty())) continue;
      ++wrong;
      std::string tensors;
      for (const auto& [name, tensor] : test.tensors) {
        tensors += fmt::format(" {}: [{}] strides [{}]", name, fmt::join(tensor.value.sizes, ", "),
                               fmt::join(tensor.strides, ", "));
      }
      if (wrong <= 20)
        ADD_FAILURE() << test.op << " " << test.arguments << tensors << "\n  result " << i << ": eager says '"
                      << test.shares[i] << "', Wick '" << got << "'";
    }
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(asked, 5000u);
  EXPECT_LT(refused, 30u);
}

TEST(Sharing, OperatorsThatNeverShareMemoryInEagerHaveNoRule) {
  size_t operators = 0;
  for (const Case& test : all_cases()) {
    if (!test.never) continue;
    const compiler::OpDef* def = compiler::find_op(test.op);
    ASSERT_NE(def, nullptr) << test.op;
    EXPECT_EQ(def->facts.shares, nullptr) << test.op << ": in none of " << *test.never << " calls";
    ++operators;
  }
  EXPECT_GT(operators, 700u);
}

TEST(Sharing, EveryRuleWasAskedOfEager) {
  std::set<std::string_view> asked;
  for (const Case& test : all_cases()) asked.insert(test.op);
  for (const compiler::OpDef* def : compiler::all_ops()) {
    if (!def->facts.shares || def->has(compiler::kBackendOnly)) continue;
    if (def->name() == "aten.pin_memory.default") continue;  // eager asks for a device that has pinned memory
    EXPECT_TRUE(asked.count(def->name())) << def->name() << ": export.py sharing has no call of it";
  }
}

}  // namespace
}  // namespace wick::conformance
