// Small delegates for tests: a payload built value by value, in a program of one instruction. Tests only.
#pragma once
#include <gtest/gtest.h>
#include <string.h>

#include <string>
#include <utility>
#include <vector>

#include "backends/xnnpack/payload/payload.h"
#include "common/float16.h"
#include "runtime/exec/method_harness.h"
#include "wick/xnnpack_backend.h"

namespace wick::xnnpack {

using Floats = std::vector<float>;
using Shape = std::vector<uint32_t>;

template <typename T>
std::vector<uint8_t> bytes_of(const std::vector<T>& items) {
  std::vector<uint8_t> bytes(items.size() * sizeof(T));
  if (!bytes.empty()) memcpy(bytes.data(), items.data(), bytes.size());
  return bytes;
}

inline size_t count_of(const Shape& shape) {
  size_t count = 1;
  for (const uint32_t dim : shape) count *= dim;
  return count;
}

inline DType dtype_of(DataType type) {
  switch (type) {
    case DataType::fp16: return DType::f16;
    case DataType::bf16: return DType::bf16;
    case DataType::qint8: return DType::i8;
    case DataType::quint8: return DType::u8;
    case DataType::int32: return DType::i64;
    default: return DType::f32;
  }
}

/// 0.25, -0.5, .. : small numbers that are exact in half precision and do not repeat soon.
inline Floats some_floats(size_t count, uint32_t seed = 1) {
  Floats floats(count);
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    floats[i] = static_cast<float>(static_cast<int32_t>(seed >> 24) - 128) / 64;
  }
  return floats;
}

/// A payload and the data that it names.
class TestDelegate {
 public:
  Payload payload;
  bool is_dynamic = false;                                             // sizes of arguments are upper bounds
  std::vector<std::pair<DType, std::vector<int32_t>>> more_arguments;  // behind inputs and outputs
  std::vector<std::pair<std::string, std::vector<uint8_t>>> named;

  TestDelegate() { payload.constants.emplace_back(); }

  uint32_t value(DataType type, const Shape& dims, Quantization quantization = {}) {
    PayloadValue value;
    value.type = type;
    value.dims = dims;
    value.quantization = quantization;
    payload.values.push_back(value);
    return static_cast<uint32_t>(payload.values.size()) - 1;
  }
  uint32_t input(const Shape& dims, DataType type = DataType::fp32, Quantization quantization = {}) {
    const uint32_t id = value(type, dims, quantization);
    payload.values[id].is_input = true;
    payload.values[id].external_id = payload.num_externals++;
    payload.input_ids.push_back(id);
    return id;
  }
  uint32_t output(const Shape& dims, DataType type = DataType::fp32, Quantization quantization = {}) {
    const uint32_t id = value(type, dims, quantization);
    payload.values[id].is_output = true;
    payload.values[id].external_id = payload.num_externals++;
    payload.output_ids.push_back(id);
    return id;
  }
  uint32_t named_constant(const std::vector<uint8_t>& bytes) {
    PayloadConstant constant;
    constant.key = "data" + std::to_string(payload.constants.size());
    constant.size_bytes = bytes.size();
    named.emplace_back(constant.key, bytes);
    payload.constants.push_back(constant);
    return static_cast<uint32_t>(payload.constants.size()) - 1;
  }
  template <typename T>
  uint32_t constant(const Shape& dims, const std::vector<T>& items, DataType type = DataType::fp32,
                    Quantization quantization = {}) {
    const uint32_t id = value(type, dims, quantization);
    payload.values[id].constant = named_constant(bytes_of(items));
    return id;
  }
  PayloadNode& node(NodeType type, const Shape& inputs, uint32_t output) {
    PayloadNode node;
    node.type = type;
    for (size_t i = 0; i < inputs.size(); ++i) node.inputs[i] = inputs[i];
    node.output = output;
    payload.nodes.push_back(node);
    return payload.nodes.back();
  }

