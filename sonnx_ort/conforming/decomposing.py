"""Writes a node of an operator outside the set by operators of the set.

It is done by a template, or by the function by which ONNX defines the operator. A template is safe
for the types for which every result keeps its bits in every run, which is measured against the
kernels of ONNX Runtime. A function rounds, for ONNX Runtime has a kernel of its own.

The body of a function has a CastLike where it needs a number of the type of an operand; it becomes
a Cast, or a constant of that type. It may be written for a later version of the standard operators
than the model has, if the difference is only of which types its operators have.

An If, a Loop or a Scan whose way is the same in every run becomes the nodes of that way.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.analysis.values.value_types import result_type_of, unsupported_type
from sonnx_ort.conforming import (
    ai_onnx_ml,
    elementwise,
    indexing,
    quantized,
    reductions,
    support_vectors,
    transforms,
    tree_ensembles,
)
from sonnx_ort.conforming.bounds import OF_FUNCTIONS, Bound, FunctionBound
from sonnx_ort.conforming.change import (
    Change,
    NoChangeError,
    NodeEdit,
    TooEarlyError,
    converted,
    named,
    operator_of,
)
from sonnx_ort.conforming.control_flow import take_branch, unroll
from sonnx_ort.conforming.operators import Operators, Template
from sonnx_ort.conforming.verified import schema_of
from sonnx_ort.conforming.verified_operators import VERIFIED
from sonnx_ort.facts.attributes import GRAPHS
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.serialization import serialize_node
from sonnx_ort.profile.graph import OPERATORS_OF_THE_SET

TEMPLATES: Mapping[str, Template] = {
    template.operator: template
    for file in (
        elementwise,
        indexing,
        ai_onnx_ml,
        quantized,
        reductions,
        transforms,
        tree_ensembles,
        support_vectors,
    )
    for template in file.TEMPLATES
}
"""The templates by their operators."""

SAME_SINCE: Mapping[str, int] = {
    **dict.fromkeys(("Identity", "If", "MatMul", "Shape", "Size", "Softplus", "Transpose"), 1),
    "Reshape": 5,
    **dict.fromkeys(("Abs", "Cast", "Ceil", "Exp", "Log", "Neg", "Relu", "Sigmoid"), 6),
    **dict.fromkeys(("Sqrt", "Tanh"), 6),
    **dict.fromkeys(("Add", "Cos", "Div", "Mul", "Sub"), 7),
    **dict.fromkeys(("Expand", "Max", "Min"), 8),
    **dict.fromkeys(("ConstantOfShape", "Greater", "Less", "Where"), 9),
    **dict.fromkeys(("Clip", "Concat", "Constant", "Equal", "Gather", "Pad", "Range"), 11),
    **dict.fromkeys(("Round", "Slice"), 11),
    "Pow": 12,
    **dict.fromkeys(
        ("NegativeLogLikelihoodLoss", "ReduceSum", "Split", "Squeeze", "Unsqueeze"), 13
    ),
    **dict.fromkeys(("ReduceMax", "ReduceMean", "ReduceMin"), 18),
}
"""The first version since which an operator computes the same.

