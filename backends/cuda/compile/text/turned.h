// Kernel vocabulary: squares in shared memory that are written along one side and read along the other (transposed).
namespace wick_text {
namespace {

constexpr u32 kTurnedSide = 64;

/// The place of an element in a square of kTurnedSide lines of kTurnedSide elements. Units of 4 or 8 bytes are permuted
/// within their line, so that two kinds of accesses use different banks: vectors of 16 bytes in a few lines, and
/// elements at one place of lines that are 16 / sizeof(T) apart.
template <typename T>
WICK_FUNCTION u32 turned_at(u32 line, u32 place) {
  constexpr u32 kUnitBytes = sizeof(T) < 4 ? 4 : sizeof(T), kUnit = kUnitBytes / sizeof(T),
                kUnits = kTurnedSide / kUnit;
  constexpr u32 kVector = 16 / sizeof(T), kUnitsOfVector = 16 / kUnitBytes;
  const u32 mask = (line % kUnitsOfVector + line / kVector % 8 * kUnitsOfVector) % kUnits;
  return line * kTurnedSide + (place / kUnit ^ mask) * kUnit + place % kUnit;
}

/// Stores adjacent elements of a line, from `place` on, which is a multiple of their number.
template <typename T, int kCount>
WICK_FUNCTION void turn_in(T* square, u32 line, u32 place, const Vector<T, kCount>& elements) {
  constexpr int kUnit = sizeof(T) < 4 && kCount * sizeof(T) >= 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  WICK_UNROLL
  for (int i = 0; i < kCount; i += kUnit) {
    Vector<T, kUnit> unit;
    for (int k = 0; k < kUnit; ++k) unit[k] = elements[i + k];
    store_vector(square + turned_at<T>(line, place + static_cast<u32>(i)), unit);
  }
}

}  // namespace
}  // namespace wick_text
