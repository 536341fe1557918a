// Runs compiled kernels without ONNX Runtime: `kernel_runs THREADS TYPE LENGTH...`.
//
// Prints a digest of what each kernel of a type of ONNX (by its number; 0 for all) gives and says,
// for tensors of the lengths, which is the same on every processor. Of several threads each does so
// with kernels of its own, then with some that all share; exit status 1 if one is given something
// else than another.
#include "../../custom_ops/compiled/kernels.cc"

#include <cinttypes>
#include <cstdio>
#include <map>
#include <thread>

struct OrtStatus {
  std::string message;
};
struct OrtSessionOptions {
  OrtCustomOpDomain* domain;
};
struct OrtCustomOpDomain {
  std::vector<const OrtCustomOp*> operators;
};
struct OrtKernelInfo {
  std::map<std::string, std::string> texts;
  size_t inputs;
};
struct OrtValue {
  Shape shape;
  void* data;
};
struct OrtTensorTypeAndShapeInfo {};
struct OrtOp {};
struct OrtOpAttr {};
struct OrtKernelContext {
  std::vector<OrtValue> inputs, outputs;
  size_t out_size;
  std::vector<std::vector<char>> results;
};

namespace {

/// Takes the parts of a work in two threads.
OrtStatus* in_two_threads(const OrtKernelContext*, void (*part)(void*, size_t), size_t parts,
                          size_t, void* work) {
  const auto every_second = [&](size_t number) {
    for (; number < parts; number += 2) part(work, number);
  };
  std::thread other(every_second, 1);
  every_second(0);
  other.join();
  return nullptr;
}

/// What kernels ask of ONNX Runtime; `InvokeOp` computes nothing.
const OrtApi* interface(uint32_t) {
  static const OrtApi made = [] {
    OrtApi to{};
    to.CreateStatus = [](OrtErrorCode, const char* message) { return new OrtStatus{message}; };
    to.ReleaseStatus = [](OrtStatus* status) { delete status; };
    to.CreateCustomOpDomain = [](const char*, OrtCustomOpDomain** domain) -> OrtStatus* {
      *domain = new OrtCustomOpDomain;
      return nullptr;
    };
    to.CustomOpDomain_Add = [](OrtCustomOpDomain* domain, const OrtCustomOp* op) -> OrtStatus* {
      domain->operators.push_back(op);
      return nullptr;
    };
    to.AddCustomOpDomain = [](OrtSessionOptions* options,
                              OrtCustomOpDomain* domain) -> OrtStatus* {
      options->domain = domain;
      return nullptr;
    };
    to.KernelInfoGetAttribute_int64 = [](const OrtKernelInfo*, const char*,
                                         int64_t* number) -> OrtStatus* {
      *number = 1;
      return nullptr;
    };
    to.KernelInfoGetAttribute_string = [](const OrtKernelInfo* info, const char* name, char* text,
                                          size_t* size) -> OrtStatus* {
      const auto found = info->texts.find(name);
      if (found == info->texts.end()) return new OrtStatus{"none"};
      *size = found->second.size() + 1;
      if (text != nullptr) std::memcpy(text, found->second.c_str(), *size);
      return nullptr;
    };
    to.KernelInfo_GetInputCount = [](const OrtKernelInfo* info, size_t* count) -> OrtStatus* {
      *count = info->inputs;
      return nullptr;
    };
    to.KernelContext_GetInput = [](const OrtKernelContext* context, size_t index,
                                   const OrtValue** value) -> OrtStatus* {
      *value = &context->inputs[index];
      return nullptr;
    };
    to.KernelContext_GetOutput = [](OrtKernelContext* context, size_t index, const int64_t* sizes,
                                    size_t rank, OrtValue** value) -> OrtStatus* {
      OrtValue& output = context->outputs[index];
      output.shape.rank = rank;
      std::copy_n(sizes, rank, output.shape.sizes);
      context->results[index].resize(output.shape.count() * context->out_size);
      output.data = context->results[index].data();
      *value = &output;
      return nullptr;
    };
    to.KernelContext_GetOutputCount = [](const OrtKernelContext* context,
                                         size_t* count) -> OrtStatus* {
      *count = context->outputs.size();
      return nullptr;
    };
    to.GetTensorMutableData = [](OrtValue* value, void** data) -> OrtStatus* {
      *data = value->data;
      return nullptr;
    };
    to.GetTensorElementTypeAndShapeDataReference =
        [](const OrtValue* value, ElementType*, const int64_t** sizes,
           size_t* rank) -> OrtStatus* {
      *sizes = value->shape.sizes;
      *rank = value->shape.rank;
      return nullptr;
    };
    to.CreateOpAttr = [](const char*, const void*, int, OrtOpAttrType,
                         OrtOpAttr**) -> OrtStatus* { return nullptr; };
    to.CreateOp = [](const OrtKernelInfo*, const char*, const char*, int, const char**,
                     const ElementType*, int, const OrtOpAttr* const*, int, int, int,
                     OrtOp**) -> OrtStatus* { return nullptr; };
    to.InvokeOp = [](const OrtKernelContext*, const OrtOp*, const OrtValue* const*, int,
                     OrtValue* const*, int) -> OrtStatus* { return nullptr; };
    to.KernelContext_ParallelFor = in_two_threads;
    return to;
  }();
  return &made;
}

const OrtApiBase runtime{interface, [] { return "1.24.0"; }};

/// A kind of elements, by what is kept of bits at random.
struct Pool {
  const char* name;
  uint64_t (*kept)(uint64_t bits);
};
const Pool kPools[] = {
    {"any", [](uint64_t bits) { return bits; }},
    {"odd", [](uint64_t bits) { return bits | 1; }},  // neither zero nor the smallest integer
    {"odd below 2^50", [](uint64_t bits) { return (bits & ((uint64_t{1} << 50) - 1)) | 1; }},
    {"1 to 7", [](uint64_t bits) { return bits % 7 + 1; }},
};

/// Elements of a size at random; every fourth is special in a type of that size.
std::vector<char> elements(const Pool& pool, size_t size, size_t count) {
  const uint64_t sign = uint64_t{1} << (8 * size - 1);
  std::vector<uint64_t> special{0, 1, 2, sign - 1};
  for (const uint64_t exponent : {0x7c00ull, 0x7f80ull, 0x7f800000ull, 0x7ff0000000000000ull}) {
    for (const uint64_t near : {exponent - 1, exponent, exponent + 1, exponent / 2}) {
      special.push_back(near);
    }
  }
  for (const uint64_t smallest_normal : {0x0400ull, 0x0080ull, 0x00800000ull, 1ull << 52}) {
    special.push_back(smallest_normal - 1);
    special.push_back(smallest_normal);
  }
  std::vector<char> made(count * size);
  uint64_t bits = 88172645463325252;
  for (size_t i = 0; i < count; ++i) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    uint64_t chosen = bits;
    if (bits % 4 == 0) chosen = special[(bits >> 8) % special.size()] ^ (bits >> 7 & 1) * sign;
    chosen = pool.kept(chosen);
    std::memcpy(made.data() + i * size, &chosen, size);  // the low bytes: all systems have them first
  }
  return made;
}

