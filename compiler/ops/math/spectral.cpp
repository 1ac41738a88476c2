// Fourier transforms and complex numbers.
#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ops/compose.h"
#include "compiler/ops/families.h"
#include "compiler/ops/pointwise/half_numbers.h"
#include "compiler/ops/sharing.h"
#include "compiler/ops/tensor/view_writes.h"

namespace wick::compiler {
namespace {

using Results = std::vector<Value*>;

std::vector<int64_t> wrapped(const Node& node, size_t rank) {
  std::vector<int64_t> dims = node.static_ints("dim");
  require(!dims.empty(), "a Fourier transform needs a dimension");
  for (int64_t& dim : dims) dim = wrap_dim(dim, rank);
  const std::set<int64_t> distinct(dims.begin(), dims.end());
  require(distinct.size() == dims.size(), "a Fourier transform names a dimension twice");
  return dims;
}

void infer_c2c(Node& node) {
  const Value* x = node.tensor("self");
  require(is_complex(x->dtype()), "_fft_c2c of a tensor that is not complex");
  if (!node.ints("dim").empty()) wrapped(node, x->rank());
  infer_same(node);
}
void infer_r2c(Node& node) {
  const Value* x = node.tensor("self");
  require(is_floating(x->dtype()) && x->rank() > 0, "_fft_r2c of a tensor that is not floating");
  const std::vector<int64_t> dims = wrapped(node, x->rank());
  Sizes sizes = x->sizes();
  if (node.boolean("onesided")) {
    Sym& last = sizes[static_cast<size_t>(dims.back())];
    last = floor_div(last, 2) + 1;
  }
  set_result(node, complex_dtype(x->dtype()), std::move(sizes));
}
void infer_c2r(Node& node) {
  const Value* x = node.tensor("self");
  require(is_complex(x->dtype()) && x->rank() > 0, "_fft_c2r of a tensor that is not complex");
  Sizes sizes = x->sizes();
  sizes[static_cast<size_t>(wrapped(node, x->rank()).back())] = node.integer("last_dim_size");
  set_result(node, real_dtype(x->dtype()), std::move(sizes));
}

// Normalisation of _fft_*: 0 none, 1 by sqrt(n), 2 by n.
int64_t normalization(const Node& node, bool forward) {
  const std::string norm = node.is_none("norm") ? "backward" : node.string("norm");
  if (norm == "ortho") return 1;
  require(norm == "backward" || norm == "forward", "unknown norm of a Fourier transform");
  return (norm == "forward") == forward ? 2 : 0;
}

// Cut or padded with zeros to `size` along `dim`.
Value* resized(Compose& c, Value* x, int64_t dim, const Sym& size) {
  const Sym own = x->sizes()[static_cast<size_t>(dim)];
  if (own == size) return x;
  require(!size.is_const() || size.value() > 0, "a Fourier transform of this size is not supported");
  const Sym kept = sym_min(own, size);
  if (is_complex(x->dtype()) && !(kept == size)) {
    Value* pair = c.b.call("aten.view_as_real", {x});
    return c.b.call("aten.view_as_complex", {resized(c, pair, dim, size)});
  }
  if (!(kept == own)) x = c.b.slice(x, dim, 0, kept);
  if (kept == size) return x;
  Ints pairs(2 * (x->rank() - static_cast<size_t>(dim)), Sym(0));
  pairs.back() = size - kept;
  return c.pad(x, std::move(pairs));
}

Value* to_complex(Compose& c, Value* x) {
  if (is_complex(x->dtype())) return x;
  Value* real = c.b.cast(x, float_dtype(x->dtype()));
  Value* pair = c.stack({real, c.b.full(real->sizes(), 0.0, real->dtype())}, static_cast<int64_t>(real->rank()));
  return c.b.call("aten.view_as_complex", {pair});
}

// The dimensions and sizes of fft_fft (n, dim) or fft_fftn (s, dim).
struct Axes {
  std::vector<int64_t> dims;
  Ints sizes;  // empty: unchanged
};
Axes axes_of(const Node& node) {
  const Value* x = node.tensor("self");
  require(x->rank() > 0, "a Fourier transform of a scalar");
  Axes a;
  if (node.op->parsed->find("n") >= 0) {
    a.dims = {wrap_dim(node.static_integer("dim"), x->rank())};
    if (!node.is_none("n")) a.sizes = {node.integer("n")};
    return a;
  }
  if (!node.is_none("s")) a.sizes = node.ints("s");
  if (!node.is_none("dim")) {
    a.dims = node.static_ints("dim");
  } else {
    a.dims = all_dims(x->rank());
    require(a.sizes.size() <= a.dims.size(), "a Fourier transform has too many sizes");
    if (!a.sizes.empty()) a.dims.erase(a.dims.begin(), a.dims.end() - static_cast<int64_t>(a.sizes.size()));
  }
  for (int64_t& dim : a.dims) dim = wrap_dim(dim, x->rank());
  require(a.sizes.empty() || a.sizes.size() == a.dims.size(), "a Fourier transform has a different number of sizes");
  return a;
}

Results complex_transform(Builder& b, Node& node, bool forward) {
  Compose c(b);
  const Axes a = axes_of(node);
  Value* x = node.tensor("self");
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    if (!a.sizes[i].is(-1)) x = resized(c, x, a.dims[i], a.sizes[i]);
  }
  return {b.call("aten._fft_c2c", {to_complex(c, x), to_ints(a.dims), normalization(node, forward), forward})};
}
Results decompose_fft(Builder& b, Node& node) { return complex_transform(b, node, true); }
Results decompose_ifft(Builder& b, Node& node) { return complex_transform(b, node, false); }

Results decompose_rfft(Builder& b, Node& node) {
  Compose c(b);
  const Axes a = axes_of(node);
  Value* x = b.cast(node.tensor("self"), float_dtype(node.tensor("self")->dtype()));
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    if (!a.sizes[i].is(-1)) x = resized(c, x, a.dims[i], a.sizes[i]);
  }
  return {b.call("aten._fft_r2c", {x, to_ints(a.dims), normalization(node, true), true})};
}
Results decompose_irfft(Builder& b, Node& node) {
  Compose c(b);
  const Axes a = axes_of(node);
  Value* x = to_complex(c, node.tensor("self"));
  const int64_t last = a.dims.back();
  Sym size =
      a.sizes.empty() || a.sizes.back().is(-1) ? (x->sizes()[static_cast<size_t>(last)] - 1) * 2 : a.sizes.back();
  for (size_t i = 0; i + 1 < a.sizes.size(); ++i) x = resized(c, x, a.dims[i], a.sizes[i]);
  x = resized(c, x, last, floor_div(size, 2) + 1);
  return {b.call("aten._fft_c2r", {x, to_ints(a.dims), normalization(node, false), size})};
}

