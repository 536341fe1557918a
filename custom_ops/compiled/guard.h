// The operator that guards a value: it tests shapes and elements in a run, and gives its first
// operand on as it lies in memory, or fails.
//
// It reads shapes when it runs, and no result leaves it that was not tested to the end.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "guard_tests.h"
#include "runtime.h"

namespace {

/// The element of a vector of int32 or int64.
struct Integers {
  const char* data = nullptr;
  size_t count = 0;
  bool is_long = true;

  int64_t operator[](size_t index) const {
    if (is_long) return reinterpret_cast<const int64_t*>(data)[index];
    return reinterpret_cast<const int32_t*>(data)[index];
  }
};

/// A look at all elements of a value, by several threads.
struct Look {
  Scan scan;
  const Ends& ends;
  const char* data;
  size_t size, count;
  std::atomic<bool> outside{false};

  void part(size_t number) {
    const size_t begin = number * kPart, end = std::min(count, begin + kPart);
    if (!outside && !scan(data + begin * size, end - begin, ends)) outside = true;
  }
};

/// A look at the powers of all bases, by several threads.
struct LookAtPowers {
  const Powers& allowed;
  const Scans& scans;
  const char *bases, *exponents;
  size_t count;
  std::atomic<bool> outside{false};

  bool within(size_t index) const {
    const double exponent = scans.as_double(exponents + index * scans.size);
    return allows(scans.as_double(bases + index * scans.size), exponent);
  }

  void part(size_t number) {
    const size_t begin = number * kPart, end = std::min(count, begin + kPart);
    if (outside || largest_within(begin, end - begin)) return;
    for (size_t index = begin; index < end && !outside; ++index) {
      if (!within(index)) outside = true;
    }
  }

 private:
  bool allows(double base, double exponent) const {
    const double power = std::pow(base, exponent);
    return power > allowed.below && power < allowed.above && exponent < allowed.exponents;
  }

  /// Whether the largest base by the largest exponent shows that all powers of a part are allowed.
  bool largest_within(size_t begin, size_t taken) const {
    const Interval base = scans.interval(bases + begin * scans.size, taken);
    const Interval exponent = scans.interval(exponents + begin * scans.size, taken);
    const double largest = std::max(std::max(-base.least, base.most), 1.0);
    if (exponent.least < 0 || !allows(largest, exponent.most)) return false;
    return base.least >= 0 || -std::pow(largest, exponent.most) > allowed.below;
  }
};

/// A node that guards a value.
struct GuardKernel {
  const Operator* op = nullptr;
  std::string place;               // Clip 'activation'
  std::vector<std::string> names;  // of its operands, in messages
  std::vector<Test> tests;         // in the order in which rules are decided

  OrtStatus* create(const OrtKernelInfo* info) {
    std::string label, name, text;
    size_t count = 0;
    SONNX_TRY(api->KernelInfo_GetInputCount(info, &count));
    if (!read_attribute(info, "node", label) || !read_attribute(info, "operator", name) ||
        !read_attribute(info, "tests", text) || !read_values(info, count, names)) {
      return unusable(*op, "needs the text attributes 'node', 'operator', 'tests', 'operand_0', ...");
    }
    place = name + " '" + label + "'";
    try {
      for (size_t start = 0; start < text.size();) {
        const size_t end = std::min(text.find(';', start), text.size());
        tests.push_back(parsed(text.substr(start, end - start), count));
        start = end + 1;
      }
    } catch (const std::invalid_argument& error) {
      return unusable(*op, "'" + label + "' cannot be read: " + error.what());
    }
    if (tests.empty()) return unusable(*op, "'" + label + "' has no test");
    return nullptr;
  }

  OrtStatus* compute(OrtKernelContext* context) const {
    std::array<Given, 4> few;
    std::vector<Given> many;
    const size_t count = names.size();
    if (count > few.size()) many.resize(count);
    Given* const given = count > few.size() ? many.data() : few.data();
    for (size_t i = 0; i < count; ++i) SONNX_TRY(read(context, i, given[i]));
    for (const Test& test : tests) SONNX_TRY(tested(context, test, given));
    return give_on(context, given[0]);
  }

