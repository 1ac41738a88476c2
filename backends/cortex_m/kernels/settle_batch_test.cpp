// Outputs are resized to the batch of their input: tests with the calls of device_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "backends/cortex_m/kernels/device_test/cases.h"
#include "backends/cortex_m/kernels/variants.h"
#include "wick/cortex_m_backend.h"
#include "wick/kernel.h"
#include "wick/tensor_memory.h"

namespace wick::cortex_m {
namespace {

/// Memory that moves when a tensor grows; it has exactly the requested size.
class MovingMemory : public TensorMemory {
 public:
  void set_tensors(Span<Tensor>, Span<UnboundedTensor>) override {}
  void begin_execution() override {}
  void end_execution() override {}
  bool grow(UnboundedTensor& tensor, size_t size_bytes) override {
    if (fails) return false;
    blocks.push_back(std::vector<uint64_t>((size_bytes + 7) / 8));
    tensor.data = blocks.back().data();
    tensor.capacity_bytes = size_bytes;
    return true;
  }
  void release(UnboundedTensor&) override {}
  void* take_scratch(size_t) override { return nullptr; }
  void free_scratch() override {}
  void free_all() override {}
  const char* failure() const override { return nullptr; }

  bool fails = false;
  std::vector<std::vector<uint64_t>> blocks;
};

using Bytes = std::vector<uint8_t>;

/// A call whose output has the batch of an earlier call.
class SettleBatch : public ::testing::TestWithParam<bool> {
 protected:
  struct Outcome {
    std::string message;
    Bytes before, bytes;  // the output's memory before it may have moved; the output
    int32_t batch;
  };

  void TearDown() override { call_.clear(); }

  const Kernel& kernel_of(const CaseSource& source) {
    const KernelTable table = GetParam() ? reference_kernels() : cortex_m_kernels();
    return *std::find_if(table.begin(), table.end(),
                         [&](const Kernel& row) { return std::string(row.name) == source.name; });
  }

  /// Runs the call with an output of batch `batch` in memory of `capacity` bytes. `inside`, if given, is put `offset`
  /// bytes behind the beginning of that memory.
  Outcome run(ShapeDynamism dynamism, int32_t batch, size_t capacity, Tensor* inside = nullptr, size_t offset = 0) {
    const size_t at = call_.args().size() - 1;
    Tensor& own = call_.out();
    Bytes memory(capacity, kPoison);
    std::vector<int32_t> sizes(own.sizes, own.sizes + own.rank), strides(own.strides, own.strides + own.rank);
    UnboundedTensor out;
    static_cast<Tensor&>(out) = own;
    out.sizes = sizes.data(), out.strides = strides.data();
    sizes[0] = batch;
    EXPECT_EQ(compute_layout(out), Error::Ok);
    out.dynamism = dynamism, out.data = memory.data(), out.capacity_bytes = capacity, out.memory = &memory_;
    void* const outside = inside ? inside->data : nullptr;
    if (inside) inside->data = memory.data() + offset;
    EValue value = EValue::of_tensor(&out);
    std::vector<EValue*> args(call_.args().begin(), call_.args().end());
    args[at] = &value;
    args.push_back(&value);
    KernelContext context({}, nullptr, nullptr);
    kernel_of(*source_).fn(context, {args.data(), args.size()});
    if (inside) inside->data = outside;
    const uint8_t* data = out.as<uint8_t>();
    return {context.message(), memory, data ? Bytes(data, data + out.nbytes()) : Bytes(), sizes[0]};
  }
  bool is_untouched(const Bytes& bytes) const {
    return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == kPoison; });
  }

  /// Calls body(batch, bytes of an image) for calls whose kernel resizes the output's batch; returns the kernels.
  template <typename Body>
  std::set<std::string> for_each_settled(const Body& body) {
    std::set<std::string> kernels;
    for_each_call(call_, kCalls, [&](const CaseSource& source) {
      source_ = &source;
      const Tensor& out = call_.out();
      if (out.rank == 0 || out.sizes[0] < 2 || out.numel == 0) return;
      const int32_t batch = out.sizes[0];
      const size_t image = out.nbytes() / static_cast<size_t>(batch);
      if (!run(ShapeDynamism::upper_bound, 1, out.nbytes()).message.empty()) return;
      SCOPED_TRACE(source.name);
      kernels.insert(source.name);
      body(batch, image);
    });
    return kernels;
  }