// The dimensions of a transform that handles the last one separately. There is at least one.
Axes required_axes(const Node& node) {
  Axes a = axes_of(node);
  require(!a.dims.empty(), "a Fourier transform over no dimension");
  return a;
}
// The transform of a signal whose spectrum is real: the inverse real transform of the conjugate, scaled like a forward
// one.
Results decompose_hfft(Builder& b, Node& node) {
  Compose c(b);
  const Axes a = required_axes(node);
  Value* x = to_complex(c, node.tensor("self"));
  const int64_t last = a.dims.back();
  const Sym size =
      a.sizes.empty() || a.sizes.back().is(-1) ? (x->sizes()[static_cast<size_t>(last)] - 1) * 2 : a.sizes.back();
  for (size_t i = 0; i + 1 < a.sizes.size(); ++i) {
    if (!a.sizes[i].is(-1)) x = resized(c, x, a.dims[i], a.sizes[i]);
  }
  x = resized(c, x, last, floor_div(size, 2) + 1);
  const Arg scale = normalization(node, true);
  std::vector<int64_t> rest(a.dims.begin(), a.dims.end() - 1);
  if (!rest.empty()) x = b.call("aten._fft_c2c", {x, to_ints(rest), scale, true});
  return {b.call("aten._fft_c2r", {c.call("aten.conj_physical", {x}), Ints{last}, scale, size})};
}
Results decompose_ihfft(Builder& b, Node& node) {
  Compose c(b);
  const Axes a = required_axes(node);
  Value* x = b.cast(node.tensor("self"), float_dtype(node.tensor("self")->dtype()));
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    if (!a.sizes[i].is(-1)) x = resized(c, x, a.dims[i], a.sizes[i]);
  }
  const Arg scale = normalization(node, false);
  Value* out = b.call("aten._fft_r2c", {x, Ints{a.dims.back()}, scale, true});
  out = c.call("aten.conj_physical", {out});
  std::vector<int64_t> rest(a.dims.begin(), a.dims.end() - 1);
  return {rest.empty() ? out : b.call("aten._fft_c2c", {out, to_ints(rest), scale, false})};
}
// 0, 1, .. and the negative frequencies (not for real signals), over n d.
Results decompose_fftfreq(Builder& b, Node& node) {
  Compose c(b);
  const int64_t n = node.static_integer("n");
  require(n > 0 && n < (int64_t{1} << 28), "fftfreq: n is out of range");
  const bool real = node.is("aten.fft_rfftfreq.default");
  std::vector<float> numbers;
  for (int64_t i = 0; i < (real ? n / 2 + 1 : n); ++i)
    numbers.push_back(static_cast<float>(real || i < (n + 1) / 2 ? i : i - n));
  const Sym count(static_cast<int64_t>(numbers.size()));
  Value* table = b.cast(c.constant_f32(numbers, {count}), node.dtype("dtype").value_or(DType::f32));
  return {c.mul(table, 1.0 / (static_cast<double>(n) * node.real("d")))};
}

