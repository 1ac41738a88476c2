// Constants that are computed row by row from others. C++20.
#pragma once
#include <optional>

#include "compiler/ir/constant_data.h"
#include "compiler/passes/constants/reals.h"

namespace wick::compiler {

/// out[r][i] = in[r][i] * (row_scale[r] * column_scale[g][i]) - column_means[i] - row_means[r][i % row_means of a row],
/// in double, rounded once; what is empty has no part. g is the group of row r: `groups` of equally many.
struct RowChange {
  Reals64 row_scale;     // one for each row
  Reals64 column_scale;  // one for each element of a row, group after group
  Reals64 column_means;  // one for each element of a row
  Reals64 row_means;     // as many for each row, row after row
  size_t groups = 1;

  bool changes_nothing() const;
};

/// The rows of `source` after a change; nothing if an element of them is not finite. The source's bytes are read again
/// whenever the result's are. `source`: `count` rows of floats of `dtype`.
std::optional<ConstantData> changed_rows(const ConstantData& source, DType dtype, size_t count, RowChange change);

/// Of rows of `row_bytes`, the bytes [first, first + size_bytes) of each.
ConstantData columns_of_rows(const ConstantData& source, size_t row_bytes, size_t first, size_t size_bytes);

/// Rows [first, first + count) of `row_bytes` each: where they lie, or computed into `space`.
const uint8_t* read_rows(const ConstantData& source, size_t row_bytes, size_t first, size_t count,
                         std::vector<uint8_t>& space);

}  // namespace wick::compiler
