"""Takes the branch of an If whose condition is the same in every run.

The condition is a constant, or follows from sizes that are certain. The nodes of the branch take
the place of the If. They compute the same as before, in the same order.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.change import NoChangeError, NodeEdit
from sonnx_ort.conforming.constants import known_elements
from sonnx_ort.conforming.simplifying import detach_bodies
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.traversal import defined_values

Array = npt.NDArray[Any]

_COMPUTED: Mapping[str, Callable[..., Any]] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "Less": np.less,
    "And": np.logical_and,
    "Not": np.logical_not,
    "Or": np.logical_or,
}
"""What is computed of known integers and booleans, of which every machine makes the same."""


def take_branch(edit: NodeEdit) -> Sequence[ir.Value | None]:
    """Move the nodes of the branch that every run takes in front of an If; give its outputs.

    Raises:
        NoChangeError: The condition may differ from run to run.
    """
    condition = edit.operand(0)
    known = _known(edit.facts, condition)
    if known is None or known.size != 1:
        raise NoChangeError(f"its condition '{condition.name}' is known only in a run")
    branch = edit.node.attributes["then_branch" if known.item() else "else_branch"].as_graph()
    values = list(branch.outputs)
    branch.outputs.clear()
    _give_new_names(edit, branch)
    for name in list(branch.initializers):
        value = branch.initializers.pop(name)
        cast(ir.Graph, edit.node.graph).register_initializer(value)
    nodes = list(branch)
    branch.remove(nodes)
    detach_bodies(edit.node)
    edit.added += nodes
    return [_passed_on(edit, value) for value in values]


def _known(facts: Facts, value: ir.Value) -> Array | None:
    """The elements that a value has in every run; None if they are not known."""
    stored = known_elements(facts, value)
    if stored is not None:
        return stored
    node = value.producer()
    if node is None or not (node.op_type in _COMPUTED or node.op_type == "Cast"):
        return None
    operands = [None if each is None else _known(facts, each) for each in node.inputs]
    if any(each is None or each.dtype.kind not in "biu" for each in operands):
        return None
    if node.op_type != "Cast":
        return np.asarray(_COMPUTED[node.op_type](*operands))
    is_boolean = node.attributes.get_int("to") == ir.DataType.BOOL
    return cast(Array, operands[0]).astype(np.bool_) if is_boolean else None


def _give_new_names(edit: NodeEdit, branch: ir.Graph) -> None:
    """Rename what has the name of something elsewhere, for example in the other branch."""
    repeated = [value for value in defined_values(branch) if edit.names.repeated(value.name)]
    ir.convenience.rename_values(repeated, [edit.names.fresh(str(v.name)) for v in repeated])
    taken = {node.name for node in cast(ir.Graph, edit.node.graph)}
    for node in branch:
        if node.name in taken:
            node.name = edit.names.fresh_for_node(str(node.name))


def _passed_on(edit: NodeEdit, value: ir.Value) -> ir.Value:
    """An output of a branch; what the branch does not compute gets a name of its own."""
    if value.producer() in edit.added:
        return value
    return edit.add("Identity", [value], "passed")
