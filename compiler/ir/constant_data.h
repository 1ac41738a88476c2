// Bytes of constants: in memory, or computed whenever they are read.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "compiler/support/result.h"
#include "wick/dtype.h"
#include "wick/span.h"

namespace wick::compiler {

/// Rows of equal size. Each reader computes their bytes anew, always with the same result.
class ComputedRows {
 public:
  /// `depth`: the length of the chain of computations behind a row; 1 if it is computed from bytes in memory.
  ComputedRows(size_t count, size_t row_bytes, size_t depth) : count_(count), row_bytes_(row_bytes), depth_(depth) {}
  virtual ~ComputedRows() = default;

  /// Computes the rows [first, first + count), which must exist.
  virtual void compute(size_t first, size_t count, uint8_t* out) const = 0;
  size_t count() const { return count_; }
  size_t row_bytes() const { return row_bytes_; }
  size_t size_bytes() const { return count_ * row_bytes_; }

 private:
  friend class ConstantData;

  const size_t count_, row_bytes_, depth_;
  mutable std::shared_ptr<uint8_t[]> kept_;  // all bytes, once somebody asked for them in one piece
};

/// The range of a list of numbers; 0 and 0 for an empty list.
struct NumberFacts {
  DType dtype = DType::f64;
  double least = 0, largest = 0;  // valid if all are finite
  bool finite = true;             // no NaN and no infinity among them
  bool whole = true;              // all are integers
};

/// Facts about a constant that are known without reading its bytes.
struct ConstantFacts {
  std::optional<uint64_t> hash;   // content_hash
  std::optional<double> largest;  // largest magnitude of its floating elements; known only if all are finite
  std::optional<NumberFacts> numbers = std::nullopt;  // for the dtype that number_facts() was last asked for
};

/// The bytes of a constant, dense, in the dim order of its type. Cheap to copy; copies share the bytes and the known
/// facts. Not thread-safe: concurrent readers of one constant must take turns.
class ConstantData {
 public:
  ConstantData();
  /// Bytes in the mapped file (`owner` null) or in memory that `owner` keeps alive.
  ConstantData(Span<const uint8_t> bytes, std::shared_ptr<const void> owner);
  /// `facts`: what is already known about the bytes.
  ConstantData(std::shared_ptr<const ComputedRows> rows, ConstantFacts facts);
  ConstantData(const ConstantData& other);
  ConstantData(ConstantData&& other) noexcept;
  ConstantData& operator=(const ConstantData& other);
  ConstantData& operator=(ConstantData&& other) noexcept;
  ~ConstantData();

  size_t size_bytes() const { return rows_ ? rows_->size_bytes() : bytes_.size(); }
  bool empty() const { return size_bytes() == 0; }
  /// The rows that compute the bytes; null if the bytes are in memory.
  const ComputedRows* computed() const { return rows_.get(); }
  /// The length of the chain of computations behind the bytes; 0 if they are in memory.
  size_t depth() const { return rows_ && !rows_->kept_ ? rows_->depth_ : 0; }
  /// All bytes in one piece. Computed bytes are kept from then on, which takes memory. Read large ones in parts.
  Span<const uint8_t> bytes() const;
  /// The bytes [offset, offset + count) of bytes(), which must exist. Shares their memory.
  ConstantData part(size_t offset, size_t count) const;
  /// Copies the bytes [offset, offset + count), which must exist. Keeps nothing.
  void read(size_t offset, size_t count, uint8_t* out) const;
  /// Visits all bytes in order, in parts of any size. Keeps nothing. Stops at the first error.
  Status for_each_part(const std::function<Status(Span<const uint8_t>)>& visit) const;

  /// content_hash of the bytes, which are read once.
  uint64_t hash() const;
  std::optional<double> known_largest() const { return facts_ ? facts_->largest : std::nullopt; }
  /// The range of the elements, read as `dtype`: f16, bf16, f32, f64, u8 or a signed integer; `finite` is false for
  /// other dtypes. The elements are read once.
  const NumberFacts& number_facts(DType dtype) const;

 private:
  ConstantFacts& facts() const;

  Span<const uint8_t> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const ComputedRows> rows_;      // replaces bytes_ and owner_
  mutable std::shared_ptr<ConstantFacts> facts_;  // null: no fact is known
};

/// Are the bytes equal? Keeps nothing.
bool same_bytes(const ConstantData& a, const ConstantData& b);

}  // namespace wick::compiler
