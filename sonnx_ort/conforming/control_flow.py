"""Control flow that is the same in every run, written as the nodes of that way.

Of an If whose condition is the same in every run, the nodes of the branch take its place. The
condition is a constant, or follows from sizes that are certain. On request both branches of another
If are computed, and the condition chooses between their results, by a Gather, for a Where gives 0
for -0. No node may then break a rule or fail where the If would not have run it. A Loop or Scan of
a known number of steps becomes the nodes of all steps; what a step stacks on the results of the
others is joined by a Concat. The steps of a Loop that counts until a condition ends it are known if
what it counts from and to is. The nodes compute the same as before, in the same order. Source: ONNX
If and Loop since version 1, and Scan since version 9.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.change import NoChangeError, NodeEdit
from sonnx_ort.conforming.dead_nodes import detach_bodies
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.origins import copy_origin
from sonnx_ort.errors.remedies import Remedy
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.traversal import defined_values, subgraphs_of
from sonnx_ort.loading.written import carry

_MOST_NODES = 4096
_SCAN_WITHOUT_BATCHES = 9

Array = npt.NDArray[Any]

Given = Mapping[ir.Value, ir.Value]
"""The values that take the place of those of a body."""


_COMPUTED: Mapping[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Identity": np.asarray,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "And": np.logical_and,
    "Not": np.logical_not,
    "Or": np.logical_or,
}
"""What is computed of known whole numbers and booleans, of which every machine makes the same."""

_CAST_TO: Mapping[int | None, npt.DTypeLike] = {
    each.value: each.numpy()
    for each in (ir.DataType.BOOL, ir.DataType.INT32, ir.DataType.INT64, ir.DataType.FLOAT)
}
"""The types that hold all of these numbers."""

_SMALL = 1 << 20
"""Nothing is computed of larger numbers; a sum of these is exact in their type."""

_MOST_COUNTED = 4096
"""The steps of a Loop are counted so far."""

_WITHOUT_RULES = frozenset({"Erf", "HardSwish", "Identity", "Not", "Softplus", "Transpose"})
"""Operators without rules that compute a result of every operand."""


def take_branch(edit: NodeEdit) -> list[ir.Value]:
    """Move the nodes of the branch that every run takes in front of an If; give its outputs."""
    condition = edit.operand(0)
    known = _known(edit.facts, condition, {})
    if known is not None and known.size == 1:
        branch = _branch(edit, taken=bool(known.item()))
        # What is moved cannot be put back: a change that is not made says so before.
        _own_values(edit.dry_run(), branch.outputs)
        return _released(edit, _moved(edit, branch))
    if not edit.both_branches:
        raise NoChangeError(
            f"its condition '{condition.name}' depends on the input; ",
            Remedy("both_branches"),
            " may compute both branches",
            edit.fixing_elements(condition),
        )
    return _chosen(edit, condition)


def _branch(edit: NodeEdit, *, taken: bool) -> ir.Graph:
    return edit.node.attributes["then_branch" if taken else "else_branch"].as_graph()


def _chosen(edit: NodeEdit, condition: ir.Value) -> list[ir.Value]:
    """Compute both branches; give what the condition chooses of their results."""
    branches = [_branch(edit, taken=taken) for taken in (False, True)]
    for node in (node for branch in branches for node in branch):
        if subgraphs_of(node):
            raise NoChangeError(f"{node.op_type} in a branch has graphs of its own")
        total = not node.domain and node.op_type in _WITHOUT_RULES
        if not total and node not in edit.proved:
            raise NoChangeError(
                f"{node.op_type} '{node.name}' in a branch may break a rule in a run that does not "
                "take the branch"
            )
    for one, other in zip(*(branch.outputs for branch in branches), strict=True):
        if edit.sizes(one) != edit.sizes(other) or edit.dtype(one) != edit.dtype(other):
            raise NoChangeError("its branches give results of different shapes or types")
    # What is moved cannot be put back: a change that is not made says so before.
    trial = edit.dry_run()
    _at_index(trial, _index_of(trial, condition), [branch.outputs for branch in branches])
    index = _index_of(edit, condition)
    results = _at_index(edit, index, [_moved(edit, branch) for branch in branches])
    detach_bodies(edit.node)
    return results


def _index_of(edit: NodeEdit, condition: ir.Value) -> ir.Value:
    """A condition as the index of a branch: 0 or 1."""
    op = Operators(edit)
    return op.Reshape(op.cast(condition, ir.DataType.INT64), [])


def _at_index(
    edit: NodeEdit, index: ir.Value, branches: Sequence[Sequence[ir.Value]]
) -> list[ir.Value]:
    """The results of the branch at an index."""
    op = Operators(edit)
    return [
        op.Gather(op.Concat(*(op.Unsqueeze(v, axes=[0]) for v in pair), axis=0), index, axis=0)
        for pair in zip(*branches, strict=True)
    ]


def _moved(edit: NodeEdit, branch: ir.Graph) -> list[ir.Value]:
    """Add the nodes of a branch in front of the node; give the outputs of the branch."""
    values = list(branch.outputs)
    branch.outputs.clear()
    _give_new_names(edit, branch)
    for name in list(branch.initializers):
        value = branch.initializers.pop(name)
        cast(ir.Graph, edit.node.graph).register_initializer(value)
    nodes = list(branch)
    branch.remove(nodes)
    edit.added += nodes
    edit.moved += len(nodes)
    return values


def _known(facts: Facts, value: ir.Value, given: dict[ir.Value, Array | None]) -> Array | None:
    """The elements that a value has in every run; None if they are not known.

    Those of `given` values are these; what is computed is added to them.
    """
    if value not in given:
        stored = facts.known_elements(value)
        given[value] = _computed(facts, value, given) if stored is None else stored
    return given[value]


def _computed(facts: Facts, value: ir.Value, given: dict[ir.Value, Array | None]) -> Array | None:
    """What a node makes of known operands; None if that is not known."""
    node = value.producer()
    if node is None or not (node.op_type in _COMPUTED or node.op_type == "Cast"):
        return None
    known = (None if each is None else _known(facts, each, given) for each in node.inputs)
    operands = [each for each in known if each is not None]
    if len(operands) < len(node.inputs) or not all(map(_is_counted, operands)):
        return None
    if node.op_type != "Cast":
        return np.asarray(_COMPUTED[node.op_type](*operands))
    dtype = _CAST_TO.get(node.attributes.get_int("to"))
    return None if dtype is None else operands[0].astype(dtype)


def _is_counted(elements: Array) -> bool:
    """Whether elements are booleans or small whole numbers, of an integer or float type."""
    if elements.dtype.kind == "f" and elements.itemsize < np.float32().itemsize:
        return False
    if elements.dtype.kind not in "biuf":
        return False
    numbers = elements.astype(np.float64)
    # A NaN compares as false.
    return bool(((np.abs(numbers) <= _SMALL) & (np.trunc(numbers) == numbers)).all())


def _give_new_names(edit: NodeEdit, branch: ir.Graph) -> None:
    """Rename what has the name of something elsewhere, for example in the other branch."""
    repeated = [value for value in defined_values(branch) if edit.names.repeated(value.name)]
    ir.convenience.rename_values(repeated, [edit.names.fresh(str(v.name)) for v in repeated])
    taken = {node.name for node in (*cast(ir.Graph, edit.node.graph), *edit.added)}
    for node in branch:
        if node.name in taken:
            node.name = edit.names.fresh_for_node(str(node.name))


def unroll(edit: NodeEdit) -> list[ir.Value]:
    """Add the nodes of all steps in front of a Loop or Scan; give its outputs."""
    bodies = subgraphs_of(edit.node)
    if len(bodies) != 1:
        raise NoChangeError("it has no body")
    (body,) = bodies
    results = (_unroll_loop if edit.node.op_type == "Loop" else _unroll_scan)(edit, body)
    return _released(edit, results)


def _released(edit: NodeEdit, values: Sequence[ir.Value]) -> list[ir.Value]:
    """Let the bodies read nothing; what was not added gets a name of its own."""
    own = _own_values(edit, values)
    detach_bodies(edit.node)
    return own


def _own_values(edit: NodeEdit, values: Iterable[ir.Value]) -> list[ir.Value]:
    """Values as results of added nodes: of those that are none, copies."""
    op, added = Operators(edit), set(edit.added)
    return [value if value.producer() in added else op.Identity(value) for value in values]


def _unroll_loop(edit: NodeEdit, body: ir.Graph) -> list[ir.Value]:
    count = _steps_of(edit, body)
    _require_few(edit, count, body)
    number, condition, *taken = body.inputs
    states = [edit.operand(index + 2) for index in range(len(taken))]
    stacked: list[list[ir.Value]] = []
    op = Operators(edit)
    for step in range(count):
        # A body may declare the counter as a vector of one element.
        counter = np.full([1] * len(number.shape or ()), step, np.int64)
        given = {number: edit.constant(counter, "step")}
        if condition.uses():
            given[condition] = edit.constant(np.array(True), "goes_on")
        _, *found = _step(edit, body, given | dict(zip(taken, states, strict=True)))
        states, rows = found[: len(taken)], found[len(taken) :]
        stacked.append([op.Unsqueeze(row, axes=[0]) for row in rows])
    return [*states, *_joined(op, stacked, [0] * (len(body.outputs) - 1 - len(taken)))]


def _steps_of(edit: NodeEdit, body: ir.Graph) -> int:
    """How many steps a Loop takes in every run."""
    trips, go_on = edit.input(0), edit.input(1)
    limit = None if trips is None else max(edit.integer_of(trips), 0)
    number, condition, *taken = body.inputs
    goes = np.array(True) if go_on is None else _known(edit.facts, go_on, {})
    if go_on is not None and goes is None:
        raise NoChangeError(
            "how many steps it takes depends on the input", edit.fixing_elements(go_on)
        )
    states = [_known(edit.facts, edit.operand(2 + index), {}) for index in range(len(taken))]
    for count in range(_MOST_COUNTED + 1):
        if goes is None:
            raise NoChangeError("its body may end it")
        if count == limit or not goes.all():
            return count
        known = np.array(count), goes, *states
        given = dict(zip([number, condition, *taken], known, strict=True))
        computed = body.outputs[: 1 + len(taken)]
        goes, *states = (_known(edit.facts, value, given) for value in computed)
    raise NoChangeError(f"it takes more than {_MOST_COUNTED:,} steps")


def _unroll_scan(edit: NodeEdit, body: ir.Graph) -> list[ir.Value]:
    if operator_version("Scan", edit.opset) < _SCAN_WITHOUT_BATCHES:
        raise NoChangeError("Scan of opset 8 has batches")
    scanned = edit.integer("num_scan_inputs")
    if any(any(edit.integers(f"scan_{kind}_directions") or ()) for kind in ("input", "output")):
        raise NoChangeError("it goes from the last element to the first")
    first = len(edit.node.inputs) - scanned
    operands = [edit.operand(index) for index in range(len(edit.node.inputs))]
    states, elements = operands[:first], operands[first:]
    axes = _axes(edit, "scan_input_axes", [len(edit.shape(value)) for value in elements])
    length = edit.shape(elements[0])[axes[0]] if elements else None
    if not isinstance(length, int):
        raise NoChangeError(
            "how many steps it takes depends on the input", edit.fixing_sizes(*elements[:1])
        )
    _require_few(edit, length, body)
    op, stacked = Operators(edit), list[list[ir.Value]]()
    ranks = [len(edit.facts.shape(value) or ()) + 1 for value in body.outputs[first:]]
    results = _axes(edit, "scan_output_axes", ranks)
    for step in range(length):
        parts = [op.at(value, axis, step) for value, axis in zip(elements, axes, strict=True)]
        found = _step(edit, body, dict(zip(body.inputs, [*states, *parts], strict=True)))
        states, rows = found[:first], found[first:]
        pairs = zip(rows, results, strict=True)
        stacked.append([op.Unsqueeze(row, axes=[axis]) for row, axis in pairs])
    return [*states, *_joined(op, stacked, results)]


def _axes(edit: NodeEdit, name: str, ranks: Sequence[int]) -> list[int]:
    """The axes of an attribute, counted from the front; without it, each is 0."""
    axes = edit.integers(name) or (0,) * len(ranks)
    pairs = list(zip(axes, ranks, strict=False))
    if len(axes) != len(ranks) or any(not -rank <= axis < rank for axis, rank in pairs):
        raise NoChangeError(f"its {name} are of no axes that are known")
    return [axis % rank for axis, rank in pairs]


def _require_few(edit: NodeEdit, count: int, body: ir.Graph) -> None:
    most = edit.most_steps
    if count > most:
        raise NoChangeError(
            f"it takes {count:,} steps; ", Remedy("unroll", count), " writes them all"
        )
    if count < 1:
        raise NoChangeError("it takes no step")
    if count * len(body) > _MOST_NODES:
        raise NoChangeError(f"its steps are {count * len(body):,} nodes")


def _step(edit: NodeEdit, body: ir.Graph, given: Given) -> list[ir.Value]:
    """Add the nodes of one step; give what takes the place of the body's outputs."""
    known = dict(given)
    for value in body.initializers.values():
        known[value] = edit.constant(_elements(value), str(value.name))
    edit.added += [_copied_node(edit, node, known) for node in body]
    return [known.get(value, value) for value in body.outputs]


