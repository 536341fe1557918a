// Kernels of operators that compute element by element.
#pragma once

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "runtime.h"

namespace {

constexpr size_t kBlock = 4096;  // elements that are checked, then computed from the cache

/// The operands of a node in a run, and their common shape.
struct Operands {
  std::array<const OrtValue*, 3> values{};
  std::array<const char*, 3> data{};
  std::array<Shape, 3> shapes;
  Shape made;  // the common shape if they are not alike
  bool alike = false;

  const Shape& common() const { return alike ? shapes[0] : made; }
};

/// A node of an operator with rules of its own.
struct Kernel : Node {
  const Contract* contract = nullptr;
  std::vector<std::string> operands;  // their names in the profile
  std::vector<bool> expands;          // which of them are broadcast to the common shape

  size_t operand_count() const { return operands.size(); }

  OrtStatus* broken(const Rule& rule, const std::string& reason, const Shape* shapes) const {
    return violated(place, rule, reason, operands, shapes);
  }

  /// The violation of shapes that differ, by the first rule about shapes.
  OrtStatus* shapes_differ(const Shape* shapes) const {
    std::string reason = "the shapes " + shapes[0].text();
    for (size_t i = 1; i < operand_count(); ++i) {
      if (std::find(shapes, shapes + i, shapes[i]) == shapes + i) {
        reason += " and " + shapes[i].text();
      }
    }
    reason += " differ";
    for (const Rule& rule : contract->rules) {
      if (rule.broken == nullptr) return broken(rule, reason, shapes);
    }
    return status(place + ": " + reason);
  }

  /// Finds the common shape of operands whose shapes differ.
  OrtStatus* broadcast_shapes(const Shape* shapes, Shape& common) const {
    if (std::find(expands.begin(), expands.end(), true) == expands.end()) {
      return shapes_differ(shapes);
    }
    Misfit misfit{};
    if (!find_common(shapes, operand_count(), common, misfit)) {
      return violated(misfit, common.rank, shapes);
    }
    bool all_reach_it = true;
    for (size_t i = 0; i < operand_count(); ++i) {
      all_reach_it &= expands[i] || shapes[i] == common;
    }
    if (all_reach_it) return nullptr;
    std::vector<Shape> reached(shapes, shapes + operand_count());
    for (size_t i = 0; i < operand_count(); ++i) {
      if (expands[i]) reached[i] = common;
    }
    return shapes_differ(reached.data());
  }

  OrtStatus* create(const OrtKernelInfo* info);
  OrtStatus* read(OrtKernelContext* context, Operands& given) const;
  OrtStatus* run(OrtKernelContext* context, const Operands& given, char* result) const;
  OrtStatus* compute(OrtKernelContext* context) const;
};

/// A node of an operator that takes any number of operands, and computes by two at a time. Its
/// rules about elements are about each operand by itself.
struct RepeatedKernel : Kernel {
  OrtStatus* compute(OrtKernelContext* context) const;

 private:
  OrtStatus* violation(const std::vector<Shape>& shapes, const std::vector<const char*>& data,
                       const Shape& common) const;
};

/// A node of an operator that chooses among the elements of two operands by a third one.
struct ChoosingKernel : Kernel {
  OrtStatus* compute(OrtKernelContext* context) const;
};

/// A node of an operator that ONNX Runtime computes once its rules are checked.
struct StandardKernel : Kernel {
  OrtOp* standard = nullptr;

  ~StandardKernel() {
    if (standard != nullptr) api->ReleaseOp(standard);
  }

  OrtStatus* create(const OrtKernelInfo* info);
  OrtStatus* compute(OrtKernelContext* context) const;
};

/// The check of two operands, and the computation of one result.
struct Run {
  const Kernel& kernel;
  const Walk& walk;
  const char* a;
  const char* b;
  char* result;  // null if it is only checked
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
      char* const to = result == nullptr ? nullptr : result + index * op.out_size;
      if (!loop(a + place.a * op.in_size, b + place.b * op.in_size, to, taken)) broken = true;
    }
  }

  /// The first violation in the order of the rules, then of the elements.
  OrtStatus* violation(const Shape& common) const {
    const Operator& op = *kernel.op;
    const std::vector<Shape> shapes(kernel.operand_count(), common);
    for (const Rule& rule : kernel.contract->rules) {
      for (size_t index = 0; rule.broken != nullptr && index < count; ++index) {
        const Walk::Place place = walk.at(index);
        const char* const elements[] = {a + place.a * op.in_size, b + place.b * op.in_size};
        if (!rule.broken(elements[0], elements[1])) continue;
        std::string reason = rule.finding;
        for (size_t i = 0; i < kernel.operand_count(); ++i) {
          reason += (i == 0 ? ": " : ", ") + (kernel.operands[i] + common.index_text(index)) + " = " +
                    op.text(elements[i]);
        }
        return kernel.broken(rule, reason, shapes.data());
      }
    }
    return status(kernel.place + ": its operands changed while it ran");
  }
};

