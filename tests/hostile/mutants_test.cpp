// Thousands of small changes to small real files: bits flipped, bytes replaced, ends cut off, ranges moved. Always the
// same ones. Each is given to the same code as the tool runs, in this process.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>

#include "cli/arrays/npz.h"
#include "compiler/driver/compile.h"
#include "compiler/ir/text/text.h"
#include "compiler/support/limits.h"
#include "tests/fuzz/block.h"
#include "tests/fuzz/mutant.h"
#include "tests/fuzz/program_document.h"
#include "tests/fuzz/program_edit.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/run_program.h"
#include "tests/hostile/run_wick.h"
#include "wick/bundled_program.h"
#include "wick/error_text.h"

namespace wick::testing {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr int kMutants = 2000;  // of each kind, together

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return Bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

std::vector<Bytes> seeds(const std::string& folder, const std::string& extension, size_t max_bytes) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == extension && entry.file_size() <= max_bytes) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> out;
  for (const auto& path : paths) out.push_back(read_file(path));
  return out;
}

uint64_t peak_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) << 10;
}

// What the tool would exit with for each mutant, counted.
std::map<int, int> run_mutants(const std::vector<Bytes>& seeds, int (*run)(Span<const uint8_t>)) {
  std::map<int, int> counts;
  EXPECT_FALSE(seeds.empty());
  fuzz::Random random(20240601);
  [[maybe_unused]] const uint64_t before = peak_bytes();
  for (int i = 0; i < kMutants && !seeds.empty(); ++i) {
    const Bytes bytes = fuzz::mutant(seeds[random.below(seeds.size())], random);
    const fuzz::Block block({bytes.data(), bytes.size()});
    const clock_t start = clock();
    const int code = run(block.bytes());
    const double seconds = static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(seconds, 10) << "mutant " << i;
    EXPECT_TRUE(code == 0 || (code >= 2 && code <= 6)) << "mutant " << i << ": exit code " << code;
    ++counts[code];
  }
#ifndef WICK_SANITIZED
  EXPECT_LT(peak_bytes() - before, uint64_t{128} << 20);
#endif
  return counts;
}

int code_of(const compiler::Diag& diag) {
  EXPECT_FALSE(diag.message.empty());
  if (diag.code == compiler::Code::internal) ADD_FAILURE() << compiler::render(diag);
  return compiler::exit_code(diag.code);
}

int run_pt2(Span<const uint8_t> file) {
  compiler::Limits limits;
  limits.folding_bytes = limits.folded_bytes = limits.expanded_bytes = 4 << 20;
  limits.folding_work = 1 << 24;
  const compiler::LimitScope scope(limits);
  const auto result = compiler::compile(std::vector<compiler::CompileBytes>{{"forward", "mutant.pt2", file}}, {});
  if (!result.ok()) return code_of(result.diag());
  const Bytes pte = result->program.pte.join();
  fuzz::run_program({pte.data(), pte.size()});
  return 0;
}

int run_pte(Span<const uint8_t> file) {
  char buffer[1024];
  ErrorText text(buffer);
  if (!Program::load(file, {&text}).ok()) {
    EXPECT_GT(text.size(), 0u);
    return 4;
  }
  fuzz::run_program(file);
  return 0;
}

int run_bpte(Span<const uint8_t> file) {
  char buffer[1024];
  ErrorText text(buffer);
  const auto bundled = BundledProgram::load(file, {&text});
  if (!bundled.ok()) {
    EXPECT_GT(text.size(), 0u);
    return 4;
  }
  unsigned sum = 0;
  for (size_t suite = 0; suite < bundled->num_suites(); ++suite) {
    for (size_t set = 0; set < bundled->num_sets(suite); ++set) {
      for (size_t i = 0; i < bundled->num_inputs(suite, set); ++i) {
        for (const uint8_t byte : bundled->input(suite, set, i).tensor.bytes) sum += byte;
      }
      for (size_t i = 0; i < bundled->num_outputs(suite, set); ++i) {
        for (const uint8_t byte : bundled->output(suite, set, i).tensor.bytes) sum += byte;
      }
    }
  }
  [[maybe_unused]] static volatile unsigned sink;
  sink = sum;  // so that the reads stay
  return run_pte(bundled->program());
}

int run_ptd(Span<const uint8_t> file) {
  char buffer[1024];
  ErrorText text(buffer);
  const auto map = DataMap::load(file, {&text});
  if (!map.ok()) {
    EXPECT_GT(text.size(), 0u);
    return 4;
  }
  static const Bytes program = read_file("tests/fixtures/stock/1.5/external_weights.pte");
  fuzz::run_program({program.data(), program.size()}, &*map);
  return 0;
}

int run_arrays(Span<const uint8_t> file) {
  const auto arrays = cli::parse_npz(file);
  const auto array = cli::parse_npy(file);
  if (!arrays.ok() && !array.ok()) return std::max(code_of(arrays.diag()), code_of(array.diag()));
  return 0;
}

