// What guards test: the rules, how elements of each type are looked at, and how tests are read.
//
// What a node tests are attributes, which custom_ops/compiled/guards.py writes from the terms of
// rules. What is unknown here is refused when a session starts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "arithmetic.h"
#include "terms.h"

namespace {

/// What a rule says that a guard tests, by its code.
struct RuleText {
  int64_t code;
  const char* id;
  const char* sentence;
};

const std::vector<RuleText>& guarded_rules();

/// The smallest and the largest element that is allowed, as the bits of its type.
struct Ends {
  uint64_t lowest, highest;
};

/// An element as a double.
using ToDouble = double (*)(const void* element);

/// The smallest and the largest of some elements, as doubles.
struct Interval {
  double least, most;
};
using ToInterval = Interval (*)(const void* elements, size_t count);

/// Whether all of some elements are allowed.
using Scan = bool (*)(const void* elements, size_t count, const Ends& ends);

/// How elements of a type are looked at.
struct Scans {
  size_t size;
  Scan within[2][2];  // where NaN is allowed, where 0 is
  Scan whole;         // finite and without a fraction; null for integers
  bool (*above)(const void* one, const void* other);
  size_t (*infinite_line)(const void* elements, size_t count, size_t length,
                          size_t distance);  // null for integers
  std::string (*text)(const void* element);
  ToDouble as_double;
  ToInterval interval;  // null for floats
};

template <class T>
bool is_above(const void* one, const void* other) {
  return widened(*static_cast<const T*>(one)) > widened(*static_cast<const T*>(other));
}

template <class T>
double as_double(const void* element) {
  return static_cast<double>(widened(*static_cast<const T*>(element)));
}

template <class T>
Interval interval_of(const void* elements, size_t count) {
  const T* const of = static_cast<const T*>(elements);
  T least = of[0], most = of[0];
  for (size_t i = 1; i < count; ++i) {
    least = std::min(least, of[i]);
    most = std::max(most, of[i]);
  }
  return {as_double<T>(&least), as_double<T>(&most)};
}

template <class T>
std::string told(const void* element) {
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(*static_cast<const T*>(element));
  } else {
    std::array<char, 64> text{};
    const double number = as_double<T>(element);
    std::snprintf(text.data(), text.size(), "%.*g", sizeof(T) == 8 ? 17 : 9, number);
    return text.data();
  }
}

/// Which powers of integers are of their type, and exact if they are computed in double.
struct Powers {
  double below, above;  // next to the least and to the largest
  double exponents;     // above the largest exponent
};

/// Null for a type whose elements no guard looks at.
const Scans* scans_of(ElementType type);

enum class Kind : int {
  kWithin, kWhole, kCrossed, kLines, kDifference, kPower, kSlice, kOnce, kInferable, kSame, kBut,
  kShapes,
};

/// One test of a node.
struct Test {
  const RuleText* rule = nullptr;
  Kind kind{};
  size_t operand = 0;
  ElementType type{};
  Ends ends{};
  Scan scan = nullptr;
  int64_t number = 0;            // an axis, a demand, or whether a 0 copies a size
  size_t other = 0;              // an operand that is subtracted
  Powers powers{};
  std::vector<int64_t> term;     // words and numbers, each word in front of what it is about; or axes
};

/// The words of a test, which spaces separate.
class Words {
 public:
  explicit Words(const std::string& text) {
    for (size_t start = 0; start < text.size();) {
      const size_t end = std::min(text.find(' ', start), text.size());
      if (end > start) words_.push_back(text.substr(start, end - start));
      start = end + 1;
    }
  }

  bool at_end() const { return next_ == words_.size(); }

  /// The next word; empty at the end.
  std::string peek() const { return at_end() ? "" : words_[next_]; }
  std::string take() { return at_end() ? "" : words_[next_++]; }

  int64_t number() {
    return read<int64_t>("a number is missing", [](const char* text, char** end) {
      return std::strtoll(text, end, 10);
    });
  }

  uint64_t bits() {
    return read<uint64_t>("bits are missing", [](const char* text, char** end) {
      return std::strtoull(text, end, 16);
    });
  }

 private:
  template <class T, class Convert>
  T read(const char* otherwise, Convert convert) {
    const std::string word = take();
    char* end = nullptr;
    const T found = static_cast<T>(convert(word.c_str(), &end));
    if (word.empty() || end != word.c_str() + word.size()) throw std::invalid_argument(otherwise);
    return found;
  }