// Moves the zero frequency to the middle, or back.
Results decompose_fftshift(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  const bool inverse = node.is("aten.fft_ifftshift.default");
  std::vector<int64_t> dims = node.is_none("dim") ? all_dims(x->rank()) : node.static_ints("dim");
  Ints shifts;
  for (int64_t& dim : dims) {
    dim = wrap_dim(dim, x->rank());
    const Sym size = x->sizes()[static_cast<size_t>(dim)];
    shifts.push_back(inverse ? floor_div(size + 1, 2) : floor_div(size, 2));
  }
  return {b.call("aten.roll", {x, std::move(shifts), to_ints(dims)})};
}

// --- short time ---

Results decompose_stft(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const int64_t n = node.static_integer("n_fft");
  Value* window = node.optional_tensor("window");
  const bool complex = is_complex(x->dtype()) || (window && is_complex(window->dtype()));
  require(n > 0 && (complex || is_floating(x->dtype())), "stft needs a floating or complex input and a positive n_fft");
  const int64_t hop = node.is_none("hop_length") ? n / 4 : node.static_integer("hop_length");
  const int64_t width = node.is_none("win_length") ? n : node.static_integer("win_length");
  require(hop > 0 && width > 0 && width <= n, "stft: a length is out of range");
  const bool vector = x->rank() == 1;
  if (vector) x = b.unsqueeze(x, 0);
  require_rank(x, 2, "stft: the input");
  if (node.op->parsed->find("center") >= 0 && node.boolean("center")) {
    Value* padded = c.call("aten.pad", {b.unsqueeze(x, 0), Ints{n / 2, n / 2}, node.string("pad_mode"), None{}});
    x = b.squeeze(padded, 0);
  }
  Value* frames = b.call("aten.unfold", {x, 1, n, hop});  // [batch, frames, n]
  if (window) {
    require_rank(window, 1, "stft: the window");
    const int64_t left = (n - width) / 2;
    if (width != n) window = c.pad(window, {left, n - width - left});
    frames = c.mul(frames, window);
  } else if (width != n) {
    const int64_t left = (n - width) / 2;
    frames = c.mul(frames, c.pad(b.full({width}, 1.0, x->dtype()), {left, n - width - left}));
  }
  const bool onesided = !complex && (node.is_none("onesided") || node.boolean("onesided"));
  const int64_t norm = node.boolean("normalized") ? 1 : 0;
  Value* spectrum = complex ? b.call("aten._fft_c2c", {frames, Ints{2}, norm, true})
                            : b.call("aten._fft_r2c", {frames, Ints{2}, norm, onesided});
  spectrum = b.transpose(spectrum, 1, 2);
  if (vector) spectrum = b.squeeze(spectrum, 0);
  if (node.is_none("return_complex") ? complex : node.boolean("return_complex")) return {spectrum};
  return {b.call("aten.view_as_real", {spectrum})};
}

