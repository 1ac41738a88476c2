// Orthogonal polynomials of degree n (rounded toward 0; 0 below degree 0) at x, and Airy's function.
// Source: aten::special_chebyshev_polynomial_t and its like. Recurrences run in the dtype, as eager's do.
#include "common/math/orthogonal.h"
#include "common/math/special.h"
#include "runtime/kernels/pointwise/pointwise.h"

namespace wick {
namespace kernels {
namespace {

/// (x, n; out)
template <typename Polynomial>
void polynomial(KernelContext& context, Args args) {
  float_binary<kFloat>(context, operand(args, 0), operand(args, 1), out_tensor(args, 2),
                       [](auto x, auto degree) { return math::polynomial_at<Polynomial>(x, degree); });
}

}  // namespace

void special_chebyshev_polynomial_t_out(KernelContext& context, Args args) {
  polynomial<math::ChebyshevT>(context, args);
}
void special_chebyshev_polynomial_u_out(KernelContext& context, Args args) {
  polynomial<math::ChebyshevU>(context, args);
}
void special_chebyshev_polynomial_v_out(KernelContext& context, Args args) {
  polynomial<math::ChebyshevV>(context, args);
}
void special_chebyshev_polynomial_w_out(KernelContext& context, Args args) {
  polynomial<math::ChebyshevW>(context, args);
}
void special_shifted_chebyshev_polynomial_t_out(KernelContext& context, Args args) {
  polynomial<math::Shifted<math::ChebyshevT>>(context, args);
}
void special_shifted_chebyshev_polynomial_u_out(KernelContext& context, Args args) {
  polynomial<math::Shifted<math::ChebyshevU>>(context, args);
}
void special_shifted_chebyshev_polynomial_v_out(KernelContext& context, Args args) {
  polynomial<math::Shifted<math::ChebyshevV>>(context, args);
}
void special_shifted_chebyshev_polynomial_w_out(KernelContext& context, Args args) {
  polynomial<math::Shifted<math::ChebyshevW>>(context, args);
}
void special_hermite_polynomial_h_out(KernelContext& context, Args args) { polynomial<math::HermiteH>(context, args); }
void special_hermite_polynomial_he_out(KernelContext& context, Args args) {
  polynomial<math::HermiteHe>(context, args);
}
void special_laguerre_polynomial_l_out(KernelContext& context, Args args) {
  polynomial<math::LaguerreL>(context, args);
}
void special_legendre_polynomial_p_out(KernelContext& context, Args args) {
  polynomial<math::LegendreP>(context, args);
}

void special_airy_ai_out(KernelContext& context, Args args) {
  float_unary<kFloat>(context, operand(args, 0), out_tensor(args, 1),
                      [](auto x) { return static_cast<decltype(x)>(math::airy_ai(static_cast<double>(x))); });
}

}  // namespace kernels
}  // namespace wick
