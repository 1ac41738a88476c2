#include "cli/arrays/npz_zip.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "compiler/support/crc32.h"
#include "compiler/support/limits.h"

namespace wick::cli {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::printable;
using compiler::Result;
using compiler::Status;

// Record sizes and signatures: PKWARE APPNOTE 6.3, sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16.
constexpr uint32_t kLocalSignature = 0x04034b50, kCentralSignature = 0x02014b50, kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50, kEnd64LocatorSignature = 0x07064b50;
constexpr size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kEnd64LocatorBytes = 20;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kEncrypted = 0x0001;
constexpr uint64_t kMaxDeflateRatio = 1032;  // zlib's technical notes: no deflate stream unpacks to more
constexpr uint32_t kNoZip64 = 0xfffffffe;    // largest value a 32-bit field holds itself

Diag damaged_archive(std::string message) {
  return Diag(Code::corrupt_file, "the archive is damaged: " + std::move(message));
}

uint16_t u16_at(const uint8_t* p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }
uint32_t u32_at(const uint8_t* p) { return u16_at(p) | static_cast<uint32_t>(u16_at(p + 2)) << 16; }
uint64_t u64_at(const uint8_t* p) { return u32_at(p) | static_cast<uint64_t>(u32_at(p + 4)) << 32; }

/// Is [offset, offset + size) inside `file`?
bool holds(Span<const uint8_t> file, uint64_t offset, uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset;
}

struct Directory {
  uint64_t offset = 0, size_bytes = 0, num_entries = 0;
  uint64_t end = 0;  // first byte after the directory that belongs to another record
};

// The end record is the one whose comment reaches exactly to the end of the file.
Result<uint64_t> find_end_record(Span<const uint8_t> file) {
  if (file.size() < kEndBytes) return damaged_archive("it is shorter than its end record");
  const uint64_t last = file.size() - kEndBytes;
  const uint64_t first = last > 65535 ? last - 65535 : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    const uint8_t* p = file.data() + at;
    if (u32_at(p) == kEndSignature && at + kEndBytes + u16_at(p + 20) == file.size()) return at;
  }
  return damaged_archive("it has no end record (the file may be cut off)");
}

// ZIP64: a locator stands directly before the end record and points at the wide end record.
Status widen(Span<const uint8_t> file, uint64_t end_at, Directory& directory) {
  if (end_at < kEnd64LocatorBytes) return {};
  const uint8_t* locator = file.data() + end_at - kEnd64LocatorBytes;
  if (u32_at(locator) != kEnd64LocatorSignature) return {};
  const uint64_t at = u64_at(locator + 8);
  const uint64_t locator_at = end_at - kEnd64LocatorBytes;
  if (at > locator_at || locator_at - at < kEnd64Bytes || u32_at(file.data() + at) != kEnd64Signature) {
    return damaged_archive("its ZIP64 end record is not where the locator says");
  }
  const uint8_t* p = file.data() + at;
  if (u32_at(p + 16) != 0 || u32_at(p + 20) != 0 || u64_at(p + 24) != u64_at(p + 32)) {
    return Diag(Code::incompatible_file, "archives in several parts are not read");
  }
  directory = {u64_at(p + 48), u64_at(p + 40), u64_at(p + 32), at};
  return {};
}

Result<Directory> find_directory(Span<const uint8_t> file) {
  ASSIGN_OR_RETURN(const uint64_t end_at, find_end_record(file));
  const uint8_t* p = file.data() + end_at;
  if (u16_at(p + 4) != 0 || u16_at(p + 6) != 0 || u16_at(p + 8) != u16_at(p + 10)) {
    return Diag(Code::incompatible_file, "archives in several parts are not read");
  }
  Directory directory{u32_at(p + 16), u32_at(p + 12), u16_at(p + 10), end_at};
  RETURN_IF_ERROR(widen(file, end_at, directory));
  if (directory.offset > directory.end || directory.size_bytes != directory.end - directory.offset) {
    return damaged_archive("its directory is not where the end record says");
  }
  return directory;
}