// --- parts of complex numbers ---

Value* part(Builder& b, Value* x, int64_t which) {
  Value* pair = b.call("aten.view_as_real", {x});
  return b.select(pair, static_cast<int64_t>(pair->rank()) - 1, which);
}
Value* from_parts(Compose& c, Value* real, Value* imaginary) {
  const Sizes sizes = broadcast(real->sizes(), imaginary->sizes());
  Value* pair = c.stack({c.b.expand(real, sizes), c.b.expand(imaginary, sizes)}, static_cast<int64_t>(sizes.size()));
  return c.b.call("aten.view_as_complex", {pair});
}

// The sum of overlapping frames times window, divided by the sum of the overlapping squared windows.
Results decompose_istft(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  const int64_t n = node.static_integer("n_fft");
  const int64_t hop = node.is_none("hop_length") ? n / 4 : node.static_integer("hop_length");
  const int64_t width = node.is_none("win_length") ? n : node.static_integer("win_length");
  require(is_complex(x->dtype()) && (x->rank() == 2 || x->rank() == 3),
          "istft needs a complex input of two or three dimensions");
  require(n > 0 && hop > 0 && width > 0 && width <= n && hop <= width, "istft: a length is out of range");
  const bool single = x->rank() == 2;
  if (single) x = b.unsqueeze(x, 0);
  const DType dtype = real_dtype(x->dtype());
  const Sym bins = x->sizes()[1], frames = x->sizes()[2];
  const bool onesided = node.is_none("onesided") ? !bins.is(n) : node.boolean("onesided");
  require(may_equal(bins, onesided ? n / 2 + 1 : n), "istft: the input has a different number of bins than n_fft says");
  const int64_t norm = node.boolean("normalized") ? 1 : 2;
  const bool complex = node.boolean("return_complex");
  require(!complex || !onesided, "istft: a one-sided spectrum is that of a real signal");
  Value* window = node.optional_tensor("window");
  if (!window) window = b.full({width}, 1.0, dtype);
  require(complex || !is_complex(window->dtype()), "istft: a complex window has a complex result");
  if (!complex && !onesided) x = b.slice(x, 1, 0, n / 2 + 1);  // the spectrum of a real signal is symmetric
  Value* spectra = b.transpose(x, 1, 2);
  Value* signal = complex ? b.call("aten._fft_c2c", {spectra, Ints{2}, norm, false})
                          : b.call("aten._fft_c2r", {spectra, Ints{2}, norm, n});  // [batch, frames, n]
  const int64_t left = (n - width) / 2;
  if (width != n) window = c.pad(window, {left, n - width - left});
  const Sym total = (frames - 1) * Sym(hop) + n;
  const auto add_real = [&](Value* columns) {
    Value* line = c.call("aten.col2im", {columns, Ints{1, total}, Ints{1, n}, Ints{1, 1}, Ints{0, 0}, Ints{1, hop}});
    return b.reshape(line, {columns->sizes()[0], total});
  };
  const auto overlap_add = [&](Value* columns) {  // [.., n, frames] -> [.., total]
    if (!is_complex(columns->dtype())) return add_real(columns);
    return from_parts(c, add_real(part(b, columns, 0)), add_real(part(b, columns, 1)));
  };
  Value* sum = overlap_add(b.transpose(c.mul(signal, window), 1, 2));
  Value* weight = overlap_add(b.expand(b.reshape(c.mul(window, window), {1, n, 1}), {1, n, frames}));
  const Sym start = node.boolean("center") ? n / 2 : 0;
  Sym end = node.boolean("center") ? total - n / 2 : total;
  if (!node.is_none("length")) end = start + node.integer("length");
  const Sym kept = sym_min(end, total);
  Value* out = c.div(b.slice(sum, 1, start, kept), b.slice(weight, 1, start, kept));
  if (!(end == kept)) out = c.pad(out, {0, end - kept});
  return {single ? b.reshape(out, {end - start}) : out};
}

