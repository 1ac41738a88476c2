#include "devices/qemu/firmware_size.h"

#include <elf.h>
#include <string.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/support/file_map.h"

namespace wick::device {
namespace {

using compiler::Code;
using compiler::Diag;
using compiler::Result;

// Mangled prefixes of the functions that a package calls to load and run a method (runtime/firmware).
constexpr const char* kLoadingFunctions[] = {
    "_ZN4wick15PackagedProgram4loadE",
    "_ZN4wick14PackagedMethod",
    "_ZNK4wick14PackagedMethod",
    "_ZNK4wick7Program6methodE",
};

constexpr const char* kTableMethodFunctions[] = {"_ZN4wick11FixedMethod", "_ZNK4wick11FixedMethod"};

// The functions that return the kernel tables of the runner. The object has other tables, for tests.
constexpr const char* kTableFunctions[] = {"_ZN4wick16cortex_m_kernelsEv", "_ZN4wick16portable_kernelsEv",
                                           "_ZN4wick12prim_kernelsEv"};

// Bytes of a package besides the rows: two tables, their KernelTable::built_for, a function that returns them.
constexpr uint64_t kAroundRowsBytes = 96;

/// The unit that a linker keeps or drops: a section, or one string of a section of strings.
using Piece = std::pair<uint32_t, uint32_t>;  // section, offset of the string (else 0)

/// A 32-bit ELF relocatable object.
class ObjectFile {
 public:
  explicit ObjectFile(Span<const uint8_t> bytes) : bytes_(bytes) {}

  bool read() {
    Elf32_Ehdr header;
    if (!get(0, &header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_type != ET_REL)
      return false;
    for (uint32_t i = 0; i < header.e_shnum; ++i) {
      Elf32_Shdr section;
      if (!get(uint64_t{header.e_shoff} + uint64_t{i} * sizeof section, &section)) return false;
      sections_.push_back(section);
    }
    relocations_.resize(sections_.size());
    for (uint32_t i = 0; i < sections_.size(); ++i) {
      if (sections_[i].sh_type == SHT_SYMTAB && !read_symbols(sections_[i])) return false;
      if (sections_[i].sh_type == SHT_REL && sections_[i].sh_info < sections_.size())
        relocations_[sections_[i].sh_info] = i;
    }
    return !symbols_.empty();
  }

  /// Sections of functions whose names begin with one of the prefixes.
  std::vector<Piece> functions(Span<const char* const> prefixes) const {
    std::vector<Piece> found;
    for (const auto& [name, index] : by_name_) {
      for (const char* prefix : prefixes) {
        if (name.starts_with(prefix)) found.emplace_back(symbols_[index].st_shndx, 0);
      }
    }
    return found;
  }

  /// Rows of kernel tables for these operators: name, signature, function.
  std::vector<Piece> rows(const std::set<std::string>& operators, uint64_t* row_bytes) const {
    constexpr uint32_t kRowBytes = 12;
    std::vector<Piece> found;
    for (const uint32_t i : tables()) {
      std::map<uint32_t, Piece> targets;
      for (const Elf32_Rel& relocation : relocations(i)) {
        if (const auto target = target_of(i, relocation)) targets.emplace(relocation.r_offset, *target);
      }
      for (const auto& [offset, name] : targets) {
        const auto signature = targets.find(offset + 4), function = targets.find(offset + 8);
        if (signature == targets.end() || function == targets.end() || !is_code(function->second.first)) continue;
        if (!is_strings(name.first) || operators.count(std::string(text(name))) == 0) continue;
        found.insert(found.end(), {name, signature->second, function->second});
        *row_bytes += kRowBytes;
      }
    }
    return found;
  }

  /// Adds to `kept` these pieces and all pieces that they refer to. Returns the bytes of the pieces that are new there.
  uint64_t keep(std::vector<Piece> waiting, std::set<Piece>* kept) const {
    uint64_t total = 0;
    while (!waiting.empty()) {
      const Piece piece = waiting.back();
      waiting.pop_back();
      if (piece.first >= sections_.size() || !kept->insert(piece).second) continue;
      const Elf32_Shdr& section = sections_[piece.first];
      if ((section.sh_flags & SHF_ALLOC) == 0 || section.sh_type == SHT_NOBITS) continue;
      if (is_strings(piece.first)) {
        total += text(piece).size() + 1;
        continue;
      }
      total += (uint64_t{section.sh_size} + 3) / 4 * 4;  // padded: the next one is aligned
      for (const Elf32_Rel& relocation : relocations(piece.first)) {
        if (const auto target = target_of(piece.first, relocation)) waiting.push_back(*target);
      }
    }
    return total;
  }

 private:
  // The sections of constants that kTableFunctions name.
  std::set<uint32_t> tables() const {
    std::set<uint32_t> found;
    for (const Piece& function : functions(kTableFunctions)) {
      for (const Elf32_Rel& relocation : relocations(function.first)) {
        const auto target = target_of(function.first, relocation);
        if (target && !is_code(target->first) && !is_strings(target->first)) found.insert(target->first);
      }
    }
    return found;
  }

  template <typename T>
  bool get(uint64_t offset, T* out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof *out) return false;
    memcpy(out, bytes_.data() + offset, sizeof *out);
    return true;
  }