/// Replaces fields that say "see ZIP64" by the entry's extra field, in the order the format fixes.
Status apply_zip64(Span<const uint8_t> extra, ZipEntry& entry, uint64_t& local_offset) {
  uint64_t* fields[] = {&entry.unpacked_bytes, &entry.packed_bytes, &local_offset};
  bool found = false;
  for (size_t at = 0; extra.size() - at >= 4;) {
    const uint8_t* p = extra.data() + at;
    const size_t size = u16_at(p + 2);
    if (size > extra.size() - at - 4) return damaged_archive("an extra field is longer than its record");
    if (u16_at(p) == kZip64Extra && !found) {
      found = true;
      size_t used = 0;
      for (uint64_t* field : fields) {
        if (*field != 0xffffffffu) continue;
        if (size - used < 8) return damaged_archive("a ZIP64 field is too short");
        *field = u64_at(p + 4 + used);
        used += 8;
      }
    }
    at += 4 + size;
  }
  for (const uint64_t* field : fields) {
    if (!found && *field == 0xffffffffu) return damaged_archive("a ZIP64 field is missing");
  }
  return {};
}

/// Follows the entry to its local header, which must agree on name, method and flags, and sets data_offset.
Status locate(Span<const uint8_t> file, uint64_t directory_offset, uint64_t local_offset, uint16_t flags,
              ZipEntry& entry) {
  const Span<const uint8_t> body = file.subspan(0, directory_offset);
  if (!holds(body, local_offset, kLocalBytes)) return damaged_archive("an entry lies outside the file");
  const uint8_t* p = file.data() + local_offset;
  if (u32_at(p) != kLocalSignature) return damaged_archive("an entry has no local header");
  const uint64_t name_bytes = u16_at(p + 26), extra_bytes = u16_at(p + 28);
  if (!holds(body, local_offset + kLocalBytes, name_bytes + extra_bytes))
    return damaged_archive("an entry lies outside the file");
  const uint16_t method = u16_at(p + 8);
  if (u16_at(p + 6) != flags || method != (entry.deflated ? 8 : 0) || name_bytes != entry.name.size() ||
      std::memcmp(p + kLocalBytes, entry.name.data(), name_bytes) != 0) {
    return damaged_archive("entry '" + printable(entry.name) + "' is described in two ways");
  }
  entry.data_offset = local_offset + kLocalBytes + name_bytes + extra_bytes;
  if (!holds(body, entry.data_offset, entry.packed_bytes)) {
    return damaged_archive("entry '" + printable(entry.name) + "' lies outside the file");
  }
  return {};
}

/// Reads the record at `at` and moves `at` behind it. `local_offset` receives where the entry begins.
Result<ZipEntry> read_record(Span<const uint8_t> file, const Directory& directory, uint64_t& at,
                             uint64_t& local_offset) {
  if (directory.end - at < kCentralBytes) return damaged_archive("its directory is cut off");
  const uint8_t* p = file.data() + at;
  if (u32_at(p) != kCentralSignature) return damaged_archive("its directory holds something that is not a record");
  const uint16_t flags = u16_at(p + 8), method = u16_at(p + 10);
  const size_t name_bytes = u16_at(p + 28), extra_bytes = u16_at(p + 30), comment_bytes = u16_at(p + 32);
  const uint64_t record_bytes = kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  if (record_bytes > directory.end - at) return damaged_archive("its directory is cut off");

  ZipEntry entry;
  entry.name.assign(reinterpret_cast<const char*>(p) + kCentralBytes, name_bytes);
  if (flags & kEncrypted) {
    return Diag(Code::incompatible_file, "entry '" + printable(entry.name) + "' is encrypted");
  }
  if (method != 0 && method != 8) {
    return Diag(Code::incompatible_file,
                "entry '" + printable(entry.name) + "' uses compression method " + std::to_string(method))
        .with_help("save with numpy.savez or numpy.savez_compressed");
  }
  entry.deflated = method == 8;
  entry.crc32 = u32_at(p + 16);
  entry.packed_bytes = u32_at(p + 20);
  entry.unpacked_bytes = u32_at(p + 24);
  local_offset = u32_at(p + 42);
  RETURN_IF_ERROR(apply_zip64(file.subspan(at + kCentralBytes + name_bytes, extra_bytes), entry, local_offset));
  RETURN_IF_ERROR(locate(file, directory.offset, local_offset, flags, entry));
  if (!entry.deflated && entry.packed_bytes != entry.unpacked_bytes) {
    return damaged_archive("stored entry '" + printable(entry.name) + "' has two sizes");
  }
  if (entry.deflated && entry.unpacked_bytes / kMaxDeflateRatio > entry.packed_bytes) {
    return damaged_archive("entry '" + printable(entry.name) + "' claims to unpack to more than it can");
  }
  at += record_bytes;
  return entry;
}