Later ones have more types, and attributes and inputs that may be omitted.
"""


def has_function(edit: NodeEdit) -> bool:
    """Whether ONNX defines the operator of a node by a function of others."""
    return defined_by_function(schema_of(edit.node, edit.version))


def defined_by_function(schema: Any | None) -> bool:
    """Whether ONNX defines the operator of a schema by a function of others."""
    return schema is not None and bool(schema.has_function or schema.has_context_dependent_function)


def write_function(edit: NodeEdit) -> tuple[ir.Value | None, ...]:
    """Add the nodes of the function in front of the node; give what its outputs become."""
    if edit.node.op_type == "RMSNormalization":
        # Its kernel refuses to normalize nothing.
        op, x = Operators(edit), edit.operand(0)
        op.require_elements(x, range(op.axis(x), op.rank(x)))
    function = _function(edit)
    known: dict[str, ir.Value | None] = dict(
        zip_longest(function.input, edit.node.inputs[: len(function.input)])
    )
    known[""] = None
    types: dict[ir.Value, ir.TypeProtocol | None] = {}

    def type_of(value: ir.Value) -> ir.TypeProtocol | None:
        return types.get(value) or edit.facts.type(value) or value.type

    for node in function.node:
        attributes = dict(_attributes(edit, node))
        inputs = [known[name] for name in node.input]
        if len(node.output) != 1 or any(a is None for a in attributes.values()):
            raise NoChangeError(f"its definition by ONNX has a {node.op_type} of another form")
        value = _written(edit, node.op_type, inputs, attributes, type_of)
        known[node.output[0]] = value
        if edit.added and edit.added[-1].outputs[0] is value:
            types[value] = result_type_of(edit.added[-1], edit.opset, type_of)
    return tuple(known.get(name) for name in function.output)


def _written(
    edit: NodeEdit,
    operator: str,
    inputs: list[ir.Value | None],
    attributes: Mapping[str, Any],
    type_of: Callable[[ir.Value], ir.TypeProtocol | None],
) -> ir.Value:
    """The result of a node of the definition, written into the graph."""
    purpose = operator.lower()
    if operator == "Constant":
        ((name, value),) = attributes.items()
        return edit.constant(_elements_of_constant(name, value), purpose)
    if operator != "CastLike":
        return edit.add(operator, inputs, attributes)
    given, like = inputs
    kind = None if like is None else type_of(like)
    if given is None or kind is None:
        raise NoChangeError("the type that its definition by ONNX wants is not known")
    dtype = kind.dtype
    stored = constant_tensor(given)
    if stored is not None:
        return edit.constant(converted(stored.numpy(), dtype.numpy()), purpose)
    return Operators(edit).cast(given, dtype)


def _elements_of_constant(name: str, value: Any) -> np.ndarray[Any, Any]:
    match name:
        case "value":
            return np.asarray(value.numpy())
        case "value_float" | "value_floats":
            return np.asarray(value, np.float32)
        case "value_int" | "value_ints":
            return np.asarray(value, np.int64)
        case _:
            raise NoChangeError("its definition by ONNX has a constant of another type")


def _function(edit: NodeEdit) -> onnx.FunctionProto:
    """The function in the version that means the same in the model's."""
    # The types of onnx do not have what a schema says of functions.
    schema: Any | None = schema_of(edit.node, edit.version)
    if schema is None:
        raise NoChangeError("ONNX does not define it")
    depends = schema.has_context_dependent_function
    versions = (
        schema.context_dependent_function_opset_versions
        if depends
        else schema.function_opset_versions
    )
    version = max((v for v in versions if v <= edit.opset), default=min(versions))
    function = onnx.FunctionProto()
    if depends:
        types = [_type_bytes(edit, value) for value in edit.node.inputs]
        node = serialize_node(edit.node).SerializeToString()
        function.ParseFromString(
            schema.get_context_dependent_function_with_opset_version(version, node, types)
        )
    else:
        function.ParseFromString(schema.get_function_with_opset_version(version))
    _require_same_meaning(function, version, edit.opset)
    return function


def _type_bytes(edit: NodeEdit, value: ir.Value | None) -> bytes:
    if value is None:
        return bytes(onnx.TypeProto().SerializeToString())
    dtype = edit.dtype(value).value
    return bytes(onnx.helper.make_tensor_type_proto(dtype, None).SerializeToString())


def _require_same_meaning(function: onnx.FunctionProto, theirs: int, ours: int) -> None:
    for node in function.node:
        name = node.op_type
        own = operator_version(name, ours)
        # A CastLike becomes a Cast.
        if name == "CastLike" or own == operator_version(name, theirs):
            continue
        if own < SAME_SINCE.get(name, ours + 1):
            raise NoChangeError(
                f"its definition by ONNX is of version {theirs} of the standard operators, in "
                f"which {name} is another one"
            )


def _attributes(edit: NodeEdit, node: onnx.NodeProto) -> Iterator[tuple[str, Any]]:
    """The attributes of a node of the function, with those of the call in place of references."""
    for attribute in node.attribute:
        if attribute.type in GRAPHS:
            raise NoChangeError(f"its definition by ONNX has a {node.op_type} of another form")
        if not attribute.ref_attr_name:
            yield attribute.name, ir.serde.deserialize_attribute(attribute).value
        elif (given := edit.attribute(attribute.ref_attr_name)) is not None:
            yield attribute.name, given


_logger = logging.getLogger("sonnx_ort")

_INDEFINITE: Mapping[str, str] = {
    **dict.fromkeys(
        ("Compress", "NonMaxSuppression", "NonZero", "Unique"),
        "how many elements it gives depends on those that it reads",
    ),
    **dict.fromkeys(
        ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer"),
        "no operator of the profile computes with strings",
    ),
    "ai.onnx.ml::ZipMap": "it gives maps, and not tensors: export the model without it",
}
"""Why operators have no finite definition by operators of the set."""


def decomposition_of(edit: NodeEdit) -> Change | None:
    """The change that writes a node by operators of the set; None if none is known."""
    operator = operator_of(edit.node)
    template = TEMPLATES.get(operator)
    if template is not None:
        return _change(edit, partial(_by_template, template), _bound(template, edit))
    if operator == "If":
        return _change(edit, take_branch, None, "take the branch that every run takes")
    if operator in ("Loop", "Scan"):
        return _change(edit, unroll, None, f"write all steps of the {operator}")
    known = OF_FUNCTIONS.get(operator)
    if known is None or not has_function(edit):
        return None
    return _change(edit, partial(_by_function, known), known.bound)


