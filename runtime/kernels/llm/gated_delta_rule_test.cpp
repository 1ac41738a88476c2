// The recurrence with a gated delta rule: against the formula, in place, and what it refuses.
#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::gated_delta_rule_test {
namespace {

TestTensor random_tensor(std::vector<int32_t> sizes, uint32_t seed, double low, double high) {
  TestTensor t = make_out(DType::f32, std::move(sizes));
  std::mt19937 rng(seed);
  for (size_t i = 0; i < t.tensor.numel; ++i)
    t.tensor.as<float>()[i] = static_cast<float>(low + (high - low) * static_cast<double>(rng() % 4096) / 4096);
  return t;
}

struct Sizes {
  int32_t batch, own, heads, length, keys, values;
  bool decay_by_row;
};

struct Call {
  TestTensor query, key, value, decay, beta, state;

  explicit Call(const Sizes& s)
      : query(random_tensor({s.batch, s.own, s.length, s.keys}, 1, -1, 1)),
        key(random_tensor({s.batch, s.heads, s.length, s.keys}, 2, -1, 1)),
        value(random_tensor({s.batch, s.heads, s.length, s.values}, 3, -1, 1)),
        decay(random_tensor(s.decay_by_row ? std::vector<int32_t>{s.batch, s.heads, s.length, s.keys}
                                           : std::vector<int32_t>{s.batch, s.heads, s.length},
                            4, 0, 1)),
        beta(random_tensor({s.batch, s.heads, s.length}, 5, 0, 1)),
        state(random_tensor({s.batch, s.heads, s.keys, s.values}, 6, -1, 1)) {}
};

// The place of [row, column] in a row-major matrix.
size_t place(int32_t row, int32_t width, int32_t column) {
  return static_cast<size_t>(row) * static_cast<size_t>(width) + static_cast<size_t>(column);
}

struct Answer {
  std::vector<double> out, state;
};

// The formula in double, for one head and one position after the other.
Answer formula(const Sizes& s, const Call& c) {
  const std::vector<double> q = values(c.query), k = values(c.key), v = values(c.value), decay = values(c.decay),
                            beta = values(c.beta);
  Answer answer{std::vector<double>(place(s.batch * s.own * s.length, s.values, 0)), values(c.state)};
  const int group = s.heads == 0 ? 0 : s.own / s.heads;
  for (int head = 0; head < s.batch * s.heads; ++head) {
    const auto state = [&](int i, int j) -> double& { return answer.state[place(head * s.keys + i, s.values, j)]; };
    for (int t = 0; t < s.length; ++t) {
      const auto at = [&](const std::vector<double>& x, int i, int width) {
        return x[place(head * s.length + t, width, i)];
      };
      for (int j = 0; j < s.values; ++j) {
        double error = at(v, j, s.values);
        for (int i = 0; i < s.keys; ++i) {
          state(i, j) *= s.decay_by_row ? at(decay, i, s.keys) : at(decay, 0, 1);
          error -= at(k, i, s.keys) * state(i, j);
        }
        for (int i = 0; i < s.keys; ++i) state(i, j) += at(k, i, s.keys) * error * at(beta, 0, 1);
        for (int g = 0; g < group; ++g) {
          const int own = (head * group + g) * s.length + t;
          double sum = 0;
          for (int i = 0; i < s.keys; ++i) sum += q[place(own, s.keys, i)] * state(i, j);
          answer.out[place(own, s.values, j)] = sum;
        }
      }
    }
  }
  return answer;
}

TEST(GatedDeltaRule, AgreesWithTheFormula) {
  for (const Sizes& s : {Sizes{1, 2, 2, 1, 16, 16, false}, Sizes{2, 4, 2, 7, 5, 9, true},
                         Sizes{1, 3, 3, 40, 8, 8, true}, Sizes{2, 6, 2, 3, 4, 33, false}}) {
    SCOPED_TRACE(std::to_string(s.length) + " positions, " + std::to_string(s.values) + " values");
    const Call c(s);
    const Answer wanted = formula(s, c);
    for (const char* name : {"llama::gated_delta_rule.out", "llama::channelwise_gated_delta_rule.out"}) {
      for (bool split : {false, true}) {
        TestTensor out = make_out(DType::f32, {s.batch, s.own, s.length, s.values}),
                   state = make_out(DType::f32, c.state.sizes);
        EXPECT_EQ((split ? call_split : call)(name, {c.query, c.key, c.value, c.decay, c.beta, c.state, out, state}),
                  Error::Ok);
        EXPECT_TRUE(near(out, wanted.out, 1e-5, 1e-5));
        EXPECT_TRUE(near(state, wanted.state, 1e-5, 1e-5));
      }
    }
  }
}

TEST(GatedDeltaRule, UpdatesAStateInItsPlace) {
  const Sizes s{1, 2, 1, 3, 4, 5, false};
  const Call c(s);
  const Answer wanted = formula(s, c);
  TestTensor out = make_out(DType::f32, {1, 2, 3, 5});
  EXPECT_EQ(call("llama::gated_delta_rule.out", {c.query, c.key, c.value, c.decay, c.beta, c.state, out, c.state}),
            Error::Ok);
  EXPECT_TRUE(near(out, wanted.out, 1e-5, 1e-5));
  EXPECT_TRUE(near(c.state, wanted.state, 1e-5, 1e-5));
}

TEST(GatedDeltaRule, KeepsTheStateWhereThereIsNoPosition) {
  const Sizes s{1, 2, 2, 0, 4, 5, true};
  const Call c(s);
  TestTensor out = make_out(DType::f32, {1, 2, 0, 5}), state = make_out(DType::f32, {1, 2, 4, 5});
  EXPECT_EQ(call("llama::gated_delta_rule.out", {c.query, c.key, c.value, c.decay, c.beta, c.state, out, state}),
            Error::Ok);
  EXPECT_TRUE(equals(state, values(c.state)));
}

// A file may name an operand as an output: its sizes would change before it is read.
TEST(GatedDeltaRule, RefusesAnOperandThatTakesTheShapeOfAnOutput) {
  const Sizes s{1, 1, 1, 1, 1, 64, false};
  const Call c(s);
  TestTensor key = make_dynamic(DType::f32, {1, 1, 1, 64}), state = make_out(DType::f32, {1, 1, 1, 64});
  const int32_t before[] = {1, 1, 1, 1};
  ASSERT_EQ(resize(key.tensor, {before, 4}), Error::Ok);
  EXPECT_EQ(call("llama::gated_delta_rule.out", {c.query, key, c.value, c.decay, c.beta, c.state, key, state}),
            Error::InvalidProgram);
  EXPECT_TRUE(state.guards_intact() && key.guards_intact());
}

TEST(GatedDeltaRule, RefusesOperandsThatDoNotFit) {
  const Sizes s{1, 4, 2, 3, 4, 5, false};
  const auto refuses = [&](auto change, Error error) {
    Call c(s);
    TestTensor out = make_out(DType::f32, {1, 4, 3, 5}), state = make_out(DType::f32, {1, 2, 4, 5});
    change(c);
    EXPECT_EQ(call("llama::gated_delta_rule.out", {c.query, c.key, c.value, c.decay, c.beta, c.state, out, state}),
              error);
  };
  refuses([](Call& c) { c.query = make(DType::f32, {1, 3, 3, 4}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.query = make(DType::f32, {1, 4, 2, 4}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.key = make(DType::f32, {2, 3, 4}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.value = make(DType::f32, {1, 2, 4, 5}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.decay = make(DType::f32, {1, 2, 3, 5}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.decay = make(DType::f32, {1, 2}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.beta = make(DType::f32, {1, 2, 3, 4}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.state = make(DType::f32, {1, 2, 5, 4}, {1}); }, Error::InvalidArgument);
  refuses([](Call& c) { c.beta = make(DType::f16, {1, 2, 3}, {1}); }, Error::InvalidType);
}

}  // namespace
}  // namespace wick::test::gated_delta_rule_test
