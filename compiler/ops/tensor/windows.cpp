// Window functions of signal processing, by eager's formulas in its order of rounding.
#include <numbers>

#include "compiler/ops/arguments.h"
#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

struct WindowArgs {
  int64_t length;
  bool periodic;
  DType dtype;
};

WindowArgs window_args(const Node& node) {
  WindowArgs args{node.static_integer("window_length"), !has_argument(node, "periodic") || node.boolean("periodic"),
                  node.dtype("dtype").value_or(DType::f32)};
  require(args.length >= 0, "a window of negative length");
  require(is_floating(args.dtype), "a window needs a floating dtype");
  return args;
}

// shape(positions 0, 1, .., last position), cut to the window's length. A periodic window is the symmetric one of
// length + 1 without its last element.
template <typename F>
Results window(Builder& b, const Node& node, F&& shape) {
  const WindowArgs args = window_args(node);
  require(args.length < int64_t{1} << 31, "a window of 2^31 elements or more");
  if (args.length < 2) return {b.full({Sym(args.length)}, 1.0, args.dtype)};
  const int64_t length = args.length + (args.periodic ? 1 : 0);
  Value* values = shape(Compose(b).arange(Sym(length), args.dtype), length - 1);
  return {args.periodic ? b.slice(values, 0, 0, Sym(args.length)) : values};
}

// alpha - beta cos(2 pi i / last)
Results cosine_window(Builder& b, const Node& node, double alpha, double beta) {
  Compose c(b);
  return window(b, node, [&](Value* i, int64_t last) {
    return c.add(c.mul(c.unary("aten.cos", c.mul(i, 2 * std::numbers::pi / static_cast<double>(last))), -beta), alpha);
  });
}
Results decompose_hann_window(Builder& b, Node& node) { return cosine_window(b, node, 0.5, 0.5); }
Results decompose_hamming_window(Builder& b, Node& node) {
  return cosine_window(b, node, has_argument(node, "alpha") ? node.real("alpha") : 0.54,
                       has_argument(node, "beta") ? node.real("beta") : 0.46);
}

// 0.08 cos(4 pi i / last) - 0.5 cos(2 pi i / last) + 0.42
Results decompose_blackman_window(Builder& b, Node& node) {
  Compose c(b);
  return window(b, node, [&](Value* i, int64_t last) {
    Value* angle = c.mul(i, std::numbers::pi / static_cast<double>(last));
    Value* second = c.mul(c.unary("aten.cos", c.mul(angle, 4)), 0.08);
    return c.add(c.sub(second, c.mul(c.unary("aten.cos", c.mul(angle, 2)), 0.5)), 0.42);
  });
}

// i0(beta sqrt(1 - (2 i / last - 1)^2)) / i0(beta)
Results decompose_kaiser_window(Builder& b, Node& node) {
  Compose c(b);
  const double beta = has_argument(node, "beta") ? node.real("beta") : 12.0;
  return window(b, node, [&](Value* i, int64_t last) {
    Value* x = c.sub(c.mul(i, 2.0 / static_cast<double>(last)), 1.0);
    Value* inner = c.mul(c.sqrt(c.add(c.neg(c.mul(x, x)), 1.0)), beta);
    return c.div(c.unary("aten.i0", inner), c.unary("aten.i0", b.scalar(beta, i->dtype())));
  });
}

// a triangle with r = 2 i / last: r up to the middle, 2 - r after it
Results decompose_bartlett_window(Builder& b, Node& node) {
  Compose c(b);
  return window(b, node, [&](Value* i, int64_t last) {
    Value* rising = c.mul(i, 2.0 / static_cast<double>(last));
    const Sym middle(last / 2 + 1);
    return c.cat({b.slice(rising, 0, 0, middle), c.add(c.neg(b.slice(rising, 0, middle, Sym(last + 1))), 2)}, 0);
  });
}

}  // namespace

#define WINDOW(head, decompose, ...)                                                                           \
  {                                                                                                            \
    "aten::" head                                                                                              \
    ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor", \
        nullptr, decompose, nullptr, kPure, {                                                                  \
      __VA_ARGS__                                                                                              \
    }                                                                                                          \
  }
const OpDef kWindowRows[] = {
    WINDOW("hann_window(int window_length", decompose_hann_window, "4, device=cpu, pin_memory=false"),
    WINDOW("hann_window.periodic(int window_length, bool periodic", decompose_hann_window, "5, true", "6, false"),
    WINDOW("hamming_window(int window_length", decompose_hamming_window, "4, device=cpu, pin_memory=false"),
    WINDOW("hamming_window.periodic(int window_length, bool periodic", decompose_hamming_window, "5, true", "6, false"),
    WINDOW("hamming_window.periodic_alpha(int window_length, bool periodic, float alpha", decompose_hamming_window,
           "5, true, 0.6"),
    WINDOW("hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta",
           decompose_hamming_window, "5, false, 0.6, 0.4"),
    WINDOW("blackman_window(int window_length", decompose_blackman_window, "4, device=cpu, pin_memory=false"),
    WINDOW("blackman_window.periodic(int window_length, bool periodic", decompose_blackman_window, "5, true",
           "6, false"),
    WINDOW("bartlett_window(int window_length", decompose_bartlett_window, "4, device=cpu, pin_memory=false"),
    WINDOW("kaiser_window(int window_length", decompose_kaiser_window, "4, device=cpu, pin_memory=false"),
    WINDOW("kaiser_window.periodic(int window_length, bool periodic", decompose_kaiser_window,
           "4, false, device=cpu, pin_memory=false"),
    WINDOW("kaiser_window.beta(int window_length, bool periodic, float beta", decompose_kaiser_window,
           "4, true, 6.0, device=cpu, pin_memory=false", "5, false, 8.0, device=cpu, pin_memory=false"),
    WINDOW("bartlett_window.periodic(int window_length, bool periodic", decompose_bartlett_window, "5, true",
           "6, false"),
};
#undef WINDOW
const size_t kWindowCount = std::size(kWindowRows);

}  // namespace wick::compiler