def refusal_of(node: ir.Node, versions: Mapping[str, int]) -> str | None:
    """Why the operator of a node has no definition by operators of the set; None if it may."""
    operator = operator_of(node)
    if operator in _INDEFINITE or operator in TEMPLATES or operator in OF_FUNCTIONS:
        return _INDEFINITE.get(operator)
    if not defined_by_function(schema_of(node, versions.get(node.domain, 1))):
        return None
    return "the difference between its definition by ONNX and its kernel is not measured"


def way_inside(domain: str, name: str) -> str:
    """How `conform` writes an operator outside the set, in sentences."""
    operator = named(domain, name)
    template = TEMPLATES.get(operator)
    if template is not None:
        tried = VERIFIED[operator].types
        kinds = template.exact & tried, (template.near - template.exact) & tried
        exact, near = (", ".join(sorted(types)) for types in kinds)
        parts = [
            f"for {exact} results keep their bits" if exact else "",
            f"for {near}, with --rounding, {template.bound}" if near else "",
        ]
        return (
            "sonnx-ort conform writes it by operators of the profile: "
            f"{'; '.join(filter(None, parts))}."
        )
    if operator == "If":
        return "sonnx-ort conform takes its branch where its condition is the same in every run."
    if operator in ("Loop", "Scan"):
        return "sonnx-ort conform writes all its steps where their number is the same in every run."
    if operator in _INDEFINITE:
        return f"sonnx-ort conform cannot write it otherwise: {_INDEFINITE[operator]}."
    known = OF_FUNCTIONS.get(operator)
    if known is not None:
        return f"sonnx-ort conform --rounding writes it as ONNX defines it: {known.bound}."
    return "Export the model without it, or accept it with a waiver."


def _change(
    edit: NodeEdit,
    write: Callable[[NodeEdit], Sequence[ir.Value | None]],
    bound: Bound | None,
    title: str = "",
) -> Change:
    def make(edit: NodeEdit) -> bool:
        try:
            values = write(edit)
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            _logger.debug("%s is not written otherwise", edit.node.op_type, exc_info=True)
            raise NoChangeError("its attributes are not those of its document") from error
        _require_types(edit)
        _replace(edit, values)
        return True

    title = title or f"write {edit.node.op_type} by operators of the profile"
    operator = operator_of(edit.node)
    verified = {operator: VERIFIED[operator]} if operator in VERIFIED else {}
    return Change(title, frozenset({OPERATORS_OF_THE_SET.id}), make, verified, bound)


def _bound(template: Template, edit: NodeEdit) -> Bound | None:
    """The bound of a template; None for types in which it is exact."""
    first = edit.input(0)
    dtype = None if first is None else edit.facts.element_type(first)
    return None if dtype in template.exact else template.bound


def _by_function(known: FunctionBound, edit: NodeEdit) -> Sequence[ir.Value | None]:
    dtype = edit.dtype(edit.operand(0)).name.lower()
    if known.types is not None and dtype not in known.types:
        raise NoChangeError(f"no replacement is known for {dtype}")
    is_symmetric = edit.node.op_type.endswith("Window") and not edit.attribute("periodic")
    # The definition divides by one less than the size.
    if is_symmetric and edit.integer_of(edit.operand(0)) <= 1:
        raise NoChangeError("its definition by ONNX gives NaN for a window of one element")
    return write_function(edit)


def _by_template(template: Template, edit: NodeEdit) -> Sequence[ir.Value | None]:
    dtype = edit.dtype(edit.operand(0))
    name = dtype.name.lower()
    if name not in template.exact | template.near:
        raise NoChangeError(f"no replacement is known for {name}")
    made = template.make(Operators(edit, dtype), *edit.node.inputs)
    return made if isinstance(made, tuple) else (made,)


def _require_types(edit: NodeEdit) -> None:
    """Check that the model's version of each operator has the types that it reads."""
    facts = edit.facts
    unsupported = unsupported_type(edit.added, edit.opset, lambda v: facts.type(v) or v.type)
    if unsupported is not None:
        raise TooEarlyError(f"version {edit.opset} of the standard operators has no {unsupported}")


def _replace(edit: NodeEdit, values: Sequence[ir.Value | None]) -> None:
    """Let the values take the place of the outputs."""
    outputs = edit.node.outputs
    for output, value in zip_longest(outputs, values[: len(outputs)]):
        if value is None and (output.uses() or output.is_graph_output()):
            raise NoChangeError(f"what gives its output '{output.name}' is not known")
    edit.replace_by(*values[: len(outputs)])
