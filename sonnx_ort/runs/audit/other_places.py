"""Whether elements have the same bits at other places of other tensors.

Kernels compute several elements at a time, and those that are left over in another way. So the bits
of an element may depend on the length of its tensor, and on its place there.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import onnx

from sonnx_ort.meaning.excerpts import ELEMENT_BY_ELEMENT
from sonnx_ort.runs.audit.audited_node import STANDARD_DOMAINS, versions
from sonnx_ort.runs.derived_models import constants_of
from sonnx_ort.runs.diff.difference import same
from sonnx_ort.runs.isolated_run import Array, Failed, IsolatedRuns, Settings
from sonnx_ort.runs.observing import array_of
from sonnx_ort.runs.parts import declared, part

_BEFORE = (1, 3, 8)
"""How many elements are put in front of those of a tensor."""

_MOST = 1 << 16
"""How many elements of a tensor are computed at other places at most."""

_BROADCAST_BY_SHAPES = 7
"""The first opset in which no attribute says how operands are broadcast."""


def at_other_places(
    model: onnx.ModelProto, values: Mapping[str, Array | None], runs: IsolatedRuns, how: Settings
) -> Iterator[tuple[onnx.NodeProto, bool | Failed]]:
    """Compute elements at other indices, node by node.

    Args:
        model: The model; nodes in bodies, and those that do not compute element by element, are not
            looked at.
        values: The values of a run, and its inputs.
        runs: Runs a node alone.
        how: How it is run.

    Yields:
        A node for each run, and whether the bits are the same; or why the run failed.
    """
    constants = {name: array_of(tensor) for name, tensor in constants_of(model.graph).items()}
    known = {**constants, **values}
    if versions(model)[""] < _BROADCAST_BY_SHAPES:
        return
    for node in model.graph.node:
        read = {name: known.get(name) for name in node.input}
        given = {name: array for name, array in read.items() if array is not None}
        result = known.get(node.output[0]) if len(node.output) == 1 else None
        computes = node.domain in STANDARD_DOMAINS and node.op_type in ELEMENT_BY_ELEMENT
        if not computes or len(given) < len(read) or result is None or not result.size:
            continue
        spread = {n: np.broadcast_to(x, result.shape).ravel()[:_MOST] for n, x in given.items()}
        expected = result.ravel()[:_MOST]
        for count in _BEFORE:
            moved = {n: np.concatenate([x[:1].repeat(count), x]) for n, x in spread.items()}
            yield node, _is_same(model, node, moved, expected, runs, how)


def _is_same(  # noqa: PLR0913, PLR0917 - a node, its operands and result, and how it is run
    model: onnx.ModelProto,
    node: onnx.NodeProto,
    operands: Mapping[str, Array],
    expected: Array,
    runs: IsolatedRuns,
    how: Settings,
) -> bool | Failed:
    output = node.output[0]
    alone = part(
        model,
        [node],
        [onnx.ValueInfoProto(name=output)],
        lambda name: declared(name, operands[name]),
        {},
    )
    found = runs.run(alone, operands, how)
    if isinstance(found, Failed):
        return found
    made = found[output]
    return made is not None and same(made[-expected.size :], expected)
