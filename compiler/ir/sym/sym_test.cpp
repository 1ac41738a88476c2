#include "compiler/ir/sym/sym.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compiler/support/failure.h"
#include "tests/support/processor_time.h"

namespace wick::compiler {
namespace {

int64_t floored(int64_t a, int64_t b) { return a / b - (a % b < 0); }

Sym s(const char* text) {
  auto parsed = parse_sym(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Sym(-999);
}

TEST(Sym, EqualExpressionsHaveOneForm) {
  EXPECT_EQ(s("2*(s0 + 1)").text(), "2*s0 + 2");
  EXPECT_EQ(s("s1 + s0 + s0").text(), "2*s0 + s1");
  EXPECT_TRUE(s("4*s0 + 1") == s("1 + 2*s0 + s0*2"));
  EXPECT_TRUE((s("s0*s1") - s("s1*s0")).is(0));
  EXPECT_EQ(s("floordiv(4*s0 + 8, 4)").text(), "s0 + 2");
  EXPECT_EQ(s("floordiv(s0*s1, s0)").text(), "s1");
  EXPECT_EQ(s("floordiv(floordiv(s0, 4), 2)").text(), "floordiv(s0, 8)");
  EXPECT_EQ(s("floordiv(floordiv(s0 + 1, 2) + 1, 2)").text(), "floordiv(s0 + 3, 4)");
  EXPECT_EQ(s("floordiv(floordiv(s0, 2) + 5, 3)").text(), "floordiv(s0 + 4, 6) + 1");
  EXPECT_EQ(s("floordiv(floordiv(s0, s1), 2)").text(), "floordiv(floordiv(s0, s1), 2)");
  EXPECT_EQ(s("floordiv(32*s0 + 63, 64)").text(), "floordiv(s0 + 1, 2)");
  EXPECT_EQ(s("floordiv(4*s0 + -6*s1 + -3, 8)").text(), "floordiv(2*s0 + -3*s1 + 2, 4) + -1");
  EXPECT_EQ(s("floordiv(6*s0, 9)").text(), "floordiv(2*s0, 3)");
  EXPECT_EQ(s("floordiv(6*s0 + 4*s1 + 3, 9)").text(), "floordiv(6*s0 + 4*s1 + 3, 9)");
  for (int64_t n = -9; n < 10; ++n) {
    EXPECT_EQ(evaluate(s("floordiv(floordiv(s0 + 1, 2) + 4, 3)"), {{"s0", n}}), floored(floored(n + 1, 2) + 4, 3)) << n;
    EXPECT_EQ(evaluate(s("floordiv(6*s0 + -4, 9)"), {{"s0", n}}), floored(6 * n - 4, 9)) << n;
  }
}

TEST(Sym, TextIsReadBack) {
  for (const char* text :
       {"s0", "-3", "4*s0 + 1", "floordiv(s0 + 1, 2)", "max(s0, 3)", "where(eq(u0, 1), 1, 0)", "s0*s1*s2"}) {
    const Sym sym = s(text);
    EXPECT_TRUE(s(sym.text().c_str()) == sym) << sym.text();
  }
}

TEST(Sym, DivisionAndRemainderFollowPython) {
  EXPECT_EQ(evaluate(s("floordiv(s0, 2)"), {{"s0", -3}}), -2);
  EXPECT_EQ(evaluate(s("mod(s0, 4)"), {{"s0", -3}}), 1);
  EXPECT_EQ(evaluate(s("floordiv(s0, s1)"), {{"s0", 1}, {"s1", 0}}), std::nullopt);
}

// Sizes padded to whole blocks, in the forms that models write.
TEST(Sym, TheNextMultipleIsOneQuotient) {
  for (const char* text : {"s0 + mod(-1*s0, 5)", "s0 + mod(5 + -1*mod(s0, 5), 5)", "s0 + 4 + -1*mod(s0 + 4, 5)"})
    EXPECT_EQ(s(text).text(), "5*floordiv(s0 + 4, 5)") << text;
  EXPECT_EQ(s("floordiv(s0 + mod(-1*s0, 5), floordiv(s0 + mod(-1*s0, 5), 5))").text(), "5");
  EXPECT_TRUE((s("s0 + mod(-1*s0, 5)") + s("-1*s0") == s("mod(-1*s0, 5)")));
  EXPECT_TRUE((s("2*s1 + 3 + -2*mod(s1 + s0, 4)") + s("2*s0") == s("8*floordiv(s0 + s1, 4) + 3")));
  EXPECT_EQ(s("s0 + -4*floordiv(s0, 4)").text(), "mod(s0, 4)");
  // Equal sums have one form, however they are written.
  for (const char* text : {"2*s0 + -1*mod(s0, 4)", "s0 + 4*floordiv(s0, 4)"})
    EXPECT_EQ(s(text).text(), "s0 + 4*floordiv(s0, 4)") << text;
  EXPECT_EQ(s("mod(s0, 4) + 4*floordiv(s0, 4)").text(), "s0");
  for (const char* text : {"s0*s1 + s1*mod(-1*s0, 5)", "s1*(s0 + mod(-1*s0, 5))"})
    EXPECT_EQ(s(text).text(), "5*s1*floordiv(s0 + 4, 5)") << text;
  // s0 + 2^63 - 3 would not fit.
  EXPECT_EQ(evaluate(s("floordiv(-1*s0, 9223372036854775806)"), {{"s0", 7}}), -1);
  EXPECT_EQ(range_of(s("s0 + mod(-1*s0, 8)"), {{"s0", {1, 60}}}).min, 8);
  EXPECT_EQ(range_of(s("s0 + mod(-1*s0, 8)"), {{"s0", {1, 60}}}).max, 64);
  for (int64_t n = -11; n < 12; ++n) {
    const auto mod = [](int64_t a, int64_t b) { return a - b * floored(a, b); };
    EXPECT_EQ(evaluate(s("mod(-1*s0, 5)"), {{"s0", n}}), mod(-n, 5)) << n;
    EXPECT_EQ(evaluate(s("floordiv(3 + -2*s0, 5)"), {{"s0", n}}), floored(3 - 2 * n, 5)) << n;
    EXPECT_EQ(evaluate(s("mod(1 + 3*mod(s0, 12), 4)"), {{"s0", n}}), mod(1 + 3 * mod(n, 12), 4)) << n;
    EXPECT_EQ(evaluate(s("s0 + 7 + mod(3 + -1*s0, 4)"), {{"s0", n}}), n + 7 + mod(3 - n, 4)) << n;
    EXPECT_EQ(evaluate(s("s0 + -6*floordiv(s0 + 1, 6)"), {{"s0", n}}), n - 6 * floored(n + 1, 6)) << n;
  }
}

// Views that regroup dimensions split a number into digits of a mixed radix and join them again.
TEST(Sym, DigitsAreJoined) {
  EXPECT_EQ(s("6*floordiv(s0, 6) + 2*mod(floordiv(s0, 2), 3) + mod(s0, 2)").text(), "s0");
  EXPECT_EQ(s("4*mod(floordiv(s0, 4), 6) + mod(s0, 4)").text(), "mod(s0, 24)");
  EXPECT_EQ(s("4*floordiv(mod(s0, 24), 4) + mod(s0, 4)").text(), "mod(s0, 24)");
  EXPECT_EQ(s("s1*mod(s0, 4) + 4*s1*floordiv(s0, 4)").text(), "s0*s1");
  EXPECT_EQ(s("4*mod(floordiv(s0, 3), 6) + mod(s0, 4)").text(), "mod(s0, 4) + 4*mod(floordiv(s0, 3), 6)");
  EXPECT_EQ(s("3*mod(floordiv(s0, 4), 6) + mod(s0, 4)").text(), "mod(s0, 4) + 3*mod(floordiv(s0, 4), 6)");
  EXPECT_EQ(s("floordiv(mod(s0, 6), 4)").text(), "floordiv(mod(s0, 6), 4)");
  const SymRanges ranges = {{"i", {0, 3}}, {"j", {0, 7}}, {"k", {0, 8}}, {"x", {0, 95}}};
  const SymScope scope(ranges);
  EXPECT_EQ(s("floordiv(8*i + j, 16)").text(), "floordiv(i, 2)");
  EXPECT_EQ(s("mod(8*i + j, 16)").text(), "j + 8*mod(i, 2)");
  EXPECT_EQ(s("floordiv(8*i + k, 16)").text(), "floordiv(8*i + k, 16)") << "8 is another group's";
  EXPECT_EQ(s("floordiv(8*i + j + 1, 16)").text(), "floordiv(8*i + j + 1, 16)");
  EXPECT_EQ(s("floordiv(16*x + 2*j + 1, 64)").text(), "floordiv(x, 4)");
  EXPECT_EQ(s("floordiv(8*i + x + 248*floordiv(x, 8), 256)").text(), "floordiv(x, 8)");
  EXPECT_EQ(s("mod(8*i + x + 248*floordiv(x, 8), 256)").text(), "8*i + mod(x, 8)");
  EXPECT_EQ(s("floordiv(8*s0 + x + 248*floordiv(x, 8), 256)").text(), "floordiv(s0, 32) + floordiv(x, 8)");
  EXPECT_EQ(s("floordiv(8*s0 + x + 248*floordiv(x, 8) + 258, 256)").text(),
            "floordiv(8*s0 + x + 248*floordiv(x, 8) + 2, 256) + 1");
  EXPECT_EQ(s("floordiv(i + x + 248*floordiv(x, 8), 256)").text(), "floordiv(x, 8)");
  EXPECT_EQ(s("floordiv(s0 + x + 248*floordiv(x, 8), 256)").text(), "floordiv(s0 + x + 248*floordiv(x, 8), 256)");
  EXPECT_EQ(s("floordiv(3*i + floordiv(x, 4), 2)").text(), "floordiv(12*i + x, 8)");
  EXPECT_EQ(s("floordiv(3*s0 + floordiv(x, 4), 2)").text(), "floordiv(3*s0 + floordiv(x, 4), 2)") << "s0 has no bound";
  for (int64_t x = 0; x < 96; ++x) {
    for (const char* text : {"floordiv(mod(x, 24), 6)", "mod(12*i + x, 8)", "floordiv(9*i + floordiv(x, 5), 6)",
                             "mod(floordiv(x, 6), 4) + 4*mod(x, 12)", "mod(-8*x + j, 16)", "floordiv(j + -4*x, 8)"}) {
      const auto parsed = parse_sym(text);
      ASSERT_TRUE(parsed.ok());
      const int64_t i = x % 4, j = x % 8;
      const SymValues values = {{"x", x}, {"i", i}, {"j", j}};
      const std::map<std::string_view, int64_t> wanted = {
          {"floordiv(mod(x, 24), 6)", x % 24 / 6},
          {"mod(12*i + x, 8)", (12 * i + x) % 8},
          {"floordiv(9*i + floordiv(x, 5), 6)", (9 * i + x / 5) / 6},
          {"mod(floordiv(x, 6), 4) + 4*mod(x, 12)", x / 6 % 4 + 4 * (x % 12)},
          {"mod(-8*x + j, 16)", (j - 8 * x) - 16 * floored(j - 8 * x, 16)},
          {"floordiv(j + -4*x, 8)", floored(j - 4 * x, 8)}};
      EXPECT_EQ(evaluate(*parsed, values), wanted.at(text)) << text << " at " << x;
    }
  }
}

class ViewChain {
 public:
  explicit ViewChain(uint64_t seed) : seed_(seed) {
    for (int64_t d = 1 + random(4); d > 0; --d) sizes_.push_back(2 + random(3));
    shapes_.push_back(sizes_);
    for (int64_t length = 1 + random(4); length > 0; --length) add_view();
  }

  const std::vector<int64_t>& sizes() const { return sizes_; }
  bool only_regroups() const { return only_regroups_; }

  // Maps the offset of an element in the last tensor to its offset in the first. `Number` is int64_t or Sym.
  template <typename Number, typename Divide, typename Remainder>
  Number offset(std::vector<Number> index, Divide divide, Remainder remainder) const {
    for (size_t i = views_.size(); i-- > 0;) {
      const std::vector<int64_t>& to = shapes_[i];
      std::vector<Number> before(to.size(), Number(0));
      const View& view = views_[i];
      if (view.kind == View::permute) {
        for (size_t d = 0; d < to.size(); ++d) before[static_cast<size_t>(view.order[d])] = index[d];
      } else if (view.kind == View::slice) {
        before = index;
        before[view.dim] = index[view.dim] * Number(view.step) + Number(view.start);
      } else if (view.kind == View::expand) {
        before.assign(index.begin() + 1, index.end());
      } else {
        Number flat = linear(index, shapes_[i + 1]);
        for (size_t d = to.size(); d-- > 0;) {
          before[d] = d == 0 ? flat : remainder(flat, to[d]);
          flat = divide(flat, to[d]);
        }
      }
      index = before;
    }
    return linear(index, shapes_.front());
  }

 private:
  struct View {
    enum Kind : uint8_t { regroup, permute, slice, expand } kind = regroup;
    std::vector<int64_t> order;
    size_t dim = 0;
    int64_t start = 0, step = 1;
  };

  int64_t random(int64_t below) {
    seed_ = seed_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>(seed_ >> 33) % below;
  }

  template <typename Number>
  static Number linear(const std::vector<Number>& index, const std::vector<int64_t>& sizes) {
    Number flat(0);
    for (size_t d = 0; d < sizes.size(); ++d) flat = flat * Number(sizes[d]) + index[d];
    return flat;
  }

  // flatten, unflatten and other ways to group the same elements in the same order.
  void regroup() {
    std::vector<int64_t> groups;
    for (int64_t size : sizes_) {
      for (int64_t prime = 2; size > 1; ++prime) {
        for (; size % prime == 0; size /= prime) {
          if (groups.empty() || random(2) == 0) groups.push_back(1);
          groups.back() *= prime;
        }
      }
    }
    sizes_ = groups.empty() ? std::vector<int64_t>{1} : groups;
  }

  void add_view() {
    View view;
    switch (random(6)) {
      case 0: {
        view.kind = View::permute;
        std::vector<int64_t> left, permuted;
        for (size_t d = 0; d < sizes_.size(); ++d) left.push_back(static_cast<int64_t>(d));
        while (!left.empty()) {
          const auto at = left.begin() + random(static_cast<int64_t>(left.size()));
          view.order.push_back(*at);
          permuted.push_back(sizes_[static_cast<size_t>(*at)]);
          left.erase(at);
        }
        sizes_ = permuted;
        break;
      }
      case 1: {
        view.kind = View::slice;
        view.dim = static_cast<size_t>(random(static_cast<int64_t>(sizes_.size())));
        int64_t& size = sizes_[view.dim];
        view.start = random(size);
        view.step = 1 + random(2);
        size = (size - view.start + view.step - 1) / view.step;
        break;
      }
      case 2:
        view.kind = View::expand;
        sizes_.insert(sizes_.begin(), 2);
        break;
      default: regroup();
    }
    only_regroups_ = only_regroups_ && view.kind == View::regroup;
    views_.push_back(view);
    shapes_.push_back(sizes_);
  }

  uint64_t seed_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<int64_t>> shapes_;  // one more than views
  std::vector<View> views_;
  bool only_regroups_ = true;
};

size_t num_divisions(const Sym& sym) {
  if (sym.is_const()) return 0;
  size_t count = sym.node()->op == SymOp::floor_div || sym.node()->op == SymOp::mod;
  for (const Sym& arg : sym.node()->args) count += num_divisions(arg);
  return count;
}

TEST(Sym, IndicesThroughViewsHaveNoDivisionsWhereTheViewsOnlyRegroup) {
  size_t regrouping = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const ViewChain chain(seed);
    SymRanges ranges;
    std::vector<Sym> loops;
    int64_t count = 1;
    for (const int64_t size : chain.sizes()) {
      const std::string name = "i" + std::to_string(loops.size());
      ranges[name] = {0, size - 1};
      loops.push_back(size == 1 ? Sym(0) : Sym::symbol(name));
      count *= size;
    }
    const SymScope scope(ranges);
    const Sym offset = chain.offset<Sym>(
        loops, [](const Sym& a, int64_t b) { return floor_div(a, b); },
        [](const Sym& a, int64_t b) { return sym_mod(a, b); });
    for (int64_t element = 0; element < count; ++element) {
      SymValues values;
      std::vector<int64_t> index(loops.size());
      int64_t left = element;
      for (size_t d = loops.size(); d-- > 0; left /= chain.sizes()[d]) {
        index[d] = left % chain.sizes()[d];
        values["i" + std::to_string(d)] = index[d];
      }
      const int64_t wanted = chain.offset<int64_t>(
          index, [](int64_t a, int64_t b) { return a / b; }, [](int64_t a, int64_t b) { return a % b; });
      ASSERT_EQ(evaluate(offset, values), wanted) << offset.text() << ", seed " << seed;
    }
    if (!chain.only_regroups()) continue;
    ++regrouping;
    EXPECT_EQ(num_divisions(offset), 0u) << offset.text() << ", seed " << seed;
  }
  EXPECT_GT(regrouping, 100u);
}

Sym symbol(int64_t number) { return Sym::symbol("s" + std::to_string(number)); }

// A sum in which each rule could find a multiple of 8 with a small rest.
Sym quotients(int64_t count) {
  Sym sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t divisor = std::vector<int64_t>{2, 3, 5, 6}[static_cast<size_t>(i % 4)];
    sum = sum + symbol(i) + Sym(8 - divisor) * floor_div(symbol(i), divisor);
  }
  return sum;
}

// Nested remainders. With `with_digits`, the terms between them look like the next digit.
Sym nested(int64_t depth, int64_t divisor, int64_t step, bool with_digits) {
  Sym x = symbol(0);
  for (int64_t i = 0; i < depth; ++i) {
    x = sym_mod(x + (with_digits ? Sym(divisor) * sym_mod(symbol(i % 7), 5) : symbol(i % 7)), divisor);
    divisor += step;
  }
  return x;
}

TEST(Sym, ManyQuotientsAndDeepRemaindersTakeBoundedTime) {
  // Processor time may grow with the fifth power of the size at most: 4^5 = 1024. In exponential time the larger size
  // would never end.
  const auto grows_slowly = [](const auto& make, int64_t size) {
    const auto seconds = [&](int64_t n) {
      const double start = testing::processor_seconds();
      make(n);
      return testing::processor_seconds() - start;
    };
    const double small = std::max(seconds(size), 1e-4);
    EXPECT_LT(seconds(4 * size), 1024 * small) << size;
  };
  const std::vector<std::function<void(int64_t)>> kinds = {
      [](int64_t n) { floor_div(quotients(n), 8); },
      [](int64_t n) { sym_mod(quotients(n), 8); },
      [](int64_t n) { floor_div(nested(n, 3, 2, false), 4); },
      [](int64_t n) { floor_div(nested(n, 1000, -3, false), 4); },
      [](int64_t n) { sym_mod(nested(n, 12, 0, false) + symbol(1), 8); },
  };
  for (const auto& kind : kinds) grows_slowly(kind, 15);
  nested(200, 3, 2, false);
  nested(200, 1000, -3, false);
  nested(100, 3, 2, true);
  nested(100, 1000, -3, true);
}

// A rule whose numbers would overflow is skipped; the expression itself does not overflow.
TEST(Sym, LargeCoefficientsAreNotRefused) {
  const Sym x = Sym::symbol("x"), y = Sym::symbol("y");
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min(), kHighest = std::numeric_limits<int64_t>::max();
  constexpr int64_t kHalf = int64_t{1} << 62;
  for (const int64_t c :
       {kHighest, kHighest - 1, kHalf + 1, kHalf, kHalf - 1, kHalf / 3, -kHalf, -kHalf - 1, kLowest + 1, kLowest}) {
    const std::vector<std::pair<const char*, std::function<Sym()>>> forms = {
        {"quotient of a quotient and a number", [&] { return floor_div(floor_div(x, 1000) + c, 7); }},
        {"quotient of a quotient and a term", [&] { return floor_div(floor_div(x, 1000) + Sym(c) * y, 7); }},
        {"quotient of a quotient with a large number", [&] { return floor_div(floor_div(x + c, 6) + 5, 7); }},
        {"shown multiples", [&] { return floor_div(Sym(c) * x + Sym(5) * floor_div(x, 3), 8); }},
        {"shown multiples of a sum", [&] { return floor_div(x + y + Sym(c) * floor_div(x + y, 3), 8); }},
        {"shown multiples with a number", [&] { return floor_div(Sym(3) * x + Sym(2) * floor_div(x + c, 2), 8); }},
        {"remainder of multiples", [&] { return sym_mod(Sym(c) * x - floor_div(Sym(c) * x + y, 3), 2); }},
        {"a remainder in a remainder", [&] { return sym_mod(Sym(c) * sym_mod(Sym(5) * x + 3, 14) + y, 7); }},
        {"large ones in it", [&] { return sym_mod(Sym(3) * sym_mod(Sym(c) * x + y, 14) + y, 7); }},
        {"a negative dividend", [&] { return floor_div(Sym(c) * x + Sym(c) * y, 7); }},
        {"its remainder", [&] { return sym_mod(Sym(c) * x - y, 7); }},
        {"a negative divisor", [&] { return floor_div(Sym(c) * x, -1); }},
        {"its own remainder", [&] { return Sym(c) * sym_mod(x, 6) - x; }},
        {"its own remainder with a number", [&] { return Sym(3) * x - Sym(3) * sym_mod(x + c, 7); }},
        {"its own quotient", [&] { return x + Sym(c) * floor_div(x, 6); }},
        {"digits", [&] { return Sym(c) * sym_mod(x, 6) + Sym(6) * sym_mod(floor_div(x, 6), 4); }},
        {"digits of large ones",
         [&] { return sym_mod(Sym(c) * x + Sym(1000) * y, 7) + Sym(7) * floor_div(y, 14) + Sym(7) * sym_mod(y, 5); }},
        {"a common factor", [&] { return floor_div(Sym(c) * x, y * Sym(-1)); }},
    };
    for (const auto& form : forms) {
      const Status fits = catch_failure([&form] { form.second(); });
      EXPECT_TRUE(fits.ok()) << form.first << ", " << c;
    }
    for (int64_t at = 0; at < 2; ++at) {
      const SymValues values = {{"x", at}, {"y", 0}};
      EXPECT_EQ(evaluate(floor_div(Sym(c) * x, 7), values), floored(c * at, 7)) << c;
      EXPECT_EQ(evaluate(sym_mod(Sym(c) * x, 7), values), (c * at % 7 + 7) % 7) << c;
    }
  }
}

TEST(Sym, BoundsFollowFromThoseOfSymbols) {
  const SymRanges ranges = {{"s0", {2, 10}}, {"s1", {0, kUnbounded}}};
  EXPECT_EQ(range_of(s("3*s0 + 1"), ranges).max, 31);
  EXPECT_EQ(range_of(s("floordiv(s0, 3)"), ranges).min, 0);
  EXPECT_EQ(range_of(s("s0*s1"), ranges).max, kUnbounded);
  EXPECT_EQ(range_of(s("min(s1, 7)"), ranges).max, 7);
  EXPECT_TRUE(provably_le(s("s0"), s("s0 + s1"), ranges));
  EXPECT_FALSE(provably_le(s("s1"), s("s0"), ranges));
}

TEST(Sym, FormsDecideExtremes) {
  const Sym x = Sym::symbol("s0"), a = sym_min(x, Sym::symbol("s1")), b = sym_min(x, Sym::symbol("s2"));
  EXPECT_EQ(sym_min(x, sym_max(a, b)), sym_max(a, b));
  EXPECT_EQ(sym_min(x, sym_max(x - 1, b)), sym_max(x - 1, b));
  EXPECT_EQ(sym_max(a, sym_max(x, Sym::symbol("s3"))), sym_max(x, Sym::symbol("s3")));
  EXPECT_EQ(sym_max(x, sym_max(a, b)), x);
  EXPECT_NE(sym_min(x, sym_max(Sym::symbol("s1"), b)), sym_max(Sym::symbol("s1"), b));
}

// x[-n:] is all of x where n is 0.
TEST(Sym, TorchsFormulasMayBeWrongAtSmallSizes) {
  const SymRanges from_0 = {{"n", {0, 8}}, {"w", {9, 16}}}, from_1 = {{"n", {1, 8}}, {"w", {9, 16}}};
  const Sym stated = s("n"), computed = s("w + -1*where(lt(-1*n, 0), w + -1*n, 0)");
  {
    const SymScope scope(from_0);
    EXPECT_TRUE(differs_at_small_sizes(stated, computed));
    EXPECT_FALSE(differs_at_small_sizes(computed, computed));
    EXPECT_TRUE(differs_at_small_sizes(s("n + -9"), s("0")));
    EXPECT_FALSE(differs_at_small_sizes(s("n + -1*w"), s("0"))) << "the file may know that n >= w";
  }
  const SymScope scope(from_1);
  EXPECT_FALSE(differs_at_small_sizes(stated, computed));
}

TEST(Sym, AConstantDecidesOrLeavesAConjunction) {
  const Sym five = make_sym(SymOp::eq, {Sym::symbol("s0"), 5});
  EXPECT_TRUE(make_sym(SymOp::logical_and, {five, 0}).is(0));
  EXPECT_TRUE(make_sym(SymOp::logical_or, {1, five}).is(1));
  EXPECT_EQ(make_sym(SymOp::logical_and, {1, five}), five);
  EXPECT_EQ(make_sym(SymOp::logical_or, {five, 0}), five);
}

TEST(Sym, ADivisorThatMayBeZeroBoundsTheQuotient) {
  const SymRanges ranges = {{"s0", {0, 10}}, {"s1", {0, 4}}};
  EXPECT_EQ(range_of(floor_div(Sym::symbol("s0"), Sym::symbol("s1")), ranges).max, 10);
  EXPECT_EQ(range_of(sym_mod(Sym::symbol("s0"), Sym::symbol("s1")), ranges).max, 3);
}

TEST(Sym, SreprOfTorchIsRead) {
  auto read = [](const char* text) {
    auto parsed = parse_srepr(text);
    return parsed.ok() ? parsed->text() : parsed.diag().message;
  };
  EXPECT_EQ(read("Add(Symbol('s77', positive=True, integer=True), Integer(-1))"), "s77 + -1");
  EXPECT_EQ(read("Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u0', integer=True), Integer(1))), "
                 "ExprCondPair(Integer(0), true))"),
            "where(eq(1, u0), 1, 0)");
  EXPECT_EQ(read("FloorDiv(Add(Symbol('s0'), Integer(1)), Integer(2))"), "floordiv(s0 + 1, 2)");
  EXPECT_EQ(read("CeilToInt(FloatTrueDiv(ToFloat(Symbol('s0')), Float('-2.0', precision=53)))"), "-1*floordiv(s0, 2)");
  EXPECT_EQ(read("CeilToInt(FloatTrueDiv(Add(IntTrueDiv(Mul(Integer(-1), Symbol('s0')), Integer(2)), "
                 "Mul(Float('-0.5', precision=53), Symbol('s0'))), Float('-1.0', precision=53)))"),
            "s0");
  EXPECT_EQ(read("FloorToInt(IntTrueDiv(Symbol('s0'), Symbol('s1')))"), "floordiv(s0, s1)");
  EXPECT_EQ(read("FloorToInt(IntTrueDiv(Symbol('s0'), Integer(3)))"), "floordiv(s0, 3)");
  EXPECT_EQ(read("CeilToInt(ToFloat(Symbol('s0')))"), "s0");
  EXPECT_EQ(read("TruncToInt(ToFloat(Symbol('s0')))"), "s0");
  EXPECT_EQ(read("TruncToInt(Mul(Float('1.7', precision=53), ToFloat(Symbol('s0', positive=True, integer=True))))"),
            "floordiv(17*s0, 10)");
  EXPECT_EQ(read("FloorToInt(Mul(Float('0.59999999999999998', precision=53), Symbol('s0', positive=True)))"),
            "floordiv(3*s0, 5)");
  EXPECT_EQ(read("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s0', nonnegative=True))))"),
            "floordiv(3*s0, 2)");
}

TEST(Sym, HostileTextIsRefused) {
  for (const char* wrong :
       {"Float('0.5', precision=53)", "Float('1.0e5')", "Float('')", "CeilToInt(FloatTrueDiv(Integer(1)))",
        "CeilToInt(IntTrueDiv(Integer(1), Integer(2), Integer(3)))",
        "CeilToInt(Add(IntTrueDiv(Symbol('s0'), Integer(3)), Integer(1)))",
        "CeilToInt(Mul(Float('0.1'), Symbol('s0', positive=True)))", "TruncToInt(Mul(Float('1.7'), Symbol('s0')))",
        "TruncToInt(Mul(Float('0.56999999999999995'), Symbol('s0', positive=True)))",
        "TruncToInt(Mul(Float('3.1415926535897931'), Symbol('s0', positive=True)))",
        "TruncToInt(Mul(Float('1.5'), Symbol('s0')))", "CeilToInt(FloatTrueDiv(Integer(1), Integer(0)))"})
    EXPECT_FALSE(parse_srepr(wrong).ok()) << wrong;
  EXPECT_FALSE(parse_srepr("Pow(Integer(9), Integer(9999999))").ok());
  EXPECT_FALSE(parse_srepr("__import__('os')").ok());
  EXPECT_FALSE(parse_srepr(std::string(100000, '(')).ok());
  EXPECT_FALSE(parse_srepr("Mul(Integer(9223372036854775807), Integer(2))").ok());
  EXPECT_FALSE(parse_srepr("FloorDiv(Symbol('s0'), Integer(0))").ok());
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "Add(";
  EXPECT_FALSE(parse_srepr(deep).ok());
}

}  // namespace
}  // namespace wick::compiler