  bool read_symbols(const Elf32_Shdr& table) {
    if (table.sh_link >= sections_.size()) return false;
    for (uint64_t at = 0; at + sizeof(Elf32_Sym) <= table.sh_size; at += sizeof(Elf32_Sym)) {
      Elf32_Sym symbol;
      if (!get(table.sh_offset + at, &symbol)) return false;
      const std::string_view name = c_string(sections_[table.sh_link], symbol.st_name);
      if (!name.empty() && symbol.st_shndx != SHN_UNDEF) by_name_.emplace(name, static_cast<uint32_t>(symbols_.size()));
      symbols_.push_back(symbol);
    }
    return true;
  }

  std::string_view c_string(const Elf32_Shdr& section, uint64_t offset) const {
    const uint64_t begin = section.sh_offset + offset, end = uint64_t{section.sh_offset} + section.sh_size;
    if (end > bytes_.size() || begin >= end) return {};
    const char* data = reinterpret_cast<const char*>(bytes_.data()) + begin;
    return {data, strnlen(data, end - begin)};
  }

  bool is_strings(uint32_t section) const {
    return section < sections_.size() && (sections_[section].sh_flags & SHF_STRINGS) != 0 &&
           (sections_[section].sh_flags & SHF_ALLOC) != 0;
  }
  bool is_code(uint32_t section) const {
    return section < sections_.size() && (sections_[section].sh_flags & SHF_EXECINSTR) != 0;
  }
  std::string_view text(const Piece& piece) const { return c_string(sections_[piece.first], piece.second); }

  std::vector<Elf32_Rel> relocations(uint32_t section) const {
    std::vector<Elf32_Rel> found;
    if (relocations_[section] == 0) return found;
    const Elf32_Shdr& table = sections_[relocations_[section]];
    for (uint64_t at = 0; at + sizeof(Elf32_Rel) <= table.sh_size; at += sizeof(Elf32_Rel)) {
      Elf32_Rel relocation;
      if (get(table.sh_offset + at, &relocation)) found.push_back(relocation);
    }
    return found;
  }

  // The piece that a relocation refers to. A string's offset is the symbol's value plus, for absolute addresses, the
  // addend stored in the section.
  std::optional<Piece> target_of(uint32_t section, const Elf32_Rel& relocation) const {
    const uint32_t index = ELF32_R_SYM(relocation.r_info);
    if (index == 0 || index >= symbols_.size()) return std::nullopt;
    const Elf32_Sym& symbol = symbols_[index];
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= sections_.size()) return std::nullopt;
    if (!is_strings(symbol.st_shndx)) return Piece{symbol.st_shndx, 0};
    uint32_t addend = 0;
    const bool is_absolute = ELF32_R_TYPE(relocation.r_info) == R_ARM_ABS32;
    if (is_absolute && !get(uint64_t{sections_[section].sh_offset} + relocation.r_offset, &addend)) return std::nullopt;
    return Piece{symbol.st_shndx, symbol.st_value + addend};
  }

  Span<const uint8_t> bytes_;
  std::vector<Elf32_Shdr> sections_;
  std::vector<uint32_t> relocations_;  // by section: its table of relocations, or 0
  std::vector<Elf32_Sym> symbols_;
  std::map<std::string_view, uint32_t> by_name_;
};

}  // namespace

Result<FirmwareSize> firmware_size(const std::string& object_path, const FirmwareParts& parts) {
  ASSIGN_OR_RETURN(compiler::FileMap map, compiler::FileMap::open(object_path));
  ObjectFile object(map.bytes());
  if (!object.read()) return Diag(Code::corrupt_file, "this is no relocatable object").at_file(object_path);
  FirmwareSize size;
  std::set<Piece> kept;
  if (parts.loads) size.core_bytes += object.keep(object.functions(kLoadingFunctions), &kept);
  if (parts.has_tables) size.core_bytes += object.keep(object.functions(kTableMethodFunctions), &kept);
  const std::set<std::string> wanted(parts.operators.begin(), parts.operators.end());
  std::vector<Piece> rows = object.rows(wanted, &size.kernels_bytes);
  size.kernels_bytes += kAroundRowsBytes + object.keep(std::move(rows), &kept);
  return size;
}

}  // namespace wick::device