  static constexpr uint8_t kPoison = 0xA5;
  static constexpr int32_t kCalls = 40;
  Call call_{0};
  const CaseSource* source_ = nullptr;
  MovingMemory memory_;
};

TEST_P(SettleBatch, WhereTheOutputMayHaveIt) {
  std::set<std::string> of_second_operand;  // the first operand is broadcast
  const std::set<std::string> kernels = for_each_settled([&](int32_t batch, size_t image) {
    const Tensor& first = *call_.args()[0]->tensor;
    if (first.rank < call_.out().rank || first.sizes[0] == 1) of_second_operand.insert(source_->name);
    const size_t all = image * static_cast<size_t>(batch);
    const Outcome wanted = run(ShapeDynamism::fixed, batch, all);
    EXPECT_EQ(wanted.message, "");
    for (const int32_t earlier : {1, 0}) {
      const Outcome bounded = run(ShapeDynamism::upper_bound, earlier, all);
      EXPECT_EQ(bounded.message, "");
      EXPECT_EQ(bounded.batch, batch);
      EXPECT_EQ(bounded.bytes, wanted.bytes);
    }
    const Outcome moved = run(ShapeDynamism::unbounded, 1, image);
    EXPECT_EQ(moved.message, "");
    EXPECT_TRUE(is_untouched(moved.before)) << "the memory that the output had is written";
    EXPECT_EQ(moved.bytes, wanted.bytes);
    const Outcome beyond = run(ShapeDynamism::upper_bound, 1, all - 1), fixed = run(ShapeDynamism::fixed, 1, image);
    memory_.fails = true;
    const Outcome no_memory = run(ShapeDynamism::unbounded, 1, image);
    memory_.fails = false;
    for (const Outcome* refused : {&beyond, &fixed, &no_memory}) {
      EXPECT_NE(refused->message, "");
      EXPECT_EQ(refused->batch, 1);
      EXPECT_TRUE(is_untouched(refused->before)) << refused->message;
    }
  });
  EXPECT_EQ(kernels.size(), 46u);
  EXPECT_EQ(of_second_operand.size(), 8u);
}

TEST_P(SettleBatch, ScratchIsApartFromAllOfTheOutput) {
  std::set<std::string> kernels;
  for_each_settled([&](int32_t batch, size_t image) {
    const size_t all = image * static_cast<size_t>(batch);
    for (size_t i = 0; i < call_.args().size(); ++i) {
      if (!call_.is_scratch(i) || call_.args()[i]->tensor->numel == 0) continue;
      Tensor& scratch = *call_.args()[i]->tensor;
      const size_t offset = (image + 15) / 16 * 16;  // beyond the end of the earlier batch
      if (offset >= all) continue;
      kernels.insert(source_->name);
      const Outcome shared = run(ShapeDynamism::upper_bound, 1, all + 16 + scratch.nbytes(), &scratch, offset);
      EXPECT_EQ(shared.message, "scratch lies in constant memory or in that of another argument");
    }
  });
  EXPECT_EQ(kernels.size(), 13u);
}

// Tensors with the output's batch have no elements then.
TEST_P(SettleBatch, EmptyOnes) {
  for_each_settled([&](int32_t batch, size_t image) {
    for (size_t i = 0; i + 1 < call_.args().size(); ++i) {
      const EValue& value = *call_.args()[i];
      if (value.tag != Tag::tensor || value.tensor->rank != call_.out().rank || value.tensor->sizes[0] != batch)
        continue;
      value.tensor->sizes[0] = 0;
      ASSERT_EQ(compute_layout(*value.tensor), Error::Ok);
    }
    const Outcome none = run(ShapeDynamism::upper_bound, batch, image * static_cast<size_t>(batch));
    EXPECT_TRUE(is_untouched(none.before));
    EXPECT_EQ(none.batch, none.message.empty() ? 0 : none.batch);
  });
}

std::string name_of(const ::testing::TestParamInfo<bool>& info) { return info.param ? "reference" : "own"; }
INSTANTIATE_TEST_SUITE_P(Kernels, SettleBatch, ::testing::Bool(), name_of);

}  // namespace
}  // namespace wick::cortex_m
