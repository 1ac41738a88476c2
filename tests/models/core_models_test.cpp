// A model as torch.export writes it, and as torch decomposes it to Core ATen (NAME_core): the same delegates, launches
// and memory. That both compute what eager does is the subject of models_test.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "backends/cuda/payload/plan.h"
#include "compiler/driver/compile.h"
#include "tests/fixtures/expand_fixture.h"

namespace wick::testing {
namespace {

namespace fs = std::filesystem;
constexpr char kFolder[] = "tests/fixtures/models";
const std::string kSuffix = "_core.wfix.gz";

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(kSuffix)) names.push_back(file.substr(0, file.size() - kSuffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

struct Cost {
  uint64_t delegates = 0, outside = 0, launches = 0, arena_bytes = 0;  // launches: of CUDA
};

Cost cost_of(const std::string& model, const std::string& backend) {
  const auto fixture = expand_fixture(fmt::format("{}/{}.wfix.gz", kFolder, model));
  EXPECT_TRUE(fixture.ok()) << model;
  if (!fixture.ok()) return {};
  compiler::CompileOptions options;
  options.targets = *compiler::find_targets(backend);
  const Span<const uint8_t> bytes(fixture->pt2.data(), fixture->pt2.size());
  const auto compiled = compiler::compile(std::vector<compiler::CompileBytes>{{"forward", model, bytes}}, options);
  EXPECT_TRUE(compiled.ok()) << model;
  if (!compiled.ok()) return {};
  const compiler::MethodReport& report = compiled->methods[0];
  Cost cost{report.delegates, report.outside.size(), 0, report.arena_bytes};
  for (const auto& delegate : compiled->method_plans[0].delegates) {
    cuda::Plan plan;
    const std::vector<uint8_t>& payload = delegate->payload;
    if (delegate->id != cuda::kBackendId ||
        cuda::read_plan({payload.data(), payload.size()}, &plan, nullptr) != Error::Ok)
      continue;
    cost.arena_bytes += plan.arena_bytes;
    for (const cuda::PlanNode& node : plan.nodes) cost.launches += node.kind == cuda::NodeKind::launch;
  }
  return cost;
}

void expect_within_5_percent(uint64_t core, uint64_t plain, const char* what) {
  EXPECT_LE(core * 100, plain * 105) << what << ": " << core << " decomposed, " << plain << " plain";
  EXPECT_LE(plain * 100, core * 105) << what << ": " << core << " decomposed, " << plain << " plain";
}

class CoreModel : public ::testing::TestWithParam<std::string> {};

TEST_P(CoreModel, CostsWhatThePlainOneDoes) {
  for (const char* backend : {"cuda:gpu=none", "xnnpack"}) {
    SCOPED_TRACE(backend);
    const Cost plain = cost_of(GetParam(), backend), core = cost_of(GetParam() + "_core", backend);
    EXPECT_EQ(core.delegates, plain.delegates);
    EXPECT_EQ(core.outside, plain.outside);
    expect_within_5_percent(core.launches, plain.launches, "launches");
    expect_within_5_percent(core.arena_bytes, plain.arena_bytes, "bytes of memory");
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CoreModel, ::testing::ValuesIn(models()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace wick::testing
