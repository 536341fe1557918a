// Runs a model that `sonnx-ort rewrite divide.onnx -o enforced.onnx --backend compiled` wrote:
//
//     g++ -std=c++17 divide.cc -I ONNXRUNTIME/include -L ONNXRUNTIME/lib -lonnxruntime -o divide
//     ./divide enforced.onnx "$(python -c 'import sonnx_ort; print(sonnx_ort.kernels_library())')"
//
// The model has inputs A and B and an output C, int32[n]. The kernels need no Python.
#include <array>
#include <cstdint>
#include <iostream>
#include <onnxruntime_cxx_api.h>
#include <regex>
#include <string>

// The rule that the message of a failed run names, such as Div.int.C1; empty if it names none.
std::string rule_in(const std::string& message) {
  static const std::regex by_kernel("SONNX: \\w+ '.*' breaks ([\\w.]+): ");
  std::smatch found;
  return std::regex_search(message, found, by_kernel) ? found[1].str() : "";
}

void divide(Ort::Session& session, std::array<std::int32_t, 2> a, std::array<std::int32_t, 2> b) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const std::array<std::int64_t, 1> shape{2};
  const std::array inputs{"A", "B"};
  const std::array outputs{"C"};
  const std::array values{
      Ort::Value::CreateTensor<std::int32_t>(memory, a.data(), a.size(), shape.data(), 1),
      Ort::Value::CreateTensor<std::int32_t>(memory, b.data(), b.size(), shape.data(), 1)};
  try {
    const auto results = session.Run({}, inputs.data(), values.data(), 2, outputs.data(), 1);
    const auto* c = results[0].GetTensorData<std::int32_t>();
    std::cout << c[0] << ' ' << c[1] << '\n';
  } catch (const Ort::Exception& error) {
    const std::string rule = rule_in(error.what());
    if (rule.empty()) throw;
    std::cout << "violated: " << rule << "\n  " << error.what() << '\n';
  }
}

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: divide MODEL LIBRARY\n";
    return 2;
  }
  try {
    Ort::Env env(ORT_LOGGING_LEVEL_FATAL);
    Ort::SessionOptions options;
    options.RegisterCustomOpsLibrary(arguments[2]);
    Ort::Session session(env, arguments[1], options);
    divide(session, {8, 9}, {2, 3});
    divide(session, {8, 9}, {2, 0});
  } catch (const Ort::Exception& error) {
    std::cerr << "divide: " << error.what() << '\n';
    return 2;
  }
}
