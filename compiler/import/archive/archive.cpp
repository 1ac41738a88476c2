#include "compiler/import/archive/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/import/archive/archive_directory.h"
#include "compiler/support/crc32.h"

namespace wick::compiler::pt2 {
namespace {

constexpr const char* kSaveAgain =
    "save it again with torch 2.9 or later: torch.export.save(torch.export.load(OLD), NEW)";
constexpr const char* kExportAgain =
    "export the model with torch 2.9 or later: torch.export.save(torch.export.export(model, example_args), "
    "\"model.pt2\")";

Diag incompatible(std::string message, std::string help) {
  return Diag(Code::incompatible_file, std::move(message)).with_help(std::move(help));
}

std::string_view text_of(Span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

// Names the format of a file that is not a zip archive.
Diag describe_foreign(Span<const uint8_t> bytes) {
  if (bytes.empty()) return Diag(Code::corrupt_file, "the file is empty").with_help(kExportAgain);
  if (is_native_graph(bytes)) return native_graph();
  if (bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "ET", 2) == 0) {
    return incompatible("this is a .pte program, which is already compiled", "give the .pt2 file it was made from");
  }
  if (bytes[0] == 0x80) return incompatible("this is a Python pickle, not a torch.export archive", kExportAgain);
  return incompatible("this is not a .pt2 file: it is not a zip archive", kExportAgain);
}

// Looks up records by name, before the archive is known to be a .pt2.
class Names {
 public:
  explicit Names(const Directory& directory) {
    for (const DirectoryRecord& record : directory.records) sorted_.push_back(&record);
    std::sort(sorted_.begin(), sorted_.end(), [](auto* a, auto* b) { return a->name < b->name; });
  }
  const DirectoryRecord* find(std::string_view name) const {
    const auto it = std::lower_bound(sorted_.begin(), sorted_.end(), name, [](auto* a, auto n) { return a->name < n; });
    return it != sorted_.end() && (*it)->name == name ? *it : nullptr;
  }
  bool any_under(std::string_view prefix) const {
    const auto it =
        std::lower_bound(sorted_.begin(), sorted_.end(), prefix, [](auto* a, auto n) { return a->name < n; });
    return it != sorted_.end() && (*it)->name.starts_with(prefix);
  }
  const DirectoryRecord* duplicate() const {
    const auto it =
        std::adjacent_find(sorted_.begin(), sorted_.end(), [](auto* a, auto* b) { return a->name == b->name; });
    return it == sorted_.end() ? nullptr : *it;
  }

 private:
  std::vector<const DirectoryRecord*> sorted_;
};

std::string_view top_folder(const Directory& directory) {
  const std::string_view first = directory.records.front().name;
  const size_t slash = first.find('/');
  return slash == std::string_view::npos ? std::string_view() : first.substr(0, slash);
}

// Refuses other kinds of zip archives. The names of their entries identify them.
Status check_kind(Span<const uint8_t> zip, const Directory& directory, const Names& names) {
  if (names.find("serialized_exported_program.json")) {
    const DirectoryRecord* version = names.find("version");
    uint64_t end = 0;
    const bool readable = version && version->method == 0;
    const Result<Span<const uint8_t>> data =
        readable ? locate_data(zip, directory, *version, &end) : Span<const uint8_t>();
    const bool loads_today = data.ok() && text_of(*data).starts_with("8.");
    return loads_today
               ? incompatible("this is the archive of torch 2.6 or 2.7, which Wick does not read", kSaveAgain)
               : incompatible("this is the archive of torch 2.5 or earlier, which Wick does not read", kExportAgain);
  }
  if (names.find("program.ptg")) return native_graph();
  const std::string top = std::string(top_folder(directory)) + "/";
  if (top.size() > 1 && names.find(top + "archive_format")) return {};
  if (names.find(top + "constants.pkl") || names.any_under(top + "code/")) {
    return incompatible("this is a TorchScript archive (torch.jit.save), not a torch.export one", kExportAgain);
  }
  if (names.find(top + "data.pkl")) {
    return incompatible("this is a pickle archive (torch.save), not a torch.export one", kExportAgain);
  }
  if (names.any_under(top + "data/aotinductor/")) {
    return incompatible("this package holds only code compiled by AOTInductor, no exported program", kExportAgain);
  }
  return incompatible("this zip archive is not a .pt2 file: it has no entry \"archive_format\" under its first folder",
                      kExportAgain);
}

Status check_stored(const Directory& directory) {
  for (const DirectoryRecord& record : directory.records) {
    if (record.method == 0) continue;
    return incompatible(
        fmt::format("entry \"{}\" is compressed (zip method {}); Wick maps weights, so entries must be stored",
                    printable(record.name), record.method),
        "store the files without compression (zip -0), or save the model again with torch.export.save");
  }
  return {};
}

// Refuses entries whose ranges [header, end of data) overlap. Sorts `extents`.
Status check_overlap(std::vector<std::pair<uint64_t, uint64_t>>& extents) {
  std::sort(extents.begin(), extents.end());
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].first < extents[i - 1].second) {
      return Diag(Code::corrupt_file, fmt::format("two entries overlap at byte {}", extents[i].first))
          .with_help("save the model again with torch.export.save");
    }
  }
  return {};
}