def _elements(value: ir.Value) -> Array:
    if value.const_value is None:
        raise NoChangeError(f"the initializer '{value.name}' has no elements")
    return value.const_value.numpy()


def _copied_node(edit: NodeEdit, node: ir.Node, known: dict[ir.Value, ir.Value]) -> ir.Node:
    """A copy of a node that reads what takes the place of its inputs."""
    inputs = [None if value is None else known.get(value, value) for value in node.inputs]
    attributes = [
        ir.AttrGraph(each.name, _copied_graph(edit, each.as_graph(), known))
        if each.type == ir.AttributeType.GRAPH
        else each
        for each in node.attributes.values()
    ]
    outputs = [_renamed_copy(edit, value) for value in node.outputs]
    known.update(zip(node.outputs, outputs, strict=True))
    copied = ir.Node(
        node.domain,
        node.op_type,
        inputs,
        attributes,
        overload=node.overload,
        outputs=outputs,
        name=edit.names.fresh_for_node(str(node.name or node.outputs[0].name)),
    )
    copy_origin(node, copied)
    carry(node.metadata_props, copied)
    return copied


def _copied_graph(edit: NodeEdit, graph: ir.Graph, outer: Given) -> ir.Graph:
    """A copy of a body that reads what takes the place of outer values."""
    known = dict(outer)
    inputs = [_renamed_copy(edit, value) for value in graph.inputs]
    known.update(zip(graph.inputs, inputs, strict=True))
    stored = []
    for value in graph.initializers.values():
        known[value] = _renamed_copy(edit, value)
        known[value].const_value = ir.Tensor(_elements(value), name=known[value].name)
        stored.append(known[value])
    nodes = [_copied_node(edit, node, known) for node in graph]
    outputs = [known.get(value, value) for value in graph.outputs]
    return ir.Graph(inputs, outputs, nodes=nodes, initializers=stored, name=graph.name)


def _renamed_copy(edit: NodeEdit, value: ir.Value) -> ir.Value:
    name = edit.names.fresh(str(value.name)) if value.name else ""
    copied = ir.Value(name=name, type=value.type, shape=value.shape)
    copy_origin(value, copied)
    return copied


def _joined(
    op: Operators, stacked: Sequence[Sequence[ir.Value]], axes: Sequence[int]
) -> list[ir.Value]:
    """What the steps have stacked, along an axis of each result."""
    columns = zip(*stacked, strict=True)
    return [op.Concat(*parts, axis=axis) for parts, axis in zip(columns, axes, strict=True)]
