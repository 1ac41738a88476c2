// SVDF in Wick's operators gives the bytes of CMSIS-NN. LSTM follows PyTorch instead, which rounds nothing between the
// steps, and CMSIS-NN's own roundings end as near to it as said here. cmsis_nn_recurrent.inc holds what CMSIS-NN gives.
#include <algorithm>
#include <map>

#include "backends/cortex_m/kernels/oracle_test_support.h"
#include "tests/cortex_m/recurrent_cases.h"

namespace wick::vectors {
namespace {

using cortex_m::make_ints;
using test::Arg;
using test::make_out;
using test::TestTensor;

struct SvdfHash {
  const char* name;
  uint64_t hash;
};

const std::map<std::string, std::vector<int64_t>> kLstmOfCmsisNn = {
#define LSTM(name, ...) {name, {__VA_ARGS__}},
#define SVDF(name, hash)
#include "tests/cortex_m/cmsis_nn_recurrent.inc"
#undef LSTM
#undef SVDF
};
constexpr SvdfHash kSvdfOfCmsisNn[] = {
#define LSTM(...)
#define SVDF(name, hash) {name, hash},
#include "tests/cortex_m/cmsis_nn_recurrent.inc"
#undef LSTM
#undef SVDF
};

template <typename To, typename From>
std::vector<To> list(const std::vector<From>& values) {
  return {values.begin(), values.end()};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// A case in the equation of PyTorch, whose weights, input and first state are quantized, and nothing else.
class ExactLstm {
 public:
  explicit ExactLstm(const LstmCase& c) : c_(c), s_(c.shape) {}

  std::vector<double> steps() {
    std::vector<double> y(static_cast<size_t>(s_.steps * s_.batch * s_.cells));
    for (int32_t row = 0; row < s_.batch; ++row) {
      h_.assign(static_cast<size_t>(s_.cells), 0), state_ = h_;
      for (int32_t j = 0; j < s_.cells && s_.has_state; ++j) {
        h_[index(j)] = c_.h[index(row * s_.cells + j)] * c_.output_scale;
        state_[index(j)] = std::ldexp(c_.c[index(row * s_.cells + j)], -kCellBits);
      }
      for (int32_t step = 0; step < s_.steps; ++step) {
        h_ = next(step, row);
        for (int32_t j = 0; j < s_.cells; ++j) y[c_.at(step, row, j, s_.cells)] = h_[index(j)] / c_.output_scale;
      }
    }
    return y;
  }

 private:
  const LstmCase& c_;
  const LstmShape& s_;
  std::vector<double> h_, state_;

  static size_t index(int32_t i) { return static_cast<size_t>(i); }
  double sum(int32_t gate, int32_t j, int32_t step, int32_t row) const {
    const int32_t at = gate * s_.cells + j;
    double of_input = c_.bias[index(at)], of_state = 0;
    for (int32_t i = 0; i < s_.inputs; ++i)
      of_input += (c_.x[c_.at(step, row, i, s_.inputs)] - c_.input_zero_point) *
                  static_cast<double>(c_.input_weights[index(at * s_.inputs + i)]);
    for (int32_t i = 0; i < s_.cells; ++i) of_state += h_[index(i)] * c_.state_weights[index(at * s_.cells + i)];
    return of_input * c_.input_scale * c_.input_weight_scales[index(gate)] +
           of_state * c_.state_weight_scales[index(gate)];
  }
  std::vector<double> next(int32_t step, int32_t row) {
    std::vector<double> h;
    for (int32_t j = 0; j < s_.cells; ++j) {
      double& state = state_[index(j)];
      state = sigmoid(sum(1, j, step, row)) * state + sigmoid(sum(0, j, step, row)) * std::tanh(sum(2, j, step, row));
      h.push_back(sigmoid(sum(3, j, step, row)) * std::tanh(state));
    }
    return h;
  }
};

/// wick_cortex_m::lstm, whose tensors are [steps, batch, ..].
class LstmRun {
 public:
  explicit LstmRun(const LstmCase& c) : c_(c), s_(c.shape) {}

  std::vector<int64_t> elements() const {
    const DType dtype = s_.bits == 8 ? DType::i8 : DType::i16;
    const TestTensor x = make_ints(dtype, {s_.steps, s_.batch, s_.inputs}, ordered_input());
    const TestTensor input_weights = make_ints(DType::i16, {4 * s_.cells, s_.inputs}, list<int64_t>(c_.input_weights));
    const TestTensor state_weights = make_ints(DType::i16, {4 * s_.cells, s_.cells}, list<int64_t>(c_.state_weights));
    const TestTensor input_factors = factors(c_.input_weight_scales, c_.input_scale * (1 << 26));
    const TestTensor state_factors = factors(c_.state_weight_scales, std::ldexp(1, 26 - kStateBits));
    const TestTensor biases = bias(), h = first_h(), state = first_cells();
    const TestTensor scratch = make_out(DType::i32, {4 * s_.cells + (s_.inputs + 1) / 2});
    TestTensor last_h = make_out(DType::i16, {s_.batch, s_.cells}), last = make_out(DType::i32, {s_.batch, s_.cells}),
               y = make_out(dtype, {s_.steps, s_.batch, s_.cells});
    int exponent = 0;
    const double to_output = std::frexp(std::ldexp(1, -kStateBits) / c_.output_scale, &exponent);
    const auto multiplier = static_cast<int64_t>(std::ldexp(to_output, 31));
    const Arg none(nullptr);
    EXPECT_TRUE(cortex_m::runs(
        "wick_cortex_m::lstm.out",
        {x, input_weights, state_weights, input_factors, state_factors, biases, s_.has_state ? Arg(h) : none,
         s_.has_state ? Arg(state) : none, c_.input_zero_point, false, int64_t{kStateBits},
         int64_t{c_.output_zero_point}, multiplier, int64_t{exponent}, Arg::scratch(scratch), dtype, last_h, last, y}));
    return ordered_output(cortex_m::ints(y));
  }

 private:
  const LstmCase& c_;
  const LstmShape& s_;
  static constexpr int kStateBits = 15;

  std::vector<int64_t> ordered_input() const {
    std::vector<int64_t> x;
    for (int32_t step = 0; step < s_.steps; ++step)
      for (int32_t row = 0; row < s_.batch; ++row)
        for (int32_t i = 0; i < s_.inputs; ++i) x.push_back(c_.x[c_.at(step, row, i, s_.inputs)]);
    return x;
  }
  std::vector<int64_t> ordered_output(const std::vector<int64_t>& from) const {
    std::vector<int64_t> y(from.size());
    size_t next = 0;
    for (int32_t step = 0; step < s_.steps; ++step)
      for (int32_t row = 0; row < s_.batch; ++row)
        for (int32_t i = 0; i < s_.cells; ++i) y[c_.at(step, row, i, s_.cells)] = from[next++];
    return y;
  }
  /// Multiplier and shift for each row.
  TestTensor factors(const std::array<double, 4>& scales, double times) const {
    std::vector<int64_t> values;
    for (int32_t row = 0; row < 4 * s_.cells; ++row) {
      int exponent = 0;
      const double factor = std::frexp(scales[static_cast<size_t>(row / s_.cells)] * times, &exponent);
      values.push_back(static_cast<int64_t>(std::ldexp(factor, 22)));
      values.push_back(22 - exponent);
    }
    return make_ints(DType::i32, {8 * s_.cells}, values);
  }
  TestTensor bias() const {
    std::vector<int64_t> values;
    for (int32_t row = 0; row < 4 * s_.cells; ++row) {
      const double scale = c_.input_scale * c_.input_weight_scales[static_cast<size_t>(row / s_.cells)];
      values.push_back(std::llround(c_.bias[static_cast<size_t>(row)] * scale * (1 << 26)));
    }
    return make_ints(DType::i32, {4 * s_.cells}, values);
  }
  TestTensor first_h() const {
    std::vector<int64_t> values(static_cast<size_t>(s_.batch * s_.cells));
    for (size_t i = 0; i < c_.h.size(); ++i)
      values[i] = std::llround(c_.h[i] * std::ldexp(c_.output_scale, kStateBits));
    return make_ints(DType::i16, {s_.batch, s_.cells}, values);
  }
  TestTensor first_cells() const {
    std::vector<int64_t> values(static_cast<size_t>(s_.batch * s_.cells));
    for (size_t i = 0; i < c_.c.size(); ++i) values[i] = int64_t{c_.c[i]} << (20 - kCellBits);
    return make_ints(DType::i32, {s_.batch, s_.cells}, values);
  }
};

int64_t largest_difference(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int64_t largest = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max<int64_t>(largest, std::llabs(a[i] - b[i]));
  return largest;
}

/// How many steps of the output some element is off, most.
struct LstmErrors {
  int64_t of_wick, of_cmsis_nn;
};
const std::map<std::string, LstmErrors> kLstmErrors = {
    {"lstm_1", {0, 1}},
    {"lstm_2", {0, 1}},
    {"lstm_one_time_step", {0, 0}},
    {"lstm_stateful_batch_major_multibatch", {0, 1}},
    {"lstm_1_s16", {1, 8}},
    {"lstm_2_s16", {1, 9}},
    {"lstm_one_time_step_s16", {0, 3}},
    {"lstm_stateful_batch_major_multibatch_s16", {1, 3}},
};

TEST(CortexMRecurrentVectors, LstmIsAsNearToPytorchAsCmsisNnOrNearer) {
  for (size_t i = 0; i < std::size(kLstmShapes); ++i) {
    const LstmCase c = lstm_case(i);
    SCOPED_TRACE(c.shape.name);
    const double largest = c.shape.bits == 8 ? INT8_MAX : INT16_MAX;
    std::vector<int64_t> exact;
    for (const double y : ExactLstm(c).steps())
      exact.push_back(static_cast<int64_t>(std::clamp(std::nearbyint(y) + c.output_zero_point, -largest - 1, largest)));
    const LstmErrors errors = kLstmErrors.at(c.shape.name);
    EXPECT_EQ(largest_difference(LstmRun(c).elements(), exact), errors.of_wick);
    EXPECT_EQ(largest_difference(kLstmOfCmsisNn.at(c.shape.name), exact), errors.of_cmsis_nn);
    EXPECT_LE(errors.of_wick, errors.of_cmsis_nn);
  }
}

/// As Wick compiles linear, state and grouped convolution over time.
class SvdfRun {
 public:
  explicit SvdfRun(const SvdfCase& c) : c_(c), s_(c.shape), is_wide_(c.shape.state_bits == 16), state_(c.state) {}

  std::vector<int8_t> steps() {
    std::vector<int8_t> y;
    for (int32_t step = 0; step < kSvdfSteps; ++step) {
      shift_in(features(step));
      const std::vector<int64_t> part = output();
      y.insert(y.end(), part.begin(), part.end());
    }
    return y;
  }

 private:
  const SvdfCase& c_;
  const SvdfShape& s_;
  bool is_wide_;
  std::vector<int32_t> state_;  // [batch, features, times]

  static std::vector<int64_t> call(const char* name, std::vector<Arg> args, TestTensor& out) {
    args.emplace_back(out);
    EXPECT_TRUE(cortex_m::runs(name, std::move(args)));
    return cortex_m::ints(out);
  }
  TestTensor weights(std::vector<int32_t> sizes, const std::vector<int8_t>& values) const {
    return make_ints(DType::i8, std::move(sizes), list<int64_t>(values));
  }
  static TestTensor rows(int32_t value, int32_t count) {
    return make_ints(DType::i32, {count}, std::vector<int64_t>(static_cast<size_t>(count), value));
  }

  std::vector<int64_t> features(int32_t step) const {
    const auto* first = c_.x.data() + step * s_.batch * s_.inputs;
    std::vector<int64_t> x(first, first + s_.batch * s_.inputs);
    const TestTensor w = weights({s_.features, s_.inputs}, c_.feature_weights);
    if (is_wide_) {
      for (int64_t& value : x) value -= c_.input_offset;
      const TestTensor input = make_ints(DType::i16, {s_.batch, s_.inputs}, x);
      const TestTensor multiplier = rows(c_.multipliers[0], 1), shift = rows(c_.shifts[0], 1);
      TestTensor y = make_out(DType::i16, {s_.batch, s_.features});
      return call("wick_cortex_m::linear_int16.out",
                  {input, w, nullptr, multiplier, shift, int64_t{INT16_MIN}, int64_t{INT16_MAX}}, y);
    }
    const TestTensor input = make_ints(DType::i8, {s_.batch, s_.inputs}, x);
    TestTensor y = make_out(DType::i8, {s_.batch, s_.features});
    return call("cortex_m::quantized_linear.out",
                {input, w, nullptr, nullptr, -c_.input_offset, 0, 0, std::vector<int>{c_.multipliers[0]},
                 std::vector<int>{c_.shifts[0]}, 127, -128},
                y);
  }
  void shift_in(const std::vector<int64_t>& features) {
    for (size_t i = 0; i < features.size(); ++i) {
      const auto begin = state_.begin() + ptrdiff_t{s_.times} * static_cast<ptrdiff_t>(i);
      std::rotate(begin, begin + 1, begin + s_.times);
      begin[s_.times - 1] = static_cast<int32_t>(features[i]);
    }
  }
  std::vector<int64_t> output() const {
    const std::vector<uint8_t> channels_last = {0, 2, 3, 1};
    const TestTensor state = cortex_m::make_ints_in(
        is_wide_ ? DType::i16 : DType::i8, {s_.batch, s_.features, 1, s_.times}, list<int64_t>(state_), channels_last);
    const TestTensor w = weights({c_.units, 1, s_.times, s_.rank}, ordered_time_weights());
    const TestTensor bias = make_ints(DType::i32, {c_.units}, list<int64_t>(c_.bias));
    const TestTensor multipliers = rows(c_.multipliers[1], c_.units), shifts = rows(c_.shifts[1], c_.units);
    const TestTensor scratch = make_out(DType::u8, {1 << 14});
    const std::vector<int64_t> ones{1, 1}, zeros{0, 0};
    TestTensor y = make_out(is_wide_ ? DType::i16 : DType::i8, {s_.batch, c_.units, 1, 1}, channels_last);
    if (is_wide_) {
      return call("wick_cortex_m::conv2d_int16.out",
                  {state, w, bias, ones, zeros, ones, multipliers, shifts, -128, 127, scratch}, y);
    }
    return call("cortex_m::quantized_conv2d.out",
                {state, w, bias, ones, zeros, ones, 0, c_.output_offset, multipliers, shifts, -128, 127, scratch}, y);
  }
  /// From [units, rank, times] to [units, times, rank].
  std::vector<int8_t> ordered_time_weights() const {
    std::vector<int8_t> w;
    for (int32_t unit = 0; unit < c_.units; ++unit)
      for (int32_t time = 0; time < s_.times; ++time)
        for (int32_t r = 0; r < s_.rank; ++r) {
          const int32_t at = (unit * s_.rank + r) * s_.times + time;
          w.push_back(c_.time_weights[static_cast<size_t>(at)]);
        }
    return w;
  }
};

TEST(CortexMRecurrentVectors, SvdfGivesTheBytesOfCmsisNn) {
  ASSERT_EQ(std::size(kSvdfOfCmsisNn), std::size(kSvdfShapes));
  for (size_t i = 0; i < std::size(kSvdfShapes); ++i) {
    const SvdfCase c = svdf_case(i);
    EXPECT_EQ(kSvdfOfCmsisNn[i].name, std::string(c.shape.name));
    EXPECT_EQ(hash(SvdfRun(c).steps()), kSvdfOfCmsisNn[i].hash) << c.shape.name;
  }
}

}  // namespace
}  // namespace wick::vectors
