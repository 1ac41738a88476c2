// Programs that the compiler writes for each backend, changed: their tables, a delegate's payload, any byte. Each is
// refused, or runs within its memory.
//   WICK_MUTANTS=100000     as many for each backend
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "backends/xnnpack/test/payload_edit.h"
#include "compiler/driver/compile.h"
#include "compiler/support/file_map.h"
#include "tests/cortex_m/quantized_fixtures.h"
#include "tests/fuzz/block.h"
#include "tests/fuzz/editable_program.h"
#include "tests/fuzz/mutant.h"
#include "tests/fuzz/program_edit.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/run_program.h"
#include "tests/support/scratch_folder.h"
#include "wick/xnnpack_backend.h"

namespace wick::testing {
namespace {

using Bytes = std::vector<uint8_t>;

// A program and where its delegates run.
struct Whole {
  Bytes pte;
  std::string device;
};

struct Kind {
  const char* name;
  std::vector<Whole> (*make)(const ScratchFolder& folder);
  size_t least;  // programs that run as they are
  /// Changed bytes may be those of a plan. How it launches kernels is not checked (SECURITY.md), so a kernel of the
  /// twin may then leave its memory.
  bool any_byte = true;
};

std::vector<std::filesystem::path> structure_programs() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fixtures/structure")) {
    if (entry.path().extension() == ".pt2" && entry.file_size() <= 33'000) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

void add_program(Span<const uint8_t> file, std::string_view target, const compiler::TargetSettings& settings,
                 const std::string& device, std::vector<Whole>& programs) {
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets(target, settings);
  const auto result = compiler::compile(std::vector<compiler::CompileBytes>{{"forward", "seed.pt2", file}}, options);
  if (!result.ok()) return;
  Whole whole{result->program.pte.join(), device};
  if (fuzz::run_program({whole.pte.data(), whole.pte.size()}, nullptr, {}, device.c_str()))
    programs.push_back(std::move(whole));
}

std::vector<Whole> structure_for(std::string_view target) {
  std::vector<Whole> programs;
  for (const auto& path : structure_programs()) {
    const auto map = compiler::FileMap::open(path.string());
    if (map.ok()) add_program(map->bytes(), target, {}, "", programs);
  }
  return programs;
}

std::vector<Whole> portable_programs(const ScratchFolder&) { return structure_for("portable"); }

std::vector<Whole> xnnpack_programs(const ScratchFolder&) { return structure_for("xnnpack"); }

std::vector<Whole> cortex_m_programs(const ScratchFolder&) {
  std::vector<Whole> programs;
  for (const std::string& name : cortex_m::quantized_program_names()) {
    const auto model = cortex_m::quantized_program(name);
    if (!model || model->pt2.size() > 40'000) continue;
    for (const char* target : {"cortex-m:cpu=cortex-m55,memory=tight", "cortex-m:cpu=cortex-m4"})
      add_program({model->pt2.data(), model->pt2.size()}, target, {}, "", programs);
  }
  return programs;
}

// A twin takes seconds to compile: views, writes to inputs and states, indices, sizes known only at run time.
std::vector<Whole> cuda_programs(const ScratchFolder& folder) {
  std::vector<Whole> programs;
  for (const char* name :
       {"cache_index_put", "dynamic_two_dims", "in_place_reshaped", "nonzero", "tied_weights", "two_buffers"}) {
    const auto map = compiler::FileMap::open("tests/fixtures/structure/" + std::string(name) + ".pt2");
    const std::string twin = folder.file(std::string(name) + ".so");
    if (map.ok()) add_program(map->bytes(), "cuda", {{"gpu", "none"}, {"twin", twin}}, "cuda-twin=" + twin, programs);
  }
  return programs;
}

// Other payloads for the XNNPACK delegates; empty if there are none, or one cannot be read.
Bytes with_other_payload(Span<const uint8_t> file, fuzz::Random& random) {
  const fuzz::EditableProgram program = fuzz::open_program(file);
  if (!program.tables) return {};
  bool changes = false;
  for (const auto& plan : program.tables->execution_plan) {
    for (const auto& delegate : plan->delegates) {
      if (delegate->id != xnnpack::kBackendId || !delegate->processed) continue;
      const auto [location, index] = std::pair(delegate->processed->location, delegate->processed->index);
      Span<const uint8_t> blob;
      if (location == pte_edit::DataLocation::INLINE) {
        const auto& data = program.tables->backend_delegate_data;
        if (index < data.size()) blob = {data[index]->data.data(), data[index]->data.size()};
      } else if (index < program.tables->segments.size()) {
        const auto& segment = *program.tables->segments[index];
        blob = fuzz::rest(program.segments, segment.offset, segment.size);
      }
      const Bytes edited = xnnpack::edit_payload(blob, static_cast<unsigned>(random.bits()));
      if (edited.empty()) return {};
      auto inlined = std::make_unique<pte_edit::BackendDelegateInlineDataT>();
      inlined->data = edited;
      delegate->processed->location = pte_edit::DataLocation::INLINE;
      delegate->processed->index = static_cast<uint32_t>(program.tables->backend_delegate_data.size());
      program.tables->backend_delegate_data.push_back(std::move(inlined));
      changes = true;
    }
  }
  return changes ? fuzz::write_program(program) : Bytes();
}

Bytes changed(const Bytes& pte, bool any_byte, fuzz::Random& random) {
  if (any_byte && random.one_in(5)) return fuzz::mutant(pte, random);
  if (random.one_in(3)) {
    Bytes bytes = with_other_payload({pte.data(), pte.size()}, random);
    if (!bytes.empty()) return bytes;
  }
  return fuzz::edit_program({pte.data(), pte.size()}, random);
}

int wanted_count() {
  const char* text = std::getenv("WICK_MUTANTS");  // NOLINT(concurrency-mt-unsafe)
  return text ? std::atoi(text) : 500;
}

class WholePrograms : public ::testing::TestWithParam<Kind> {};

TEST_P(WholePrograms, AreRefusedOrStayWithinTheirMemory) {
  if (GetParam().make == xnnpack_programs && !has_xnnpack_library()) GTEST_SKIP() << "without the XNNPACK library";
  const ScratchFolder folder;
  const std::vector<Whole> programs = GetParam().make(folder);
  ASSERT_GE(programs.size(), GetParam().least);
  fuzz::Random random(20261130);
  const int count = wanted_count();
  ASSERT_GT(count, 0);
  int ran = 0;
  for (int i = 0; i < count; ++i) {
    const Whole& whole = programs[random.below(programs.size())];
    const Bytes bytes = changed(whole.pte, GetParam().any_byte, random);
    const fuzz::Block block({bytes.data(), bytes.size()});
    const clock_t start = clock();
    ran += fuzz::run_program(block.bytes(), nullptr, {}, whole.device.c_str());
    EXPECT_LT(static_cast<double>(clock() - start) / CLOCKS_PER_SEC, 10) << "mutant " << i;
  }
  EXPECT_GT(ran, count / 20);
  EXPECT_LT(ran, count);
  std::printf("%d of %d programs run\n", ran, count);
}

INSTANTIATE_TEST_SUITE_P(Backends, WholePrograms,
                         ::testing::Values(Kind{"portable", portable_programs, 100},
                                           Kind{"xnnpack", xnnpack_programs, 100},
                                           Kind{"cortex_m", cortex_m_programs, 50},
                                           Kind{"cuda", cuda_programs, 6, false}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace wick::testing
