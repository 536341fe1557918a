// Looks at elements, which guards take. kernels.cc includes this file once for each instruction set,
// in a namespace of its own, as it does with loops.h.

/// How numbers of a type are compared: in their order, NaN beyond both ends.
template <class T>
struct InOrder {
  using Key = T;
  static SONNX_INLINE Key of(T x) { return x; }
};

/// 16-bit floats are compared as integers: they have a sign and a magnitude.
template <class T>
struct OfBits {
  using Key = int16_t;
  static SONNX_INLINE Key of(T x) {
    const auto bits = static_cast<int16_t>(x.bits);
    return static_cast<int16_t>(bits ^ ((bits >> 15) & 0x7fff));
  }
};

template <>
struct InOrder<Float16> : OfBits<Float16> {
  static constexpr int kInfinity = 0x7c00;
};

template <>
struct InOrder<Bfloat16> : OfBits<Bfloat16> {
  static constexpr int kInfinity = 0x7f80;
};

/// An unsigned number of the size of a type.
template <size_t SIZE>
using Flag = std::conditional_t<
    SIZE == 8, uint64_t,
    std::conditional_t<SIZE == 4, uint32_t, std::conditional_t<SIZE == 2, uint16_t, uint8_t>>>;

template <class T>
SONNX_INLINE T of_bits(uint64_t bits) {
  const auto narrow = static_cast<Flag<sizeof(T)>>(bits);
  T made;
  std::memcpy(&made, &narrow, sizeof made);
  return made;
}

/// Elements within both ends. Those of a block are compared without a branch, in several streams:
/// no comparison waits for the one before it.
template <class T, bool NAN_TOO, bool ZERO_TOO>
struct Within {
  using Key = typename InOrder<T>::Key;
  static constexpr bool kIs16Bits = !std::is_same_v<Key, T>;
  static constexpr size_t kStreams = 4, kLength = 4096 / kStreams, kMany = kStreams * kLength;

  static SONNX_INLINE bool is_outside(T element, Key lowest, Key highest) {
    const Key x = InOrder<T>::of(element);
    bool outside;
    if constexpr (std::is_floating_point_v<T> && !NAN_TOO) {
      outside = !(x >= lowest) | !(x <= highest);
    } else {
      outside = (x < lowest) | (x > highest);
    }
    if constexpr (kIs16Bits && NAN_TOO) outside &= (element.bits & 0x7fff) <= InOrder<T>::kInfinity;
    if constexpr (!ZERO_TOO) outside |= (x == Key{0}) | (kIs16Bits && x == static_cast<Key>(-1));
    return outside;
  }

  static bool all(const void* elements, size_t count, const Ends& ends) {
    const T* const given = static_cast<const T*>(elements);
    Key lowest = InOrder<T>::of(of_bits<T>(ends.lowest));
    Key highest = InOrder<T>::of(of_bits<T>(ends.highest));
    if constexpr (kIs16Bits) {
      // Both zeros are one number.
      if (lowest == 0) lowest = static_cast<Key>(-1);
      if (highest == static_cast<Key>(-1)) highest = 0;
    }
    const auto look = [lowest, highest](T element) {
      return static_cast<Flag<sizeof(T)>>(is_outside(element, lowest, highest));
    };
    size_t start = 0;
    for (; start + kMany <= count; start += kMany) {
      const T* const block = given + start;
      Flag<sizeof(T)> first = 0, second = 0, third = 0, fourth = 0;
      for (size_t i = 0; i < kLength; ++i) {
        first |= look(block[i]);
        second |= look(block[i + kLength]);
        third |= look(block[i + 2 * kLength]);
        fourth |= look(block[i + 3 * kLength]);
      }
      if ((first | second | third | fourth) != 0) return false;
    }
    Flag<sizeof(T)> outside = 0;
    for (; start < count; ++start) outside |= look(given[start]);
    return outside == 0;
  }
};

/// Floats within both ends that have no fraction.
template <class T>
bool all_whole(const void* elements, size_t count, const Ends& ends) {
  if (!Within<T, false, true>::all(elements, count, ends)) return false;
  const T* const given = static_cast<const T*>(elements);
  bool fraction = false;
  for (size_t i = 0; i < count; ++i) {
    const auto x = widened(given[i]);
    fraction |= std::floor(x) != x;
  }
  return !fraction;
}

/// Whether a float is negative infinity.
template <class T>
SONNX_INLINE bool is_negative_infinity(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return x == -std::numeric_limits<T>::infinity();
  } else {
    return x.bits == (0x8000 | InOrder<T>::kInfinity);
  }
}

/// The start of the first line that is negative infinity throughout; the count if there is none.
/// The elements of a line lie apart by a distance.
template <class T>
size_t infinite_line(const void* elements, size_t count, size_t length, size_t distance) {
  const T* const given = static_cast<const T*>(elements);
  for (size_t start = 0; start < count; start += length * distance) {
    for (size_t line = start; line < start + distance; ++line) {
      size_t seen = 0;
      while (seen < length && is_negative_infinity(given[line + seen * distance])) ++seen;
      if (seen == length) return line;
    }
  }
  return count;
}

/// What is done with elements of a type.
template <class T>
Scans scans() {
  Scans made{};
  made.size = sizeof(T);
  made.within[0][0] = Within<T, false, false>::all;
  made.within[0][1] = Within<T, false, true>::all;
  made.within[1][0] = Within<T, true, false>::all;
  made.within[1][1] = Within<T, true, true>::all;
  if constexpr (!std::is_integral_v<T>) {
    made.whole = all_whole<T>;
    made.infinite_line = infinite_line<T>;
  }
  return made;
}
