"""Single nodes of operators that changes are made of, with attributes and operands of all kinds.

Each begins with a case of the onnx package, or of our own for ai.onnx.ml, and gets another version,
type, attribute, size, constant or element, also such as no document admits. It is conformed, safely
and with changes that round, and both models run beside the original one.
"""

import logging
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import defs, helper, numpy_helper

import sonnx_ort
from sonnx_ort.conforming.change import Safety
from sonnx_ort.conforming.verified_operators import VERIFIED
from sonnx_ort.models.example import differing_elements
from support.learned_cases import LEARNED, MACHINES, TREES
from support.quantized_cases import QUANTIZED
from support.sessions import on_one_thread
from support.soundness.extremes import FLOATS
from support.soundness.isolated import how_it_ends
from support.soundness.node_cases import node_cases

Array = np.ndarray[Any, Any]

OLDEST, NEWEST = 7, 28
"""The versions of the standard operators that are tried."""

_TYPES = ("float", "double", "float16", "int64", "int32", "int8", "uint8", "int16", "bool")
_WHOLE = (0, 1, 2, -1, -2, 3, 4, 7, 99, 2**31, -(2**63))
_TEXTS = ("NOTSET", "VALID", "SAME_UPPER", "none", "add", "mean", "sum", "CRD", "tanh", "L1", "odd")
_SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 3e38, -3e38)
_MOST_ELEMENTS = 4096


@dataclass(frozen=True)
class Trial:
    """A model of one node, and its operands.

    Attributes:
        model: The model.
        feeds: The operands that are no constants.
        ordinary: Whether all floats are ordinary numbers.
    """

    model: onnx.ModelProto
    feeds: Mapping[str, Array]
    ordinary: bool

    def __str__(self) -> str:
        """The model and its operands as text."""
        feeds = "\n".join(f"{name} = {array!r}" for name, array in self.feeds.items())
        return f"{onnx.printer.to_text(self.model)}\n{feeds}"


@dataclass(frozen=True)
class _Base:
    """A node that runs, and its operands by position; None for one that is omitted."""

    node: onnx.NodeProto
    operands: tuple[Array | None, ...]
    versions: Mapping[str, int]


