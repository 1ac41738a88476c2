// A file that is written piece by piece.
#pragma once
#include <string>
#include <vector>

#include "compiler/ir/constant_data.h"
#include "compiler/support/file_map.h"
#include "compiler/support/result.h"

namespace wick::compiler {

/// A file as a list of pieces. Some point into the mapped source file or are computed while they are written, so that
/// there is no second copy of the weights.
struct FilePieces {
  std::vector<ConstantData> pieces;
  uint64_t size_bytes = 0;

  void append(ConstantData piece);
  void append(std::vector<uint8_t> bytes);
  void pad_to(uint64_t offset);  // with zeros
  std::vector<uint8_t> join() const;
};

/// Writes all bytes; finish() makes them the file. Errors: file_io.
Result<FileWriter> begin_file(const std::string& path, const FilePieces& file);
/// Writes the file atomically. Errors: file_io.
Status write_pieces(const std::string& path, const FilePieces& file);

}  // namespace wick::compiler
