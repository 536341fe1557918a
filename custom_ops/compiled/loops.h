// Loops over elements. kernels.cc includes this file once for each instruction set, in a namespace
// of its own, so nothing here may be a function that all of them share, but inlined ones.

// An operand may lie where the result does; elements never depend on others.
#undef SONNX_VECTORIZE
#if defined(__clang__)
// Some loops stay as they are, with the same results.
#pragma clang diagnostic ignored "-Wpass-failed"
#define SONNX_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define SONNX_VECTORIZE _Pragma("GCC ivdep")
#else
#define SONNX_VECTORIZE
#endif

/// One operator on one type, with the rules about its elements.
template <class Function, class In, class Out, class... Rules>
struct Elements {
  /// Check and compute a block. STEP 0 repeats the one element of an operand.
  /// Returns whether all elements keep the rules; if not, what was written is no result.
  template <int STEP_A, int STEP_B>
  static bool compute(const void* first, const void* second, void* result, size_t count) {
    const In* const a = static_cast<const In*>(first);
    const In* const b = static_cast<const In*>(second);
    Out* const c = static_cast<Out*>(result);
    if constexpr (kChooses && sizeof...(Rules) > 0) {
      return choose<STEP_A, STEP_B>(a, b, c, count);
    } else if constexpr (std::is_integral_v<In> && sizeof...(Rules) > 0) {
      using Unsigned = std::make_unsigned_t<In>;
      Unsigned bad = 0, magnitude = 0;
      SONNX_VECTORIZE
      for (size_t i = 0; i < count; ++i) {
        const In x = a[i * STEP_A], y = b[i * STEP_B];
        ((bad |= static_cast<Unsigned>(Rules::broken(x, y))), ...);
        magnitude |= static_cast<Unsigned>(x < 0 ? ~x : x) | static_cast<Unsigned>(y < 0 ? ~y : y);
      }
      if (bad != 0) return false;
      if constexpr (std::is_same_v<Function, Div> && sizeof(In) == 8) {
        if (magnitude >> 51 == 0) {
          fill<STEP_A, STEP_B, DivOfSmall>(a, b, c, count);
          return true;
        }
      }
    }
    if constexpr (!std::is_same_v<Function, Check>) {
      fill<STEP_A, STEP_B, Function>(a, b, c, count);
    }
    return true;
  }

 private:
  static constexpr bool kChooses = std::is_same_v<Function, Max> || std::is_same_v<Function, Min>;

  /// In one pass, because any elements may be computed: one of them is taken.
  template <int STEP_A, int STEP_B>
  static bool choose(const In* a, const In* b, Out* c, size_t count) {
    std::make_unsigned_t<In> bad = 0;
    SONNX_VECTORIZE
    for (size_t i = 0; i < count; ++i) {
      const In x = a[i * STEP_A], y = b[i * STEP_B];
      ((bad |= static_cast<std::make_unsigned_t<In>>(Rules::broken(x, y))), ...);
      c[i] = Function::of(x, y);
    }
    return bad == 0;
  }

  template <int STEP_A, int STEP_B, class F>
  static void fill(const In* a, const In* b, Out* c, size_t count) {
    SONNX_VECTORIZE
    for (size_t i = 0; i < count; ++i) {
      const auto x = widened(a[i * STEP_A]), y = widened(b[i * STEP_B]);
      auto value = F::of(x, y);
      if constexpr (std::is_same_v<decltype(value), std::decay_t<decltype(y)>>) {
        ((value = Rules::changed(value, y)), ...);
      }
      narrow(value, c[i]);
    }
  }
};

/// The loops of an operator.
template <class Function, class In, class Out, class... Rules>
Loops loops() {
  using All = Elements<Function, In, Out, Rules...>;
  return {&All::template compute<1, 1>, &All::template compute<0, 1>, &All::template compute<1, 0>};
}
