"""Holds what the checker of certificates concludes of any model against a run of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from sonnx_ort.checker import Model, Rejected, established
from sonnx_ort.checker.obligations import conclude
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.rule import Subject
from support.derived import facts
from support.sessions import on_one_thread
from support.soundness import rules
from support.soundness.arrays import Array
from support.soundness.certified_runs import misfits_of
from support.soundness.isolated import how_it_ends

Feeds = Mapping[str, Array]
Concluded = list[tuple[onnx.NodeProto, list[str]]]

_DEADLY = frozenset({"Div", "Mod"})
"""Of integers, ONNX Runtime does not survive a violation."""


def held_to_runs(content: bytes, several: Sequence[Feeds]) -> str:
    """Say in a word how a model fares, of which everything is certified that follows.

    Raises:
        AssertionError: A run contradicts a fact or an obligation.
    """
    try:
        model = onnx.load_model_from_string(content)
        known = established(model)
    except Rejected:
        return "rejected"
    except Exception:  # noqa: BLE001 - no message of protocol buffers
        return "no model"
    concluded = [
        (node, found)
        for node in known.proto.graph.node
        if node.domain == "" and (found := _concluded(known, node))
    ]
    ended = how_it_ends(_run, (known, content, several, concluded))
    assert not ended or ended.startswith(("_NoRun", "status")), ended
    if ended.startswith("status"):
        said = {node.output[0]: found for node, found in concluded}
        deadly = [node for node in known.proto.graph.node if node.op_type in _DEADLY]
        safe = deadly and all(_is_safe(node, said.get(node.output[0], [])) for node in deadly)
        assert not safe, f"{ended}, where every division is certified"
        return "died"
    return "no run" if ended else "held"


def _is_safe(node: onnx.NodeProto, found: list[str]) -> bool:
    return {f"{node.op_type}.int.C1", f"{node.op_type}.int.C2"} <= {*found}


def _concluded(known: Model, node: onnx.NodeProto) -> list[str]:
    output, found = next(filter(None, node.output), ""), []
    operator = OPERATORS.get(node.op_type)
    for rule in operator.all_rules() if operator else ():
        if rule.requirement.subject is not Subject.HELD:
            try:
                conclude(known, output, rule.id)
            except Rejected:
                continue
            found.append(rule.id)
    return found


class _NoRun(Exception):  # noqa: N818 - no error of ours
    """ONNX Runtime refuses the model or each run."""


def _run(given: tuple[Model, bytes, Sequence[Feeds], Concluded]) -> None:
    known, content, several, concluded = given
    ort.set_default_logger_severity(4)
    exposed, names = with_all_values(content)
    inputs = {value.name for value in exposed.graph.input}
    claimed = facts(known)
    runs = 0
    for feeds in several:
        given_feeds = {name: array for name, array in feeds.items() if name in inputs}
        try:
            session = ort.InferenceSession(exposed.SerializeToString(), on_one_thread("none"))
            results = dict(zip(names, session.run(names, given_feeds), strict=True))
        except Exception:  # noqa: BLE001, S112 - what does not run contradicts nothing
            continue
        runs += 1
        results |= given_feeds
        misfits = [*misfits_of(exposed, feeds, claimed, results)]
        assert not misfits, f"{misfits[0]} of\n{onnx.printer.to_text(exposed)}\n{feeds}"
        for node, found in concluded:
            require_kept(node, found, results, known.version)
    if not runs:
        raise _NoRun


def with_all_values(content: bytes) -> tuple[onnx.ModelProto, list[str]]:
    """A model that gives all values of its graph but the inputs, and their names."""
    model = onnx.load_model_from_string(content)
    inputs = {value.name for value in model.graph.input}
    names = [name for node in model.graph.node for name in (*node.input, *node.output) if name]
    names = [name for name in dict.fromkeys(names) if name not in inputs]
    del model.graph.output[:]
    model.graph.output.extend(helper.ValueInfoProto(name=name) for name in names)
    return model, names


def require_kept(
    node: onnx.NodeProto,
    found: Collection[str],
    results: Mapping[str, Any],
    version: int,
    edition: str = "typed",
) -> None:
    """Hold rules of a node to the values of a run.

    Raises:
        AssertionError: The operands break one of them.
    """
    places = [results.get(name) if name else None for name in node.input]
    arrays = all(
        isinstance(p, np.ndarray) for p, name in zip(places, node.input, strict=True) if name
    )
    if node.op_type not in OPERATORS or not arrays:
        return
    attributes = {each.name: _value(each) for each in node.attribute}
    decided = rules.decided_rules(node.op_type, places, edition, attributes, version)
    broken = [rule for rule in found if decided.get(rule)]
    if "Div.R5" in found and not broken:
        broken = [] if _is_infinity_for_zero(places, results[node.output[0]]) else ["Div.R5"]
    assert not broken, (
        f"{broken} of the {node.op_type} of {[*node.output]} is concluded, and broken"
    )


def _is_infinity_for_zero(places: Sequence[Any], result: Any) -> bool:
    zero = np.broadcast_to(places[1] == 0, result.shape)
    return bool(np.isinf(result[zero]).all())


def _value(attribute: onnx.AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if isinstance(value, list):
        return [each.decode() if isinstance(each, bytes) else each for each in value]
    return value.decode() if isinstance(value, bytes) else value