Result<std::vector<Entry>> read_entries(Span<const uint8_t> zip, const Directory& directory) {
  const std::string top = std::string(top_folder(directory)) + "/";
  std::vector<Entry> entries;
  std::vector<std::pair<uint64_t, uint64_t>> extents;
  entries.reserve(directory.records.size());
  extents.reserve(directory.records.size());
  for (const DirectoryRecord& record : directory.records) {
    if (!record.name.starts_with(top)) {
      return Diag(Code::corrupt_file, fmt::format("entry \"{}\" is not in the archive's folder \"{}\"",
                                                  printable(record.name), printable(top)))
          .with_help("save the model again with torch.export.save");
    }
    uint64_t end = 0;
    ASSIGN_OR_RETURN(const Span<const uint8_t> data, locate_data(zip, directory, record, &end));
    extents.emplace_back(record.header_offset, end);
    if (ends_with(record.name, "/") && data.empty()) continue;  // a folder, as zip tools write
    entries.push_back({record.name.substr(top.size()), data, record.crc});
  }
  RETURN_IF_ERROR(check_overlap(extents));
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

Status check_text(const Archive& archive, std::string_view name, std::string_view wanted, const char* help) {
  const Entry* entry = archive.find(name);
  const std::string_view found = entry ? text_of(entry->data) : std::string_view();
  if (found == wanted) return {};
  return incompatible(fmt::format("the archive's {} is \"{}\"", name, printable(found, 40)), help)
      .expected(entry ? printable(found, 40) : "no such entry", std::string(wanted));
}

// Refuses archives that torch.export.save wrote in another version or on a big-endian machine, and those without a
// program.
Status check_content(const Archive& archive) {
  RETURN_IF_ERROR(check_text(archive, "archive_format", "pt2", kExportAgain));
  RETURN_IF_ERROR(check_text(archive, "archive_version", "0", "save it again with torch 2.9 to 2.15"));
  if (archive.find("byteorder")) {
    RETURN_IF_ERROR(
        check_text(archive, "byteorder", "little", "save the model again on a little-endian machine (x86, Arm)"));
  }
  bool any_model = false, compiled = false;
  for (const Entry& entry : archive.entries()) {
    any_model |= entry.name.starts_with("models/") && ends_with(entry.name, ".json");
    compiled |= entry.name.starts_with("data/aotinductor/");
    if (!entry.name.starts_with("models/") || !ends_with(entry.name, ".json")) continue;
    const std::string_view model = entry.name.substr(7, entry.name.size() - 12);
    if (archive.find(fmt::format("data/weights/{}.pt", model)) &&
        !archive.find(fmt::format("data/weights/{}_weights_config.json", model))) {
      return incompatible("this is the archive of torch 2.8, whose weights are one Python pickle", kSaveAgain);
    }
  }
  if (any_model) return {};
  if (compiled)
    return incompatible("this package holds only code compiled by AOTInductor, no exported program", kExportAgain);
  return incompatible("the archive has no program: no entry models/<name>.json", kExportAgain);
}

Status check_unique(const Names& names) {
  const DirectoryRecord* twice = names.duplicate();
  if (!twice) return {};
  return Diag(Code::corrupt_file, fmt::format("the archive has two entries named \"{}\"", printable(twice->name)))
      .with_help("save the model again with torch.export.save");
}

Result<std::vector<Entry>> open_entries(Span<const uint8_t> bytes) {
  Result<Directory> directory = read_directory(bytes);
  if (!directory.ok()) {
    if (!looks_like_zip(bytes)) return describe_foreign(bytes);
    return std::move(directory.diag());
  }
  if (directory->records.empty()) return incompatible("the archive is empty", kExportAgain);
  const Names names(*directory);
  RETURN_IF_ERROR(check_unique(names));
  RETURN_IF_ERROR(check_kind(bytes, *directory, names));
  RETURN_IF_ERROR(check_stored(*directory));
  return read_entries(bytes, *directory);
}

}  // namespace

bool is_native_graph(Span<const uint8_t> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "NPTG", 4) == 0;
}

Diag native_graph() {
  return incompatible("this is a graph of ExecuTorch's native backend (.ptn), which is neither a model nor a program",
                      "save the model with torch.export.save and compile that:  wick compile MODEL.pt2 -o MODEL.pte");
}

Result<std::vector<Entry>> read_stored_zip(Span<const uint8_t> bytes) {
  ASSIGN_OR_RETURN(const Directory directory, read_directory(bytes));
  if (directory.records.empty()) return incompatible("the archive is empty", kExportAgain);
  RETURN_IF_ERROR(check_unique(Names(directory)));
  RETURN_IF_ERROR(check_stored(directory));
  return read_entries(bytes, directory);
}

Result<Archive> Archive::open(Span<const uint8_t> bytes, std::string file_name) {
  Archive archive;
  archive.file_name_ = std::move(file_name);
  const auto located = [&](Diag& diag) { return std::move(diag).at_file(archive.file_name_); };
  Result<std::vector<Entry>> entries = open_entries(bytes);
  if (!entries.ok()) return Diag(located(entries.diag()));
  archive.entries_ = std::move(*entries);
  Status content = check_content(archive);
  if (!content.ok()) return Diag(located(content.diag()));
  return archive;
}

const Entry* Archive::find(std::string_view name) const {
  const auto it = std::lower_bound(entries_.begin(), entries_.end(), name,
                                   [](const Entry& entry, std::string_view n) { return entry.name < n; });
  return it != entries_.end() && it->name == name ? &*it : nullptr;
}

Status Archive::check_crc(const Entry& entry) const {
  if (!entry.has_crc() || entry.data.empty()) return {};
  const uint32_t found = crc32(entry.data);
  if (found == entry.crc) return {};
  return Diag(Code::corrupt_file, fmt::format("the data of entry \"{}\" is damaged", printable(entry.name)))
      .at_file(file_name_)
      .expected(fmt::format("checksum {:08x}", found), fmt::format("checksum {:08x}", entry.crc))
      .with_help("copy or save the file again");
}

}  // namespace wick::compiler::pt2