int run_ir(Span<const uint8_t> file) {
  const auto function = compiler::parse_graph({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!function.ok()) return code_of(function.diag());
  const compiler::Status status = compiler::verify(*function->graph);
  return status.ok() ? 0 : 4;
}

TEST(Mutants, OfExportedProgramsAreRefusedOrRun) {
  const auto counts = run_mutants(seeds("tests/fixtures/structure", ".pt2", 20'000), run_pt2);
  EXPECT_GT(counts.count(4), 0u);
}

// The JSON says something else and is well formed, and every checksum is right.
TEST(Mutants, OfWhatExportedProgramsSayAreRefusedOrRun) {
  std::vector<fuzz::JsonTree> documents;
  for (const Bytes& file : seeds("tests/fixtures/structure", ".pt2", 12'000)) {
    const auto archive = compiler::pt2::Archive::open({file.data(), file.size()}, "seed.pt2");
    if (!archive.ok()) continue;
    if (auto document = fuzz::document_of(*archive)) documents.push_back(std::move(*document));
  }
  ASSERT_GT(documents.size(), 20u);
  fuzz::Random random(7);
  std::map<int, int> counts;
  for (int i = 0; i < kMutants; ++i) {
    fuzz::JsonTree document = documents[random.below(documents.size())];
    fuzz::mutate(document, random);
    const std::string file = fuzz::archive_of(document);
    const clock_t start = clock();
    ++counts[run_pt2({reinterpret_cast<const uint8_t*>(file.data()), file.size()})];
    EXPECT_LT(static_cast<double>(clock() - start) / CLOCKS_PER_SEC, 10) << "mutant " << i;
  }
  for (const int code : {0, 3, 4}) EXPECT_GT(counts.count(code), 0u) << code;
  EXPECT_EQ(counts[0] + counts[3] + counts[4], kMutants);
}

TEST(Mutants, OfProgramsAreRefusedOrRun) {
  const auto counts = run_mutants(seeds("tests/fixtures/stock/1.5", ".pte", 20'000), run_pte);
  EXPECT_GT(counts.count(0), 0u);
  EXPECT_GT(counts.count(4), 0u);
}

TEST(Mutants, OfBundledProgramsAreRefusedOrRun) {
  const auto counts = run_mutants(seeds("tests/fixtures/stock/1.5", ".bpte", 20'000), run_bpte);
  EXPECT_GT(counts.count(0), 0u);
  EXPECT_GT(counts.count(4), 0u);
}

// The command does more with the sets than loading them. A set that differs has exit code 5.
TEST(Mutants, OfBundledProgramsHaveTestSetsThatAreRefusedOrRun) {
  constexpr int kRuns = 60;
  const std::vector<Bytes> files = seeds("tests/fixtures/stock/1.5", ".bpte", 20'000);
  ASSERT_FALSE(files.empty());
  fuzz::Random random(20240601);
  std::map<int, int> counts;
  for (int i = 0; i < kRuns; ++i) {
    const Bytes bytes = fuzz::mutant(files[random.below(files.size())], random);
    const std::string path = made_file("mutant.bpte", [&] { return std::string(bytes.begin(), bytes.end()); });
    const Outcome outcome = run_wick({"run", path, "--testset"});
    EXPECT_EQ(outcome.signal, 0) << "mutant " << i << ": " << outcome.output;
    EXPECT_TRUE(outcome.exit_code == 0 || (outcome.exit_code >= 2 && outcome.exit_code <= 5))
        << "mutant " << i << ": exit code " << outcome.exit_code << "\n"
        << outcome.output;
    ++counts[outcome.exit_code];
    std::remove(path.c_str());
  }
  EXPECT_GT(counts[0], 0);
  EXPECT_GT(counts[4], 0);
  EXPECT_GT(counts[5], 0);
}

// Programs whose values take memory when they run, with other frees, views, jumps, arguments and shapes.
TEST(Mutants, OfProgramsWithoutBoundsAreRefusedOrRun) {
  std::vector<Bytes> programs;
  for (const Bytes& file : seeds("tests/fixtures/structure", ".pt2", 33'000)) {
    const auto result =
        compiler::compile(std::vector<compiler::CompileBytes>{{"forward", "seed.pt2", {file.data(), file.size()}}}, {});
    if (result.ok() && !result->methods[0].unbounded.empty()) programs.push_back(result->program.pte.join());
  }
  ASSERT_GE(programs.size(), 9u);
  fuzz::Random random(20261129);
  std::map<int, int> counts;
  int ran = 0;
  for (int i = 0; i < kMutants; ++i) {
    Bytes bytes = programs[random.below(programs.size())];
    for (size_t edits = 1 + random.below(3); edits > 0 && !bytes.empty(); --edits)
      bytes = fuzz::edit_program({bytes.data(), bytes.size()}, random);
    const fuzz::Block block({bytes.data(), bytes.size()});
    ++counts[run_pte(block.bytes())];
    ran += fuzz::run_program(block.bytes());
  }
  EXPECT_GT(counts[0], kMutants / 4);
  EXPECT_GT(counts[4], 0);
  EXPECT_GT(ran, kMutants / 20);
  std::printf("%d of %d programs load, %d run\n", counts[0], kMutants, ran);
}

TEST(Mutants, OfExternalDataAreRefusedOrRun) {
  const auto counts = run_mutants(seeds("tests/fixtures/stock/1.5", ".ptd", 20'000), run_ptd);
  EXPECT_GT(counts.count(4), 0u);
}

TEST(Mutants, OfArraysAreRefusedOrRead) {
  std::vector<Bytes> files = seeds("tests/fuzz/npz", ".npz", 20'000);
  for (Bytes& file : seeds("tests/fuzz/npz", ".npy", 20'000)) files.push_back(std::move(file));
  const auto counts = run_mutants(files, run_arrays);
  EXPECT_GT(counts.count(0), 0u);
  EXPECT_GT(counts.count(4), 0u);
}

TEST(Mutants, OfIrTextAreRefusedOrRead) {
  const auto counts = run_mutants(seeds("tests/fuzz/ir", ".ir", 20'000), run_ir);
  EXPECT_GT(counts.count(0), 0u);
  EXPECT_GT(counts.count(4), 0u);
}

}  // namespace
}  // namespace wick::testing
