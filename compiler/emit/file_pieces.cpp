#include "compiler/emit/file_pieces.h"

#include "compiler/support/file_map.h"

namespace wick::compiler {

void FilePieces::append(ConstantData piece) {
  if (piece.empty()) return;
  size_bytes += piece.size_bytes();
  pieces.push_back(std::move(piece));
}

void FilePieces::append(std::vector<uint8_t> bytes) {
  auto owned = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
  append(ConstantData({owned->data(), owned->size()}, owned));
}

void FilePieces::pad_to(uint64_t offset) {
  if (offset > size_bytes) append(std::vector<uint8_t>(static_cast<size_t>(offset - size_bytes)));
}

std::vector<uint8_t> FilePieces::join() const {
  std::vector<uint8_t> out(static_cast<size_t>(size_bytes));
  uint8_t* at = out.data();
  for (const ConstantData& piece : pieces) {
    piece.read(0, piece.size_bytes(), at);
    at += piece.size_bytes();
  }
  return out;
}

Result<FileWriter> begin_file(const std::string& path, const FilePieces& file) {
  ASSIGN_OR_RETURN(FileWriter out, FileWriter::open(path, file.size_bytes));
  for (const ConstantData& piece : file.pieces)
    RETURN_IF_ERROR(piece.for_each_part([&](Span<const uint8_t> part) { return out.append(part); }));
  return out;
}

Status write_pieces(const std::string& path, const FilePieces& file) {
  ASSIGN_OR_RETURN(FileWriter out, begin_file(path, file));
  return out.finish();
}

}  // namespace wick::compiler
