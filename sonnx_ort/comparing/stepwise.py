"""Compares two forms of a model value by value, each from the values that the first one computed.

Where the second model computes a value that the first one has too, all that reads it reads that of
the first. So a difference is that of the nodes behind these values alone, and none is passed on.

Of values that may be rounded otherwise, half of the digits of their type have to agree with the
first, in parts of the largest number. Where the oracle follows the nodes within its limit, they
have to be within 2^8 units of the largest number, too, of what the nodes mean exactly. NaN and
infinities of the first are not compared, and integers may be 1 apart.
"""

from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import replace

import numpy as np
import onnx
from onnx import helper

from sonnx_ort.comparing.derived_models import seed_random_operators, whole
from sonnx_ort.comparing.difference import EXACT, Comparison, comparable, compared, same
from sonnx_ort.comparing.enclosing import Enclosing
from sonnx_ort.comparing.input_shapes import UNSAID, Sizes
from sonnx_ort.comparing.isolated_run import Array, IsolatedRuns
from sonnx_ort.comparing.runs import run_both, trace
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.obligations.contracts import ContractSource
from sonnx_ort.oracle.node import ELEMENT_TYPES
from sonnx_ort.oracle.numbers import FLOAT_FORMATS
from sonnx_ort.profile.contract import NO_CONTRACT

_COMPUTED = "{} computed anew"
_MOST_ELEMENTS, _MOST_OPERATIONS = 4096, 200_000
"""Of how many elements exact results are computed, and by how many operations on numbers."""

_LOST_DIGITS = 8
"""How many digits of an exact result may be lost: 2^8 units."""


def compare_stepwise(  # noqa: PLR0913 - one for each choice
    first: ReadModel,
    second: ReadModel,
    given: Mapping[str, Array],
    rounding: Collection[str],
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    contract: ContractSource = NO_CONTRACT,
) -> Comparison:
    """Compare runs of two models; values of the names in `rounding` may differ as above.

    Without such names, or if a run ends early, the whole runs are compared.

    Raises:
        SonnxError: A model cannot be used, or their inputs differ.
    """
    runs = next(run_both(first, second, [(given, seed)], sizes, contract=contract))
    one, other = runs.traces
    if not rounding or one.stop or other.stop:
        return compared(runs, EXACT)
    known = {name: value for name, value in one.values.items() if value is not None}
    model = whole(second)
    cut, read = _cut(model.proto, known)
    feeds = {**runs.inputs.arrays, **read}
    with IsolatedRuns() as isolated:
        made = trace(replace(model, proto=cut), feeds, isolated)
    values = {name: made.values.get(_COMPUTED.format(name)) for name in read}
    for name in set(rounding).intersection(read):
        old, new = read[name], values[name]
        if new is not None and not same(old, new) and _is_near(cut, feeds, name, old, new):
            values[name] = old
    # What is near enough counts as equal.
    found = {name: values.get(name, value) for name, value in other.values.items()}
    return compared(
        replace(runs, traces=(one, replace(other, values=found, stop=made.stop))), EXACT
    )


def _cut(
    model: onnx.ModelProto, known: Mapping[str, Array]
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """A copy in which known values are inputs, computed anew under other names; and these."""
    copy = deepcopy(model)
    seed_random_operators(copy)
    read = {}
    for node in copy.graph.node:
        for index, name in enumerate(node.output):
            if name in known:
                node.output[index] = _COMPUTED.format(name)
                array = read[name] = known[name]
                kind = helper.np_dtype_to_tensor_dtype(array.dtype)
                copy.graph.input.append(helper.make_tensor_value_info(name, kind, array.shape))
    return copy, read


def _is_near(
    cut: onnx.ModelProto, feeds: Mapping[str, Array], name: str, old: Array, new: Array
) -> bool:
    if not comparable(old, new):
        return False
    element_type = ELEMENT_TYPES.get(old.dtype)
    if element_type is None or element_type not in FLOAT_FORMATS:
        apart = (
            np.maximum(old, new) - np.minimum(old, new) if old.dtype.kind in "iu" else old != new
        )
        return bool((apart <= (old.dtype.kind in "iu")).all())
    digits = FLOAT_FORMATS[element_type].precision
    kept = np.isfinite(old)
    wanted, found = (np.where(kept, each, 0).astype(np.float64) for each in (old, new))
    largest = np.abs(wanted).max(initial=0)
    if not (np.abs(found - wanted) <= largest * 2.0 ** -(digits // 2)).all():
        return False
    off = _from_exact(cut, feeds, name, new) if old.size <= _MOST_ELEMENTS else None
    admitted = largest * 2.0 ** -max(digits - _LOST_DIGITS, digits // 2)
    return off is None or bool((np.where(kept, off, 0) <= admitted).all())


def _from_exact(
    cut: onnx.ModelProto, feeds: Mapping[str, Array], name: str, found: Array
) -> Array | None:
    """How far a value is at least from what the nodes that compute it mean exactly.

    None if the oracle does not follow the nodes, or not within the limit.
    """
    wanted, nodes = {_COMPUTED.format(name)}, list[onnx.NodeProto]()
    for node in reversed(cut.graph.node):
        if wanted.intersection(node.output):
            nodes.insert(0, node)
            wanted.update(node.input)
    part = onnx.ModelProto(opset_import=cut.opset_import)
    part.graph.output.add(name=_COMPUTED.format(name))
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(t for t in cut.graph.initializer if t.name in wanted)
    given = {each: array for each, array in feeds.items() if each in wanted}
    try:
        enclosing = Enclosing(part, given, limit=_MOST_OPERATIONS)
        for node in nodes:
            enclosing.follow(node)
    except SonnxError:
        return None
    distances = enclosing.distances(_COMPUTED.format(name), found)
    return None if distances is None else distances[0]
