// quantized_moe_ffn: against the formula in double, over weights that are packed here, and what it refuses.
#include <functional>
#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::quantized_moe_test {
namespace {

constexpr char kName[] = "llama::quantized_moe_ffn.out";

struct Block {
  int nr = 8, kr = 16, sr = 2;
};

struct Matrix {
  int rows, columns, group;
  std::vector<int> elements;
  std::vector<float> scales;  // [rows, columns / group]
  double at(int row, int column) const {
    return elements[static_cast<size_t>(row * columns + column)] *
           static_cast<double>(scales[static_cast<size_t>(row * (columns / group) + column / group)]);
  }
};

/// Each element is put where the layout says; unused bytes are 0x5A.
std::vector<uint8_t> pack(const Matrix& m, int bits, const Block& b, int type = 1) {
  const int groups = m.columns / m.group, tiles = (m.rows + b.nr - 1) / b.nr;
  const int block_bytes = b.nr * b.kr * bits / 8, group_bytes = m.group / b.kr * block_bytes + b.nr * 8;
  std::vector<uint8_t> bytes(static_cast<size_t>(64 + tiles * groups * group_bytes), bits == 4 ? 0x88 : 0);
  const int32_t header[16] = {6712, type, bits, 0, 0, b.nr, b.kr, b.sr};
  memcpy(bytes.data(), header, sizeof header);
  const auto group_at = [&](int row, int group) { return 64 + (row / b.nr * groups + group) * group_bytes; };
  for (int row = 0; row < m.rows; ++row) {
    for (int column = 0; column < m.columns; ++column) {
      const int in_group = column % m.group, in_block = in_group % b.kr, part = b.kr / b.sr;
      const int value = in_block / part * (b.nr * part) + row % b.nr * part + in_block % part;
      const int block = group_at(row, column / m.group) + in_group / b.kr * block_bytes;
      const int element = m.elements[static_cast<size_t>(row * m.columns + column)];
      if (bits == 8) {
        bytes[static_cast<size_t>(block + value)] = static_cast<uint8_t>(element);
        continue;
      }
      uint8_t& byte = bytes[static_cast<size_t>(block + value / 32 * 16 + value % 16)];
      const int shift = value % 32 < 16 ? 0 : 4;
      byte = static_cast<uint8_t>((byte & ~(15 << shift)) | (element + 8) << shift);
    }
    for (int group = 0; group < groups; ++group) {
      const int at = group_at(row, group) + m.group / b.kr * block_bytes;
      memcpy(&bytes[static_cast<size_t>(at + row % b.nr * 4)], &m.scales[static_cast<size_t>(row * groups + group)], 4);
      memset(&bytes[static_cast<size_t>(at + b.nr * 4 + row % b.nr * 4)], 0x5A, 4);
    }
  }
  return bytes;
}

struct Case {
  int tokens = 3, experts = 5, activated = 2, dim = 32, hidden = 48, group = 16, bits = 4;
  bool sigmoid = true, bias = true;
  Block block = {};
  double route_scale = 2.5;
};

TestTensor of_floats(std::vector<int32_t> sizes, const std::vector<double>& data) {
  TestTensor t = make_out(DType::f32, std::move(sizes));
  for (size_t i = 0; i < data.size(); ++i) t.tensor.as<float>()[i] = static_cast<float>(data[i]);
  return t;
}

TestTensor of_bytes(int experts, const std::vector<uint8_t>& bytes) {
  TestTensor t = make_out(DType::u8, {experts, static_cast<int32_t>(bytes.size()) / experts});
  if (!bytes.empty()) memcpy(t.tensor.data, bytes.data(), bytes.size());
  return t;
}

class Moe {
 public:
  explicit Moe(const Case& sizes) : c(sizes), rng_(static_cast<uint32_t>(c.dim * 31 + c.hidden + c.bits)) {
    x = numbers(c.tokens * c.dim, 1);
    gate = numbers(c.experts * c.dim, 0.3);
    if (c.bias) bias = numbers(c.experts, 0.5);
    for (int e = 0; e < c.experts; ++e) {
      w13.push_back(matrix(2 * c.hidden, c.dim));
      w2.push_back(matrix(c.dim, c.hidden));
      for (auto [m, bytes] : {std::pair(&w13.back(), &packed13), std::pair(&w2.back(), &packed2)}) {
        const std::vector<uint8_t> one = pack(*m, c.bits, c.block);
        bytes->insert(bytes->end(), one.begin(), one.end());
      }
    }
  }

