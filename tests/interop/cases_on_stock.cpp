// Every operator case of tests/fixtures/cases as a program of its own on the stock runtime: where does stock refuse
// what eager computes, and where does it compute something else?
//
//   cases_on_stock PEER_FOLDER SCRATCH_FOLDER [--xnnpack] [FAMILY ..]     from the repository root
//
// With --xnnpack the cases of which at least a part is a delegate; NaN, infinities and numbers near the ends of f32 do
// not count.
//
// Prints one line per case that differs: family, line, operator, operands, what happened, whose fault it is
// (stock_verdict.h), arguments. Calls that stock cannot run belong into compiler/ops/limits/stock_limits.cpp, answers
// that differ at the edges on every processor into known_on_stock.h. At the end a table of the cases whose numbers
// differ for another reason than the program. Exit codes: 0 no program is wrong, 1 one is, 2 usage or files, 77 the
// stock runtime cannot be had.
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "backends/xnnpack/compile/target.h"
#include "cli/arrays/npz.h"
#include "tests/conformance/case_program.h"
#include "tests/conformance/check_case.h"
#include "tests/conformance/compare.h"
#include "tests/interop/known_on_stock.h"
#include "tests/interop/stock_peer.h"
#include "tests/interop/stock_verdict.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick::conformance {
namespace {

bool with_xnnpack = false;

// Stock sums in another order: what counts here is other answers, not other roundings.
constexpr double kLooser = 16;

compiler::CompileOptions compile_options() {
  static const compiler::Target target = [] {
    compiler::Target out = xnnpack::kTarget;
    out.partition.profitable = nullptr;  // what only moves elements, too
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

// How a case's outputs differ from eager's; the dtype and the largest error are those of the output that differs first.
struct Deviation {
  enum class Kind { none, numbers, program } kind = Kind::none;  // program: not even the right shapes
  std::string what;
  DType dtype = DType::f32;
  double largest_error = 0;
};

// Outputs by number; null where there is none.
using OutputOf = std::function<const HostTensor*(size_t)>;

// With `factor` times the tolerance.
Deviation compare(const Pending& item, const OutputOf& output, double factor = 1) {
  const std::vector<const CaseTensor*> want = wanted(item);
  for (size_t i = 0; i < want.size(); ++i) {
    if (!want[i]) continue;  // numbers are compared by the conformance test
    const HostTensor* got = output(i);
    if (!got) return {Deviation::Kind::program, fmt::format("out{} is missing", i)};
    HostTensor tensor = *got;
    const HostTensor& expected = want[i]->value;
    std::string wrong = shape_difference(tensor, expected);
    if (!wrong.empty()) return {Deviation::Kind::program, fmt::format("out{}: {}", i, wrong)};
    if (item.test.shape_only) continue;
    if (with_xnnpack) {
      overlook_infinite(tensor, expected);
      overlook_extremes(item.test, true, tensor, expected);
    }
    Tolerance tolerance = tolerance_of(compiler::kManyTerms, expected);
    tolerance.absolute *= 4 * factor;  // stock adds in another order than eager
    tolerance.relative *= kLooser * factor;
    wrong = difference(tensor, expected, tolerance);
    if (!wrong.empty())
      return {Deviation::Kind::numbers, fmt::format("out{}: {}", i, wrong), expected.dtype,
              largest_error(tensor, expected)};
  }
  return {};
}

// What stock wrote.
Deviation compare_file(const Pending& item, double factor = 1) {
  const auto arrays = cli::read_arrays(item.stem + ".out.npz");
  if (!arrays.ok()) return {Deviation::Kind::program, "no outputs"};
  HostTensor tensor;
  const auto output = [&](size_t i) -> const HostTensor* {
    const std::string name = fmt::format("out{}", i);
    for (const cli::NamedArray& array : *arrays) {
      if (array.name != name) continue;
      tensor = {array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes};
      return &tensor;
    }
    return nullptr;
  };
  return compare(item, output, factor);
}

interop::Testimony testimony(const Deviation& deviation) {
  const bool agrees = deviation.kind == Deviation::Kind::none;
  return {agrees ? interop::Testimony::Kind::agrees : interop::Testimony::Kind::differs, deviation.what};
}

// The same file on Wick's runtime.
interop::Testimony ask_wick(const Pending& item) {
  using Kind = interop::Testimony::Kind;
  if (with_xnnpack && !has_xnnpack_library()) return {Kind::unavailable, "built without the library"};
  ModuleOptions options;
  options.kernels = {portable_kernels()};
  options.backends = {&xnnpack_backend()};
  ModuleError error;
  std::vector<HostValue> inputs, outputs;
  for (const auto& [name, tensor] : item.test.tensors) inputs.emplace_back(tensor.value);
  const auto module = Module::load(item.stem + ".pte", options, &error);
  if (!module || !module->forward(inputs, &outputs, &error)) return {Kind::differs, error.message};
  return testimony(compare(item, [&](size_t i) -> const HostTensor* {
    return i < outputs.size() && outputs[i].tag == Tag::tensor ? &outputs[i].tensor : nullptr;
  }));
}

struct Stock {
  interop::StockPeer peer;
  std::string features;  // of its kernels on this processor; "" if it does not say
};

interop::Testimony ask_stock(const Stock& stock, const Pending& item, CpuLevel level) {
  using Kind = interop::Testimony::Kind;
  if (stock.features.empty()) return {Kind::unavailable, "stock's kernels cannot be limited here"};
  const auto run = stock.peer.run_words(fmt::format("'{0}.pte' -i '{0}.in.npz' -o '{0}.out.npz' --cpu {1}", item.stem,
                                                    kCpuLevelNames[static_cast<size_t>(level)]));
  return run.ok ? testimony(compare_file(item)) : interop::Testimony{Kind::differs, run.message};
}

// What belongs in the table at the end.
struct Excused {
  std::string text;
  double largest_error;
};
std::vector<Excused> excused;

const interop::KnownDifference* find_known(const std::string& op, const char* dtype, const std::string& features) {
  const auto* known = interop::find_known(interop::kKnownOfKernels, op, dtype, features);
  return known || !with_xnnpack ? known : interop::find_known(interop::kKnownOfXnnpack, op, dtype, features);
}

// Is the program of a case wrong that runs on stock and gives this? `line` is for the list of differences.
bool is_wrong(const Stock& stock, const Pending& item, const Deviation& deviation, std::string* line) {
  const char* dtype = dtype_name(deviation.dtype);
  interop::Verdict verdict;
  if (deviation.kind == Deviation::Kind::program) {
    verdict = {true, "not the outputs of the program"};
  } else if (const auto* known = find_known(item.test.op, dtype, stock.features)) {
    verdict.why = fmt::format("known: {}", known->where);
  } else {
    verdict =
        interop::judge({[&] { return ask_wick(item); }, [&](CpuLevel level) { return ask_stock(stock, item, level); },
                        [&] { return testimony(compare_file(item, interop::kGenerous)); }});
  }
  *line = fmt::format("{} ({})", deviation.what, verdict.why);
  if (!verdict.program_is_wrong)
    excused.push_back(
        {fmt::format("{}:{} {} {}: {}", item.test.family, item.test.line, item.test.op, dtype, verdict.why),
         deviation.largest_error});
  return verdict.program_is_wrong;
}

void print_excused(const Stock& stock) {
  if (excused.empty()) return;
  fmt::print("\nstock deviates ({})\n  {:>12}  case\n", stock.features, "worst error");
  for (const Excused& item : excused) fmt::print("  {:>12.3g}  {}\n", item.largest_error, item.text);
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

int run_family(const Stock& stock, const std::string& folder, const std::string& family) {
  auto cases = read_cases("tests/fixtures/cases", family);
  if (!cases.ok()) {
    fputs(compiler::render(cases.diag()).c_str(), stderr);
    return 2;
  }
  std::vector<Pending> pending;
  size_t not_stock = 0, differ = 0, wrong = 0, done = 0;
  for (Case& test : *cases) not_stock += !write_case(folder, std::move(test), &pending);
  const std::string list = folder + "/" + family + ".list";
  {
    std::ofstream file(list);
    for (const Pending& item : pending)
      file << item.stem << ".pte\t" << item.stem << ".in.npz\t" << item.stem << ".out.npz\n";
  }
  FILE* pipe = popen(fmt::format("timeout 900 '{}' --batch '{}'", stock.peer.path(), list).c_str(), "r");
  if (!pipe) return 1;
  char line[4096];
  for (const Pending& item : pending) {
    if (!fgets(line, sizeof line, pipe)) break;
    std::string text(line);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    ++done;
    const Deviation deviation = text == "ok" ? compare_file(item) : Deviation{Deviation::Kind::program, text};
    if (deviation.kind == Deviation::Kind::none) continue;
    ++differ;
    wrong += is_wrong(stock, item, deviation, &text);
    report(item, text);
  }
  pclose(pipe);
  fmt::print(stderr, "{}: {} of {} run, {} differ, {} programs are wrong, {} left out\n", family, done, pending.size(),
             differ, wrong, not_stock);
  return wrong == 0 && done == pending.size() ? 0 : 1;
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
  // By default all but the last, the one of dtypes: it is about what Wick takes.
  if (families.empty())
    families.assign(std::begin(wick::conformance::kFamilies), std::end(wick::conformance::kFamilies) - 1);
  const wick::conformance::Stock stock{*peer, peer->features()};
  int code = 0;
  for (const std::string& family : families)
    code = std::max(code, wick::conformance::run_family(stock, argv[2], family));
  wick::conformance::print_excused(stock);
  return code;
}
