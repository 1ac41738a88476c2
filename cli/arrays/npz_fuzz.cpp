// Fuzz target: any bytes as .npy and .npz give an error, or arrays that keep their size invariant and read back equal.
#include "cli/arrays/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wick::cli::ArrayLimits limits;
  limits.max_unpacked_bytes = uint64_t{64} << 20;
  const wick::Span<const uint8_t> file(data, size);
  auto single = wick::cli::parse_npy(file, limits);
  auto arrays = wick::cli::parse_npz(file, limits);
  if (single.ok()) {
    const auto bytes = wick::cli::to_npy(*single);
    const auto back = wick::cli::parse_npy({bytes.data(), bytes.size()}, limits);
    WICK_CHECK(back.ok() && back->bytes == single->bytes && back->sizes == single->sizes);
  }
  if (arrays.ok()) {
    for (const wick::cli::NamedArray& array : *arrays) {
      uint64_t bytes = wick::dtype_size_bytes(array.dtype);
      for (const int64_t dim : array.sizes) bytes *= static_cast<uint64_t>(dim);
      WICK_CHECK(bytes == array.bytes.size());
    }
  }
  return 0;
}
