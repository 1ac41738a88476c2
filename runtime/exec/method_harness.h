// A method of a TestProgram with its memory and a few kernels. Tests only.
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/exec/prim_ops.h"
#include "schema/test_program_builder.h"
#include "wick/method.h"

namespace wick {

using schema::AlignedBytes;
using schema::TestProgram;
using schema::TestTensor;

/// out = self + alpha * other for contiguous f32 tensors of one shape.
inline void test_add(KernelContext& context, Span<EValue*> args) {
  const Tensor& self = *args[0]->tensor;
  const Tensor& other = *args[1]->tensor;
  Tensor& out = *args[3]->tensor;
  if (self.dtype != DType::f32 || other.dtype != DType::f32 || out.dtype != DType::f32 || !same_layout(self, other)) {
    return context.fail(Error::InvalidArgument, "wants two f32 tensors of one shape");
  }
  if (resize(out, self.shape()) != Error::Ok) return context.fail(Error::InvalidArgument, "out does not fit");
  for (size_t i = 0; i < self.numel; ++i) {
    out.as<float>()[i] = self.as<float>()[i] + static_cast<float>(args[2]->to_double()) * other.as<float>()[i];
  }
}

/// Copies the sum of all tensors of a list (contiguous f32, one shape).
inline void test_sum_list(KernelContext& context, Span<EValue*> args) {
  Tensor& out = *args[1]->tensor;
  for (size_t i = 0; i < out.numel; ++i) out.as<float>()[i] = 0;
  for (const Tensor* tensor : args[0]->tensors()) {
    if (tensor->dtype != DType::f32 || tensor->numel != out.numel) return context.fail(Error::InvalidArgument, "shape");
    for (size_t i = 0; i < out.numel; ++i) out.as<float>()[i] += tensor->as<float>()[i];
  }
}

inline constexpr Kernel kTestKernels[] = {
    {"aten::add.out", "TTso", test_add},
    {"test::sum_list.out", "Lo", test_sum_list},
};

/// An f32 tensor over a vector.
struct HostTensor32 {
  std::vector<int32_t> sizes;
  std::vector<float> data;
  std::vector<int32_t> strides;
  std::vector<uint8_t> dim_order;
  Tensor tensor;
  HostTensor32(std::vector<int32_t> s, std::vector<float> d, std::vector<uint8_t> order = {})
      : sizes(std::move(s)), data(std::move(d)), strides(sizes.size()), dim_order(std::move(order)) {
    for (size_t i = dim_order.size(); i < sizes.size(); ++i) dim_order.push_back(static_cast<uint8_t>(i));
    tensor.rank = static_cast<uint8_t>(sizes.size());
    tensor.sizes = sizes.data();
    tensor.strides = strides.data();
    tensor.dim_order = dim_order.data();
    tensor.data = data.data();
    EXPECT_EQ(compute_layout(tensor), Error::Ok);
    tensor.capacity_bytes = tensor.nbytes();
  }
};

class MethodHarness {
 public:
  explicit MethodHarness(TestProgram& program) : MethodHarness(program.build()) {}
  explicit MethodHarness(AlignedBytes file) : file_(std::move(file)) {}

  std::vector<const Backend*> backends;
  MethodOptions options;
  std::string text;                  // of the last load
  const char* built_for = "";        // of the test's kernels
  size_t method_bytes = 0;           // 0: as many as needed
  size_t extra_method_bytes = 4096;  // for delegates

  /// Loads program and method; the method of an earlier load is gone then.
  Error load() {
    method_.reset();
    char buffer[1024];
    ErrorText error_text(buffer);
    Result<Program> program = Program::load(file_.span(), {&error_text});
    text = error_text.c_str();
    if (!program.ok()) return program.error();
    if (program->num_methods() == 0) return Error::NotFound;
    program_.emplace(*program);
    const MethodMeta meta = program_->method(0);
    arenas_.clear();
    spans_.clear();
    for (size_t i = 0; i < meta.num_arenas(); ++i) {
      if (meta.arena_bytes(i) > (1 << 24)) return Error::MemoryAllocationFailed;
      arenas_.emplace_back(std::vector<uint8_t>(meta.arena_bytes(i)));
      spans_.push_back(arenas_.back().mutable_span());
    }
    const size_t bytes = method_bytes != 0 ? method_bytes : Method::required_bytes(meta) + extra_method_bytes;
    method_arena_ = AlignedBytes(std::vector<uint8_t>(bytes));
    temp_ = AlignedBytes(std::vector<uint8_t>(4096));
    const KernelTable tables[] = {KernelTable(Span<const Kernel>(kTestKernels), built_for), prim_kernels()};
    options.kernels = Span<const KernelTable>(tables);
    options.backends = Span<const Backend* const>(backends.data(), backends.size());
    options.text = &error_text;
    Result<Method> method = Method::load(
        meta, {method_arena_.mutable_span(), {spans_.data(), spans_.size()}, temp_.mutable_span()}, options);
    text = error_text.c_str();
    if (!method.ok()) return method.error();
    method_.emplace(std::move(*method));
    return Error::Ok;
  }
  Method& method() { return *method_; }
  const Program& program() const { return *program_; }
  std::string last_error() {
    char buffer[512];
    ErrorText error_text(buffer);
    method_->last_error().append_to(error_text);
    return error_text.c_str();
  }
  std::vector<float> output(size_t index) {
    const Tensor& tensor = *method_->output(index).tensor;
    return {tensor.as<float>(), tensor.as<float>() + tensor.numel};
  }

 private:
  AlignedBytes file_;
  AlignedBytes method_arena_;
  AlignedBytes temp_;
  std::vector<AlignedBytes> arenas_;
  std::vector<Span<uint8_t>> spans_;
  std::optional<Program> program_;
  std::optional<Method> method_;
};

/// out = x + y, all planned f32[2,3].
inline void fill_add_program(TestProgram& program) {
  const int32_t x = program.planned(DType::f32, {2, 3});
  const int32_t y = program.planned(DType::f32, {2, 3});
  const int32_t alpha = program.integer(1);
  const int32_t out = program.planned(DType::f32, {2, 3});
  program.call(program.op("aten::add", "out"), {x, y, alpha, out, out});
  program.inputs = {x, y};
  program.outputs = {out};
}

}  // namespace wick
