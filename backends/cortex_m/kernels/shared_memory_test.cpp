// Kernels must refuse outputs and scratch that are constant or share memory with checked values: tests with the calls
// of device_test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "backends/cortex_m/kernels/device_test/cases.h"
#include "backends/cortex_m/kernels/variants.h"
#include "wick/kernel.h"

namespace wick::cortex_m {
namespace {

const Kernel& kernel_of(const CaseSource& source) {
  const KernelTable table = reference_kernels();
  return *std::find_if(table.begin(), table.end(),
                       [&](const Kernel& row) { return std::string(row.name) == source.name; });
}

class SharedMemory : public ::testing::Test {
 protected:
  void TearDown() override { call_.clear(); }

  /// Calls body(arg, tensor) for each tensor with elements, scratch included, in a few calls of each kernel.
  template <typename Body>
  void for_each_tensor(bool scratch, const Body& body) {
    for_each_call(call_, kCalls, [&](const CaseSource& source) {
      source_ = &source;
      ASSERT_EQ(message(), "") << source.name;
      for (size_t arg = 0; arg < call_.args().size(); ++arg) {
        const EValue& value = *call_.args()[arg];
        if (value.tag == Tag::tensor && value.tensor->numel > 0 && call_.is_scratch(arg) == scratch)
          body(arg, *value.tensor);
      }
    });
  }
  std::string message() {
    KernelContext context({}, nullptr, nullptr);
    kernel_of(*source_).fn(context, call_.args_and_slot());
    return context.message();
  }
  bool is_out(size_t arg) const { return kernel_of(*source_).signature[arg] == 'o'; }
  /// Whether the kernel refuses some elements of `tensor`.
  bool checks(Tensor& tensor) {
    std::vector<uint8_t> own(tensor.as<uint8_t>(), tensor.as<uint8_t>() + tensor.nbytes());
    bool refused = false;
    for (const int byte : {0x80, 0x7F}) {
      memset(tensor.data, byte, tensor.nbytes());
      refused = refused || !message().empty();
    }
    std::copy(own.begin(), own.end(), tensor.as<uint8_t>());
    return refused;
  }
  /// The kernel's message if `tensor` is in the memory of `other`.
  std::string message_if_shared(Tensor& tensor, const Tensor& other) {
    void* const own = tensor.data;
    tensor.data = other.data;
    std::string result = message();
    tensor.data = own;
    return result;
  }

  static constexpr int32_t kCalls = 12;
  Call call_{0};
  const CaseSource* source_ = nullptr;
};

constexpr char kRefused[] = "scratch lies in constant memory or in that of another argument";

TEST_F(SharedMemory, ScratchIsNoConstantAndApartFromOtherTensors) {
  std::set<std::string> kernels;
  for_each_tensor(true, [&](size_t scratch_arg, Tensor& scratch) {
    SCOPED_TRACE(source_->name);
    kernels.insert(source_->name);
    scratch.read_only = true;
    EXPECT_EQ(message(), kRefused);
    scratch.read_only = false;
    for (size_t arg = 0; arg < call_.args().size(); ++arg) {
      const EValue& value = *call_.args()[arg];
      if (arg != scratch_arg && value.tag == Tag::tensor && value.tensor->numel > 0)
        EXPECT_EQ(message_if_shared(scratch, *value.tensor), kRefused);
    }
  });
  EXPECT_EQ(kernels.size(), 21u);
}

TEST_F(SharedMemory, OutputsAreApartFromElementsThatKernelsCheck) {
  std::set<std::string> kernels;
  for_each_tensor(false, [&](size_t arg, Tensor& operand) {
    if (is_out(arg) || !checks(operand)) return;
    SCOPED_TRACE(source_->name);
    kernels.insert(source_->name);
    for (size_t i = 0; i < call_.args().size(); ++i) {
      if (!is_out(i)) continue;
      // An output that is longer than the operand may overlap scratch, which is refused, too.
      const std::string refusal = message_if_shared(*call_.args()[i]->tensor, operand);
      EXPECT_TRUE(refusal.find("shares memory") != std::string::npos || refusal == kRefused) << arg << ": " << refusal;
    }
  });
  EXPECT_EQ(kernels.size(), 22u);
}

}  // namespace
}  // namespace wick::cortex_m
