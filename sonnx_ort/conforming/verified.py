"""What a change was verified for: versions, types, and values of attributes of an operator.

Results keep their bits, errors stay errors and names stay names where that was tried, against the
kernels of ONNX Runtime. What is not declared here leaves a node alone: a version that came later,
an attribute that the change does not read, a value that a kernel may take for another one.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx.defs
import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.facts.schemas import allowed_types, operator_schema

NEWEST: Mapping[str, int] = {"": 28, "ai.onnx.ml": 5}
"""The last version of the operators of each domain that changes were tried with."""

COMMON_TYPES = frozenset(
    [
        *("bool", "string", "float16", "bfloat16", "float", "double"),
        *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    ]
)
"""The types of elements that changes were tried with."""

INDICES = frozenset({"int32", "int64"})
"""The types of indices."""


@dataclass(frozen=True, slots=True)
class Values:
    """Values of an attribute.

    Attributes:
        text: Which they are, for example "0 or 1".
        admits: Whether a value is one of them, given the rank of the first operand; of an unknown
            rank each axis may be one.
    """

    text: str
    admits: Callable[[Any, int | None], bool]


def one_of(*values: float | str) -> Values:
    """One of a few numbers or texts, or a list of them."""
    text = " or ".join(map(str, values))
    return Values(text, lambda value, _: all(each in values for each in _each(value)))


def at_least(least: int) -> Values:
    """Whole numbers that are not below a limit: one, or a list of them."""
    return Values(f"at least {least}", lambda value, _: all(each >= least for each in _each(value)))


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]


def _are_axes(value: Any, rank: int | None) -> bool:
    """Whether numbers are axes, none of which is named twice."""
    axes = _each(value)
    if rank is None:
        return len(set(axes)) == len(axes)
    return all(-rank <= axis < rank for axis in axes) and len({a % rank for a in axes}) == len(axes)


FLAG = one_of(0, 1)
"""0 or 1: kernels take other numbers for one or the other."""

AXIS = Values("an axis of the operand", _are_axes)
"""An axis of the first operand, counted from either end."""

AXES = Values("axes of the operand, each named once", _are_axes)
"""Axes of the first operand, counted from either end."""

FINITE = Values("finite", lambda value, _: all(math.isfinite(each) for each in _each(value)))
"""Finite numbers."""

ANY = Values("any", lambda *_: True)
"""All values that the schema admits; the change reads them."""


@dataclass(frozen=True, slots=True)
class Verified:
    """What changes of an operator were verified for.

    Attributes:
        first: The first version of the operator.
        last: The last version; a later one may be another operator.
        attributes: The values of each attribute. A node that has another attribute stays.
        others: The types of further inputs, by their names in the schema, where these are neither
            of the type of the first input nor of one type alone.
        types: The types of the first input.
    """

    first: int
    last: int
    attributes: Mapping[str, Values] = field(default_factory=dict)
    others: Mapping[str, frozenset[str]] = field(default_factory=dict)
    types: frozenset[str] = COMMON_TYPES

    def doubt(self, node: ir.Node, version: int, facts: Facts) -> str | None:
        """Why the change was not verified for a node, as a clause; None if it was.

        Args:
            node: The node.
            version: The version of the operators of its domain that the model imports.
            facts: What is certain of values.
        """
        schema = schema_of(node, version)
        if schema is None:
            return "ONNX does not define it"
        since = schema.since_version
        if not self.first <= since <= self.last:
            return f"it is version {since} of {node.op_type}, {_UNVERIFIED}"
        return self._of_attributes(node, rank_of(node, facts)) or self._of_types(
            node, schema, facts
        )

    def _of_attributes(self, node: ir.Node, rank: int | None) -> str | None:
        for name, attribute in node.attributes.items():
            admitted = self.attributes.get(name)
            if admitted is None:
                return f"it has the attribute {name}, {_UNVERIFIED}"
            if attribute.is_ref() or not admitted.admits(attribute.value, rank):
                return f"its attribute {name} is {_shown(attribute)}, {_UNVERIFIED}"
        return None

    def _of_types(self, node: ir.Node, schema: onnx.defs.OpSchema, facts: Facts) -> str | None:
        allowed = allowed_types(node.op_type, schema.since_version, node.domain)
        for position, value in enumerate(node.inputs):
            if value is None or not schema.inputs:
                continue
            index = min(position, len(schema.inputs) - 1)
            formal = schema.inputs[index]
            known = facts.element_type(value)
            if known is not None and f"tensor({known})" not in allowed[index]:
                return f"its input {formal.name} is {known}, which its document does not admit"
            admitted = self.types if position == 0 else self.others.get(formal.name, frozenset())
            same = position > 0 and formal.type_str == schema.inputs[0].type_str
            if same or formal.type_str.startswith(("tensor(", "seq(", "optional(")):
                continue
            found = facts.element_type(value)
            if found is not None and found not in admitted:
                return f"its input {formal.name} is {found}, {_UNVERIFIED}"
            if found is None and facts.may_be_tensor(value):
                return f"the type of '{value.name}' is not known"
        return None


_UNVERIFIED = "for which the change was not verified"


def schema_of(node: ir.Node, version: int) -> onnx.defs.OpSchema | None:
    """The schema of a node's operator, in the version that a model imports; None without one."""
    return operator_schema(node.op_type, version, node.domain)


def rank_of(node: ir.Node, facts: Facts) -> int | None:
    """The certain rank of a node's first input; None if it is not known."""
    value = node.inputs[0] if node.inputs else None
    if value is None or facts.depends_on_scalar_inputs(value):
        return None
    shape = facts.shape(value)
    return None if shape is None else len(shape)


_MOST_SHOWN = 60
"""Of a longer value the beginning is shown."""


def _shown(attribute: ir.Attr) -> str:
    value = attribute.value
    text = repr(list(value)) if isinstance(value, tuple) else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
