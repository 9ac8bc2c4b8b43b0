// Array: memory for this rank's part of a distributed array, reached by global index.
#pragma once

#include <complex>
#include <memory>
#include <span>

#include "weft/layout.hpp"

namespace weft {

/// `bytes` of zeroed memory, aligned to 64 bytes and on huge pages where the system has them.
/// Throws Error(out_of_memory).
WEFT_API std::shared_ptr<void> allocate_zeroed(std::size_t bytes);

/// This rank's part of a distributed array: the box that `layout` gives it, for each of `fields`
/// fields.
///
/// Memory is shared by copies of an Array, as by copies of a std::shared_ptr.
template <class T>
class Array {
 public:
  Array(Layout layout, int rank, int fields, std::int64_t field_stride,
        std::shared_ptr<void> memory)
      : layout_(std::move(layout)),
        box_(layout_.box(rank)),
        strides_(layout_.strides(rank)),
        offset_(layout_.offset(rank)),
        fields_(fields),
        field_stride_(field_stride),
        memory_(std::move(memory)) {}

  const Box& box() const noexcept { return box_; }              ///< global indices held here
  const Layout& layout() const noexcept { return layout_; }     ///< of every rank
  const Extents& strides() const noexcept { return strides_; }  ///< in elements
  int fields() const noexcept { return fields_; }
  std::int64_t field_stride() const noexcept {
    return field_stride_;
  }  ///< elements between two fields
  const std::shared_ptr<void>& memory() const noexcept { return memory_; }
  T* data() noexcept { return static_cast<T*>(memory_.get()); }
  const T* data() const noexcept { return static_cast<const T*>(memory_.get()); }

  /// The element at a global index, which must lie in box().
  T& operator()(const Index& global_index, int field = 0) {
    return data()[position(global_index, field)];
  }
  const T& operator()(const Index& global_index, int field = 0) const {
    return data()[position(global_index, field)];
  }

  /// Calls `body(global_index, element)` for each element of a field, the last axis fastest.
  template <class Body>
  void for_each(Body&& body, int field = 0) {
    for_each_index(box_, [&](const Index& index) { body(index, (*this)(index, field)); });
  }
  template <class Body>
  void for_each(Body&& body, int field = 0) const {
    for_each_index(box_, [&](const Index& index) { body(index, (*this)(index, field)); });
  }

  /// Sets each element of a field to `value_at(global_index)`.
  template <class Function>
  void fill(Function&& value_at, int field = 0) {
    for_each([&](const Index& index, T& element) { element = static_cast<T>(value_at(index)); },
             field);
  }

 private:
  std::int64_t position(const Index& global_index, int field) const {
    std::int64_t result = offset_ + field * field_stride_;
    for (int axis = 0; axis < box_.dimensions(); ++axis)
      result += (global_index[axis] - box_.lower[axis]) * strides_[axis];
    return result;
  }

  Layout layout_;
  Box box_;
  Extents strides_;
  std::int64_t offset_;
  int fields_;
  std::int64_t field_stride_;
  std::shared_ptr<void> memory_;
};

}  // namespace weft
