// Custom operators of ONNX Runtime that check the rules of the profile and compute in one pass.
//
// operators.inc, which scripts/compiled_operators.py writes from the profile, says which operators,
// types and rules there are; loops.h computes. No exception leaves a function that ONNX Runtime
// calls, and no result leaves a kernel that was not checked to the end.
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "arithmetic.h"
#include "onnxruntime_abi.h"
#include "shapes.h"

#if defined(_WIN32)
#define SONNX_EXPORT __declspec(dllexport)
#else
#define SONNX_EXPORT __attribute__((visibility("default")))
#endif

namespace {

/// Checks and computes a block; false if an element breaks a rule.
using Loop = bool (*)(const void* a, const void* b, void* result, size_t count);

/// The loops for two operands side by side, and for one of them repeated.
struct Loops {
  Loop both, first_repeated, second_repeated;
};

namespace baseline {
#include "loops.h"
}

#if defined(__x86_64__) && defined(__GNUC__)
#define SONNX_AVX2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {
#include "loops.h"
}
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

/// The loops of an operator, for this processor; the environment variable is for tests.
template <class... Arguments>
Loops loops() {
#if defined(SONNX_AVX2)
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") && std::getenv("SONNX_ORT_WITHOUT_AVX2") == nullptr;
  if (has_avx2) return avx2::loops<Arguments...>();
#endif
  return baseline::loops<Arguments...>();
}

/// A rule that a run can violate.
struct Rule {
  const char* id;
  const char* sentence;
  const char* finding;  // what an element is that breaks it
  bool (*broken)(const void* a, const void* b);  // null for a rule about shapes
};

/// The rules of an edition, and the loops that check those about elements.
struct Contract {
  const char* edition;
  std::vector<Rule> rules;
  Loops loops;
};

/// One operator on one type.
struct Operator : OrtCustomOp {
  const char* name;
  const char* standard_name;
  std::vector<const char*> operands;  // one or two; none for a Broadcast, which has any number
  ElementType in, out;
  size_t in_size, out_size;
  std::string (*text)(const void* element);
  std::vector<Contract> contracts;
};

const Rule& broadcast_rule();

const OrtApi* api = nullptr;
uint32_t api_version = 0;

OrtStatus* status(const std::string& message) {
  return api->CreateStatus(ORT_INVALID_ARGUMENT, message.c_str());
}

#define SONNX_TRY(call) \
  if (OrtStatus* const failed = (call)) return failed

/// A node of a session: what its attributes decide.
struct Node {
  const Operator* op = nullptr;
  std::string place;                // Div 'ratio'
  std::string broadcast;            // Broadcast 'ratio', or that of the node in front
  std::vector<std::string> values;  // the names of the operands, where any is broadcast

  OrtStatus* violated(const std::string& where, const Rule& rule, const std::string& reason,
                      const std::vector<std::string>& names, const Shape* shapes) const {
    std::string shown;
    for (size_t i = 0; i < names.size(); ++i) {
      shown += (i == 0 ? "" : ", ") + names[i] + " " + shapes[i].text();
    }
    return status("SONNX: " + where + " breaks " + rule.id + ": " + reason + "; shapes " + shown +
                  ". The rule: " + rule.sentence);
  }

  /// The violation of shapes that do not fit on an axis of their common shape.
  OrtStatus* violated(const Misfit& misfit, size_t rank, const Shape* shapes) const {
    std::string sizes;
    for (const size_t i : {misfit.first, misfit.second}) {
      sizes += (sizes.empty() ? "" : " and ") + std::to_string(shapes[i].at(misfit.axis, rank)) +
               " in X" + std::to_string(i) +
               (misfit.axis + shapes[i].rank < rank ? " (which has no such axis)" : "");
    }
    std::vector<std::string> names;
    for (const std::string& value : values) {
      names.push_back("X" + std::to_string(names.size()) + " '" + value + "'");
    }
    return violated(broadcast, broadcast_rule(),
                    "axis " + std::to_string(misfit.axis) + " has size " + sizes, names, shapes);
  }
};

