// A mixture of experts over quantized weights. For each row of x:
//   scores = gate x
//   sigmoid: s = sigmoid(scores); the `num_activated_experts` experts with the largest s + expert_bias, each with the
//            weight route_scale * s / (sum of their s)
//   softmax: the experts with the largest scores, with the softmax of these as weights
//   out = sum over those experts, in ascending order, of weight * w2 (silu(h1) * h3), where [h1, h3] = w13 x
// The first of experts with equal scores counts, and NaN less than any number.
//   x, out f32 [T, D]; gate f32 [E, D]; expert_bias f32 [E], or empty; packed_w13, packed_w2 u8 [E, bytes], each row
//   the weights [2F, D] or [D, F] in torchao's universal layout (docs/formats.md); all row-major. Numbers are not
//   rounded to 8 bits, as by the portable path of the source. Source: llama::quantized_moe_ffn of ExecuTorch's library
//   of LLM operators.
#include <string.h>

#include "common/checked.h"
#include "common/math/math.h"
#include "runtime/kernels/neural/window.h"

namespace wick {
namespace {

constexpr int64_t kHeaderBytes = 64, kMaxTile = 128;
constexpr int32_t kMagic = 6712, kUniversal = 1;

int32_t int_at(const uint8_t* bytes, int64_t index) {
  int32_t value;
  memcpy(&value, bytes + index * 4, sizeof value);
  return value;
}

/// Weights [rows, columns] in tiles of `nr` rows. For each group of columns, a tile has its blocks of kr columns, then
/// `nr` f32 scales and `nr` sums of elements, which are not used here. A block is cut into `sr` parts of kr / sr
/// columns; in each part, rows follow one another.
struct PackedWeights {
  const uint8_t* tiles = nullptr;
  int64_t rows = 0, columns = 0, group = 0;
  int64_t bits = 0, nr = 0, kr = 0, sr = 0;