 private:
  static OrtStatus* read(OrtKernelContext* context, size_t index, Given& given) {
    SONNX_TRY(api->KernelContext_GetInput(context, index, &given.value));
    if (given.value == nullptr) return status("an operand of a guard of sonnx_ort is missing");
    return read_shape(given.value, given.type, given.shape);
  }

  static OrtStatus* elements(const Given& given, const char*& data) {
    void* found = nullptr;
    SONNX_TRY(api->GetTensorMutableData(const_cast<OrtValue*>(given.value), &found));
    data = static_cast<const char*>(found);
    return nullptr;
  }

  OrtStatus* give_on(OrtKernelContext* context, const Given& given) const {
    char* to = nullptr;
    const char* from = nullptr;
    SONNX_TRY(make_output(context, 0, given.shape, to));
    const size_t count = given.shape.count();
    if (to == nullptr || count == 0) return nullptr;
    SONNX_TRY(elements(given, from));
    // What a graph returns has memory of its own.
    if (to != from) std::memcpy(to, from, count * op->in_size);
    return nullptr;
  }

  OrtStatus* tested(OrtKernelContext* context, const Test& test, const Given* given) const {
    switch (test.kind) {
      case Kind::kWithin: case Kind::kWhole: return looked(context, test, test.ends, given);
      case Kind::kCrossed: return crossed(test, given);
      case Kind::kLines: return lines(test, given);
      case Kind::kDifference: return differing(context, test, given);
      case Kind::kPower: return powers(context, test, given);
      case Kind::kOnce: return named_once(test, given);
      case Kind::kSlice: return sliced(test, given);
      case Kind::kInferable: return inferable(test, given);
      default: return shaped(test, given) ? nullptr : broken(test, "", given);
    }
  }

  bool shaped(const Test& test, const Given* given) const {
    const size_t count = names.size();
    const Shape& first = given[0].shape;
    if (test.kind == Kind::kShapes) return Term(test.term, given, count).holds();
    if (test.kind == Kind::kBut && first.rank == 0) return true;
    int64_t except = static_cast<int64_t>(kMaxRank);
    if (test.kind == Kind::kBut) {
      const auto rank = static_cast<int64_t>(first.rank);
      const int64_t axis = test.number < 0 ? test.number + rank : test.number;
      if (axis >= 0) except = axis;
    }
    for (size_t i = 1; i < count; ++i) {
      const Shape& other = given[i].shape;
      if (other.rank != first.rank) return false;
      for (size_t axis = 0; axis < first.rank; ++axis) {
        const bool counts = static_cast<int64_t>(axis) != except;
        if (counts && other.sizes[axis] != first.sizes[axis]) return false;
      }
    }
    return true;
  }

  OrtStatus* looked(OrtKernelContext* context, const Test& test, const Ends& ends,
                    const Given* given) const {
    const Given& of = given[test.operand];
    if (of.type != test.type) return of_other_type();
    const size_t count = of.shape.count();
    if (count == 0) return nullptr;
    const char* data = nullptr;
    SONNX_TRY(elements(of, data));
    const size_t size = scans_of(test.type)->size;
    Look look{test.scan, ends, data, size, count};
    SONNX_TRY(do_parts(context, count, look));
    return look.outside ? first_outside(test, given, data, ends) : nullptr;
  }

  /// The violation by the first element that is not allowed.
  OrtStatus* first_outside(const Test& test, const Given* given, const char* data,
                           const Ends& ends) const {
    const Given& of = given[test.operand];
    const size_t count = of.shape.count(), size = scans_of(of.type)->size;
    size_t index = 0;
    for (size_t taken; index < count; index += taken) {
      taken = std::min(kPart, count - index);
      if (!test.scan(data + index * size, taken, ends)) break;
    }
    while (index < count && test.scan(data + index * size, 1, ends)) ++index;
    if (index == count) return changed_meanwhile();
    return broken(test, element(test.operand, given, data, index), given);
  }

  OrtStatus* changed_meanwhile() const {
    return status(place + ": its operands changed while it ran");
  }