/// A node of an operator with rules of its own.
struct Kernel : Node {
  const Contract* contract = nullptr;
  std::array<bool, 2> expands{};  // which operands are broadcast to the common shape

  size_t operand_count() const { return op->operands.size(); }

  OrtStatus* broken(const Rule& rule, const std::string& reason, const Shape* shapes) const {
    return violated(place, rule, reason, {op->operands.begin(), op->operands.end()}, shapes);
  }

  /// The violation of two shapes that differ, by the first rule about shapes.
  OrtStatus* shapes_differ(const Shape* shapes) const {
    const std::string reason =
        "the shapes " + shapes[0].text() + " and " + shapes[1].text() + " differ";
    for (const Rule& rule : contract->rules) {
      if (rule.broken == nullptr) return broken(rule, reason, shapes);
    }
    return status(place + ": " + reason);
  }

  OrtStatus* create(const OrtKernelInfo* info);
  OrtStatus* compute(OrtKernelContext* context) const;
};

/// A node of Broadcast.
struct BroadcastKernel : Node {
  OrtStatus* create(const OrtKernelInfo* info);
  OrtStatus* compute(OrtKernelContext* context) const;
};

constexpr size_t kBlock = 4096;        // elements that are checked, then computed from the cache
constexpr size_t kPart = 8 * kBlock;   // elements that a thread takes at a time

/// Has threads do the parts of a work on some elements.
template <class Work>
OrtStatus* do_parts(OrtKernelContext* context, size_t count, Work& work) {
  const size_t parts = (count + kPart - 1) / kPart;
  if (parts > 1) {
    const auto part = [](void* all, size_t number) { static_cast<Work*>(all)->part(number); };
    return api->KernelContext_ParallelFor(context, part, parts, 0, &work);
  }
  work.part(0);
  return nullptr;
}

/// The computation of one result.
struct Run {
  const Kernel& kernel;
  const Walk& walk;
  const char* a;
  const char* b;
  char* result;
  size_t count;
  std::atomic<bool> broken{false};

  void part(size_t number) {
    const Operator& op = *kernel.op;
    const Loops& loops = kernel.contract->loops;
    const Loop loop = walk.steps_a[0] == 0   ? loops.first_repeated
                      : walk.steps_b[0] == 0 ? loops.second_repeated
                                             : loops.both;
    const size_t end = std::min(count, (number + 1) * kPart);
    for (size_t index = number * kPart, taken; index < end && !broken; index += taken) {
      const Walk::Place place = walk.at(index);
      taken = std::min({kBlock, end - index, walk.sizes[0] - place.inner});
      if (!loop(a + place.a * op.in_size, b + place.b * op.in_size, result + index * op.out_size,
                taken)) {
        broken = true;
      }
    }
  }

  /// The first violation in the order of the rules, then of the elements.
  OrtStatus* violation(const Shape& common) const {
    const Operator& op = *kernel.op;
    const Shape shapes[] = {common, common};
    for (const Rule& rule : kernel.contract->rules) {
      for (size_t index = 0; rule.broken != nullptr && index < count; ++index) {
        const Walk::Place place = walk.at(index);
        const char* const elements[] = {a + place.a * op.in_size, b + place.b * op.in_size};
        if (!rule.broken(elements[0], elements[1])) continue;
        std::string reason = rule.finding;
        for (size_t i = 0; i < kernel.operand_count(); ++i) {
          reason += (i == 0 ? ": " : ", ") + (op.operands[i] + common.index_text(index)) + " = " +
                    op.text(elements[i]);
        }
        return kernel.broken(rule, reason, shapes);
      }
    }
    return status(kernel.place + ": its operands changed while it ran");
  }
};

OrtStatus* too_many_axes() { return status("sonnx_ort computes tensors of at most 64 axes"); }

