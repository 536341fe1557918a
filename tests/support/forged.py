"""Certificates of two models that claim all that the checker concludes, and more."""

import hashlib
from collections.abc import Sequence

import onnx

from sonnx_ort.checker import FORMAT, Model, Rejected, check, established
from sonnx_ort.checker.graphs import graphs_of
from sonnx_ort.checker.obligations import conclude, rules_of
from sonnx_ort.profile.options import Edition

Entry = tuple[str, str]


def judged(original: onnx.ModelProto, enforced: onnx.ModelProto, guarded: Sequence[Entry]) -> str:
    """What the checker says of models and rules that guards hold by the certificate.

    Of all other rules of Div it says what it concludes, and that the rest is not known.
    """
    contents = [model.SerializeToString() for model in (original, enforced)]
    known = established(onnx.load_model_from_string(contents[0]))
    found: dict[str, list[Entry]] = {"obligations": [], "unknown": [], "guarded": [*guarded]}
    for output in _divisions(known.proto.graph):
        for rule in rules_of(known.node(output), Edition.TYPED):
            if (output, rule.id) not in guarded:
                found[_holder(known, output, rule.id)].append((output, rule.id))
    certificate = {
        "format": FORMAT,
        "model": hashlib.sha256(contents[0]).hexdigest(),
        "enforced": hashlib.sha256(contents[1]).hexdigest(),
        "edition": "typed",
        "operators": ["Div"],
        "waived": [],
        **{name: [list(entry) for entry in entries] for name, entries in found.items()},
    }
    try:
        return check(contents[0], certificate, contents[1])
    except Rejected as reason:
        return str(reason)


def _divisions(graph: onnx.GraphProto) -> list[str]:
    nodes = [node for each in graphs_of(graph) for node in each.node]
    return [node.output[0] for node in nodes if node.op_type == "Div"]


def _holder(known: Model, output: str, rule: str) -> str:
    try:
        conclude(known, output, rule)
    except Rejected:
        return "unknown"
    return "obligations"