/// The choice among the elements of two operands by bytes, each operand read in its own shape.
struct Choosing {
  const Operator& op;
  const Walk& walk_x;  // of the condition and the first operand
  const Walk& walk_y;  // of the condition and the second one
  const char* condition;
  const char* x;
  const char* y;
  char* result;
  size_t count;

  void part(size_t number) {
    const size_t end = std::min(count, (number + 1) * kPart);
    for (size_t index = number * kPart, taken; index < end; index += taken) {
      const Walk::Place of_x = walk_x.at(index), of_y = walk_y.at(index);
      taken = std::min({end - index, walk_x.sizes[0] - of_x.inner, walk_y.sizes[0] - of_y.inner});
      op.choose({condition + of_x.a, walk_x.steps_a[0]},
                {x + of_x.b * op.in_size, walk_x.steps_b[0]},
                {y + of_y.b * op.in_size, walk_y.steps_b[0]}, result + index * op.out_size, taken);
    }
  }
};

OrtStatus* Kernel::read(OrtKernelContext* context, Operands& given) const {
  for (size_t i = 0; i < operand_count(); ++i) {
    SONNX_TRY(read_input(context, i, given.values[i], given.shapes[i], given.data[i]));
  }
  if (operand_count() == 1) given.data[1] = given.data[0];
  given.alike = all_equal(given.shapes.data(), operand_count());
  return given.alike ? nullptr : broadcast_shapes(given.shapes.data(), given.made);
}

OrtStatus* Kernel::run(OrtKernelContext* context, const Operands& given, char* result) const {
  const Shape& common = given.common();
  const size_t count = common.count();
  if (count == 0) return nullptr;
  const Walk walk = given.alike ? Walk(count) : Walk(given.shapes[0], given.shapes[1], common);
  Run run{*this, walk, given.data[0], given.data[1], result, count};
  SONNX_TRY(do_parts(context, count, run));
  return run.broken ? run.violation(common) : nullptr;
}

OrtStatus* Kernel::compute(OrtKernelContext* context) const {
  Operands given;
  SONNX_TRY(read(context, given));
  char* result = nullptr;
  SONNX_TRY(make_output(context, 0, given.common(), result));
  return run(context, given, result);
}

OrtStatus* RepeatedKernel::compute(OrtKernelContext* context) const {
  const size_t operand_number = operand_count();
  std::vector<Shape> shapes(operand_number);
  std::vector<const char*> data(operand_number);
  for (size_t i = 0; i < operand_number; ++i) {
    const OrtValue* value = nullptr;
    SONNX_TRY(read_input(context, i, value, shapes[i], data[i]));
  }
  Shape common = shapes[0];
  if (!all_equal(shapes.data(), operand_number)) {
    SONNX_TRY(broadcast_shapes(shapes.data(), common));
  }
  char* result = nullptr;
  SONNX_TRY(make_output(context, 0, common, result));
  const size_t count = common.count();
  if (count == 0) return nullptr;
  // A single operand stands for a pair of equal ones.
  for (size_t last = std::min<size_t>(1, operand_number - 1); last < operand_number; ++last) {
    const bool is_first = last <= 1;
    const Walk walk(is_first ? shapes[0] : common, shapes[last], common);
    Run run{*this, walk, is_first ? data[0] : result, data[last], result, count};
    SONNX_TRY(do_parts(context, count, run));
    if (run.broken) return violation(shapes, data, common);
  }
  return nullptr;
}

/// The first violation in the order of the rules, of the operands, then of the elements.
OrtStatus* RepeatedKernel::violation(const std::vector<Shape>& shapes,
                                     const std::vector<const char*>& data,
                                     const Shape& common) const {
  for (const Rule& rule : contract->rules) {
    for (size_t i = 0; rule.of_each && i < operand_count(); ++i) {
      const Walk walk(shapes[i], shapes[i], common);
      for (size_t index = 0; index < common.count(); ++index) {
        const char* const element = data[i] + walk.at(index).a * op->in_size;
        if (!rule.broken(element, element)) continue;
        const std::string reason = operands[i] + " " + rule.finding + ": " + operands[i] +
                                   common.index_text(index) + " = " + op->text(element);
        return broken(rule, reason, std::vector<Shape>(operand_count(), common).data());
      }
    }
  }
  return status(place + ": its operands changed while it ran");
}

