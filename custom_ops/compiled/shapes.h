// Shapes, their texts, and how two operands of different shapes are read without being expanded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace {

constexpr size_t kMaxRank = 64;

struct Shape {
  size_t rank = 0;
  int64_t sizes[kMaxRank];

  bool operator==(const Shape& other) const {
    return rank == other.rank && std::equal(sizes, sizes + rank, other.sizes);
  }

  size_t count() const {
    size_t count = 1;
    for (size_t axis = 0; axis < rank; ++axis) count *= static_cast<size_t>(sizes[axis]);
    return count;
  }

  /// The size on an axis of a shape that has more axes in front.
  int64_t at(size_t axis, size_t of_rank) const {
    return axis + rank < of_rank ? 1 : sizes[axis + rank - of_rank];
  }

  /// `(2, 3)`, `(4,)`, `()`.
  std::string text() const {
    std::string text = "(";
    for (size_t axis = 0; axis < rank; ++axis) {
      text += (axis == 0 ? "" : ", ") + std::to_string(sizes[axis]);
    }
    return text + (rank == 1 ? ",)" : ")");
  }

  /// The index of an element, given its place in row-major order: `[1, 2]`.
  std::string index_text(size_t place) const {
    std::string text = "]";
    for (size_t axis = rank; axis-- > 0;) {
      const auto size = static_cast<size_t>(sizes[axis]);
      text = (axis == 0 ? "" : ", ") + std::to_string(place % size) + text;
      place /= size;
    }
    return "[" + text;
  }
};

inline bool all_equal(const Shape* shapes, size_t count) {
  return std::all_of(shapes, shapes + count, [&](const Shape& each) { return each == shapes[0]; });
}

/// Two operands whose sizes do not fit on an axis of their common shape.
struct Misfit {
  size_t axis, first, second;
};

/// Whether two sizes of an axis are equal, or the smaller one is 1.
inline bool fit(int64_t one, int64_t other) { return one == other || std::min(one, other) == 1; }

/// Finds the common shape of operands; false, and the first misfit, if there is none.
inline bool find_common(const Shape* shapes, size_t count, Shape& common, Misfit& misfit) {
  common.rank = 0;
  for (size_t i = 0; i < count; ++i) common.rank = std::max(common.rank, shapes[i].rank);
  for (size_t axis = 0; axis < common.rank; ++axis) {
    int64_t& largest = common.sizes[axis] = shapes[0].at(axis, common.rank);
    for (size_t i = 1; i < count; ++i) {
      const int64_t size = shapes[i].at(axis, common.rank);
      if (fit(size, largest)) {
        largest = std::max(size, largest);
      } else {
        size_t first = 0;
        while (fit(shapes[first].at(axis, common.rank), size)) ++first;
        misfit = {axis, first, i};
        return false;
      }
    }
  }
  return true;
}

/// How two operands are read for one result: for each axis its size, and the step of each operand.
/// The innermost axis is the first. Axes of size 1 are left out, and those joined that both
/// operands read through.
struct Walk {
  size_t axes = 0;
  size_t sizes[kMaxRank], steps_a[kMaxRank], steps_b[kMaxRank];

  Walk(const Shape& a, const Shape& b, const Shape& result) {
    size_t step_a = 1, step_b = 1;
    for (size_t axis = result.rank; axis-- > 0;) {
      const auto size_a = static_cast<size_t>(a.at(axis, result.rank));
      const auto size_b = static_cast<size_t>(b.at(axis, result.rank));
      const auto size = static_cast<size_t>(result.sizes[axis]);
      if (size != 1) add(size, size_a == 1 ? 0 : step_a, size_b == 1 ? 0 : step_b);
      step_a *= size_a;
      step_b *= size_b;
    }
    if (axes == 0) add(1, 1, 1);
  }

  /// Both operands are read as they lie.
  explicit Walk(size_t count) { add(count, 1, 1); }

  /// Whether the first operand is read through on the innermost axis, and again on the next one.
  bool rows_repeat() const { return axes > 1 && steps_a[0] != 0 && steps_a[1] == 0; }

  /// Where an element of the result is in both operands, and on the innermost axis.
  struct Place {
    size_t a = 0, b = 0, inner = 0;
  };

  Place at(size_t index) const {
    Place place;
    place.inner = index % sizes[0];
    for (size_t axis = 0; axis < axes; ++axis) {
      const size_t on_axis = axis + 1 == axes ? index : index % sizes[axis];
      place.a += on_axis * steps_a[axis];
      place.b += on_axis * steps_b[axis];
      index /= sizes[axis];
    }
    return place;
  }

 private:
  void add(size_t size, size_t step_a, size_t step_b) {
    if (axes > 0) {
      const size_t last = axes - 1, inner = sizes[last];
      if (step_a == inner * steps_a[last] && step_b == inner * steps_b[last]) {
        sizes[last] *= size;
        return;
      }
    }
    sizes[axes] = size;
    steps_a[axes] = step_a;
    steps_b[axes++] = step_b;
  }
};

}  // namespace