  std::vector<double> formula() const {
    std::vector<double> out(x.size());
    for (int t = 0; t < c.tokens; ++t) {
      std::vector<double> scores, by;
      for (int e = 0; e < c.experts; ++e) {
        double score = 0;
        for (int d = 0; d < c.dim; ++d) score += at(x, t, d) * at(gate, e, d);
        scores.push_back(c.sigmoid ? 1 / (1 + std::exp(-score)) : score);
        by.push_back(scores.back() + (c.bias ? bias[static_cast<size_t>(e)] : 0));
      }
      std::vector<size_t> order(scores.size());
      for (size_t e = 0; e < order.size(); ++e) order[e] = e;
      std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return by[a] > by[b]; });
      double sum = 0;
      for (int k = 0; k < c.activated; ++k) sum += weight_of(scores[order[static_cast<size_t>(k)]]);
      for (int k = 0; k < c.activated; ++k) {
        const size_t e = order[static_cast<size_t>(k)];
        const double weight = weight_of(scores[e]) / sum * (c.sigmoid ? c.route_scale : 1);
        add_expert(static_cast<int>(e), t, weight, out);
      }
    }
    return out;
  }

  Error run(TestTensor& out, const char* score = nullptr, int bits = 0, int experts = 0, int activated = 0) const {
    const TestTensor x_in = of_floats({c.tokens, c.dim}, x), gate_in = of_floats({c.experts, c.dim}, gate),
                     bias_in = of_floats({static_cast<int32_t>(bias.size())}, bias),
                     w13_in = of_bytes(c.experts, packed13), w2_in = of_bytes(c.experts, packed2);
    return call(kName, {x_in, gate_in, bias_in, w13_in, w2_in, activated ? activated : c.activated,
                        experts ? experts : c.experts, c.hidden, c.dim, c.group, bits ? bits : c.bits,
                        score       ? score
                        : c.sigmoid ? "sigmoid"
                                    : "softmax",
                        c.route_scale, out});
  }
  TestTensor out() const { return make_out(DType::f32, {c.tokens, c.dim}); }

  Case c;
  std::vector<double> x, gate, bias;
  std::vector<Matrix> w13, w2;
  std::vector<uint8_t> packed13, packed2;

 private:
  double weight_of(double score) const { return c.sigmoid ? score : std::exp(score); }
  double at(const std::vector<double>& m, int row, int column) const {
    return m[static_cast<size_t>(row * c.dim + column)];
  }
  void add_expert(int expert, int t, double weight, std::vector<double>& out) const {
    const Matrix &a = w13[static_cast<size_t>(expert)], &b = w2[static_cast<size_t>(expert)];
    std::vector<double> h(static_cast<size_t>(2 * c.hidden));
    for (int i = 0; i < 2 * c.hidden; ++i) {
      for (int d = 0; d < c.dim; ++d) h[static_cast<size_t>(i)] += a.at(i, d) * at(x, t, d);
    }
    for (int d = 0; d < c.dim; ++d) {
      double sum = 0;
      for (int i = 0; i < c.hidden; ++i) {
        const double up = h[static_cast<size_t>(i)], gated = h[static_cast<size_t>(c.hidden + i)];
        sum += b.at(d, i) * up / (1 + std::exp(-up)) * gated;
      }
      out[static_cast<size_t>(t * c.dim + d)] += weight * sum;
    }
  }
  std::vector<double> numbers(int count, double size) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) out.push_back(size * (static_cast<double>(rng_() % 4096) / 2048 - 1));
    return out;
  }
  Matrix matrix(int rows, int columns) {
    Matrix m{rows, columns, c.group, {}, {}};
    const int half = 1 << (c.bits - 1);
    for (int i = 0; i < rows * columns; ++i)
      m.elements.push_back(static_cast<int>(rng_() % static_cast<uint32_t>(2 * half)) - half);
    for (int i = 0; i < rows * columns / c.group; ++i)
      m.scales.push_back(static_cast<float>(rng_() % 64 + 1) / static_cast<float>(64 * half));
    return m;
  }

  std::mt19937 rng_;
};

TEST(QuantizedMoe, AgreesWithTheFormula) {
  for (const int bits : {4, 8}) {
    for (const Block block : {Block{8, 16, 2}, Block{4, 16, 2}, Block{8, 8, 1}, Block{2, 16, 4}, Block{4, 32, 2}}) {
      for (const bool sigmoid : {true, false}) {
        Case c{.dim = 64, .hidden = 96, .group = 32, .bits = bits, .sigmoid = sigmoid, .bias = sigmoid, .block = block};
        SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(block.nr) + "x" + std::to_string(block.kr));
        const Moe moe(c);
        TestTensor out = moe.out();
        ASSERT_EQ(moe.run(out), Error::Ok);
        EXPECT_TRUE(near(out, moe.formula(), 2e-5, 2e-5));
      }
    }
  }
  // Rows that fill no whole tile, all experts, one, no token.
  for (const Case& c :
       {Case{.dim = 48, .hidden = 16}, Case{.activated = 5, .bias = false},
        Case{.experts = 37, .activated = 9, .dim = 16, .hidden = 16}, Case{.experts = 1, .activated = 1},
        Case{.tokens = 0}, Case{.dim = 16, .hidden = 48, .block = {32, 4, 1}}}) {
    const Moe moe(c);
    TestTensor out = moe.out();
    ASSERT_EQ(moe.run(out), Error::Ok);
    EXPECT_TRUE(near(out, moe.formula(), 2e-5, 2e-5));
  }
}