OrtStatus* ChoosingKernel::compute(OrtKernelContext* context) const {
  Operands given;
  SONNX_TRY(read(context, given));
  const Shape& common = given.common();
  char* result = nullptr;
  SONNX_TRY(make_output(context, 0, common, result));
  const size_t count = common.count();
  if (count == 0) return nullptr;
  const auto& [condition, x, y] = given.data;
  const Walk walk_x(given.shapes[0], given.shapes[1], common);
  const Walk walk_y(given.shapes[0], given.shapes[2], common);
  Choosing choosing{*op, walk_x, walk_y, condition, x, y, result, count};
  return do_parts(context, count, choosing);
}

OrtStatus* StandardKernel::compute(OrtKernelContext* context) const {
  Operands given;
  SONNX_TRY(read(context, given));
  if (contract->loops.both != nullptr) SONNX_TRY(run(context, given, nullptr));
  const Shape& common = given.common();
  OrtValue* result = nullptr;
  SONNX_TRY(api->KernelContext_GetOutput(context, 0, common.sizes, common.rank, &result));
  return api->InvokeOp(context, standard, given.values.data(), static_cast<int>(operand_count()),
                       &result, 1);
}

OrtStatus* Kernel::create(const OrtKernelInfo* info) {
  std::string label, edition, expanded, in_front;
  if (!read_attribute(info, "node", label) || !read_attribute(info, "edition", edition)) {
    return unusable(*op, "needs the text attributes 'node' and 'edition'");
  }
  place = std::string(op->standard_name) + " '" + label + "'";
  operands.assign(op->operands.begin(), op->operands.end());
  if (op->repeated != nullptr) {
    size_t count = 0;
    SONNX_TRY(api->KernelInfo_GetInputCount(info, &count));
    for (size_t i = 0; i < count; ++i) operands.push_back(op->repeated + std::to_string(i));
  }
  for (const Contract& each : op->contracts) {
    if (edition == each.edition) contract = &each;
  }
  if (contract == nullptr) {
    return unusable(*op, "'" + label + "' has the edition '" + edition + "', which is unknown");
  }
  if (!read_attribute(info, "expanded", expanded)) return nullptr;
  if (!read_values(info, operand_count(), values)) {
    return unusable(*op, "'" + label + "' needs the text attributes 'operand_0', ...");
  }
  for (const std::string& operand : operands) {
    expands.push_back((" " + expanded + " ").find(" " + operand + " ") != std::string::npos);
  }
  if (!read_attribute(info, "broadcast", in_front)) in_front = label;
  broadcast = "Broadcast '" + in_front + "'";
  return nullptr;
}

OrtStatus* StandardKernel::create(const OrtKernelInfo* info) {
  SONNX_TRY(Kernel::create(info));
  int64_t version = 0;
  if (!read_attribute(info, "version", version)) {
    return unusable(*op, "needs the number attribute 'version'");
  }
  std::vector<OrtOpAttr*> attributes;
  OrtStatus* failed = nullptr;
  const auto add = [&](const char* name, const void* data, size_t size, OrtOpAttrType type) {
    OrtOpAttr* made = nullptr;
    if (failed == nullptr) {
      failed = api->CreateOpAttr(name, data, static_cast<int>(size), type, &made);
    }
    if (made != nullptr) attributes.push_back(made);
  };
  for (const char* const name : op->standard.numbers) {
    int64_t number = 0;
    if (read_attribute(info, name, number)) add(name, &number, 1, ORT_OP_ATTR_INT);
  }
  for (const char* const name : op->standard.texts) {
    std::string text;
    if (read_attribute(info, name, text)) add(name, text.c_str(), text.size(), ORT_OP_ATTR_STRING);
  }
  if (failed == nullptr) {
    auto names_of_types = op->standard.types;
    const std::vector<ElementType> types(names_of_types.size(), op->types.back());
    failed = api->CreateOp(info, op->standard_name, "", static_cast<int>(version),
                           names_of_types.data(), types.data(), static_cast<int>(types.size()),
                           attributes.data(), static_cast<int>(attributes.size()),
                           static_cast<int>(operand_count()), 1, &standard);
  }
  for (OrtOpAttr* const attribute : attributes) api->ReleaseOpAttr(attribute);
  if (failed == nullptr) return nullptr;
  OrtStatus* const refused = status(place + ": " + api->GetErrorMessage(failed));
  api->ReleaseStatus(failed);
  return refused;
}

}  // namespace
