// Terms of shapes, as guards read them: words and numbers, each word in front of what it is about.
//
// custom_ops/compiled/guards.py writes them from the terms of rules.
#pragma once

#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "operators.h"

namespace {

enum class Word : int64_t {
  kEqual, kAtLeast, kAtMost, kMultiple, kAxis, kBehind, kAll, kAny, kNumber, kRank, kSize, kTimes,
};

inline const std::map<std::string, Word>& words() {
  static const std::map<std::string, Word> all{
      {"is", Word::kEqual},     {"at_least", Word::kAtLeast}, {"at_most", Word::kAtMost},
      {"multiple", Word::kMultiple}, {"axis", Word::kAxis},   {"behind", Word::kBehind},
      {"all", Word::kAll},      {"any", Word::kAny},          {"number", Word::kNumber},
      {"rank", Word::kRank},    {"size", Word::kSize},        {"times", Word::kTimes},
  };
  return all;
}

/// An operand of a node in a run.
struct Given {
  const OrtValue* value = nullptr;
  ElementType type{};
  Shape shape;
};

/// A number that shapes decide: a size of an axis that is not there is none.
struct Number {
  bool there = false, huge = false;
  int64_t value = 0;
};

/// Reads a term of shapes, word by word.
class Term {
 public:
  Term(const std::vector<int64_t>& term, const Given* given, size_t count)
      : term_(term), given_(given), count_(count) {}

  /// Whether it holds.
  bool holds() {
    const bool found = read(0);
    if (next_ != term_.size()) throw std::invalid_argument("a term goes on after its end");
    return found;
  }

 private:
  static constexpr int kDeepest = 64;

  int64_t take() {
    if (next_ == term_.size()) throw std::invalid_argument("a term ends too early");
    return term_[next_++];
  }

  const Shape& shape() {
    const int64_t operand = take();
    if (operand < 0 || static_cast<size_t>(operand) >= count_) {
      throw std::invalid_argument("a term names an operand that is not there");
    }
    return given_[operand].shape;
  }

  bool read(int depth) {
    if (depth > kDeepest) throw std::invalid_argument("a term is too deep");
    const auto word = static_cast<Word>(take());
    switch (word) {
      case Word::kEqual: case Word::kAtLeast: case Word::kAtMost: {
        const Number left = number(depth + 1), right = number(depth + 1);
        return compared(word, left, right);
      }
      case Word::kMultiple: {
        const Number one = number(depth + 1);
        const int64_t factor = take();
        if (factor < 1) throw std::invalid_argument("a factor is not positive");
        return one.there && (factor == 1 || (!one.huge && one.value % factor == 0));
      }
      case Word::kAxis: {
        const auto rank = static_cast<int64_t>(shape().rank);
        const int64_t axis = take(), or_end = take();
        return -rank <= axis && axis < rank + (or_end != 0);
      }
      case Word::kBehind: {
        const Shape& of = shape();
        const auto rank = static_cast<int64_t>(of.rank);
        const int64_t axis = take(), longest = take();
        if (axis < -rank || axis >= rank) return false;
        for (int64_t place = (axis < 0 ? axis + rank : axis) + 1; place < rank; ++place) {
          if (of.sizes[place] > longest) return false;
        }
        return true;
      }
      case Word::kAll: case Word::kAny: {
        const bool all = word == Word::kAll;
        bool found = all;
        const int64_t many = take();
        if (many < 1) throw std::invalid_argument("a term is about nothing");
        for (int64_t left = many; left > 0; --left) {
          const bool each = read(depth + 1);
          found = all ? found && each : found || each;
        }
        return found;
      }
      default: throw std::invalid_argument("a term begins with a number");
    }
  }

  Number number(int depth) {
    if (depth > kDeepest) throw std::invalid_argument("a term is too deep");
    switch (static_cast<Word>(take())) {
      case Word::kNumber: return {true, false, take()};
      case Word::kRank: return {true, false, static_cast<int64_t>(shape().rank)};
      case Word::kSize: {
        const Shape& of = shape();
        const auto rank = static_cast<int64_t>(of.rank);
        const int64_t axis = take();
        if (axis < -rank || axis >= rank) return {};
        return {true, false, of.sizes[axis < 0 ? axis + rank : axis]};
      }
      case Word::kTimes: {
        const int64_t factor = take();
        Number made = number(depth + 1);
        if (factor < 0) throw std::invalid_argument("a factor is negative");
        constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
        made.huge = made.there && factor != 0 && (made.huge || made.value > kLargest / factor);
        made.value = made.huge ? 0 : made.value * factor;
        return made;
      }
      default: throw std::invalid_argument("a term has no number where it needs one");
    }
  }

  static bool compared(Word word, const Number& left, const Number& right) {
    if (!left.there || !right.there) return false;
    if (word == Word::kAtMost) return compared(Word::kAtLeast, right, left);
    if (left.huge || right.huge) return word == Word::kAtLeast && left.huge && !right.huge;
    return word == Word::kEqual ? left.value == right.value : left.value >= right.value;
  }

  const std::vector<int64_t>& term_;
  const Given* given_;
  size_t count_;
  size_t next_ = 0;
};

}  // namespace