/// The bits of an element, the same for every NaN: which one it is depends on the instructions.
uint64_t bits_of(ElementType type, const char* element, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, size);
  const uint64_t infinity = type == ElementType::kFloat16    ? 0x7c00
                            : type == ElementType::kBfloat16 ? 0x7f80
                            : type == ElementType::kFloat    ? 0x7f800000
                            : type == ElementType::kDouble   ? 0x7ff0000000000000
                                                             : ~uint64_t{0};
  const uint64_t sign = uint64_t{1} << (8 * size - 1);
  return (bits & (sign - 1)) > infinity ? infinity + 1 : bits;
}

struct Digest {
  uint64_t value = 14695981039346656037u;
  void add(uint64_t bits) { value = (value ^ bits) * 1099511628211u; }
};

/// The arguments of the program, and the elements of each size, of each kind.
struct Task {
  size_t threads;
  int type;
  std::vector<size_t> lengths;
  std::map<size_t, std::vector<std::vector<char>>> data;

  Task(size_t count, char** arguments)
      : threads(std::strtoul(arguments[1], nullptr, 10)), type(std::atoi(arguments[2])) {
    for (size_t i = 3; i < count; ++i) {
      lengths.push_back(std::strtoul(arguments[i], nullptr, 10));
    }
    const size_t longest = *std::max_element(lengths.begin(), lengths.end());
    for (const size_t size : {1, 2, 4, 8}) {
      for (const Pool& pool : kPools) data[size].push_back(elements(pool, size, 3 * longest + 7));
    }
  }
};