/// Reads the shape and the elements of an input.
OrtStatus* read_input(OrtKernelContext* context, size_t index, Shape& shape, const char*& data) {
  const OrtValue* value = nullptr;
  SONNX_TRY(api->KernelContext_GetInput(context, index, &value));
  if (value == nullptr) return status("an operand of an operator of sonnx_ort is missing");
  void* elements = nullptr;
  SONNX_TRY(api->GetTensorMutableData(const_cast<OrtValue*>(value), &elements));
  data = static_cast<const char*>(elements);
  if (api_version >= 24) {
    ElementType type{};
    const int64_t* sizes = nullptr;
    SONNX_TRY(api->GetTensorElementTypeAndShapeDataReference(value, &type, &sizes, &shape.rank));
    if (shape.rank > kMaxRank) return too_many_axes();
    std::copy_n(sizes, shape.rank, shape.sizes);
    return nullptr;
  }
  OrtTensorTypeAndShapeInfo* info = nullptr;
  SONNX_TRY(api->GetTensorTypeAndShape(value, &info));
  OrtStatus* failed = api->GetDimensionsCount(info, &shape.rank);
  if (failed == nullptr) {
    failed = shape.rank > kMaxRank ? too_many_axes()
                                   : api->GetDimensions(info, shape.sizes, shape.rank);
  }
  api->ReleaseTensorTypeAndShapeInfo(info);
  return failed;
}

/// Makes an output of a shape; null if nothing reads it.
OrtStatus* make_output(OrtKernelContext* context, size_t index, const Shape& shape, char*& data) {
  OrtValue* output = nullptr;
  void* elements = nullptr;
  SONNX_TRY(api->KernelContext_GetOutput(context, index, shape.sizes, shape.rank, &output));
  if (output != nullptr) SONNX_TRY(api->GetTensorMutableData(output, &elements));
  data = static_cast<char*>(elements);
  return nullptr;
}

OrtStatus* Kernel::compute(OrtKernelContext* context) const {
  std::array<Shape, 2> shapes;
  std::array<const char*, 2> data{};
  for (size_t i = 0; i < operand_count(); ++i) {
    SONNX_TRY(read_input(context, i, shapes[i], data[i]));
  }
  if (operand_count() == 1) data[1] = data[0];
  const bool same = operand_count() == 1 || shapes[0] == shapes[1];
  Shape made;
  if (!same) {
    if (!expands[0] && !expands[1]) return shapes_differ(shapes.data());
    Misfit misfit{};
    if (!find_common(shapes.data(), 2, made, misfit)) {
      return violated(misfit, made.rank, shapes.data());
    }
    const Shape reached[] = {expands[0] ? made : shapes[0], expands[1] ? made : shapes[1]};
    if (!(reached[0] == reached[1])) return shapes_differ(reached);
  }
  const Shape& common = same ? shapes[0] : made;
  char* result = nullptr;
  SONNX_TRY(make_output(context, 0, common, result));
  const size_t count = common.count();
  if (count == 0) return nullptr;
  const Walk walk = same ? Walk(count) : Walk(shapes[0], shapes[1], common);
  Run run{*this, walk, data[0], data[1], result, count};
  SONNX_TRY(do_parts(context, count, run));
  return run.broken ? run.violation(common) : nullptr;
}

/// Repeats the elements of one operand of a Broadcast.
struct Copy {
  const Walk& walk;
  const char* operand;
  char* result;
  size_t count, size;

