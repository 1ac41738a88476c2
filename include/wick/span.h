// A borrowed, contiguous range of elements. C++17, freestanding.
#pragma once
#include <stddef.h>

namespace wick {

/// Borrows `size()` elements starting at `data()`; never owns them.
/// Indexing is unchecked: whoever takes an index from a file checks it first.
template <typename T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t N>
  constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
  /// Span<T> converts to Span<const T>.
  template <typename U, typename = decltype(static_cast<T*>(static_cast<U*>(nullptr)))>
  constexpr Span(const Span<U>& other) : data_(other.data()), size_(other.size()) {}

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T& operator[](size_t index) const { return data_[index]; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr Span subspan(size_t offset, size_t count) const { return Span(data_ + offset, count); }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace wick