  std::string element(size_t operand, const Given* given, const char* data, size_t index) const {
    const Given& of = given[operand];
    const Scans& scans = *scans_of(of.type);
    return names[operand] + of.shape.index_text(index) + " = " +
           scans.text(data + index * scans.size);
  }

  /// Numbers under a lower bound that is above the upper one, where both are scalars.
  OrtStatus* crossed(const Test& test, const Given* given) const {
    for (size_t i = 0; i < 3; ++i) {
      if (given[i].type != test.type) return of_other_type();
    }
    if (given[1].shape.rank != 0 || given[2].shape.rank != 0) return nullptr;
    const char *lowest = nullptr, *highest = nullptr, *data = nullptr;
    SONNX_TRY(elements(given[1], lowest));
    SONNX_TRY(elements(given[2], highest));
    const size_t count = given[0].shape.count();
    if (count == 0 || !scans_of(test.type)->above(lowest, highest)) return nullptr;
    SONNX_TRY(elements(given[0], data));
    if (test.scan(data, count, test.ends)) return nullptr;
    return first_outside(test, given, data, test.ends);
  }

  /// Numbers of int32 from which not all numbers of another operand can be subtracted.
  OrtStatus* differing(OrtKernelContext* context, const Test& test, const Given* given) const {
    using Limits = std::numeric_limits<int32_t>;
    const Given& other = given[test.other];
    if (other.type != ElementType::kInt32) return of_other_type();
    const size_t count = other.shape.count();
    if (count == 0) return nullptr;
    const char* data = nullptr;
    SONNX_TRY(elements(other, data));
    const auto* const subtracted = reinterpret_cast<const int32_t*>(data);
    const auto [smallest, largest] = std::minmax_element(subtracted, subtracted + count);
    const int32_t lowest = Limits::min() + std::max(*largest, 0);
    const int32_t highest = Limits::max() + std::min(*smallest, 0);
    const Ends ends{static_cast<uint32_t>(lowest), static_cast<uint32_t>(highest)};
    return looked(context, test, ends, given);
  }

  /// Powers of integers beyond their type, or that double may not have.
  OrtStatus* powers(OrtKernelContext* context, const Test& test, const Given* given) const {
    if (given[0].type != test.type || given[1].type != test.type) return of_other_type();
    if (!(given[0].shape == given[1].shape)) {
      return status(place + ": a guard of powers got operands of two shapes");
    }
    const size_t count = given[0].shape.count();
    if (count == 0) return nullptr;
    const char *bases = nullptr, *exponents = nullptr;
    SONNX_TRY(elements(given[0], bases));
    SONNX_TRY(elements(given[1], exponents));
    LookAtPowers look{test.powers, *scans_of(test.type), bases, exponents, count};
    SONNX_TRY(do_parts(context, count, look));
    if (!look.outside) return nullptr;
    size_t index = 0;
    while (index < count && look.within(index)) ++index;
    if (index == count) return changed_meanwhile();
    const std::string power = element(0, given, bases, index);
    return broken(test, power + ", " + element(1, given, exponents, index), given);
  }

  /// An axis of the first operand that is named twice, from the front or from the end.
  OrtStatus* named_once(const Test& test, const Given* given) const {
    std::vector<int64_t> axes = test.term;
    if (axes.empty()) {
      Integers named;
      SONNX_TRY(integers(given[1], named));
      for (size_t i = 0; i < named.count; ++i) axes.push_back(named[i]);
    }
    const auto rank = static_cast<int64_t>(given[0].shape.rank);
    const auto front = [rank](int64_t axis) { return axis < 0 ? axis + rank : axis; };
    for (size_t i = 0; i < axes.size(); ++i) {
      for (size_t before = 0; before < i; ++before) {
        if (front(axes[i]) != front(axes[before])) continue;
        return broken(test, std::to_string(axes[before]) + " and " + std::to_string(axes[i]) +
                                " name one axis", given);
      }
    }
    return nullptr;
  }