  /// A program whose method is the delegate. Arguments have the dtypes of their values, row-major.
  schema::AlignedBytes program(const std::vector<DType>& dtypes = {}) const {
    schema::TestProgram program;
    for (const auto& [key, bytes] : named) program.add_named_data(key.c_str(), {bytes.begin(), bytes.end()});
    std::vector<int32_t> arguments(payload.num_externals);
    for (uint32_t i = 0; i < payload.num_externals; ++i) {
      for (const PayloadValue& value : payload.values) {
        if ((!value.is_input && !value.is_output) || value.external_id != i) continue;
        const DType dtype = dtypes.size() > i ? dtypes[i] : dtype_of(value.type);
        arguments[i] = planned(program, dtype, {value.dims.begin(), value.dims.end()});
        (value.is_input ? program.inputs : program.outputs).push_back(arguments[i]);
      }
    }
    for (const auto& [dtype, sizes] : more_arguments) arguments.push_back(planned(program, dtype, sizes));
    program.delegate_call(program.delegate(kBackendId, write_payload(payload)), arguments);
    return program.build();
  }

 private:
  int32_t planned(schema::TestProgram& program, DType dtype, const std::vector<int32_t>& sizes) const {
    if (program.arena_sizes.size() < 2) program.arena_sizes.push_back(0);
    schema::TestTensor tensor{.dtype = dtype, .sizes = sizes, .memory_id = 1};
    tensor.memory_offset = static_cast<uint64_t>(program.arena_sizes[1]);
    if (is_dynamic) tensor.dynamism = pte::ShapeDynamism::DYNAMIC_BOUND;
    int64_t bytes = static_cast<int64_t>(dtype_size_bytes(dtype));
    for (const int32_t size : sizes) bytes *= size;
    program.arena_sizes[1] += (bytes + 15) / 16 * 16;
    return program.tensor(tensor);
  }
};

/// A loaded delegate.
class TestRun {
 public:
  explicit TestRun(const TestDelegate& delegate, const std::vector<DType>& dtypes = {})
      : harness_(delegate.program(dtypes)) {
    harness_.backends = {&xnnpack_backend()};
  }
  MethodHarness& harness() { return harness_; }
  Error load() { return harness_.load(); }
  Error execute(const std::vector<std::vector<uint8_t>>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      Tensor* tensor = harness_.method().input_in_place(i);
      EXPECT_EQ(tensor->nbytes(), inputs[i].size());
      memcpy(tensor->data, inputs[i].data(), std::min(inputs[i].size(), tensor->nbytes()));
    }
    return harness_.method().execute();
  }
  template <typename T>
  std::vector<T> output(size_t index = 0) {
    const Tensor& tensor = *harness_.method().output(index).tensor;
    return {tensor.as<T>(), tensor.as<T>() + tensor.numel};
  }

 private:
  MethodHarness harness_;
};

inline void expect_near(const Floats& found, const Floats& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

/// Loads and runs an fp32 delegate of one output, twice: the second run takes the path without shapes and set-up.
/// Another instance of it, with the packed weights of the first, gives the same numbers.
inline Floats run(const TestDelegate& delegate, const std::vector<Floats>& inputs) {
  TestRun test(delegate);
  EXPECT_EQ(test.load(), Error::Ok) << test.harness().text;
  if (::testing::Test::HasFailure()) return {};
  std::vector<std::vector<uint8_t>> bytes;
  for (const Floats& input : inputs) bytes.push_back(bytes_of(input));
  EXPECT_EQ(test.execute(bytes), Error::Ok) << test.harness().last_error();
  const Floats first = test.output<float>();
  EXPECT_EQ(test.execute(bytes), Error::Ok) << test.harness().last_error();
  EXPECT_EQ(test.output<float>(), first);
  TestRun other(delegate);
  EXPECT_EQ(other.load(), Error::Ok) << other.harness().text;
  if (::testing::Test::HasFailure()) return first;
  EXPECT_EQ(other.execute(bytes), Error::Ok) << other.harness().last_error();
  EXPECT_EQ(other.output<float>(), first);
  return first;
}

}  // namespace wick::xnnpack
