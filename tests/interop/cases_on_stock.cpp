// Every operator case of tests/fixtures/cases as a program of its own on the stock runtime: where does stock refuse
// what eager computes, and where does it compute something else?
//
//   cases_on_stock PEER_FOLDER SCRATCH_FOLDER [--xnnpack] [FAMILY ..]     from the repository root
//
// With --xnnpack the cases of which at least a part is a delegate; NaN, infinities and numbers near the ends of f32 do
// not count.
//
// Prints one line per case that differs: family, line, operator, operands, what happened, arguments. Calls that stock
// cannot run belong into compiler/ops/stock_limits.cpp, answers that differ at the edges into kOtherAnswers below. Exit
// codes: 0 only known differences, 1 others, 2 usage or files, 77 the stock runtime cannot be had.
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backends/xnnpack/target.h"
#include "cli/npz.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "tests/conformance/compare.h"
#include "tests/interop/stock_peer.h"

namespace wick::conformance {
namespace {

bool with_xnnpack = false;

// Stock sums in another order: what counts here is other answers, not other roundings.
constexpr double kLooser = 16;

// Stock's kernels run these and mean the same, but for what is named here.
struct OtherAnswer {
  std::string_view op, where;
};
constexpr OtherAnswer kOtherAnswers[] = {
    {"aten.gelu.default", "finite beyond 1e38, where eager overflows"},
    {"aten.sign.default", "NaN gives NaN instead of 0"},
    {"aten.sign_.default", "NaN gives NaN instead of 0"},
    {"aten.remainder.Tensor", "quotients beyond the largest float"},
    {"aten.remainder.Scalar", "quotients beyond the largest float"},
    {"aten.fmod.Tensor", "quotients beyond the largest float"},
    {"aten.fmod.Scalar", "quotients beyond the largest float"},
    {"aten.floor_divide.default", "infinities"},
    {"aten.div.Tensor_mode", "infinities"},
    {"aten.std.correction", "nearly equal elements: variance with fewer digits"},
    {"aten.layer_norm.default", "nearly equal elements: variance with fewer digits"},
    {"aten.group_norm.default", "nearly equal elements: variance with fewer digits"},
    {"quantized_decomposed.quantize_per_tensor.default", "infinities"},
    {"quantized_decomposed.choose_qparams.tensor", "rounds to float32; another scale for ranges near zero"},
    {"quantized_decomposed.choose_qparams_symmetric.tensor", "rounds to float32"},
    {"quantized_decomposed.choose_qparams_per_token_asymmetric.default", "rounds to float32"},
    {"quantized_decomposed._choose_qparams_per_token_asymmetric_impl.default", "rounds to float32"},
};

// Of the library that stock brings, newer than Wick's.
constexpr OtherAnswer kOtherXnnpackAnswers[] = {
    {"aten.exp.default", "infinite beyond 88.5 instead of 88.7"},
    {"aten.exp_.default", "infinite beyond 88.5 instead of 88.7"},
    {"aten.expm1.default", "infinite beyond 88.5 instead of 88.7"},
    {"aten.expm1_.default", "infinite beyond 88.5 instead of 88.7"},
    {"aten.tan.default", "the cosine next to a quarter turn is zero"},
};

bool is_known(const std::string& op) {
  const auto is_op = [&](const OtherAnswer& known) { return known.op == op; };
  return std::any_of(std::begin(kOtherAnswers), std::end(kOtherAnswers), is_op) ||
         (with_xnnpack && std::any_of(std::begin(kOtherXnnpackAnswers), std::end(kOtherXnnpackAnswers), is_op));
}

compiler::CompileOptions compile_options() {
  static const compiler::Target target = [] {
    compiler::Target out = xnnpack::kTarget;
    out.worthwhile = nullptr;  // what only moves elements, too
    return out;
  }();
  compiler::CompileOptions options;
  options.profile = compiler::Profile::stock;
  if (with_xnnpack) options.targets = {&target};
  return options;
}

struct Pending {
  Case test;
  std::vector<int32_t> mutated_inputs;
  std::string stem;
};

cli::NamedArray to_array(const std::string& name, const HostTensor& tensor) {
  return {name, tensor.dtype, {tensor.sizes.begin(), tensor.sizes.end()}, tensor.bytes};
}

void report(const Pending& item, const std::string& what) {
  const std::string arguments = item.test.arguments.substr(0, 300);
  fmt::print("{}:{} | {} |{} | {} | {}\n", item.test.family, item.test.line, item.test.op, shapes(item.test), what,
             arguments);
}

// What the program puts out, in order: changed inputs, then results.
std::vector<const CaseTensor*> wanted(const Pending& item) {
  std::vector<const CaseTensor*> out;
  for (const int32_t input : item.mutated_inputs) {
    const auto& [name, before] = item.test.tensors[static_cast<size_t>(input)];
    const CaseTensor* after = &before;
    for (const auto& [key, tensor] : item.test.mutated) {
      if (key == name) after = &tensor;
    }
    out.push_back(after);
  }
  for (const Expected& expected : item.test.expect) {
    if (expected.kind == Expected::Kind::number) out.push_back(nullptr);
    for (const CaseTensor& tensor : expected.tensors) out.push_back(&tensor);
  }
  return out;
}

std::string check(const Pending& item) {
  const auto arrays = cli::read_arrays(item.stem + ".out.npz");
  if (!arrays.ok()) return "no outputs";
  const std::vector<const CaseTensor*> want = wanted(item);
  for (size_t i = 0; i < want.size(); ++i) {
    if (!want[i]) continue;  // numbers are compared by the conformance test
    const std::string name = fmt::format("out{}", i);
    const auto got =
        std::find_if(arrays->begin(), arrays->end(), [&](const cli::NamedArray& a) { return a.name == name; });
    if (got == arrays->end()) return name + " is missing";
    HostTensor tensor{got->dtype, {got->sizes.begin(), got->sizes.end()}, got->bytes};
    const HostTensor& expected = want[i]->value;
    if (with_xnnpack && shape_difference(tensor, expected).empty()) {
      overlook_infinite(tensor, expected);
      overlook_extremes(item.test, true, tensor, expected);
    }
    Tolerance tolerance = tolerance_of(compiler::kManyTerms, expected);
    tolerance.absolute *= 4;  // stock adds in another order than eager
    tolerance.relative *= kLooser;
    const std::string wrong =
        item.test.shape_only ? shape_difference(tensor, expected) : difference(tensor, expected, tolerance);
    if (!wrong.empty()) return fmt::format("{}: {}", name, wrong);
  }
  return "";
}

// Files of a case that compiles to operators stock has; false for others.
bool write_case(const std::string& folder, Case test, std::vector<Pending>* pending) {
  if (test.error) return false;
  auto compiled = compile_case(test, compile_options(), Operands::inputs);
  if (!compiled.ok() || (with_xnnpack && compiled->partition.num_delegates == 0)) return false;
  Pending item{std::move(test), compiled->mutated_inputs, ""};
  item.stem = fmt::format("{}/{}_{}", folder, item.test.family, item.test.line);
  std::ofstream(item.stem + ".pte", std::ios::binary)
      .write(reinterpret_cast<const char*>(compiled->pte.data()), static_cast<std::streamsize>(compiled->pte.size()));
  std::vector<cli::NamedArray> inputs;
  for (size_t i = 0; i < item.test.tensors.size(); ++i)
    inputs.push_back(to_array(fmt::format("in{}", i), item.test.tensors[i].second.value));
  if (!cli::write_arrays(item.stem + ".in.npz", inputs).ok()) return false;
  pending->push_back(std::move(item));
  return true;
}

int run_family(const std::string& runner, const std::string& folder, const std::string& family) {
  auto cases = read_cases("tests/fixtures/cases", family);
  if (!cases.ok()) {
    fputs(compiler::render(cases.diag()).c_str(), stderr);
    return 2;
  }
  std::vector<Pending> pending;
  size_t not_stock = 0, differ = 0, unknown = 0, done = 0;
  for (Case& test : *cases) not_stock += !write_case(folder, std::move(test), &pending);
  const std::string list = folder + "/" + family + ".list";
  {
    std::ofstream file(list);
    for (const Pending& item : pending)
      file << item.stem << ".pte " << item.stem << ".in.npz " << item.stem << ".out.npz\n";
  }
  FILE* pipe = popen(fmt::format("timeout 900 '{}' --batch '{}'", runner, list).c_str(), "r");
  if (!pipe) return 1;
  char line[4096];
  for (const Pending& item : pending) {
    if (!fgets(line, sizeof line, pipe)) break;
    std::string text(line);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    ++done;
    const std::string wrong = text == "ok" ? check(item) : text;
    differ += !wrong.empty();
    // Only another answer can be known, never a refusal.
    unknown += !wrong.empty() && (text != "ok" || !is_known(item.test.op));
    if (!wrong.empty()) report(item, wrong);
  }
  pclose(pipe);
  fmt::print(stderr, "{}: {} of {} run, {} differ, {} of them unexpectedly, {} left out\n", family, done,
             pending.size(), differ, unknown, not_stock);
  return unknown == 0 && done == pending.size() ? 0 : 1;
}

}  // namespace
}  // namespace wick::conformance

int main(int argc, char** argv) {
  if (argc < 3) {
    fputs("usage: cases_on_stock PEER_FOLDER SCRATCH_FOLDER [--xnnpack] [FAMILY ..]\n", stderr);
    return 2;
  }
  std::string why;
  const auto peer = wick::interop::StockPeer::find(argv[1], &why);
  if (!peer) {
    fmt::print(stderr, "{}\n", why);
    return 77;
  }
  std::filesystem::create_directories(argv[2]);
  std::vector<std::string> families(argv + 3, argv + argc);
  wick::conformance::with_xnnpack = !families.empty() && families[0] == "--xnnpack";
  if (wick::conformance::with_xnnpack) families.erase(families.begin());
  if (families.empty())
    families.assign(std::begin(wick::conformance::kFamilies), std::end(wick::conformance::kFamilies));
  int code = 0;
  for (const std::string& family : families)
    code = std::max(code, wick::conformance::run_family(peer->path(), argv[2], family));
  return code;
}
