// Operators, as the table describes them, and what is common to their nodes.
#pragma once

#include <string>
#include <vector>

#include "onnxruntime_abi.h"
#include "shapes.h"

namespace {

/// Checks and computes a block; false if an element breaks a rule.
using Loop = bool (*)(const void* a, const void* b, void* result, size_t count);

/// The loops for two operands side by side, and for one of them repeated.
struct Loops {
  Loop both, first_repeated, second_repeated;
};

/// A rule that a run can violate.
struct Rule {
  const char* id;
  const char* sentence;
  const char* finding;  // what an element is that breaks it
  bool (*broken)(const void* a, const void* b);  // null for a rule about shapes
  bool of_each = false;  // whether it is about each operand by itself
};

/// The rules of an edition, and the loops that check those about elements.
struct Contract {
  const char* edition;
  std::vector<Rule> rules;
  Loops loops;
};

/// How ONNX names the type of the operands of an operator, and the attributes of its nodes.
struct Standard {
  std::vector<const char*> types, numbers, texts;
};

/// How an operand is read: from an element on, in steps of one element or of none.
struct Reading {
  const void* elements;
  size_t step;
};

/// Copies elements of two operands with their bits, as a condition says.
using Choose = void (*)(Reading condition, Reading x, Reading y, void* result, size_t count);

/// One operator on one type.
struct Operator : OrtCustomOp {
  const char* name;
  const char* standard_name;
  std::vector<const char*> operands;  // one to three; none of a Broadcast, or of `repeated` ones
  const char* repeated;               // the start of the operands' names if there are any number
  std::vector<ElementType> types;     // of the operands; of all those that are any number
  ElementType out;
  size_t in_size, out_size;
  std::string (*text)(const void* element);
  std::vector<Contract> contracts;
  Standard standard;  // where ONNX Runtime computes; otherwise loops do, or a choice
  Choose choose;      // null for none
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
  std::vector<std::string> values;  // the operands' names in the model, where any is broadcast

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

}  // namespace
