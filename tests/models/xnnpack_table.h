// docs/xnnpack_models.md: what becomes of each model of the fixtures with the XNNPACK backend.
//   WICK_UPDATE_TABLE=1 models_test     writes the rows anew; review the diff
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace wick::testing {

struct ModelRow {
  std::string model;
  uint64_t delegates = 0, payload_nodes = 0, outside_nodes = 0, arena_bytes = 0, file_bytes = 0;
  std::vector<std::string> outside;  // "2 x aten.embedding.default: no such operator", sorted
};

/// Fails the test if the table has another row for the model, or none.
void check_row(const ModelRow& row);

}  // namespace wick::testing
