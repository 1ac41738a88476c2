// Constants that are computed row by row from others. C++20.
#pragma once
#include <optional>

#include "compiler/ir/constant_data.h"
#include "compiler/passes/constants/reals.h"

namespace wick::compiler {

/// out[r][i] = in[r][i] * (row_scale[r] * column_scale[g][i]) - column_means[i] - row_means[r][i % row_means of a row],
/// in double, rounded once. Empty vectors change nothing. g is the group of row r; the `groups` have equally many rows.
struct RowChange {
  Reals64 row_scale;     // one per row
  Reals64 column_scale;  // one per element of a row, group after group
  Reals64 column_means;  // one per element of a row
  Reals64 row_means;     // the same number for each row, row after row
  size_t groups = 1;

  bool changes_nothing() const;
};

/// The rows of `source` after a change; nothing if a resulting element is not finite. The bytes of `source` are read
/// again whenever those of the result are. `source` has `count` rows of floats of `dtype`.
std::optional<ConstantData> changed_rows(const ConstantData& source, DType dtype, size_t count, RowChange change);

/// The bytes [first, first + size_bytes) of each row of `row_bytes`.
ConstantData columns_of_rows(const ConstantData& source, size_t row_bytes, size_t first, size_t size_bytes);

/// Rows [first, first + count) of `row_bytes` each: a pointer to the stored bytes, or to `space` if they are computed.
const uint8_t* read_rows(const ConstantData& source, size_t row_bytes, size_t first, size_t count,
                         std::vector<uint8_t>& space);

}  // namespace wick::compiler