/// The names of the operands that are tried: three if there are any number, none of a Broadcast.
std::vector<std::string> operands_of(const Operator& op) {
  if (op.repeated == nullptr) return {op.operands.begin(), op.operands.end()};
  std::vector<std::string> names;
  for (size_t i = 0; i < 3; ++i) names.push_back(op.repeated + std::to_string(i));
  return names;
}

/// How many operands are tried.
size_t inputs_of(const Operator& op) {
  const size_t named = operands_of(op).size();
  return named == 0 ? 2 : named;
}

/// A kernel of an operator.
struct Made {
  const Operator* op;
  std::string name;
  void* kernel;

  /// Adds what it gives and says, if each operand in turn is a single element, or none is.
  void run(const Task& task, Digest& digest) const {
    const size_t operands = inputs_of(*op);
    for (const std::vector<char>& data : task.data.at(op->in_size)) {
      for (const size_t length : task.lengths) {
        for (size_t single = 0; single <= (operands > 1 ? operands : 0); ++single) {
          OrtKernelContext context{{}, std::vector<OrtValue>(1), op->out_size, {{}}};
          for (size_t i = 0; i < operands; ++i) {
            const size_t from = (i * length + length % 7) * op->in_size;
            OrtValue value{{}, const_cast<char*>(data.data()) + from};
            value.shape.rank = 1;
            value.shape.sizes[0] = i + 1 == single ? 1 : static_cast<int64_t>(length);
            context.inputs.push_back(value);
          }
          run(context, digest);
        }
      }
    }
  }

  void run(OrtKernelContext& context, Digest& digest) const {
    OrtStatus* const failed = op->KernelComputeV2(kernel, &context);
    if (failed != nullptr) {
      for (const char each : failed->message) digest.add(static_cast<unsigned char>(each));
      delete failed;
      return;
    }
    const std::vector<char>& result = context.results[0];
    for (size_t at = 0; at < result.size(); at += op->out_size) {
      digest.add(bits_of(op->out, result.data() + at, op->out_size));
    }
  }
};

/// Starts a session with a node of each operator of a type in each edition.
std::vector<Made> start(const Task& task) {
  OrtSessionOptions options{};
  std::vector<Made> session;
  if (RegisterCustomOps(&options, &runtime) != nullptr) std::abort();
  for (const OrtCustomOp* const each : options.domain->operators) {
    const auto& op = static_cast<const Operator&>(*each);
    const auto type = static_cast<int>(op.types.back());
    if (task.type != 0 && task.type != type) continue;
    for (const std::string edition : {"typed", "preliminary"}) {
      OrtKernelInfo info{{{"node", "n"}, {"edition", edition}}, inputs_of(op)};
      for (size_t i = 0; i < 3; ++i) info.texts["operand_" + std::to_string(i)] = "x";
      for (const std::string& operand : operands_of(op)) info.texts["expanded"] += operand + " ";
      void* kernel = nullptr;
      if (op.CreateKernelV2(&op, interface(0), &info, &kernel) != nullptr) std::abort();
      session.push_back({&op, op.name + (" " + std::to_string(type)) + " " + edition, kernel});
    }
  }
  return session;
}

std::string digests(const Task& task, const std::vector<Made>& session) {
  std::string text;
  for (const Made& made : session) {
    Digest digest;
    made.run(task, digest);
    char shown[17];
    std::snprintf(shown, sizeof shown, "%016" PRIx64, digest.value);
    text += made.name + " " + shown + "\n";
  }
  return text;
}

void stop(const std::vector<Made>& session) {
  for (const Made& made : session) made.op->KernelDestroy(made.kernel);
}

/// Has some threads do something at the same time.
template <class Action>
void in_threads(std::vector<std::string>& results, Action action) {
  std::vector<std::thread> started;
  for (std::string& result : results) started.emplace_back([&] { result = action(); });
  for (std::thread& each : started) each.join();
}

}  // namespace

int main(int count, char** arguments) {
  const Task task(static_cast<size_t>(count), arguments);
  std::vector<std::string> own(task.threads), shared(task.threads - 1);
  // First of all, so that threads register the operators at the same time.
  in_threads(own, [&] {
    const std::vector<Made> session = start(task);
    std::string found = digests(task, session);
    stop(session);
    return found;
  });
  const std::vector<Made> session = start(task);
  in_threads(shared, [&] { return digests(task, session); });
  stop(session);
  std::fputs(own[0].c_str(), stdout);
  const auto differs = [&](const std::string& each) { return each != own[0]; };
  return std::any_of(own.begin(), own.end(), differs) ||
         std::any_of(shared.begin(), shared.end(), differs);
}
