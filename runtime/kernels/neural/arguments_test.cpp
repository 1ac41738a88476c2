// No argument makes a kernel of linear_algebra or neural write outside its tensors. Arguments are random tensors and
// numbers of the kinds that its signature names, with guard bytes around every tensor (call_detailed checks them).
#include <random>

#include "runtime/kernels/kernel_test_support.h"

namespace wick::test {
namespace {

struct Row {
  const char* name;
  const char* signature;
};
constexpr Row kRows[] = {
#define KERNEL(name, signature, function) {name, signature},
#include "runtime/kernels/lists/linear_algebra.inc"
#include "runtime/kernels/lists/llm.inc"
#include "runtime/kernels/lists/neural.inc"
#undef KERNEL
};

class Arguments {
 public:
  explicit Arguments(std::mt19937& rng)
      : rng_(rng),
        rank_(1 + static_cast<int>(rng() % 5)),
        side_(1 + static_cast<int>(rng() % 5)),
        length_(1 + rng() % 3),
        wild_(rng() % 3 == 0) {}

  Arg of(char letter) {
    switch (letter) {
      case 'T': return tensor(false);
      case 'o': return tensor(true);
      case 't': return rng_() % 2 ? tensor(false) : Arg(nullptr);
      case 'i': return integer();
      case 'j': return rng_() % 2 ? Arg(integer()) : Arg(nullptr);
      case 's': return rng_() % 2 ? Arg(integer()) : Arg(real());
      case 'f': return real();
      case 'e': return rng_() % 2 ? Arg(real()) : Arg(nullptr);
      case 'b': return Arg(rng_() % 2 == 0);
      case 'J':
        if (rng_() % 2) return Arg(nullptr);
        [[fallthrough]];
      case 'I': {
        std::vector<int64_t> v(rarely() ? rng_() % 5 : length_);
        for (int64_t& e : v) e = integer();
        return v;
      }
      case 'F': {
        std::vector<double> v(rarely() ? rng_() % 5 : length_);
        for (double& e : v) e = real();
        return rng_() % 2 ? Arg(v) : Arg(nullptr);
      }
      case 'B': return std::vector<bool>(rng_() % 5, true);
      default: return nullptr;
    }
  }

 private:
  /// True half of the time in a wild set of arguments, and now and then in a tame one.
  bool rarely() { return rng_() % (wild_ ? 2 : 20) == 0; }
  int64_t integer() {
    const int64_t odd[] = {INT64_MAX, INT64_MIN, int64_t{1} << 31, -1, 0, 1 << 30};
    return rarely() ? odd[rng_() % 6] : static_cast<int64_t>(rng_() % 4);
  }
  double real() {
    const double odd[] = {NAN, INFINITY, -INFINITY, 1e300, -2.5, 0.0};
    return rarely() ? odd[rng_() % 6] : static_cast<double>(rng_() % 40) / 10;
  }
  Arg tensor(bool is_out) {
    const DType dtypes[] = {DType::f64, DType::f16, DType::bf16, DType::i64, DType::u8, DType::boolean, DType::c64};
    const DType dtype = !rarely() ? DType::f32 : dtypes[rng_() % 7];
    const int rank = !rarely() ? rank_ : static_cast<int>(rng_() % 6);
    std::vector<int32_t> sizes;
    std::vector<uint8_t> order;
    for (int d = 0; d < rank; ++d) {
      sizes.push_back(is_out && !wild_ ? 8 : !rarely() ? side_ : static_cast<int32_t>(rng_() % 6));
      order.push_back(static_cast<uint8_t>(d));
    }
    if (rng_() % 3 == 0) std::shuffle(order.begin(), order.end(), rng_);
    tensors_.push_back(std::make_unique<TestTensor>(
        make_out(dtype, sizes, order, rarely() ? ShapeDynamism::fixed : ShapeDynamism::upper_bound)));
    TestTensor& t = *tensors_.back();
    uint8_t* bytes = t.storage.get() + kGuardBytes;
    for (size_t i = 0; i < t.tensor.nbytes(); ++i)
      bytes[i] = dtype == DType::boolean ? rng_() % 2 : rng_() % 4 ? static_cast<uint8_t>(rng_()) : 0;
    for (size_t i = 0; dtype == DType::f32 && i < t.tensor.numel; ++i) {
      if (rng_() % 8) t.tensor.as<float>()[i] = static_cast<float>(rng_() % 100) / 10 - 5;
    }
    return t;
  }

  std::mt19937& rng_;
  int rank_, side_;
  size_t length_;
  bool wild_;
  std::vector<std::unique_ptr<TestTensor>> tensors_;
};

TEST(NeuralKernels, StayInsideTheirTensorsWhateverTheArguments) {
  std::mt19937 rng(1);
  std::vector<uint8_t> temp(1u << 20);
  int accepted = 0;
  for (const Row& row : kRows) {
    for (int i = 0; i < 150; ++i) {
      Arguments arguments(rng);
      std::vector<Arg> args;
      for (const char* letter = row.signature; *letter; ++letter) args.push_back(arguments.of(*letter));
      RandomState random;
      SplitParallelism split;
      const size_t bytes = rng() % 4 ? temp.size() : rng() % 4096;
      KernelContext context(Span<uint8_t>(temp.data(), bytes), &random, rng() % 2 ? &split : nullptr);
      accepted += call_detailed(row.name, args, context) == Error::Ok;
      if (HasFailure()) FAIL() << row.name << " attempt " << i;
    }
  }
  EXPECT_GT(accepted, 150);
}

}  // namespace
}  // namespace wick::test
