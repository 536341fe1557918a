"""Writes a node of an operator outside the set by operators of the set.

It is done by a template, or by the function by which ONNX defines the operator. A template is safe
for the types for which every result keeps its bits in every run, which is measured against the
kernels of ONNX Runtime. A function rounds, for ONNX Runtime has a kernel of its own.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest

import onnx
import onnx.defs
import onnx_ir as ir

from sonnx_ort.conforming.branches import take_branch
from sonnx_ort.conforming.change import Change, NoChangeError, NodeEdit, Safety
from sonnx_ort.conforming.function_bodies import defined_by_function, has_function, write_function
from sonnx_ort.conforming.template import Operators, Template
from sonnx_ort.conforming.templates import TEMPLATES
from sonnx_ort.knowledge.value_types import unsupported_type
from sonnx_ort.profile.graph import OPERATORS_OF_THE_SET

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
    **dict.fromkeys(
        [f"ai.onnx.ml::TreeEnsemble{kind}" for kind in ("", "Classifier", "Regressor")],
        "no way is known to write a tree by operators of the profile",
    ),
    "ai.onnx.ml::ZipMap": "it gives maps, and not tensors: export the model without it",
    **dict.fromkeys(("Loop", "Scan"), "no operator of the profile repeats others"),
}
"""Why operators have no finite definition by operators of the set."""


def decomposition_of(edit: NodeEdit) -> Change | None:
    """The change that writes a node by operators of the set; None if none is known.

    Args:
        edit: The node, of an operator outside the set.
    """
    node = edit.node
    operator = operator_of(node.domain, node.op_type)
    template = TEMPLATES.get(operator)
    if template is not None:
        return _change(edit, partial(_by_template, template), _safety(template, edit))
    if operator == "If":
        return _change(edit, take_branch, Safety.SAFE, "take the branch that every run takes")
    if operator in _INDEFINITE:
        return _change(edit, _refuse, Safety.SAFE)
    return _change(edit, write_function, Safety.ROUNDING) if has_function(edit) else None


def way_inside(domain: str, name: str) -> str:
    """How `conform` writes an operator outside the set, in sentences.

    Args:
        domain: The domain of the operator.
        name: Its name.
    """
    operator = operator_of(domain, name)
    template = TEMPLATES.get(operator)
    if template is not None:
        kinds = template.exact, template.near - template.exact
        exact, near = (", ".join(sorted(types)) for types in kinds)
        parts = [
            f"for {exact} results keep their bits" if exact else "",
            f"for {near}, with --rounding, {template.deviates}" if near else "",
        ]
        return (
            "sonnx-ort conform writes it by operators of the profile: "
            f"{'; '.join(filter(None, parts))}."
        )
    if operator == "If":
        return "sonnx-ort conform takes its branch where its condition is the same in every run."
    if operator in _INDEFINITE:
        return f"sonnx-ort conform cannot write it otherwise: {_INDEFINITE[operator]}."
    schema = onnx.defs.get_schema(name, domain=domain)
    if defined_by_function(schema):
        return "sonnx-ort conform --rounding writes it as ONNX defines it, by other operators."
    return "Export the model without it, or accept it with a waiver."


def operator_of(domain: str, name: str) -> str:
    """The name of an operator, with its domain if that is not the standard one."""
    return f"{domain}::{name}" if domain else name


def _change(
    edit: NodeEdit,
    write: Callable[[NodeEdit], Sequence[ir.Value | None]],
    safety: Safety,
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
    return Change(title, frozenset({OPERATORS_OF_THE_SET.id}), make, safety)


def _safety(template: Template, edit: NodeEdit) -> Safety:
    first = edit.input(0)
    dtype = None if first is None else edit.facts.element_type(first)
    return Safety.SAFE if dtype in template.exact else Safety.ROUNDING


def _by_template(template: Template, edit: NodeEdit) -> Sequence[ir.Value | None]:
    first = edit.operand(0)
    name = edit.facts.element_type(first)
    if name is None:
        raise NoChangeError(f"the type of '{first.name}' is not known")
    if name not in template.exact | template.near:
        raise NoChangeError(f"no way is known to write it for {name}")
    made = template.make(Operators(edit, ir.DataType[name.upper()]), *edit.node.inputs)
    return made if isinstance(made, tuple) else (made,)


def _require_types(edit: NodeEdit) -> None:
    """Check that the model's version of each operator has the types that it reads.

    Raises:
        NoChangeError: One has not.
    """
    facts = edit.facts
    unsupported = unsupported_type(edit.added, edit.opset, lambda v: facts.type(v) or v.type)
    if unsupported is not None:
        raise NoChangeError(f"version {edit.opset} of the standard operators has no {unsupported}")


def _refuse(edit: NodeEdit) -> Sequence[ir.Value | None]:
    raise NoChangeError(_INDEFINITE[operator_of(edit.node.domain, edit.node.op_type)])


def _replace(edit: NodeEdit, values: Sequence[ir.Value | None]) -> None:
    """Let the values take the place of the outputs.

    Raises:
        NoChangeError: An output that is read has none.
    """
    outputs = edit.node.outputs
    for output, value in zip_longest(outputs, values[: len(outputs)]):
        if value is None and (output.uses() or output.is_graph_output()):
            raise NoChangeError(f"what gives its output '{output.name}' is not known")
    edit.replace_by(*values[: len(outputs)])
