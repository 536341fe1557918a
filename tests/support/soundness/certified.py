"""What the checker of certificates concludes of a model by itself, whatever the analysis says."""

from collections.abc import Iterable

import onnx

from sonnx_ort.backends import Backend
from sonnx_ort.certificates.tracing import Traced, names_of_values
from sonnx_ort.checker import Rejected
from sonnx_ort.options import Choices, choose_demands
from sonnx_ort.pipeline import examine, load
from sonnx_ort.profile.rule import Subject


def concluded_by_checker(
    content: bytes, edition: str, operators: Iterable[str]
) -> frozenset[tuple[str, str]]:
    """The labels of nodes, and the ids of the rules that the checker concludes of them.

    Those that ONNX Runtime holds are left out: it refuses a run that breaks one.

    Args:
        content: The file of a model.
        edition: The edition.
        operators: The operators that are enforced.
    """
    choices = Choices(choose_demands(edition, "reject", operators), Backend.NATIVE)
    loaded = load(content, choices)
    try:
        traced = Traced(onnx.load_model_from_string(content))
    except Rejected:
        return frozenset()
    traced.try_all()
    names = names_of_values(loaded.model.graph_model.graph, traced)
    concluded = set[tuple[str, str]]()
    for node in examine(loaded, complete=True).examination.nodes:
        outputs = [names[output] for output in node.target.node.outputs if output in names]
        for obligation in node.found if outputs else ():
            rule, held = obligation.rule.id, obligation.rule.requirement.subject is Subject.HELD
            if not held and _is_concluded(traced, outputs[0], rule):
                concluded.add((node.target.label, rule))
    return frozenset(concluded)


def _is_concluded(traced: Traced, output: str, rule: str) -> bool:
    try:
        traced.conclude(output, rule)
    except Rejected:
        return False
    return True