def operator_of(node: onnx.NodeProto) -> str:
    """The name of an operator, as the table of what is verified has it."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    return f"{domain}::{node.op_type}" if domain else str(node.op_type)


@cache
def bases() -> Mapping[str, Sequence[_Base]]:
    """What trials begin with, by operator."""
    found: dict[str, list[_Base]] = {}
    for base in (*_of_onnx(), *_of_ours()):
        operator = operator_of(base.node)
        if operator in VERIFIED and _count(base) <= _MOST_ELEMENTS:
            found.setdefault(operator, []).append(base)
    return dict(sorted(found.items()))


def _count(base: _Base) -> int:
    return max((array.size for array in base.operands if array is not None), default=0)


def _of_onnx() -> Iterator[_Base]:
    for case in node_cases():
        graph = case.model.graph
        has_bodies = any(
            a.type == onnx.AttributeProto.GRAPH for n in graph.node for a in n.attribute
        )
        if len(graph.node) != 1 or has_bodies or graph.initializer:
            continue
        data = dict(zip([value.name for value in graph.input], case.data_sets[0][0], strict=True))
        operands = [data.get(name) if name else None for name in graph.node[0].input]
        if all(each is None or isinstance(each, np.ndarray | np.generic) for each in operands):
            arrays = tuple(None if each is None else np.asarray(each) for each in operands)
            versions = {each.domain: each.version for each in case.model.opset_import}
            yield _Base(graph.node[0], arrays, versions)


def _of_ours() -> Iterator[_Base]:
    for case in (*LEARNED, *MACHINES, *TREES, *QUANTIZED):
        for dtype in case.dtypes:
            model = case.model(dtype, case.opsets[-1])
            feeds = list(case.runs(dtype, special=False))[-1]
            stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
            (node,) = model.graph.node
            known = {**stored, **feeds}
            versions = {each.domain: each.version for each in model.opset_import}
            yield _Base(node, tuple(known.get(name) for name in node.input), versions)


def make_trial(number: int) -> Trial | None:
    """The trial of a number; None where there is no valid model."""
    rng = random.Random(number)  # noqa: S311 - no cryptography
    operators = list(bases())
    base = rng.choice(bases()[operators[number % len(operators)]])
    node = onnx.NodeProto()
    node.CopyFrom(base.node)
    versions = dict(base.versions)
    if rng.random() < 0.6:
        versions[""] = rng.randint(OLDEST, NEWEST)
    try:
        schema = defs.get_schema(node.op_type, versions.get(node.domain, 1), node.domain)
    except defs.SchemaError:
        return None
    operands = list(base.operands)
    _change_types(rng, schema, operands)
    _change_sizes(rng, operands)
    ordinary = _change_elements(rng, operands)
    if rng.random() < 0.6:
        ordinary = _change_attributes(rng, node, schema) and ordinary
    return _assembled(rng, node, operands, versions, ordinary=ordinary)


def _change_types(rng: random.Random, schema: defs.OpSchema, operands: list[Array | None]) -> None:
    """Another type of all operands that have one type, or of one of them."""
    if rng.random() < 0.5 or not schema.inputs:
        return
    chosen = rng.choice(schema.inputs).type_str
    dtype = helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, rng.choice(_TYPES).upper()))
    for position, operand in enumerate(operands):
        formal = schema.inputs[min(position, len(schema.inputs) - 1)]
        if operand is not None and formal.type_str == chosen and operand.dtype.kind in "iufb":
            with np.errstate(all="ignore"):
                operands[position] = operand.astype(dtype)


def _change_sizes(rng: random.Random, operands: list[Array | None]) -> None:
    """Another size of an axis, of one operand or of all axes of that size."""
    if rng.random() < 0.5:
        return
    sizes = sorted({size for each in operands if each is not None for size in each.shape})
    if not sizes:
        return
    old, new = rng.choice(sizes), rng.choice((0, 0, 1, 2, 3))
    alone = rng.randrange(len(operands)) if rng.random() < 0.4 else None
    for position, operand in enumerate(operands):
        if operand is not None and alone in (None, position):
            shape = [new if size == old else size for size in operand.shape]
            operands[position] = _resized(operand, shape)


def _resized(array: Array, shape: Sequence[int]) -> Array:
    return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)


def _change_elements(rng: random.Random, operands: list[Array | None]) -> bool:
    """Special floats, and whole numbers that may be beyond; say whether all are ordinary."""
    floats, whole = rng.random() < 0.4, rng.random() < 0.3
    for position, operand in enumerate(operands):
        if operand is None or not operand.size or operand.dtype.kind not in "iuf":
            continue
        if not (floats if operand.dtype.kind == "f" else whole):
            continue
        changed = operand.copy()
        for _ in range(rng.randint(1, 4)):
            index = rng.randrange(changed.size)
            with np.errstate(all="ignore"):
                if changed.dtype.kind == "f":
                    changed.flat[index] = rng.choice(_SPECIAL)
                else:
                    limits = np.iinfo(changed.dtype)
                    number = rng.choice((*_WHOLE, changed.flat[0] + 1, limits.min, limits.max))
                    changed.flat[index] = min(max(int(number), int(limits.min)), int(limits.max))
        operands[position] = changed
    return not floats


def _change_attributes(rng: random.Random, node: onnx.NodeProto, schema: defs.OpSchema) -> bool:
    """Other values of one or two attributes, or none; say whether no float is another one."""
    kinds = defs.OpSchema.AttrType
    names = sorted(schema.attributes)
    given = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    for name in rng.sample(names, min(len(names), rng.choice((1, 1, 2)))):
        value = _value(rng, schema.attributes[name].type, given.get(name))
        kept = [each for each in node.attribute if each.name != name]
        del node.attribute[:]
        node.attribute.extend(kept)
        if value is not None and rng.random() < 0.9:
            kind = onnx.AttributeProto.AttributeType.Value(schema.attributes[name].type.name)
            node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return not any(a.type in (kinds.FLOAT, kinds.FLOATS) for a in schema.attributes.values())


def _value(rng: random.Random, kind: Any, given: Any) -> Any:
    kinds = defs.OpSchema.AttrType
    if kind == kinds.INT:
        return rng.choice(_WHOLE)
    if kind == kinds.FLOAT:
        return rng.choice(FLOATS)
    if kind == kinds.STRING:
        return rng.choice(_TEXTS)
    if kind == kinds.INTS:
        own = list(given or (1, 1))
        own[rng.randrange(len(own))] = rng.choice(_WHOLE[:8])
        return rng.choice((own, own[:-1] or [1], [*own, own[0]], [own[0]] * len(own)))
    if kind == kinds.FLOATS and given:
        own = list(given)
        own[rng.randrange(len(own))] = rng.choice(FLOATS)
        return rng.choice((own, own[:-1] or [1.0], [*own, 1.0]))
    return None


def _assembled(
    rng: random.Random,
    node: onnx.NodeProto,
    operands: Sequence[Array | None],
    versions: Mapping[str, int],
    *,
    ordinary: bool,
) -> Trial | None:
    """The model: sizes are declared or open, and operands may be constants."""
    is_open, stored = rng.choice((0.0, 0.0, 0.5, 1.0)), rng.choice((0.0, 0.5, 1.0))
    arrays = {
        name: array
        for name, array in zip(node.input, operands, strict=False)
        if name and array is not None
    }
    inputs, constants, feeds = [], [], {}
    for place, (name, array) in enumerate(arrays.items()):
        if place and array.dtype.kind in "iufb" and rng.random() < stored:
            constants.append(numpy_helper.from_array(np.asarray(array), name))
            continue
        shape = [f"{name}_{k}" if rng.random() < is_open else n for k, n in enumerate(array.shape)]
        inputs.append(
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape)
        )
        feeds[name] = array
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    imports = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except (onnx.shape_inference.InferenceError, ValueError):
        return None
    for own, found in zip(model.graph.output, inferred.graph.output, strict=True):
        if not found.type.tensor_type.elem_type:
            return None
        own.type.tensor_type.elem_type = found.type.tensor_type.elem_type
    return Trial(model, feeds, ordinary)


Outcome = Sequence[Array] | str
"""The outputs, or how the run ended without any."""


def outcome(model: onnx.ModelProto, feeds: Mapping[str, Array], level: str) -> Outcome:
    """What comes of a run."""
    try:
        session = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
    except Exception as error:  # noqa: BLE001 - whatever it raises, there is no session
        return f"no session: {error}"
    try:
        found: Sequence[Array] = session.run(None, dict(feeds))
    except Exception as error:  # noqa: BLE001 - likewise
        return f"no result: {error}"
    return found


def attempt(number: int) -> dict[str, int]:
    """Conform the node of a number, and hold the runs of both models to each other."""
    logging.getLogger("sonnx_ort").disabled = True
    ort.set_default_logger_severity(4)
    bases()  # Made here once: a fork that makes them for itself alone may run out of time.
    # Shape inference of onnx may end the process.
    trial = None if how_it_ends(make_trial, number) else make_trial(number)
    if trial is None:
        return Counter({"no valid model": 1})
    return judged(trial)


def judged(trial: Trial) -> Counter[str]:
    """Hold all changes of a trial to its original; an assertion fails where one is not as it was.

    Raises:
        AssertionError: Something changed that must not.
    """
    tally = Counter(models=1)
    try:
        made = [sonnx_ort.conform(trial.model, rounding=rounding) for rounding in (False, True)]
    except sonnx_ort.InvalidModel:
        return Counter({"no valid model": 1})
    changed = [each for each in made if each.changes]
    tally["models without a change"] += not changed
    for level in ("none", "all") if changed else ():
        if how_it_ends(lambda _: outcome(trial.model, trial.feeds, level), None):  # noqa: B023
            tally["runs that end the process"] += 1
            continue
        wanted = outcome(trial.model, trial.feeds, level)
        if isinstance(wanted, str) and "NOT_IMPLEMENTED" in wanted:
            tally["runs for which there is no kernel"] += 1
            continue
        repeated = outcome(trial.model, trial.feeds, level)
        if not isinstance(wanted, str) and _differing(wanted, repeated):
            tally["runs that do not repeat"] += 1
            continue
        for each in changed:
            tally["runs"] += 1
            tally["runs that are refused"] += isinstance(wanted, str)
            _hold(trial, each, wanted, level)
    for each in changed:
        _require_interface(trial.model, each.model)
        before, now = len(each.before.violations), len(each.remaining)
        assert now <= before, f"more is violated: {now} in place of {before}"
        tally["changes"] += len(each.changes)
    return tally


def _require_interface(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    for kind in ("input", "output"):
        one, other = (
            [(v.name, v.type.tensor_type.elem_type) for v in getattr(m.graph, kind)]
            for m in (before, after)
        )
        assert one == other, f"other {kind}s"


def _hold(trial: Trial, made: sonnx_ort.Conformed, wanted: Outcome, level: str) -> None:
    safe = all(change.safety is Safety.SAFE for change in made.changes)
    found = outcome(made.model, trial.feeds, level)
    how = f"{'safe' if safe else 'rounding'}, level {level}"
    if isinstance(found, str):
        assert isinstance(wanted, str), f"{how}: a run fails: {found[-200:]}"
        return
    assert not isinstance(wanted, str), f"{how}: an error is hidden: {wanted[-200:]}"
    for one, other in zip(wanted, found, strict=True):
        assert one.dtype == other.dtype, f"{how}: another type"
        assert one.shape == other.shape, f"{how}: another shape: {one.shape} {other.shape}"
        if safe and level == "none":
            assert not differing_elements(one, other).any(), f"{how}: other bits: {one} {other}"
        elif trial.ordinary and one.dtype.kind == "f":
            assert (np.isfinite(one) == np.isfinite(other)).all(), f"{how}: not as finite"


def _differing(wanted: Sequence[Array], found: Outcome) -> bool:
    return isinstance(found, str) or any(
        differing_elements(one, other).any() for one, other in zip(wanted, found, strict=True)
    )


def shrunk(number: int) -> str:
    """The model of a number and its operands, which are small already."""
    return str(make_trial(number))
