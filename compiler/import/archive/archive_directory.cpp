#include "compiler/import/archive/archive_directory.h"

#include <fmt/format.h>

#include <optional>

#include "common/checked.h"
#include "compiler/support/limits.h"

namespace wick::compiler::pt2 {
namespace {

constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kCentralSignature = 0x02014b50;
constexpr std::string_view kEndSignature = "PK\5\6";
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint64_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint32_t kOverflow16 = 0xffff, kOverflow32 = 0xffffffff;
constexpr uint16_t kZip64Extra = 0x0001;
constexpr uint16_t kFlagEncrypted = 1u << 0, kFlagSizesFollow = 1u << 3;
constexpr uint16_t kFlagsRefused = kFlagEncrypted | 1u << 5 | 1u << 6 | 1u << 13;  // encrypted, patch, strong, masked
constexpr size_t kMaxNameBytes = 1024;

Diag corrupt_archive(std::string message) {
  return Diag(Code::corrupt_file, std::move(message))
      .with_help("the file is damaged or was cut short; copy or save it again");
}

// Little-endian fields of `bytes`; offsets must be in range.
struct EntryFields {
  Span<const uint8_t> bytes;
  uint64_t read(uint64_t at, int count) const {
    uint64_t value = 0;
    for (int i = count; i-- > 0;) value = value << 8 | bytes[at + static_cast<uint64_t>(i)];
    return value;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(read(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(read(at, 4)); }
  uint64_t u64(uint64_t at) const { return read(at, 8); }
};

std::string_view text(Span<const uint8_t> bytes, uint64_t at, uint64_t count) {
  return {reinterpret_cast<const char*>(bytes.data() + at), count};
}

// The central directory as the end records describe it.
struct End {
  uint64_t num_records = 0, size = 0, offset = 0;
};

// Offset of the end record: the one whose comment reaches exactly to the end of the file.
Result<uint64_t> find_end(EntryFields zip) {
  const uint64_t size = zip.bytes.size();
  std::optional<uint64_t> found;
  if (size >= kEndBytes) {
    const uint64_t last = size - kEndBytes;
    const uint64_t first = last > 0xffff ? last - 0xffff : 0;
    const std::string_view searched = text(zip.bytes, 0, last + kEndSignature.size());
    for (uint64_t at = searched.find(kEndSignature, first); at <= last; at = searched.find(kEndSignature, at + 1)) {
      if (zip.u16(at + 20) != last - at) continue;
      if (found) return corrupt_archive("the archive has two end records, so its content is ambiguous");
      found = at;
    }
  }
  if (!found) return corrupt_archive("the archive has no end record");
  return *found;
}

// The zip64 end record replaces the fields of the plain one; both must agree where the plain one does not overflow.
Result<End> read_end64(EntryFields zip, uint64_t end_at, End plain, uint64_t* directory_end) {
  const uint64_t locator = end_at - kLocator64Bytes;
  const uint64_t at = zip.u64(locator + 8);
  if (zip.u32(locator + 4) != 0 || zip.u32(locator + 16) > 1)
    return corrupt_archive("the archive is split over several disks");
  if (!range_fits(at, kEnd64Bytes, locator) || zip.u32(at) != kEnd64Signature) {
    return corrupt_archive("the archive's zip64 end record is not where its locator says");
  }
  const uint64_t remaining = zip.u64(at + 4);
  if (remaining != locator - at - 12) return corrupt_archive("the archive's zip64 end record has a wrong size");
  if (zip.u32(at + 16) != 0 || zip.u32(at + 20) != 0) return corrupt_archive("the archive is split over several disks");
  const End wide = {zip.u64(at + 32), zip.u64(at + 40), zip.u64(at + 48)};
  const bool agree = (plain.num_records == wide.num_records || plain.num_records == kOverflow16) &&
                     (plain.size == wide.size || plain.size == kOverflow32) &&
                     (plain.offset == wide.offset || plain.offset == kOverflow32);
  if (!agree || zip.u64(at + 24) != wide.num_records) return corrupt_archive("the archive's two end records disagree");
  *directory_end = at;
  return wide;
}

Result<End> read_end(EntryFields zip) {
  ASSIGN_OR_RETURN(const uint64_t at, find_end(zip));
  End end = {zip.u16(at + 10), zip.u32(at + 12), zip.u32(at + 16)};
  uint64_t directory_end = at;
  if (zip.u16(at + 4) != 0 || zip.u16(at + 6) != 0 || zip.u16(at + 8) != end.num_records) {
    return corrupt_archive("the archive is split over several disks");
  }
  if (at >= kLocator64Bytes && zip.u32(at - kLocator64Bytes) == kLocator64Signature) {
    ASSIGN_OR_RETURN(end, read_end64(zip, at, end, &directory_end));
  }
  if (!range_fits(end.offset, end.size, directory_end) || end.offset + end.size != directory_end) {
    return corrupt_archive("the archive's central directory does not end where its end record starts");
  }
  if (end.num_records > end.size / kCentralBytes) {
    return corrupt_archive(
        fmt::format("the archive claims {} entries, more than its central directory can hold", end.num_records));
  }
  if (end.num_records > limits().archive_entries) {
    return over_limit(&Limits::archive_entries, "the archive has too many entries", std::to_string(end.num_records));
  }
  return end;
}

// Fills the fields that overflowed 32 bits from the zip64 extra field, which holds only those, in this order.
Status apply_zip64(EntryFields extra, DirectoryRecord& record) {
  uint64_t* const fields[] = {&record.size_bytes, &record.compressed_bytes, &record.header_offset};
  bool seen = false;
  for (uint64_t at = 0; at + 4 <= extra.bytes.size();) {
    const uint64_t length = extra.u16(at + 2), data = at + 4;
    if (!range_fits(data, length, extra.bytes.size())) return corrupt_archive("an extra field is cut short");
    if (extra.u16(at) == kZip64Extra) {
      if (seen) return corrupt_archive("a record has two zip64 fields");
      seen = true;
      uint64_t used = 0;
      for (uint64_t* field : fields) {
        if (*field != kOverflow32) continue;
        if (length - used < 8) return corrupt_archive("a zip64 field is too short");
        *field = extra.u64(data + used);
        used += 8;
      }
    }
    at = data + length;
  }
  return {};
}

Status check_name(std::string_view name) {
  const auto refuse = [&](const char* why) {
    return corrupt_archive(fmt::format("the entry name \"{}\" {}", printable(name), why));
  };
  if (name.empty() || name.size() > kMaxNameBytes) return refuse("is empty or too long");
  if (name[0] == '/' || name[0] == '\\') return refuse("is an absolute path");
  for (const char c : name) {
    if (static_cast<uint8_t>(c) < 0x20) return refuse("has control characters");
  }
  for (size_t start = 0; start < name.size();) {
    const size_t slash = name.find('/', start);
    const size_t stop = slash == std::string_view::npos ? name.size() : slash;
    const std::string_view part = name.substr(start, stop - start);
    if (part.empty() || part == "." || part == "..") return refuse("has an empty, \".\" or \"..\" part");
    start = stop + 1;
  }
  return {};
}

}  // namespace

bool looks_like_zip(Span<const uint8_t> bytes) {
  if (bytes.size() < 4) return false;
  return EntryFields{bytes}.u32(0) == kLocalSignature || text(bytes, 0, kEndSignature.size()) == kEndSignature;
}

Result<Directory> read_directory(Span<const uint8_t> zip_bytes) {
  const EntryFields zip{zip_bytes};
  ASSIGN_OR_RETURN(const End end, read_end(zip));
  Directory directory;
  directory.offset = end.offset;
  directory.records.reserve(end.num_records);
  const uint64_t stop = end.offset + end.size;
  uint64_t at = end.offset;
  for (uint64_t i = 0; i < end.num_records; ++i) {
    if (!range_fits(at, kCentralBytes, stop) || zip.u32(at) != kCentralSignature) {
      return corrupt_archive(fmt::format("record {} of the central directory is damaged", i));
    }
    const uint64_t name_bytes = zip.u16(at + 28), extra_bytes = zip.u16(at + 30), comment_bytes = zip.u16(at + 32);
    if (!range_fits(at + kCentralBytes, name_bytes + extra_bytes + comment_bytes, stop)) {
      return corrupt_archive(fmt::format("record {} of the central directory is cut short", i));
    }
    DirectoryRecord record;
    record.name = text(zip_bytes, at + kCentralBytes, name_bytes);
    record.flags = zip.u16(at + 8);
    record.method = zip.u16(at + 10);
    record.crc = zip.u32(at + 16);
    record.compressed_bytes = zip.u32(at + 20);
    record.size_bytes = zip.u32(at + 24);
    record.header_offset = zip.u32(at + 42);
    RETURN_IF_ERROR(check_name(record.name));
    RETURN_IF_ERROR(apply_zip64({zip_bytes.subspan(at + kCentralBytes + name_bytes, extra_bytes)}, record));
    if (zip.u16(at + 34) != 0) return corrupt_archive("the archive is split over several disks");
    directory.records.push_back(record);
    at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }
  if (at != stop) return corrupt_archive("the central directory has bytes after its last record");
  return directory;
}

Result<Span<const uint8_t>> locate_data(Span<const uint8_t> zip_bytes, const Directory& directory,
                                        const DirectoryRecord& record, uint64_t* end) {
  const EntryFields zip{zip_bytes};
  const auto refuse = [&](const char* why) {
    return corrupt_archive(fmt::format("entry \"{}\" {}", printable(record.name), why));
  };
  const uint64_t at = record.header_offset;
  if (record.flags & kFlagsRefused) return refuse("is encrypted or patched");
  if (record.compressed_bytes != record.size_bytes) return refuse("is stored with two different sizes");
  if (!range_fits(at, kLocalBytes, directory.offset) || zip.u32(at) != kLocalSignature) {
    return refuse("has no local header at its offset");
  }
  const uint64_t name_bytes = zip.u16(at + 26), extra_bytes = zip.u16(at + 28);
  const uint64_t name_at = at + kLocalBytes;
  if (!range_fits(name_at, name_bytes + extra_bytes, directory.offset))
    return refuse("has a local header that is cut short");
  if (text(zip_bytes, name_at, name_bytes) != record.name) return refuse("has a different name in its local header");
  const uint16_t flags = zip.u16(at + 6);
  if (zip.u16(at + 8) != record.method || (flags & kFlagsRefused))
    return refuse("has a different format in its local header");
  if (!(flags & kFlagSizesFollow)) {  // only then do the local sizes mean something
    const uint32_t compressed = zip.u32(at + 18), size = zip.u32(at + 22);
    if ((compressed != record.size_bytes && compressed != kOverflow32) ||
        (size != record.size_bytes && size != kOverflow32)) {
      return refuse("has a different size in its local header");
    }
  }
  const uint64_t data = name_at + name_bytes + extra_bytes;
  if (!range_fits(data, record.size_bytes, directory.offset)) return refuse("reaches past the end of the data");
  *end = data + record.size_bytes;
  return zip_bytes.subspan(data, record.size_bytes);
}

}  // namespace wick::compiler::pt2
