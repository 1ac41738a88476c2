// The zip container of a .pt2 file: names to byte ranges of the mapped file, every structure checked on opening.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/result.h"
#include "wick/span.h"

namespace wick::compiler::pt2 {

/// One stored file. `name` has no top folder ("models/model.json"). Both ranges point into the bytes given to open().
struct Entry {
  std::string_view name;
  Span<const uint8_t> data;
  uint32_t crc = 0;
  /// Writers may leave the checksum out (0); such data cannot be checked.
  bool has_crc() const { return crc != 0 || data.empty(); }
};

/// The files of a zip archive under its one folder, sorted by name, checked as Archive::open does. Errors:
/// corrupt_file; incompatible_file if one is compressed.
Result<std::vector<Entry>> read_stored_zip(Span<const uint8_t> bytes);

/// Whether `bytes` are a bare graph of ExecuTorch's native backend, without the package (.ptn) around it. Wick reads
/// neither.
bool is_native_graph(Span<const uint8_t> bytes);
/// The error for such a file (incompatible_file): what it is, and what to do instead.
Diag native_graph();

/// A torch.export archive (archive version 0) with at least one model. Borrows the bytes; copies none of them.
class Archive {
 public:
  /// Checks the whole container: no byte outside the file, no overlap, no duplicate or escaping name, nothing
  /// compressed or encrypted. `file_name` is for messages. Errors: corrupt_file if the container is damaged;
  /// incompatible_file, with a help line that says how to save the model again, if it is of another kind (older
  /// torch.export, TorchScript, pickle, AOTInductor, big-endian ..).
  static Result<Archive> open(Span<const uint8_t> bytes, std::string file_name);

  /// The entry of that name, or null.
  const Entry* find(std::string_view name) const;
  /// All entries, sorted by name.
  Span<const Entry> entries() const { return {entries_.data(), entries_.size()}; }
  const std::string& file_name() const { return file_name_; }

  /// Errors: corrupt_file if the data does not have the recorded checksum. Succeeds if none was recorded.
  Status check_crc(const Entry& entry) const;

 private:
  std::string file_name_;
  std::vector<Entry> entries_;
};

}  // namespace wick::compiler::pt2