  std::vector<std::string> words_;
  size_t next_ = 0;
};

inline void scanned_type(Words& words, Test& test) {
  test.type = static_cast<ElementType>(words.number());
  if (scans_of(test.type) == nullptr) throw std::invalid_argument("a type is unknown");
}

inline size_t operand_in(Words& words) {
  const int64_t operand = words.number();
  if (operand < 0) throw std::invalid_argument("an operand is negative");
  return static_cast<size_t>(operand);
}

/// Reads the operand, its type, both ends, and whether NaN and 0 are allowed.
inline size_t of_elements(Words& words, Test& test) {
  test.operand = operand_in(words);
  scanned_type(words, test);
  test.ends.lowest = words.bits();
  test.ends.highest = words.bits();
  const bool nan = words.number() != 0, zero = words.number() != 0;
  const Scans& scans = *scans_of(test.type);
  test.scan = test.kind == Kind::kWhole ? scans.whole : scans.within[nan][zero];
  if (test.scan == nullptr) throw std::invalid_argument("a type has no fractions");
  return test.operand + 1;
}

/// Reads the type of bases, and the limits of powers and of exponents.
inline void of_powers(Words& words, Test& test) {
  scanned_type(words, test);
  if (scans_of(test.type)->interval == nullptr) throw std::invalid_argument("a type is unknown");
  for (double* limit : {&test.powers.below, &test.powers.above, &test.powers.exponents}) {
    const uint64_t bits = words.bits();
    std::memcpy(limit, &bits, sizeof bits);
  }
}

inline std::vector<int64_t> term_in(Words& given) {
  std::vector<int64_t> term;
  while (!given.at_end()) {
    const auto word = words().find(given.peek());
    if (word == words().end()) {
      term.push_back(given.number());
    } else {
      given.take();
      term.push_back(static_cast<int64_t>(word->second));
    }
  }
  return term;
}

/// Reads one test: the code of its rule, its kind, and what that takes.
inline Test parsed(const std::string& line, size_t count) {
  static const std::map<std::string, Kind> kinds{
      {"within", Kind::kWithin}, {"whole", Kind::kWhole},     {"crossed", Kind::kCrossed},
      {"lines", Kind::kLines},   {"slice", Kind::kSlice},     {"inferable", Kind::kInferable},
      {"same", Kind::kSame},     {"but", Kind::kBut},         {"shapes", Kind::kShapes},
      {"once", Kind::kOnce},     {"power", Kind::kPower},     {"difference", Kind::kDifference},
  };
  Words words(line);
  const int64_t code = words.number();
  Test test;
  for (const RuleText& rule : guarded_rules()) {
    if (rule.code == code) test.rule = &rule;
  }
  const auto known = kinds.find(words.take());
  if (test.rule == nullptr || known == kinds.end()) {
    throw std::invalid_argument("a rule or a kind of test is unknown");
  }
  test.kind = known->second;
  size_t needed = 1;
  switch (test.kind) {
    case Kind::kWithin: case Kind::kWhole: needed = of_elements(words, test); break;
    case Kind::kCrossed:
      scanned_type(words, test);
      test.ends.lowest = words.bits();
      test.ends.highest = words.bits();
      test.scan = scans_of(test.type)->within[0][1];
      needed = 3;
      break;
    case Kind::kLines: scanned_type(words, test); test.number = words.number(); break;
    case Kind::kDifference:
      test.operand = operand_in(words);
      test.other = operand_in(words);
      test.type = ElementType::kInt32;
      test.scan = scans_of(test.type)->within[0][1];
      needed = std::max(test.operand, test.other) + 1;
      break;
    case Kind::kPower: of_powers(words, test); needed = 2; break;
    case Kind::kOnce:
      while (!words.at_end()) test.term.push_back(words.number());
      needed = test.term.empty() ? 2 : 1;
      break;
    case Kind::kSlice: test.number = words.number(); needed = 5; break;
    case Kind::kInferable: test.number = words.number(); needed = 2; break;
    case Kind::kBut: test.number = words.number(); break;
    case Kind::kSame: break;
    case Kind::kShapes: test.term = term_in(words); break;
  }
  if (!words.at_end()) throw std::invalid_argument("a test goes on after its end");
  if (count < needed) throw std::invalid_argument("an operand of a test is missing");
  if (test.kind == Kind::kShapes) {
    const std::vector<Given> scalars(count);
    Term(test.term, scalars.data(), count).holds();
  }
  return test;
}

}  // namespace
