// Custom operators of ONNX Runtime that check the rules of the profile and compute in one pass.
//
// operators.inc, which scripts/compiled_operators.py writes from the profile, says which operators,
// types and rules there are; loops.h computes. No exception leaves a function that ONNX Runtime
// calls, and no result leaves a kernel that was not checked to the end.
#include <cstdlib>
#include <memory>
#include <new>

#include "arithmetic.h"
#include "broadcast.h"
#include "elementwise.h"
#include "guard.h"

#if defined(_WIN32)
#define SONNX_EXPORT __declspec(dllexport)
#else
#define SONNX_EXPORT __attribute__((visibility("default")))
#endif

namespace {

namespace baseline {
#include "loops.h"
#include "scans.h"
}

// Not with GCC on Windows, which does not align its stack for AVX (GCC bug 54412).
#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || !defined(_WIN32))
#define SONNX_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {
#include "loops.h"
#include "scans.h"
}
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#if defined(SONNX_AVX2)
/// Whether this processor has AVX2; the environment variable is for tests.
bool has_avx2() {
  static const bool has =
      __builtin_cpu_supports("avx2") && std::getenv("SONNX_ORT_WITHOUT_AVX2") == nullptr;
  return has;
}
#endif

/// The loops of an operator, for this processor.
template <class... Arguments>
Loops loops() {
#if defined(SONNX_AVX2)
  if (has_avx2()) return avx2::loops<Arguments...>();
#endif
  return baseline::loops<Arguments...>();
}

template <class Action>
OrtStatus* without_exceptions(Action action) noexcept {
  try {
    return action();
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return api->CreateStatus(ORT_FAIL, "a kernel of sonnx_ort failed");
  }
}

const Operator& operator_of(const OrtCustomOp* op) { return *static_cast<const Operator*>(op); }

size_t SONNX_CALL first_of_both(int** input, int** output) {
  *input = new (std::nothrow) int[1]{0};
  *output = new (std::nothrow) int[1]{0};
  return *input != nullptr && *output != nullptr ? 1 : 0;
}

void SONNX_CALL release_places(int* input, int* output) {
  delete[] input;
  delete[] output;
}

/// Fills in what ONNX Runtime asks of an operator.
template <class K>
void describe(Operator& op) {
  op.version = api_version;
  op.GetName = [](const OrtCustomOp* self) { return operator_of(self).name; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputType = [](const OrtCustomOp* self, size_t index) {
    return operator_of(self).types[index];
  };
  op.GetInputTypeCount = [](const OrtCustomOp* self) { return operator_of(self).types.size(); };
  op.GetOutputType = [](const OrtCustomOp* self, size_t) { return operator_of(self).out; };
  op.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  op.KernelDestroy = [](void* kernel) { delete static_cast<K*>(kernel); };
  static constexpr int kSingle = 0, kVariadic = 2;
  static constexpr bool kBroadcasts = std::is_same_v<K, BroadcastKernel>;
  static constexpr bool kGuards = std::is_same_v<K, GuardKernel>;
  op.GetInputCharacteristic = [](const OrtCustomOp*, size_t index) {
    const bool all = kBroadcasts || std::is_same_v<K, RepeatedKernel>;
    return all || (kGuards && index > 0) ? kVariadic : kSingle;
  };
  op.GetOutputCharacteristic = [](const OrtCustomOp*, size_t) {
    return kBroadcasts ? kVariadic : kSingle;
  };
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return 0; };
  const auto one = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicOutputMinArity = op.GetVariadicOutputHomogeneity = one;
  op.GetVariadicInputMinArity = op.GetVariadicInputHomogeneity = [](const OrtCustomOp*) {
    return kGuards ? 0 : 1;
  };
  op.GetStartVersion = one;
  op.GetEndVersion = [](const OrtCustomOp*) { return std::numeric_limits<int>::max(); };
  op.CreateKernelV2 = [](const OrtCustomOp* self, const OrtApi*, const OrtKernelInfo* info,
                         void** created) -> OrtStatus* {
    return without_exceptions([&]() -> OrtStatus* {
      auto kernel = std::make_unique<K>();
      kernel->op = &operator_of(self);
      SONNX_TRY(kernel->create(info));
      *created = kernel.release();
      return nullptr;
    });
  };
  op.KernelComputeV2 = [](void* kernel, OrtKernelContext* context) -> OrtStatus* {
    return without_exceptions([&] { return static_cast<K*>(kernel)->compute(context); });
  };
  if (kGuards) {
    op.GetAliasMap = first_of_both;
    op.ReleaseAliasMap = release_places;
  }
  bool checks_elements = false;
  for (const Contract& contract : op.contracts) {
    for (const Rule& rule : contract.rules) checks_elements |= rule.broken != nullptr;
  }
  // A violation tells elements, which a result in their place would have overwritten.
  constexpr bool kComputes = std::is_same_v<K, Kernel> || std::is_same_v<K, RepeatedKernel>;
  if (kComputes && !checks_elements && op.in_size == op.out_size) {
    op.GetMayInplace = first_of_both;
    op.ReleaseMayInplace = release_places;
  }
}

template <class T>
struct Type {
  using Element = T;
};

/// Does something for each of some types.
template <class... Types, class Action>
void for_types(Action action) {
  (action(Type<Types>{}), ...);
}

