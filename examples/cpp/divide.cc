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

int main(int, char** arguments) {
  Ort::Env env(ORT_LOGGING_LEVEL_FATAL);
  Ort::SessionOptions options;
  options.RegisterCustomOpsLibrary(arguments[2]);
  Ort::Session session(env, arguments[1], options);

  const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  const std::array<std::int64_t, 1> shape{2};
  const std::array inputs{"A", "B"};
  const std::array outputs{"C"};
  std::array<std::int32_t, 2> a{8, 9};
  for (const std::int32_t last : {3, 0}) {
    std::array<std::int32_t, 2> b{2, last};
    const std::array values{
        Ort::Value::CreateTensor<std::int32_t>(memory, a.data(), 2, shape.data(), 1),
        Ort::Value::CreateTensor<std::int32_t>(memory, b.data(), 2, shape.data(), 1)};
    try {
      const auto results = session.Run({}, inputs.data(), values.data(), 2, outputs.data(), 1);
      const auto* c = results[0].GetTensorData<std::int32_t>();
      std::cout << c[0] << ' ' << c[1] << '\n';
    } catch (const Ort::Exception& error) {
      std::cout << error.what() << '\n';
    }
  }
}
