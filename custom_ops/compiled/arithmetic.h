// What operators compute of one element, and the rules about elements.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Code of each instruction set inlines these.
#if defined(__GNUC__)
#define SONNX_INLINE inline __attribute__((always_inline))
#else
#define SONNX_INLINE __forceinline
#endif

namespace {

struct Float16 {
  uint16_t bits;
};

struct Bfloat16 {
  uint16_t bits;
};

struct Bool {
  uint8_t byte;
};

SONNX_INLINE float from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

SONNX_INLINE uint32_t to_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// float16 and bfloat16 are computed in float and rounded once more, which gives the same result:
/// 24 bits are at least 2p + 2 for the p bits of either. The conversions have no branches, so that
/// compilers vectorize them.
SONNX_INLINE float widened(Float16 x) {
  const uint32_t bits = x.bits, magnitude = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
  const float scaled = from_bits(magnitude) * 0x1p112f;  // exact, subnormal numbers too
  const uint32_t finite = to_bits(scaled), special = magnitude | 0x7f800000u;
  return from_bits(((bits & 0x7c00u) == 0x7c00u ? special : finite) | sign);
}

SONNX_INLINE float widened(Bfloat16 x) { return from_bits(uint32_t{x.bits} << 16); }

SONNX_INLINE void narrow(float x, Float16& out) {
  const uint32_t bits = to_bits(x), magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
  // To the nearest even: of a normal number by adding, of a subnormal one by the addition of 0.5.
  const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  const uint32_t subnormal = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  const uint32_t special = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  out.bits = static_cast<uint16_t>((magnitude >= 0x47800000u ? special : finite) | sign);
}

SONNX_INLINE void narrow(float x, Bfloat16& out) {
  const uint32_t bits = to_bits(x);
  const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
  out.bits = static_cast<uint16_t>(is_nan ? (bits >> 16) | 0x40u : rounded);
}

SONNX_INLINE bool widened(Bool x) { return x.byte != 0; }

SONNX_INLINE void narrow(bool x, Bool& out) { out.byte = x; }

template <class T>
SONNX_INLINE T widened(T x) {
  return x;
}

template <class T>
SONNX_INLINE void narrow(T x, T& out) {
  out = x;
}

/// An integer as an unsigned one, in which sums wrap; floats as they are.
template <class T>
SONNX_INLINE auto wrapping(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x;
  } else {
    // Narrow ones would be promoted to signed ones.
    return static_cast<std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>>(x);
  }
}

/// The quotient of integers, truncated towards zero, of operands that keep the rules.
template <class T>
SONNX_INLINE T quotient(T a, T b) {
  if constexpr (std::is_floating_point_v<T> || sizeof(T) == 8) {
    return a / b;
  } else {
    // Exact: a quotient that is no integer differs from the next one by at least 1/|a| of its
    // size, and the division of floats by less. They are divided several at a time.
    using Float = std::conditional_t<(sizeof(T) < 4), float, double>;
    using Integer = std::conditional_t<(sizeof(T) < 4 || std::is_signed_v<T>), int32_t, int64_t>;
    return static_cast<T>(static_cast<Integer>(static_cast<Float>(a) / static_cast<Float>(b)));
  }
}

/// A float without its sign, NaN too; the magnitude of an integer.
template <class T>
SONNX_INLINE T magnitude(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fabs(x);
  } else if constexpr (std::is_signed_v<T>) {
    return x < 0 ? static_cast<T>(0 - wrapping(x)) : x;
  } else {
    return x;
  }
}

/// Whether a number is the larger one: NaN is, whatever the other is, and 0 rather than -0. The
/// second one is taken if this is false.
template <class T>
SONNX_INLINE bool is_larger(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a > b;
  } else {
    return (a > b) | (a != a) | ((a == b) & !std::signbit(a));
  }
}

/// Whether a number is the smaller one, in the same way.
template <class T>
SONNX_INLINE bool is_smaller(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b;
  } else {
    return (a < b) | (a != a) | ((a == b) & std::signbit(a));
  }
}

