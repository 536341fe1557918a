// What kernels ask of ONNX Runtime: operands, results, attributes and threads.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "operators.h"

namespace {

OrtStatus* too_many_axes() { return status("sonnx_ort computes tensors of at most 64 axes"); }

/// Reads the type and the shape of a tensor.
OrtStatus* read_shape(const OrtValue* value, ElementType& type, Shape& shape) {
  if (api_version >= 24) {
    const int64_t* sizes = nullptr;
    SONNX_TRY(api->GetTensorElementTypeAndShapeDataReference(value, &type, &sizes, &shape.rank));
    if (shape.rank > kMaxRank) return too_many_axes();
    std::copy_n(sizes, shape.rank, shape.sizes);
    return nullptr;
  }
  OrtTensorTypeAndShapeInfo* info = nullptr;
  SONNX_TRY(api->GetTensorTypeAndShape(value, &info));
  OrtStatus* failed = api->GetTensorElementType(info, &type);
  if (failed == nullptr) failed = api->GetDimensionsCount(info, &shape.rank);
  if (failed == nullptr) {
    failed = shape.rank > kMaxRank ? too_many_axes()
                                   : api->GetDimensions(info, shape.sizes, shape.rank);
  }
  api->ReleaseTensorTypeAndShapeInfo(info);
  return failed;
}

/// Reads an input, its shape and its elements.
OrtStatus* read_input(OrtKernelContext* context, size_t index, const OrtValue*& value, Shape& shape,
                      const char*& data) {
  SONNX_TRY(api->KernelContext_GetInput(context, index, &value));
  if (value == nullptr) return status("an operand of an operator of sonnx_ort is missing");
  void* elements = nullptr;
  SONNX_TRY(api->GetTensorMutableData(const_cast<OrtValue*>(value), &elements));
  data = static_cast<const char*>(elements);
  ElementType type{};
  return read_shape(value, type, shape);
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

/// Reads a number attribute; false if there is none.
bool read_attribute(const OrtKernelInfo* info, const std::string& name, int64_t& number) {
  OrtStatus* const failed = api->KernelInfoGetAttribute_int64(info, name.c_str(), &number);
  if (failed != nullptr) api->ReleaseStatus(failed);
  return failed == nullptr;
}

/// Reads the names of operands that are broadcast; false if one is missing.
bool read_values(const OrtKernelInfo* info, size_t count, std::vector<std::string>& values) {
  values.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (!read_attribute(info, "operand_" + std::to_string(i), values[i])) return false;
  }
  return true;
}

/// Why a session does not start on a node.
OrtStatus* unusable(const Operator& op, const std::string& reason) {
  return status(std::string("sonnx.compiled::") + op.name + " " + reason +
                "; rewrite the original model");
}

constexpr size_t kPart = 32768;  // elements that a thread takes at a time

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

}  // namespace