  /// Lines along an axis that are negative infinity throughout.
  OrtStatus* lines(const Test& test, const Given* given) const {
    const Shape& shape = given[0].shape;
    if (given[0].type != test.type) return of_other_type();
    const auto rank = static_cast<int64_t>(shape.rank);
    const size_t count = shape.count();
    if (test.number < -rank || test.number >= rank || count == 0) return nullptr;
    const auto axis = static_cast<size_t>(test.number < 0 ? test.number + rank : test.number);
    const Scans& scans = *scans_of(test.type);
    const char* data = nullptr;
    SONNX_TRY(elements(given[0], data));
    const auto length = static_cast<size_t>(shape.sizes[axis]);
    size_t inner = 1;
    for (size_t after = axis + 1; after < shape.rank; ++after) {
      inner *= static_cast<size_t>(shape.sizes[after]);
    }
    const size_t line =
        scans.infinite_line == nullptr ? count : scans.infinite_line(data, count, length, inner);
    return line == count ? nullptr : broken(test, element(0, given, data, line), given);
  }

  static OrtStatus* integers(const Given& given, Integers& made) {
    if (given.type != ElementType::kInt64 && given.type != ElementType::kInt32) {
      return of_other_type();
    }
    made.is_long = given.type == ElementType::kInt64;
    made.count = given.shape.count();
    return elements(given, made.data);
  }

  /// Places of a Slice: data, starts, ends, axes and steps. What ONNX Runtime refuses is not judged.
  OrtStatus* sliced(const Test& test, const Given* given) const {
    Integers entries[4];
    for (size_t i = 0; i < 4; ++i) {
      if (given[i + 1].shape.rank != 1) return nullptr;
      SONNX_TRY(integers(given[i + 1], entries[i]));
      if (entries[i].count != entries[0].count) return nullptr;
    }
    const auto& [starts, ends, axes, steps] = entries;
    const auto rank = static_cast<int64_t>(given[0].shape.rank);
    for (size_t i = 0; i < starts.count; ++i) {
      if (axes[i] < -rank || axes[i] >= rank) return nullptr;
    }
    for (size_t i = 0; i < starts.count; ++i) {
      const int64_t size = given[0].shape.sizes[axes[i] < 0 ? axes[i] + rank : axes[i]];
      const int64_t start = starts[i], end = ends[i], down = steps[i] < 0 ? 1 : 0;
      bool kept = true;
      if (test.number == 0) {
        kept = -size <= start && start < size;
      } else if (test.number == 1) {
        kept = -size - down <= end && end <= size - down;
      } else {
        const int64_t first = start < 0 ? start + size : start, last = end < 0 ? end + size : end;
        kept = down != 0 ? last <= first : first <= last;
      }
      if (kept) continue;
      return broken(test, "start " + std::to_string(start) + ", end " + std::to_string(end) +
                              ", step " + std::to_string(steps[i]) + " on an axis of size " +
                              std::to_string(size), given);
    }
    return nullptr;
  }

  /// A size of -1 that does not follow from the others.
  OrtStatus* inferable(const Test& test, const Given* given) const {
    Integers sizes;
    if (given[1].shape.rank != 1) return nullptr;
    SONNX_TRY(integers(given[1], sizes));
    bool inferred = false, zero = false;
    for (size_t i = 0; i < sizes.count; ++i) {
      inferred |= sizes[i] == -1;
      zero |= sizes[i] == 0;
    }
    if (test.number != 0) zero = given[0].shape.count() == 0;
    return inferred && zero ? broken(test, "a size is -1", given) : nullptr;
  }

  static OrtStatus* of_other_type() {
    return status("a guard of sonnx_ort got an operand of another type than it was made for");
  }

  OrtStatus* broken(const Test& test, const std::string& element, const Given* given) const {
    std::string found = element;
    for (size_t i = 0; i < names.size(); ++i) {
      found += (found.empty() ? "" : i == 0 ? "; " : ", ") + names[i] + " is of shape " +
               given[i].shape.text();
    }
    return status("SONNX: " + place + " breaks " + test.rule->id + ": " + found + ". The rule: " +
                  test.rule->sentence);
  }

};

}  // namespace