// What an operator computes of its first operand `a` and its second one `b`, both of type T.
#define SONNX_FUNCTION(NAME, RESULT)                                          \
  struct NAME {                                                               \
    template <class T>                                                        \
    static SONNX_INLINE auto of([[maybe_unused]] T a, [[maybe_unused]] T b) { \
      return RESULT;                                                          \
    }                                                                         \
  };
SONNX_FUNCTION(Abs, magnitude(a))
SONNX_FUNCTION(Add, static_cast<T>(wrapping(a) + wrapping(b)))
SONNX_FUNCTION(And, a && b)
SONNX_FUNCTION(BitwiseAnd, static_cast<T>(a & b))
SONNX_FUNCTION(BitwiseOr, static_cast<T>(a | b))
SONNX_FUNCTION(BitwiseXor, static_cast<T>(a ^ b))
SONNX_FUNCTION(Div, quotient(a, b))
SONNX_FUNCTION(Equal, a == b)
SONNX_FUNCTION(Greater, a > b)
SONNX_FUNCTION(GreaterOrEqual, a >= b)
SONNX_FUNCTION(Less, a < b)
SONNX_FUNCTION(LessOrEqual, a <= b)
SONNX_FUNCTION(Max, is_larger(a, b) ? a : b)
SONNX_FUNCTION(Min, is_smaller(a, b) ? a : b)
SONNX_FUNCTION(Mul, static_cast<T>(wrapping(a) * wrapping(b)))
SONNX_FUNCTION(Neg, static_cast<T>(-wrapping(a)))
SONNX_FUNCTION(Or, a || b)
SONNX_FUNCTION(Reciprocal, static_cast<T>(1 / a))
SONNX_FUNCTION(Sqrt, std::sqrt(a))
SONNX_FUNCTION(Sub, static_cast<T>(wrapping(a) - wrapping(b)))
SONNX_FUNCTION(Xor, a != b)
// Div of 64-bit integers below 2^51, which doubles divide exactly, for the same reason.
SONNX_FUNCTION(DivOfSmall, static_cast<T>(static_cast<double>(a) / static_cast<double>(b)))
#undef SONNX_FUNCTION

/// In the place of a function: nothing is computed.
struct Check {};

/// A rule about elements: whether a pair breaks it, and what the rule makes of a result.
struct ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T, T) {
    return false;
  }
  template <class T>
  static SONNX_INLINE T changed(T result, T) {
    return result;
  }
};

struct NonZeroDivisor : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T, T b) {
    return b == T{0};
  }
};

struct RepresentableQuotient : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T a, T b) {
    if constexpr (std::is_signed_v<T>) {
      return (a == std::numeric_limits<T>::min()) & (b == T{-1});
    } else {
      return false;
    }
  }
};

/// As RepresentableQuotient, for types of 32 bits and more.
struct WideQuotient : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T a, T b) {
    return sizeof(T) >= 4 && RepresentableQuotient::broken(a, b);
  }
};

struct InfinityForZeroDivisor : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T, T b) {
    return !std::is_floating_point_v<T> && b == T{0};
  }
  template <class T>
  static SONNX_INLINE T changed(T result, T b) {
    if constexpr (std::is_floating_point_v<T>) {
      return b == T{0} ? std::numeric_limits<T>::infinity() : result;
    } else {
      return result;
    }
  }
};

/// No element is the smallest of a signed type.
struct NotSmallest : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T x, T) {
    return std::is_signed_v<T> && x == std::numeric_limits<T>::min();
  }
};

/// No element of either operand is an int64 that int32 cannot hold.
struct WithinInt32 : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T a, T b) {
    if constexpr (std::is_signed_v<T> && sizeof(T) == 8) {
      return ((from_smallest(a) | from_smallest(b)) >> 32) != 0;
    } else {
      return false;
    }
  }

 private:
  /// By how much a number is above the smallest int32.
  static SONNX_INLINE uint64_t from_smallest(int64_t x) {
    return static_cast<uint64_t>(x) + 0x80000000u;
  }
};

/// No element shifts by the number of bits of the type, or more, or by a negative number.
struct WithinWidth : ElementRule {
  template <class T>
  static SONNX_INLINE bool broken(T, T y) {
    // As an unsigned number, a negative one is large.
    return static_cast<std::make_unsigned_t<T>>(y) >= 8 * sizeof(T);
  }
};

}  // namespace