struct ByteRange {
  uint64_t begin, end;
};

Status check_disjoint(std::vector<ByteRange> ranges, std::vector<ZipEntry> entries) {
  std::sort(ranges.begin(), ranges.end(), [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin < ranges[i - 1].end) return damaged_archive("two entries overlap");
  }
  std::sort(entries.begin(), entries.end(), [](const ZipEntry& a, const ZipEntry& b) { return a.name < b.name; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].name == entries[i - 1].name) {
      return damaged_archive("two entries have the name '" + printable(entries[i].name) + "'");
    }
  }
  return {};
}

/// Inflates all of `packed` into all of `out`. False if the stream is broken or does not fill `out` exactly.
bool inflate_exactly(Span<const uint8_t> packed, std::vector<uint8_t>& out) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  uint8_t beyond = 0;  // a stream that wants to write here is too long
  size_t in_at = 0, out_at = 0;
  int code = Z_OK;
  while (code == Z_OK) {
    const size_t in_step = std::min<size_t>(packed.size() - in_at, 1u << 30);
    const size_t out_step = std::min<size_t>(out.size() - out_at, 1u << 30);
    stream.next_in = const_cast<Bytef*>(packed.data() + in_at);
    stream.avail_in = static_cast<uInt>(in_step);
    stream.next_out = out_step > 0 ? out.data() + out_at : &beyond;
    stream.avail_out = out_step > 0 ? static_cast<uInt>(out_step) : 1;
    code = inflate(&stream, Z_NO_FLUSH);
    in_at += in_step - stream.avail_in;
    if (out_step > 0) {
      out_at += out_step - stream.avail_out;
    } else if (stream.avail_out == 0) {
      code = Z_DATA_ERROR;
    }
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END && in_at == packed.size() && out_at == out.size();
}

void put16(std::vector<uint8_t>& out, uint32_t value) {
  out.push_back(static_cast<uint8_t>(value));
  out.push_back(static_cast<uint8_t>(value >> 8));
}
void put32(std::vector<uint8_t>& out, uint32_t value) {
  put16(out, value);
  put16(out, value >> 16);
}

/// The fields that local header and directory record share, from "version needed" to "extra length".
void put_common(std::vector<uint8_t>& out, uint32_t crc, uint32_t size_bytes, const std::string& name) {
  constexpr uint32_t kVersion = 20, kStored = 0, kMidnight = 0, kFirstDayOf1980 = 0x21;
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<uint8_t>(c) < 0x80; });
  const uint32_t flags = ascii ? 0 : 0x0800;  // the name is UTF-8
  for (const uint32_t field : {kVersion, flags, kStored, kMidnight, kFirstDayOf1980}) put16(out, field);
  for (const uint32_t field : {crc, size_bytes, size_bytes}) put32(out, field);
  put16(out, static_cast<uint32_t>(name.size()));
  put16(out, 0);
}

}  // namespace

