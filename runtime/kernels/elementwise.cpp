#include "runtime/kernels/elementwise.h"

#include <string.h>

#include "runtime/kernels/elementwise_convert.h"

namespace wick {
namespace {

/// Below this many elements a call stays on one thread.
constexpr int64_t kGrain = 16384;

/// How one operand is read, seen from out's memory order.
struct Source {
  enum class Kind : uint8_t {
    direct,  // packed in the lane's type, at the same position as out
    dense,   // at the same position as out, to be converted
    scalar,  // one value
    rows,    // strided
  };
  Kind kind;
  LoadFn load;
  StoreFn narrow;  // with widen: rounds loaded values to the call's cast dtype; null if they need none
  LoadFn widen;
  const uint8_t* data;
  size_t element_bytes;
  size_t lane_bytes;
  int64_t strides[kMaxRank];      // per iteration dimension, in elements
  alignas(16) uint8_t value[16];  // of a number, in the lane's type
};

/// Dimensions in out's memory order, outermost first, neighbours merged where all operands allow it.
struct Iteration {
  int rank;
  int64_t sizes[kMaxRank];
  Source sources[kMaxOperands];
  StoreFn store;  // null: the function writes to out itself
};

void write_number(const Operand& number, Lane lane, uint8_t* to) {
  auto put = [&](auto value) { memcpy(to, &value, sizeof value); };
  const bool integer = number.tag != Tag::real;
  switch (lane) {
    case Lane::f32: put(integer ? static_cast<float>(number.integer) : static_cast<float>(number.real)); break;
    case Lane::f64: put(number.real); break;
    case Lane::i64: put(number.integer); break;
    case Lane::i8: put(static_cast<int8_t>(number.integer)); break;
    case Lane::u8: put(static_cast<uint8_t>(number.integer)); break;
    case Lane::i16: put(static_cast<int16_t>(number.integer)); break;
    case Lane::i32: put(static_cast<int32_t>(number.integer)); break;
    case Lane::boolean: put(number.real != 0); break;
    case Lane::c64: put(std::complex<float>(static_cast<float>(number.real), 0)); break;
    case Lane::c128: put(std::complex<double>(number.real, 0)); break;
  }
}

/// Sorts out's dimensions from outermost to innermost in memory; dimensions of size 1 are dropped.
int memory_order(const Tensor& out, int* dims) {
  int rank = 0;
  for (int k = 0; k < out.rank; ++k) {
    const int d = out.dim_order ? out.dim_order[k] : k;
    if (out.sizes[d] != 1) dims[rank++] = d;
  }
  return rank;
}

int64_t operand_stride(const Tensor& tensor, const Tensor& out, int out_dim) {
  const int d = out_dim - (out.rank - tensor.rank);
  return d < 0 || tensor.sizes[d] == 1 ? 0 : tensor.strides[d];
}

/// Merges dimension k with k + 1 wherever each operand walks both with one stride.
void merge_dimensions(Iteration& it, int operands) {
  int last = 0;
  for (int k = 1; k < it.rank; ++k) {
    bool merges = true;
    for (int o = 0; o < operands; ++o) {
      const int64_t* strides = it.sources[o].strides;
      merges = merges && strides[last] == strides[k] * it.sizes[k];
    }
    if (merges) {
      it.sizes[last] *= it.sizes[k];
    } else {
      it.sizes[++last] = it.sizes[k];
    }
    for (int o = 0; o < operands; ++o) it.sources[o].strides[last] = it.sources[o].strides[k];
  }
  if (it.rank > 0) it.rank = last + 1;
}

void plan_cast(const ElementwiseCall& call, Lane lane, DType dtype, Source& source) {
  source.narrow = nullptr;
  if (!call.cast || dtype == *call.cast || is_lane_dtype(*call.cast, lane) || lane == Lane::boolean) return;
  source.narrow = store_function(lane, *call.cast);
  source.widen = load_function(*call.cast, lane);
}

void cast_values(const Source& source, void* values, int64_t count) {
  if (!source.narrow) return;
  alignas(16) uint8_t narrowed[kChunk * 8];  // only dtypes narrower than an 8-byte lane are cast
  source.narrow(values, narrowed, count);
  source.widen(narrowed, 1, values, count);
}

void classify(const Iteration& it, Source& source, DType dtype, Lane lane) {
  bool dense = true, scalar = true;
  int64_t expected = 1;
  for (int k = it.rank; k-- > 0;) {
    dense = dense && source.strides[k] == expected;
    scalar = scalar && source.strides[k] == 0;
    expected *= it.sizes[k];
  }
  if (scalar) {
    source.kind = Source::Kind::scalar;
    source.load(source.data, 0, source.value, 1);
    cast_values(source, source.value, 1);
  } else if (dense) {
    source.kind = is_lane_dtype(dtype, lane) && !source.narrow ? Source::Kind::direct : Source::Kind::dense;
  } else {
    source.kind = Source::Kind::rows;
  }
}

/// False, with the context failed, if a dtype does not convert.
bool plan(KernelContext& context, const ElementwiseCall& call, Iteration& it) {
  const Tensor& out = *call.out;
  int dims[kMaxRank];
  it.rank = memory_order(out, dims);
  for (int k = 0; k < it.rank; ++k) it.sizes[k] = out.sizes[dims[k]];
  for (int o = 0; o < call.count; ++o) {
    Source& source = it.sources[o];
    const Tensor* tensor = call.operands[o].tensor;
    source.lane_bytes = lane_size_bytes(call.lanes[o]);
    for (int k = 0; k < it.rank; ++k) source.strides[k] = tensor ? operand_stride(*tensor, out, dims[k]) : 0;
    if (!tensor) {
      source.kind = Source::Kind::scalar;
      source.data = source.value;
      source.element_bytes = 0;
      write_number(call.operands[o], call.lanes[o], source.value);
      continue;
    }
    source.load = load_function(tensor->dtype, call.lanes[o]);
    source.data = tensor->as<const uint8_t>();
    source.element_bytes = dtype_size_bytes(tensor->dtype);
    plan_cast(call, call.lanes[o], tensor->dtype, source);
    if (!source.load) return context.fail(Error::InvalidType, "input dtype is not supported here"), false;
  }
  merge_dimensions(it, call.count);
  for (int o = 0; o < call.count; ++o) {
    const Tensor* tensor = call.operands[o].tensor;
    if (tensor) classify(it, it.sources[o], tensor->dtype, call.lanes[o]);
  }
  const bool boolean_out = call.out_lane == Lane::boolean && out.dtype == DType::boolean;
  it.store =
      boolean_out || is_lane_dtype(out.dtype, call.out_lane) ? nullptr : store_function(call.out_lane, out.dtype);
  if (!it.store && !boolean_out && !is_lane_dtype(out.dtype, call.out_lane)) {
    context.fail(Error::InvalidType, "the result type cannot be cast to the out tensor's dtype");
    return false;
  }
  return true;
}

/// Loads elements [begin, begin + count) of the iteration from a strided operand.
void load_rows(const Iteration& it, const Source& source, int64_t begin, int64_t count, uint8_t* to) {
  int64_t index[kMaxRank];
  int64_t rest = begin, offset = 0;
  for (int k = it.rank; k-- > 0;) {
    index[k] = rest % it.sizes[k];
    rest /= it.sizes[k];
    offset += index[k] * source.strides[k];
  }
  const int inner = it.rank - 1;
  while (count > 0) {
    const int64_t row = it.sizes[inner] - index[inner];
    const int64_t n = row < count ? row : count;
    source.load(source.data + offset * static_cast<int64_t>(source.element_bytes), source.strides[inner], to, n);
    to += n * static_cast<int64_t>(source.lane_bytes);
    count -= n;
    if (count == 0) return;
    offset -= index[inner] * source.strides[inner];
    index[inner] = 0;
    for (int k = inner - 1; k >= 0; --k) {
      offset += source.strides[k];
      if (++index[k] < it.sizes[k]) break;
      offset -= index[k] * source.strides[k];
      index[k] = 0;
    }
  }
}

void fill_scalar(const Source& source, uint8_t* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    memcpy(to + i * static_cast<int64_t>(source.lane_bytes), source.value, source.lane_bytes);
}

void run_range(const ElementwiseCall& call, const Iteration& it, int64_t begin, int64_t end) {
  alignas(64) uint8_t buffers[kMaxOperands + 1][kChunk * sizeof(std::complex<double>)];
  const void* inputs[kMaxOperands];
  for (int o = 0; o < call.count; ++o) {
    inputs[o] = buffers[o];
    if (it.sources[o].kind == Source::Kind::scalar) {
      fill_scalar(it.sources[o], buffers[o], end - begin < kChunk ? end - begin : kChunk);
    }
  }
  uint8_t* out = call.out->as<uint8_t>();
  const int64_t out_bytes = static_cast<int64_t>(dtype_size_bytes(call.out->dtype));
  for (int64_t i = begin; i < end; i += kChunk) {
    const int64_t n = end - i < kChunk ? end - i : kChunk;
    for (int o = 0; o < call.count; ++o) {
      const Source& source = it.sources[o];
      const uint8_t* at = source.data + i * static_cast<int64_t>(source.element_bytes);
      switch (source.kind) {
        case Source::Kind::direct: inputs[o] = at; break;
        case Source::Kind::dense:
          source.load(at, 1, buffers[o], n);
          cast_values(source, buffers[o], n);
          break;
        case Source::Kind::rows:
          load_rows(it, source, i, n, buffers[o]);
          cast_values(source, buffers[o], n);
          break;
        case Source::Kind::scalar: break;
      }
    }
    uint8_t* target = out + i * out_bytes;
    call.fn(call.state, inputs, it.store ? buffers[kMaxOperands] : target, n);
    if (it.store) it.store(buffers[kMaxOperands], target, n);
  }
}

}  // namespace

Operand::Operand(const EValue& number) : real(number.to_double()), tag(number.tag) {
  integer = number.tag == Tag::boolean ? number.boolean : number.to_int();
}

bool lane_of_dtype(DType dtype, Lane* lane) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: *lane = Lane::f32; return true;
    case DType::f64: *lane = Lane::f64; return true;
    case DType::boolean: *lane = Lane::boolean; return true;
    case DType::c64: *lane = Lane::c64; return true;
    case DType::c128: *lane = Lane::c128; return true;
    default: *lane = Lane::i64; return is_integral(dtype) && dtype != DType::u64;  // int64 cannot order u64
  }
}

