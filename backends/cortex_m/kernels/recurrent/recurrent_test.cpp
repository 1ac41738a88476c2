#include <algorithm>

#include "backends/cortex_m/kernels/oracle_test_support.h"

namespace wick::cortex_m::recurrent_test {
namespace {

struct Case {
  bool is_lstm = true;
  const char* plain = nullptr;  // "rnn_tanh" or "rnn_relu" instead of lstm and gru
  int32_t steps = 1, batch = 1, inputs = 1, cells = 1;
  DType in = DType::i8, out = DType::i8;
  std::vector<int64_t> x = {}, input_weights = {}, state_weights = {}, input_factors = {}, state_factors = {},
                       bias = {}, h = {}, c = {};  // initial state; empty: 0
  int64_t zero = 0, state_bits = 15;
  bool reversed = false;
  OutputParameters to = {1 << 30, -6, 0, -128, 127};  // steps of 2^-8
  int32_t scratch_words = -1;
  int32_t outputs = 0;  // of lstm: width of the projected h, or 0
  std::vector<int64_t> projection = {}, projection_factors = {};

  int32_t width() const { return outputs > 0 ? outputs : cells; }  // of h
  int32_t rows() const { return (plain ? 1 : is_lstm ? 4 : 3) * cells; }
  std::string kernel() const {
    return std::string("wick_cortex_m::") +
           (plain         ? plain
            : outputs > 0 ? "lstm_projected"
            : is_lstm     ? "lstm"
                          : "gru") +
           ".out";
  }
  struct Last {
    std::vector<int64_t> h, state;
  };
  Outcome run(std::vector<int64_t>* found, Last* last = nullptr) const {
    const auto row = [](const std::vector<int64_t>& list) {
      return make_ints(DType::i32, {static_cast<int32_t>(list.size())}, list);
    };
    const TestTensor input = make_ints(in, {steps, batch, inputs}, x),
                     wi = make_ints(DType::i16, {rows(), inputs}, input_weights),
                     ws = make_ints(DType::i16, {rows(), width()}, state_weights),
                     wp = make_ints(DType::i16, {outputs, cells}, projection), fi = row(input_factors),
                     fs = row(state_factors), fp = row(projection_factors), b = row(bias);
    const int32_t needed = 4 * cells + (inputs + 1) / 2 + (outputs > 0 ? (cells + 1) / 2 : 0);
    TestTensor scratch = make_out(DType::i32, {scratch_words >= 0 ? scratch_words : needed}),
               y = make_out(out, {steps, batch, width()}), last_h = make_out(DType::i16, {batch, width()}),
               last_state = make_out(DType::i32, {batch, cells}), first_h = make_out(DType::i16, {batch, width()}),
               first_c = make_out(DType::i32, {batch, cells});
    if (!h.empty()) first_h = make_ints(DType::i16, {batch, width()}, h);
    if (!c.empty()) first_c = make_ints(DType::i32, {batch, cells}, c);
    std::vector<Arg> args = {input,
                             wi,
                             ws,
                             fi,
                             fs,
                             b,
                             h.empty() ? Arg(nullptr) : Arg(first_h),
                             c.empty() ? Arg(nullptr) : Arg(first_c),
                             zero,
                             reversed,
                             state_bits,
                             int64_t{to.offset},
                             int64_t{to.multiplier},
                             int64_t{to.shift},
                             Arg::scratch(scratch),
                             out,
                             last_h,
                             last_state,
                             y};
    if (outputs > 0) {
      args.insert(args.begin() + 3, Arg(wp));
      args.insert(args.begin() + 6, Arg(fp));
    }
    const Outcome outcome = cortex_m::run(kernel().c_str(), args);
    if (last) *last = {ints(last_h), ints(last_state)};
    *found = ints(y);
    return outcome;
  }
};

// Factors for which sums of random products are about 1.
std::vector<int64_t> random_factors(Random& random, int32_t rows, int32_t terms, double magnitude) {
  std::vector<int64_t> factors;
  for (int32_t i = 0; i < rows; ++i) {
    const double factor = std::exp2(26 + 0.01 * random.in(-100, 150)) / (magnitude * std::sqrt(terms));
    int exponent = 0;
    factors.push_back(static_cast<int64_t>(std::ldexp(std::frexp(factor, &exponent), 22)));
    factors.push_back(22 - exponent);
  }
  return factors;
}

Case random_case(Random& random, const char* plain = nullptr, bool projected = false) {
  Case c;
  c.is_lstm = projected || random.one_in(2);
  if (plain) c.is_lstm = false, c.plain = plain;
  c.steps = static_cast<int32_t>(random.in(1, 6));
  c.batch = static_cast<int32_t>(random.in(1, 2));
  c.inputs = static_cast<int32_t>(random.in(1, 25));
  c.cells = static_cast<int32_t>(random.in(1, 20));
  if (projected) c.outputs = static_cast<int32_t>(random.in(1, 20));
  c.in = random.one_in(3) ? DType::i16 : DType::i8;
  c.out = random.one_in(3) ? DType::i16 : DType::i8;
  const int64_t reach = c.in == DType::i8 ? 128 : 32767;
  for (int64_t i = int64_t{c.steps} * c.batch * c.inputs; i > 0; --i) c.x.push_back(random.in(-reach, reach - 1));
  for (int32_t i = 0; i < c.rows() * c.inputs; ++i) c.input_weights.push_back(random.in(-32767, 32767));
  for (int32_t i = 0; i < c.rows() * c.width(); ++i) c.state_weights.push_back(random.in(-32767, 32767));
  for (int32_t i = 0; i < c.outputs * c.cells; ++i) c.projection.push_back(random.in(-32767, 32767));
  c.input_factors = random_factors(random, c.rows(), c.inputs, 16384.0 * static_cast<double>(reach) / 2);
  c.state_factors = random_factors(random, c.rows(), c.width(), 16384.0 * 16384);
  if (projected) c.projection_factors = random_factors(random, c.outputs, c.cells, 16384.0 * 16384 * 4096);
  c.bias = random_int32(random, 4 * int64_t{c.cells}, 1 << 26);
  c.zero = random.in(-128, 127);
  c.reversed = random.one_in(2);
  if (random.one_in(2)) {
    if (random.one_in(3)) c.state_bits = random.in(12, 15);
    for (int32_t i = 0; i < c.batch * c.width(); ++i) c.h.push_back(random.in(-32768, 32767));
    for (int32_t i = 0; c.is_lstm && i < c.batch * c.cells; ++i) c.c.push_back(random.in(-(3 << 20), 3 << 20));
  }
  c.to.offset = static_cast<int32_t>(random.in(-20, 20));
  return c;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// The projection of the cells' outputs; h saturates.
std::vector<double> projected(const Case& c, const std::vector<double>& cells) {
  std::vector<double> h;
  const double unit = std::ldexp(1, static_cast<int>(c.state_bits));
  for (size_t p = 0; p < static_cast<size_t>(c.outputs); ++p) {
    double sum = 0;
    for (size_t j = 0; j < cells.size(); ++j) sum += static_cast<double>(c.projection[p * cells.size() + j]) * cells[j];
    const double factor = std::ldexp(static_cast<double>(c.projection_factors[2 * p]),
                                     15 - static_cast<int>(c.projection_factors[2 * p + 1]));
    h.push_back(std::clamp(sum * factor, -32768.0, 32767.0) / unit);
  }
  return h;
}

// The outputs h in double, in the kernel's order.
std::vector<double> exact_outputs(const Case& c) {
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  std::vector<double> y(size(int64_t{c.steps} * c.batch * c.width()));
  for (int32_t b = 0; b < c.batch; ++b) {
    std::vector<double> h(size(c.width()), 0), state(size(c.cells), 0);
    const double unit = std::ldexp(1, static_cast<int>(c.state_bits));
    for (size_t j = 0; j < h.size(); ++j) {
      if (!c.h.empty()) h[j] = static_cast<double>(c.h[size(b) * h.size() + j]) / unit;
    }
    for (size_t j = 0; j < state.size() && !c.c.empty(); ++j)
      state[j] = std::ldexp(static_cast<double>(c.c[size(b) * state.size() + j]), -20);
    for (int32_t i = 0; i < c.steps; ++i) {
      const int32_t step = c.reversed ? c.steps - 1 - i : i;
      const auto sum = [&](int32_t row, bool of_input) {
        double total = 0;
        const auto& weights = of_input ? c.input_weights : c.state_weights;
        const auto& factors = of_input ? c.input_factors : c.state_factors;
        const int32_t count = of_input ? c.inputs : c.width();
        for (int32_t k = 0; k < count; ++k) {
          const double number = of_input ? static_cast<double>(c.x[size((int64_t{step} * c.batch + b) * c.inputs + k)] -
                                                               (c.in == DType::i8 ? c.zero : 0))
                                         : h[size(k)] * unit;
          total += number * static_cast<double>(weights[size(int64_t{row} * count + k)]);
        }
        return total * std::ldexp(static_cast<double>(factors[size(2 * row)]),
                                  -static_cast<int>(factors[size(2 * row + 1)]) - 26);
      };
      const auto bias = [&](int32_t gate, int32_t j) {
        return std::ldexp(static_cast<double>(c.bias[size(gate * c.cells + j)]), -26);
      };
      std::vector<double> next(state.size());
      for (int32_t j = 0; j < c.cells; ++j) {
        const auto both = [&](int32_t gate) {
          const int32_t row = gate * c.cells + j;
          return sum(row, true) + sum(row, false) + bias(gate, j);
        };
        if (c.plain) {
          const double sum_of_both = both(0);
          next[size(j)] = c.plain == std::string_view("rnn_tanh") ? std::tanh(sum_of_both) : std::max(sum_of_both, 0.0);
          next[size(j)] = std::min(next[size(j)], 32767 / unit);  // h saturates
        } else if (c.is_lstm) {
          state[size(j)] = sigmoid(both(1)) * state[size(j)] + sigmoid(both(0)) * std::tanh(both(2));
          next[size(j)] = sigmoid(both(3)) * std::tanh(state[size(j)]);
        } else {
          const int32_t row = 2 * c.cells + j;
          const double n = std::tanh(sum(row, true) + bias(2, j) + sigmoid(both(0)) * (sum(row, false) + bias(3, j)));
          next[size(j)] = n + sigmoid(both(1)) * (h[size(j)] - n);
        }
      }
      if (c.outputs > 0) next = projected(c, next);
      h = next;
      for (int32_t j = 0; j < c.width(); ++j) y[size((int64_t{step} * c.batch + b) * c.width() + j)] = h[size(j)];
    }
  }
  return y;
}

// The 16 bits of h and rounded factors cause errors of a few units of h in each step.
TEST(CortexMRecurrent, IsItsEquation) {
  Random random(61);
  for (int trial = 0; trial < 1100; ++trial) {
    const char* plain = trial < 600 || trial >= 800 ? nullptr : trial % 2 == 0 ? "rnn_tanh" : "rnn_relu";
    const Case c = random_case(random, plain, trial >= 800);
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    const std::vector<double> exact = exact_outputs(c);
    for (size_t i = 0; i < found.size(); ++i) {
      const double unit = std::ldexp(1, static_cast<int>(c.state_bits));
      if (c.out == DType::i16) {
        ASSERT_NEAR(static_cast<double>(found[i]), std::clamp(exact[i] * unit, -32768.0, 32767.0), 30) << trial;
        continue;
      }
      const double steps = std::clamp(exact[i], -32768 / unit, 32767 / unit) * unit / 128 + c.to.offset;
      const double low = std::clamp(std::floor(steps + 0.5 - 30.0 / 128), -128.0, 127.0),
                   high = std::clamp(std::floor(steps + 0.5 + 30.0 / 128), -128.0, 127.0);
      const auto got = static_cast<double>(found[i]);
      ASSERT_TRUE(got >= low && got <= high) << trial << ", " << i << ": " << got << " for " << steps;
    }
  }
}

// Gates far beyond 32, whose terms may cancel: only the total, the operand of tanh, saturates.
TEST(CortexMRecurrent, LargeGates) {
  Random random(67);
  int cancelled = 0;
  for (int trial = 0; trial < 400; ++trial) {
    Case c = random_case(random);
    c.out = DType::i16, c.steps = 1, c.state_bits = 15, c.h.clear(), c.c.clear();
    c.x.resize(static_cast<size_t>(c.batch) * static_cast<size_t>(c.inputs));
    for (int32_t i = 0; i < c.batch * c.cells; ++i) {
      c.h.push_back(random.in(-32767, 32767));
      if (c.is_lstm) c.c.push_back(random.in(-(3 << 20), 3 << 20));
    }
    const int64_t larger = random.in(3, 20);  // 2^larger times
    for (std::vector<int64_t>* factors : {&c.input_factors, &c.state_factors}) {
      for (size_t shift = 1; shift < factors->size(); shift += 2)
        (*factors)[shift] = std::max<int64_t>(1, (*factors)[shift] - larger);
    }
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    const std::vector<double> exact = exact_outputs(c);
    for (size_t i = 0; i < found.size(); ++i) {
      cancelled += std::abs(exact[i]) < 0.5;
      // Sums are exact; a unit of a factor's 22 bits counts 2^larger times.
      const double error = 30 + std::ldexp(1, static_cast<int>(larger) - 6);
      ASSERT_NEAR(static_cast<double>(found[i]), exact[i] * 32768, error) << trial;
    }
  }
  EXPECT_GT(cancelled, 100);
}

// n of gru: 40 from the input and -30 from the state, both beyond what 32 bits hold or near it. r is about 1.
TEST(CortexMRecurrent, LargeTermsOfAGruCancel) {
  for (const int sign : {1, -1}) {
    Case c{.is_lstm = false, .out = DType::i16, .x = {1}, .input_weights = {0, 0, 40}, .state_weights = {0, 0, 0}};
    c.input_weights[2] *= sign;
    c.input_factors = {0, 1, 0, 1, 1 << 22, 1, 0, 1};
    c.input_factors.resize(6);
    c.state_factors = {1 << 22, 1, 0, 1, 1 << 22, 1};
    // 2^22 * 2^21 / 2 is far above 2^31, too.
    c.x = {32};
    c.state_weights = {32, 0, -30 * sign};
    c.h = {32};
    c.bias = {0, 0, 0, 0};
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    // h = n + sigmoid(0) (h - n) with n = +-1.
    EXPECT_NEAR(static_cast<double>(found[0]), sign * 16384 + 16, 2) << sign;
  }
}

// All gates at 0 but g and n, which are at 1: h = 1/2 tanh(1/2 tanh 1) = 0.1817 and 1/2 tanh 1 = 0.3808.
TEST(CortexMRecurrent, OneCellByHand) {
  Case c{.out = DType::i16, .x = {1}, .input_weights = {0, 0, 1, 0}, .state_weights = {0, 0, 0, 0}};
  c.input_factors = {0, 1, 0, 1, 1 << 22, 1, 0, 1};
  c.state_factors = {0, 1, 0, 1, 0, 1, 0, 1};
  c.bias = {0, 0, (1 << 26) - (1 << 21), 0};
  std::vector<int64_t> found;
  ASSERT_EQ(c.run(&found).message, "");
  EXPECT_EQ(found[0], 5954);
  c.is_lstm = false;
  c.input_weights.pop_back(), c.state_weights.pop_back();
  c.input_factors.resize(6), c.state_factors.resize(6);
  ASSERT_EQ(c.run(&found).message, "");
  EXPECT_EQ(found[0], 12478);
}

// Computing step by step, each from the last state of the one before, gives the whole sequence.
TEST(CortexMRecurrent, TheLastStateContinues) {
  Random random(63);
  for (int trial = 0; trial < 320; ++trial) {
    const char* plain = trial < 200 || trial >= 260 ? nullptr : trial % 2 == 0 ? "rnn_tanh" : "rnn_relu";
    Case whole = random_case(random, plain, trial >= 260);
    whole.out = DType::i16, whole.reversed = false;
    std::vector<int64_t> all;
    ASSERT_EQ(whole.run(&all).message, "");
    Case step = whole;
    step.steps = 1;
    const auto inputs = std::ptrdiff_t{whole.batch} * whole.inputs;
    const auto cells = static_cast<size_t>(whole.batch) * static_cast<size_t>(whole.width());
    for (int32_t i = 0; i < whole.steps; ++i) {
      step.x.assign(whole.x.begin() + i * inputs, whole.x.begin() + (i + 1) * inputs);
      std::vector<int64_t> y;
      Case::Last last;
      ASSERT_EQ(step.run(&y, &last).message, "");
      EXPECT_EQ(last.h, y);
      for (size_t j = 0; j < cells; ++j) {
        // Within a call, the state h of gru has 15 more bits.
        const int64_t expected = all[static_cast<size_t>(i) * cells + j];
        ASSERT_LE(std::abs(y[j] - expected), whole.is_lstm || whole.plain ? 0 : 1 + i) << trial << ", " << i;
      }
      step.h = last.h;
      if (whole.is_lstm) step.c = last.state;
    }
  }
}

TEST(CortexMRecurrent, TheLargestNumbersSaturate) {
  for (const bool is_lstm : {true, false}) {
    Case c{.is_lstm = is_lstm, .steps = 3, .inputs = 1024, .cells = 2, .in = DType::i16, .out = DType::i16};
    c.x.assign(3072, -32768);
    c.input_weights.assign(static_cast<size_t>(c.rows()) * 1024, -32768);
    c.state_weights.assign(static_cast<size_t>(c.rows()) * 2, 32767);
    for (int32_t i = 0; i < c.rows(); ++i) {
      for (std::vector<int64_t>* factors : {&c.input_factors, &c.state_factors}) {
        factors->push_back(1 << 22);
        factors->push_back(1);
      }
    }
    c.bias.assign(8, INT32_MAX);
    std::vector<int64_t> found;
    ASSERT_EQ(c.run(&found).message, "");
    for (const int64_t value : found) EXPECT_GE(value, is_lstm ? 24000 : 0);
  }
}

TEST(CortexMRecurrent, ChecksItsArguments) {
  Random random(62);
  Case good = random_case(random);
  good.is_lstm = true, good.plain = nullptr, good.in = DType::i8,
  good.steps = good.batch = good.inputs = good.cells = 1;
  good.h = good.c = {}, good.state_bits = 15;
  good.x = {3}, good.input_weights = good.state_weights = {1, 2, 3, 4}, good.bias = {0, 0, 0, 0};
  good.input_factors = good.state_factors = {0, 1, 1 << 22, 62, 5, 7, 5, 7};
  std::vector<int64_t> found;
  EXPECT_EQ(good.run(&found).message, "");
  for (const std::vector<int64_t>& factor :
       std::vector<std::vector<int64_t>>{{-1, 5}, {(1 << 22) + 1, 5}, {1, 0}, {1, 63}}) {
    for (std::vector<int64_t> Case::* field : {&Case::input_factors, &Case::state_factors}) {
      Case c = good;
      std::copy(factor.begin(), factor.end(), (c.*field).begin() + 2);
      EXPECT_NE(c.run(&found).message.find("a factor is not"), std::string::npos);
    }
  }
  Case c = good;
  c.scratch_words = 4;
  EXPECT_NE(c.run(&found).message.find("smaller than"), std::string::npos);
  c = good;
  c.bias.pop_back();
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.h = {3};
  EXPECT_NE(c.run(&found).message.find("a state h with a state c"), std::string::npos);
  c.c = {3};
  EXPECT_EQ(c.run(&found).message, "");
  for (const int64_t bits : {7, 16}) {
    c.state_bits = bits;
    EXPECT_NE(c.run(&found).message.find("8 to 15 bits"), std::string::npos);
  }
  c = good;
  c.zero = 128;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.in = DType::i32;
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.is_lstm = false;
  c.input_weights.pop_back(), c.state_weights.pop_back();
  EXPECT_NE(c.run(&found).error, Error::Ok) << "four factors for three rows";
}

TEST(CortexMRecurrent, ChecksTheProjection) {
  Random random(64);
  const Case good = random_case(random, nullptr, true);
  std::vector<int64_t> found;
  EXPECT_EQ(good.run(&found).message, "");
  Case c = good;
  c.projection_factors[0] = -1;
  EXPECT_NE(c.run(&found).message.find("a factor is not"), std::string::npos);
  c = good;
  c.projection_factors.pop_back();
  EXPECT_NE(c.run(&found).error, Error::Ok);
  c = good;
  c.scratch_words = 4 * c.cells + (c.inputs + 1) / 2;
  EXPECT_NE(c.run(&found).message.find("smaller than"), std::string::npos);
}

}  // namespace
}  // namespace wick::cortex_m::recurrent_test
