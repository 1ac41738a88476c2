// Runs programs on the table that was written for them and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>
#include <optional>

#include "cli/arrays/npz.h"
#include "runtime/module/host_tensor.h"
#include "schema/test_program_builder.h"
#include "wick/method.h"
#include "wick/portable_kernels.h"
#include "wick/xnnpack_backend.h"

namespace wick {
namespace {

using schema::AlignedBytes;

constexpr size_t kSpareBytes = 1 << 20;  // of delegates and scratch
const Backend* const kBackends[] = {&xnnpack_backend()};

/// A method of a program, with no kernels but the given ones.
class Loaded {
 public:
  Loaded(const std::string& name, KernelTable kernels) {
    std::ifstream file(std::string(WICK_EMITTED_PROGRAMS) + "/" + name + ".pte", std::ios::binary);
    file_ = AlignedBytes(std::vector<uint8_t>(std::istreambuf_iterator<char>(file), {}));
    char buffer[1024];
    ErrorText text(buffer);
    Result<Program> program = Program::load(file_.span(), {&text});
    EXPECT_TRUE(program.ok()) << text.c_str();
    if (!program.ok()) return;
    program_.emplace(*program);
    const MethodMeta meta = program_->method(0);
    for (size_t i = 0; i < meta.num_arenas(); ++i) {
      arenas_.emplace_back(std::vector<uint8_t>(meta.arena_bytes(i)));
      planned_.push_back(arenas_.back().mutable_span());
    }
    own_ = AlignedBytes(std::vector<uint8_t>(Method::required_bytes(meta) + kSpareBytes));
    temp_ = AlignedBytes(std::vector<uint8_t>(kSpareBytes));
    MethodOptions options;
    options.kernels = Span<const KernelTable>(&kernels, 1);
    options.backends = Span<const Backend* const>(kBackends);
    options.text = &text;
    Result<Method> method =
        Method::load(meta, {own_.mutable_span(), {planned_.data(), planned_.size()}, temp_.mutable_span()}, options);
    error = method.error();
    message = text.c_str();
    if (method.ok()) method_.emplace(std::move(*method));
  }

  Error error = Error::InvalidProgram;
  std::string message;

  void run(const std::string& step) {
    auto inputs = cli::read_arrays(step + ".in.npz"), wanted = cli::read_arrays(step + ".out.npz");
    ASSERT_TRUE(inputs.ok() && wanted.ok()) << step;
    std::deque<HostTensor> tensors;
    std::deque<InputView> views;
    for (size_t i = 0; i < inputs->size(); ++i) {
      const cli::NamedArray& array = (*inputs)[i];
      tensors.push_back({array.dtype, {array.sizes.begin(), array.sizes.end()}, array.bytes});
      views.emplace_back(tensors.back(), method_->meta().input_value(i).tensor.dim_order);
      ASSERT_EQ(method_->set_input(i, views.back().tensor()), Error::Ok);
    }
    ASSERT_EQ(method_->execute(), Error::Ok) << method_->last_error().message;
    for (size_t i = 0; i < wanted->size(); ++i) {
      const HostTensor found = to_host(*method_->output(i).tensor);
      ASSERT_EQ(found.dtype, DType::f32);
      ASSERT_EQ(found.bytes.size(), (*wanted)[i].bytes.size());
      for (size_t k = 0; k < found.bytes.size(); k += sizeof(float)) {
        float a = 0, b = 0;
        memcpy(&a, found.bytes.data() + k, sizeof a);
        memcpy(&b, (*wanted)[i].bytes.data() + k, sizeof b);
        EXPECT_NEAR(a, b, 1e-5) << step << " " << k;
      }
    }
  }

 private:
  AlignedBytes file_, own_, temp_;
  std::deque<AlignedBytes> arenas_;
  std::vector<Span<uint8_t>> planned_;
  std::optional<Program> program_;
  std::optional<Method> method_;
};

const std::vector<std::string> kPrograms = {"dynamic_plus_one", "symbolic_cond", "tied_weights"};

TEST(EmittedTable, RunsItsPrograms) {
  for (const std::string& name : kPrograms) {
    SCOPED_TRACE(name);
    Loaded loaded(name, portable_kernels());
    if (name == "tied_weights" && !has_xnnpack_library()) continue;
    ASSERT_EQ(loaded.error, Error::Ok) << loaded.message;
    const std::string stem = "tests/fixtures/structure/" + name;
    const bool steps = std::ifstream(stem + ".step1.in.npz").good();
    loaded.run(steps ? stem + ".step1" : stem);
  }
}

TEST(EmittedTable, HasOperatorsOnNumbersToo) {
  const KernelTable table = portable_kernels();
  const auto is_prim = [](const Kernel& kernel) { return std::string(kernel.name).find("executorch_prim::") == 0; };
  EXPECT_TRUE(std::any_of(table.begin(), table.end(), is_prim));
}

TEST(EmittedTable, HasNoRowThatNoProgramNeeds) {
  const KernelTable table = portable_kernels();
  for (size_t row = 0; row < table.size(); ++row) {
    std::vector<Kernel> rest(table.begin(), table.end());
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(row));
    const auto misses = [&](const std::string& name) {
      return Loaded(name, KernelTable(rest.data(), rest.size())).error == Error::OperatorMissing;
    };
    EXPECT_TRUE(std::any_of(kPrograms.begin(), kPrograms.end(), misses)) << table[row].name;
  }
}

}  // namespace
}  // namespace wick
