#include "compiler/ir/constant_data.h"

#include <algorithm>
#include <cstring>

#include "compiler/ir/numbers.h"
#include "compiler/support/content_hash.h"

namespace wick::compiler {
namespace {

// A part of this size fits in a core's private cache.
constexpr size_t kPartBytes = size_t{64} << 10;

size_t rows_of_part(const ComputedRows& rows) {
  return std::max<size_t>(kPartBytes / std::max<size_t>(rows.row_bytes(), 1), 1);
}

// Computes the rows in parts, so that the data from which they are computed also stays in the cache.
void compute_in_parts(const ComputedRows& rows, size_t first, size_t count, uint8_t* out) {
  const size_t step = rows_of_part(rows);
  for (size_t row = 0; row < count; row += step)
    rows.compute(first + row, std::min(step, count - row), out + row * rows.row_bytes());
}

}  // namespace

ConstantData::ConstantData() = default;
ConstantData::ConstantData(Span<const uint8_t> bytes, std::shared_ptr<const void> owner)
    : bytes_(bytes), owner_(std::move(owner)), facts_(std::make_shared<ConstantFacts>()) {}
ConstantData::ConstantData(std::shared_ptr<const ComputedRows> rows, ConstantFacts facts)
    : rows_(std::move(rows)), facts_(std::make_shared<ConstantFacts>(facts)) {}
ConstantData::ConstantData(const ConstantData& other) = default;
ConstantData::ConstantData(ConstantData&& other) noexcept = default;
ConstantData& ConstantData::operator=(const ConstantData& other) = default;
ConstantData& ConstantData::operator=(ConstantData&& other) noexcept = default;
ConstantData::~ConstantData() = default;

Span<const uint8_t> ConstantData::bytes() const {
  if (!rows_) return bytes_;
  if (!rows_->kept_) {
    auto all = std::make_shared_for_overwrite<uint8_t[]>(rows_->size_bytes());
    compute_in_parts(*rows_, 0, rows_->count(), all.get());
    rows_->kept_ = std::move(all);
  }
  return {rows_->kept_.get(), rows_->size_bytes()};
}

ConstantData ConstantData::part(size_t offset, size_t count) const {
  const Span<const uint8_t> all = bytes();
  return {all.subspan(offset, count), rows_ ? rows_->kept_ : owner_};
}

void ConstantData::read(size_t offset, size_t count, uint8_t* out) const {
  if (count == 0) return;
  if (!rows_ || rows_->kept_) {
    memcpy(out, bytes().data() + offset, count);
    return;
  }
  const size_t row_bytes = rows_->row_bytes();
  const size_t first = offset / row_bytes, end = (offset + count + row_bytes - 1) / row_bytes;
  if (offset % row_bytes == 0 && count % row_bytes == 0) return compute_in_parts(*rows_, first, end - first, out);
  const auto covering = std::make_unique_for_overwrite<uint8_t[]>((end - first) * row_bytes);
  compute_in_parts(*rows_, first, end - first, covering.get());
  memcpy(out, covering.get() + (offset - first * row_bytes), count);
}

Status ConstantData::for_each_part(const std::function<Status(Span<const uint8_t>)>& visit) const {
  if (!rows_ || rows_->kept_) return visit(bytes());
  const size_t step = std::min(rows_of_part(*rows_), rows_->count());
  const auto part = std::make_unique_for_overwrite<uint8_t[]>(step * rows_->row_bytes());
  for (size_t row = 0; row < rows_->count(); row += step) {
    const size_t count = std::min(step, rows_->count() - row);
    rows_->compute(row, count, part.get());
    RETURN_IF_ERROR(visit({part.get(), count * rows_->row_bytes()}));
  }
  return {};
}

ConstantFacts& ConstantData::facts() const {
  if (!facts_) facts_ = std::make_shared<ConstantFacts>();
  return *facts_;
}

uint64_t ConstantData::hash() const {
  if (!facts().hash) {
    ContentHash hash;
    (void)for_each_part([&](Span<const uint8_t> part) {
      hash.add(part);
      return Status();
    });
    facts().hash = hash.value();
  }
  return *facts().hash;
}

const NumberFacts& ConstantData::number_facts(DType dtype) const {
  std::optional<NumberFacts>& known = facts().numbers;
  if (!known || known->dtype != dtype) {
    NumberRange range(dtype);
    (void)for_each_part([&](Span<const uint8_t> part) {
      range.add(part);
      return Status();
    });
    known = range.facts();
  }
  return *known;
}

bool same_bytes(const ConstantData& a, const ConstantData& b) {
  if (a.size_bytes() != b.size_bytes()) return false;
  if (a.computed() ? a.computed() == b.computed() : !b.computed() && a.bytes().data() == b.bytes().data()) return true;
  if (!a.computed() && b.computed()) return same_bytes(b, a);
  std::unique_ptr<uint8_t[]> other;
  size_t at = 0;
  bool same = true;
  (void)a.for_each_part([&](Span<const uint8_t> part) {
    const uint8_t* against = nullptr;
    if (b.computed()) {
      if (!other) other = std::make_unique_for_overwrite<uint8_t[]>(part.size());  // the first part is the largest
      b.read(at, part.size(), other.get());
      against = other.get();
    } else {
      against = b.bytes().data() + at;
    }
    at += part.size();
    same = part.empty() || memcmp(part.data(), against, part.size()) == 0;
    return same ? Status() : Status(Diag(Code::internal, "they differ"));
  });
  return same;
}

}  // namespace wick::compiler
