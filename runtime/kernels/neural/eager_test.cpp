// Every neural kernel against numbers that eager PyTorch gave (eager_cases.inc, written by eager_cases.py).
#include <variant>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test::eager_test {
namespace {

struct Input {
  DType dtype;
  std::vector<int32_t> sizes;
  int seed;
};
struct Values {
  DType dtype;
  std::vector<int32_t> sizes;
  std::vector<double> values;
  bool is_out;
};
using Item = std::variant<std::nullptr_t, Input, Values, int64_t, double, bool, std::vector<int64_t>,
                          std::vector<double>, std::vector<bool>>;

Item in(DType dtype, std::vector<int32_t> sizes, int seed) { return Input{dtype, std::move(sizes), seed}; }
Item given(DType dtype, std::vector<int32_t> sizes, std::vector<double> values) {
  return Values{dtype, std::move(sizes), std::move(values), false};
}
Item out(DType dtype, std::vector<int32_t> sizes, std::vector<double> values) {
  return Values{dtype, std::move(sizes), std::move(values), true};
}
Item none() { return nullptr; }
template <typename T>
Item number(T value) {
  return value;
}
Item ints(std::vector<int64_t> v) { return v; }
Item reals(std::vector<double> v) { return v; }
Item bools(std::vector<bool> v) { return v; }

struct EagerCase {
  const char* kernel;
  double rtol, atol;
  std::vector<Item> items;
};

const std::vector<EagerCase>& cases() {
  static const std::vector<EagerCase> all = {
#include "runtime/kernels/neural/eager_cases.inc"
  };
  return all;
}

TestTensor make_values(DType dtype, const std::vector<int32_t>& sizes, const std::vector<double>& values,
                       std::vector<uint8_t> order) {
  if (!is_complex(dtype)) return make(dtype, sizes, values, std::move(order));
  std::vector<std::complex<double>> pairs;
  for (size_t i = 0; i + 1 < values.size(); i += 2) pairs.emplace_back(values[i], values[i + 1]);
  return make_complex(dtype, sizes, pairs);
}

std::vector<double> formula(const Input& input) {
  size_t count = is_complex(input.dtype) ? 2 : 1;
  for (int32_t s : input.sizes) count *= static_cast<size_t>(s);
  std::vector<double> v(count);
  for (size_t i = 0; i < count; ++i)
    v[i] = (static_cast<double>((i * 37 + static_cast<size_t>(input.seed) * 11) % 97) - 48) / 16;
  return v;
}

/// Runs one case at one level; `last` puts tensors of rank 4 and 5 in channels-last order.
void run(const EagerCase& c, IsaLevel isa, bool split_work, bool last) {
  std::vector<std::unique_ptr<TestTensor>> tensors;
  std::vector<std::pair<TestTensor*, const Values*>> outs;
  std::vector<Arg> args;
  const auto order = [&](size_t rank) {
    return !last       ? std::vector<uint8_t>{}
           : rank == 4 ? std::vector<uint8_t>{0, 2, 3, 1}
           : rank == 5 ? std::vector<uint8_t>{0, 2, 3, 4, 1}
                       : std::vector<uint8_t>{};
  };
  for (const Item& item : c.items) {
    if (const Input* input = std::get_if<Input>(&item)) {
      tensors.push_back(std::make_unique<TestTensor>(
          make_values(input->dtype, input->sizes, formula(*input), order(input->sizes.size()))));
      args.emplace_back(*tensors.back());
    } else if (const Values* v = std::get_if<Values>(&item)) {
      tensors.push_back(
          std::make_unique<TestTensor>(v->is_out ? make_out(v->dtype, v->sizes, order(v->sizes.size()))
                                                 : make_values(v->dtype, v->sizes, v->values, order(v->sizes.size()))));
      args.emplace_back(*tensors.back());
      if (v->is_out) outs.emplace_back(tensors.back().get(), v);
    } else if (std::holds_alternative<std::nullptr_t>(item)) {
      args.emplace_back(nullptr);
    } else {
      std::visit(
          [&](const auto& value) {
            using V = std::decay_t<decltype(value)>;
            if constexpr (!std::is_same_v<V, Input> && !std::is_same_v<V, Values> && !std::is_same_v<V, std::nullptr_t>)
              args.emplace_back(value);
          },
          item);
    }
  }
  std::vector<uint8_t> temp(4u << 20);
  RandomState random;
  SplitParallelism split;
  KernelContext context(Span<uint8_t>(temp.data(), temp.size()), &random, split_work ? &split : nullptr, isa);
  ASSERT_EQ(call_detailed(c.kernel, args, context), Error::Ok) << context.message();
  for (const auto& [tensor, expected] : outs) {
    if (!is_complex(expected->dtype)) {
      EXPECT_TRUE(near(*tensor, expected->values, c.rtol, c.atol));
      continue;
    }
    const auto actual = complex_values(*tensor);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_NEAR(actual[i].real(), expected->values[2 * i], c.atol + c.rtol * fabs(expected->values[2 * i])) << i;
      EXPECT_NEAR(actual[i].imag(), expected->values[2 * i + 1], c.atol + c.rtol * fabs(expected->values[2 * i + 1]))
          << i;
    }
  }
}

bool has_complex(const EagerCase& c) {
  for (const Item& item : c.items) {
    const Values* v = std::get_if<Values>(&item);
    const Input* input = std::get_if<Input>(&item);
    if ((v && is_complex(v->dtype)) || (input && is_complex(input->dtype))) return true;
  }
  return false;
}

TEST(NeuralKernels, GiveWhatEagerGives) {
  for (size_t i = 0; i < cases().size(); ++i) {
    for (IsaLevel isa : {IsaLevel::baseline, IsaLevel::avx2, IsaLevel::avx512}) {
      if (isa > detect_isa_level()) continue;
      SCOPED_TRACE("case " + std::to_string(i) + " " + cases()[i].kernel + " level " +
                   std::to_string(static_cast<int>(isa)));
      run(cases()[i], isa, isa == IsaLevel::avx2, false);
    }
  }
}

TEST(NeuralKernels, TakeChannelsLastTensors) {
  for (size_t i = 0; i < cases().size(); ++i) {
    if (has_complex(cases()[i]) || std::string(cases()[i].kernel).find("wick::") == 0 ||
        std::string(cases()[i].kernel).find("dist") != std::string::npos)
      continue;
    SCOPED_TRACE("case " + std::to_string(i) + " " + cases()[i].kernel);
    run(cases()[i], detect_isa_level(), i % 2, true);
  }
}

}  // namespace
}  // namespace wick::test::eager_test
