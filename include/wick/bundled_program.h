// A checked program with test sets (.bpte) in memory. C++17, freestanding.
#pragma once
#include "wick/program.h"

namespace wick {

namespace bpte {
struct BundledProgram;
}

/// A .pte and, for some of its methods, inputs with the outputs that they should give. Borrows the file, which must
/// outlive it. The program inside is not checked: Program::load does that. Indices must be below the matching count.
class BundledProgram {
 public:
  /// Whether the file says that it is one.
  static bool is_bundled(Span<const uint8_t> file);
  /// `file` starts at a multiple of 16 bytes.
  /// Errors: InvalidArgument (misaligned), InvalidProgram (corrupt). No allocation.
  static Result<BundledProgram> load(Span<const uint8_t> file, const LoadOptions& options = {});

  /// The bytes of the .pte.
  Span<const uint8_t> program() const;

  /// The newest version of the format that this runtime knows. Newer ones are read, too, as stock does: a change that
  /// an older reader would misread changes the identifier.
  static constexpr uint32_t kKnownVersion = 2;
  uint32_t version() const;
  /// Whether the file says something about its test sets that this runtime does not know.
  bool has_unknown_fields() const;

  /// A suite holds the test sets of one method; several may name the same one, or one that the program lacks.
  size_t num_suites() const;
  const char* method(size_t suite) const;
  size_t num_sets(size_t suite) const;
  size_t num_inputs(size_t suite, size_t set) const;
  size_t num_outputs(size_t suite, size_t set) const;
  /// A tensor with its bytes, which lie in the order of its dim order at any address, or a number.
  ValueMeta input(size_t suite, size_t set, size_t index) const;
  ValueMeta output(size_t suite, size_t set, size_t index) const;

 private:
  explicit BundledProgram(const bpte::BundledProgram* root) : root_(root) {}
  const bpte::BundledProgram* root_;
};

}  // namespace wick