// --- complex numbers ---

void infer_part(Node& node) {
  const Value* x = node.tensor("self");
  set_result(node, real_dtype(x->dtype()), x->sizes());
}
Results decompose_real(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  return {is_complex(x->dtype()) ? part(b, x, 0) : x};
}
Results decompose_imag(Builder& b, Node& node) {
  require(is_complex(node.tensor("self")->dtype()), "imag of a tensor that is not complex");
  return {part(b, node.tensor("self"), 1)};
}
Results decompose_angle(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (is_complex(x->dtype())) return {b.call("aten.atan2", {part(b, x, 1), part(b, x, 0)})};
  x = b.cast(x, float_dtype(x->dtype()));
  Value* out = c.where(c.compare("lt", x, 0), 3.14159265358979323846, 0.0, x->dtype());
  return {c.where(c.unary("aten.isnan", x), x, out)};
}
Results decompose_complex_transform(Builder& b, Node& node) {
  Compose c(b);
  return {from_parts(c, node.tensor("real"), node.tensor("imag"))};
}
// 16-bit floats are computed in f32 and rounded once.
Results decompose_polar(Builder& b, Node& node) {
  Compose c(b);
  const DType dtype = node.tensor("abs")->dtype(), wide = is_16_bit(dtype) ? DType::f32 : dtype;
  Value *r = b.cast(node.tensor("abs"), wide), *angle = b.cast(node.tensor("angle"), wide);
  const auto part = [&](const char* function) { return b.cast(c.mul(r, c.unary(function, angle)), dtype); };
  return {from_parts(c, part("aten.cos"), part("aten.sin"))};
}
Results decompose_conj(Builder& b, Node& node) {
  Value* x = node.tensor("self");
  return {is_complex(x->dtype()) ? b.call("aten._conj_physical", {x}) : x};
}
Results decompose_conj_physical(Builder& b, Node& node) {
  Compose c(b);
  Value* x = node.tensor("self");
  if (!is_complex(x->dtype())) return {x};
  return {from_parts(c, part(b, x, 0), c.neg(part(b, x, 1)))};
}

}  // namespace