Result<std::vector<ZipEntry>> read_zip_directory(Span<const uint8_t> file, uint64_t max_entries) {
  ASSIGN_OR_RETURN(const Directory directory, find_directory(file));
  if (directory.num_entries > directory.size_bytes / kCentralBytes) {
    return damaged_archive("its directory is too short for " + std::to_string(directory.num_entries) + " entries");
  }
  if (directory.num_entries > max_entries) {
    return compiler::over_limit(&compiler::Limits::archive_entries, "the archive has too many entries",
                                std::to_string(directory.num_entries));
  }
  std::vector<ZipEntry> entries;
  std::vector<ByteRange> ranges;
  uint64_t at = directory.offset;
  for (uint64_t i = 0; i < directory.num_entries; ++i) {
    uint64_t begin = 0;
    ASSIGN_OR_RETURN(ZipEntry entry, read_record(file, directory, at, begin));
    ranges.push_back({begin, entry.data_offset + entry.packed_bytes});
    entries.push_back(std::move(entry));
  }
  if (at != directory.end) return damaged_archive("its directory is longer than its records");
  RETURN_IF_ERROR(check_disjoint(std::move(ranges), entries));
  return entries;
}

Result<std::vector<uint8_t>> unpack(Span<const uint8_t> file, const ZipEntry& entry) {
  if (!holds(file, entry.data_offset, entry.packed_bytes)) return damaged_archive("an entry lies outside the file");
  const Span<const uint8_t> packed = file.subspan(entry.data_offset, entry.packed_bytes);
  std::vector<uint8_t> bytes;
  try {
    bytes.resize(entry.unpacked_bytes);
  } catch (const std::exception&) {
    return Diag(Code::limit, "not enough memory for entry '" + printable(entry.name) + "' of " +
                                 std::to_string(entry.unpacked_bytes) + " bytes");
  }
  if (!entry.deflated) {
    if (packed.size() != bytes.size())
      return damaged_archive("stored entry '" + printable(entry.name) + "' has two sizes");
    if (!bytes.empty()) std::memcpy(bytes.data(), packed.data(), bytes.size());
  } else if (!inflate_exactly(packed, bytes)) {
    return damaged_archive("entry '" + printable(entry.name) + "' does not unpack to its size");
  }
  if (compiler::crc32({bytes.data(), bytes.size()}) != entry.crc32) {
    return damaged_archive("entry '" + printable(entry.name) + "' does not have its checksum");
  }
  return bytes;
}

Status ZipWriter::add(const std::string& name, const std::vector<uint8_t>& bytes) {
  const uint64_t total = out_.size() + directory_.size() + bytes.size() + 2 * name.size() + 256;
  if (total > kNoZip64 || num_entries_ >= 65534 || name.size() > 65535) {
    return Diag(Code::limit, "an .npz of 4 GiB or more, or of more than 65,534 arrays, is not written");
  }
  const uint32_t crc = compiler::crc32({bytes.data(), bytes.size()}), size_bytes = static_cast<uint32_t>(bytes.size());
  const uint32_t offset = static_cast<uint32_t>(out_.size());
  put32(out_, kLocalSignature);
  put_common(out_, crc, size_bytes, name);
  out_.insert(out_.end(), name.begin(), name.end());
  out_.insert(out_.end(), bytes.begin(), bytes.end());

  put32(directory_, kCentralSignature);
  put16(directory_, 20);  // made by: format version 2.0, no host's attributes
  put_common(directory_, crc, size_bytes, name);
  for (int i = 0; i < 3; ++i) put16(directory_, 0);  // comment length, disk, internal attributes
  put32(directory_, 0);                              // external attributes
  put32(directory_, offset);
  directory_.insert(directory_.end(), name.begin(), name.end());
  ++num_entries_;
  return {};
}

std::vector<uint8_t> ZipWriter::finish() {
  const uint32_t offset = static_cast<uint32_t>(out_.size());
  out_.insert(out_.end(), directory_.begin(), directory_.end());
  put32(out_, kEndSignature);
  put32(out_, 0);  // this disk, disk of the directory
  put16(out_, num_entries_);
  put16(out_, num_entries_);
  put32(out_, static_cast<uint32_t>(directory_.size()));
  put32(out_, offset);
  put16(out_, 0);  // comment length
  return std::move(out_);
}

}  // namespace wick::cli