bool narrow_lane_of_dtype(DType dtype, Lane* lane) {
  switch (dtype) {
    case DType::i8: *lane = Lane::i8; return true;
    case DType::u8: *lane = Lane::u8; return true;
    case DType::i16: *lane = Lane::i16; return true;
    case DType::i32: *lane = Lane::i32; return true;
    default: return false;
  }
}

bool all_have_dtype(const Operand* operands, int count, DType dtype) {
  const int64_t above = int64_t{1} << (8 * dtype_size_bytes(dtype) - (dtype == DType::u8 ? 0 : 1));  // the largest
  for (int o = 0; o < count; ++o) {
    const Operand& operand = operands[o];
    if (operand.tensor ? operand.tensor->dtype != dtype
                       : operand.integer >= above || operand.integer < (dtype == DType::u8 ? 0 : -above))
      return false;
  }
  return true;
}

bool broadcast_shape(const Operand* operands, int count, int32_t* sizes, int* rank) {
  *rank = 0;
  for (int o = 0; o < count; ++o) {
    if (operands[o].tensor && operands[o].tensor->rank > *rank) *rank = operands[o].tensor->rank;
  }
  for (int d = 0; d < *rank; ++d) sizes[d] = 1;
  for (int o = 0; o < count; ++o) {
    const Tensor* tensor = operands[o].tensor;
    if (!tensor) continue;
    for (int d = 0; d < tensor->rank; ++d) {
      int32_t& size = sizes[*rank - tensor->rank + d];
      if (tensor->sizes[d] == 1 || tensor->sizes[d] == size) continue;
      if (size != 1) return false;
      size = tensor->sizes[d];
    }
  }
  return true;
}

void run_elementwise(KernelContext& context, const ElementwiseCall& call) {
  if (!context.ok()) return;
  int32_t sizes[kMaxRank];
  int rank;
  if (!broadcast_shape(call.operands, call.count, sizes, &rank)) {
    return context.fail(Error::InvalidArgument, "shapes do not broadcast");
  }
  const Error error = resize(*call.out, Span<const int32_t>(sizes, static_cast<size_t>(rank)));
  if (error != Error::Ok) return context.fail(error, "out tensor does not take the broadcast shape");
  Iteration it;
  if (call.out->numel == 0 || !plan(context, call, it)) return;
  context.parallel_for(static_cast<int64_t>(call.out->numel), kGrain,
                       [&](int64_t begin, int64_t end) { run_range(call, it, begin, end); });
}

}  // namespace wick
