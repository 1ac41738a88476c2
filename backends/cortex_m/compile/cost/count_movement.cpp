// All counts are in floating point: sizes come from a file, and their products may be anything.
#include "backends/cortex_m/compile/cost/count_movement.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wick::cortex_m {

using compiler::CallArgument;
using compiler::OperatorCall;

namespace {

// How many elements lie behind each other in both tensors of a permuting copy. `dims`: the operand's of each dimension
// of the result.
double moved_run(const CallArgument& from, const CallArgument& to, const std::vector<size_t>& dims) {
  double run = 1;
  size_t i = to.sizes.size(), j = from.sizes.size();
  for (;;) {
    const auto at = [](const CallArgument& tensor, size_t index) {
      return index < tensor.dim_order.size() ? size_t{tensor.dim_order[index]} : index;
    };
    while (i > 0 && size(to, at(to, i - 1)) == 1) --i;
    while (j > 0 && size(from, at(from, j - 1)) == 1) --j;
    if (i == 0 || j == 0) return run;
    const size_t dim = at(to, i - 1);
    if (dim >= dims.size() || dims[dim] != at(from, j - 1)) return run;
    run *= size(to, dim);
    if (size(to, dim) != size(from, dims[dim])) return run;
    --i;
    --j;
  }
}

double line_of(const CallArgument& tensor) {
  return tensor.dim_order.empty() ? 1 : at_least_one(size(tensor, tensor.dim_order.back()));
}

struct Lines {
  double read, written;  // elements of one
};

void count_moved(const CallArgument& result, double run, const Lines& lines, Terms& terms) {
  const double elements = numel(result), runs = elements / at_least_one(run);
  terms.add("bytes", run == elements ? static_cast<double>(result.bytes()) : 0);
  terms.add("runs", run == 1 || run == elements ? 0 : runs);
  terms.add("elements", run == 1 || run == elements ? 0 : elements);
  const bool scattered = run == 1 && elements > 1;
  terms.add("scattered", scattered ? elements : 0);
  terms.add("read lines", scattered ? elements / lines.read : 0);
  terms.add("read eights", scattered ? elements / lines.read * std::ceil(lines.read / 8) : 0);
  terms.add("written lines", scattered ? elements / lines.written : 0);
}

// Elements that lie side by side in `inner` order, innermost last, as long as their dimensions do in `other` order,
// too.
double merged_line(const CallArgument& x, const std::vector<size_t>& inner, const std::vector<size_t>& other) {
  double line = 1;
  size_t at = 0;
  for (size_t i = inner.size(); i-- > 0; --at) {
    if (i + 1 == inner.size())
      at = static_cast<size_t>(std::find(other.begin(), other.end(), inner[i]) - other.begin());
    if (at >= other.size() || other[at] != inner[i]) break;
    line *= at_least_one(size(x, inner[i]));
    if (at == 0) break;
  }
  return line;
}

std::vector<size_t> permutation(const OperatorCall& call) {
  const size_t rank = call.arguments[0].sizes.size();
  std::vector<size_t> dims;
  for (const int64_t dim : call.arguments[1].numbers)
    dims.push_back(static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim));
  return dims;
}

// The lines of both that dimensions which lie side by side in both make, `dims` of the operand for those of the result.
Lines merged_lines(const CallArgument& x, const CallArgument& result, const std::vector<size_t>& dims) {
  std::vector<size_t> in, out;  // dimensions of x
  for (const uint8_t dim : x.dim_order) {
    if (size(x, dim) != 1) in.push_back(dim);
  }
  for (const uint8_t dim : result.dim_order) {
    if (dim < dims.size() && size(x, dims[dim]) != 1) out.push_back(dims[dim]);
  }
  return {merged_line(x, in, out), merged_line(x, out, in)};
}

// What the portable kernel copies at a time: 32 elements of a line that it writes, or of shorter lines as many columns
// as make 1024 elements.
void count_tiles(const CallArgument& result, const Lines& lines, Terms& terms) {
  constexpr double kTile = 32;
  const double elements = numel(result), row = lines.written, column = lines.read;
  const bool is_short = row < kTile;
  const double planes = elements / at_least_one(row * column);
  terms.add("copied lines",
            planes * (is_short ? row * std::ceil(column * row / (kTile * kTile)) : column * std::ceil(row / kTile)));
  terms.add("in long lines", is_short ? 0 : elements);
}

// Of lines that are copied one behind another.
struct Pieces {
  double sixteens = 0, rest = 0, long_lines = 0, long_bytes = 0;

  void add(double lines, double bytes) {
    constexpr double kShortLine = 64;  // that the kernel copies itself: 16 bytes at a time, then 8, 4 and 1
    if (bytes > kShortLine) {
      long_lines += lines;
      long_bytes += lines * bytes;
      return;
    }
    const double left = std::fmod(bytes, 16);
    sixteens += lines * std::floor(bytes / 16);
    rest += lines * (std::floor(left / 8) + std::floor(std::fmod(left, 8) / 4) + std::fmod(left, 4));
  }
};

}  // namespace

void count_pad(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &result = call.arguments.back();
  double run = 1;
  for (size_t i = x.dim_order.size(); i-- > 0;) {
    run *= size(x, x.dim_order[i]);
    if (size(x, x.dim_order[i]) != size(result, x.dim_order[i])) break;
  }
  terms.add("rows", numel(x) / at_least_one(run));
  terms.add("elements", numel(result));
  terms.add("padding", numel(result) - numel(x));
}

void count_permuted(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &result = call.arguments.back();
  count_moved(result, moved_run(x, result, permutation(call)), {line_of(x), line_of(result)}, terms);
}

void count_turned(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &result = call.arguments.back();
  const std::vector<size_t> dims = permutation(call);
  count_moved(result, moved_run(x, result, dims), merged_lines(x, result, dims), terms);
}

void count_joined(const OperatorCall& call, Terms& terms) {
  const CallArgument& result = call.arguments.back();
  const double rank = static_cast<double>(result.sizes.size()), named = number(call.arguments[1], 0);
  const size_t joined = static_cast<size_t>(std::max(0.0, named < 0 ? named + rank : named));
  double lines = 1;
  for (const uint8_t dim : result.dim_order) {
    if (dim == joined) break;
    lines *= size(result, dim);
  }
  Pieces pieces;
  bool is_alike = true;
  for (const CallArgument& item : call.arguments[0].items) {
    is_alike = is_alike && item.dim_order == result.dim_order;
    pieces.add(lines, static_cast<double>(item.bytes()) / at_least_one(lines));
  }
  if (!is_alike) pieces = {0, numel(result), 0, 0};
  terms.add("sixteens", pieces.sixteens);
  terms.add("pieces", pieces.rest);
  terms.add("lines", pieces.long_lines);
  terms.add("bytes", pieces.long_bytes);
}

void count_copied(const OperatorCall& call, Terms& terms) {
  const CallArgument &x = call.arguments[0], &result = call.arguments.back();
  std::vector<size_t> dims(result.sizes.size());
  for (size_t i = 0; i < dims.size(); ++i) dims[i] = i;
  const double run = x.sizes.size() == result.sizes.size() ? moved_run(x, result, dims) : numel(result);
  count_moved(result, run, {line_of(x), line_of(result)}, terms);
  if (run == 1 && x.sizes == result.sizes) count_tiles(result, merged_lines(x, result, dims), terms);
}

}  // namespace wick::cortex_m