  void part(size_t number) {
    const bool repeats_one = walk.steps_a[0] == 0;
    const size_t period = repeats_one ? 1 : walk.sizes[0];
    const size_t span = walk.sizes[0] * (walk.rows_repeat() ? walk.sizes[1] : 1);
    const size_t end = std::min(count, (number + 1) * kPart);
    for (size_t index = number * kPart, taken; index < end; index += taken) {
      const Walk::Place place = walk.at(index);
      taken = std::min(end - index, span - index % span);
      // One period from where it is, then what is there already, twice as much each time.
      const size_t inner = repeats_one ? 0 : place.inner;
      const char* const from = operand + place.a * size;
      char* const to = result + index * size;
      const size_t first = std::min(taken, period - inner);
      std::memcpy(to, from, first * size);
      std::memcpy(to + first * size, from - inner * size, std::min(taken - first, inner) * size);
      for (size_t there = period; there < taken; there *= 2) {
        std::memcpy(to + there * size, to, std::min(there, taken - there) * size);
      }
    }
  }
};

OrtStatus* BroadcastKernel::compute(OrtKernelContext* context) const {
  std::vector<Shape> shapes(values.size());
  std::vector<const char*> data(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    SONNX_TRY(read_input(context, i, shapes[i], data[i]));
  }
  Shape common;
  Misfit misfit{};
  if (!find_common(shapes.data(), shapes.size(), common, misfit)) {
    return violated(misfit, common.rank, shapes.data());
  }
  size_t outputs = 0;
  SONNX_TRY(api->KernelContext_GetOutputCount(context, &outputs));
  for (size_t i = 0; i < std::min(outputs, values.size()); ++i) {
    char* result = nullptr;
    SONNX_TRY(make_output(context, i, common, result));
    const size_t count = result == nullptr ? 0 : common.count();
    if (count == 0) continue;
    const Walk walk(shapes[i], common, common);
    Copy copy{walk, data[i], result, count, op->in_size};
    SONNX_TRY(do_parts(context, count, copy));
  }
  return nullptr;
}

/// Reads a text attribute; false if there is none.
bool read_attribute(const OrtKernelInfo* info, const std::string& name, std::string& text) {
  size_t size = 0;
  OrtStatus* failed = api->KernelInfoGetAttribute_string(info, name.c_str(), nullptr, &size);
  if (failed == nullptr) {
    text.resize(size);
    failed = api->KernelInfoGetAttribute_string(info, name.c_str(), text.data(), &size);
  }
  if (failed != nullptr) {
    api->ReleaseStatus(failed);
    return false;
  }
  text.resize(size - 1);  // without the zero at its end
  return true;
}

/// Why a session does not start on a node.
OrtStatus* unusable(const Operator& op, const std::string& reason) {
  return status(std::string("sonnx.compiled::") + op.name + " " + reason +
                "; rewrite the original model");
}

/// Reads the names of operands that are broadcast; false if one is missing.
bool read_values(const OrtKernelInfo* info, size_t count, std::vector<std::string>& values) {
  values.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (!read_attribute(info, "operand_" + std::to_string(i), values[i])) return false;
  }
  return true;
}

OrtStatus* Kernel::create(const OrtKernelInfo* info) {
  std::string label, edition, expanded, in_front;
  if (!read_attribute(info, "node", label) || !read_attribute(info, "edition", edition)) {
    return unusable(*op, "needs the text attributes 'node' and 'edition'");
  }
  place = std::string(op->standard_name) + " '" + label + "'";
  for (const Contract& each : op->contracts) {
    if (edition == each.edition) contract = &each;
  }
  if (contract == nullptr) {
    return unusable(*op, "'" + label + "' has the edition '" + edition + "', which is unknown");
  }
  if (operand_count() == 2 && read_attribute(info, "expanded", expanded) &&
      read_values(info, 2, values)) {
    expands = {expanded != "second", expanded != "first"};
    if (!read_attribute(info, "broadcast", in_front)) in_front = label;
    broadcast = "Broadcast '" + in_front + "'";
  }
  return nullptr;
}

