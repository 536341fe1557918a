// The kernel of Broadcast.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime.h"

namespace {

/// A node of Broadcast.
struct BroadcastKernel : Node {
  OrtStatus* create(const OrtKernelInfo* info);
  OrtStatus* compute(OrtKernelContext* context) const;
};

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
    const OrtValue* value = nullptr;
    SONNX_TRY(read_input(context, i, value, shapes[i], data[i]));
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

}  // namespace