// The first of experts with equal scores counts, and NaN after all numbers.
TEST(QuantizedMoe, TiesAndNaNTakeTheFirstExpert) {
  Moe moe(Case{.tokens = 1, .activated = 1, .bias = false});
  std::fill(moe.gate.begin(), moe.gate.end(), 0);
  TestTensor out = moe.out();
  ASSERT_EQ(moe.run(out), Error::Ok);
  EXPECT_TRUE(near(out, moe.formula(), 2e-5, 2e-5));
  Moe with_nan = moe;
  for (int d = 0; d < moe.c.dim; ++d) with_nan.gate[static_cast<size_t>(d)] = NAN;
  TestTensor second = moe.out();
  ASSERT_EQ(with_nan.run(second), Error::Ok);
  std::swap(moe.w13[0], moe.w13[1]);
  std::swap(moe.w2[0], moe.w2[1]);
  EXPECT_TRUE(near(second, moe.formula(), 2e-5, 2e-5));
}

TEST(QuantizedMoe, RefusesWeightsThatAreNotTheUniversalOnes) {
  const auto refused = [](const std::function<void(Moe&)>& change, Error error) {
    Moe moe{Case{}};
    change(moe);
    TestTensor out = moe.out();
    EXPECT_EQ(moe.run(out), error);
  };
  const auto header = [](size_t index, int32_t value) {
    return [=](Moe& moe) {
      for (std::vector<uint8_t>* bytes : {&moe.packed13, &moe.packed2}) {
        const size_t each = bytes->size() / static_cast<size_t>(moe.c.experts);
        for (size_t at = 0; at < bytes->size(); at += each) memcpy(bytes->data() + at + 4 * index, &value, 4);
      }
    };
  };
  refused(header(0, 6713), Error::InvalidArgument);
  for (const int32_t type : {0, 2, 3, 4}) refused(header(1, type), Error::NotSupported);
  refused(header(2, 8), Error::InvalidArgument);
  refused(header(3, 1), Error::InvalidArgument);
  refused(header(4, 1), Error::InvalidArgument);
  for (const int32_t nr : {0, -8, 3, 16, INT32_MAX}) refused(header(5, nr), Error::NotSupported);
  for (const int32_t kr : {0, -16, 32, INT32_MAX}) refused(header(6, kr), Error::NotSupported);
  for (const int32_t sr : {0, -2, 3, 32, INT32_MAX}) refused(header(7, sr), Error::NotSupported);
  for (const size_t missing : {1u, 64u, 100'000u}) {
    refused(
        [&](Moe& moe) {
          const size_t each = moe.packed13.size() / 5, left = missing > each ? 0 : each - missing;
          moe.packed13.resize(left * 5);
          for (int e = 1; e < 5 && left >= 64; ++e)
            memcpy(&moe.packed13[static_cast<size_t>(e) * left], moe.packed13.data(), 64);
        },
        Error::InvalidArgument);
  }
}

TEST(QuantizedMoe, RefusesArgumentsThatDoNotFit) {
  const Moe moe{Case{}};
  TestTensor out = moe.out();
  EXPECT_EQ(moe.run(out, "relu"), Error::InvalidArgument);
  EXPECT_EQ(moe.run(out, "softmax"), Error::InvalidArgument) << "a bias";
  EXPECT_EQ(moe.run(out, nullptr, 2), Error::NotSupported);
  EXPECT_EQ(moe.run(out, nullptr, 8), Error::InvalidArgument);
  EXPECT_EQ(moe.run(out, nullptr, 0, 4), Error::InvalidType);
  EXPECT_EQ(moe.run(out, nullptr, 0, -1), Error::InvalidArgument);
  EXPECT_EQ(moe.run(out, nullptr, 0, 0, 6), Error::InvalidArgument);
  Moe uneven{Case{}};
  uneven.c.dim = 40;
  EXPECT_NE(uneven.run(out), Error::Ok);
  TestTensor small = make_out(DType::f32, {2, 32});
  EXPECT_EQ(moe.run(small), Error::NotSupported);
}

}  // namespace
}  // namespace wick::test::quantized_moe_test