template <class T>
constexpr ElementType type_of() {
  if constexpr (std::is_same_v<T, float>) return ElementType::kFloat;
  if constexpr (std::is_same_v<T, double>) return ElementType::kDouble;
  if constexpr (std::is_same_v<T, Float16>) return ElementType::kFloat16;
  if constexpr (std::is_same_v<T, Bfloat16>) return ElementType::kBfloat16;
  if constexpr (std::is_same_v<T, int8_t>) return ElementType::kInt8;
  if constexpr (std::is_same_v<T, int16_t>) return ElementType::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return ElementType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return ElementType::kInt64;
  if constexpr (std::is_same_v<T, uint8_t>) return ElementType::kUint8;
  if constexpr (std::is_same_v<T, uint16_t>) return ElementType::kUint16;
  if constexpr (std::is_same_v<T, uint32_t>) return ElementType::kUint32;
  if constexpr (std::is_same_v<T, uint64_t>) return ElementType::kUint64;
  return ElementType::kBool;
}

template <class T>
std::string text(const void* element) {
  if constexpr (std::is_integral_v<T>) return std::to_string(*static_cast<const T*>(element));
  return "";  // no run breaks a rule about elements of other types
}

template <class Check, class T>
bool broken(const void* a, const void* b) {
  return Check::broken(*static_cast<const T*>(a), *static_cast<const T*>(b));
}

/// Copies the elements of X where the condition is true, and those of Y elsewhere.
template <class T>
void choose(Reading condition, Reading x, Reading y, void* result, size_t count) {
  const auto* const is_x = static_cast<const uint8_t*>(condition.elements);
  const auto* const of_x = static_cast<const T*>(x.elements);
  const auto* const of_y = static_cast<const T*>(y.elements);
  auto* const out = static_cast<T*>(result);
  if (condition.step == 1 && x.step == 1 && y.step == 1) {
    for (size_t i = 0; i < count; ++i) out[i] = is_x[i] != 0 ? of_x[i] : of_y[i];
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    out[i] = is_x[i * condition.step] != 0 ? of_x[i * x.step] : of_y[i * y.step];
  }
}

/// How elements of a type are looked at, for this processor.
template <class T>
Scans scans() {
#if defined(SONNX_AVX2)
  Scans made = has_avx2() ? avx2::scans<T>() : baseline::scans<T>();
#else
  Scans made = baseline::scans<T>();
#endif
  made.above = is_above<T>;
  made.text = told<T>;
  made.as_double = as_double<T>;
  if constexpr (std::is_integral_v<T>) made.interval = interval_of<T>;
  return made;
}

const Scans* scans_of(ElementType type) {
  static const auto all = [] {
    std::map<ElementType, Scans> made;
    for_types<Float16, float, double, Bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
              uint16_t, uint32_t, uint64_t>([&](auto of) {
      using T = typename decltype(of)::Element;
      made[type_of<T>()] = scans<T>();
    });
    return made;
  }();
  const auto found = all.find(type);
  return found == all.end() ? nullptr : &found->second;
}

template <class In, class Out>
Operator make(const char* name, const char* standard_name, std::vector<const char*> operands,
              std::vector<Contract> contracts) {
  Operator op{};
  op.name = name;
  op.standard_name = standard_name;
  op.operands = std::move(operands);
  op.types.assign(std::max<size_t>(op.operands.size(), 1), type_of<In>());
  op.out = type_of<Out>();
  op.in_size = sizeof(In);
  op.out_size = sizeof(Out);
  op.text = text<In>;
  op.contracts = std::move(contracts);
  return op;
}

/// The operator that guards values of a type, beside operands of any type.
template <class T>
Operator make_guard() {
  Operator op = make<T, T>("Guard", "", {}, {});
  op.types.push_back(ElementType::kUndefined);
  return op;
}

#include "operators.inc"

/// All operators, in a domain; sessions read both as long as they live, so nothing is released.
OrtCustomOpDomain* made_domain() {
  static const auto* const operators = [] {
    auto* made = new std::vector<Operator>(all_operators());
    for (Operator& op : *made) {
      if (op.types.size() == 2 && op.types[1] == ElementType::kUndefined) {
        describe<GuardKernel>(op);
      } else if (op.repeated != nullptr) {
        describe<RepeatedKernel>(op);
      } else if (op.operands.empty()) {
        describe<BroadcastKernel>(op);
      } else if (op.choose != nullptr) {
        describe<ChoosingKernel>(op);
      } else if (op.standard.types.empty()) {
        describe<Kernel>(op);
      } else {
        describe<StandardKernel>(op);
      }
    }
    return made;
  }();
  OrtCustomOpDomain* domain = nullptr;
  OrtStatus* failed = api->CreateCustomOpDomain("sonnx.compiled", &domain);
  for (const Operator& op : *operators) {
    if (failed == nullptr) failed = api->CustomOpDomain_Add(domain, &op);
  }
  if (failed != nullptr) api->ReleaseStatus(failed);
  return failed == nullptr ? domain : nullptr;
}

}  // namespace

/// The table of rules that the library was made of, by its digest.
extern "C" SONNX_EXPORT const char* sonnx_ort_table() { return table_digest; }

/// What `SessionOptions.register_custom_ops_library` calls.
extern "C" SONNX_EXPORT OrtStatus* SONNX_CALL RegisterCustomOps(OrtSessionOptions* options,
                                                                const OrtApiBase* base) {
  // Taken once: a thread may start a session while those of others run. The interface has the number
  // of the release: 17 is the first with ParallelFor, 18 with GetMayInplace, 24 with shapes that are
  // not copied.
  static const int minor = [&] {
    const int number = std::atoi(base->GetVersionString() + 2);
    api_version = static_cast<uint32_t>(std::min(number, 24));
    api = base->GetApi(api_version);
    return number;
  }();
  if (minor < 17) return status("the operators of sonnx_ort need ONNX Runtime 1.17 or newer");
  return without_exceptions([&]() -> OrtStatus* {
    static OrtCustomOpDomain* const domain = made_domain();
    if (domain == nullptr) return status("ONNX Runtime does not take the operators of sonnx_ort");
    return api->AddCustomOpDomain(options, domain);
  });
}