  int64_t block_bytes() const { return nr * kr * bits / 8; }
  int64_t group_bytes() const { return group / kr * block_bytes() + nr * 8; }
  int64_t tile_bytes() const { return columns / group * group_bytes(); }
  int64_t num_tiles() const { return (rows + nr - 1) / nr; }
};

struct Moe {
  const Tensor *x, *gate, *bias, *w13, *w2;
  Tensor* out;
  int64_t activated, experts, hidden, dim, group, bits;
  bool is_sigmoid, has_bias;
  float route_scale;
};

bool read_weights(KernelContext& context, const Tensor& packed, int64_t expert, const Moe& moe, int64_t rows,
                  int64_t columns, PackedWeights* w) {
  const int64_t bytes = packed.sizes[1];
  const uint8_t* header = packed.as<const uint8_t>() + expert * bytes;
  if (!require(context, bytes >= kHeaderBytes && int_at(header, 0) == kMagic, Error::InvalidArgument,
               "quantized_moe_ffn: the packed weights have no header of torchao") ||
      !require(context, int_at(header, 1) == kUniversal, Error::NotSupported,
               "quantized_moe_ffn: the weights are packed for the kernels of one processor (KleidiAI or tables): pack "
               "them with torchao's target \"universal\"") ||
      !require(context, int_at(header, 2) == moe.bits && int_at(header, 3) == 0 && int_at(header, 4) == 0,
               Error::InvalidArgument,
               "quantized_moe_ffn: the packed weights have another number of bits, zero points or a bias"))
    return false;
  *w = {header + kHeaderBytes, rows, columns, moe.group, moe.bits, int_at(header, 5), int_at(header, 6),
        int_at(header, 7)};
  const bool is_known = w->nr > 0 && w->kr > 0 && w->sr > 0 && w->nr <= kMaxTile && w->kr <= kMaxTile &&
                        w->nr * w->kr <= kMaxTile && w->nr * w->kr % 32 == 0 && w->kr % w->sr == 0;
  if (!require(context, is_known && w->group % w->kr == 0, Error::NotSupported,
               "quantized_moe_ffn: the packed weights have blocks of an unknown size"))
    return false;
  int64_t needed = 0;
  return require(context, checked_mul(w->num_tiles(), w->tile_bytes(), &needed) && needed <= bytes - kHeaderBytes,
                 Error::InvalidArgument, "quantized_moe_ffn: the packed weights have too few bytes");
}

/// The elements of a block in memory order. Elements of four bits: 32 in 16 bytes, each plus 8, the first 16 in the low
/// halves.
void read_block(const uint8_t* bytes, const PackedWeights& w, int8_t* values) {
  const int64_t count = w.nr * w.kr;
  if (w.bits == 8) {
    memcpy(values, bytes, static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; i += 32, bytes += 16) {
    for (int64_t j = 0; j < 16; ++j) {
      values[i + j] = static_cast<int8_t>((bytes[j] & 15) - 8);
      values[i + 16 + j] = static_cast<int8_t>((bytes[j] >> 4) - 8);
    }
  }
}

/// sums[row of the tile] = weights x
void multiply_tile(const PackedWeights& w, int64_t tile, const float* x, double* sums) {
  const uint8_t* at = w.tiles + tile * w.tile_bytes();
  const int64_t part = w.kr / w.sr;
  int8_t values[kMaxTile];
  double of_group[kMaxTile];
  for (int64_t n = 0; n < w.nr; ++n) sums[n] = 0;
  for (int64_t first = 0; first < w.columns; first += w.group) {
    for (int64_t n = 0; n < w.nr; ++n) of_group[n] = 0;
    for (int64_t column = first; column < first + w.group; column += w.kr, at += w.block_bytes()) {
      read_block(at, w, values);
      const int8_t* value = values;
      for (int64_t k = column; k < column + w.kr; k += part) {
        for (int64_t n = 0; n < w.nr; ++n, value += part) {
          for (int64_t i = 0; i < part; ++i) of_group[n] += static_cast<double>(x[k + i]) * value[i];
        }
      }
    }
    for (int64_t n = 0; n < w.nr; ++n, at += 4) {
      float scale;
      memcpy(&scale, at, sizeof scale);
      sums[n] += of_group[n] * static_cast<double>(scale);
    }
    at += w.nr * 4;
  }
}

/// write(row, (weights x)[row]) for all rows.
template <typename Write>
void multiply(KernelContext& context, const PackedWeights& w, const float* x, const Write& write) {
  constexpr int64_t kGrainProducts = 1 << 17;
  const int64_t grain = 1 + kGrainProducts / (w.nr * w.columns + 1);
  context.parallel_for(w.num_tiles(), grain, [&](int64_t begin, int64_t end) {
    double sums[kMaxTile];
    for (int64_t tile = begin; tile < end; ++tile) {
      multiply_tile(w, tile, x, sums);
      for (int64_t n = 0; n < w.nr && tile * w.nr + n < w.rows; ++n)
        write(tile * w.nr + n, static_cast<float>(sums[n]));
    }
  });
}

float exponential(float x) { return static_cast<float>(math::exp(static_cast<double>(x))); }

float sigmoid(float x) {
  const float e = exponential(x < 0 ? x : -x);
  return x < 0 ? e / (1 + e) : 1 / (1 + e);
}

/// Heapsort. `before` orders any two items.
template <typename T, typename Before>
void sort(T* items, int64_t count, const Before& before) {
  const auto sink = [&](int64_t at, int64_t end) {
    for (int64_t child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && before(items[child], items[child + 1])) ++child;
      if (!before(items[at], items[child])) return;
      const T moved = items[at];
      items[at] = items[child];
      items[child] = moved;
    }
  };
  for (int64_t i = count / 2; i-- > 0;) sink(i, count);
  for (int64_t end = count; end-- > 1;) {
    const T last = items[end];
    items[end] = items[0];
    items[0] = last;
    sink(0, end);
  }
}

struct Choice {
  int32_t expert;
  float weight;
};

/// The experts of a row in ascending order. `order` has room for all experts, `scores` are overwritten.
void choose(const Moe& moe, float* scores, int32_t* order, Choice* choices) {
  const float* bias = moe.has_bias ? moe.bias->as<const float>() : nullptr;
  for (int64_t e = 0; e < moe.experts; ++e) {
    order[e] = static_cast<int32_t>(e);
    if (moe.is_sigmoid) scores[e] = sigmoid(scores[e]);
  }
  const auto rank = [&](int32_t e) { return bias ? scores[e] + bias[e] : scores[e]; };
  sort(order, moe.experts, [&](int32_t a, int32_t b) {
    const float x = rank(a), y = rank(b);
    if (x != x || y != y) return x == x || (y != y && a < b);
    return x > y || (x == y && a < b);
  });
  const float top = scores[order[0]];
  float sum = 0;
  for (int64_t k = 0; k < moe.activated; ++k) {
    const float score = scores[order[k]];
    choices[k] = {order[k], moe.is_sigmoid ? score : exponential(score - top)};
    sum += choices[k].weight;
  }
  constexpr float kLeastNormal = 0x1p-126f;
  const float scale =
      moe.is_sigmoid ? moe.route_scale / (sum < kLeastNormal ? kLeastNormal : sum) : (sum > 0 ? 1 / sum : 0);
  for (int64_t k = 0; k < moe.activated; ++k) choices[k].weight *= scale;
  sort(choices, moe.activated, [](const Choice& a, const Choice& b) { return a.expert < b.expert; });
}

bool has_sizes(const Tensor& t, int64_t rows, int64_t columns) {
  return t.rank == 2 && t.sizes[0] == rows && t.sizes[1] == columns;
}

bool read_numbers(KernelContext& context, Span<EValue*> args, Moe* moe) {
  int64_t* const numbers[] = {&moe->activated, &moe->experts, &moe->hidden, &moe->dim, &moe->group, &moe->bits};
  for (size_t i = 0; i < 6; ++i) {
    *numbers[i] = args[5 + i]->integer;
    if (!require(context, *numbers[i] > 0 && *numbers[i] <= INT32_MAX / 2, Error::InvalidArgument,
                 "quantized_moe_ffn: a size is not positive, or beyond 30 bits"))
      return false;
  }
  const Span<const char> name(args[11]->string.data, args[11]->string.size);
  const auto is = [&](const char* wanted) {
    return name.size() == strlen(wanted) && memcmp(name.data(), wanted, name.size()) == 0;
  };
  moe->is_sigmoid = is("sigmoid");
  moe->route_scale = static_cast<float>(args[12]->real);
  return require(context, moe->is_sigmoid || is("softmax"), Error::InvalidArgument,
                 "quantized_moe_ffn: wanted score_func \"sigmoid\" or \"softmax\"") &&
         require(context, moe->activated <= moe->experts, Error::InvalidArgument,
                 "quantized_moe_ffn: more experts are activated than there are") &&
         require(context, moe->bits == 4 || moe->bits == 8, Error::NotSupported,
                 "quantized_moe_ffn: wanted weights of 4 or 8 bits") &&
         require(context, moe->dim % moe->group == 0 && moe->hidden % moe->group == 0, Error::InvalidArgument,
                 "quantized_moe_ffn: dim and hidden_dim are not multiples of group_size");
}

bool check_tensors(KernelContext& context, Moe* moe) {
  for (const Tensor* t : {moe->x, moe->gate, moe->bias, static_cast<const Tensor*>(moe->out)}) {
    if (!require(context, t->dtype == DType::f32 && is_contiguous(*t), Error::InvalidType,
                 "quantized_moe_ffn: x, gate_weight, expert_bias and out are row-major f32"))
      return false;
  }
  for (const Tensor* t : {moe->w13, moe->w2}) {
    if (!require(context, t->dtype == DType::u8 && is_contiguous(*t) && t->rank == 2 && t->sizes[0] == moe->experts,
                 Error::InvalidType, "quantized_moe_ffn: packed weights are row-major u8 [experts, bytes]"))
      return false;
  }
  moe->has_bias = moe->bias->numel > 0;
  return require(context,
                 moe->x->rank == 2 && moe->x->sizes[1] == moe->dim && has_sizes(*moe->gate, moe->experts, moe->dim) &&
                     (!moe->has_bias || (moe->bias->rank == 1 && moe->bias->sizes[0] == moe->experts)),
                 Error::InvalidArgument, "quantized_moe_ffn: x, gate_weight and expert_bias do not agree in size") &&
         require(context, !moe->has_bias || moe->is_sigmoid, Error::InvalidArgument,
                 "quantized_moe_ffn: expert_bias goes with score_func \"sigmoid\" only");
}

void run_expert(KernelContext& context, const Moe& moe, const Choice& choice, const float* x, float* hidden,
                float* out) {
  PackedWeights w13, w2;
  if (!read_weights(context, *moe.w13, choice.expert, moe, 2 * moe.hidden, moe.dim, &w13) ||
      !read_weights(context, *moe.w2, choice.expert, moe, moe.dim, moe.hidden, &w2))
    return;
  multiply(context, w13, x, [&](int64_t row, float value) { hidden[row] = value; });
  for (int64_t i = 0; i < moe.hidden; ++i) hidden[i] *= sigmoid(hidden[i]) * hidden[moe.hidden + i];
  multiply(context, w2, hidden, [&](int64_t row, float value) { out[row] += choice.weight * value; });
}

}  // namespace

namespace kernels {

void quantized_moe_ffn(KernelContext& context, Span<EValue*> args) {
  Moe moe = {};
  moe.x = args[0]->tensor;
  moe.gate = args[1]->tensor;
  moe.bias = args[2]->tensor;
  moe.w13 = args[3]->tensor;
  moe.w2 = args[4]->tensor;
  moe.out = args[13]->tensor;
  if (!read_numbers(context, args, &moe) || !check_tensors(context, &moe)) return;
  const int32_t sizes[] = {moe.x->sizes[0], static_cast<int32_t>(moe.dim)};
  if (!resize_or_fail(context, *moe.out, sizes, 2, "quantized_moe_ffn: out has a different shape")) return;
  float* scores = context.allocate_temp_array<float>(static_cast<size_t>(moe.experts));
  int32_t* order = context.allocate_temp_array<int32_t>(static_cast<size_t>(moe.experts));
  Choice* choices = context.allocate_temp_array<Choice>(static_cast<size_t>(moe.activated));
  float* hidden = context.allocate_temp_array<float>(static_cast<size_t>(2 * moe.hidden));
  if (!scores || !order || !choices || !hidden) return;
  for (int64_t t = 0; t < sizes[0] && context.ok(); ++t) {
    const float* x = moe.x->as<const float>() + t * moe.dim;
    float* out = moe.out->as<float>() + t * moe.dim;
    for (int64_t e = 0; e < moe.experts; ++e) {
      const float* gate = moe.gate->as<const float>() + e * moe.dim;
      double sum = 0;
      for (int64_t d = 0; d < moe.dim; ++d) sum += static_cast<double>(x[d]) * static_cast<double>(gate[d]);
      scores[e] = static_cast<float>(sum);
    }
    choose(moe, scores, order, choices);
    memset(out, 0, static_cast<size_t>(moe.dim) * sizeof(float));
    for (int64_t k = 0; k < moe.activated && context.ok(); ++k) run_expert(context, moe, choices[k], x, hidden, out);
  }
}

}  // namespace kernels
}  // namespace wick