const OpDef kSpectralRows[] = {
    {"aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", infer_c2c, nullptr,
     "aten::_fft_c2c.out", kNoStock, Cases("c64[2, 6], [1], 0, true", "c64[2, 6], [0, 1], 2, false")},
    {"aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", infer_r2c, nullptr,
     "aten::_fft_r2c.out", kPure, Cases("f32[2, 8], [1], 0, true", "f32[2, 6], [0, 1], 0, false")},
    {"aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", infer_c2r, nullptr,
     "aten::_fft_c2r.out", kPure, Cases("c64[2, 5], [1], 2, 8")},
    {"aten::fft_fft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", nullptr, decompose_fft,
     nullptr, kPure, Cases("f32[3, 4]", "f32[3, 4], None, -1, ortho", "c64[3, 4], 6")},
    {"aten::fft_fft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", nullptr,
     decompose_fft, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::fft_fftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", nullptr,
     decompose_fft, nullptr, kPure, Cases("f32[2, 3, 4]", "f32[2, 3, 4], None, [1, 2]")},
    {"aten::fft_ifft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", nullptr, decompose_ifft,
     nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_ifft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", nullptr,
     decompose_ifft, nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_ifftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", nullptr,
     decompose_ifft, nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_rfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", nullptr, decompose_rfft,
     nullptr, kPure, Cases("f32[3, 4]", "f32[3, 4], 3, 0, forward", "f64[3, 4]")},
    {"aten::fft_rfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", nullptr,
     decompose_rfft, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::fft_rfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", nullptr,
     decompose_rfft, nullptr, kPure, Cases("f32[2, 3, 4]")},
    {"aten::fft_hfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", nullptr, decompose_hfft,
     nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_hfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", nullptr,
     decompose_hfft, nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_hfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", nullptr,
     decompose_hfft, nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_ihfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", nullptr, decompose_ihfft,
     nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::fft_ihfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", nullptr,
     decompose_ihfft, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::fft_ihfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", nullptr,
     decompose_ihfft, nullptr, kPure, Cases("f32[3, 4]")},
    {"aten::fft_fftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     nullptr, decompose_fftfreq, nullptr, kPure, Cases("4, device=cpu, pin_memory=false")},
    {"aten::fft_rfftfreq(int n, float d=1., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
     "pin_memory=None) -> Tensor",
     nullptr, decompose_fftfreq, nullptr, kPure, Cases("6, device=cpu, pin_memory=false")},
    {"aten::fft_irfft(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", nullptr, decompose_irfft,
     nullptr, kPure, Cases("c64[3, 4]", "c64[3, 4], 7")},
    {"aten::fft_irfft2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", nullptr,
     decompose_irfft, nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_irfftn(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", nullptr,
     decompose_irfft, nullptr, kPure, Cases("c64[3, 4]")},
    {"aten::fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", nullptr, decompose_fftshift, nullptr, kPure,
     Cases("f32[3, 4]")},
    {"aten::fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", nullptr, decompose_fftshift, nullptr, kPure,
     Cases("f32[3, 4], [1]")},
    {"aten::stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
     "normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
     nullptr, decompose_stft, nullptr, kPure,
     Cases("f32[1, 16], 4, 1, None, None, false, None, true",
           "f32[1, 16], 4, 2, 4, f32[4]{range=0..1}, false, None, true",
           "f32[1, 16], 4, None, None, None, false, None, true")},
    {"aten::stft.center(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
     "center=True, str pad_mode=\"reflect\", bool normalized=False, bool? onesided=None, bool? return_complex=None, "
     "bool? align_to_window=None) -> Tensor",
     nullptr, decompose_stft, nullptr, kPure,
     Cases("f32[1, 32], 8, 4, 8, f32[8]{range=0..1}, true, reflect, false, true, true")},
    {"aten::istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool "
     "center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
     nullptr, decompose_istft, nullptr, kPure,
     Cases("c64[5, 6], 8, 2", "c64[2, 8, 6], 8, 2, None, c64[8], true, false, false, None, true",
           "c64[2, 8, 6], 8, 2, 6, f32[6]{range=0.5..1}, true, true, false, 9, false")},
    {"aten::real(Tensor(a) self) -> Tensor(a)", infer_part, decompose_real, nullptr,
     kPointwise | kReinterprets | shares::always, Cases("c64[4]")},
    {"aten::imag(Tensor(a) self) -> Tensor(a)", infer_part, decompose_imag, nullptr,
     kPointwise | kReinterprets | shares::always, Cases("c64[4]")},
    {"aten::angle(Tensor self) -> Tensor", nullptr, decompose_angle, nullptr, kPure, Cases("f32[3, 4]", "c64[3]")},
    {"aten::complex(Tensor real, Tensor imag) -> Tensor", nullptr, decompose_complex_transform, nullptr, kPure,
     Cases("f32[3, 4], f32[3, 4]")},
    {"aten::polar(Tensor abs, Tensor angle) -> Tensor", nullptr, decompose_polar, nullptr, kPure,
     Cases("f32[3, 4]{range=1.1..4.6}, f32[3, 4]")},
    {"aten::_conj(Tensor(a) self) -> Tensor(a)", infer_same, decompose_conj, nullptr, kPointwise | shares::always,
     Cases("c64[2, 2]")},
    {"aten::conj(Tensor(a) self) -> Tensor(a)", infer_same, decompose_conj, nullptr, kPointwise | shares::always,
     Cases("f32[3]", "c64[2, 2]")},
    {"aten::conj_physical(Tensor self) -> Tensor", infer_same, decompose_conj, nullptr,
     kPointwise | kAlsoInPlace | shares::if_real, Cases("f32[3, 4]")},
    {"aten::_conj_physical(Tensor self) -> Tensor", infer_same, decompose_conj_physical, "aten::_conj_physical.out",
     kPointwise | writes::conjugate, Cases("f32[3]", "c64[2, 2]")},
};
const size_t kSpectralCount = std::size(kSpectralRows);

}  // namespace wick::compiler