OrtStatus* BroadcastKernel::create(const OrtKernelInfo* info) {
  std::string label;
  size_t count = 0;
  SONNX_TRY(api->KernelInfo_GetInputCount(info, &count));
  if (!read_attribute(info, "node", label) || !read_values(info, count, values)) {
    return unusable(*op, "needs the text attributes 'node' and 'operand_0', ...");
  }
  broadcast = "Broadcast '" + label + "'";
  return nullptr;
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

size_t SONNX_CALL first_in_place(int** input, int** output) {
  *input = new (std::nothrow) int[1]{0};
  *output = new (std::nothrow) int[1]{0};
  return *input != nullptr && *output != nullptr ? 1 : 0;
}

void SONNX_CALL release_in_place(int* input, int* output) {
  delete[] input;
  delete[] output;
}

/// Fills in what ONNX Runtime asks of an operator.
template <class K>
void describe(Operator& op) {
  op.version = api_version;
  op.GetName = [](const OrtCustomOp* self) { return operator_of(self).name; };
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputType = [](const OrtCustomOp* self, size_t) { return operator_of(self).in; };
  op.GetInputTypeCount = [](const OrtCustomOp* self) {
    return std::max<size_t>(operator_of(self).operands.size(), 1);
  };
  op.GetOutputType = [](const OrtCustomOp* self, size_t) { return operator_of(self).out; };
  op.GetOutputTypeCount = [](const OrtCustomOp*) -> size_t { return 1; };
  op.KernelDestroy = [](void* kernel) { delete static_cast<K*>(kernel); };
  const auto characteristic = [](const OrtCustomOp*, size_t) {
    constexpr int kSingle = 0, kVariadic = 2;
    return std::is_same_v<K, BroadcastKernel> ? kVariadic : kSingle;
  };
  op.GetInputCharacteristic = op.GetOutputCharacteristic = characteristic;
  op.GetInputMemoryType = [](const OrtCustomOp*, size_t) { return 0; };
  const auto one = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicInputMinArity = op.GetVariadicOutputMinArity = one;
  op.GetVariadicInputHomogeneity = op.GetVariadicOutputHomogeneity = one;
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
  bool checks_elements = false;
  for (const Contract& contract : op.contracts) {
    for (const Rule& rule : contract.rules) checks_elements |= rule.broken != nullptr;
  }
  // A violation tells elements, which a result in their place would have overwritten.
  if (std::is_same_v<K, Kernel> && !checks_elements && op.in_size == op.out_size) {
    op.GetMayInplace = first_in_place;
    op.ReleaseMayInplace = release_in_place;
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

template <class In, class Out>
Operator make(const char* name, const char* standard_name, std::vector<const char*> operands,
              std::vector<Contract> contracts) {
  Operator op{};
  op.name = name;
  op.standard_name = standard_name;
  op.operands = std::move(operands);
  op.in = type_of<In>();
  op.out = type_of<Out>();
  op.in_size = sizeof(In);
  op.out_size = sizeof(Out);
  op.text = text<In>;
  op.contracts = std::move(contracts);
  return op;
}

#include "operators.inc"

/// All operators, in a domain; sessions read both as long as they live, so nothing is released.
OrtCustomOpDomain* made_domain() {
  static const auto* const operators = [] {
    auto* made = new std::vector<Operator>(all_operators());
    for (Operator& op : *made) {
      op.operands.empty() ? describe<BroadcastKernel>(op) : describe<Kernel>(op);
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
  // The interface has the number of the release: 17 is the first with ParallelFor, 18 with
  // GetMayInplace, 24 with shapes that are not copied.
  const int minor = std::atoi(base->GetVersionString() + 2);
  api_version = static_cast<uint32_t>(std::min(minor, 24));
  api = base->GetApi(api_version);
  if (minor < 17) return status("the operators of sonnx_ort need ONNX Runtime 1.17 or newer");
  return without_exceptions([&]() -> OrtStatus* {
    static OrtCustomOpDomain* const domain = made_domain();
    if (domain == nullptr) return status("ONNX Runtime does not take the operators of sonnx_ort");
    return api->AddCustomOpDomain(options, domain);
  });
}
